"""Reports of earlier runs: a document whose content, modules, settings and rules are the same gives the same.

Content counts and not time stamps: a checkout writes all of them anew. There is one small file for each
document, replaced in one step, so that several runs at once do no harm and a file that was edited a hundred times
takes no more room. Whatever cannot be read, or be written, is as if it were not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import oomlint
from oomlint.engine.report import Report
from oomlint.engine.stored import from_data, to_data
from oomlint.findings.registry import rule_problems

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.engine.resolver import Consulted
    from oomlint.project.settings import Settings

FOLDER = ".oomlint_cache"

_DAY = 24 * 60 * 60
_KEPT = 30 * _DAY  # what no run has asked for that long is removed

# https://bford.info/cachedir/ : backup tools leave a folder out that has this file.
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n"


def digest(*parts: bytes) -> str:
    """A name for some bytes."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.hexdigest()


class Cache:
    """The reports kept in one folder. It is made when there is something to keep."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._usable = True
        self._digests: dict[str, tuple[Document, str]] = {}
        self._settings: dict[int, tuple[Settings, str]] = {}
        # Where imports lead, which is the same in all of a run: neighbours import the same modules.
        self._led: dict[tuple[Path, str, str, int], tuple[Path | None, str | None]] = {}

    def load(
        self, document: Document, settings: Settings, consult: Callable[[Path], Consulted]
    ) -> Report | None:
        """What an earlier run said of the document, if everything that it looked at is still the same."""
        entry = self._entry(document)
        try:
            with open(entry, "rb") as file:  # noqa: PTH123
                held = json.load(file)
                age = time.time() - os.fstat(file.fileno()).st_mtime
            if held["key"] != self._key(document, settings):
                return None
            consulted = consult(settings.root)
            for folder, module, level, path, content in held["modules"]:
                found, name = self._leads(consulted, settings.root, folder, module, level)
                if name != path:
                    return None
                if found is not None and self._digest(consulted.read(found)) != content:
                    return None
            report: Report = from_data(Report, held["report"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError):  # none there, or not one of ours
            return None
        if age > _DAY:
            with suppress(OSError):
                os.utime(entry)
        return report

    def _leads(
        self, consulted: Consulted, root: Path, folder: str, module: str, level: int
    ) -> tuple[Path | None, str | None]:
        key = (root, folder, module, level)
        if key not in self._led:
            path = consulted.find(Path(folder), module, level)
            self._led[key] = path, None if path is None else str(path)
        return self._led[key]

    def save(self, document: Document, settings: Settings, consulted: Consulted, report: Report) -> None:
        """Keep a report. Nothing is kept where a rule failed or is left out: it may be mended by the next run."""
        if report.failed or not self._usable or rule_problems():
            return
        modules = [
            [str(folder), module, level, path and str(path), path and self._digest(consulted.read(path))]
            for (folder, module, level), path in consulted.asked.items()
        ]
        held = {"key": self._key(document, settings), "modules": modules, "report": to_data(report)}
        try:
            self._write(self._entry(document), json.dumps(held, separators=(",", ":")).encode("utf-8"))
        except (OSError, UnicodeError):  # a full disk, a folder that takes no file, a name that is no text
            self._usable = False

    def prune(self) -> None:
        """Remove what no run has asked for in a month."""
        now = time.time()
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.name.endswith((".json", ".tmp")) and now - entry.stat().st_mtime > _KEPT:
                        os.unlink(entry.path)  # noqa: PTH108

    def _entry(self, document: Document) -> str:
        return f"{self._folder}{os.sep}{digest(os.fsencode(document.filename))}.json"

    def _key(self, document: Document, settings: Settings) -> list[str]:
        if id(settings) not in self._settings:
            self._settings[id(settings)] = settings, digest(repr(settings).encode())
        return [
            document.filename,
            self._digest(document),
            self._settings[id(settings)][1],
            installation(),
        ]

    def _digest(self, document: Document | None) -> str:
        if document is None:
            return ""
        held = self._digests.get(document.filename)
        if held is None or held[0] is not document:
            held = self._digests[document.filename] = (document, digest(document.raw))
        return held[1]

    def _write(self, entry: str, content: bytes) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / ".gitignore").write_text("*\n")
            (self._folder / "CACHEDIR.TAG").write_text(_TAG)
        handle, name = tempfile.mkstemp(suffix=".tmp", dir=self._folder)
        try:
            with os.fdopen(handle, "wb") as new:
                new.write(content)
            os.replace(name, entry)  # noqa: PTH105 - a path as text, twice for every file
        except BaseException:
            with suppress(OSError):
                os.unlink(name)  # noqa: PTH108
            raise


@cache
def installation() -> str:
    """What is installed: this program and every package of rules, file by file, LibCST and Python."""
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    from oomlint.findings.registry import rule_packages

    own = Path(oomlint.__file__).parent
    folders = {own, own.parent / "rules"}  # in a checkout the built-in rules lie beside the package
    others: list[Any] = [oomlint.__version__, sys.version]
    with suppress(PackageNotFoundError):
        others.append(version("libcst"))
    for name in rule_packages():
        others.append(name)
        with suppress(ImportError, ValueError):
            spec = find_spec(name)
            folders.update(map(Path, (spec and spec.submodule_search_locations) or ()))
            if spec is not None and spec.origin is not None:
                folders.add(Path(spec.origin).parent)
    return digest(repr((others, sorted(_files(folders)))).encode())


def _files(folders: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    for folder in folders:
        for top, below, names in os.walk(folder):
            below[:] = [name for name in below if name != "__pycache__"]
            for name in names:
                if name.endswith(".py"):
                    path = os.path.join(top, name)  # noqa: PTH118 - four hundred files at every start
                    status = os.stat(path)  # noqa: PTH116
                    yield path, status.st_size, status.st_mtime_ns
