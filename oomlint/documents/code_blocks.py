"""Python code blocks of Markdown and reStructuredText: the program of a document is its blocks in order.

A block of a document is a snippet: what does not parse, because it is one of another language or has dots for
what is left out, is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from oomlint.documents.encodings import UTF8_BOM
from oomlint.documents.ipython import cell_of
from oomlint.documents.lines import LineIndex, Location
from oomlint.documents.parts import Part, PartedDocument
from oomlint.documents.python_file import DocumentError
from oomlint.documents.text_edits import TextEdit, apply_edits

_RESTRUCTURED = (".rst", ".rest")

_FENCE = re.compile(
    r"(?P<indent>[ \t]*(?:>[ \t]?|[-*+][ \t]+|\d+[.)][ \t]+)*)(?P<fence>`{3,}|~{3,})(?P<info>[^\r\n]*)$"
)
# ```python, ```{python}, ```{code-cell} ipython3, ```{code-block} python, ``` {.python .numberLines}, ```py title="a"
_INFO = re.compile(
    r"""[ \t]*(?:
        \{?[ \t]*\.?(?:python3?|py3?|ipython3?|pycon)\b
      | \{(?:code-cell|code-block|code|sourcecode)\}[ \t]*(?:i?python3?|py)\b
      | \{code-cell\}[ \t]*$
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_DIRECTIVE = re.compile(
    r"(?P<indent>[ \t]*)\.\.[ \t]+(?:code-block|code|sourcecode|ipython|jupyter-execute|testcode)::"
    r"[ \t]*(?P<language>[\w-]*)[ \t]*$"
)
_PYTHON = frozenset(("python", "python3", "py", "py3", "ipython", "ipython3", "pycon"))
_ALWAYS_PYTHON = re.compile(r"\.\.[ \t]+(?:jupyter-execute|testcode|ipython)::")
_OPTION = re.compile(r"[ \t]*:[\w-]+:")
_PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)")

Rows = tuple[int, int, str]  # first and last row of a block, and what each of its rows starts with
Self = TypeVar("Self", bound="CodeBlocks")


class CodeBlocks(PartedDocument):
    """A document with Python code blocks. Places are those in the file."""

    __slots__ = ("_file_rows", "_file_text", "_spans")

    def __init__(
        self,
        path: Path | None,
        filename: str,
        file_text: str,
        parts: Sequence[Part],
        spans: Sequence[tuple[int, int]],
        bom: bytes = b"",
    ) -> None:
        super().__init__(path, filename, bom + file_text.encode("utf-8"), parts, (), bom)
        self._file_text = file_text
        self._file_rows = LineIndex(file_text)
        self._spans = tuple(spans)

    @property
    def runs(self) -> bool:
        """Nobody runs a text."""
        return False

    def place(self, part: Part | None, row: int, column: int) -> Location:
        """Row and column in the file."""
        above = 0 if part is None else self._file_rows.row(self._spans[part.number - 1][0]) - 1
        return Location(above + row, column)

    def offset(self, location: Location) -> int:
        """The offset in the program of a row and column of the file."""
        for part, (start, end) in zip(self.parts, self._spans, strict=True):
            first = self._file_rows.row(start)
            if first <= location.row < first + part.rows.count and start <= end:
                return part.start + part.to_text(location.row - first + 1, location.column)
        raise ValueError(f"row {location.row} is in no code block")

    def readable(self) -> Iterator[tuple[str, str]]:
        """The file, text and code."""
        yield "", self._file_text

    def with_changes(self: Self, changes: Mapping[int, Sequence[TextEdit]]) -> Self:
        """The document after edits of the sources of some blocks."""
        parts, spans = list(self.parts), list(self._spans)
        edits: list[TextEdit] = []
        moved = 0
        for number, (start, end) in enumerate(self._spans):
            source = parts[number].source
            if number in changes:
                if _is_session(source, parts[number].prefix):
                    raise DocumentError("examples with >>> are left as they are")
                source = apply_edits(source, changes[number])
                edits.append(TextEdit(start, end, source))
                parts[number] = _part(number + 1, source, parts[number].prefix) or Part(
                    number + 1, source, source
                )
            spans[number] = (start + moved, start + moved + len(source))
            moved += len(source) - (end - start)
        new_text = apply_edits(self._file_text, edits)
        return type(self)(self.path, self.filename, new_text, parts, spans, self.bom)


def code_blocks_from_bytes(raw: bytes, filename: str, path: Path | None = None) -> CodeBlocks:
    """Read a document. Raises DocumentError."""
    bom = UTF8_BOM if raw.startswith(UTF8_BOM) else b""
    try:
        text = raw[len(bom) :].decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"byte 0x{raw[error.start + len(bom)]:02x} is not valid utf-8") from None
    rows = LineIndex(text)
    find = _in_restructured if Path(filename).suffix.lower() in _RESTRUCTURED else _in_markdown
    parts: list[Part] = []
    spans: list[tuple[int, int]] = []
    for first, last, prefix in find(rows):
        start, end = rows.start(first), rows.next_start(last)
        part = _part(len(parts) + 1, text[start:end], prefix)
        if part is not None:
            parts.append(part)
            spans.append((start, end))
    return CodeBlocks(path, filename, text, parts, spans, bom)


