"""Parsing a document again after an edit: the statements around the edit, the others are kept.

A keystroke changes one statement of a file. LibCST takes as long for the file as for everything else that a check does,
and its nodes do not know where they stand, so that those of the other statements serve again. Blanks and comments
between statements may belong to either, so the statements beside those that changed are parsed as well; where what
comes out does not fit what is kept (a string was opened, a block joined to another) the whole file is parsed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import libcst as cst

from oomlint.documents.python_file import Document
from oomlint.syntax.parse import parsed, whole_module
from oomlint.syntax.source import Source

_INDENTED = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)


class Reparser:
    """The last version of one document that was parsed, statement by statement."""

    def __init__(self) -> None:
        self._text = ""
        self._module: cst.Module | None = None
        self._codes: list[str] = []  # of the header, then of each statement with what stands above it

    def parse(self, document: Document) -> Source:
        """The parsed document. Raises SyntaxFault."""
        text = document.text
        module = self._again(text) if self._module is not None else None
        if module is None:
            module = whole_module(document)
            self._take(module, text)
        return Source(document, module)

    def _take(self, module: cst.Module, text: str) -> None:
        codes = [_header(module), *map(module.code_for_node, module.body)]
        self._keep(module, text, codes)

    def _keep(self, module: cst.Module, text: str, codes: list[str]) -> bool:
        """Remember a version, if its tree has all of its text."""
        whole = "".join((*codes, *map(module.code_for_node, module.footer)))
        if whole != text and (module.has_trailing_newline or whole != text + module.default_newline):
            self._module, self._codes = None, []
            return False
        self._module, self._text, self._codes = module, text, codes
        return True

    def _again(self, text: str) -> cst.Module | None:
        """The tree of a text that is much like the last one; None where it has to be parsed as a whole."""
        old, module = self._text, self._module
        assert module is not None
        start, end = _differing(old, text)
        ends = list(accumulate(map(len, self._codes)))
        count = len(module.body)
        # Numbers of statements, the header is 0. The one in front of the first to be parsed holds its place.
        before = bisect_right(ends, max(start - 1, 0)) - 2
        behind = bisect_right(ends, end) + 1
        if before < 1:
            before = 0
        if behind >= count:
            behind = count + 1  # there is none
        if before == 0 and behind > count:
            return None
        first = ends[before - 1] if before else 0
        last = ends[behind] + len(text) - len(old) if behind <= count else len(text)
        try:
            part = parsed(text[first:last])
        except (cst.ParserSyntaxError, RecursionError, ValueError):
            return None
        if (part.default_indent, part.default_newline) != (module.default_indent, module.default_newline):
            return None
        if before == 0 and _unit(old) != _unit(text):
            return None
        codes = [part.code_for_node(statement) for statement in part.body]
        return self._joined(text, part, codes, before, behind)

    def _joined(
        self, text: str, part: cst.Module, codes: list[str], before: int, behind: int
    ) -> cst.Module | None:
        """The kept statements with those of the part between them."""
        module = self._module
        assert module is not None
        body: Sequence[cst.CSTNode] = part.body
        changes: dict[str, object] = {}
        head, tail = [_header(part)], list[str]()
        kept_before: Sequence[cst.CSTNode] = ()
        kept_behind: Sequence[cst.CSTNode] = ()
        if before:
            # What stands above the first statement of a part is the part's header, so only its own code is compared.
            if (
                len(codes) < 2
                or not self._codes[before].endswith(codes[0])
                or codes[1] != self._codes[before + 1]
            ):
                return None
            head, kept_before = self._codes[: before + 1], module.body[:before]
            body, codes = body[1:], codes[1:]
        else:
            changes["header"] = part.header
        if behind <= len(module.body):
            if not codes or part.footer or not part.has_trailing_newline or codes[-1] != self._codes[behind]:
                return None
            tail, kept_behind = self._codes[behind:], module.body[behind - 1 :]
            body, codes = body[:-1], codes[:-1]
        else:
            changes |= {"footer": part.footer, "has_trailing_newline": part.has_trailing_newline}
        joined = module.with_changes(body=[*kept_before, *body, *kept_behind], **changes)
        return joined if self._keep(joined, text, [*head, *codes, *tail]) else None


def _header(module: cst.Module) -> str:
    return "".join(map(module.code_for_node, module.header))


def _unit(text: str) -> str | None:
    """The first indentation of a text."""
    found = _INDENTED.search(text)
    return None if found is None else found.group()


def _differing(old: str, new: str) -> tuple[int, int]:
    """The span of the old text outside of which the new one is the same."""
    start = _shared(old, new)
    behind = _shared(old[start:][::-1], new[start:][::-1])
    return start, len(old) - behind


def _shared(one: str, other: str) -> int:
    """How many characters two texts start with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
