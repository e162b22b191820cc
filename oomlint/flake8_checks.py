"""What the flake8 plugin does with a file that has to do with Keras: what `oomlint check FILE` would do."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import TYPE_CHECKING

from flake8.exceptions import ExecutionError

from oomlint.documents.python_file import DocumentError, document_from_text, read_document
from oomlint.engine.project import Run
from oomlint.findings.model import Safety, Severity
from oomlint.findings.own import INTERNAL_ERROR, SYNTAX_ERROR
from oomlint.findings.registry import RegistryError, rule_problems
from oomlint.project.configuration import ConfigurationError, Configurations
from oomlint.project.discovery import is_left_out
from oomlint.report.paths import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.documents.python_file import Document
    from oomlint.findings.diagnostic import Diagnostic
    from oomlint.flake8_plugin import Given

# Row from 1, column from 0, code and message, and what flake8 has no use for.
Violation = tuple[int, int, str, type]

_FIXES = {Safety.SAFE: " [oomlint check --fix]", Safety.UNSAFE: " [oomlint check --fix --unsafe-fixes]"}


class Checks:
    """The run over all files of a process. Of the last file the result is kept, for the second plugin."""

    def __init__(self, given: Given) -> None:
        options = {"gpu": given.gpu, "host-memory": given.host_memory}
        overrides = {key: (value, f"--oomlint-{key}") for key, value in options.items() if value is not None}
        self._named = [Path(os.path.abspath(path)) for path in given.arguments]  # noqa: PTH100
        self._last: tuple[str, list[tuple[Violation, bool]]] | None = None
        self._said = False  # which rules are left out
        try:
            self._configurations = Configurations(
                overrides,
                file=Path(given.config) if given.config else None,
                where="oomlint's options for flake8",
            )
        except ConfigurationError as error:
            raise _stop(error, given) from None
        self._given = given
        self._run = Run(self._configurations, noqa=False)

    def violations(self, filename: str, text: str | None, tree: ast.Module) -> list[tuple[Violation, bool]]:
        """What flake8 is told of a file, with whether it is a note. `text` is given for standard input."""
        if self._last is None or self._last[0] != filename:
            self._last = (filename, self._check(filename, text, tree))
        return self._last[1]

    def _check(self, filename: str, text: str | None, tree: ast.Module) -> list[tuple[Violation, bool]]:
        try:
            if text is not None:
                document = document_from_text(text, filename)
            else:
                path = Path(os.path.abspath(filename))  # noqa: PTH100 - as `oomlint check` has it
                if self._is_excluded(path):
                    return []
                document = read_document(path)
            found = [self._told(document, diagnostic, tree) for diagnostic in self._findings(document)]
            return [*self._left_out(), *found]
        except (ConfigurationError, RegistryError) as error:
            raise _stop(error, self._given) from None
        except DocumentError as error:
            return [((error.line or 1, 0, f"{SYNTAX_ERROR.code} {error.message}", Checks), False)]
        except (
            Exception
        ) as error:  # flake8 would end here, and with it what other files and plugins have to say
            message = f"{INTERNAL_ERROR.code} oomlint failed: {type(error).__name__}: {error}"
            return [((1, 0, " ".join(message.split()), Checks), False)]

    def _left_out(self) -> Iterator[tuple[Violation, bool]]:
        """What is wrong with installed rules: once, at the first file."""
        if not self._said:
            self._said = True
            for problem in rule_problems():
                yield (1, 0, f"{INTERNAL_ERROR.code} {problem}", Checks), False

    def _is_excluded(self, path: Path) -> bool:
        """Whether the project excludes a file that flake8 came upon in a folder, or, if forced, that was named."""
        settings = self._configurations.for_folder(path.parent).settings
        return is_left_out(path, settings, () if settings.force_exclude else self._named)

    def _findings(self, document: Document) -> list[Diagnostic]:
        """The document's own findings, and those in modules that only show when this document is run.

        What a module shows by itself is said when flake8 comes to it.
        """
        found = self._run.alone(document)
        known: dict[str, dict[object, Severity]] = {}
        kept = []
        for diagnostic in found:
            other = diagnostic.filename
            if other != document.filename:
                if other not in known:
                    alone = self._run.alone(read_document(Path(other)))
                    known[other] = {_place(one): one.severity for one in alone if one.filename == other}
                if known[other].get(_place(diagnostic), 0) >= diagnostic.severity:
                    continue
            kept.append(diagnostic)
        return kept

    def _told(self, document: Document, diagnostic: Diagnostic, tree: ast.Module) -> tuple[Violation, bool]:
        is_note = diagnostic.severity < Severity.WARNING
        message = " ".join(diagnostic.message.split())
        if diagnostic.filename == document.filename:
            row, column = diagnostic.location.row, diagnostic.location.column
            fix = _FIXES[diagnostic.fixable] if diagnostic.fixable else ""
            return (row, column - 1, f"{diagnostic.code} {message}{fix}", Checks), is_note
        where = shown(diagnostic.filename, Path.cwd())
        place = f"{where}:{diagnostic.location.row}:{diagnostic.location.column}"
        row, column = _where(document, diagnostic, tree)
        return (row, column - 1, f"{diagnostic.code} in {place}: {message}", Checks), is_note


def _stop(error: Exception, given: Given) -> ExecutionError:
    """What ends flake8 with one message, as its own configuration errors do."""
    given.wait_for_the_end()
    return ExecutionError(f"oomlint: {error}")


def _place(diagnostic: Diagnostic) -> object:
    return diagnostic.code, diagnostic.location, diagnostic.end_location


def _where(document: Document, diagnostic: Diagnostic, tree: ast.Module) -> tuple[int, int]:
    """Where in the document a finding in a module is told: the first number that came from here, else the import."""
    for note in diagnostic.evidence:
        if note.filename == document.filename and note.location is not None:
            return note.location.row, note.location.column
    path = Path(diagnostic.filename)
    name = path.parent.name if path.stem == "__init__" else path.stem
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            parts = [part for alias in node.names for part in alias.name.split(".")]
            if isinstance(node, ast.ImportFrom):
                parts += (node.module or "").split(".")
            if name in parts:
                return node.lineno, 1
    return 1, 1
