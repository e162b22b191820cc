"""Arguments added to and removed from calls, however the call is laid out."""

from __future__ import annotations

import libcst as cst
import pytest
from syntax.edited_code import Code, edited

from oomlint.syntax.edits import AddArgument, Edit, RemoveArgument
from oomlint.syntax.resolve import EditError

ADDED = [
    ("f()\n", "f(n=1)\n"),
    ("f( )\n", "f(n=1)\n"),
    ("f(a)\n", "f(a, n=1)\n"),
    ("f(a, b)\n", "f(a, b, n=1)\n"),
    ("f(a, b,)\n", "f(a, b, n=1,)\n"),
    ("f(a, )\n", "f(a, n=1, )\n"),
    ("f( a )\n", "f( a, n=1 )\n"),
    ("f(*a)\n", "f(*a, n=1)\n"),
    ("f(*a, **k)\n", "f(*a, **k, n=1)\n"),
    ("f(m = 2)\n", "f(m = 2, n=1)\n"),
    ("f(x for x in y)\n", "f((x for x in y), n=1)\n"),
    ("f((x for x in y))\n", "f((x for x in y), n=1)\n"),
    ("f(\n    a\n)\n", "f(\n    a,\n    n=1\n)\n"),
    ("f(\n    a,\n    b,\n)\n", "f(\n    a,\n    b,\n    n=1,\n)\n"),
    ("f(\n    a,\n    b,  # why\n)\n", "f(\n    a,\n    b,  # why\n    n=1,\n)\n"),
    ("f(\n    a,\n    b  # why\n)\n", "f(\n    a,\n    b,  # why\n    n=1\n)\n"),
    ("f(\n    a,\n    # m=2,\n)\n", "f(\n    a,\n    n=1,\n    # m=2,\n)\n"),
    ("f(a,\n  b)\n", "f(a,\n  b,\n  n=1)\n"),
    ("f(a, b,\n  c, d)\n", "f(a, b,\n  c, d, n=1)\n"),
    ("f(a,\n)\n", "f(a,\n    n=1,\n)\n"),
    ("f(\n    a, b,\n)\n", "f(\n    a, b,\n    n=1,\n)\n"),
    ("f(\n    # nothing yet\n)\n", "f(\n    # nothing yet\n    n=1,\n)\n"),
    ("f(  # nothing yet\n)\n", "f(  # nothing yet\n    n=1,\n)\n"),
    ("if x:\n\tf(\n\t\ta\n\t)\n", "if x:\n\tf(\n\t\ta,\n\t\tn=1\n\t)\n"),
    ("f(\r\n    a,\r\n)\r\n", "f(\r\n    a,\r\n    n=1,\r\n)\r\n"),
    ("f(g(b)(c), [d,\n   e])\n", "f(g(b)(c), [d,\n   e], n=1)\n"),
    ("f(a)", "f(a, n=1)"),
    ("x = f (a)\n", "x = f (a, n=1)\n"),
    ("x = (f(a))\n", "x = (f(a, n=1))\n"),
]


def call(code: Code) -> cst.Call:
    """The outermost call of the text: the one of `f`."""
    calls = [node for node in _walk(code.source.module) if isinstance(node, cst.Call)]
    return next(node for node in calls if isinstance(node.func, cst.Name) and node.func.value == "f")


def _walk(node: cst.CSTNode) -> list[cst.CSTNode]:
    return [node, *(below for child in node.children for below in _walk(child))]


@pytest.mark.parametrize(("before", "after"), ADDED)
def test_add(before: str, after: str) -> None:
    assert edited(before, lambda code: AddArgument(code.source.place(call(code)), "n=1")) == after


