"""Deep expressions parsed in parts: the tree is LibCST's own of the whole, and no piece that LibCST gets is deep."""

from __future__ import annotations

import ast
from pathlib import Path

import libcst as cst
import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.documents.python_syntax import SyntaxFault
from oomlint.syntax.in_parts import DEPTH, FLAT, may_be_deep, parse_in_parts
from oomlint.syntax.parse import parse_whole as parse
from oomlint.syntax.recursion import with_room

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").rglob("*.py"))

# Where brackets, blanks, comments and indentation could be lost between a part and what holds it.
TRICKY = [
    "x = (a\n     .b()  # why\n     .c(d,\n        e)\n)\n",
    "if a:\n    x = (b.c\n  .d[0]\n        .e)\n",
    "class A:\n\tdef f(self):\n\t\treturn (self.a\n\t\t\t.b(1)[2])\n",
    "x = ((a + b)) * (  ( c.d ) )\n",
    "x = a.b \\\n    .c(1) \\\n    .d\n",
    "x = a.b[c.d, e.f:g.h, ...]\nx[a.b[0]].c += 1\ndel a.b[c.d], e.f\n",
    "x = not(a.b)if c.d else-e.f\nreturn_ = lambda a, b=c.d: a.b(c)\n",
    "with (a.b()) as c, d.e[0](): pass\nwith (a.b(), c.d() as e): pass\n",
    "@a.b(c.d)\nasync def f(x: a.b[c] = d.e) -> a.b[c]:\n    await a.b(c)\n    yield a.b\n",
    "f(*a.b[0], **c.d(), e=f.g)\nclass A(b.c[d], e=f.g): pass\n",
    "x = f'{a.b[0]:{c.d}}' 'b' + g.h\nx: a.b[0]\nx: a.b = c.d\n",
    "match a.b:\n    case c.d: e = f.g(h.i)\n    case A(b=c.d) if e.f[0]: pass\n",
    "x = [a.b for a.c in d.e if f.g]\ny = {a.b: c.d for e in f.g}\nz = (a.b for c in d.e)\nf(a.b for c in d.e)\n",
    "x = a.b, (c.d, e.f)\nx = a.b; y = c.d(e)\nif a.b: x = c.d; y = (e\n.f)\n",
    "# ü\nx = 'ü' + a.b(é)['ü']\r\ny = (a\r\n  .b)\r\n",
    "x = (yield a.b)\ny = (z := a.b[0]).c\nassert a.b, c.d\nraise a.b from c.d\n",
    "x = a.b[0]",
]


@pytest.mark.parametrize("text", TRICKY)
def test_the_tree_is_the_one_of_the_whole(text: str) -> None:
    made = parse_in_parts(text, depth=2)
    assert made is not None and made.deep_equals(cst.parse_module(text))
    assert made.code == text


def test_the_tree_of_each_fixture_is_the_one_of_the_whole() -> None:
    cut = 0
    for path in FIXTURES[::20]:
        text = path.read_text(encoding="utf-8")
        made = parse_in_parts(text, depth=2)
        if made is not None:
            cut += 1
            assert made.deep_equals(cst.parse_module(text)), path
    assert cut > 30


DEEP = {
    "methods of a data set": lambda n: (
        "ds = (tf.data.Dataset.range(9)\n" + "  .map(lambda a: a + 1)\n" * n + ")\n"
    ),
    "methods on one row": lambda n: "x = a" + ".b(1)" * n + "\n",
    "operators": lambda n: "x = a" + " + b" * n + "\n",
    "subscripts": lambda n: "def f():\n    return a" + "[0]" * n + "\n",
    "attributes": lambda n: "x = a" + ".b" * n + "\n",
    "calls of what was given": lambda n: "x = a" + "(1)" * n + "\n",
    "conditions": lambda n: "x = " + "a if b else " * n + "c\n",
}


def _depth(text: str) -> int:
    deepest, level = 0, list[ast.AST]([ast.parse(text)])
    while level:
        deepest += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return deepest


@pytest.mark.parametrize("name", DEEP)
def test_what_the_parser_gets_is_not_deep_and_grows_with_the_text(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    real = cst.parse_module

    def counted(text: str) -> cst.Module:
        given.append(text)
        return real(text)

    monkeypatch.setattr(cst, "parse_module", counted)

    def cost(count: int) -> int:
        given.clear()
        text = DEEP[name](count)
        module = parse(document_from_text(text, "deep.py")).module
        assert with_room(lambda: module.code) == text
        # A level of the module, of a statement, of a dummy around it; an expression may end some levels on.
        assert max(map(_depth, given)) <= DEPTH + 10
        return sum(map(len, given))

    small, large = cost(300), cost(600)
    assert large <= 2.2 * small


@pytest.mark.parametrize("depth", [10, 30, 60])
def test_brackets_inside_brackets(depth: int) -> None:
    text = "\n".join(f"x{i} = {'[f(' * depth}{i}{')]' * depth}" for i in range(3)) + "\n"
    made = parse_in_parts(text)
    assert (made is not None) == (2 * depth >= DEPTH)
    if made is not None:
        whole = cst.parse_module(text)
        assert with_room(lambda: made.deep_equals(whole))


def test_most_files_are_not_asked() -> None:
    assert sum(may_be_deep(path.read_text(encoding="utf-8")) for path in FIXTURES) <= len(FIXTURES) // 50
    assert may_be_deep("x = (a\n" + "    .b()\n" * 40 + ")\n")
    assert may_be_deep("x = " + "a + " * 100 + "b\n")
    assert not may_be_deep("x = 1\n" * 5000)


def test_a_name_of_the_text_is_not_taken_for_a_part() -> None:
    text = "_part0 = a.b[0].c\n_part1 = _part_.d(_part0)\n"
    made = parse_in_parts(text, depth=2)
    assert made is not None and made.deep_equals(cst.parse_module(text))


@pytest.mark.parametrize("text", ["x = (\n", "x = a.b\x00", "print 'a'\n"])
def test_what_does_not_parse_is_left_to_the_parser(text: str) -> None:
    assert parse_in_parts(text, depth=2) is None


def test_more_operands_than_the_parser_survives():
    text = "x = " + " and ".join(["a"] * (FLAT + 1)) + "\n"
    with pytest.raises(SyntaxFault, match="nested too deeply"):
        parse(document_from_text(text, "flat.py"))
