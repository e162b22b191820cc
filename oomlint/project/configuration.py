"""Configuration files: which one counts for a file, what it extends, and where each setting comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oomlint.project.gpus import write_bytes
from oomlint.project.options import OPTIONS, OptionError, nearest
from oomlint.project.settings import Budget, Settings, gpu_words

if TYPE_CHECKING:
    from oomlint.project.keras_in_use import KerasInUse
    from oomlint.project.pins import Pin

# In the order in which they win within one folder.
CONFIGURATION_FILES = (".oomlint.toml", "oomlint.toml", "pyproject.toml")

# The keys whose values name rules.
CODE_KEYS = frozenset(
    {
        "select",
        "ignore",
        "extend-select",
        "per-file-ignores",
        "severity",
        "rules",
        "extend-safe-fixes",
        "extend-unsafe-fixes",
    }
)

# What else tells where a project begins, for a project that configures nothing.
_ROOT_MARKS = (".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg")


class ConfigurationError(Exception):
    """The configuration cannot be used: exit status 2, with this message."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings in force, and for each key that is not at its default where its value was read."""

    settings: Settings
    origins: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None

    @property
    def names_codes(self) -> bool:
        """Whether rules are named anywhere in it, so that their codes can be wrong."""
        return not CODE_KEYS.isdisjoint(self.origins)


