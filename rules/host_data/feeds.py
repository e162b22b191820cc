"""What training is fed: the arrays, the calls that get them, and whether they are its inputs."""

from __future__ import annotations

from collections.abc import Iterator

from oomlint.rules.host_data.amounts import in_generator

from oomlint.dryrun.catalog.arrays.loading import Unpickled
from oomlint.dryrun.catalog.arrays.making import DECODED, LAZY, LOADED, loads_of
from oomlint.dryrun.queries.once import once_per_trace
from oomlint.dryrun.trace import Body, Call, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Mapping, Sequence, Slice, Value, deref, tags_of
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.training import Tape

_SLICES = ("tf.data.Dataset.from_tensor_slices", "tf.data.Dataset.from_tensors")
_TRAIN = (
    "keras.Model.fit",
    "keras.Model.train_on_batch",
    "keras.Model.fit_generator",
    "keras.Optimizer.apply_gradients",
)


def feeds(trace: Trace) -> Iterator[tuple[Call, Array | Unpickled, bool]]:
    """Arrays that training gets, and whether they are its inputs (or its labels)."""
    for call in trace.calls("keras.Model.fit", "keras.Model.train_on_batch"):
        for name, position in (("x", 0), ("y", 1), ("validation_data", 0)):
            value = call.value(name)
            if name == "validation_data" and isinstance(value, Sequence) and value.items:
                for place, part in enumerate(value.items):
                    yield from ((call, array, place == 0) for array in arrays(part))
            elif name != "validation_data":
                yield from ((call, array, position == 0) for array in arrays(value))
    for call in trace.calls("keras.preprocessing.image.ImageDataGenerator.flow"):
        yield from ((call, array, True) for array in arrays(call.value("x")))
    for call in trace.calls("keras.Model.__call__"):
        if call.context.manager(Tape) is not None and call.arguments:
            yield from ((call, array, True) for array in arrays(call.arguments[0].value))
    if not trace.calls(*_TRAIN):
        return
    yield from _by_batch(trace)
    behind = _zipped_behind(trace)
    for call in trace.calls(*_SLICES, "keras.utils.timeseries_dataset_from_array"):
        value = deref(call.arguments[0].value) if call.arguments else None
        if isinstance(value, Sequence) and value.kind == "tuple" and value.items:
            for place, part in enumerate(value.items):
                yield from ((call, array, place == 0) for array in arrays(part))
        else:
            yield from ((call, array, id(call) not in behind) for array in arrays(value))


def _zipped_behind(trace: Trace) -> set[int]:
    """Stages of data sets that are zipped behind another one: `Dataset.zip((pictures, labels))`."""
    found: set[int] = set()
    for call in trace.calls("tf.data.Dataset.zip"):
        given = [deref(argument.value) for argument in call.arguments]
        if len(given) == 1 and isinstance(given[0], Sequence) and given[0].kind == "tuple":
            given = [deref(item) for item in given[0].items or ()]
        for dataset in given[1:]:
            if isinstance(dataset, Dataset):
                found.update(id(stage) for stage in dataset.stages)
    return found


def _by_batch(trace: Trace) -> Iterator[tuple[Call, Array | Unpickled, bool]]:
    """Arrays that a generator or `__getitem__` cuts its batches out of: the first one in each is its input."""
    seen: set[int] = set()
    for call in trace.calls("operator.getitem"):
        function = call.context.function()
        value = deref(call.receiver) if call.receiver is not None else None
        if (
            function is None
            or id(function.node) in seen
            or not isinstance(value, Array | Unpickled)
            or not loads_of(value)
            or (isinstance(value, Unpickled) and not _is_slice(call))
            # one that reads files itself cuts labels or names out of what was loaded before
            or id(function.node) in _reading(trace)
        ):
            continue
        if in_generator(call.context):
            seen.add(id(function.node))
            yield call, value, True


def _is_slice(call: Call) -> bool:
    """Whether a batch is cut out of what was pickled: one entry of it may be a setting or a name."""
    return isinstance(deref(call.arguments[1].value), Slice)


@once_per_trace
def _reading(trace: Trace) -> set[int]:
    """Functions in which something is read from a file or decoded, or cut out of what is mapped, stored or sparse."""
    return {
        id(body.function.node)
        for call in trace.all_calls()
        if tags_of(deref(call.result)) >= DECODED
        or f"{LOADED}{call.index}" in tags_of(deref(call.result))
        or _cut_elsewhere(call)
        for body in call.context.all(Body)
    }


def _cut_elsewhere(call: Call) -> bool:
    held = deref(call.receiver) if call.name == "operator.getitem" and call.receiver is not None else None
    return isinstance(held, Array) and held.library in (*LAZY, "scipy")


def arrays(value: Value | None) -> Iterator[Array | Unpickled]:
    """The arrays of an argument: one, or several in a list or dictionary. What a generator gives is no array."""
    value = deref(value) if value is not None else None
    match value:
        case Array() | Unpickled():
            yield value
        case Sequence(kind="list" | "tuple"):
            for part in value.items if value.items is not None else [value.any]:
                yield from arrays(part)
        case Mapping(entries=entries):
            for part in entries.values():
                yield from arrays(part)
