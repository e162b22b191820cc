"""What git says about a working tree: its root, what changed since a revision, files as they were.

The program is asked, not its files: only it knows about worktrees, packs and configuration. Paths come separated by
NUL, because git quotes names otherwise.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from oomlint.project.configuration import ConfigurationError
from oomlint.project.options import nearest


class Repository:
    """The working tree around a folder. Raises ConfigurationError where there is none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.top = folder
        try:
            self.top = Path(self._text("rev-parse", "--show-toplevel").rstrip("\n")).resolve()
        except _Failed as failed:
            raise ConfigurationError(f"{folder}: {failed.why or 'is in no git repository'}") from None
        self._folder = self.top

    def merge_base(self, revision: str) -> str:
        """The commit where HEAD and a revision parted: what a pull request is compared with."""
        try:
            commit = self._text(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
            )
        except _Failed:
            raise ConfigurationError(f"git knows no revision {revision!r}{self._hint(revision)}") from None
        try:
            return self._text("merge-base", commit.strip(), "HEAD").strip()
        except _Failed:
            raise ConfigurationError(
                f"{revision!r} and HEAD have no common commit here; in a shallow clone fetch more history first "
                "(git fetch --unshallow; actions/checkout: fetch-depth: 0)"
            ) from None

    def changed(self, commit: str) -> dict[str, str | None]:
        """The files that differ from a commit, uncommitted changes included, and what each was called there.

        None for one that is new. Paths are relative to the top; files that git does not track are not among them.
        """
        words = iter(
            self._text(
                "diff", "--name-status", "-z", "--find-renames", "--no-ext-diff", "--ignore-submodules=all",
                commit, "--",
            ).split("\0")
        )  # fmt: skip
        found: dict[str, str | None] = {}
        for status in words:
            if not status:
                continue
            path = next(words)
            match status[0]:
                case "R" | "C":
                    found[next(words)] = path
                case "A":
                    found[path] = None
                case _:
                    found[path] = path
        return found

    def files(self, commit: str) -> frozenset[str]:
        """All files of a commit."""
        return frozenset(self._text("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).split("\0"))

    def content(self, commit: str, path: str) -> bytes:
        """A file as it was in a commit, with the line ends that a checkout gives it."""
        try:
            return self._run("cat-file", "--filters", f"{commit}:{path}")
        except _Failed:
            return self._run("cat-file", "blob", f"{commit}:{path}")

    def inside(self, path: Path) -> str | None:
        """The path from the top; None where another repository begins in between, or it lies outside."""
        real = path.resolve()
        if not real.is_relative_to(self.top):
            return None
        for folder in real.parents:
            if folder == self.top:
                break
            if (folder / ".git").exists():
                return None
        return real.relative_to(self.top).as_posix()

    def _hint(self, revision: str) -> str:
        try:
            names = self._text("for-each-ref", "--format=%(refname:short)").split()
        except _Failed:
            return ""
        return f": did you mean {nearest(revision, names)!r}?" if names else ": it has no commit yet"

    def _text(self, *arguments: str) -> str:
        return os.fsdecode(self._run(*arguments))

    def _run(self, *arguments: str) -> bytes:
        try:
            done = subprocess.run(
                ["git", "-C", os.fspath(self._folder), *arguments],
                capture_output=True,
                check=False,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            )
        except OSError as error:
            raise ConfigurationError(f"git cannot be run: {error.strerror or error}") from None
        if done.returncode:
            # What is fatal comes first; a remedy may stand below (a checkout of another owner, in containers).
            said = [
                line.strip() for line in done.stderr.decode(errors="replace").splitlines() if line.strip()
            ]
            fatal = next((index for index, line in enumerate(said) if line.startswith("fatal: ")), 0)
            raise _Failed(" ".join(said[fatal:]).removeprefix("fatal: "))
        return done.stdout


class _Failed(Exception):
    """git refused; `why` is what it said."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
