"""Which files a run looks at: named files always, folders without what is excluded or ignored by git."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oomlint.project.patterns import Patterns, is_covered

if TYPE_CHECKING:
    from oomlint.project.settings import Settings

SUFFIXES = (".py", ".ipynb")


class DiscoveryError(Exception):
    """A path that was named and is not there."""


def discover(
    paths: Iterable[Path], settings_of: Callable[[Path], Settings], problems: list[str] | None = None
) -> list[str]:
    """The Python files and notebooks under some paths, absolute, sorted, each once.

    Of other files those that are named, and what the patterns of `extend-include` cover.

    What is wrong with a path (it does not exist, a folder cannot be read) goes into `problems`.
    """
    found: dict[str, None] = {}
    named: set[str] = set()
    links: list[str] = []
    wrong: list[str] = [] if problems is None else problems
    for path in paths:
        absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow symlinks
        try:
            is_folder, exists = absolute.is_dir(), absolute.exists()
        except OSError as error:  # in a folder that may not be searched
            wrong.append(f"{path}: {error.strerror or error}")
            continue
        if _is_forced_out(absolute, is_folder, settings_of):
            continue
        if is_folder:
            found.update(dict.fromkeys(_walk(absolute, settings_of(absolute), wrong, links)))
        elif exists:
            found[str(absolute)] = None
            named.add(str(absolute))
        else:
            wrong.append(f"{path}: no such file or folder")
    for link in _second_names(found, [link for link in links if link not in named]):
        del found[link]
    # As paths are sorted, folder by folder; as text, which is compared ten times as fast.
    return sorted(found, key=lambda text: os.path.normcase(text).split(os.sep))  # noqa: PTH206


def _second_names(found: Iterable[str], links: list[str]) -> list[str]:
    """Links in folders to files that are there without them: what is said of a file is said, and mended, once."""
    if not links:
        return []
    second = []
    real = {os.path.realpath(path) for path in set(found).difference(links)}
    for link in sorted(set(links)):
        target = os.path.realpath(link)
        if target in real:
            second.append(link)
        real.add(target)
    return second


def _is_forced_out(path: Path, is_folder: bool, settings_of: Callable[[Path], Settings]) -> bool:
    """Whether `force-exclude` holds and a pattern covers a path that was named, or a folder around it."""
    settings = settings_of(path if is_folder else path.parent)
    return settings.force_exclude and is_left_out(path, settings)


def is_left_out(path: Path, settings: Settings, named: Container[Path] = ()) -> bool:
    """Whether `exclude` covers a path or a folder of the project around it; what was named is not looked beyond."""
    patterns = (*settings.exclude, *settings.extend_exclude)
    for one in (path, *(above for above in path.parents if above.is_relative_to(settings.root))):
        if one == settings.root or one in named:
            return False
        if is_covered(one, settings.root, patterns):
            return True
    return False


def _walk(top: Path, settings: Settings, wrong: list[str], links: list[str]) -> Iterator[str]:
    excluded = Patterns((*settings.exclude, *settings.extend_exclude), top, settings.root)
    included = Patterns(settings.extend_include, top, settings.root)
    pending: list[tuple[str, GitIgnores]] = [
        (str(top), GitIgnores.around(top) if settings.respect_gitignore else GitIgnores())
    ]
    while pending:
        folder, ignores = pending.pop()
        try:
            with os.scandir(folder) as entries:
                children = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            wrong.append(f"{folder}: {error.strerror or error}")
            continue
        if settings.respect_gitignore and any(child.name == ".gitignore" for child in children):
            ignores = ignores.below(Path(folder))
        for child in children:
            is_folder = child.is_dir(follow_symlinks=False)
            wanted = is_folder or os.path.splitext(child.name)[1] in SUFFIXES  # noqa: PTH122 - of every file
            if not wanted and not included.cover(child.name, child.path):
                continue
            if excluded.cover(child.name, child.path):
                continue
            if ignores and ignores.match(Path(child.path), is_folder):
                continue
            if is_folder:
                pending.append((child.path, ignores))
            elif _is_file(child, wrong):
                if child.is_symlink():
                    links.append(child.path)
                yield child.path


def _is_file(entry: os.DirEntry[str], wrong: list[str]) -> bool:
    """Whether it is one or leads to one; a link to nothing is none, untold: editors lock files by them."""
    try:
        return entry.is_file()
    except OSError as error:  # links in a circle, a folder that may not be searched
        wrong.append(f"{entry.path}: {error.strerror or error}")
        return False


def _spec(lines: list[str]) -> Any:
    # Imported here: most runs of a hook are given files and never need it.
    from pathspec import GitIgnoreSpec

    def is_pattern(line: str) -> bool:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            return False
        return True

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:  # to git a line that is no pattern is one that covers nothing
        return GitIgnoreSpec.from_lines(filter(is_pattern, lines))


class GitIgnores:
    """The .gitignore files that count in a folder, outermost first."""

    __slots__ = ("_specs",)

    def __init__(self, specs: tuple[tuple[Path, Any], ...] = ()) -> None:
        self._specs = specs

    @classmethod
    def around(cls, top: Path) -> GitIgnores:
        """Those of the folders above, up to the repository's own; none of them if they ignore `top` itself."""
        above = []
        for folder in top.parents:
            above.append(folder)
            if (folder / ".git").exists():
                break
        else:
            return cls()
        if (top / ".git").exists():
            return cls()
        ignores = cls()
        for folder in reversed(above):
            ignores = ignores.below(folder)
        return cls() if ignores.match(top, True) else ignores

    def below(self, folder: Path) -> GitIgnores:
        """With the file of this folder, if it has one."""
        file = folder / ".gitignore"
        try:
            if not file.is_file():  # a pipe would be waited for
                return self
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return self
        return GitIgnores((*self._specs, (folder, _spec(lines))))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._specs)

    def match(self, path: Path, is_folder: bool) -> bool:
        """Whether git would ignore the path: the innermost file with an opinion decides."""
        for folder, spec in reversed(self._specs):
            name = path.relative_to(folder).as_posix() + ("/" if is_folder else "")
            decided = spec.check_file(name).include
            if decided is not None:
                return bool(decided)
        return False
