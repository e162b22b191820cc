"""Keras 2's wrappers for scikit-learn, `KerasClassifier(build_fn=build, epochs=10)`: the function makes the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class Wrapped:
    """A model that is made of a function's, with those of the wrapper's arguments that the function takes."""

    def __init__(self, build_fn: Callable[..., Any] | None = None, **arguments: Any) -> None:
        self.build_fn = build_fn if build_fn is not None else arguments.pop("model", None)
        self.arguments = arguments
        self.model: Any = None
        size = arguments.get("batch_size")
        self.batch_size = size if isinstance(size, int) else None

    def make(self) -> None:
        """Call the function, as `fit` does."""
        if callable(self.build_fn):
            taken = inspect.signature(self.build_fn).parameters
            given = {name: value for name, value in self.arguments.items() if name in taken}
            self.model = self.build_fn(**given)


WRAPPERS = {"KerasClassifier": Wrapped, "KerasRegressor": Wrapped, "BaseWrapper": Wrapped}
