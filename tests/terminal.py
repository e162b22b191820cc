"""A real process on a real (pseudo) terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

_PATIENCE = 120.0  # seconds; a busy machine takes long to start Python


class Terminal:
    """A process whose output and errors go to a terminal of their own."""

    def __init__(self, code: str, *arguments: str, cwd: Path, **environment: str) -> None:
        self._master, slave = pty.openpty()
        plain = {"NO_COLOR": "", "FORCE_COLOR": "", "CI": "", "TERM": "xterm-256color", "COLUMNS": "120"}
        self.process = subprocess.Popen(
            [sys.executable, *(["-c", code] if code else ["-m", "oomlint"]), *arguments],
            cwd=cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, **plain, **environment},
            start_new_session=True,
            # What runs these tests in the background may have had Ctrl-C ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(slave)
        self.seen = ""

    def until(self, text: str) -> str:
        """What it prints until this appears; taken away."""
        end = time.monotonic() + _PATIENCE
        while text not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
            if not self._read():
                raise AssertionError(f"ended without {text!r}: {self.seen!r}")
        until, _, self.seen = self.seen.partition(text)
        return until + text

    def rest(self) -> str:
        """What it prints until it ends."""
        end = time.monotonic() + _PATIENCE
        while self._read():
            assert time.monotonic() < end
        return self.seen

    def interrupt(self) -> int:
        """Ctrl-C; the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(_PATIENCE)

    def close(self) -> None:
        """End it, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 0.2)
        if not ready:
            return self.process.poll() is None
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says so when the other end is closed
            return False
        self.seen += data.decode()
        return bool(data)
