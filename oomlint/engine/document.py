"""Checking one document: gates, parse, one dry run, the rules, suppressions. No I/O of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from oomlint.documents.python_syntax import unwarned
from oomlint.engine.about_document import broken_cells, internal_error, syntax_error, unused_suppressions
from oomlint.engine.candidates import is_relevant
from oomlint.engine.collecting import settle
from oomlint.engine.located import locate
from oomlint.engine.merging import merged
from oomlint.engine.policy import Policy
from oomlint.engine.report import Report
from oomlint.findings.model import Finding
from oomlint.findings.registry import RegisteredRule
from oomlint.findings.suppressions import Suppressions
from oomlint.syntax.gates import SyntaxFault, concerns
from oomlint.syntax.light.nodes import Unlike
from oomlint.syntax.parse import parse

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.dryrun import Trace
    from oomlint.dryrun.modules import ModuleResolver
    from oomlint.findings.diagnostic import Diagnostic
    from oomlint.findings.estimates import Estimated
    from oomlint.project.settings import Settings
    from oomlint.syntax.place import Place
    from oomlint.syntax.source import Source

    Estimate = Callable[[Trace, Settings], Estimated | None]
    _Found = tuple[RegisteredRule, Finding]
    _Broken = tuple[str, Exception]

# Files of one document, its modules included, whose light trees may turn out to be unlike LibCST's own. Of 4,000 public
# ones none was (benchmarks/speed/trees.py); a project's style is that of all its modules.
_TRIES = 16


def check_document(
    document: Document,
    settings: Settings,
    resolver: ModuleResolver | None,
    rules: Sequence[RegisteredRule],
    parse_document: Callable[[Document], Source] = parse,
    estimate: Estimate | None = None,
) -> Report:
    """Check one document by itself: its own unused suppressions are among the findings."""
    if not concerns(document):
        return Report(document.filename)
    report = examine(document, settings, resolver, rules, parse_document, estimate)
    return Report(report.filename, tuple(merged([report])), {}, report.failed)


@unwarned()
def examine(
    document: Document,
    settings: Settings,
    resolver: ModuleResolver | None,
    rules: Sequence[RegisteredRule],
    parse_document: Callable[[Document], Source] = parse,
    estimate: Estimate | None = None,
    *,
    noqa: bool = True,
    heeded: bool = True,
    held: bool = False,
) -> Report:
    """What the rules say of a document that passed the first gate; unused suppressions are kept apart.

    `estimate` makes estimates for the rules that have more to say with one. It must not raise.
    Without `noqa` findings are given that such a comment in the document suppresses; without `heeded` those that
    any comment does. Of a document that is `held` there is a tree already, which the second gate is to save.
    """
    policy = Policy(settings, rules)
    suppressions = Suppressions.of(document, noqa=noqa, heeded=heeded)
    if suppressions.skip_file:
        return Report(document.filename)
    diagnostics = list(broken_cells(document, policy))
    sheets = {document.filename: (document, suppressions)}
    failed = False
    try:
        if held or is_relevant(document, policy.literals, resolver):
            source = parse_document(document)
            settle()
            located, broken = _with_trees_as_written(
                lambda: _run(source, settings, resolver, rules, estimate),
                lambda findings: locate(_readable(source, findings), sheets, policy, heeded=heeded),
            )
            diagnostics += located
            diagnostics += (internal_error(document, who, error) for who, error in broken)
            failed = bool(broken)
    except SyntaxFault as fault:
        diagnostics += syntax_error(document, fault, suppressions, policy)
        return Report(document.filename, tuple(diagnostics))
    # Where a rule failed nobody knows what it would have found.
    unused = {
        filename: () if failed else tuple(unused_suppressions(owner, sheet, policy))
        for filename, (owner, sheet) in sheets.items()
    }
    return Report(document.filename, tuple(diagnostics), unused, failed)


def _run(
    source: Source,
    settings: Settings,
    resolver: ModuleResolver | None,
    rules: Sequence[RegisteredRule],
    estimate: Estimate | None,
) -> tuple[list[tuple[RegisteredRule, Finding]], list[tuple[str, Exception]]]:
    """One dry run, every rule over its trace. A rule that fails loses its own findings only."""
    from oomlint.dryrun import dry_run, release
    from oomlint.syntax.recursion import with_room

    try:
        trace: Trace = with_room(lambda: dry_run(source, resolver))
    except (SyntaxFault, Unlike):  # only LibCST refuses the text, or has another tree of it
        raise
    except Exception as error:
        return [], [("the dry run", error)]
    if estimate is not None and any(entry.rule.estimated for entry in rules):
        trace.estimate = estimate(trace, settings)
    findings: list[tuple[RegisteredRule, Finding]] = []
    broken: list[tuple[str, Exception]] = []
    for entry in rules:
        try:
            found = with_room(partial(_findings, entry, trace, settings))
            findings += [(entry, finding) for finding in found]
        except SyntaxFault:
            source.read_whole()  # raises it again, if the fault is in this document and not in a module
        except Unlike:
            raise
        except Exception as error:
            broken.append((f"rule {entry.code}", error))
    release(trace)
    return findings, broken


def _with_trees_as_written(
    run: Callable[[], tuple[list[_Found], list[_Broken]]],
    locate: Callable[[list[_Found]], tuple[list[Diagnostic], list[_Broken]]],
) -> tuple[list[Diagnostic], list[_Broken]]:
    """What a run finds, at its places; another run where a light tree was unlike LibCST's, which is there then."""
    for _ in range(_TRIES):
        try:
            findings, broken = run()
            located, unlocated = locate(findings)
        except Unlike:
            continue
        for _, finding in findings:
            for place in _places(finding):
                place.source.forget_whole()
        return located, broken + unlocated
    return [], [("the dry run", RuntimeError(f"{_TRIES} trees were not like those of their texts"))]


def _readable(source: Source, findings: list[_Found]) -> list[_Found]:
    """The findings in files that LibCST reads. Raises SyntaxFault if the document itself is not one of them."""
    readable: list[_Found] = []
    for entry, finding in findings:
        try:
            for place in _places(finding):
                place.source.read_whole()
        except SyntaxFault:
            source.read_whole()
        else:
            readable.append((entry, finding))
    return readable


def _places(finding: Finding) -> list[Place]:
    return [finding.place, *(one.place for one in finding.evidence if one.place is not None)]


def _findings(entry: RegisteredRule, trace: Trace, settings: Settings) -> list[Finding]:
    from oomlint.dryrun.queries.backend import keras_backend

    backends = entry.rule.backends
    if backends is not None and keras_backend(trace, settings) not in backends:
        return []
    found: list[Finding] = []
    finding: Any
    for finding in entry.check(trace, settings):
        if not isinstance(finding, Finding) or finding.code != entry.code:
            raise TypeError(f"check() gave {finding!r}, which is no finding of {entry.code}")
        found.append(finding)
    return found
