"""The settings in force for a file. Rules are handed these; nothing here reads a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from oomlint.project.gpus import GIB, GPUS, write_bytes

SeverityName = Literal["note", "warning", "error"]
FailOn = Literal["note", "warning", "error", "never"]
KerasBackend = Literal["tensorflow", "jax", "torch"]

DEFAULT_GPU = "T4"
DEFAULT_HOST = 16 * GIB

# Families 0 to 6; 9xx is advice and asked for by name.
DEFAULT_SELECT = ("OOM0", "OOM1", "OOM2", "OOM3", "OOM4", "OOM5", "OOM6")

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


def gpu_words(name: str) -> str:
    """How messages speak of a card's memory."""
    return f"{write_bytes(GPUS[name].usable)} that TensorFlow can use on a {name}"


@dataclass(frozen=True, slots=True)
class Budget:
    """The memory there is. One buffer above a quarter of it is a warning, above all of it an error."""

    gpu: int = GPUS[DEFAULT_GPU].usable
    host: int = DEFAULT_HOST
    gpu_name: str | None = DEFAULT_GPU
    gpu_label: str = gpu_words(DEFAULT_GPU)
    host_label: str = f"{write_bytes(DEFAULT_HOST)} of host memory"

    @property
    def warn_gpu(self) -> int:
        """More bytes than this in one buffer on the GPU is a warning."""
        return self.gpu // 4

    @property
    def warn_host(self) -> int:
        """More bytes than this in one buffer on the host is a warning."""
        return self.host // 4


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured, with its default."""

    root: Path = field(default_factory=Path.cwd)
    select: tuple[str, ...] = DEFAULT_SELECT
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    extend_include: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    budget: Budget = Budget()
    severity: Mapping[str, SeverityName] = field(default_factory=dict)
    fail_on: FailOn = "warning"
    extend_safe_fixes: tuple[str, ...] = ()
    extend_unsafe_fixes: tuple[str, ...] = ()
    target_keras: tuple[int, ...] | None = None
    keras_backend: KerasBackend | None = None
    rules: Mapping[str, object] = field(default_factory=dict)  # options of rules, by "CODE.name"
    preview: bool = False
    cache_dir: Path | None = None

    def keras_at_least(self, *version: int) -> bool:
        """Whether the Keras that the project targets is this version or newer.

        Not configured, or only its generation, counts as the newest of it (of Keras 3, if nothing is said).
        """
        target = self.target_keras or (3,)
        return target[: len(version)] >= version[: len(target)]
