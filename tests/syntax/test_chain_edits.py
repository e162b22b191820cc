"""Method calls moved within a chain, or copied onto another expression."""

from __future__ import annotations

import libcst as cst
import pytest
from syntax.edited_code import Code, walk

from oomlint.syntax.edits import CallOn, MoveInChain
from oomlint.syntax.resolve import EditError


def method(code: Code, name: str) -> cst.Call:
    return next(
        node
        for node in walk(code.source.module)
        if isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == name
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = ds.map(f).batch(8).shuffle(n)\n", "x = ds.shuffle(n).map(f).batch(8)\n"),
        (
            "x = (\n    ds\n    .map(f)  # decode\n    .batch(8)\n    .shuffle(n, seed=g(1))\n)\n",
            "x = (\n    ds\n    .shuffle(n, seed=g(1))  # decode\n    .map(f)\n    .batch(8)\n)\n",
        ),
        (
            "x = ds.map(f).batch(8) \\\r\n    .shuffle(n).fit()\r\n",
            "x = ds.shuffle(n).map(f) \\\r\n    .batch(8).fit()\r\n",
        ),
    ],
)
def test_a_call_moves_over_others(before: str, after: str) -> None:
    code = Code(before)
    over = (method(code, "map"), method(code, "batch"))
    assert code.after(MoveInChain(code.source.place(method(code, "shuffle")), over)) == after


def test_calls_that_are_not_chained_do_not_move() -> None:
    code = Code("a = ds.map(f)\nb = ds.shuffle(n)\n")
    with pytest.raises(EditError, match="chained"):
        code.after(MoveInChain(code.source.place(method(code, "shuffle")), (method(code, "map"),)))


def test_a_call_is_copied_onto_an_expression() -> None:
    code = Code("a = source(p)  # here\nb = a.shuffle(n)\n")
    edit = CallOn(code.at("source(p)"), method(code, "shuffle"))
    assert code.after(edit) == "a = source(p).shuffle(n)  # here\nb = a.shuffle(n)\n"
