"""`oomlint check --watch`: check again whenever a file changes.

Changes come from watchfiles where it is installed (extra `watch`): the system tells it at once and at no cost. Without
it the files are looked at every second, which is as good for a project and slow for a tree of many thousands.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from oomlint.cli.progress import is_watched

_INTERVAL = 1.0  # seconds between two looks at the files
_NAMES = (".oomlint.toml", "oomlint.toml", "pyproject.toml", ".gitignore")
_SUFFIXES = (".py", ".ipynb", ".md", ".rst")
# Folders in which a change is never one of the project's, and which change all the time.
_BUSY = frozenset(
    (
        *(".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".ipynb_checkpoints"),
        *(".oomlint_cache", ".mypy_cache", ".ruff_cache", ".pytest_cache"),
    )
)


def watch(arguments: argparse.Namespace, once: Callable[[argparse.Namespace], int]) -> int:
    """Check until somebody interrupts it; what went wrong in one round is said, and the next one tries again."""
    from oomlint.cli.main import is_expected

    rounds = _Watched(arguments).rounds()
    while True:
        _clear()
        _say("checking ...")
        try:
            once(arguments)
        except Exception as error:
            if not is_expected(error):
                raise
            print(f"oomlint: {error}", file=sys.stderr)
        sys.stdout.flush()
        _say("watching for changes; Ctrl-C ends it")
        next(rounds)


def _clear() -> None:
    if is_watched(sys.stdout):
        sys.stdout.write("\x1b[H\x1b[2J\x1b[3J")
        sys.stdout.flush()


def _say(what: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {what}", file=sys.stderr, flush=True)


class _Watched:
    """What is watched: the folders of what is checked, for a module may be imported that was not named."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        tops = [Path(path).absolute() for path in arguments.paths or ["."]]
        self._deep = any(top.is_dir() for top in tops)
        # Editors that save by renaming replace the file itself: its folder is what has to be watched.
        self._folders = {top if top.is_dir() else top.parent for top in tops}
        self._also = set() if arguments.baseline is None else {arguments.baseline.absolute()}
        self._never = None if arguments.output_file is None else arguments.output_file.absolute()

    def rounds(self) -> Iterator[None]:
        """Gives back control after each change; what changes before the first step counts as well."""
        try:
            import watchfiles
        except ImportError:
            return self._polled()
        # The filter stands here and not there: files that do not matter (a log) must not hide that time passes.
        changes = watchfiles.watch(
            *self._folders,
            watch_filter=None,
            recursive=self._deep,
            rust_timeout=200,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        try:
            next(changes)  # sets up the watch
        except (OSError, RuntimeError) as error:
            _say(f"the system does not watch these folders ({error}); looking at the files every second")
            return self._polled()
        return (None for changed in changes if any(self._matters(Path(path)) for _, path in changed))

    def _matters(self, path: Path) -> bool:
        if path == self._never:
            return False
        if path in self._also or path.name in _NAMES:
            return True
        if path.suffix not in _SUFFIXES:
            return False
        inside = (path.relative_to(folder) for folder in self._folders if path.is_relative_to(folder))
        return any(_BUSY.isdisjoint(relative.parts) for relative in inside)

    def _polled(self) -> Iterator[None]:
        before = self._state()

        def rounds() -> Iterator[None]:
            nonlocal before
            while True:
                started = time.perf_counter()
                now = self._state()
                took = time.perf_counter() - started
                if now != before:
                    before = now
                    yield
                else:
                    # At most a tenth of a processor, however many files there are.
                    time.sleep(max(_INTERVAL, 10 * took))

        return rounds()

    def _state(self) -> dict[str, tuple[int, int, int]]:
        """Every file that matters, with what tells that it changed: inode (a save by rename), size and time."""
        found: dict[str, tuple[int, int, int]] = {}
        pending = [os.fspath(folder) for folder in self._folders]
        while pending:
            try:
                entries = list(os.scandir(pending.pop()))
            except OSError:
                continue
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if self._deep and entry.name not in _BUSY:
                            pending.append(entry.path)
                    elif entry.name in _NAMES or entry.name.endswith((*_SUFFIXES, ".json")):
                        if self._matters(Path(entry.path)):
                            status = entry.stat()
                            found[entry.path] = (status.st_ino, status.st_size, status.st_mtime_ns)
                except OSError:
                    continue  # gone between two calls
        return found
