"""From nodes to rows and columns, for what is reported and nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oomlint.engine.merging import strongest
from oomlint.engine.policy import Policy
from oomlint.findings.diagnostic import Diagnostic, EvidenceNote, LocatedEdit, ProposedFix
from oomlint.findings.model import Evidence, Finding, Fix
from oomlint.findings.registry import RegisteredRule
from oomlint.findings.suppressions import Suppressions
from oomlint.syntax.positions import PositionError, Positions
from oomlint.syntax.resolve import EditError, named_nodes, resolve

if TYPE_CHECKING:
    import libcst as cst

    from oomlint.documents.python_file import Document
    from oomlint.documents.text_edits import TextEdit
    from oomlint.syntax.place import Place
    from oomlint.syntax.source import Source

Found = tuple[RegisteredRule, Finding]
# The suppressions of the files asked so far, by filename.
Sheets = dict[str, tuple["Document", Suppressions]]


class LocationError(Exception):
    """A rule pointed at a node that is not in the tree it says."""


class _Map:
    """The positions of all places of some findings and of what their fixes name: one pass over each file."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        nodes: dict[Source, list[cst.CSTNode]] = defaultdict(list)
        for finding in findings:
            nodes[finding.place.source].append(finding.place.node)
            for evidence in finding.evidence:
                if evidence.place is not None:
                    nodes[evidence.place.source].append(evidence.place.node)
            for edit in finding.fix.edits if finding.fix is not None else ():
                nodes[edit.place.source] += named_nodes(edit)
        self._positions = {source: _positions(source, wanted) for source, wanted in nodes.items()}

    def of(self, source: Source) -> Positions:
        """The positions in one file."""
        return self._positions[source]

    def span(self, place: Place) -> tuple[int, int]:
        positions = self._positions[place.source]
        if place.node not in positions:
            raise LocationError(f"{type(place.node).__name__} is no node of {place.source.document.filename}")
        return positions.span(place.node)

    def note(self, evidence: Evidence) -> EvidenceNote:
        if evidence.place is None:
            return EvidenceNote(evidence.text)
        document = evidence.place.source.document
        start, _ = self.span(evidence.place)
        return EvidenceNote(evidence.text, document.filename, document.location(start))


def _positions(source: Source, nodes: Iterable[cst.CSTNode]) -> Positions:
    try:
        return Positions(source, nodes)
    except PositionError:  # each finding of the file is said to have no place then
        return Positions(source, ())


def locate(
    found: Sequence[Found], sheets: Sheets, policy: Policy, *, heeded: bool = True
) -> tuple[list[Diagnostic], list[tuple[str, Exception]]]:
    """The diagnostics that remain after per-file ignores, suppressions and doubles; and the rules that failed.

    `sheets` holds the suppressions of the files asked so far, and is added to.
    """
    places = _Map(finding for _, finding in found)
    diagnostics: list[Diagnostic] = []
    fixes: dict[int, tuple[Source, Fix]] = {}
    broken: dict[str, Exception] = {}
    for entry, finding in found:
        document = finding.place.source.document
        if not policy.reports(finding.code, document.filename):
            continue
        try:
            start, end = places.span(finding.place)
            notes = tuple(places.note(evidence) for evidence in finding.evidence)
        except LocationError as error:
            broken[f"rule {entry.code}"] = error
            continue
        if document.filename not in sheets:
            sheets[document.filename] = (document, Suppressions.of(document, heeded=heeded))
        _, sheet = sheets[document.filename]
        first, last = document.lines.row(start), document.lines.row(end)
        if sheet.skip_file or sheet.covers(finding.code, first, last, finding.name):
            continue
        diagnostic = Diagnostic(
            code=finding.code,
            name=finding.name,
            severity=finding.severity,
            message=finding.message,
            filename=document.filename,
            location=document.location(start),
            end_location=document.location(end),
            evidence=notes,
            help=finding.help,
            lines=document.shown(start, end),
        )
        diagnostics.append(policy.adjusted(diagnostic))
        if finding.fix is not None:
            fixes[id(diagnostics[-1])] = (finding.place.source, finding.fix)
    kept = strongest(diagnostics)
    return _with_fixes(kept, fixes, places, policy), list(broken.items())


def _located(document: Document, edit: TextEdit) -> LocatedEdit:
    return LocatedEdit(edit, document.location(edit.start), document.location(edit.end))


def _with_fixes(
    diagnostics: Sequence[Diagnostic], fixes: dict[int, tuple[Source, Fix]], places: _Map, policy: Policy
) -> list[Diagnostic]:
    """Resolve the edits of what is reported, all of one file at once. A fix that cannot be written is left out."""
    from dataclasses import replace

    written: dict[int, ProposedFix] = {}
    waiting: dict[Source, list[tuple[int, Fix]]] = defaultdict(list)
    for diagnostic in diagnostics:
        if id(diagnostic) not in fixes:
            continue
        source, fix = fixes[id(diagnostic)]
        if not fix.edits:
            written[id(diagnostic)] = ProposedFix(fix.message, fix.safety)
        elif all(edit.place.source is source for edit in fix.edits):
            waiting[source].append((id(diagnostic), fix))
    for source, wanted in waiting.items():
        document = source.document
        for (key, fix), edits in zip(
            wanted, resolve(source, [fix.edits for _, fix in wanted], places.of(source))
        ):
            if not isinstance(edits, EditError):
                located = (_located(document, edit) for edit in edits)
                written[key] = ProposedFix(fix.message, fix.safety, tuple(located))
    return [
        policy.adjusted(replace(diagnostic, fix=written[id(diagnostic)]))
        if id(diagnostic) in written
        else diagnostic
        for diagnostic in diagnostics
    ]
