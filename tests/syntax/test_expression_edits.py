"""Replace and Wrap: what the place needs is added, and nothing else."""

from __future__ import annotations

import ast

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syntax.edited_code import Code, edited, walk

from oomlint.syntax.edits import Replace, Wrap
from oomlint.syntax.positions import Positions
from oomlint.syntax.resolve import EditError

# before, code of the node replaced, new expression, after
REPLACED = [
    ("y = x ** 2\n", "x", "-a", "y = (-a) ** 2\n"),
    ("y = 2 ** x\n", "x", "-a", "y = 2 ** -a\n"),
    ("y = -x\n", "x", "a + b", "y = -(a + b)\n"),
    ("y = -x\n", "x", "a ** b", "y = -a ** b\n"),
    ("y = x.shape\n", "x", "a or b", "y = (a or b).shape\n"),
    ("y = x.shape\n", "x", "load(path)", "y = load(path).shape\n"),
    ("y = x.real\n", "x", "1", "y = (1).real\n"),
    ("y = a - x\n", "x", "b - c", "y = a - (b - c)\n"),
    ("y = x - a\n", "x", "b - c", "y = b - c - a\n"),
    ("y = a * x\n", "x", "b + c", "y = a * (b + c)\n"),
    ("y = a and x\n", "x", "b or c", "y = a and (b or c)\n"),
    ("y = not x\n", "x", "b == c", "y = not b == c\n"),
    ("y = x < 3\n", "x", "a if b else c", "y = (a if b else c) < 3\n"),
    ("y = f(x)\n", "x", "a if b else c", "y = f(a if b else c)\n"),
    ("y = f(n=x)\n", "x", "lambda: 0", "y = f(n=lambda: 0)\n"),
    ("y = f(n=x)\n", "x", "a, b", "y = f(n=(a, b))\n"),
    ("y = f(x)\n", "x", "v for v in w", "y = f(v for v in w)\n"),
    ("y = f(k=x)\n", "x", "v for v in w", "y = f(k=(v for v in w))\n"),
    ("y = f(x,)\n", "x", "v for v in w", "y = f((v for v in w),)\n"),
    ("y = f(x, 1)\n", "x", "(v for v in w)", "y = f((v for v in w), 1)\n"),
    ("y = x\n", "x", "a, b", "y = a, b\n"),
    ("y = [x]\n", "x", "a, b", "y = [(a, b)]\n"),
    ("y = d[x]\n", "x", "a if b else c", "y = d[a if b else c]\n"),
    ("y = x if c else d\n", "x", "lambda: 0", "y = (lambda: 0) if c else d\n"),
    ("y = lambda: x\n", "x", "a if b else c", "y = lambda: a if b else c\n"),
    ("y = [v for v in x]\n", "x", "a if b else c", "y = [v for v in (a if b else c)]\n"),
    ("y = await_(x)[0]\n", "await_(x)", "a + b", "y = (a + b)[0]\n"),
    ("def f():\n    return(x)\n", "x", "y", "def f():\n    return y\n"),
    ("y = (x)if(z)else(w)\n", "z", "v", "y = (x)if v else(w)\n"),
    ("y = (a + b) * c\n", "a + b", "d", "y = d * c\n"),
    ("y = (a + b) * c\n", "a + b", "d - e", "y = (d - e) * c\n"),
    ("y = (  # why\n    a\n    + b\n)\n", "a\n    + b", "d", "y = (  # why\n    d\n)\n"),
    ("if x: pass\n", "x", "v := 1", "if v := 1: pass\n"),
    ("y = x\n", "x", "v := 1", "y = (v := 1)\n"),
    ("y = f'{x}'\n", "x", "lambda: 0", "y = f'{(lambda: 0)}'\n"),
    (
        "@x\ndef f(): pass\n",
        "x",
        "tf.function(jit_compile=True)",
        "@tf.function(jit_compile=True)\ndef f(): pass\n",
    ),
    ("for i in x: pass\n", "x", "a, b", "for i in a, b: pass\n"),
    ("with x as f: pass\n", "x", "a or b", "with a or b as f: pass\n"),
    ("x.append(loss)\n", "loss", "float(loss)", "x.append(float(loss))\n"),
]


# An expression of several rows needs something that holds the rows together.
REPLACED += [
    ("y = x\n", "x", "a +\n b", "y = (a +\n b)\n"),
    ("y = f(x)\n", "x", "a +\n b", "y = f(a +\n b)\n"),
    ("y = f(x)\r\n", "x", "a +\n b", "y = f(a +\r\n b)\r\n"),
    ("y = [x, c]\n", "x", "a\n or b", "y = [a\n or b, c]\n"),
    ("y = 2 * x\n", "x", "a\n + b", "y = 2 * (a\n + b)\n"),
    ("y = f(2 * x)\n", "x", "a\n + b", "y = f(2 * (a\n + b))\n"),
    ("y = x\n", "x", "f(\n    a)", "y = f(\n    a)\n"),
    ("y = x.shape\n", "x", "(a\n + b)", "y = (a\n + b).shape\n"),
    ("return_ = x, c\n", "x", "a\n + b", "return_ = (a\n + b), c\n"),
    # The code of a node has no indentation of the block around it, and the newlines of its file.
    ("if c:\n    y = f(x)\n", "x", "g(\n    a\n)", "if c:\n    y = f(g(\n        a\n    ))\n"),
    ("if c:\r\n\ty = f(x)\r\n", "x", "g(\r\n\ta)", "if c:\r\n\ty = f(g(\r\n\t\ta))\r\n"),
    ("if c:\n    y = f(x)\n", "x", "g('''a\n b''')", "if c:\n    y = f(g('''a\n b'''))\n"),
    ("if c:\n    y = f(x)\n", "x", "a + \\\n b", "if c:\n    y = f(a + \\\n b)\n"),
]


