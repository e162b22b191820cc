"""Jupyter notebooks: the code cells are one program; what is changed is the `source` of cells and not a byte else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from oomlint.documents.encodings import UTF8_BOM, wide_encoding
from oomlint.documents.ipython import cell_of
from oomlint.documents.json_text import (
    Spanned,
    edited_strings,
    list_reader,
    object_reader,
    read_spanned,
    read_whole,
    string_at,
)
from oomlint.documents.lines import LineIndex, Location
from oomlint.documents.parts import Broken, Part, PartedDocument
from oomlint.documents.python_file import DocumentError
from oomlint.documents.python_syntax import PYTHON_2
from oomlint.documents.text_edits import TextEdit, apply_edits

_READ_CELL = object_reader({"source": read_spanned, "input": read_spanned})
_READ_CELLS = list_reader(_READ_CELL)
# Up to format 3 the cells are in worksheets, and their code is called input.
_READ = object_reader(
    {"cells": _READ_CELLS, "worksheets": list_reader(object_reader({"cells": _READ_CELLS}))}
)
_INDENTED = re.compile(r"(?:[ \t]*(?:\r\n?|\n))*(?P<indent>[ \t]+)\S")
_ESCAPED = re.compile(r"\\u[0-9a-fA-F]{4}")

_OTHER_KERNELS = re.compile(
    r"(?:bash|deno|evcxr|ir|javascript|julia|matlab|octave|ruby|rust|scala|swift|xcpp)\b", re.I
)
_INSTALL = re.compile(r"\bpip3?[ \t]+install[ \t]+(?P<words>[^\r\n;&|]+)")
_TENSORFLOW_VERSION = re.compile(r"%tensorflow_version[ \t]+(?P<major>[12])\b")
_HOSTS = frozenset(("accelerator", "colab", "kaggle"))  # what Colab and Kaggle write in the metadata
# Tools that write a notebook anew lose the metadata; what only runs there stays: Colab's module, the mounted folders.
_HOSTED_CODE = re.compile(r"\bgoogle\.colab\b|/content/(?:g?drive|sample_data)\b|/kaggle/(?:input|working)\b")

Self = TypeVar("Self", bound="Notebook")


class Notebook(PartedDocument):
    """A notebook. `spans` are the places of its parts' sources in the text of the file."""

    __slots__ = ("_file_text", "_hosted", "_spans")

    def __init__(
        self,
        path: Path | None,
        filename: str,
        file_text: str,
        parts: Iterable[Part],
        spans: Sequence[tuple[int, int]],
        broken: Sequence[Broken] = (),
        bom: bytes = b"",
        raw: bytes | None = None,
        hosted: bool = False,
    ) -> None:
        if raw is None:
            raw = bom + file_text.encode("utf-8")
        super().__init__(path, filename, raw, parts, broken, bom)
        self._file_text = file_text
        self._spans = tuple(spans)
        self._hosted = hosted

    @property
    def keeps_process(self) -> bool:
        """A kernel stays; Colab and Kaggle give each notebook a machine of its own."""
        return not self._hosted

    @property
    def requirements(self) -> tuple[str, ...]:
        """What `!pip install` and Colab's `%tensorflow_version` ask for."""
        found: list[str] = []
        for part in self.parts:
            for start, end in part.neutral:
                line = part.source[start:end]
                if colab := _TENSORFLOW_VERSION.match(line):
                    found.append(f"tensorflow=={colab['major']}.*")
                elif install := _INSTALL.search(line):
                    found += (word.strip("\"'") for word in install["words"].split())
        return tuple(reversed(found))

    def place(self, part: Part | None, row: int, column: int) -> Location:
        """Row and column inside of the cell."""
        return Location(row, column, part.number if part is not None else 1)

    def offset(self, location: Location) -> int:
        """The offset in the program of a row and column of a cell."""
        for part in self.parts:
            if part.number == location.cell:
                return part.start + part.to_text(location.row, location.column)
        raise ValueError(f"cell {location.cell} has no part in the program")

    def file_row(self, location: Location) -> int:
        """The row of the file that holds a row of a cell, for who shows the file as it lies on the disk."""
        for part, (start, end) in zip(self.parts, self._spans, strict=True):
            if part.number == location.cell:
                at = start + string_at(self._file_text[start:end], location.row)
                return LineIndex(self._file_text).row(at)
        raise ValueError(f"cell {location.cell} has no part in the program")

    def with_changes(self: Self, changes: Mapping[int, Sequence[TextEdit]]) -> Self:
        """The notebook after edits of the sources of some cells."""
        text = self._file_text
        ascii_only = text.isascii() and _ESCAPED.search(text) is not None
        parts, spans = list(self.parts), list(self._spans)
        pieces: list[str] = []
        done = moved = 0
        for number, (start, end) in enumerate(self._spans):
            written = text[start:end]
            if number in changes:
                edits = changes[number]
                written = edited_strings(written, edits, ascii_only=ascii_only)
                before = parts[number]
                source = apply_edits(before.source, edits)
                parts[number] = _part(before.number, source)[0] or Part(before.number, source, source)
            pieces += (text[done:start], written)
            spans[number] = (start + moved, start + moved + len(written))
            moved += len(written) - (end - start)
            done = end
        new_text = "".join((*pieces, text[done:]))
        return type(self)(
            self.path,
            self.filename,
            new_text,
            parts,
            spans,
            self.broken,
            self.bom,
            hosted=self._hosted,
        )

    def readable(self) -> Iterator[tuple[str, str]]:
        """The code of each cell. Cells end without a newline, which is no news in a patch."""
        for part in self.parts:
            yield f":cell {part.number}", part.source if part.source.endswith("\n") else part.source + "\n"

    def sources(self) -> dict[int, str]:
        """The code of each cell that is part of the program, by the cell's number."""
        return {part.number: part.source for part in self.parts}


