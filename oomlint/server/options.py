"""What the editor says: settings of the server itself, and configuration keys that stand over the project's files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from oomlint.project.configuration import Configuration, ConfigurationError, Configurations
from oomlint.project.options import OPTIONS, nearest

Comment = Literal["ignore", "noqa"]
Complain = Callable[[str], None]

_WHERE = "the editor's settings"
_OWN = ("enable", "config", "comment", "unsafe-fixes")


@dataclass(frozen=True, slots=True)
class Options:
    """The editor's settings. `overrides` are configuration keys as flags of the command would give them."""

    enable: bool = True
    config: Path | None = None
    comment: Comment = "ignore"
    unsafe_fixes: bool = True
    overrides: Mapping[str, tuple[object, str]] = field(default_factory=dict)


def read_options(raw: object, complain: Complain) -> Options:
    """The settings out of what the editor sent. What makes no sense is complained about, the rest counts.

    They may stand in a table `oomlint` or `settings`, as editors have it; names are written as in the configuration
    files, or as editors write them (`hostMemory`).
    """
    table = _table(raw)
    own: dict[str, Any] = {}
    overrides: dict[str, tuple[object, str]] = {}
    for name, value in table.items():
        key = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower().replace("_", "-")
        if value is None:
            continue  # editors send what nobody set
        if key in OPTIONS:
            value = _written(value)
            try:
                Configurations({key: (value, _WHERE)}, where=_WHERE)
            except ConfigurationError as error:
                complain(str(error))
            else:
                overrides[key] = (value, _WHERE)
        elif key in _OWN:
            found = _own(key, value)
            if found is None:
                complain(f"{_WHERE}: {name}: {value!r} is no value for it")
            else:
                own[key.replace("-", "_")] = found
        else:
            near = nearest(key, (*OPTIONS, *_OWN))
            complain(f"{_WHERE}: unknown key {name!r}: did you mean {near!r}?")
    return Options(**own, overrides=overrides)


def _table(raw: object) -> Mapping[str, Any]:
    for _ in range(3):
        if isinstance(raw, Mapping):
            inner = next((raw[name] for name in ("oomlint", "settings") if name in raw), None)
            if inner is None:
                return {str(name): value for name, value in raw.items()}
            raw = inner
    return {}


def _written(value: object) -> object:
    """Settings of an editor come as JSON, or as records made of it."""
    if isinstance(value, (list, tuple)):
        return [_written(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _written(item) for key, item in value.items()}
    return value


def _own(key: str, value: object) -> object:
    match key:
        case "enable" | "unsafe-fixes":
            return value if isinstance(value, bool) else None
        case "comment":
            return value if value in ("ignore", "noqa") else None
    return Path(value).expanduser() if isinstance(value, str) and value else None


class LiveConfigurations(Configurations):
    """Configurations of which a broken one is complained about, and the last good one stays in force."""

    def __init__(self, options: Options, before: LiveConfigurations | None, complain: Complain) -> None:
        super().__init__(options.overrides, where=_WHERE)
        self._options = options
        self._complain = complain
        self._before = before
        self._broken = False
        if before is not None and not before._broken:
            before._before = None  # it is the last good one itself
        if options.config is not None:
            try:
                given = Configurations(options.overrides, file=options.config, where=_WHERE)
                self._explicit = given.for_folder(Path.cwd())
                _check(self._explicit)
            except ConfigurationError as error:
                complain(str(error))
                self._broken = True
                self._explicit = before._explicit if before is not None else None

    def for_folder(self, folder: Path) -> Configuration:
        """What is in force for the files of a folder."""
        known = self._explicit or self._folders.get(folder)
        if known is not None:
            return known
        try:
            found = super().for_folder(folder)
            _check(found)
        except ConfigurationError as error:
            self._complain(str(error))
            self._broken = True
            found = self._last_good(folder)
        self._folders[folder] = found
        return found

    def _last_good(self, folder: Path) -> Configuration:
        """Where there was none: the editor's settings over the defaults, or these alone."""
        if self._before is not None:
            return self._before.for_folder(folder)
        found = Configurations(self._options.overrides, isolated=True).for_folder(folder)
        try:
            _check(found)
        except ConfigurationError:
            found = Configurations(isolated=True).for_folder(folder)
        return found


def _check(configuration: Configuration) -> None:
    if configuration.names_codes:
        from oomlint.findings.registry import load_rules
        from oomlint.findings.selection import check_codes

        check_codes(configuration, load_rules())
