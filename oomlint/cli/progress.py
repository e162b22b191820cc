"""What a run is doing, while it does it: a bar on a terminal, or every step with `--verbose`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from oomlint.cli.check import Job
    from oomlint.engine.report import Report

_PATIENCE = 1.0  # seconds that nobody minds waiting without a sign
_WIDTH = 24  # of the bar itself


@contextmanager
def watched(job: Job) -> Iterator[None]:
    """Show what a job does, if somebody wants to see it."""
    arguments, run = job.arguments, job.run
    if arguments.verbose:
        run.watcher = steps = Steps()
        steps.begin(job)
        yield
        steps.say("done")
    elif not arguments.quiet and is_watched(sys.stderr):
        run.watcher = bar = Bar()
        try:
            yield
        finally:
            bar.clear()
    else:
        yield


def is_watched(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether somebody looks at a stream while it is written: a terminal that can move its cursor, and no CI."""
    return stream.isatty() and environment.get("TERM") != "dumb" and not environment.get("CI")


class Bar:
    """One line on standard error, drawn over and over, gone at the end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._started = perf_counter()
        self._drawn = 0.0

    def __call__(self, number: int, total: int, report: Report) -> None:
        """A document is done."""
        now = perf_counter()
        if number == total:
            self.clear()
            return
        if now - self._started < _PATIENCE or now - self._drawn < 0.1:
            return
        self._drawn = now
        full = round(_WIDTH * number / max(total, 1))
        text = f"{'█' * full}{'░' * (_WIDTH - full)} {number:,}/{total:,} {Path(report.filename).name}"
        if (self._stream.encoding or "").lower().replace("-", "") != "utf8":
            text = text.replace("█", "#").replace("░", ".")
        self._stream.write(f"\r\x1b[K{text[: self._columns() - 1]}")
        self._stream.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = 0.0


class Steps:
    """A line for every document, and what the whole took."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._started = perf_counter()

    def begin(self, job: Job) -> None:
        """What was taken in, and by which configuration."""
        import oomlint
        from oomlint.report.paths import shown
        from oomlint.report.summary import plural

        python = ".".join(map(str, sys.version_info[:3]))
        self.say(f"oomlint {oomlint.__version__} on Python {python}, {sys.executable}")
        folders = {Path(path).parent for path in job.files} or {Path.cwd()}
        files = {job.configurations.for_folder(folder).file for folder in folders}
        for file in sorted(str(file) for file in files if file is not None):
            self.say(f"configuration: {shown(file, Path.cwd())}")
        if None in files:
            self.say("configuration: the defaults" if len(files) == 1 else "configuration: else the defaults")
        relevant = len(job.run.documents)
        self.say(
            f"read {plural(job.run.files, 'file')}: {relevant:,} to look at, {job.run.files - relevant:,} that have "
            "nothing to do with Keras or TensorFlow"
        )

    def say(self, text: str) -> None:
        """A line of it."""
        print(f"[{perf_counter() - self._started:7.3f}] {text}", file=self._stream)

    def __call__(self, number: int, total: int, report: Report) -> None:
        """A document is done."""
        from oomlint.report.paths import shown
        from oomlint.report.summary import plural

        found = plural(len(report.diagnostics), "finding")
        if not number:
            how = "as in an earlier run"
        elif report.parsed:
            how = f"parsed and dry-run in {report.seconds:.3f} s"
        else:
            how = f"nothing that a rule looks for ({report.seconds:.3f} s)"
        self.say(f"{shown(report.filename, Path.cwd())}: {how}, {found}")
