"""What a receiver that nothing defines must be, by the calls made on it.

Snippets and functions that nobody calls train a `model` on a `train_dataset` that come from elsewhere. A look
here needs evidence that no other library's type gives: a tf.data constant, a Keras-only keyword.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import duck, iterated
from oomlint.dryrun.trace import Try
from oomlint.dryrun.values.base import Const, Opaque, Pending, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.program import Library
from oomlint.dryrun.values.training import Model, Optimizer

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run

PIPELINE = frozenset(
    [
        "map",
        "prefetch",
        "batch",
        "shuffle",
        "cache",
        "repeat",
        "interleave",
        "take",
        "skip",
        "padded_batch",
        "unbatch",
        "filter",
    ]
)
FIT_ONLY = frozenset(
    [
        "epochs",
        "validation_data",
        "validation_split",
        "steps_per_epoch",
        "callbacks",
        "initial_epoch",
        "validation_steps",
        "validation_batch_size",
        "validation_freq",
    ]
)


def is_autotune(value: Value) -> bool:
    """Whether a value is tf.data.AUTOTUNE."""
    value = deref(value)
    return isinstance(value, Library) and value.name == "tf.data.AUTOTUNE"


@duck
def dataset_by_autotune(pending: Pending, run: Run) -> Value | None:
    """`x.prefetch(tf.data.AUTOTUNE)`, `x.map(f, num_parallel_calls=tf.data.AUTOTUNE)`."""
    if pending.method in PIPELINE and any(is_autotune(argument.value) for argument in pending.call.arguments):
        return Dataset()
    return None


OPTIMIZERS = frozenset("adadelta adafactor adagrad adam adamax adamw ftrl lion nadam rmsprop sgd".split())


@duck
def model_by_compile(pending: Pending, run: Run) -> Value | None:
    """`x.compile(optimizer=..., loss=...)` with a Keras loss or optimizer, its name, or both keywords."""
    if pending.method != "compile":
        return None
    names = {argument.name for argument in pending.call.arguments}
    typed = any(isinstance(deref(argument.value), Optimizer | Opaque) for argument in pending.call.arguments)
    first = deref(pending.call.arguments[0].value) if pending.call.arguments else None
    named = isinstance(first, Const) and isinstance(first.value, str) and first.value.lower() in OPTIMIZERS
    return Model() if typed or named or {"optimizer", "loss"} <= names else None


@duck
def model_by_fit(pending: Pending, run: Run) -> Value | None:
    """`x.fit(data, epochs=...)`, `x.fit(dataset)`: no other library's fit has these keywords or takes a Dataset."""
    if pending.method not in ("fit", "fit_generator") or (
        "tf" not in run.trace.libraries and "keras" not in run.trace.libraries
    ):
        return None
    names = {argument.name for argument in pending.call.arguments}
    fed = any(isinstance(deref(argument.value), Dataset) for argument in pending.call.arguments[:1])
    return Model() if fed or names & FIT_ONLY or _guarded_by_tensorflow(run) else None


@duck
def model_by_predict(pending: Pending, run: Run) -> Value | None:
    """`x.predict(data, verbose=0)` beside Keras: of others, CatBoost's and Ultralytics' take that keyword."""
    libraries = run.trace.libraries
    if pending.method != "predict" or ("tf" not in libraries and "keras" not in libraries):
        return None
    names = {argument.name for argument in pending.call.arguments}
    others = any(name.partition(".")[0] in ("catboost", "ultralytics") for name, _ in run.trace.imports)
    return Model() if "verbose" in names and not others else None


def _guarded_by_tensorflow(run: Run) -> bool:
    """Whether a handler around catches one of TensorFlow's errors: what is tried there is TensorFlow's."""
    types = (
        deref(kind) for frame in run.context.all(Try) for facts in frame.handlers for kind in facts.types
    )
    return any(isinstance(kind, Library) and kind.name.startswith("tf.errors.") for kind in types)


@duck
def optimizer_by_gradients(pending: Pending, run: Run) -> Value | None:
    """`x.apply_gradients(...)`."""
    return Optimizer() if pending.method == "apply_gradients" else None


@iterated
def dataset_by_batch(pending: Pending, run: Run) -> Value | None:
    """`for x, y in data.batch(32)` in a TensorFlow script without PyTorch: nothing else batches so."""
    if "torch" in run.trace.libraries or "tf" not in run.trace.libraries:
        return None
    chain: Pending | None = pending
    while chain is not None:
        if chain.method == "batch" and chain.call.arguments:
            return Dataset()
        chain = chain.receiver.made_by
    return None


def as_dataset(value: Value, run: Run) -> Value:
    """The argument of `fit`: an unknown made by pipeline methods is a dataset."""
    value = deref(value)
    if isinstance(value, Unknown) and value.made_by is not None and value.made_by.method in PIPELINE:
        return run.infer_receiver(value, Dataset())
    return value
