"""Positions of single nodes, held against LibCST's own provider for all nodes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import libcst as cst
import libcst.metadata
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syntax.edited_code import Code, walk

import oomlint.syntax.gates
import oomlint.syntax.positions
from oomlint.documents.lines import Location
from oomlint.documents.python_file import document_from_text, read_document
from oomlint.syntax.parse import SyntaxFault
from oomlint.syntax.parse import parse_whole as parse
from oomlint.syntax.positions import PositionError, Positions
from oomlint.syntax.recursion import with_room

FILES = [
    Path(module.__file__ or "") for module in (oomlint.syntax.gates, oomlint.syntax.positions, pytest)
] + [
    Path(__file__),
    Path(libcst.metadata.__file__).parent / "scope_provider.py",
    Path(libcst.metadata.__file__).parent / "tests" / "test_position_provider.py",
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_node_of_real_files_stands_where_libcst_says(path: Path) -> None:
    source = parse(read_document(path))
    wrapper = libcst.metadata.MetadataWrapper(source.module, unsafe_skip_copy=True)
    expected = wrapper.resolve(libcst.metadata.PositionProvider)
    positions = Positions(source, expected)
    assert len(expected) > 100
    for node, where in expected.items():
        assert where is not None
        assert positions.start(node) == Location(where.start.line, where.start.column + 1)
        assert positions.end(node) == Location(where.end.line, where.end.column + 1)
        (outer_start, outer_end), (start, end) = positions.outer(node), positions.span(node)
        assert outer_start <= start <= end <= outer_end


PIECES = [
    "x = 1", "\x0cx = 1", "if a:\n    b", "if a:\n    b\n\x0c    c", "if a:\n  b\n\n\n  # c", "# c", "", "   ",
    "def f():\n\ta\n\n\tb", "x = '''\r\n'''", "é = 'é'; b", "f(\n  a, # c\n\x0c  b)", "class A: x = 1", "\\\nx",
    "if a:\n    b\n\\\n    c", "if a:\n    b\n        # c\n\n    # d\n  # e", "match a:\n    case b: pass\n  # c", "f'{a!r:>{b}}'", "with (a as b,\n  c): pass",
    "@d\n\n# c\n@e\nasync def f(*, a: int = (1)) -> b: await c",
]  # fmt: skip


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["\n", "\r\n", "\r", "\n\n"])), max_size=6),
    st.booleans(),
)
def test_spans_fit_the_text_whatever_blanks_libcst_drops(
    parts: list[tuple[str, str]], newline_at_end: bool
) -> None:
    text = "".join(code.replace("\n", newline) + newline for code, newline in parts)
    if not newline_at_end:
        text = text.removesuffix("\n").removesuffix("\r")
    try:
        source = parse(document_from_text(text, "s.py"))
    except SyntaxFault:
        return  # not every pair of pieces is a program
    nodes = [
        node for node in walk(source.module) if isinstance(node, (cst.Name, cst.SimpleString, cst.Integer))
    ]
    try:
        positions = Positions(source, nodes)
    except PositionError:
        # LibCST takes a row behind a lone backslash into the block above, where Python does not.
        assert "\n\\" in text or "\r\\" in text
        return
    for node in nodes:
        assert isinstance(node, (cst.Name, cst.SimpleString, cst.Integer))
        start, end = positions.span(node)
        assert text[start:end] == node.value


def test_a_leading_form_feed_moves_nothing() -> None:
    """LibCST drops it from the tree."""
    code = Code("\x0cx = 1\n\x0cy = 2\n")
    positions = Positions(code.source, [code.node("x"), code.node("y")])
    assert code.source.module.code != code.text
    assert positions.span(code.node("x")) == (1, 2)
    assert positions.start(code.node("y")) == Location(2, 2)


def test_own_parentheses_and_blanks_are_outside() -> None:
    code = Code("y = ( ( a +\n  b ) ) * c\n")
    node = code.node("a +\n  b")
    positions = Positions(code.source, [node])
    assert code.text[slice(*positions.span(node))] == "a +\n  b"
    assert code.text[slice(*positions.outer(node))] == "( ( a +\n  b ) )"
    assert (positions.start(node), positions.end(node)) == (Location(1, 9), Location(2, 4))


def test_an_argument_is_without_its_comma_and_a_statement_without_its_comment() -> None:
    code = Code("# above\nf(a , b)  # end\n")
    argument, line = code.node("a", cst.Arg), code.source.module.body[0]
    positions = Positions(code.source, [argument, line])
    assert code.text[slice(*positions.span(argument))] == "a"
    assert code.text[slice(*positions.span(line))] == "f(a , b)"


def test_columns_count_code_points_and_rows_any_newline() -> None:
    code = Code("a = '\U0001f600\u00e9'; b\rc\r\nd\n")
    nodes = [code.node(name) for name in "bcd"]
    positions = Positions(code.source, nodes)
    assert [positions.start(node) for node in nodes] == [Location(1, 11), Location(2, 1), Location(3, 1)]


def test_ancestors_and_indentation() -> None:
    code = Code("class A:\n  def f(self):\n  \treturn x\n")
    node = code.node("x")
    positions = Positions(code.source, [node])
    kinds = [type(above).__name__ for above in positions.ancestors(node)]
    assert kinds == [
        "Module", "ClassDef", "IndentedBlock", "FunctionDef", "IndentedBlock", "SimpleStatementLine", "Return",
    ]  # fmt: skip
    assert positions.indent(node) == "  \t"


def test_a_foreign_node_has_no_position() -> None:
    code = Code("x\n")
    positions = Positions(code.source, [cst.Name("x")])
    assert code.node("x") not in positions
    with pytest.raises(PositionError):
        positions.span(code.node("x"))
    foreign = cst.Name("x")
    with pytest.raises(PositionError):
        Positions(code.source, [foreign]).start(foreign)


def test_deep_expressions_have_positions() -> None:
    code = parse(document_from_text("x = " + "-" * 190 + "y\nz = a" + "[0]" * 600 + "\n", "s.py"))
    last = code.module.body[-1]
    assert Positions(code, [last]).start(last) == Location(2, 1)


def test_what_is_1900_levels_deep_has_its_text_and_a_position() -> None:
    # Early Python 3.12 ended LibCST's generator of code at 750.
    for text in ("a" + " + b" * 1900, "a" + ".b(1)" * 950, "not " * 1900 + "a"):
        code = parse(document_from_text(f"x = {text}\ny = 2\n", "s.py"))
        first, last = code.module.body
        assert with_room(partial(code.code, first)) == f"x = {text}\n"
        assert Positions(code, [first, last]).start(last) == Location(2, 1)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", ["", "\f"])
def test_comments_at_the_end_that_the_parser_loses(newline: str, before: str) -> None:
    end = ["         # deep", "   # less", "", "\f", "   ", ""]
    text = newline.join(["def f():", "    x", f"{before}y", *end])
    code = Code(text)
    assert code.source.module.code != text  # LibCST keeps one of the two
    nodes = [code.node("x"), code.node("y")]
    positions = Positions(code.source, nodes)
    assert [positions.start(node) for node in nodes] == [Location(2, 5), Location(3, 1 + len(before))]
