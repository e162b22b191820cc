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
    """The modules below a project's root. `read` and `parse` are the run's, which keeps what they gave."""

    def __init__(
        self, root: Path, read: Callable[[Path], Document | None], parse: Callable[[Document], Source | None]
    ) -> None:
        self.finder = ModuleFinder(root)
        self.read = read
        self.parse = parse
        self._folders: dict[str, Path] = {}
        self._same: dict[str, Path] = {}

    def folder(self, importer: Document) -> Path:
        """The folder that a document is in; one object for all of a folder, which is quicker to look up."""
        folder = self._folders.get(importer.filename)
        if folder is None:
            place = importer.path or Path(importer.filename)
            folder = place.absolute().parent
            folder = self._folders[importer.filename] = self._same.setdefault(str(folder), folder)
        return folder


class Consulted:
    """A ModuleResolver for one document, which remembers what it was asked: on that its report rests too."""

    def __init__(self, modules: ProjectModules) -> None:
        self._modules = modules
        self.asked: dict[tuple[Path, str, int], Path | None] = {}

    def find(self, folder: Path, module: str, level: int) -> Path | None:
        """The file of a module that a file in `folder` imports, or None where the project has none."""
        key = (folder, module, level)
        if key not in self.asked:
            self.asked[key] = self._modules.finder.find(folder, module, level)
        return self.asked[key]

    def read(self, path: Path) -> Document | None:
        """The document of a module's file, or None where it cannot be read."""
        return self._modules.read(path)

    def peek(self, importer: Document, module: str, level: int) -> Document | None:
        """The module as text, or None where the project has no such module."""
        path = self.find(self._modules.folder(importer), module, level)
        return None if path is None else self.read(path)

    def resolve(self, importer: Document, module: str, level: int) -> Source | None:
        """The parsed module, or None where the project has no such module or it does not parse."""
        document = self.peek(importer, module, level)
        return None if document is None else self._modules.parse(document)
