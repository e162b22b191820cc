"""Where the project's own modules lie: an import statement to a file below the project's root."""

from __future__ import annotations

from pathlib import Path

# Never looked for in the project, even where the project is a copy of the library.
LIBRARIES = frozenset(
    [
        "tensorflow",
        "keras",
        "tf_keras",
        "keras_core",
        "numpy",
        "pandas",
        "tensorflow_datasets",
        "torch",
        "jax",
        "sklearn",
    ]
)


class ModuleFinder:
    """Finds modules of one project, as the interpreter would when the script or the package is run.

    Nothing outside the root and the folders that the script adds is found: what is installed is the catalog's
    business, or unknown.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.added: list[Path] = []  # folders that the script puts on sys.path itself
        self._found: dict[tuple[Path, str], Path | None] = {}
        self._listed: dict[Path, frozenset[str]] = {}
        self._around: dict[tuple[Path, ...], tuple[Path, ...]] = {}

    def forget(self) -> None:
        """Look on disk again: files may have come or gone."""
        self._found.clear()
        self._listed.clear()
        self._around.clear()

    def find(self, folder: Path, module: str, level: int) -> Path | None:
        """The file of a module that a file in `folder` imports; `level` counts the leading dots."""
        if level:
            base = folder
            for _ in range(level - 1):
                base = base.parent
            return self._look(base, module)
        for base in self._bases(folder):
            found = self._look(base, module)
            if found is not None:
                return found
        return None

    def _bases(self, folder: Path) -> tuple[Path, ...]:
        """The script's own folder (Python puts it on sys.path), the folder above its package, source roots.

        Last the folders between it and the root: a script in `net/tools/` is often run from `net/`.
        """
        key = folder, *self.added
        if key not in self._around:
            top = folder
            while (top / "__init__.py").is_file() and top.parent != top:
                top = top.parent
            between = (one for one in folder.parents if one.is_relative_to(self._root))
            bases = (folder, *self.added, top, self._root / "src", self._root, *between)
            self._around[key] = tuple(dict.fromkeys(bases))
        return self._around[key]

    def _look(self, base: Path, module: str) -> Path | None:
        key = (base, module)
        if key not in self._found:
            self._found[key] = self._search(base, module)
        return self._found[key]

    def _search(self, base: Path, module: str) -> Path | None:
        parts = module.split(".") if module else []
        if not all(part.isidentifier() for part in parts):
            return None
        if parts and self._names(base).isdisjoint((parts[0], parts[0] + ".py")):
            return None  # most modules that a script imports are installed: none of its folders has them
        target = base.joinpath(*parts)
        candidates = [target / "__init__.py"]
        if parts:
            candidates.append(target.with_name(target.name + ".py"))
        for path in candidates:
            if path.is_file() and self._is_of_project(path.resolve()):
                return path
        return None

    def _names(self, folder: Path) -> frozenset[str]:
        if folder not in self._listed:
            try:
                self._listed[folder] = frozenset(one.name for one in folder.iterdir())
            except OSError:
                self._listed[folder] = frozenset()
        return self._listed[folder]

    def _is_of_project(self, path: Path) -> bool:
        return any(path.is_relative_to(folder.resolve()) for folder in (self._root, *self.added))
