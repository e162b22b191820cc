"""placeholder"""

from __future__ import annotations

from collections.abc import Sequence

from oomlint.documents.text_edits import TextEdit
from oomlint.syntax.edits import Edit
from oomlint.syntax.source import Source


class EditError(Exception):
    """A fix that cannot be written here."""


def resolve(source: Source, fixes: Sequence[Sequence[Edit]]) -> list[tuple[TextEdit, ...] | EditError]:
    """Not there yet."""
    return [EditError("not implemented") for _ in fixes]
