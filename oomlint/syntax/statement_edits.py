"""Inserting, removing and moving whole statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from oomlint.documents.text_edits import TextEdit
from oomlint.syntax.layout import EditError, Layout
from oomlint.syntax.statements import Anchor


def insert_before(layout: Layout, place: Anchor, lines: Sequence[str], *, blank: bool) -> list[TextEdit]:
    """Insert rows above a statement."""
    rows = [*lines, ""] if blank else lines
    return _insert_before(layout, place, lambda indent: layout.block(rows, indent))


def _insert_before(layout: Layout, place: Anchor, block: Callable[[str], str]) -> list[TextEdit]:
    indent = place.indent(layout)
    small = place.small or 0
    if small or place.is_inline:
        edits = _opened(layout, place) if small else []
        return [*edits, TextEdit(*place.gap(layout, small), f"{layout.newline}{block(indent)}{indent}")]
    row = place.first_row(layout)
    return [TextEdit(row, row, block(indent))]


def insert_after(layout: Layout, place: Anchor, lines: Sequence[str]) -> list[TextEdit]:
    """Insert rows below a statement."""
    return _insert_after(layout, place, lambda indent: layout.block(lines, indent))


def _insert_after(layout: Layout, place: Anchor, made: Callable[[str], str]) -> list[TextEdit]:
    indent = place.indent(layout)
    block = made(indent)
    edits = _opened(layout, place)
    if place.small is not None and place.small < len(place.smalls) - 1:
        return [
            *edits,
            TextEdit(*place.gap(layout, place.small + 1), f"{layout.newline}{block}{indent}"),
        ]
    end = place.end(layout)
    row = layout.next_row(end)
    if layout.row_end(end) == len(layout.text):  # the file has no newline at its end, and gets none
        return [*edits, TextEdit(row, row, layout.newline + block.removesuffix(layout.newline))]
    return [*edits, TextEdit(row, row, block)]


def _opened(layout: Layout, place: Anchor) -> list[TextEdit]:
    """Put the statements behind a colon on a row of their own."""
    if not place.is_inline:
        return []
    return [TextEdit(*place.gap(layout, 0), layout.newline + place.indent(layout))]


@dataclass(frozen=True, slots=True)
class Moved:
    """Statements that a fix takes from their place: a part of one line, or whole rows."""

    first: Anchor
    last: Anchor

    @property
    def is_part_of_line(self) -> bool:
        """Whether other small statements of its line stay."""
        small = self.first.small is not None and self.first.statement is self.last.statement
        return small and len(self.first.smalls) > 1

    @property
    def statements(self) -> list[cst.CSTNode]:
        """The statements from the first to the last, which must stand in one block in this order."""
        siblings = self.first.siblings
        numbers = {id(own): number for number, own in enumerate(siblings)}
        low, high = numbers[id(self.first.statement)], numbers.get(id(self.last.statement), -1)
        if high < low:
            raise EditError("the statements to move do not stand in one block, in order")
        return list(siblings[low : high + 1])


def insert_moved(layout: Layout, moved: Moved, target: Anchor, *, behind: bool = False) -> list[TextEdit]:
    """The insertion of a move; :func:`remove` does the rest."""
    statements = moved.statements
    if any(node is statement for node in target.path for statement in statements):
        raise EditError("a statement cannot be moved before a part of itself")
    first, last = moved.first, moved.last
    if moved.is_part_of_line and first.small is not None:
        rows = _part_rows(layout, *layout.span(first.smalls[first.small]))
    elif first.is_inline:
        rows = _part_rows(layout, layout.span(first.smalls[0])[0], layout.span(first.smalls[-1])[1])
    else:
        rows = list(_whole_rows(layout, first, last, statements))

    if not first.is_inline and _blank_above(layout, first.first_row(layout)) is not None:
        rows.insert(0 if behind else len(rows), (layout.newline, False))  # what stood apart stands apart

    def block(indent: str) -> str:
        return "".join(row if raw or not row.strip() else indent + row for row, raw in rows)

    return (_insert_after if behind else _insert_before)(layout, target, block)


def _blank_above(layout: Layout, row: int) -> int | None:
    """Where the empty row above a row starts, if there is one."""
    start = layout.row_start(row - 1) if row else row
    return start if start < row and not layout.text[start:row].strip() else None


def _part_rows(layout: Layout, start: int, end: int) -> list[tuple[str, bool]]:
    return [(layout.text[start:end] + layout.newline, False)]


def _whole_rows(
    layout: Layout, first: Anchor, last: Anchor, statements: Iterable[cst.CSTNode]
) -> Iterator[tuple[str, bool]]:
    """Rows without the indentation of their block, and whether a row is to be left as it is."""
    strings = [layout.span(node) for node in long_strings(statements)]
    indent = layout.block_indent(first.statement)
    lines = layout.lines
    for number in range(lines.row(first.first_row(layout)), lines.row(last.end(layout)) + 1):
        start = lines.start(number)
        row = layout.text[start : lines.next_start(number)]
        if lines.next_start(number) == lines.end(number):
            row += layout.newline
        # A row that starts inside of a string is part of its value.
        in_string = any(opened < start < closed for opened, closed in strings)
        before = layout.indent(start)
        if not in_string and "\f" in before:  # for Python the row starts behind it
            row = row[before.rindex("\f") + 1 :]
        if in_string or not row.startswith(indent):
            yield row, True
        else:
            yield row[len(indent) :], False


def long_strings(nodes: Iterable[cst.CSTNode]) -> list[cst.CSTNode]:
    """The strings below some nodes that go over several rows."""
    found: list[cst.CSTNode] = []
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, cst.SimpleString):
            if "\n" in node.value or "\r" in node.value:
                found.append(node)
        elif isinstance(node, cst.FormattedString):
            found.append(node)
        else:
            stack += node.children
    return found


@dataclass(frozen=True, slots=True)
class _Region:
    """Whole statements that go: how they go, and how if their block must keep a `pass`."""

    holder: cst.CSTNode
    siblings: Sequence[cst.CSTNode]
    statements: Sequence[cst.CSTNode]
    gone: TextEdit
    emptied: TextEdit


def remove(
    layout: Layout, removed: Sequence[Anchor], moves: Sequence[Moved] = (), filled: Iterable[Anchor] = ()
) -> list[TextEdit]:
    """Remove statements of one fix together, so that a block which loses all of them keeps a `pass`.

    `filled` are places at which the fix inserts statements: their blocks are not left empty.
    """
    edits: list[TextEdit] = []
    regions = [_moved_region(layout, moved) for moved in moves if not moved.is_part_of_line]
    parts = [*removed, *(moved.first for moved in moves if moved.is_part_of_line)]
    for place, smalls in _by_statement(parts):
        if smalls is None or len(smalls) == len(place.smalls):
            regions.append(_region(layout, place))
        else:
            edits += _remove_smalls(layout, place, smalls)
    gone = {id(statement) for region in regions for statement in region.statements}
    kept = {id(place.holder) for place in filled}
    for region in regions:
        needs_pass = not isinstance(region.holder, cst.Module) and id(region.holder) not in kept
        if needs_pass and all(id(sibling) in gone for sibling in region.siblings):
            kept.add(id(region.holder))
            edits.append(region.emptied)
        else:
            edits.append(region.gone)
    return edits


def _region(layout: Layout, place: Anchor) -> _Region:
    start, end = place.start(layout), place.end(layout)
    if place.is_inline:
        gone = emptied = TextEdit(start, end, "pass")
    else:
        gone = TextEdit(layout.row_start(start), layout.next_row(end), "")
        emptied = TextEdit(start, layout.row_end(end), "pass")
    return _Region(place.holder, place.siblings, [place.statement], gone, emptied)


def _moved_region(layout: Layout, moved: Moved) -> _Region:
    first = moved.first
    if first.is_inline:
        return _region(layout, first)
    start, end = first.first_row(layout), moved.last.end(layout)
    below = layout.next_row(end)
    above = _blank_above(layout, start) if not layout.text[below : layout.next_row(below)].strip() else None
    gone = TextEdit(start if above is None else above, below, "")
    emptied = TextEdit(start, layout.row_end(end), f"{first.indent(layout)}pass")
    return _Region(first.holder, first.siblings, moved.statements, gone, emptied)


def _by_statement(removed: Iterable[Anchor]) -> list[tuple[Anchor, set[int] | None]]:
    """Each statement once, with the numbers of the small statements meant, or None for all of it."""
    groups: dict[int, tuple[Anchor, set[int] | None]] = {}
    for place in removed:
        smalls = groups[id(place.statement)][1] if id(place.statement) in groups else set[int]()
        both = None if place.small is None or smalls is None else smalls | {place.small}
        groups[id(place.statement)] = (place, both)
    return list(groups.values())


def _remove_smalls(layout: Layout, place: Anchor, smalls: set[int]) -> Iterator[TextEdit]:
    spans = [layout.span(small) for small in place.smalls]
    last_kept = max(number for number in range(len(spans)) if number not in smalls)
    for number in sorted(smalls):
        if number < last_kept:
            yield TextEdit(spans[number][0], spans[number + 1][0], "")
    if last_kept < len(spans) - 1:
        yield TextEdit(spans[last_kept][1], spans[-1][1], "")
