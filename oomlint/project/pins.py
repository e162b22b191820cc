"""What a project's lock files and requirements say of TensorFlow and Keras.

Files are read as text; nothing is resolved and nobody is asked. A file that cannot be read or makes no sense pins
nothing: it is another tool's business to complain about it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# The distributions that decide; each is a name of one of the two.
KERAS = ("keras", "keras-nightly")
TENSORFLOW = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tensorflow-intel",
    "tensorflow-macos",
    "tf-nightly",
)
_NAMES = "|".join(sorted((*KERAS, *TENSORFLOW), key=len, reverse=True))


@dataclass(frozen=True, slots=True)
class Pin:
    """One requirement: the distribution, its version specifier (`==2.10.0`, `<2.16,>=2.8`, or empty), the file."""

    name: str
    specifier: str
    file: Path

    @property
    def text(self) -> str:
        """As one would write it: `requirements.txt: tensorflow<2.16`."""
        return f"{self.file.name}: {self.name}{self.specifier}"


def pins(folder: Path) -> Iterator[list[Pin]]:
    """The pins of each file of a folder that has any: lock files first, then what people write by hand."""
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError:
        return
    for name, read in _FILES.items():
        if name in names:
            yield from _of(folder / name, read)
    others = sorted(name for name in names if name not in _FILES and _REQUIREMENTS.fullmatch(name))
    for name in others:
        yield from _of(folder / name, _requirements)
    if "requirements" in names:
        for path in sorted((folder / "requirements").glob("*.txt")):
            yield from _of(path, _requirements)


_REQUIREMENTS = re.compile(r"(.*[-_.])?(requirements?|constraints)([-_.].*)?\.(txt|in)")


def written_in(lines: Iterable[str], file: Path) -> list[Pin]:
    """Pins among requirements that a file names itself, as a notebook that installs them does."""
    return [Pin(name, specifier, file) for name, specifier in _all(lines)]


def _of(path: Path, read: Callable[[str], Iterator[tuple[str, str]]]) -> Iterator[list[Pin]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return
    if "keras" not in text and "tensorflow" not in text and "tf-nightly" not in text:
        return
    try:
        found = [Pin(name, specifier, path) for name, specifier in read(text)]
    except (ValueError, SyntaxError, RecursionError):  # a broken TOML, JSON or setup.py
        return
    if found:
        yield found


# A requirement as pip reads it: a name, extras, a specifier; what follows (markers, hashes, comments) is left out.
_REQUIREMENT = re.compile(
    rf"""^\s*(?P<name>{_NAMES})\s*(?:\[[^\]]*\])?\s*\(?\s*
    (?P<specifier>(?:(?:===|==|~=|!=|<=|>=|<|>)\s*[\w.*+!-]+\s*,?\s*)*)\)?\s*(?:$|[;\#\\]|--)""",
    re.VERBOSE | re.IGNORECASE,
)


def _requirement(line: str) -> tuple[str, str] | None:
    found = _REQUIREMENT.match(line)
    if found is None:
        return None
    return found["name"].lower(), re.sub(r"\s", "", found["specifier"]).rstrip(",")


def _all(lines: Iterable[object]) -> Iterator[tuple[str, str]]:
    for line in lines:
        found = _requirement(line) if isinstance(line, str) else None
        if found is not None:
            yield found


def _requirements(text: str) -> Iterator[tuple[str, str]]:
    """One requirement a line: those of pip, and those under `install_requires` in a setup.cfg."""
    yield from _all(text.splitlines())


# uv, poetry, pdm and pylock.toml all write a package's version on the line below its name. Reading those two lines
# instead of the TOML keeps a lock file of a megabyte from costing more than the check itself.
_LOCKED = re.compile(rf'^name = "({_NAMES})"\r?\nversion = "([^"]+)"', re.MULTILINE)


def _lock(text: str) -> Iterator[tuple[str, str]]:
    for name, version in _LOCKED.findall(text):
        yield name, f"=={version}"


def _pipfile_lock(text: str) -> Iterator[tuple[str, str]]:
    import json

    content = json.loads(text)
    for group in ("default", "develop"):
        packages = content.get(group, {}) if isinstance(content, dict) else {}
        for name, entry in packages.items() if isinstance(packages, dict) else ():
            if isinstance(entry, dict):
                yield from _all([f"{name}{entry.get('version', '')}"])


def _tables(value: object) -> Iterator[object]:
    """Every value of nested tables and lists."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _tables(item)
    elif isinstance(value, list):
        for item in value:
            yield from _tables(item)
    else:
        yield value


def _pyproject(text: str) -> Iterator[tuple[str, str]]:
    # Imported here: a folder without such a file does not pay for it.
    from oomlint.project.toml import parse_toml

    content = parse_toml(text)
    project = content.get("project", {})
    if isinstance(project, dict):
        yield from _all(_tables(project.get("dependencies")))
        yield from _all(_tables(project.get("optional-dependencies")))
    yield from _all(_tables(content.get("dependency-groups")))
    tool = content.get("tool", {})
    poetry = tool.get("poetry", {}) if isinstance(tool, dict) else {}
    yield from _named(poetry)


def _pipfile(text: str) -> Iterator[tuple[str, str]]:
    from oomlint.project.toml import parse_toml

    yield from _named(parse_toml(text))


def _named(table: object) -> Iterator[tuple[str, str]]:
    """Tables of names and versions (`keras = "^2.8"`, `tensorflow = {version = "2.10.*", extras = [...]}`)."""
    for key, value in table.items() if isinstance(table, dict) else ():
        if key.lower() in (*KERAS, *TENSORFLOW):
            version = value.get("version", "") if isinstance(value, dict) else value
            if isinstance(version, str):
                yield key.lower(), _caret(version.strip())
        elif isinstance(value, dict):
            yield from _named(value)


def _caret(version: str) -> str:
    """Poetry's `^2.8` (below 3) and `~2.8` (below 2.9) as specifiers; a bare `2.8` is exact."""
    if version[:1] == "^":
        return f">={version[1:]},<{int(version[1:].partition('.')[0]) + 1}"
    if version[:1] == "~" and version[1:2] != "=":
        major, minor = (*version[1:].split("."), "0")[:2]
        return f">={version[1:]},<{major}.{int(minor) + 1}"
    if version[:1].isdigit():
        return f"=={version}"
    return "" if version == "*" else version.replace(" ", "")


def _setup_py(text: str) -> Iterator[tuple[str, str]]:
    with warnings.catch_warnings():  # of escapes in it, which are not ours to tell
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    yield from _all(string for string in strings if isinstance(string, str) and len(string) < 200)


_CONDA = re.compile(rf"^\s*-\s*['\"]?(?:[\w-]+::)?({_NAMES})\s*([=<>!~][^'\"#;\s]*)?", re.IGNORECASE)


def _conda(text: str) -> Iterator[tuple[str, str]]:
    """The lines of an environment.yml; conda's single `=2.10` takes any 2.10, and a build string may follow."""
    for line in text.splitlines():
        found = _CONDA.match(line)
        if found is None:
            continue
        specifier = found[2] or ""
        if re.match(r"=[^=]", specifier):
            version = specifier[1:].partition("=")[0].rstrip(".*")
            specifier = f"=={version}.*"
        yield found[1].lower(), specifier


_FILES: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "uv.lock": _lock,
    "poetry.lock": _lock,
    "pdm.lock": _lock,
    "pylock.toml": _lock,
    "Pipfile.lock": _pipfile_lock,
    "requirements.txt": _requirements,
    "pyproject.toml": _pyproject,
    "Pipfile": _pipfile,
    "setup.cfg": _requirements,
    "setup.py": _setup_py,
    "environment.yml": _conda,
    "environment.yaml": _conda,
}
