"""The project's own modules, for the dry run: found by the project, read and parsed once by the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.project.modules import ModuleFinder

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.syntax.source import Source


class ProjectModules:
    """A ModuleResolver over the files below a project's root.

    `read` and `parse` are the run's, which keeps what they gave.
    """

    def __init__(
        self, root: Path, read: Callable[[Path], Document | None], parse: Callable[[Document], Source | None]
    ) -> None:
        self.finder = ModuleFinder(root)
        self._read = read
        self._parse = parse

    def peek(self, importer: Document, module: str, level: int) -> Document | None:
        """The module as text, or None where the project has no such module."""
        place = importer.path or Path(importer.filename)
        path = self.finder.find(place.absolute().parent, module, level)
        return None if path is None else self._read(path)

    def resolve(self, importer: Document, module: str, level: int) -> Source | None:
        """The parsed module, or None where the project has no such module or it does not parse."""
        document = self.peek(importer, module, level)
        return None if document is None else self._parse(document)
