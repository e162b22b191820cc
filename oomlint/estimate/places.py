"""Lines of a program as the user sees them: in a notebook they are rows of its cells."""

from __future__ import annotations

from pathlib import Path

from oomlint.documents.python_file import DocumentError
from oomlint.documents.reading import NOTEBOOK_SUFFIX, read


def row_of(file: str, line: int) -> str:
    """`12`, or `cell 4:2` for a line of a notebook's program."""
    if Path(file).suffix == NOTEBOOK_SUFFIX:
        try:
            document = read(Path(file))
        except DocumentError:
            return str(line)
        place = document.location(document.lines.start(min(line, document.lines.count)))
        return f"cell {place.cell}:{place.row}"
    return str(line)
