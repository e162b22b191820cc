"""oomlint as a plugin of flake8: `OOM` reports warnings and errors, `OON`, off by default, notes.

flake8 imports this module in every run, so it imports nothing of oomlint: files that have nothing to do with Keras
are told by their text, and by the text of what they import. The others go to :mod:`oomlint.flake8_checks`.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from argparse import Namespace
    from collections.abc import Iterator, Sequence
    from typing import Any

    from oomlint.flake8_checks import Checks, Violation

# The entry point for notes. Their codes are OOM..., too: in `oomlint check`, in `noqa`, and in flake8.
NOTES = "OON"

_NAMES = ("tensorflow", "keras")
_ENDED = 60  # seconds within which flake8 has ended its processes
_CODE = re.compile(r"[A-Z]{3}[0-9]{3}")


class Neighbours:
    """Whether a file that names no Keras may import, by whatever way, a file that does.

    The answer may be a wrong yes, for `oomlint check` knows where the project begins and which module wins; it is
    never a wrong no.
    """

    _IMPORTS = re.compile(
        r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\(?([\w \t,]*)|import[ \t]+([\w., \t]+))",
        re.MULTILINE,
    )

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}
        self._found: dict[tuple[str, str], list[str]] = {}
        self._nowhere: set[str] = set()  # files that lead to no Keras

    def may_lead(self, path: str, text: str) -> bool:
        """Whether a file with that text may lead to Keras."""
        path = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow symlinks
        waiting, seen = [(path, text)], {path}
        while waiting and path not in self._nowhere:
            importer, text = waiting.pop()
            for found in self._imported(os.path.dirname(importer), text):  # noqa: PTH120
                if found in self._nowhere or found in seen:
                    continue
                seen.add(found)
                try:
                    with open(found, encoding="latin-1") as file:  # noqa: PTH123
                        text = file.read()
                except OSError:
                    continue
                if any(name in text for name in _NAMES):
                    return True
                waiting.append((found, text))
        self._nowhere |= seen
        return False

    def _imported(self, folder: str, text: str) -> Iterator[str]:
        """The files that import statements may mean."""
        if "import" not in text:
            return
        for dots, package, members, modules in self._IMPORTS.findall(text):
            names = [part.split()[0] for part in (members or modules).split(",") if part.split()]
            if members or dots or package:
                names = [package, *(f"{package}.{name}" if package else name for name in names)]
            for name in names:
                found = self._found.get((folder, name))
                if found is None:
                    found = self._found[folder, name] = list(
                        self._files(folder, name.split(".") if name else [])
                    )
                yield from found

    def _files(self, folder: str, parts: list[str]) -> Iterator[str]:
        """Where a module may lie: in the folder, in one above it, or in `src` of one of those."""
        below = ""
        while folder != below:
            yield from self._at(folder, parts)
            if "src" in self._in(folder):
                yield from self._at(os.path.join(folder, "src"), parts)  # noqa: PTH118
            below, folder = folder, os.path.dirname(folder)  # noqa: PTH120

    def _at(self, base: str, parts: list[str]) -> Iterator[str]:
        # By the listings of folders, each read once: most modules are looked for where they are not.
        for part in parts[:-1]:
            if part not in self._in(base):
                return
            base = os.path.join(base, part)  # noqa: PTH118
        for part in parts[-1:]:
            if f"{part}.py" in self._in(base):
                yield os.path.join(base, f"{part}.py")  # noqa: PTH118
            if part not in self._in(base):
                return
            base = os.path.join(base, part)  # noqa: PTH118
        if "__init__.py" in self._in(base):
            yield os.path.join(base, "__init__.py")  # noqa: PTH118

    def _in(self, folder: str) -> frozenset[str]:
        names = self._names.get(folder)
        if names is None:
            try:
                names = frozenset(os.listdir(folder))  # noqa: PTH208
            except OSError:
                names = frozenset()
            self._names[folder] = names
        return names


class Given:
    """What flake8's command line and configuration say, and what is kept from file to file."""

    def __init__(self, options: Namespace | None = None) -> None:
        self.gpu: str | None = getattr(options, "oomlint_gpu", None)
        self.host_memory: str | None = getattr(options, "oomlint_host_memory", None)
        self.config: str | None = getattr(options, "oomlint_config", None)
        self.arguments: list[str] = getattr(options, "filenames", None) or ["."]
        self.stdin_name: str = getattr(options, "stdin_display_name", None) or "stdin"
        named = {*(getattr(options, "select", None) or ()), *(getattr(options, "extend_select", None) or ())}
        self.all_notes = NOTES in named or getattr(options, "oomlint_notes", False)
        self.notes = frozenset(name for name in named if _CODE.fullmatch(name))
        self.neighbours = Neighbours()
        self._checks: Checks | None = None
        self._turn = _turn(getattr(options, "jobs", None))

    @property
    def checks(self) -> Checks:
        """The part that imports the rest of oomlint; made when first asked for."""
        if self._checks is None:
            from oomlint.flake8_checks import Checks

            self._checks = Checks(self)
        return self._checks

    def wait_for_the_end(self) -> None:
        """Wait to be ended, if another of flake8's processes has stopped the run already.

        flake8 ends its processes as soon as one has failed. One that is just telling that it failed, too, leaves a
        lock behind that flake8 then waits for without end (`multiprocessing.Pool.terminate`).
        """
        if self._turn is None:
            return
        try:
            os.read(self._turn, 1)
        except BlockingIOError:
            time.sleep(_ENDED)

    def wants(self, code: str, is_note: bool, by_notes: bool) -> bool:
        """Whether one of the two plugins reports a finding: each is reported by one of them."""
        asked = not is_note or self.all_notes or code in self.notes
        return asked is not by_notes


