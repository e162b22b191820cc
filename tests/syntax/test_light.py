"""Light trees: LibCST's parser is asked what they have to be, and what their nodes stand for."""

from __future__ import annotations

import ast
import dataclasses
import sys
from pathlib import Path

import libcst as cst
import pytest
from robustness.grammar.program import parses, seeded

import oomlint
from oomlint.documents.python_file import Document, document_from_bytes, document_from_text
from oomlint.dryrun.flow import count
from oomlint.syntax.children import code_children, code_fields
from oomlint.syntax.gates import PARSES
from oomlint.syntax.light.later import Later, make_now, unmade_statements
from oomlint.syntax.light.nodes import Unlike
from oomlint.syntax.light.pairing import paired
from oomlint.syntax.light.statements import light_module
from oomlint.syntax.parse import parse, parse_whole
from oomlint.syntax.positions import Positions

FIXTURES = Path(__file__).parents[2] / "fixtures"

EXPRESSIONS = """
a.b.c(1, *x, k=2, *y, **z)
f(x for x in y if x if not x)
a[1], a[1, 2], a[(1, 2)], a[(1), (2)], a[1:2, ::3], a[..., None], a[()], a[1,], a[(1, 2), 3], a[(1, 2)[0], 3]
(1), (1,), [1, *x], {1, *x}, {1: 2, **x}, ()
[x for x in y for z in x if z], {x for x in y}, {x: y for x in y}
x if y else z, (y := 1), lambda a, /, b=1, *c, d, e=2, **f: a, lambda *, a: a, lambda: 0
a and b and c or d, not a, -a, +a, ~a, a < b <= c, a is not b, a not in b, a != b == c, a in b, a > b >= c, a is b
a + b - c * d / e // f % g ** h @ i << j >> k & l | m ^ n
1_000, 0xFF, 1e3, 1.5, 2j, True, None, ..., 1e400
"text", b"bytes", r"raw\\n", u"old", 'it''s', "in" 'parts', "tab\\t\\u00e4"
f"{a}", f"{a!r:>{width}} b", f"{{}}{a}", "x" f"{a}" "y" f"{b}", f"", f"{a:%d}"
"""
STATEMENTS = '''
"""Docstring."""
import a, b.c as d
from . import e
from ..f.g import (h, i as j,)
from k import *
x = y = 1; z: int = 2; w: int
x += 1; x -= 1; x *= 2; x /= 2; x //= 2; x %= 2; x **= 2; x @= y; x <<= 1; x >>= 1; x &= 1; x |= 1; x ^= 1
del x
del x, y[0]
del (x, y)
assert x; assert x, "y"
if x: y; z
elif y:
    pass
else: pass
if x:
    pass
else:
    if y: pass
for a, b in c:
    break
else:
    continue
while x: x = y
with a, b as c, d as (e, f): pass
with (a as b, c): pass
with (yield): pass
try: pass
except A: pass
except (B, C) as d: raise
except: raise D from e
else: pass
finally: pass
@a.b
@c(1)
class F(G, *h, metaclass=I, **j):
    k = 1
    def l(self, a: int = 1, /, b=2, *c: str, d, e=3, **f) -> None: global g; return
    async def m(self, *, a):
        nonlocal n, o
        async for x in y: await z
        async with p as q: pass
        yield
        yield from r
        return [x async for x in y]
class S: pass
class T(): """Docstring."""
'''


def alike(ours: object, theirs: object, where: str = "module") -> None:
    """Both trees have the same code: all fields but blanks, punctuation, and how literals are spelled."""
    if isinstance(theirs, cst.FormattedString | cst.ConcatenatedString):
        return  # told in one piece by `ast`
    if isinstance(ours, cst.CSTNode):
        make_now(ours)
    assert type(ours) is type(theirs), where
    if isinstance(ours, cst.SimpleString | cst.BaseNumber):
        inf = {"inf": float("inf")}
        assert eval(ours.value, inf) == eval(theirs.value), where
    elif isinstance(ours, cst.CSTNode):
        for name in code_fields(type(ours), types=True):
            one, other = getattr(ours, name), getattr(theirs, name)
            if isinstance(one, list | tuple) and isinstance(other, list | tuple):
                assert len(one) == len(other), f"{where}.{name}"
                for number, pair in enumerate(zip(one, other)):
                    alike(*pair, f"{where}.{name}[{number}]")
            elif not isinstance(ours, cst.Module) or name == "body":
                alike(one, other, f"{where}.{name}")
        for name in ("operator", "asynchronous"):
            assert type(getattr(ours, name, None)) is type(getattr(theirs, name, None)), f"{where}.{name}"
    else:
        assert ours == theirs, where


def check(text: str) -> None:
    document = document_from_text(text, "script.py")
    light, whole = parse(document), parse_whole(document)
    assert light.module is not whole.module
    alike(light.module, whole.module)
    check_imported(document)


