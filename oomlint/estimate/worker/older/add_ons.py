"""Stand-ins for two add-on libraries that nobody develops any more: `tensorflow_addons` and `keras_contrib`.

Only what Keras has itself by now, so that the memory is the same, and the warp of images; anything else is not
known, and said to be missing where the model needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from oomlint.estimate.worker.absent.stand_ins import Missing
from oomlint.estimate.worker.older.finders import asked_last
from oomlint.estimate.worker.older.warping import dense_image_warp

_LIBRARIES = ("tensorflow_addons", "keras_contrib")
_OPTIMIZERS = {"AdamW": "AdamW", "LAMB": "Lamb", "LazyAdam": "Adam", "RectifiedAdam": "Adam", "SGDW": "SGD"}


class _Finder(MetaPathFinder, Loader):
    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in _LIBRARIES:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        def find(name: str) -> Any:
            if name in self.names:
                return self.names[name]
            if name.startswith("__"):
                raise AttributeError(name)
            if module.__name__ in _LIBRARIES and name.islower():
                __import__(f"{module.__name__}.{name}")
                return sys.modules[f"{module.__name__}.{name}"]
            library = module.__name__.partition(".")[0]
            words = f"No module named {library!r} (for {module.__name__}.{name})"
            return Missing(f"{module.__name__}.{name}", cause=ModuleNotFoundError(words, name=library))

        module.__getattr__ = find  # type: ignore[method-assign]


@contextmanager
def add_ons(keras: Any, assumptions: list[str]) -> Iterator[None]:
    """Inside, those that are not installed can be imported."""
    if any(name not in sys.modules and find_spec(name) is not None for name in _LIBRARIES):
        yield
        return
    with asked_last(_Finder(_names(keras, assumptions)), *_LIBRARIES):
        yield


def _names(keras: Any, assumptions: list[str]) -> dict[str, Any]:
    def say(name: str) -> None:
        words = f"{name} of an add-on library is taken as Keras' own"
        if words not in assumptions:
            assumptions.append(words)

    def InstanceNormalization(*args: Any, axis: Any = -1, **kwargs: Any) -> Any:
        say("InstanceNormalization")
        kept = {
            name: value for name, value in kwargs.items() if name in ("epsilon", "center", "scale", "name")
        }
        return keras.layers.GroupNormalization(groups=-1, axis=-1 if axis is None else axis, **kept)

    def GroupNormalization(groups: int = 32, axis: int = -1, **kwargs: Any) -> Any:
        say("GroupNormalization")
        return keras.layers.GroupNormalization(groups=groups, axis=axis, **kwargs)

    def optimizer(old: str, new: str) -> Any:
        def make(*args: Any, **kwargs: Any) -> Any:
            say(old)
            known = ("learning_rate", "momentum", "nesterov", "weight_decay", "beta_1", "beta_2", "epsilon")
            return getattr(keras.optimizers, new)(**{name: kwargs[name] for name in known if name in kwargs})

        return make

    def GELU(*args: Any, **kwargs: Any) -> Any:
        say("GELU")
        return keras.layers.Activation("gelu")

    names: dict[str, Any] = {old: optimizer(old, new) for old, new in _OPTIMIZERS.items()}
    layers = {"InstanceNormalization": InstanceNormalization, "GroupNormalization": GroupNormalization}
    return names | layers | {"GELU": GELU, "dense_image_warp": dense_image_warp}
