"""Edits of chained method calls: the text of `method(arguments)` moves, all that stands between stays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import libcst as cst

from oomlint.documents.text_edits import TextEdit
from oomlint.syntax.edits import CallOn, MoveInChain
from oomlint.syntax.layout import EditError, Layout


def chain_nodes(edit: MoveInChain | CallOn) -> Iterator[cst.CSTNode]:
    """The nodes whose positions an edit needs."""
    calls = (edit.place.node, *edit.over) if isinstance(edit, MoveInChain) else (edit.call,)
    for call in calls:
        yield call
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
            yield call.func.attr


def _segment(layout: Layout, call: cst.CSTNode) -> tuple[int, int]:
    """Where `method(arguments)` of a call stands."""
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        raise EditError("only a method call has a place in a chain")
    return layout.span(call.func.attr)[0], layout.span(call)[1]


def move_in_chain(layout: Layout, edit: MoveInChain) -> list[TextEdit]:
    """The edits of a :class:`MoveInChain`: each place in the chain gets the call that stands there now."""
    calls = [*edit.over, edit.place.node]
    for one, two in itertools.pairwise(calls):
        if not (isinstance(two, cst.Call) and isinstance(two.func, cst.Attribute) and two.func.value is one):
            raise EditError("the calls are not chained")
    spans = [_segment(layout, call) for call in calls]
    pieces = [layout.text[start:end] for start, end in spans]
    moved = [pieces[-1], *pieces[:-1]]
    return [TextEdit(start, end, piece) for (start, end), piece in zip(spans, moved, strict=True)]


def call_on(layout: Layout, edit: CallOn) -> list[TextEdit]:
    """The insertion of a :class:`CallOn`."""
    start, end = _segment(layout, edit.call)
    after = layout.outer(edit.place.node)[1]
    return [TextEdit(after, after, f".{layout.text[start:end]}")]
