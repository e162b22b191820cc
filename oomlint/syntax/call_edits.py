"""Adding and removing arguments of one call, commas and comments included."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from oomlint.documents.text_edits import TextEdit
from oomlint.syntax.layout import EditError, Layout

_KEYWORD = re.compile(r"(\w+)\s*=(?!=)")


@dataclass(frozen=True, slots=True)
class _Argument:
    start: int
    end: int
    behind_comma: int | None
    next: int  # the next argument, or the closing parenthesis

    @property
    def whole_end(self) -> int:
        return self.end if self.behind_comma is None else self.behind_comma


def call_nodes(call: cst.Call) -> Iterator[cst.CSTNode]:
    """The nodes whose positions :func:`call_edits` needs."""
    yield call.whitespace_before_args
    for argument in call.args:
        yield argument
        if isinstance(argument.comma, cst.Comma):
            yield argument.comma.whitespace_before


def call_edits(
    layout: Layout, call: cst.Call, removed: Sequence[cst.Arg], added: Sequence[str]
) -> list[TextEdit]:
    """What one fix does to the arguments of one call."""
    numbers = []
    for argument in removed:
        number = next((n for n, own in enumerate(call.args) if own is argument), None)
        if number is None:
            raise EditError("an argument that is not one of the call")
        numbers.append(number)
    return _CallEdits(layout, call).edits(sorted(set(numbers)), added)


class _CallEdits:
    def __init__(self, layout: Layout, call: cst.Call) -> None:
        self.layout = layout
        self.text = layout.text
        self.call = call
        self.close = layout.span(call)[1] - 1
        self.arguments = [self._argument(argument) for argument in call.args]
        self.open = layout.outer(call.whitespace_before_args)[0]  # behind the opening parenthesis
        if self.text[self.open - 1] != "(" or self.text[self.close] != ")":
            raise EditError("the parentheses of the call are not where they should be")

    def edits(self, removed: list[int], added: Sequence[str]) -> list[TextEdit]:
        last = len(self.arguments) - 1
        self._check_keywords(removed, added)
        edits: list[TextEdit] = []
        for low, high in _runs(removed):
            if added and high == last:
                # What is added takes the place of what is removed at the end.
                start, end = self.arguments[low].start, self.arguments[high].end
                edits.append(TextEdit(start, end, ", ".join(added)))
                added = ()
            else:
                edits.append(self._removal(low, high))
        if added:
            edits += self._addition(added)
        return edits

    def _argument(self, argument: cst.Arg) -> _Argument:
        start, end = self.layout.span(argument)
        behind = None
        if isinstance(argument.comma, cst.Comma):
            behind = self.layout.outer(argument.comma.whitespace_before)[1] + 1
            if self.text[behind - 1] != ",":
                raise EditError("a comma of the call is not where it should be")
        return _Argument(start, end, behind, self.layout.outer(argument)[1])

    def _check_keywords(self, removed: list[int], added: Sequence[str]) -> None:
        taken = {
            argument.keyword.value
            for number, argument in enumerate(self.call.args)
            if argument.keyword is not None and number not in removed
        }
        for text in added:
            found = _KEYWORD.match(text.strip())
            if found is not None and found[1] in taken:
                raise EditError(f"the call already has the argument {found[1]}")
            if found is not None:
                taken.add(found[1])

    def _addition(self, added: Sequence[str]) -> list[TextEdit]:
        if not self.arguments:
            return [self._first(added)]
        last = self.arguments[-1]
        inline = ", ".join(added)
        value = self.call.args[-1].value
        if isinstance(value, cst.GeneratorExp) and not value.lpar:
            return [
                TextEdit(last.start, last.start, "("),
                TextEdit(last.whole_end, last.whole_end, f"), {inline}"),
            ]
        behind = self.text[last.whole_end : self.close]
        if "\n" not in behind and "\r" not in behind:
            if last.behind_comma is not None:
                return [TextEdit(last.behind_comma, last.behind_comma, f" {inline},")]
            if self._one_to_a_row():
                rows = "".join(
                    f",{self.layout.newline}{self.layout.indent(last.start)}{text}" for text in added
                )
                return [TextEdit(last.end, last.end, rows)]
            return [TextEdit(last.end, last.end, f", {inline}")]
        comma = [] if last.behind_comma is not None else [TextEdit(last.end, last.end, ",")]
        row = self.layout.next_row(last.whole_end)
        return [*comma, TextEdit(row, row, self._rows(added, last, trailing=last.behind_comma is not None))]

    def _first(self, added: Sequence[str]) -> TextEdit:
        inside = self.text[self.open : self.close]
        if not inside.strip():
            return TextEdit(self.open, self.close, ", ".join(added))
        # Only comments stand there, which end with a newline.
        row = self.layout.row_start(self.close)
        above = self.layout.row_start(row - 1)
        indent = self.layout.indent(above)
        if above <= self.open:
            indent += self.layout.unit
        return TextEdit(row, row, "".join(f"{indent}{text},{self.layout.newline}" for text in added))

    def _rows(self, added: Sequence[str], last: _Argument, *, trailing: bool) -> str:
        indent = self.layout.indent(last.start)
        if self.layout.row_start(last.start) == self.layout.row_start(self.open):
            indent += self.layout.unit
        rows = [f"{indent}{text},{self.layout.newline}" for text in added]
        if not trailing:
            rows[-1] = f"{indent}{added[-1]}{self.layout.newline}"
        return "".join(rows)

    def _one_to_a_row(self) -> bool:
        """Whether the arguments stand one below the other (the first may stand beside the parenthesis)."""
        return len(self.arguments) > 1 and all(
            self.layout.begins_row(argument.start) for argument in self.arguments[1:]
        )

    def _removal(self, low: int, high: int) -> TextEdit:
        first, last = self.arguments[low], self.arguments[high]
        if high < len(self.arguments) - 1:
            return self._removal_before_others(first, last)
        if low == 0:
            outside = self.text[self.open : first.start] + self.text[last.whole_end : self.close]
            if "#" in outside:
                return TextEdit(first.start, last.whole_end, "")
            return TextEdit(self.open, self.close, "")
        before = self.arguments[low - 1]
        if self.layout.begins_row(first.start):
            if self.layout.row_end(last.whole_end) < self.close:
                return TextEdit(self.layout.row_start(first.start), self.layout.next_row(last.whole_end), "")
            if "#" in self.text[before.end : first.start]:
                return TextEdit(first.start, last.whole_end, "")
        if last.behind_comma is not None and before.behind_comma is not None:
            return TextEdit(before.behind_comma, last.behind_comma, "")
        return TextEdit(before.end, last.end, "")

    def _removal_before_others(self, first: _Argument, last: _Argument) -> TextEdit:
        own_rows = self.layout.begins_row(first.start) and self.layout.row_end(last.whole_end) < last.next
        if own_rows:
            return TextEdit(self.layout.row_start(first.start), self.layout.next_row(last.whole_end), "")
        rows_below = self.text[self.layout.row_end(last.whole_end) : last.next]
        if "#" in rows_below:  # about the argument that follows
            return TextEdit(first.start, last.whole_end, "")
        return TextEdit(first.start, last.next, "")


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Neighbours taken together: [0, 1, 3] gives (0, 1) and (3, 3)."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