def check_imported(document: Document) -> None:
    """The tree of an imported module is the same: as many statements before and after its functions are made."""
    imported, whole = parse(document, imported=True), parse_whole(document)
    assert count(imported.module) == count(whole.module)
    try:
        alike(imported.module, whole.module)
    except Unlike:
        alike(imported.module, whole.module)  # LibCST's by now
    assert count(imported.module) == count(whole.module)


@pytest.mark.parametrize("line", [line for line in EXPRESSIONS.splitlines() if line])
def test_every_expression_is_libcsts(line: str):
    check(f"import keras\n{line}\n")


def test_every_statement_is_libcsts():
    check(f"import keras\n{STATEMENTS}")
    if sys.version_info >= (3, 11):
        check("try: pass\nexcept* A: pass\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "'",
        '"',
        "'\"",
        "a\nb",
        "'''\n",
        '"\n',
        'a\n"""',
        "'''\n\"\"\"",
        "\\",
        "\\n",
        "\r\n",
        "\t\0é\ud800",
        "{x}",
    ],
)
def test_the_text_of_a_string_is_what_python_says(text: str):
    source = parse(document_from_text(f"import keras\nx = {text!r}\n", "script.py"))
    literal = source.module.body[1].body[0].value
    if "\\" in literal.value:
        assert literal.evaluated_value == text
    else:
        assert literal.raw_value == text


def test_real_files_are_libcsts():
    package = Path(oomlint.__file__).parent
    paths = [*sorted(package.rglob("*.py"))[::9], *sorted(FIXTURES.rglob("*.py"))[::40]]
    texts = [path.read_text("utf-8") for path in paths]
    checked = [text for text in texts if not any(isinstance(n, ast.Match) for n in ast.walk(ast.parse(text)))]
    assert len(checked) > 60
    for text in checked:
        check(text)


def test_every_field_of_every_kind_is_there():
    """No node lacks what LibCST's has: the code generator needs every field, blanks included."""
    text = f"import keras\n{STATEMENTS}\n" + "".join(
        f"({line})\n" for line in EXPRESSIONS.splitlines() if line
    )
    module = light_module(ast.parse(text), text)
    kinds, stack = set(), [module]
    while stack:
        node = stack.pop()
        kinds.add(type(node))
        assert all(hasattr(node, field.name) for field in dataclasses.fields(node))
        stack += code_children(node, types=True)
    assert len(kinds) > 75


def test_what_is_not_made_here_is_parsed_by_libcst():
    text = "import keras\nmatch x:\n    case [1, *y]: pass\n"
    source = parse(document_from_text(text, "script.py"))
    assert source.module is source.whole
    assert isinstance(source.module.body[1], cst.Match)


def test_libcst_parses_once_and_only_when_something_is_asked_for_as_it_is_written():
    source = parse(document_from_text("import keras\nx = f( 1,2 )  # why\n", "script.py"))
    before = PARSES.libcst
    (assign,) = source.module.body[1].body
    assert source.words(assign) == "x = f(1, 2)"
    assert PARSES.libcst == before
    assert source.code(assign) == "x = f( 1,2 )"
    assert source.code(assign.value.args[1]) == "2 "
    assert source.written(source.module.body[1]).trailing_whitespace.comment.value == "# why"
    assert PARSES.libcst == before + 1
    source.forget_whole()
    assert source.code(assign.value) == "f( 1,2 )"
    assert PARSES.libcst == before + 2


def stands(text: str, wanted: str) -> list[tuple[str, str]]:
    """For each light node of a kind: its words, and what it stands for in the text."""
    document = document_from_text(text, "script.py")
    source = parse(document)
    nodes, stack = [], [source.module]
    while stack:
        node = stack.pop()
        if type(node).__name__ == wanted:
            nodes.append(node)
        stack += reversed(code_children(node, types=True))
    places = Positions(source, nodes)
    return [(source.words(node), text[slice(*places.span(node))]) for node in nodes]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("y = ( x )+z\n", "Name", [("y", "y"), ("x", "x"), ("z", "z")]),
        ("y = f(a)( b, c = d )\n", "Call", [("f(a)(b, c = d)", "f(a)( b, c = d )"), ("f(a)", "f(a)")]),
        ("'a' 'b'; c\n", "Name", [("c", "c")]),
        ("'a' f'{ b }' f'{c:{d}}'\n", "Name", [("b", "b"), ("c", "c"), ("d", "d")]),
        ("y = a[(1), (2)]\n", "Integer", [("1", "1"), ("2", "2")]),
        ("y = x. real . imag\n", "Attribute", [("x.real.imag", "x. real . imag"), ("x.real", "x. real")]),
        ("def f(*b, ** c): pass\n", "Param", [("*b", "*b"), ("**c", "** c")]),
    ],
)
def test_nodes_stand_for_those_of_the_text(text: str, kind: str, expected: list[tuple[str, str]]):
    assert stands(text, kind) == expected