# before, numbers of the arguments removed, after
REMOVED = [
    ("f(a)\n", [0], "f()\n"),
    ("f(a, )\n", [0], "f()\n"),
    ("f( a )\n", [0], "f()\n"),
    ("f(\n    a,\n)\n", [0], "f()\n"),
    ("f(\n    # why\n    a,\n)\n", [0], "f(\n    # why\n    \n)\n"),
    ("f(a, b)\n", [0], "f(b)\n"),
    ("f(a, b)\n", [1], "f(a)\n"),
    ("f(a, b,)\n", [1], "f(a,)\n"),
    ("f(a , b)\n", [1], "f(a)\n"),
    ("f(a, b, c)\n", [1], "f(a, c)\n"),
    ("f(a, b, c)\n", [0, 1], "f(c)\n"),
    ("f(a, b, c)\n", [0, 2], "f(b)\n"),
    ("f(a, b, c)\n", [1, 2], "f(a)\n"),
    ("f(a, b, c)\n", [0, 1, 2], "f()\n"),
    ("f(a, *b, c=1)\n", [1], "f(a, c=1)\n"),
    ("f(\n    a,\n    b,\n    c,\n)\n", [1], "f(\n    a,\n    c,\n)\n"),
    ("f(\n    a,\n    b,\n    c,\n)\n", [0], "f(\n    b,\n    c,\n)\n"),
    ("f(\n    a,\n    b,\n    c,\n)\n", [2], "f(\n    a,\n    b,\n)\n"),
    ("f(\n    a,\n    b\n)\n", [1], "f(\n    a,\n)\n"),
    (
        "f(\n    a,  # of a\n    b,  # of b\n    c,  # of c\n)\n",
        [1],
        "f(\n    a,  # of a\n    c,  # of c\n)\n",
    ),
    ("f(\n    a,\n    # of b\n    b,\n)\n", [0], "f(\n    # of b\n    b,\n)\n"),
    ("f(a,\n  b)\n", [0], "f(b)\n"),
    ("f(a,\n  b)\n", [1], "f(a)\n"),
    ("f(a,\n  b,\n  c)\n", [1], "f(a,\n  c)\n"),
    ("f(a,  # of a\n  b)\n", [1], "f(a,  # of a\n  )\n"),
    ("f(a,  # of a\n  # of b\n  b)\n", [0], "f(  # of a\n  # of b\n  b)\n"),
    ("f(\r\n    a,\r\n    b,\r\n)\r\n", [1], "f(\r\n    a,\r\n)\r\n"),
]


@pytest.mark.parametrize(("before", "numbers", "after"), REMOVED)
def test_remove(before: str, numbers: list[int], after: str) -> None:
    def edits(code: Code) -> list[Edit]:
        node = call(code)
        return [RemoveArgument(code.source.place(node), node.args[number]) for number in numbers]

    assert edited(before, edits) == after


# before, numbers removed, added, after
BOTH = [
    ("f(a)\n", [0], ["n=1"], "f(n=1)\n"),
    ("f(a, b)\n", [1], ["n=1"], "f(a, n=1)\n"),
    ("f(a, b)\n", [0], ["n=1"], "f(b, n=1)\n"),
    ("f(\n    a,\n    b,\n)\n", [1], ["n=1"], "f(\n    a,\n    n=1,\n)\n"),
    ("f()\n", [], ["n=1", "m=2"], "f(n=1, m=2)\n"),
    ("f(a)\n", [], ["n=1", "m=2"], "f(a, n=1, m=2)\n"),
    ("f(\n    a,\n)\n", [], ["n=1", "m=2"], "f(\n    a,\n    n=1,\n    m=2,\n)\n"),
    ("f(\n    a\n)\n", [], ["n=1", "m=2"], "f(\n    a,\n    n=1,\n    m=2\n)\n"),
    ("f(n=2)\n", [0], ["n=1"], "f(n=1)\n"),
]


@pytest.mark.parametrize(("before", "numbers", "added", "after"), BOTH)
def test_one_fix_does_several_things_to_a_call(
    before: str, numbers: list[int], added: list[str], after: str
) -> None:
    def edits(code: Code) -> list[Edit]:
        node = call(code)
        place = code.source.place(node)
        gone: list[Edit] = [RemoveArgument(place, node.args[number]) for number in numbers]
        return gone + [AddArgument(place, text) for text in added]

    assert edited(before, edits) == after


def test_a_keyword_is_not_given_twice() -> None:
    with pytest.raises(EditError, match="n"):
        edited("f(n=2)\n", lambda code: AddArgument(code.source.place(call(code)), "n=1"))


def test_an_argument_of_another_call_is_not_removed() -> None:
    code = Code("f(a)\ng(b)\n")
    other = next(
        node
        for node in _walk(code.source.module)
        if isinstance(node, cst.Arg) and node is not call(code).args[0]
    )
    with pytest.raises(EditError):
        code.after(RemoveArgument(code.source.place(call(code)), other))
