"""`oomlint check` on code that was there before it: comments that suppress, the baseline, changed lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.cli.outcome import complain

if TYPE_CHECKING:
    from oomlint.cli.check import Job
    from oomlint.engine.baseline import Baseline, Entry
    from oomlint.engine.changes import Changes
    from oomlint.engine.project import ProjectReport
    from oomlint.findings.diagnostic import Diagnostic


@dataclass(slots=True)
class Narrowing:
    """What is left out of a report: findings that were there before."""

    baseline: Baseline | None = None
    changes: Changes | None = None

    def keeps(self, diagnostics: Sequence[Diagnostic]) -> list[bool]:
        """For each of the findings whether it is reported."""
        kept = [True] * len(diagnostics)
        if self.baseline is not None:
            kept = self.baseline.compared(diagnostics).new
        if self.changes is not None:
            kept = [one and changed for one, changed in zip(kept, self.changes.keeps(diagnostics))]
        return kept


def narrowing(job: Job) -> Narrowing | None:
    """What `--baseline` and `--changed-since` ask for."""
    arguments = job.arguments
    found = Narrowing()
    if arguments.changed_since is not None:
        from oomlint.engine.changes import Changes

        folder = _first_folder(job)
        found.changes = Changes(folder, arguments.changed_since, job.run.document)
    if arguments.baseline is not None and arguments.write_baseline is None:
        from oomlint.engine.baseline import Baseline

        found.baseline = Baseline.read(arguments.baseline, _root(job, arguments.baseline))
    return found if found.baseline is not None or found.changes is not None else None


def narrowed(job: Job, report: ProjectReport, by: Narrowing) -> tuple[ProjectReport, list[str]]:
    """The report without what is left out, and what to say of that."""
    from oomlint.report.summary import plural

    diagnostics = report.diagnostics
    kept = [True] * len(diagnostics)
    notes = []
    if by.baseline is not None:
        compared = by.baseline.compared(diagnostics)
        known = len(diagnostics) - sum(compared.new)
        if known:
            notes.append(f"{plural(known, 'more finding')} {'is' if known == 1 else 'are'} in the baseline.")
        if not (report.failed or report.problems or job.problems):
            in_scope = _scope(job, by.baseline, report)
            gone = sum(in_scope(entry) for entry in compared.unmet)
            if gone:
                what = "1 entry of the baseline is" if gone == 1 else f"{gone:,} entries of the baseline are"
                notes.append(f"{what} gone; --write-baseline removes {'it' if gone == 1 else 'them'}.")
        kept = compared.new
    if by.changes is not None:
        changed = by.changes.keeps(diagnostics)
        kept = [one and here for one, here in zip(kept, changed)]
        elsewhere = len(diagnostics) - sum(changed)
        if elsewhere:
            notes.append(
                f"{plural(elsewhere, 'more finding')} {'is' if elsewhere == 1 else 'are'} on lines that did not change."
            )
    return replace(report, diagnostics=tuple(one for one, keep in zip(diagnostics, kept) if keep)), notes


def write_baseline(job: Job) -> int:
    """Write what is found to the baseline."""
    from oomlint.engine.baseline import FILE_NAME, Baseline
    from oomlint.report.paths import shown
    from oomlint.report.summary import plural

    given = job.arguments.write_baseline or job.arguments.baseline
    file = (
        Path(given) if given else job.configurations.for_folder(_first_folder(job)).settings.root / FILE_NAME
    )
    root = _root(job, file)
    is_first = not file.exists()
    before = Baseline(file, root) if is_first else Baseline.read(file, root)
    report = job.run.check()
    troubles = (*job.problems, *report.problems)
    complain((*troubles, *report.remarks))
    if troubles or report.failed:
        complain([f"{file}: not written, because not everything could be checked"])
        return 2
    found = Baseline.of(report.diagnostics, file, root)
    after = before.replaced(found, _scope(job, before, report))
    after.write()
    if not job.arguments.quiet:
        old, new, name = set(before.entries), set(after.entries), shown(str(file), Path.cwd())
        print(
            f"{name}: {plural(len(new), 'finding')} in {plural(len(after.counts()), 'file')}"
            f" ({len(new - old):,} added, {len(old - new):,} removed)."
        )
        if is_first:
            print(f"Report only what is new: oomlint check --baseline {name}")
    return 0


def _scope(job: Job, baseline: Baseline, report: ProjectReport) -> Callable[[Entry], bool]:
    """Says whether this run would have met an entry if its finding were still there."""
    from oomlint.findings.own import SYNTAX_ERROR
    from oomlint.findings.pages import pages
    from oomlint.findings.selection import is_selected

    arguments = job.arguments
    paths = [Path(path).absolute() for path in arguments.paths or ["."]]
    if job.given is not None:
        paths = [Path(arguments.stdin_filename or "-").absolute()]
    known = pages()
    unparsed = {Path(one.filename).absolute() for one in report.diagnostics if one.code == SYNTAX_ERROR.code}

    def would_be_met(entry: Entry) -> bool:
        path = baseline.root / entry.path
        if path in unparsed and entry.code != SYNTAX_ERROR.code:
            return False
        if not any(path == checked or path.is_relative_to(checked) for checked in paths):
            return False
        if entry.code not in known:
            return True  # of a rule that is no more
        rule = known[entry.code].rule
        if rule.estimated and not arguments.estimate:
            return False
        settings = job.configurations.for_folder(path.parent).settings
        return is_selected(rule.code, settings) and (settings.preview or not rule.preview)

    return would_be_met


def _root(job: Job, file: Path) -> Path:
    """Where the paths of a baseline start: the root of the project that it lies in, from wherever it is read."""
    folder = file.absolute().parent
    root = job.configurations.for_folder(folder).settings.root
    here = _first_folder(job)
    return root if here.is_relative_to(root) else job.configurations.for_folder(here).settings.root


def _first_folder(job: Job) -> Path:
    """The folder of what is checked first: it says which project this is about."""
    if job.given is not None:
        return Path(job.arguments.stdin_filename or "-").absolute().parent
    path = Path(job.arguments.paths[0] if job.arguments.paths else ".").absolute()
    return path if path.is_dir() else path.parent


def add_comments(job: Job) -> int:
    """Suppress what is found by comments in the files."""
    from oomlint.engine.excusing import excuse_project
    from oomlint.findings.comments import Kind
    from oomlint.project.configuration import ConfigurationError
    from oomlint.report.summary import plural

    arguments = job.arguments
    kind = Kind.IGNORE if arguments.add_noqa is None else Kind.NOQA
    reason = (arguments.add_noqa or arguments.add_ignore or "").strip()
    if not reason.isprintable():
        raise ConfigurationError("a reason is one line of text")
    by = narrowing(job)
    report = job.run.check()
    diagnostics = report.diagnostics
    if by is not None:
        diagnostics = tuple(one for one, keep in zip(diagnostics, by.keeps(diagnostics)) if keep)
    excused = excuse_project(job.run, diagnostics, kind, reason, frozenset(map(Path, job.files)))
    if not arguments.quiet:
        where = f" in {plural(excused.files, 'file')}" if excused.added else ""
        print(f"Suppressed {plural(excused.added, 'finding')}{where}.")
    troubles = (*job.problems, *job.run.problems)
    complain((*troubles, *report.remarks, *excused.left_out))
    return 2 if troubles or report.failed else 0