def _part(number: int, source: str, prefix: str) -> Part | None:
    """The program of a block; None where it has none."""
    rows = LineIndex(source)
    session = _is_session(source, prefix)
    texts: list[str] = []
    prefixes: list[int] = []
    for row in range(1, rows.count + 1):
        content = rows.text_of(row)
        skipped = min(_common(content, prefix), len(content))
        if session:
            prompt = _PROMPT.match(content, skipped)
            skipped = len(content) if prompt is None else prompt.end()
        texts.append(source[rows.start(row) + skipped : rows.next_start(row)])
        prefixes.append(skipped)
    text = "".join(texts)
    if not text.strip():
        return None
    cell = cell_of(text)
    if cell is None or cell.fault is not None:
        return None
    return Part(number, source, cell.text, tuple(prefixes), prefix, cell.neutral)


def _is_session(source: str, prefix: str) -> bool:
    """Whether a block is a session with prompts: what has none there is output."""
    return source[len(prefix) :].startswith(">>>")


def _common(row: str, prefix: str) -> int:
    """How much a row has of what its block's rows start with: a row may be indented less, or be empty."""
    if row.startswith(prefix):
        return len(prefix)
    count = 0
    while count < min(len(prefix), len(row)) and row[count] == prefix[count]:
        count += 1
    return count


def _in_markdown(rows: LineIndex) -> Iterator[Rows]:
    row = 1
    while row <= rows.count:
        opening = _FENCE.match(rows.text_of(row))
        row += 1
        if opening is None or (opening["fence"][0] == "`" and "`" in opening["info"]):
            continue
        first = row
        closing = re.compile(rf"[ \t>]*{re.escape(opening['fence'][0])}{{{len(opening['fence'])},}}[ \t]*$")
        while row <= rows.count and not closing.match(rows.text_of(row)):
            row += 1
        last = row - 1
        row += 1
        if first <= last and _INFO.match(opening["info"]):
            # A bullet in front of the fence is blanks in front of the rows.
            prefix = re.sub(r"[^ \t>]", " ", opening["indent"])
            if "{code" in opening["info"]:
                first = _behind_options(rows, first, last)
            if first <= last:
                yield first, last, prefix


def _behind_options(rows: LineIndex, first: int, last: int) -> int:
    """MyST: options stand on top of a block, as `:key: value` or between two rows of dashes."""
    if rows.text_of(first).strip() == "---":
        for row in range(first + 1, last + 1):
            if rows.text_of(row).strip() == "---":
                return row + 1
    while first <= last and _OPTION.match(rows.text_of(first)):
        first += 1
    return first


def _in_restructured(rows: LineIndex) -> Iterator[Rows]:
    row = 1
    while row <= rows.count:
        text = rows.text_of(row)
        directive = _DIRECTIVE.match(text)
        row += 1
        if directive is None:
            if text.lstrip(" \t").startswith(">>> "):
                first = row - 1
                while row <= rows.count and rows.text_of(row).strip():
                    row += 1
                yield first, row - 1, text[: _indent(text)]
            continue
        outer = len(directive["indent"])
        while row <= rows.count and _OPTION.match(rows.text_of(row)):
            row += 1
        while row <= rows.count and not rows.text_of(row).strip():
            row += 1
        first = row
        while row <= rows.count and (not rows.text_of(row).strip() or _indent(rows.text_of(row)) > outer):
            row += 1
        last = row - 1
        while last >= first and not rows.text_of(last).strip():
            last -= 1
        python = directive["language"].lower() in _PYTHON or _ALWAYS_PYTHON.match(text.lstrip())
        if first <= last and python:
            indent = min(_indent(rows.text_of(n)) for n in range(first, last + 1) if rows.text_of(n).strip())
            yield first, last, rows.text_of(first)[:indent]


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))
