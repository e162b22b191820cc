"""Modules of the checked project, found by whoever knows the file system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.syntax.source import Source


class ModuleResolver(Protocol):
    """Finds and parses a module of the project. The dry run itself touches no file."""

    def resolve(self, importer: Document, module: str, level: int) -> Source | None:
        """The parsed module `module` as imported in `importer` (`level` dots), or None for a library."""
        ...


def module_name(source: Source) -> str:
    """The last part of a document's module name (`train` for `src/train.py`)."""
    name = str(source.document.filename).replace("\\", "/").rpartition("/")[2]
    return name[:-3] if name.endswith(".py") else name
