"""What must hold of any bytes that are taken for a document or a configuration: a clear word, and nothing lost."""

from __future__ import annotations

import ast
import json
import random
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oomlint.documents.lines import LineIndex
from oomlint.documents.parts import PartedDocument
from oomlint.documents.python_file import Document, DocumentError
from oomlint.documents.reading import document_of
from oomlint.documents.text_edits import TextEdit, apply_edits
from oomlint.engine.document import check_document
from oomlint.findings.registry import RegisteredRule
from oomlint.findings.suppressions import Suppressions
from oomlint.project.configuration import CONFIGURATION_FILES, ConfigurationError, Configurations
from oomlint.project.settings import Settings

_WORD = re.compile(r"\b[a-z]\w{2,}\b")
KNOWN = {"OOM000": "unused-suppression", "OOM101": "missing-memory-growth", "OOM301": "shuffle-buffer-large"}


def document_problems(
    raw: bytes, name: str, rules: Sequence[RegisteredRule], chance: random.Random
) -> list[str]:
    """What is wrong with how bytes are read as a file of that name, edited and checked."""
    try:
        document = document_of(raw, name)
    except DocumentError as error:
        return (
            [] if error.message.strip() and "\n" not in error.message else [f"no message: {error.message!r}"]
        )
    wrong = [] if document.raw == raw else ["the bytes are others"]
    wrong += _places(document, chance)
    wrong += _edits(document, name, chance)
    wrong += _comments(document)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = Settings(root=Path("/"), select=("OOM",), preview=True)
        report = check_document(document, settings, None, rules)
    if report.failed:
        wrong += [one.message for one in report.diagnostics if one.code == "OOM002"]
    return wrong


def _places(document: Document, chance: random.Random) -> list[str]:
    """A place is named so that it is found again."""
    spans = [(0, len(document.text))]
    if isinstance(document, PartedDocument):
        spans = [(part.start, part.end) for part in document.parts]
    for start, end in spans[:9]:
        offset = chance.randint(start, end)
        if document.text[max(0, offset - 1) : offset + 1] == "\r\n":
            offset -= 1  # nothing starts between the two
        place = document.location(offset)
        if document.offset(place) != offset:
            return [f"offset {offset} is {place}, which is offset {document.offset(place)}"]
    return []


def _edits(document: Document, name: str, chance: random.Random) -> list[str]:
    """An edit is made or refused, and the rest of the file is as it was."""
    text = document.text
    rows = document.lines
    in_code = (
        word
        for word in _WORD.finditer(text)
        if not rows.text_of(rows.row(word.start())).lstrip().startswith("#")
    )
    words = list(in_code)  # a comment may say which encoding the file has
    edits: list[TextEdit] = []
    for word in chance.sample(words, min(2, len(words))):
        edits.append(TextEdit(word.start(), word.end(), chance.choice(("é", "x", "'\"\\'", "a_b"))))
    start = rows.start(chance.randint(1, rows.count))
    if not any(edit.start < start < edit.end for edit in edits):
        edits.append(TextEdit(start, start, chance.choice(("pass\n", "import os\nos.x = '\\t'\n", "# ü\n"))))
    try:
        after = document.with_edits(edits)
    except (DocumentError, ValueError):
        return []
    try:
        again = document_of(after.raw, name)
    except DocumentError as error:
        return [f"it cannot be read after an edit: {error.message}"]
    wrong = [] if _outside(document) == _outside(after) else [f"{edits}: something else was changed"]
    if not isinstance(document, PartedDocument):
        wrong += [] if after.text == apply_edits(text, edits) else [f"{edits}: not what was asked for"]
        # A cookie or mark that the edit makes is the edit's affair.
        same = again.encoding == document.encoding and again.bom == document.bom
        wrong += (
            [] if not same or again.text == after.text else [f"{edits}: another text when it is read again"]
        )
    return wrong


def _outside(document: Document) -> Any:
    """What of a file is not its program."""
    if not isinstance(document, PartedDocument):
        return None
    if document.filename.endswith(".ipynb"):
        content = json.loads(document.raw.decode("utf-8-sig"))
        numbers = {part.number for part in document.parts}
        sheets = [content] if isinstance(content.get("cells"), list) else content["worksheets"]
        cells = [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells", ())]
        for number in numbers:
            cells[number - 1].pop("source", None)
            cells[number - 1].pop("input", None)
        return repr(content)
    text = document.raw.decode("utf-8-sig")
    rows = LineIndex(text)
    outside, done = [], 0
    for part in document.parts:
        start = rows.start(document.location(part.start).row)
        if text[start : start + len(part.source)] != part.source:
            return f"block {part.number} is not where it is said to be"
        outside.append(text[done:start])
        done = start + len(part.source)
    return "".join((*outside, text[done:]))


def _comments(document: Document) -> list[str]:
    """Comments that suppress nothing are taken away without touching the program."""
    suppressions = Suppressions.of(document)
    suppressions.covers("OOM301", 1, 1, "shuffle-buffer-large")
    idle = suppressions.unused(set(KNOWN), KNOWN)
    wrong = []
    for one in idle:
        if not one.message.strip() or not 0 <= one.start <= one.end <= len(document.text):
            wrong.append(f"a comment that is nowhere: {one}")
        try:
            after = apply_edits(document.text, one.edits)
            before = ast.dump(ast.parse(document.text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        try:
            if ast.dump(ast.parse(after)) != before:
                wrong.append(f"the program changes without {one}")
        except SyntaxError as error:
            wrong.append(f"no Python without {one}: {error}")
    return wrong


def configuration_problems(raw: bytes, name: str, folder: Path) -> list[str]:
    """What is wrong with how bytes are read as a configuration file of that name in an empty folder."""
    for other in CONFIGURATION_FILES:
        (folder / other).unlink(missing_ok=True)
    (folder / name).write_bytes(raw)
    try:
        Configurations().for_folder(folder)
    except ConfigurationError as error:
        return [] if str(folder) in str(error) else [f"which file is wrong goes unsaid: {error}"]
    return []