@pytest.mark.parametrize(("before", "old", "new", "after"), REPLACED)
def test_replace(before: str, old: str, new: str, after: str) -> None:
    assert edited(before, lambda code: Replace(code.at(old), new)) == after


WRAPPED = [
    ("y = loss\n", "loss", "float(", ")", "y = float(loss)\n"),
    ("y = a + b\n", "a + b", "float(", ")", "y = float(a + b)\n"),
    ("y = a + b\n", "a + b", "", ".numpy()", "y = (a + b).numpy()\n"),
    ("y = a + b\n", "a + b", "", " // 2", "y = (a + b) // 2\n"),
    ("y = a * b\n", "a * b", "", " // 2", "y = a * b // 2\n"),
    ("y = x ** 2\n", "x", "", " / n", "y = (x / n) ** 2\n"),
    ("y = -x\n", "x", "", ".numpy()", "y = -x.numpy()\n"),
    ("f(x for x in y)\n", "x for x in y", "list(", ")", "f(list(x for x in y))\n"),
    ("f(x for x in y)\n", "x for x in y", "g(", ", 1)", "f(g((x for x in y), 1))\n"),
    ("y = (a + b)\n", "a + b", "float(", ")", "y = float(a + b)\n"),
    ("y = (a, b)\n", "a, b", "float(", ")", "y = float((a, b))\n"),
    ("def f():\n    return a, b\n", "a, b", "list(", ")", "def f():\n    return list((a, b))\n"),
    ("def f():\n    return(a + b)\n", "a + b", "float(", ")", "def f():\n    return float(a + b)\n"),
    ("ds.batch(\n    n  # per replica\n)\n", "n", "", " * k", "ds.batch(\n    n * k  # per replica\n)\n"),
    ("y = x.mean()\n", "x", "tf.cast(", ", tf.float32)", "y = tf.cast(x, tf.float32).mean()\n"),
]


@pytest.mark.parametrize(("before", "old", "opening", "closing", "after"), WRAPPED)
def test_wrap(before: str, old: str, opening: str, closing: str, after: str) -> None:
    assert edited(before, lambda code: Wrap(code.at(old), opening, closing)) == after