def notebook_from_bytes(raw: bytes, filename: str, path: Path | None = None) -> Notebook:
    """Read a notebook. One of another language than Python has no parts. Raises DocumentError."""
    wide = wide_encoding(raw)
    if wide is not None:
        raise DocumentError(f"is {wide.upper()} text, and notebooks are UTF-8", 1)
    bom = UTF8_BOM if raw.startswith(UTF8_BOM) else b""
    try:
        text = raw[len(bom) :].decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"byte 0x{raw[error.start + len(bom)]:02x} is not valid utf-8") from None
    try:
        content = read_whole(text, _READ)
    except json.JSONDecodeError as error:
        raise DocumentError(f"is not valid JSON, so it is no notebook: {error.msg}", error.lineno) from None
    except RecursionError:
        raise DocumentError("is nested too deeply to be a notebook") from None
    cells = _cells(content)
    if cells is None:
        raise DocumentError("has no list of cells, so it is no notebook")
    parts: list[Part] = []
    spans: list[tuple[int, int]] = []
    broken: list[Broken] = []
    if not _is_other_language(content):
        for number, cell in enumerate(cells, 1):
            source = _source(cell)
            if source is None:
                continue
            part, why = _part(number, source[0])
            if why is not None:
                broken.append(why)
            elif part is not None:
                parts.append(part)
                spans.append(source[1])
    metadata = content.get("metadata")
    hosted = isinstance(metadata, dict) and not _HOSTS.isdisjoint(metadata)
    hosted = hosted or any(_HOSTED_CODE.search(part.source) is not None for part in parts)
    return Notebook(path, filename, text, parts, spans, _worth_telling(broken), bom, raw, hosted)


def notebook_of_cells(cells: Iterable[tuple[int, str]], filename: str, path: Path | None = None) -> Notebook:
    """The notebook of code cells that an editor holds, each with the number that it has among all cells."""
    numbered = dict(cells)
    content = [
        {"cell_type": "code", "source": numbered[number]} if number in numbered else {"cell_type": "markdown"}
        for number in range(1, max(numbered, default=0) + 1)
    ]
    raw = json.dumps({"cells": content, "nbformat": 4}).encode("utf-8")
    return notebook_from_bytes(raw, filename, path)


def _cells(content: Any) -> list[Any] | None:
    if not isinstance(content, dict):
        return None
    if isinstance(content.get("cells"), list):
        return list(content["cells"])
    sheets = content.get("worksheets")
    if not isinstance(sheets, list):
        return None
    found: list[Any] = []
    for sheet in sheets:
        if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list):
            found += sheet["cells"]
    return found


def _is_other_language(content: dict[str, Any]) -> bool:
    metadata = content.get("metadata")
    for table, key in (("kernelspec", "language"), ("language_info", "name")):
        entry = metadata.get(table) if isinstance(metadata, dict) else None
        name = entry.get(key) if isinstance(entry, dict) else None
        if isinstance(name, str) and name:
            return not name.lower().startswith(("python", "ipython"))
    kernel = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    return isinstance(kernel, dict) and _OTHER_KERNELS.match(str(kernel.get("name"))) is not None


def _source(cell: Any) -> tuple[str, tuple[int, int]] | None:
    """The code of a cell and where it stands; None for what is no Python cell."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    metadata = cell.get("metadata")
    editor = metadata.get("vscode") if isinstance(metadata, dict) else None
    languages = (cell.get("language"), editor.get("languageId") if isinstance(editor, dict) else None)
    if any(isinstance(name, str) and name.lower() != "python" for name in languages):
        return None
    spanned = cell.get("source", cell.get("input"))
    if not isinstance(spanned, Spanned):
        return None
    value = spanned.value
    if isinstance(value, list) and all(isinstance(row, str) for row in value):
        value = "".join(value)
    if not isinstance(value, str) or not value.strip():
        return None
    return value, (spanned.start, spanned.end)


def _part(number: int, source: str) -> tuple[Part | None, Broken | None]:
    """A cell's part of the program, and why it is none."""
    cell = cell_of(source)
    if cell is None:
        return None, None
    indented = _INDENTED.match(source) if cell.fault is not None else None
    if indented is not None:  # IPython takes a cell that is indented as a whole
        dedented, prefixes = _dedented(source, indented["indent"])
        inner = cell_of(dedented)
        if inner is not None and inner.fault is None:
            return Part(number, source, inner.text, prefixes, indented["indent"], inner.neutral), None
    part = Part(number, source, cell.text, neutral=cell.neutral, prelude=cell.prelude)
    if cell.fault is None:
        return part, None
    row = min(cell.fault.line, part.rows.count)
    return part, Broken(number, cell.fault, part.rows.text_of(row))


def _dedented(source: str, indent: str) -> tuple[str, tuple[int, ...]]:
    rows = re.findall(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$", source)
    prefixes = tuple(len(indent) if row.startswith(indent) else 0 for row in rows)
    ends_with_newline = bool(rows) and rows[-1][-1] in "\r\n"
    text = "".join(row[skipped:] for row, skipped in zip(rows, prefixes, strict=True))
    return text, (*prefixes, 0) if ends_with_newline else prefixes


def _worth_telling(broken: Sequence[Broken]) -> list[Broken]:
    """One cell for all of a Python 2 notebook; otherwise each."""
    old = [one for one in broken if one.fault.message == PYTHON_2]
    return old[:1] if old else list(broken)
