"""From edits of nodes to edits of the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import libcst as cst

from oomlint.documents.text_edits import TextEdit
from oomlint.syntax import expression_edits
from oomlint.syntax.call_edits import call_edits, call_nodes
from oomlint.syntax.chain_edits import call_on, chain_nodes, move_in_chain
from oomlint.syntax.edits import (
    AddArgument,
    AddImport,
    CallOn,
    Edit,
    InsertAfter,
    InsertBefore,
    MoveAfter,
    MoveBefore,
    MoveInChain,
    RemoveArgument,
    RemoveStatement,
    Replace,
    Wrap,
)
from oomlint.syntax.import_edits import add_import
from oomlint.syntax.layout import EditError, Layout
from oomlint.syntax.place import Place, Several
from oomlint.syntax.positions import PositionError, Positions
from oomlint.syntax.source import Source
from oomlint.syntax.statement_edits import (
    Moved,
    insert_after,
    insert_before,
    insert_moved,
    long_strings,
    remove,
)
from oomlint.syntax.statements import Anchor, anchor

__all__ = ["EditError", "resolve", "resolve_one"]


def resolve(
    source: Source, fixes: Sequence[Sequence[Edit]], known: Positions | None = None
) -> list[tuple[TextEdit, ...] | EditError]:
    """The text edits of each fix of one document, or why it cannot be written.

    All fixes at once, because positions cost a code generation of the whole file; `known` has those that were
    worked out already.
    """
    fixes = [[_written(edit) for edit in edits] for edits in fixes]
    try:
        named = [node for edits in fixes for edit in edits for node in named_nodes(edit)]
        layout = Layout(source, named, known)
        _look_up_statements(layout, fixes)
    except PositionError as error:
        return [EditError(str(error)) for _ in fixes]
    return [_resolved(layout, edits) for edits in fixes]


def _written(edit: Edit) -> Edit:
    """An edit with the nodes as they are written, where a rule has seen those of a light tree."""
    source = edit.place.source
    changes: dict[str, Any] = {}
    for field in fields(edit):
        value = getattr(edit, field.name)
        if isinstance(value, Place):
            changes[field.name] = type(value)(value.source, value.source.written(value.node))
        elif isinstance(value, cst.CSTNode):
            changes[field.name] = source.written(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], cst.CSTNode):
            changes[field.name] = tuple(map(source.written, value))
    written: Edit = replace(edit, **changes)
    return written


def resolve_one(source: Source, edits: Sequence[Edit]) -> tuple[TextEdit, ...]:
    """The text edits of one fix."""
    (found,) = resolve(source, [edits])
    if isinstance(found, EditError):
        raise found
    return found


def named_nodes(edit: Edit) -> Iterator[cst.CSTNode]:
    """The nodes that an edit names."""
    yield edit.place.node
    match edit:
        case AddArgument() | RemoveArgument():
            if isinstance(edit.place.node, cst.Call):
                yield from call_nodes(edit.place.node)
        case MoveBefore() | MoveAfter():
            yield edit.last.node
            yield edit.target.node
        case MoveInChain() | CallOn():
            yield from chain_nodes(edit)


def _look_up_statements(layout: Layout, fixes: Sequence[Sequence[Edit]]) -> None:
    """Ask for the positions of the statements around the places, now that it is known which these are."""
    nodes: list[cst.CSTNode] = []
    for edit in (edit for edits in fixes for edit in edits):
        try:
            match edit:
                case InsertBefore() | InsertAfter() | RemoveStatement():
                    nodes += anchor(layout, edit.place.node).nodes()
                case MoveBefore() | MoveAfter():
                    moved = _moved(layout, edit)
                    nodes += (*moved.first.nodes(), *moved.last.nodes(), *long_strings(moved.statements))
                    nodes += anchor(layout, edit.target.node).nodes()
                case AddImport():
                    for statement in layout.source.whole.body:
                        nodes += Anchor(statement, layout.source.whole, (), None).nodes()
        except (EditError, PositionError):
            continue  # said again, for its fix, when the edit is resolved
    layout.look_up(nodes)


def _moved(layout: Layout, edit: MoveBefore | MoveAfter) -> Moved:
    return Moved(anchor(layout, edit.place.node), anchor(layout, edit.last.node))


def _resolved(layout: Layout, edits: Sequence[Edit]) -> tuple[TextEdit, ...] | EditError:
    try:
        if any(edit.place.source is not layout.source for edit in edits):
            raise EditError("the fix would change another file")
        found = sorted(_text_edits(layout, edits), key=lambda edit: (edit.start, edit.end))
    except PositionError as error:
        return EditError(str(error))
    except EditError as error:
        return error
    if any(after.start < before.end for before, after in pairwise(found)):
        return EditError("the edits of the fix overlap")
    return tuple(found)


def _text_edits(layout: Layout, edits: Sequence[Edit]) -> list[TextEdit]:
    found: list[TextEdit] = []
    removed: list[Anchor] = []
    moves: list[Moved] = []
    filled: list[Anchor] = []
    # What one fix does to one call, or takes from one block, is worked out together.
    calls: dict[int, tuple[cst.Call, list[cst.Arg], list[str]]] = {}
    imports: dict[str, cst.CSTNode] = {}
    for edit in edits:
        match edit:
            case Replace(place=Several()) | Wrap(place=Several()):
                raise EditError("these are several arguments")
            case Replace():
                found += expression_edits.replace(layout, edit)
            case Wrap():
                found += expression_edits.wrap(layout, edit)
            case MoveInChain():
                found += move_in_chain(layout, edit)
            case CallOn():
                found += call_on(layout, edit)
            case AddArgument(place=place, text=text):
                _call(calls, place.node)[2].append(text)
            case RemoveArgument(place=place, argument=argument):
                _call(calls, place.node)[1].append(argument)
            case InsertBefore(place=place, lines=lines, blank=blank):
                filled.append(anchor(layout, place.node))
                found += insert_before(layout, filled[-1], lines, blank=blank)
            case InsertAfter(place=place, lines=lines):
                filled.append(anchor(layout, place.node))
                found += insert_after(layout, filled[-1], lines)
            case RemoveStatement(place=place):
                removed.append(anchor(layout, place.node))
            case MoveBefore(target=target):
                moves.append(_moved(layout, edit))
                found += insert_moved(layout, moves[-1], anchor(layout, target.node))
            case MoveAfter(target=target):
                moves.append(_moved(layout, edit))
                found += insert_moved(layout, moves[-1], anchor(layout, target.node), behind=True)
            case AddImport(place=place, statement=statement):
                imports.setdefault(statement, place.node)
    for call, without, added in calls.values():
        found += call_edits(layout, call, without, added)
    for statement, node in imports.items():
        found += add_import(layout, node, statement)
    return found + remove(layout, removed, moves, filled)


def _call(
    calls: dict[int, tuple[cst.Call, list[cst.Arg], list[str]]], node: cst.CSTNode
) -> tuple[cst.Call, list[cst.Arg], list[str]]:
    if not isinstance(node, cst.Call):
        raise EditError("arguments belong to a call")
    return calls.setdefault(id(node), (node, [], []))
