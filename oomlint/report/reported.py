"""What a run hands to a format, whichever it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.model import Severity
from oomlint.report.style import Style


def _at_warning(diagnostic: Diagnostic) -> bool:
    return diagnostic.severity >= Severity.WARNING


class Hidden(NamedTuple):
    """A finding that is not reported, and what hides it: `inSource`, a comment, or `external`, the baseline."""

    diagnostic: Diagnostic
    by: str


@dataclass(frozen=True, slots=True)
class Reported:
    """A run's findings and what else there is to say of it.

    `problems` are files that could not be read, `remarks` what could not be done besides; `fixed` how many findings
    were mended; `status` how the command will exit; `suppressed` what a comment or the baseline hides, if that was
    asked for; `footnotes` close a report for people; `quiet`: it is the findings alone; `fails`: whether a finding is
    at or above `fail-on`.
    """

    diagnostics: Sequence[Diagnostic] = ()
    files: int = 0
    here: Path = field(default_factory=Path.cwd)
    style: Style = field(default_factory=Style)
    fixed: int = 0
    status: int = 0
    problems: Sequence[str] = ()
    remarks: Sequence[str] = ()
    suppressed: Sequence[Hidden] = ()
    footnotes: Sequence[str] = ()
    quiet: bool = False
    fails: Callable[[Diagnostic], bool] = _at_warning

    @property
    def troubles(self) -> list[str]:
        """The problems, with paths as they are seen from here."""
        return [problem.removeprefix(f"{self.here}{os.sep}") for problem in self.problems]

    @property
    def root(self) -> Path:
        """Where paths start that another program will look up."""
        return repository(self.here)


def repository(here: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """The repository around a folder; without one what the CI calls its workspace, else the folder itself."""
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE"):
        workspace = environment.get(name)
        if workspace and here.is_relative_to(workspace):
            return Path(workspace)
    return here
