"""The first gate, for a document in its project: a script may reach Keras through a module."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document


@runtime_checkable
class Neighbours(Protocol):
    """A resolver that can show a module without parsing it with LibCST."""

    def peek(self, importer: Document, module: str, level: int) -> Document | None:
        """The project's module as text, or None for a library."""
        ...


# `from a.b import c, d` and `import a.b as c, d`, on the bytes: this gate must not cost a parse.
_IMPORT_LINES = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\(?([\w \t,]*)|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)


# The same in the JSON of a notebook, where a row stands behind a quote or an escaped newline.
_IMPORTS_IN_JSON = re.compile(
    rb"""(?:"|\\n)[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\(?([\w \t,]*)|import[ \t]+([\w., \t]+))"""
)


def reaches(raw: bytes, find: Callable[[str, int], Path | None], leads: Callable[[Path], bool]) -> bool:
    """Whether a file that names no Keras imports a module of its project that leads to it.

    `train.py` may name none itself: `from mymodels import build` is enough to train. `find` gives a
    module's file, `leads` says whether a file names Keras or imports one that does.
    """
    if b"import" not in raw:
        return False
    pattern = _IMPORTS_IN_JSON if raw.lstrip()[:1] == b"{" else _IMPORT_LINES
    for dots, base, members, modules in pattern.findall(raw):
        package, level = base.decode("ascii", "replace"), len(dots)
        wanted = [
            part.split()[0].decode("ascii", "replace")
            for part in (members or modules).split(b",")
            if part.split()
        ]
        if members or dots or base:
            wanted = [package, *(f"{package}.{name}" if package else name for name in wanted)]
        for module in wanted:
            path = find(module, level)
            if path is not None and leads(path):
                return True
    return False
