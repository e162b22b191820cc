"""Optimizers that a script wrote for Keras 2 (`get_updates`, `_create_slots`): Keras 3 can make none of them.

One of Keras' own that keeps as many values for each weight stands in their place: that is what they take.
"""

from __future__ import annotations

import ast
from typing import Any

from oomlint.estimate.worker.sources import source_of

_MAKING = {"get_updates": ("zeros", "zeros_like"), "_create_slots": ("add_slot",)}


_said: list[set[str]] = [set()]  # what the answer says that was translated, of the build that goes on


def own_optimizers(keras: Any, used: set[str]) -> None:
    """From now on such a class makes one of Keras' own.

    For good: where `__new__` was set and taken away again, Python's own refuses all arguments.
    """
    _said[0] = used
    base = keras.optimizers.Optimizer
    original = base.__new__
    if hasattr(original, "oomlint_translated"):
        return

    def make(cls: Any, *args: Any, **kwargs: Any) -> Any:
        slots = None if cls.__module__.startswith("keras.") else _slots(cls)
        if slots is None:
            return original(cls) if original is object.__new__ else original(cls, *args, **kwargs)
        found = _of_keras(keras, slots)
        words = f"{cls.__name__}, an optimizer for Keras 2 of {slots} values for each weight"
        _said[0].add(f"{words}: {type(found).__name__}")
        return found

    make.oomlint_translated = True  # type: ignore[attr-defined]
    base.__new__ = make


def _of_keras(keras: Any, slots: int) -> Any:
    if slots > 1:
        return keras.optimizers.Adam(amsgrad=slots > 2)
    return keras.optimizers.SGD(momentum=0.9 if slots else 0.0)


def _slots(cls: type) -> int | None:
    """How many values for each weight it makes whatever its settings are; None for no optimizer of Keras 2."""
    for name, calls in _MAKING.items():
        tree = source_of(getattr(cls, name, None))
        if isinstance(tree, ast.FunctionDef):
            return sum(
                _made(statement, calls) for statement in tree.body if not isinstance(statement, ast.If)
            )
    return None


def _made(statement: ast.stmt, calls: tuple[str, ...]) -> int:
    """The lists of zeros, one for each weight, that a statement makes; or the slots that it adds to each."""
    loops = (ast.ListComp,) if "zeros" in calls else (ast.For,)
    inside = (one for loop in ast.walk(statement) if isinstance(loop, loops) for one in ast.walk(loop))
    made = [one for one in inside if isinstance(one, ast.Call) and getattr(one.func, "attr", "") in calls]
    return len([one for one in made if not (one.args and isinstance(one.args[0], ast.Constant))])