LAYOUTS = [
    "a; b\n",
    "a; b;\n",
    "a; \\\n b\nc\n",
    "a \\\n ; b\n",
    "a\n\\\nb\n",
    "from x import y; from z import \\\n w \\\n ; from u import v\n",
    "x = 1 # c \\\ny = 2\n",
    "if a: b; c\nd\n",
    "if a: \\\n b\n",
    "if a:\n  # c \\\n  b\n",
    "if a: # c\n  b; c\n  d\n",
    "if a:\n\x0c  b\n\x0c  c\n",
    "if a: b\nelif c: d\nelse:\n  if e: f\n  else: g\n",
    "x = '''a\nb'''; y = 1\n",
    "def f(\n a\n): return a\n",
    "class A: x = 1; y = 2\n",
    "try: a\nfinally: b\n",
    "a\r\nif b:\r\n\tc; d\r\ne\r\n",
    "a\rif b:\r\tc; d\re\r",
    "with a: b; c\n",
    "while a: b; break\nelse: c\n",
    "é = 'ä'; ö = 1\n",
]


@pytest.mark.parametrize("text", LAYOUTS)
def test_statements_of_a_line_are_libcsts(text: str):
    document = document_from_bytes(f"import keras\n{text}".encode(), "script.py")
    light, whole = parse(document), parse_whole(document)
    alike(light.module, whole.module)
    if light.module is not light.whole:
        assert set(map(id, code_children(light.module))) <= set(paired(light.module, whole.module))
    inside = "".join(f"  {row}" for row in text.splitlines(keepends=True)).replace("  \\\n", "\\\n")
    check_imported(document_from_bytes(f"import keras\ndef f():\n{inside}".encode(), "module.py"))


@pytest.mark.parametrize("seed", range(4000, 4120))
def test_generated_programs_are_libcsts(seed: int):
    text = seeded(seed)
    assert parses(text.removeprefix("\ufeff"))
    document = document_from_bytes(text.encode(), "script.py")
    alike(parse(document).module, parse_whole(document).module)
    check_imported(document)


FUNCTIONS = """
import keras
def one_line(): return 1
def plain(a):
    x = [
1]
    return x
class C:
    @property
    def decorated(self):
        @wraps(
            f)
        async def inner():
            '''text
  '''
            for x in y: pass
        return inner
"""


def test_functions_of_an_imported_module_are_made_when_they_are_looked_into():
    source = parse(document_from_text(FUNCTIONS, "module.py"), imported=True)
    _, one_line, plain, cls = source.module.body
    assert type(one_line.body) is cst.SimpleStatementSuite
    assert unmade_statements(plain.body) == 2
    (decorated,) = cls.body.body
    assert type(decorated.body) is Later and unmade_statements(decorated.body) == 5
    inner, _ = decorated.body.body
    assert type(decorated.body) is cst.IndentedBlock and unmade_statements(decorated.body) == 0
    assert type(inner.body) is Later and unmade_statements(plain.body) == 2
    text, loop = inner.body.body
    assert text.body[0].value.evaluated_value == "text\n  " and isinstance(loop, cst.For)
    assert source.code(loop) == "for x in y: pass\n"
    assert source.code(decorated.decorators[0].decorator) == "property"


def test_a_function_that_is_unlike_makes_the_module_libcsts():
    text = "import keras\ndef f(x):\n    if x:\\\n        y = 1\n"
    source = parse(document_from_text(text, "module.py"), imported=True)
    function = source.module.body[1]
    with pytest.raises(Unlike):
        _ = function.body.body
    assert source.module is source.whole and isinstance(source.module.body[1].body.body[0], cst.If)
    assert type(function.body) is Later  # whoever still has it is told again


def test_a_function_that_matches_makes_the_module_libcsts_from_the_start():
    text = "import keras\ndef f(x):\n    for y in x:\n        match y:\n            case 1: pass\n"
    source = parse(document_from_text(text, "module.py"), imported=True)
    assert source.module is source.whole
    loop = source.module.body[1].body.body[0]
    assert isinstance(loop.body.body[0], cst.Match)


def test_a_tree_that_is_unlike_is_left_for_libcsts():
    source = parse(document_from_text("import keras\nx = f( 1 )\n", "script.py"))
    (call,) = (node.value for node in source.module.body[1].body)
    assert isinstance(call, cst.Call)
    object.__setattr__(call, "args", [])
    with pytest.raises(Unlike):
        source.code(call)
    assert source.module is source.whole
    assert source.code(source.module.body[1].body[0].value) == "f( 1 )"


def test_an_expression_that_prints_itself_stands_for_its_string():
    ((words, written),) = stands("y = f'{x=}'\n", "FormattedString")
    assert (words, written) == ('f"x={x!r}"', "f'{x=}'")
    assert [written for _, written in stands("y = f'{x=}'\n", "Name")] == ["y", "x"]
