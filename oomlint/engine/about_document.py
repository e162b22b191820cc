"""What oomlint says about a document itself: it does not parse, a rule failed on it, a suppression is idle."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.documents.lines import Location
from oomlint.documents.parts import PartedDocument
from oomlint.documents.python_syntax import PYTHON_2
from oomlint.engine.policy import Policy
from oomlint.findings.diagnostic import Diagnostic, LocatedEdit, ProposedFix
from oomlint.findings.model import Rule, Safety, Severity
from oomlint.findings.own import INTERNAL_ERROR, SYNTAX_ERROR, UNUSED_SUPPRESSION
from oomlint.findings.suppressions import Suppressions
from oomlint.syntax.gates import SyntaxFault, check_syntax

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document


def internal_error(document: Document, who: str, error: Exception) -> Diagnostic:
    """A rule, or the dry run, raised an exception."""
    last = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    where = ""
    if frames:
        file = frames[-1].filename.replace("\\", "/").rpartition("/")[2]
        where = f" ({frames[-1].name}, line {frames[-1].lineno} of {file})"
    return _at(
        document,
        0,
        INTERNAL_ERROR,
        f"{who} failed: {last}{where}",
        "This is a bug of oomlint or of a rule installed beside it; the other rules' findings stand.",
    )


def syntax_error(
    document: Document, fault: SyntaxFault, suppressions: Suppressions, policy: Policy
) -> Iterator[Diagnostic]:
    """The document does not parse; a warning where only LibCST refuses what Python runs."""
    if not policy.reports_unread(document.filename):
        return
    if suppressions.covers(SYNTAX_ERROR.code, fault.line, fault.line, SYNTAX_ERROR.name):
        return
    at = document.lines.offset(fault.line, fault.column)
    if _python_parses(document):
        message = f"oomlint cannot read this file: {fault.message}"
        help = (
            "Nothing can be reported in this file. Indentation that mixes tabs and blanks is a usual cause."
        )
        found = _at(document, at, SYNTAX_ERROR, message, help)
        yield policy.adjusted(replace(found, severity=Severity.WARNING))
    else:
        message = f"Python cannot parse this file: {fault.message}"
        help = "No rule could look at this file; mend the syntax and check again."
        yield policy.adjusted(_at(document, at, SYNTAX_ERROR, message, help))


def broken_cells(document: Document, policy: Policy) -> Iterator[Diagnostic]:
    """Cells of a notebook that do not parse: the others are checked without them.

    A note, because such cells are everyday: an exercise's blank, a thought that was not finished.
    """
    if not isinstance(document, PartedDocument) or not policy.reports(SYNTAX_ERROR.code, document.filename):
        return
    for broken in document.broken:
        location = Location(broken.fault.line, broken.fault.column, broken.number)
        old = broken.fault.message == PYTHON_2
        yield policy.adjusted(
            Diagnostic(
                code=SYNTAX_ERROR.code,
                name=SYNTAX_ERROR.name,
                severity=Severity.NOTE,
                message=f"Python cannot parse this cell: {broken.fault.message}",
                filename=document.filename,
                location=location,
                end_location=location,
                help="Cells like this one were left out, the others were checked."
                if old
                else "The other cells were checked without it.",
                lines=(broken.row,),
            )
        )


def _python_parses(document: Document) -> bool:
    try:
        return check_syntax(document) is not None
    except SyntaxFault:
        return False


def _at(document: Document, offset: int, rule: Rule, message: str, help: str) -> Diagnostic:
    location = document.location(offset)
    return Diagnostic(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=message,
        filename=document.filename,
        location=location,
        end_location=location,
        help=help,
        lines=document.shown(offset, offset),
    )


def unused_suppressions(document: Document, sheet: Suppressions, policy: Policy) -> Iterator[Diagnostic]:
    """Suppressions that no finding of this run needed."""
    if not policy.reports(UNUSED_SUPPRESSION.code, document.filename):
        return
    lines = document.lines
    for unused in sheet.unused(policy.active(document.filename), policy.known):
        start, end = unused.start, unused.end
        if sheet.covers(UNUSED_SUPPRESSION.code, lines.row(start), lines.row(end), UNUSED_SUPPRESSION.name):
            continue
        edits = tuple(
            LocatedEdit(edit, document.location(edit.start), document.location(edit.end))
            for edit in unused.edits
        )
        yield policy.adjusted(
            Diagnostic(
                code=UNUSED_SUPPRESSION.code,
                name=UNUSED_SUPPRESSION.name,
                severity=UNUSED_SUPPRESSION.severity,
                message=unused.message,
                filename=document.filename,
                location=document.location(start),
                end_location=document.location(end),
                fix=ProposedFix(unused.fix, Safety.SAFE, edits),
                lines=document.shown(start, end),
            )
        )
