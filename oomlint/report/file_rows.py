"""Rows of files as they lie on the disk, for formats that know no cells: a diff shows a notebook as JSON."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.documents.lines import Location

if TYPE_CHECKING:
    from oomlint.documents.notebook import Notebook


def row_in_file(filename: str, location: Location) -> int:
    """The row of a place. Where a notebook is not at hand (standard input) it is the first."""
    if not location.cell:
        return location.row
    try:
        changed = Path(filename).stat().st_mtime_ns
        notebook = _notebook(filename, changed)
        return 1 if notebook is None else notebook.file_row(location)
    except (OSError, ValueError):
        return 1


@lru_cache(maxsize=8)
def _notebook(filename: str, changed: int) -> Notebook | None:
    from oomlint.documents.notebook import notebook_from_bytes
    from oomlint.documents.python_file import DocumentError

    try:
        return notebook_from_bytes(Path(filename).read_bytes(), filename)
    except (OSError, DocumentError):
        return None
