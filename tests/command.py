"""Running the command line: in this process, which is quick, or in one of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from oomlint.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


@contextlib.contextmanager
def within(folder: Path | None) -> Iterator[None]:
    """With this as the working directory."""
    here = Path.cwd()
    os.chdir(folder or here)
    try:
        yield
    finally:
        os.chdir(here)


def oomlint(*arguments: str, cwd: Path | None = None, stdin: str = "", **environment: str) -> Done:
    """Run it here."""
    out, err = io.StringIO(), io.StringIO()
    source = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    colours = dict.fromkeys(("NO_COLOR", "FORCE_COLOR"), "")
    with (
        within(cwd),
        mock.patch.dict(os.environ, {**colours, **environment}),
        mock.patch.object(sys, "stdin", source),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            status = main(arguments)
        except SystemExit as stop:  # argparse's own way out
            status = stop.code if isinstance(stop.code, int) else 1
    return Done(status, out.getvalue(), err.getvalue())


def process(*arguments: str, cwd: Path | None = None, stdin: str = "", **environment: str) -> Done:
    """Run it as a user does."""
    done = subprocess.run(
        [sys.executable, "-m", "oomlint", *arguments],
        cwd=cwd,
        input=stdin.encode(),
        capture_output=True,
        env={**os.environ, "NO_COLOR": "", "FORCE_COLOR": "", **environment},
        timeout=300,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
