"""What one document gave. Plain data: processes exchange it, and the cache keeps it, without LibCST being there."""

from __future__ import annotations

from dataclasses import dataclass, field

from oomlint.findings.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class Report:
    """What one document gave. Findings in other files of the project are among them.

    `unused`: for each file whose suppressions were asked, those that suppressed nothing. A suppression in a
    helper module may be used by the script that calls it, so only a whole run can say which are unused.
    `seconds` and `parsed` say what it cost: the time, and whether LibCST had to read the document or a module of it.
    """

    filename: str
    diagnostics: tuple[Diagnostic, ...] = ()
    unused: dict[str, tuple[Diagnostic, ...]] = field(default_factory=dict)
    failed: bool = False
    seconds: float = field(default=0.0, compare=False)
    parsed: bool = field(default=False, compare=False)
