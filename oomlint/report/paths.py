"""How paths are shown: relative to where oomlint runs, if they lie below."""

from __future__ import annotations

from pathlib import PurePath

from oomlint.documents.lines import Location
from oomlint.project.patterns import plain

# A name may hold any character but two: as it is, a newline would make two rows of one, and ESC move the cursor.
_CONTROL = {number: ascii(chr(number))[1:-1] for number in (*range(32), 127)}


def shown(filename: str, here: PurePath) -> str:
    """The path for a person."""
    path = plain(type(here)(filename))
    if path.is_absolute() and path.is_relative_to(here):
        filename = str(path.relative_to(here))
    return filename.translate(_CONTROL)


def spot(location: Location) -> str:
    """`row:column`, in a notebook `cell 3:row:column`."""
    cell = f"cell {location.cell}:" if location.cell else ""
    return f"{cell}{location.row}:{location.column}"
