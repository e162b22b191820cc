"""Runs the compiler's process and waits for the buffer assignment."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.without_gpu import NO_AUTOTUNING, VARIABLES
from oomlint.estimate.worker.xla.compiler import CUBLAS

_ERROR = re.compile(r"\w*Error: |^F\d{4} |Check failed|LLVM ERROR")
_LOOK_EVERY = 0.05  # seconds
_SHOWN = 6000  # characters of what the compiler said

# Files that the compiler writes after the buffer assignment: once one is there, the assignment is whole.
_LATER = ("*memory-usage-report.txt", "*thunk_sequence*", "*.ll", "*.ptx")


def environment() -> dict[str, str]:
    """What the process needs that compiles for a GPU that is not there, and any process that traces with JAX."""
    return {**VARIABLES, "XLA_FLAGS": NO_AUTOTUNING}


class CompilerError(Exception):
    """XLA refused, or its process ended: the compiler's last words."""


class Compilation:
    """One compilation. As a context manager it starts the process, and ends it and removes its files."""

    def __init__(self, target: str, to_the_end: bool = False) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="xla-"))
        self._to_the_end = to_the_end
        (self._folder / "target.txtpb").write_text(target)
        (self._folder / "dump").mkdir()
        with (self._folder / "output.txt").open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "oomlint.estimate.worker.xla.compiler", str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(os.environ),
                cwd=self._folder,
            )

    def __enter__(self) -> Compilation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def dump(self, module: bytes) -> Path:
        """The folder with the compiler's dumps of this module. Raises CompilerError."""
        (self._folder / "module.mlir").write_bytes(module)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"go\n")
            self._process.stdin.flush()
        dump = self._folder / "dump"
        while self._process.poll() is None:
            if not self._to_the_end and assigned(dump):
                return dump
            time.sleep(_LOOK_EVERY)
        if not assigned(dump) or (self._to_the_end and self._process.returncode):
            raise CompilerError(self._said())
        return dump

    @property
    def with_cublas(self) -> bool:
        """Whether matrix products had to be left to cuBLAS."""
        return (self._folder / CUBLAS).exists()

    @property
    def figures(self) -> dict[str, int]:
        """XLA's own totals, where it compiled to the end."""
        content: dict[str, int] = json.loads((self._folder / "figures.json").read_text())
        return content

    def _said(self) -> str:
        said = (self._folder / "output.txt").read_text("utf-8", "replace").strip()
        error = _ERROR.search(said)
        start = max(0, error.start() - 200) if error else max(0, len(said) - _SHOWN)
        return said[start : start + _SHOWN] or f"the compiler ended with status {self._process.returncode}"


def assigned(dump: Path) -> bool:
    """Whether the buffer assignment of the module is complete."""
    if next(dump.glob("*buffer-assignment.txt"), None) is None:
        return False
    return any(next(dump.glob(pattern), None) is not None for pattern in _LATER)


def refused(error: CompilerError, target: str) -> EstimateError:
    """The compiler's last words, for the user."""
    # The first line that names an error: a trace of the Python lines behind the operation follows it.
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "")
    return EstimateError(
        f"XLA did not compile the step for {target}: {text[:300]}",
        "engine",
        hint="Use --engine graph.",
        output=str(error),
    )


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """The compiler's: no other backend, no cache of compilations, and the folder that this package is in."""
    own = str(Path(__file__).resolve().parents[4])
    kept = {name: value for name, value in given.items() if not name.startswith(("JAX_", "XLA_", "KERAS_"))}
    paths = [own, *filter(None, [given.get("PYTHONPATH", "")])]
    return kept | environment() | {"PYTHONPATH": os.pathsep.join(paths)}