def _turn(jobs: Any) -> int | None:
    """Where the first of flake8's processes to fail finds a byte: a pipe that all have which are forked later."""
    if jobs is None or not (jobs.is_auto or jobs.n_jobs > 1) or not hasattr(os, "fork"):
        return None
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.write(writing, b".")
    return reading


class Plugin:
    """Warnings and errors; and notes that flake8's `select` or `extend-select` names by their codes."""

    given = Given()
    by_notes = False

    def __init__(self, tree: ast.Module, filename: str, lines: Sequence[str]) -> None:
        self._tree = tree
        self._filename = filename
        self._lines = lines

    @classmethod
    def parse_options(cls, options: Namespace) -> None:
        """Called by flake8 once for a run, and once in each process that it spawns."""
        Plugin.given = Given(options)

    @staticmethod
    def add_options(manager: Any) -> None:
        """Add to `flake8 --help`."""
        manager.add_option(
            "--oomlint-gpu",
            metavar="NAME",
            parse_from_config=True,
            help="The GPU that the scripts will train on: T4, A100-40GB, 24GiB, ... (default: [tool.oomlint], else T4)",
        )
        manager.add_option(
            "--oomlint-host-memory",
            metavar="SIZE",
            parse_from_config=True,
            help="The host memory that they can use (default: [tool.oomlint], else 16GiB)",
        )
        manager.add_option(
            "--oomlint-config",
            metavar="FILE",
            parse_from_config=True,
            normalize_paths=True,
            help="oomlint's configuration file (default: the nearest one above each file)",
        )
        manager.add_option(
            "--oomlint-notes",
            action="store_true",
            default=False,
            parse_from_config=True,
            help=f"Report notes too, as --enable-extensions={NOTES} does; single ones: --extend-select=OOM101",
        )

    def run(self) -> Iterator[Violation]:
        """Called by flake8 for each file."""
        given = Plugin.given
        from_stdin = "-" in given.arguments and self._filename == given.stdin_name
        text = "".join(self._lines)
        if not any(name in text for name in _NAMES):
            if from_stdin or not given.neighbours.may_lead(self._filename, text):
                return
        found = given.checks.violations(self._filename, text if from_stdin else None, self._tree)
        for violation, is_note in found:
            if given.wants(violation[2][:6], is_note, self.by_notes):
                yield violation


class Notes:
    """Notes: risks of unknown size, which `oomlint check` shows and does not fail for."""

    off_by_default = True

    def __init__(self, tree: ast.Module, filename: str, lines: Sequence[str]) -> None:
        self._plugin = Plugin(tree, filename, lines)
        self._plugin.by_notes = True

    def run(self) -> Iterator[Violation]:
        """Called by flake8 for each file, after the other plugin; the file is checked once for both."""
        return self._plugin.run()


class ThirdParty:
    """For packages with rules of their own: an entry point of this class makes flake8 select their codes.

    flake8 leaves out codes that do not start with the name of an entry point. This reports nothing: the rules run,
    and are reported, with the others.
    """

    def __init__(self, tree: ast.Module) -> None:
        """With `tree` flake8 takes it for a plugin."""

    def run(self) -> Iterator[Violation]:
        """Nothing."""
        return iter(())
