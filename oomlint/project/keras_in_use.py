"""Which Keras a project runs on when its configuration does not say: version and backend."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from oomlint.project.pins import KERAS, Pin, pins
from oomlint.project.settings import KerasBackend

BACKENDS: dict[str, KerasBackend] = {"tensorflow": "tensorflow", "jax": "jax", "torch": "torch"}

Version = tuple[tuple[int, ...], str]  # the version, and where it is known from

# What `tf.keras.__version__` is in each TensorFlow before Keras had releases of its own with the same number (2.6 to
# 2.15). From 2.16 on TensorFlow asks for Keras 3 without an upper bound.
_OF_TENSORFLOW = {
    (2, 0): (2, 2),
    (2, 1): (2, 2),
    (2, 2): (2, 3),
    (2, 3): (2, 4),
    (2, 4): (2, 4),
    (2, 5): (2, 5),
}
_NEWEST_OF_KERAS_2 = (2, 15)

# Minor releases to try a specifier on, newest first; what allows one that is not there yet allows the newest.
_FUTURE = 99
_MINORS = {1: range(15, -1, -1), 2: range(25, -1, -1), 3: (_FUTURE, *range(30, -1, -1))}


class KerasInUse:
    """Asks each folder, each project and the machine once."""

    def __init__(self) -> None:
        self._by_pins: dict[Path, Version | None] = {}
        self._by_installation: dict[Path, Version | None] = {}
        self._backend: list[tuple[KerasBackend, str] | None] = []  # empty until it is asked for

    def version(self, folder: Path, root: Path, own: Sequence[Pin] = ()) -> Version | None:
        """The Keras version that an installation of the project gets, and where that is known from.

        What the document pins itself (`own`) comes first. Then the nearest folder from `folder` up to `root` whose
        lock file or requirements leave no choice of generation decides, then the project's virtual environment, then
        the one that this program runs in. None: anything goes.
        """
        pinned = _decided(own)
        if pinned is not None:
            return pinned
        for above in (folder, *folder.parents):
            if above not in self._by_pins:
                self._by_pins[above] = _pinned(above)
            pinned = self._by_pins[above]
            if pinned is not None:
                return pinned
            if above == root:
                break
        if root not in self._by_installation:
            self._by_installation[root] = _installed(_environments(root))
        return self._by_installation[root]

    def backend(self) -> tuple[KerasBackend, str] | None:
        """The backend that Keras 3 would start with on this machine, if anything says so."""
        if not self._backend:
            self._backend.append(_backend())
        return self._backend[0]


def _pinned(folder: Path) -> Version | None:
    decided = (_decided(found) for found in pins(folder))
    return next((version for version in decided if version is not None), None)


def _decided(found: Sequence[Pin]) -> Version | None:
    for pin in sorted(found, key=lambda pin: pin.name not in KERAS):  # Keras' own pin before TensorFlow's
        version = _newest(pin)
        if version is not None:
            return version, pin.text
    return None


def _newest(pin: Pin) -> tuple[int, ...] | None:
    """The newest Keras that a pin allows; None where it shuts out none of the newest."""
    if not pin.specifier:
        return None
    # Imported here: most projects without a pin never need it (0.03 s).
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        allowed = SpecifierSet(pin.specifier)
    except InvalidSpecifier:
        return None
    keras = pin.name in KERAS
    for major in (3, 2, 1):
        for minor in _MINORS[major]:
            # The last patch number stands for those of a minor release that have not come out yet.
            patches = (_FUTURE, *range(9, -1, -1))
            patch = next(
                (
                    patch
                    for patch in patches
                    if allowed.contains(f"{major}.{minor}.{patch}", prereleases=True)
                ),
                None,
            )
            if patch is not None:
                return _keras_version(major, minor, patch) if keras else _of_tensorflow(major, minor)
    return None


def _keras_version(major: int, minor: int, patch: int) -> tuple[int, ...] | None:
    if major == 3 and minor == _FUTURE:
        return None
    if (major, minor) == (2, 0) and patch != _FUTURE:
        return (2, 0, patch)  # within 2.0 a patch release changed what this program speaks of (OOM414)
    if major == 2:
        return min((2, minor), _NEWEST_OF_KERAS_2)
    return (2, 0, 0) if major == 1 else (major, minor)


def _of_tensorflow(major: int, minor: int) -> tuple[int, ...] | None:
    if major == 3:
        return None
    if major == 1:
        return (2, 2)  # tf.keras of TensorFlow 1.13 to 1.15 is 2.2.4
    if minor > _NEWEST_OF_KERAS_2[1]:
        return (3,)
    return _OF_TENSORFLOW.get((major, minor), (major, minor))


def _environments(root: Path) -> Iterator[Path]:
    """The site-packages of the project's own environments, of the active one, and of this interpreter."""
    folders = [root / name for name in (".venv", "venv", "env", ".env")]
    folders += [Path(os.environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    for folder in folders:
        yield from sorted(folder.glob("lib/python*/site-packages"))
        yield folder / "Lib" / "site-packages"
    import sysconfig

    yield Path(sysconfig.get_path("purelib"))


_INSTALLED = re.compile(r"(keras|tensorflow(?:_cpu|_gpu|_macos|_intel)?)-(\d+)\.(\d+)[^-]*\.dist-info")


def _installed(places: Iterable[Path]) -> Version | None:
    for place in places:
        try:
            names = sorted(path.name for path in place.iterdir())
        except OSError:
            continue
        for name in names:  # keras comes before tensorflow
            found = _INSTALLED.fullmatch(name)
            if found is None:
                continue
            major, minor = int(found[2]), int(found[3])
            version = (major, minor) if found[1] == "keras" else _of_tensorflow(major, minor)
            if version is not None:
                return version, f"installed: {found[1]} {major}.{minor}"
    return None


def _backend() -> tuple[KerasBackend, str] | None:
    """`KERAS_BACKEND` counts first, then `keras.json` in `$KERAS_HOME` or `~/.keras` (keras/src/backend/config.py).

    Keras writes that file itself with "tensorflow" in it, which says nothing.
    """
    named = os.environ.get("KERAS_BACKEND", "")
    if named in BACKENDS:
        return BACKENDS[named], "KERAS_BACKEND"
    import json

    home = os.environ.get("KERAS_HOME")
    path = (Path(home) if home else Path.home() / ".keras") / "keras.json"
    try:
        named = json.loads(path.read_text(encoding="utf-8")).get("backend")
    except (OSError, ValueError, AttributeError):
        return None
    return (BACKENDS[named], str(path)) if named in ("jax", "torch") else None
