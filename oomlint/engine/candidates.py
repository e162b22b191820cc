"""The second gate, for a document in its project: a script may call what a rule looks for through a module.

`dataset(paths)` in a training script names no `shuffle`; the helper module that it imports does, and only
the script knows how many paths there are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from oomlint.documents.python_file import Document
from oomlint.documents.python_syntax import imported
from oomlint.project.modules import LIBRARIES
from oomlint.syntax.gates import SyntaxFault, check_syntax, has_candidate, is_candidate


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


def is_relevant(document: Document, literals: frozenset[str], resolver: object) -> bool:
    """Whether the document, or a module of its project that it imports, has work for a rule.

    Raises SyntaxFault if the document itself does not parse.
    """
    tree = check_syntax(document)
    if tree is None:
        return is_candidate(document, literals)
    if has_candidate(tree, literals):
        return True
    if not isinstance(resolver, Neighbours):
        return False
    seen = {document.filename}
    waiting = [(document, tuple(_imports(tree)))]
    while waiting:
        importer, imports = waiting.pop()
        for module, level in imports:
            found = resolver.peek(importer, module, level)
            if found is None or found.filename in seen:
                continue
            seen.add(found.filename)
            outline = _outline(found, literals)
            if outline.is_candidate:
                return True
            waiting.append((found, outline.imports))
    return False


@dataclass(frozen=True, slots=True)
class _Outline:
    """What this gate wants to know of a module that documents import: many of them import the same."""

    is_candidate: bool = False
    imports: tuple[tuple[str, int], ...] = ()


_outlines: WeakKeyDictionary[Document, tuple[frozenset[str], _Outline]] = WeakKeyDictionary()


def _outline(module: Document, literals: frozenset[str]) -> _Outline:
    held = _outlines.get(module)
    if held is not None and held[0] == literals:
        return held[1]
    try:
        tree = check_syntax(module)
    except SyntaxFault:
        tree = None
    if tree is None:
        outline = _Outline()
    elif has_candidate(tree, literals):
        outline = _Outline(is_candidate=True)
    else:
        outline = _Outline(imports=tuple(_imports(tree)))
    _outlines[module] = literals, outline
    return outline


def _imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Modules of the project that a file imports, and names imported from packages, which may be modules too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (
                (module, level) for module, level in imported(node) if level or not _is_library(module)
            )


def _is_library(module: str) -> bool:
    """Whether the dry run takes a module for a library's, even where the project is a copy of that library."""
    return module.partition(".")[0] in LIBRARIES
