"""Arguments that optimizers had in older Keras, and rates that are not known: neither takes memory."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.older.names import signed


@contextmanager
def renamed_optimizer_arguments(keras: Any) -> Iterator[None]:
    """Inside, optimizers of Keras 2 take what they took before it was 2.11, and rates that are not known."""
    with ExitStack() as stack:
        old_optimizers(keras, stack, set())
        yield


def old_optimizers(keras: Any, stack: ExitStack, used: set[str]) -> None:
    """`lr` was renamed; `decay` and the like make no slots, so they are left out."""
    base = keras.optimizers.Optimizer
    for name in dir(keras.optimizers):
        cls = getattr(keras.optimizers, name)
        if isinstance(cls, type) and issubclass(cls, base) and cls is not base and _has_rate(cls):
            stack.enter_context(
                patch.object(
                    cls,
                    "__init__",
                    _translated(vars(cls).get("__init__", base.__init__), used),
                )
            )


def _has_rate(cls: type) -> bool:
    """Whether its first argument is a rate: that of the one that mixed_float16 puts around others is an optimizer."""
    return "inner_optimizer" not in inspect.signature(vars(cls).get("__init__", cls)).parameters


_CLIPS = ("global_clipnorm", "clipnorm", "clipvalue")


def _translated(original: Any, used: set[str]) -> Any:
    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if "lr" in kwargs:
            kwargs["learning_rate"] = kwargs.pop("lr")
            used.add("lr=")
        for gone in ("decay", "options"):
            if kwargs.pop(gone, None) is not None:
                used.add(f"{gone}=")
        clipped = [one for one in _CLIPS if kwargs.get(one) is not None]
        for gone in clipped[1:]:  # together they were taken before Keras 2.11
            kwargs.pop(gone)
            used.add(f"{gone}=")
        if kwargs.get("epsilon", 0) is None:
            kwargs.pop("epsilon")
        from oomlint.estimate.worker.absent.stand_ins import Missing

        rate = kwargs.get("learning_rate", args[0] if args else None)
        # The rate takes no memory, whatever it is; a schedule of the script's may count steps in the data.
        own = vars(rate).values() if callable(rate) and hasattr(rate, "__dict__") else ()
        unknown = isinstance(rate, Missing) or any(isinstance(one, Missing) for one in own)
        # Keras 2 took a tensor, a variable or a whole number as well.
        old = rate is not None and not isinstance(rate, float | dict) and not callable(rate)
        if unknown or old:
            kwargs |= {} if args else {"learning_rate": 0.001}
            args = (0.001, *args[1:]) if args else args
        original(self, *args, **kwargs)

    return signed(init, original)
