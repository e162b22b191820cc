"""Dry runs and parses that are kept: a mutant of a rule sees the same trace as the rule.

Each check of a text takes its trace from here, so that what a mutant costs is the rule and not the dry run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from patching import living_functions

import oomlint.dryrun
import oomlint.testing
from oomlint.dryrun.queries import once
from oomlint.engine import document as engine_document
from oomlint.engine import located
from oomlint.syntax.parse import parse
from oomlint.syntax.source import Source
from oomlint.testing import markers

_Key = tuple[Any, ...]


class Kept:
    """Traces and parses by text."""

    def __init__(self) -> None:
        self.sources: dict[_Key, Any] = {}
        self.traces: dict[_Key, Any] = {}
        self.places: dict[Any, Any] = {}
        self.find_positions = located._positions
        self.dry_run: Callable[..., Any] = oomlint.dryrun.dry_run

    def switch_on(self) -> None:
        """From here on checks of documents use what is kept."""
        oomlint.dryrun.dry_run = self.trace
        check, examine = engine_document.check_document, engine_document.examine
        for function in (check, examine):
            defaults = function.__defaults__ or ()
            function.__defaults__ = tuple(self.source if one is parse else one for one in defaults)

        located._positions = self.positions
        Source.forget_whole = lambda source: None  # type: ignore[method-assign]  # positions are kept with it
        is_relevant = engine_document.is_relevant
        answers: dict[Any, bool] = {}

        def once_relevant(document: Any, literals: frozenset[str], resolver: Any) -> bool:
            """By what the rules' records ask for, which a mutant may change."""
            key = (document.filename, document.text, literals)
            if key not in answers:
                answers[key] = is_relevant(document, literals, resolver)
            return answers[key]

        engine_document.is_relevant = once_relevant

    def positions(self, source: Any, nodes: Any) -> Any:
        """Where nodes of a source are."""
        nodes = list(nodes)
        key = (id(source), frozenset(map(id, nodes)))  # the sources are kept, so that ids are
        if key not in self.places:
            self.places[key] = self.find_positions(source, nodes)
        return self.places[key]

    def source(self, document: Any) -> Any:
        """A parsed document."""
        key = (document.filename, document.text, "")
        if key not in self.sources:
            self.sources[key] = parse(document)
        return self.sources[key]

    def trace(self, source: Any, resolver: Any = None, *more: Any) -> Any:
        """The trace of a parsed document."""
        beside = "\n".join(getattr(resolver, "texts", {}).values())
        key = (source.document.filename, source.document.text, beside, *more)
        if key not in self.traces:
            self.traces[key] = self.dry_run(source, resolver, *more)
        return self.traces[key]

    def forget(self) -> None:
        """Drop what rules' questions have left with the traces: a mutant has to ask by itself."""
        for function in living_functions():
            if function.__code__.co_filename == once.__file__ and function.__closure__:
                for cell in function.__closure__:
                    if isinstance(cell.cell_contents, WeakKeyDictionary):
                        cell.cell_contents.clear()


def keep_markers() -> None:
    """Read the markers of a text once. To be called before tests are imported."""
    read = functools.cache(markers.expectations)
    oomlint.testing.expectations = markers.expectations = lambda text: list(read(text))