@dataclass(slots=True)
class _Layer:
    """Parsed values by key, with their origins; later layers are laid over earlier ones."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, raw: object, origin: str, where: str) -> None:
        option = OPTIONS.get(key)
        if option is None:
            raise ConfigurationError(
                f"{where}: unknown key {key!r}: did you mean {nearest(key, [*OPTIONS, 'extend'])!r}?"
            )
        try:
            self.values[key] = option.parse(raw)
        except OptionError as error:
            raise ConfigurationError(f"{where}: {key}: {error}") from None
        self.origins[key] = origin

    def over(self, below: _Layer) -> _Layer:
        """This layer laid over another."""
        merged = _Layer(dict(below.values), dict(below.origins))
        if "gpu" in self.values:  # a card named here makes an amount that was given further out obsolete
            merged.values.pop("gpu-memory", None)
            merged.origins.pop("gpu-memory", None)
        for key, value in self.values.items():
            before = merged.values.get(key)
            if OPTIONS[key].merges and before is not None:
                merged.values[key] = {**before, **value} if isinstance(value, dict) else (*before, *value)
                merged.origins[key] = f"{merged.origins[key]}, {self.origins[key]}"
            else:
                merged.values[key] = value
                merged.origins[key] = self.origins[key]
        return merged


def _read_toml(path: Path) -> dict[str, Any]:
    # Imported here: a run without a configuration file does not pay for it.
    from oomlint.project.toml import parse_toml

    try:
        return parse_toml(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _own_table(path: Path) -> dict[str, Any] | None:
    """The table of this tool in a file; None for a pyproject.toml that has none."""
    content = _read_toml(path)
    if path.name != "pyproject.toml":
        return content
    tool = content.get("tool", {})
    table = tool.get("oomlint") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ConfigurationError(f"{path}: tool.oomlint must be a table")
    return table


def _read_layer(path: Path, table: Mapping[str, Any], seen: tuple[Path, ...] = ()) -> _Layer:
    if path.resolve() in seen:
        raise ConfigurationError(f"{path}: `extend` comes back to this file")
    layer = _Layer()
    where = f"{path}: [tool.oomlint]" if path.name == "pyproject.toml" else str(path)
    for key, raw in table.items():
        if key != "extend":
            layer.put(key, raw, str(path), where)
    if "extend" not in table:
        return layer
    extended = table["extend"]
    if not isinstance(extended, str):
        raise ConfigurationError(f"{where}: extend: expected the path of a file")
    try:
        base = (path.parent / Path(extended).expanduser()).resolve()
        base_table = _own_table(base)
    except (ConfigurationError, RuntimeError, ValueError) as error:  # "~nobody", a NUL in the name
        raise ConfigurationError(f"{where}: extend: {error}") from None
    if base_table is None:
        raise ConfigurationError(f"{where}: extend: {base} has no [tool.oomlint]")
    return layer.over(_read_layer(base, base_table, (*seen, path.resolve())))


def _settings(layer: _Layer, root: Path) -> Settings:
    fields = {
        option.field: layer.values[key]
        for key, option in OPTIONS.items()
        if key in layer.values and key not in ("gpu", "gpu-memory", "host-memory", "cache-dir")
    }
    if "cache-dir" in layer.values:
        fields["cache_dir"] = root / _cache_dir(layer)
    return Settings(root=root, budget=_budget(layer.values), **fields)


def _cache_dir(layer: _Layer) -> Path:
    where, text = f"{layer.origins['cache-dir']}: cache-dir", layer.values["cache-dir"]
    if "\0" in text:
        raise ConfigurationError(f"{where}: no folder has a NUL in its name")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:  # "~nobody"
        raise ConfigurationError(f"{where}: {error}") from None


def _budget(values: Mapping[str, Any]) -> Budget:
    parts: dict[str, Any] = {}
    if "gpu-memory" in values:
        memory = values["gpu-memory"]
        parts |= {"gpu": memory, "gpu_name": None, "gpu_label": f"{write_bytes(memory)} of GPU memory"}
    elif "gpu" in values:
        name, memory = values["gpu"]
        label = gpu_words(name) if name else f"{write_bytes(memory)} of GPU memory"
        parts |= {"gpu": memory, "gpu_name": name, "gpu_label": label}
    if "host-memory" in values:
        memory = values["host-memory"]
        parts |= {"host": memory, "host_label": f"{write_bytes(memory)} of host memory"}
    return Budget(**parts)


class Configurations:
    """Finds the configuration of each file: the nearest above it, read once.

    `overrides` are the command line's values by configuration key, with the flag they came from. `where` is what
    error messages call that command line.
    """

    def __init__(
        self,
        overrides: Mapping[str, tuple[object, str]] | None = None,
        *,
        file: Path | None = None,
        isolated: bool = False,
        where: str = "command line",
    ) -> None:
        self._over = _Layer()
        for key, (raw, flag) in (overrides or {}).items():
            self._over.put(key, raw, flag, where)
        self._isolated = isolated
        self._folders: dict[Path, Configuration] = {}
        self._completed: dict[tuple[Path, tuple[str, ...]], Configuration] = {}
        self._keras: KerasInUse | None = None
        self._files: dict[Path, Configuration | None] = {}
        self._explicit: Configuration | None = None
        if file is not None:
            if not file.is_file():
                raise ConfigurationError(f"{file}: no such configuration file")
            path = file.absolute()
            self._explicit = self._read(path, _own_table(path) or {}, root=Path.cwd())

    def for_folder(self, folder: Path) -> Configuration:
        """What is in force for the files of a folder (absolute)."""
        if self._explicit is not None:
            return self._explicit
        found = self._folders.get(folder)
        if found is None:
            configured = None if self._isolated else self._nearest(folder)
            found = configured or Configuration(
                _settings(self._over, project_root(folder)), self._over.origins
            )
            self._folders[folder] = found
        return found

    def for_document(self, folder: Path, requirements: tuple[str, ...] = (), name: str = "") -> Configuration:
        """What is in force for a document of a folder: the configuration, and what it leaves to the project.

        The version of Keras comes from what the document itself installs (`requirements`; `name` is its file's), the
        project's pins or what is installed, the backend from the environment. An isolated run asks nobody.
        """
        key = (folder, requirements)
        if key not in self._completed:
            self._completed[key] = self._complete(self.for_folder(folder), folder, requirements, name)
        return self._completed[key]

    def _complete(
        self, configuration: Configuration, folder: Path, requirements: tuple[str, ...], name: str
    ) -> Configuration:
        if self._isolated:
            return configuration
        own: list[Pin] = []
        if requirements:
            from oomlint.project.pins import written_in

            own = written_in(requirements, folder / name)
        if self._keras is None:
            from oomlint.project.keras_in_use import KerasInUse

            self._keras = KerasInUse()
        settings, origins = configuration.settings, dict(configuration.origins)
        changes: dict[str, Any] = {}
        root = settings.root if folder.is_relative_to(settings.root) else project_root(folder)
        known = {
            "target-keras": self._keras.version(folder, root, own) if settings.target_keras is None else None,
            "keras-backend": self._keras.backend() if settings.keras_backend is None else None,
        }
        for key, found in known.items():
            if found is not None:
                changes[OPTIONS[key].field], origins[key] = found
        if not changes:
            return configuration
        return Configuration(replace(settings, **changes), origins, configuration.file)

    def _nearest(self, folder: Path) -> Configuration | None:
        """The configuration file in this folder, or in the nearest one above it."""
        if folder in self._files:
            return self._files[folder]
        found = None
        for name in CONFIGURATION_FILES:
            path = folder / name
            table = _own_table(path) if path.is_file() else None
            if table is not None:
                found = self._read(path, table, root=folder)
                break
        else:
            if folder.parent != folder:
                found = self._nearest(folder.parent)
        self._files[folder] = found
        return found

    def _read(self, path: Path, table: Mapping[str, Any], root: Path) -> Configuration:
        layer = self._over.over(_read_layer(path, table))
        return Configuration(_settings(layer, root), layer.origins, path)


class Given(Configurations):
    """One configuration for every file, whatever lies on disk."""

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(isolated=True)
        self._explicit = configuration


def project_root(folder: Path) -> Path:
    """Where the project of a folder begins when no configuration says so."""
    for above in (folder, *folder.parents):
        if any((above / mark).exists() for mark in _ROOT_MARKS):
            return above
    top = folder
    while (top / "__init__.py").is_file() and top.parent != top:  # a package's modules import each other
        top = top.parent
    here = Path.cwd()
    return here if top.is_relative_to(here) else top