ROWS = """\
def train(batches):
    for batch in batches:
        kept.append(model(
            batch,

            training=False, name="it's",
        ))
        kept.append(
            [first(batch) + second(
                  batch, '''
one ''')]
        )
        total = first(batch) + \\
              second(batch)
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_an_expression_put_in_its_own_place_changes_nothing(newline: str) -> None:
    code = Code(ROWS.replace("\n", newline))
    calls = [
        node
        for node in walk(code.source.module)
        if isinstance(node, cst.Call | cst.List | cst.BinaryOperation)
    ]
    assert len(calls) == 10
    for node in calls:
        assert code.after(Replace(code.source.place(node), code.source.code(node))) == code.text


def test_wrap_of_a_keyword_argument_wraps_its_value() -> None:
    after = edited("f(n=a + b)\n", lambda code: Wrap(code.at("n=a + b", cst.Arg), "int(", ")"))
    assert after == "f(n=int(a + b))\n"


def test_an_argument_is_replaced_without_its_comma() -> None:
    after = edited("f(a , n = 1 , )\n", lambda code: Replace(code.at("n = 1", cst.Arg), "m=2"))
    assert after == "f(a , m=2 , )\n"


def test_a_small_statement_is_replaced_by_several_rows() -> None:
    after = edited(
        "if a:\n\tx = 1  # why\n",
        lambda code: Replace(code.at("x = 1", cst.Assign), "for i in r:\n    x = i"),
    )
    assert after == "if a:\n\tfor i in r:\n\t\tx = i  # why\n"


@pytest.mark.parametrize("text", ["if a: x = 1\n", "x = 1; y = 2\n"])
def test_several_rows_do_not_replace_a_statement_that_shares_its_row(text: str) -> None:
    with pytest.raises(EditError):
        edited(text, lambda code: Replace(code.at("x = 1", cst.Assign), "a = 1\nb = 2"))


def test_the_quotes_of_an_f_string_are_not_ended() -> None:
    with pytest.raises(EditError):
        edited("y = f'{x}'\n", lambda code: Replace(code.at("x"), "d['a']"))
    assert edited("y = f'{x}'\n", lambda code: Replace(code.at("x"), 'd["a"]')) == "y = f'{d[\"a\"]}'\n"


_LEAVES = ["a", "b", "1", "f(a)", "a.b", "a[0]", "'s'"]
_SHAPES = [
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} ** {}", "{} @ {}", "{} | {}", "{} & {}", "{} ^ {}", "{} << {}",
    "{} < {}", "{} == {}", "{} in {}", "{} is not {}", "{} and {}", "{} or {}", "{} if a else {}", "[{}, {}]",
    "f({}, k={})", "{{ {}: {} }}", "{}, {}", "lambda: {} or {}", "[v for v in {} if {}]", "({})[{}]",
]  # fmt: skip
_ONE = ["-{}", "not {}", "~{}", "({}).real", "lambda: {}", "f(*{})", "f({})", "[*{}]", "({})()"]

expressions = st.recursive(
    st.sampled_from(_LEAVES),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(_ONE), inner).map(lambda parts: parts[0].format(f"({parts[1]})")),
        st.tuples(st.sampled_from(_SHAPES), inner, inner).map(
            lambda parts: parts[0].format(f"({parts[1]})", f"({parts[2]})")
        ),
    ),
    max_leaves=5,
)
bare = st.one_of(
    st.sampled_from(_LEAVES),
    st.tuples(st.sampled_from(_ONE), st.sampled_from(_LEAVES)).map(lambda parts: parts[0].format(parts[1])),
    st.tuples(st.sampled_from(_SHAPES), st.sampled_from(_LEAVES), st.sampled_from(_LEAVES)).map(
        lambda parts: parts[0].format(parts[1], parts[2])
    ),
)
holders = st.one_of(
    st.tuples(st.sampled_from(_ONE), st.just("HOLE")).map(lambda parts: parts[0].format(parts[1])),
    st.tuples(st.sampled_from(_SHAPES), st.just("HOLE"), st.sampled_from(_LEAVES)).map(
        lambda parts: parts[0].format(parts[1], parts[2])
    ),
    st.tuples(st.sampled_from(_SHAPES), st.sampled_from(_LEAVES), st.just("HOLE")).map(
        lambda parts: parts[0].format(parts[1], parts[2])
    ),
)


class _Put(ast.NodeTransformer):
    def __init__(self, tree: ast.expr) -> None:
        self.tree = tree

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.tree if node.id == "HOLE" else node


class _Flat(ast.NodeTransformer):
    """`(a and b) and c` means `a and b and c`, whose tree is flat."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        first = node.values[0]
        if isinstance(first, ast.BoolOp) and type(first.op) is type(node.op):
            node.values[:1] = first.values
        return node


def _meaning(tree: ast.AST) -> str:
    return ast.dump(_Flat().visit(tree))


def _tree(text: str) -> ast.Expression:
    return ast.parse(text, mode="eval")


def _put(new: str, holder: str) -> ast.AST:
    tree: ast.AST = _Put(_tree(new).body).visit(_tree(holder))
    return tree


def _value(text: str) -> ast.Expression:
    return _tree(text.removeprefix("y = ").strip())


@settings(max_examples=150, deadline=None)
@given(holders, st.one_of(bare, expressions))
def test_replacing_means_what_putting_the_tree_there_means(holder: str, new: str) -> None:
    """Whatever is put wherever: the result parses to the tree with the new tree in the hole."""
    code = Code(f"y = {holder}\n")
    after = code.after(Replace(code.at("HOLE"), new))
    assert _meaning(_value(after)) == _meaning(_put(new, holder))


AROUND = [("g(", ")"), ("", ".n"), ("", " // 2"), ("-", ""), ("g(k=", ", j=1)"), ("", "[0]")]


@settings(max_examples=150, deadline=None)
@given(holders, bare, st.sampled_from(AROUND))
def test_wrapping_means_what_wrapping_the_tree_means(
    holder: str, inner: str, around: tuple[str, str]
) -> None:
    """With and without parentheses of its own around the wrapped expression."""
    code = Code("y = " + holder.replace("HOLE", f"({inner})") + "\n")
    nodes = [node for node in walk(code.source.module) if isinstance(node, cst.BaseExpression)]
    positions = Positions(code.source, nodes)
    start = len("y = (") + holder.index("HOLE")
    wanted = next(node for node in nodes if positions.span(node) == (start, start + len(inner)))
    after = code.after(Wrap(code.source.place(wanted), *around))
    assert _meaning(_value(after)) == _meaning(_put(f"{around[0]}({inner}){around[1]}", holder))


def test_a_comment_among_what_is_replaced_is_kept_or_there_is_no_fix() -> None:
    call = "f(\n    a,  # of the first\n    b,\n)"
    with pytest.raises(EditError, match="comment"):
        edited(f"x = {call}\n", lambda code: Replace(code.at(call), "g(a, b)"))
    kept = "g(\n    a,  # of the first\n)"
    assert edited(f"x = {call}\n", lambda code: Replace(code.at(call), kept)) == f"x = {kept}\n"
    assert edited("x = f('#')\n", lambda code: Replace(code.at("f('#')"), "g()")) == "x = g()\n"
