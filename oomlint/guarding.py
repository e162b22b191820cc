"""The callback that stops a run which will not fit."""

from __future__ import annotations

import sys
from typing import Any, Literal

from oomlint import live
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.verdicts import headline

Action = Literal["raise", "warn"]


def make_guard(
    model: Any, gpu: str | None, batch_size: int | None, action: Action, options: dict[str, Any]
) -> Any:
    """A callback of the Keras that is in use: Keras 3 where it is imported, else tf_keras."""
    if action not in ("raise", "warn"):
        raise ValueError(f"action is 'raise' or 'warn', not {action!r}")
    base = _callback_class(model)

    class Guard(base):  # type: ignore[misc, valid-type]
        """Estimates at the start of training; see `oomlint.guard`."""

        estimate: live.Answer | None = None

        def on_train_begin(self, logs: Any = None) -> None:
            """Before the first step, when the model is built and compiled."""
            where = gpu or live.local_gpu()
            if where is None:
                live.warn(
                    'guard found no GPU that it knows: say which, as in guard(gpu="T4"). Nothing was checked.'
                )
                return
            size, data = _data_of_fit()
            if (batch_size or size) is None:
                live.warn("guard cannot tell the batch size: guard(batch_size=...). Nothing was checked.")
                return
            trained = self.model if self.model is not None else model
            try:
                answer = self.estimate = live.estimate_for_run(
                    trained, batch_size or size, where, data, options
                )
            except EstimateError as error:
                live.warn(f"the run was not checked: {error}")
                return
            except Exception as error:  # a guard must not be what ends the run
                live.warn(f"the run was not checked: {type(error).__name__}: {error}")
                return
            if answer.verdict == "does-not-fit":
                if action == "raise":
                    raise live.WillNotFit(answer)
                live.warn(str(answer))
            elif answer.verdict == "tight":
                live.warn(headline(answer))

    # What a callback list of Keras 2 asks, should it get the other Keras' callback.
    for kind in ("train", "test", "predict"):
        if not hasattr(base, f"_implements_{kind}_batch_hooks"):
            setattr(Guard, f"_implements_{kind}_batch_hooks", lambda self: False)
    return Guard()


def _callback_class(model: Any) -> Any:
    home = type(model).__module__.partition(".")[0] if model is not None else ""
    for name in (home, "keras", "tf_keras"):
        module = sys.modules.get(name)
        if module is not None and hasattr(module, "callbacks"):
            return _used_by_tensorflow(module)
    import keras

    return keras.callbacks.Callback


def _used_by_tensorflow(module: Any) -> Any:
    """`tf.keras` may be tf_keras although keras is imported too (TF_USE_LEGACY_KERAS=1)."""
    import os

    legacy = sys.modules.get("tf_keras")
    if legacy is not None and os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true"):
        return legacy.callbacks.Callback
    return module.callbacks.Callback


def _data_of_fit() -> tuple[int | None, tuple[Any, ...] | None]:
    """Batch size, and shapes and dtypes of a batch, of the `fit` that called the callback: its frame holds them.

    Keras tells callbacks the number of steps and nothing of the data. Keras 3's trainers have an `epoch_iterator`
    (keras/src/backend/*/trainer.py), Keras 2's a `data_handler` (tf_keras/src/engine/training.py).
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        for name in ("epoch_iterator", "data_handler"):
            if (holder := frame.f_locals.get(name)) is not None:
                batch = _batch_size(holder)
                data = _specs(holder, batch)
                return batch or _first_size(data), data
        frame = frame.f_back
    return None, None


def _batch_size(holder: Any) -> int | None:
    """What the adapter was told, the data set's own `batch`, or the first batch that Keras looked at itself."""
    adapter = getattr(holder, "data_adapter", None) or getattr(holder, "_adapter", None)
    for source in (adapter, holder):
        for name in ("batch_size", "_batch_size", "representative_batch_size"):
            found = getattr(source, name, None)
            found = found() if callable(found) else found
            if isinstance(found, int) and found > 0:
                return found
    for first in getattr(adapter, "_first_batches", None) or ():
        return _first_size(first)
    return _batched(_dataset(holder))


def _batched(dataset: Any) -> int | None:
    """The size that `batch` was given, somewhere behind a data set (tensorflow/python/data/ops/batch_op.py)."""
    for _ in range(64):
        if dataset is None:
            return None
        size = getattr(dataset, "_batch_size", None)
        if size is not None and hasattr(size, "numpy"):
            return int(size.numpy())
        before = dataset._inputs() if hasattr(dataset, "_inputs") else []
        dataset = before[0] if len(before) == 1 else None
    return None


def _dataset(holder: Any) -> Any:
    datasets = (getattr(holder, name, None) for name in ("_distributed_dataset", "_dataset"))
    return next((found for found in datasets if hasattr(found, "element_spec")), None)


def _specs(holder: Any, batch: int | None) -> tuple[Any, ...] | None:
    """What `train_step` is handed, where a data set says it in full."""
    from oomlint.estimate.worker.subject import Spec

    dataset = _dataset(holder)
    if dataset is None:
        return None
    import tensorflow

    def spec(leaf: Any) -> Spec:
        first, *rest = leaf.shape.as_list()  # ValueError where the rank is unknown
        sizes = (first or batch, *rest)
        if None in sizes:
            raise ValueError("a size that is not known")
        return Spec(sizes, leaf.dtype.name)

    element = dataset.element_spec
    element = element if isinstance(element, tuple) else (element,)
    try:
        return tuple(tensorflow.nest.map_structure(spec, part) for part in element if part is not None)
    except (AttributeError, TypeError, ValueError):
        return None


def _first_size(nest: Any) -> int | None:
    """The batch of the first spec."""
    while isinstance(nest, (dict, list, tuple)):
        if not nest:
            return None
        nest = next(iter(nest.values() if isinstance(nest, dict) else nest))
    return None if nest is None else int(nest.shape[0])
