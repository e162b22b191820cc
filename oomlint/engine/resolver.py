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
    """A ModuleResolver over the files below a project's root."""

    def __init__(self, root: Path, load: Callable[[Path], Source | None]) -> None:
        self._finder = ModuleFinder(root)
        self._load = load

    def resolve(self, importer: Document, module: str, level: int) -> Source | None:
        """The parsed module, or None where the project has no such module or it does not parse."""
        place = importer.path or Path(importer.filename)
        path = self._finder.find(place.absolute().parent, module, level)
        return None if path is None else self._load(path)
