"""Checking one document: gates, parse, one dry run, the rules, suppressions. No I/O of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from oomlint.documents.lines import Location
from oomlint.engine.candidates import is_relevant
from oomlint.engine.located import locate
from oomlint.engine.merging import merged
from oomlint.engine.policy import Policy
from oomlint.findings.diagnostic import Diagnostic, LocatedEdit, ProposedFix
from oomlint.findings.model import Finding, Safety
from oomlint.findings.own import INTERNAL_ERROR, SYNTAX_ERROR, UNUSED_SUPPRESSION
from oomlint.findings.registry import RegisteredRule
from oomlint.findings.suppressions import Suppressions
from oomlint.syntax.gates import SyntaxFault, names_keras
from oomlint.syntax.parse import parse

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.dryrun import Trace
    from oomlint.dryrun.modules import ModuleResolver
    from oomlint.project.settings import Settings
    from oomlint.syntax.source import Source


@dataclass(frozen=True, slots=True)
class Report:
    """What one document gave. Findings in other files of the project are among them.

    `unused`: for each file whose suppressions were asked, those that suppressed nothing. A suppression in a
    helper module may be used by the script that calls it, so only a whole run can say which are unused.
    """

    filename: str
    diagnostics: tuple[Diagnostic, ...] = ()
    unused: dict[str, tuple[Diagnostic, ...]] = field(default_factory=dict)
    failed: bool = False


def check_document(
    document: Document,
    settings: Settings,
    resolver: ModuleResolver | None,
    rules: Sequence[RegisteredRule],
    parse_document: Callable[[Document], Source] = parse,
) -> Report:
    """Check one document by itself: its own unused suppressions are among the findings."""
    if not names_keras(document.raw):
        return Report(document.filename)
    report = examine(document, settings, resolver, rules, parse_document)
    return Report(report.filename, tuple(merged([report])), {}, report.failed)


def examine(
    document: Document,
    settings: Settings,
    resolver: ModuleResolver | None,
    rules: Sequence[RegisteredRule],
    parse_document: Callable[[Document], Source] = parse,
) -> Report:
    """What the rules say of a document that passed the first gate; unused suppressions are kept apart."""
    policy = Policy(settings, rules)
    suppressions = Suppressions.of(document)
    if suppressions.skip_file:
        return Report(document.filename)
    diagnostics: list[Diagnostic] = []
    sheets = {document.filename: suppressions}
    failed = False
    try:
        if is_relevant(document, policy.literals, resolver):
            source = parse_document(document)
            findings, broken = _run(source, settings, resolver, rules)
            located, unlocated = locate(findings, sheets, policy)
            broken += unlocated
            diagnostics += located
            diagnostics += (_internal_error(document, who, error) for who, error in broken)
            failed = bool(broken)
    except SyntaxFault as fault:
        diagnostics += _syntax_error(document, fault, suppressions, policy)
        return Report(document.filename, tuple(diagnostics))
    unused = {
        filename: tuple(_unused(sheet, filename, policy, document)) for filename, sheet in sheets.items()
    }
    return Report(document.filename, tuple(diagnostics), unused, failed)


def _run(
    source: Source, settings: Settings, resolver: ModuleResolver | None, rules: Iterable[RegisteredRule]
) -> tuple[list[tuple[RegisteredRule, Finding]], list[tuple[str, Exception]]]:
    """One dry run, every rule over its trace. A rule that fails loses its own findings only."""
    from oomlint.dryrun import dry_run
    from oomlint.syntax.recursion import with_room

    try:
        trace: Trace = with_room(lambda: dry_run(source, resolver))
    except Exception as error:
        return [], [("the dry run", error)]
    findings: list[tuple[RegisteredRule, Finding]] = []
    broken: list[tuple[str, Exception]] = []
    for entry in rules:
        try:
            found = with_room(partial(_findings, entry, trace, settings))
            findings += [(entry, finding) for finding in found]
        except Exception as error:
            broken.append((f"rule {entry.code}", error))
    return findings, broken


def _findings(entry: RegisteredRule, trace: Trace, settings: Settings) -> list[Finding]:
    return list(entry.check(trace, settings))


def _internal_error(document: Document, who: str, error: Exception) -> Diagnostic:
    import traceback

    last = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    where = (
        f" ({frames[-1].name}, line {frames[-1].lineno} of {frames[-1].filename.rpartition('/')[2]})"
        if frames
        else ""
    )
    return _at_line(
        document,
        1,
        1,
        INTERNAL_ERROR.code,
        INTERNAL_ERROR.name,
        f"{who} failed: {last}{where}",
        help="This is a bug of oomlint or of a rule installed beside it; the other rules' findings stand.",
    )


def _syntax_error(
    document: Document, fault: SyntaxFault, suppressions: Suppressions, policy: Policy
) -> list[Diagnostic]:
    if not policy.reports(SYNTAX_ERROR.code, document.filename):
        return []
    if suppressions.covers(SYNTAX_ERROR.code, fault.line, fault.line, SYNTAX_ERROR.name):
        return []
    found = _at_line(
        document,
        fault.line,
        fault.column,
        SYNTAX_ERROR.code,
        SYNTAX_ERROR.name,
        f"Python cannot parse this file: {fault.message}",
        help="No rule could look at this file; mend the syntax and check again.",
    )
    return [policy.adjusted(found)]


def _at_line(
    document: Document, row: int, column: int, code: str, name: str, message: str, *, help: str
) -> Diagnostic:
    """A finding about the document itself."""
    from oomlint.findings.model import Severity

    row = max(1, min(row, document.lines.count))
    return Diagnostic(
        code=code,
        name=name,
        severity=Severity.ERROR,
        message=message,
        filename=document.filename,
        location=Location(row, column),
        end_location=Location(row, column),
        help=help,
        lines=(document.lines.text_of(row),),
    )


def _unused(sheet: Suppressions, filename: str, policy: Policy, document: Document) -> Iterable[Diagnostic]:
    if filename != document.filename:
        document = policy.documents[filename]
    if not policy.reports(UNUSED_SUPPRESSION.code, filename):
        return
    for unused in sheet.unused(policy.active(filename), policy.known):
        start, end = document.lines.location(unused.start), document.lines.location(unused.end)
        if sheet.covers(UNUSED_SUPPRESSION.code, start.row, end.row, UNUSED_SUPPRESSION.name):
            continue
        edits = tuple(
            LocatedEdit(edit, document.lines.location(edit.start), document.lines.location(edit.end))
            for edit in unused.edits
        )
        yield policy.adjusted(
            Diagnostic(
                code=UNUSED_SUPPRESSION.code,
                name=UNUSED_SUPPRESSION.name,
                severity=UNUSED_SUPPRESSION.severity,
                message=unused.message,
                filename=filename,
                location=start,
                end_location=end,
                fix=ProposedFix(unused.fix, Safety.SAFE, edits),
                lines=tuple(document.lines.text_of(row) for row in range(start.row, end.row + 1)),
            )
        )
