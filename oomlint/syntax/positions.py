"""Where the nodes that are reported stand in the text.

LibCST's tree has no positions, and its PositionProvider works them out for every node, which
costs twice the parse (benchmarks/positions.py). This generates the code once, notes for the asked nodes
at which token they start and end, and adds the token lengths up at the end.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate
from types import TracebackType
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

from oomlint.documents.lines import Location
from oomlint.syntax.gates import SyntaxFault
from oomlint.syntax.recursion import with_room
from oomlint.syntax.source import Source

_DROPPED = frozenset(" \t\f\r\n\\")
_ROWS = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$")
_UNWATCHED = nullcontext()


class PositionError(Exception):
    """A node has no place in the text: it is not of this document, or the text is not the tree's."""


class _Recorder(CodegenState):
    """Notes the token numbers at which the wanted nodes start and end."""

    # CodegenState has slots; these live in the instance's dictionary

    def __init__(self, module: cst.Module, wanted: Iterable[cst.CSTNode]) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.wanted = {id(node) for node in wanted}
        self.path: list[cst.CSTNode] = []
        self.inner: dict[int, tuple[int, int]] = {}
        self.outer: dict[int, tuple[int, int]] = {}
        self.above: dict[int, tuple[cst.CSTNode, ...]] = {}
        self.indents: dict[int, str] = {}
        self.starts: dict[int, int] = {}

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            self.above[id(node)] = tuple(self.path)
            self.indents[id(node)] = "".join(self.indent_tokens)
            self.starts[id(node)] = len(self.tokens)
        self.path.append(node)

    def after_codegen(self, node: cst.CSTNode) -> None:
        self.path.pop()
        start = self.starts.get(id(node))
        if start is not None:
            self.outer[id(node)] = (start, len(self.tokens))

    def record_syntactic_position(  # type: ignore[override]  # any context manager will do
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> AbstractContextManager[Any]:
        if id(node) not in self.wanted:
            return _UNWATCHED
        self.wanted.update(id(other) for other in (start_node, end_node) if other is not None)
        return _Watch(self, node, start_node, end_node)


class _Watch:
    """The part of a node's code that is the node, without blanks around it and its own parentheses."""

    def __init__(
        self, state: _Recorder, node: cst.CSTNode, first: cst.CSTNode | None, last: cst.CSTNode | None
    ) -> None:
        self.state, self.node, self.first, self.last = state, node, first, last

    def __enter__(self) -> None:
        self.start = len(self.state.tokens)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        inner = self.state.inner
        start, end = self.start, len(self.state.tokens)
        if kind is None:
            if self.first is not None:
                start = self._span(self.first)[0]
            if self.last is not None:
                end = self._span(self.last)[1]
        inner[id(self.node)] = (start, end)

    def _span(self, node: cst.CSTNode) -> tuple[int, int]:
        found = self.state.inner.get(id(node))
        return self.state.outer[id(node)] if found is None else found


class Positions:
    """The places of some nodes of one document. Ask for all of them at once: each use is one code generation."""

    __slots__ = ("_above", "_indents", "_inner", "_nodes", "_outer", "source")

    def __init__(self, source: Source, nodes: Iterable[cst.CSTNode]) -> None:
        self.source = source
        # The nodes are kept, so that no other object can get one's id.
        self._nodes = {id(node): node for node in map(source.written, nodes)}
        self._inner: dict[int, tuple[int, int]] = {}
        self._outer: dict[int, tuple[int, int]] = {}
        self._above: dict[int, tuple[cst.CSTNode, ...]] = {}
        self._indents: dict[int, str] = {}
        if self._nodes:
            self._record()

    def _record(self) -> None:
        recorder = _generate(self.source.whole, self._nodes.values())
        offsets = [0, *accumulate(map(len, recorder.tokens))]
        total = len(offsets) - 1  # the last newline's token is popped when the text has none
        places = _Alignment("".join(recorder.tokens), self.source.document.text)
        for known, spans in ((recorder.inner, self._inner), (recorder.outer, self._outer)):
            for key, (first, behind) in known.items():
                spans[key] = places.span(offsets[min(first, total)], offsets[min(behind, total)])
        self._above = recorder.above
        self._indents = recorder.indents

    def __contains__(self, node: cst.CSTNode) -> bool:
        return id(self.source.written(node)) in self._outer

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Offsets of a node, without blanks around it and without its own parentheses."""
        found = self._inner.get(id(self.source.written(node)))
        return self.outer(node) if found is None else found

    def outer(self, node: cst.CSTNode) -> tuple[int, int]:
        """Offsets of all that the node generates: an expression with its own parentheses, a statement line
        with the comment lines above it and its newline.
        """
        try:
            return self._outer[id(self.source.written(node))]
        except KeyError:
            raise PositionError(f"a {type(node).__name__} that is not part of this document") from None

    def start(self, node: cst.CSTNode) -> Location:
        """Row and column where the node starts."""
        return self.source.document.location(self.span(node)[0])

    def end(self, node: cst.CSTNode) -> Location:
        """Row and column behind the node."""
        return self.source.document.location(self.span(node)[1])

    def ancestors(self, node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        """The nodes that hold it, the module first."""
        self.outer(node)
        return self._above[id(self.source.written(node))]

    def indent(self, node: cst.CSTNode) -> str:
        """The indentation of the block that holds the node (for a block: of what holds the block)."""
        self.outer(node)
        return self._indents[id(self.source.written(node))]


class _Alignment:
    """Generated code and the text it came from.

    They are the same but for blanks that LibCST does not keep: a form feed at the start of a statement,
    blank lines above an indented comment at the end, a lone ``\\r`` at the end of the file. Of several comments
    at the end that are indented differently it loses some.
    """

    def __init__(self, generated: str, text: str) -> None:
        self._from: list[int] = []  # generated offsets from which on `_shift` holds
        self._shift: list[int] = []
        if generated == text:
            return
        try:
            self._take(generated, text, 0, 0)
        except PositionError:
            self._from, self._shift = [], []
            self._take_rows(_ROWS.findall(generated), _ROWS.findall(text))

    def _take_rows(self, generated: list[str], text: list[str]) -> None:
        """Row by row: those that only the text has may be comments."""
        from difflib import SequenceMatcher  # few files need it

        ours, theirs = ([0, *accumulate(map(len, rows))] for rows in (generated, text))
        bare, bare_text = ([row.strip(" \t\f\r\n") for row in rows] for rows in (generated, text))
        for tag, first, last, above, below in SequenceMatcher(None, bare, bare_text).get_opcodes():
            if tag == "insert" and all(row[:1] in ("#", "") for row in bare_text[above:below]):
                continue
            self._from.append(ours[first])
            self._shift.append(theirs[above] - ours[first])
            if tag != "equal":
                self._take(
                    "".join(generated[first:last]), "".join(text[above:below]), ours[first], theirs[above]
                )
                continue
            for row, there in zip(range(first, last), range(above, below)):
                self._from.append(ours[row])
                self._shift.append(theirs[there] - ours[row])
                # Nothing stands in a blank row, which may have other blanks; and of two comments at the end that say
                # the same the one that is left may be the other, which is indented differently.
                if bare[row] and not bare[row].startswith("#"):
                    self._take(generated[row], text[there], ours[row], theirs[there])

    def _take(self, generated: str, text: str, before: int, before_there: int) -> None:
        """Character by character; `before` and `before_there` are what stands before each of the two."""
        there = 0
        for here, character in enumerate(generated):
            skipped = there
            while there < len(text) and text[there] != character and text[there] in _DROPPED:
                there += 1
            if there >= len(text) or text[there] != character:
                raise PositionError("the parsed code differs from the text")
            if there != skipped:
                self._from.append(before + here)
                self._shift.append(before_there + there - before - here)
            there += 1
        if not _DROPPED.issuperset(text[there:]):
            raise PositionError("the parsed code differs from the text")

    def _start(self, offset: int) -> int:
        if not self._from:
            return offset
        index = bisect_right(self._from, offset)
        return offset + (self._shift[index - 1] if index else 0)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The part of the text that a part of the generated code came from."""
        first = self._start(start)
        return first, (self._start(end - 1) + 1 if end > start else first)


def _generate(module: cst.Module, nodes: Iterable[cst.CSTNode]) -> _Recorder:
    nodes = list(nodes)

    def generate() -> _Recorder:
        recorder = _Recorder(module, nodes)
        module._codegen(recorder)
        return recorder

    try:
        return with_room(generate)
    except RecursionError:
        raise SyntaxFault("an expression is nested too deeply to be shown", 1, 1) from None
