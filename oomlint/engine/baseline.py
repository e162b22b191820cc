"""The baseline: findings that were there before anybody looked, kept in a file and not reported again.

An entry is known by its fingerprint (path, code and text of the line, no row), so that it survives moved lines. When
its file is gone, it is looked for by code and text in files with findings that are new: a renamed, moved or split
file keeps its entries, with git or without, in a shallow clone too, and before anything is committed.

The file has an entry on a line, sorted, and closes with an empty one, so that each entry ends with a comma: two
branches that both add entries merge, or leave a conflict that keeping both sides resolves.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from pathlib import Path, PurePath
from typing import Any

from oomlint.documents import replacing
from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.fingerprints import fingerprints, path_from
from oomlint.findings.own import INTERNAL_ERROR
from oomlint.project.configuration import ConfigurationError

FILE_NAME = ".oomlint-baseline.json"
_VERSION = 1
_SHOWN = 120  # characters of a line that an entry shows to who reads it


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One known finding. Only `path`, `code` and `fingerprint` are gone by; `line` is for people."""

    path: str
    code: str
    line: str
    fingerprint: str


@dataclass(slots=True)
class Compared:
    """Findings beside a baseline: for each whether it is new, and the entries that were not met."""

    new: list[bool]
    unmet: list[Entry] = field(default_factory=list)


class Baseline:
    """The entries of a baseline file; paths count from `root`."""

    def __init__(self, file: Path, root: Path, entries: Iterable[Entry] = ()) -> None:
        self.file = file
        self.root = root
        self.entries = sorted(set(entries))

    @classmethod
    def read(cls, file: Path, root: Path) -> Baseline:
        """Read the file. Raises ConfigurationError for one that is none."""
        try:
            text = file.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise ConfigurationError(
                f"{file}: no such baseline; --write-baseline {file} makes one of today's findings"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
        if any(line.startswith(("<<<<<<<", ">>>>>>>")) for line in text.splitlines()):
            raise ConfigurationError(
                f"{file}: has conflict markers of a merge: keep the lines of both sides, or write it again with "
                "--write-baseline"
            )
        try:
            data = json.loads(text)
        except ValueError as error:
            raise ConfigurationError(f"{file}: is no JSON: {error}") from None
        return cls(file, root, _entries(data, file))

    @classmethod
    def of(cls, diagnostics: Sequence[Diagnostic], file: Path, root: Path) -> Baseline:
        """A baseline of findings. A broken rule is nothing to get used to."""
        entries = (
            Entry(path_from(one.filename, root), one.code, _line(one), fingerprint)
            for one, fingerprint in zip(diagnostics, fingerprints(diagnostics, root))
            if one.code != INTERNAL_ERROR.code
        )
        return cls(file, root, entries)

    def write(self) -> bool:
        """Write the file, if that changes it."""
        lines = [json.dumps(_record(entry), ensure_ascii=False) for entry in self.entries]
        findings = "".join(f"    {line},\n" for line in lines)
        text = f'{{\n  "oomlint-baseline": {_VERSION},\n  "findings": [\n{findings}    {{}}\n  ]\n}}\n'
        # What is no text in a name gives `\\udc80`, which JSON reads as it was.
        raw = text.encode("utf-8", "backslashreplace")
        try:
            before = self.file.read_bytes() if self.file.exists() else None
            if before == raw:
                return False
            replacing.write_file(self.file, raw)
        except OSError as error:
            raise ConfigurationError(f"{self.file}: {error.strerror or error}") from None
        return True

    def compared(self, diagnostics: Sequence[Diagnostic]) -> Compared:
        """Which of the findings are not in the baseline."""
        left = {entry.fingerprint: entry for entry in self.entries}
        known = [left.pop(mark, None) is not None for mark in fingerprints(diagnostics, self.root)]
        outcome = Compared([not one for one in known])
        self._moved(diagnostics, outcome.new, left)
        for index, diagnostic in enumerate(diagnostics):
            if diagnostic.code == INTERNAL_ERROR.code:
                outcome.new[index] = True
        outcome.unmet = sorted(left.values())
        return outcome

    def _moved(self, diagnostics: Sequence[Diagnostic], new: list[bool], left: dict[str, Entry]) -> None:
        """Find entries of files that are gone again in other files."""
        gone: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        for entry in left.values():
            gone[entry.path][entry.code, entry.line] += 1
        gone = {path: held for path, held in gone.items() if not (self.root / path).exists()}
        fresh: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        indexes: dict[str, list[int]] = defaultdict(list)
        for index, diagnostic in enumerate(diagnostics):
            if new[index]:
                fresh[diagnostic.filename][diagnostic.code, _line(diagnostic)] += 1
                indexes[diagnostic.filename].append(index)
        # Of all pairs the one that has most in common is taken first; of several that of files of one name.
        pairs = [
            (-common, PurePath(old).name != PurePath(filename).name, old, filename)
            for old, held in gone.items()
            for filename, found in fresh.items()
            if (common := _common(held, found))
        ]
        heapify(pairs)
        while pairs:
            count, other_name, old, filename = heappop(pairs)
            common = _common(gone[old], fresh[filename])
            if common < -count:  # other pairs were quicker
                if common:
                    heappush(pairs, (-common, other_name, old, filename))
                continue
            waiting = [index for index in indexes[filename] if new[index]]
            as_old = [replace(diagnostics[index], filename=str(self.root / old)) for index in waiting]
            for index, mark in zip(waiting, fingerprints(as_old, self.root)):
                if mark in left:
                    entry = left.pop(mark)
                    new[index] = False
                    gone[old][entry.code, entry.line] -= 1
                    fresh[filename][entry.code, entry.line] -= 1

    def replaced(self, found: Baseline, in_scope: Callable[[Entry], bool]) -> Baseline:
        """The baseline after a run: what it found, and of the old entries those that it could not have found."""
        kept = (entry for entry in self.entries if not in_scope(entry))
        return Baseline(self.file, self.root, (*kept, *found.entries))

    def counts(self) -> Counter[str]:
        """Entries by path."""
        return Counter(entry.path for entry in self.entries)


def _common(some: Counter[tuple[str, str]], others: Counter[tuple[str, str]]) -> int:
    return sum(min(count, others[key]) for key, count in some.items() if key in others)


def _line(diagnostic: Diagnostic) -> str:
    text = " ".join(diagnostic.lines[0].split()) if diagnostic.lines else ""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _record(entry: Entry) -> dict[str, str]:
    return {
        "path": entry.path,
        "code": entry.code,
        "line": entry.line,
        "fingerprint": entry.fingerprint,
    }


def _entries(data: Any, file: Path) -> list[Entry]:
    if (
        not isinstance(data, dict)
        or "oomlint-baseline" not in data
        or not isinstance(data.get("findings"), list)
    ):
        raise ConfigurationError(f"{file}: is no baseline of oomlint; --write-baseline writes one")
    version = data["oomlint-baseline"]
    if version != _VERSION:
        raise ConfigurationError(
            f"{file}: a baseline of version {version!r}, and this oomlint reads version {_VERSION}; "
            "--write-baseline writes it again"
        )
    entries = []
    for number, record in enumerate(data["findings"], 1):
        if record == {}:
            continue
        names = ("path", "code", "line", "fingerprint")
        if not isinstance(record, dict) or not all(isinstance(record.get(name), str) for name in names):
            raise ConfigurationError(f"{file}: entry {number} has not all of {', '.join(names)}")
        entries.append(Entry(*(record[name] for name in names)))
    return entries
