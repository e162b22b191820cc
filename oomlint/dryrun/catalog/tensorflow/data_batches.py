"""tf.data: batches, padded batches, windows, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import method
from oomlint.dryrun.catalog.tensorflow.data_stages import bound, operands, received, reckon, softened, staged
from oomlint.dryrun.catalog.tensorflow.tensor_values import each, static
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset, leaves

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


def batch_dim(size: Const | None, dropped: bool) -> Dim:
    """The batch dimension: open, for TensorFlow, unless a smaller last batch is dropped."""
    return size if dropped or size is None else size.softened()


def batch_count(dataset: Dataset, size: Const | None, dropped: bool) -> Const | None:
    """How many batches."""
    if size is None or size.value < 1:
        return None
    return reckon(lambda n, of: n // of if dropped else -(-n // of), dataset.count, size)


def drops(call: Call) -> bool:
    """Whether the smaller last batch is dropped for certain."""
    return call.const("drop_remainder") is True


@method(Dataset, "batch", parameters="batch_size drop_remainder num_parallel_calls deterministic name")
def batch(call: Call, run: Run) -> Value:
    """One more dimension in front."""
    dataset, size, dropped = received(call), bound(call.value("batch_size")), drops(call)
    dim = batch_dim(size, dropped)
    element = None if dataset.element is None else each(dataset.element, lambda leaf: _in_front(leaf, dim))
    count = batch_count(dataset, size, dropped)
    return replace(dataset, element=element, count=count, stages=staged(dataset.stages, call))


def _in_front(leaf: Array, dim: Dim) -> Array:
    return replace(leaf, shape=None if leaf.shape is None else (dim, *leaf.shape))


@method(Dataset, "ragged_batch", parameters="batch_size drop_remainder row_splits_dtype name")
def ragged_batch(call: Call, run: Run) -> Value:
    """As batch where the shapes are known; else ragged, of unknown size."""
    dataset, size, dropped = received(call), bound(call.value("batch_size")), drops(call)
    dim = batch_dim(size, dropped)

    def put(leaf: Array) -> Value:
        return Unknown(tags=leaf.tags) if leaf.shape is None or None in leaf.shape else _in_front(leaf, dim)

    element = None if dataset.element is None else each(dataset.element, put)
    count = batch_count(dataset, size, dropped)
    return replace(dataset, element=element, count=count, stages=staged(dataset.stages, call))


@method(Dataset, "padded_batch", parameters="batch_size padded_shapes padding_values drop_remainder name")
def padded_batch(call: Call, run: Run) -> Value:
    """As batch; dimensions that differ are padded, to the longest or to what is given."""
    dataset, size, dropped = received(call), bound(call.value("batch_size")), drops(call)
    dim = batch_dim(size, dropped)
    element = None
    if dataset.element is not None:
        given = call.value("padded_shapes")
        if given is None or (isinstance(given, Const) and given.value is None):
            element = each(dataset.element, lambda leaf: _in_front(leaf, dim))
        else:
            element = _padded(dataset.element, given, dim)
    count = batch_count(dataset, size, dropped)
    return replace(dataset, element=element, count=count, stages=staged(dataset.stages, call))


def _padded(element: Value, shapes: Value, dim: Dim) -> Value:
    element, shapes = deref(element), deref(shapes)
    match element:
        case Sequence(items=list(items)) if isinstance(shapes, Sequence) and shapes.items is not None:
            pairs = zip(items, shapes.items, strict=False)
            return Sequence("tuple", items=[_padded(item, shape, dim) for item, shape in pairs])
        case Mapping(entries=entries) if isinstance(shapes, Mapping):
            known = shapes.entries
            return Mapping(
                {key: _padded(item, known.get(key, Unknown()), dim) for key, item in entries.items()}
            )
        case Array():
            shape = static(shapes)
            return replace(element, shape=None if shape is None else (dim, *shape))
    return element


@method(Dataset, "unbatch", parameters="name")
def unbatch(call: Call, run: Run) -> Value:
    """One dimension less in front."""
    dataset = received(call)
    first = next(
        (leaf.shape[0] for leaf in leaves(dataset.element) if isinstance(leaf, Array) and leaf.shape), None
    )
    element = None if dataset.element is None else each(dataset.element, _without_front)
    count = reckon(lambda batches, of: batches * of, dataset.count, first)
    return replace(dataset, element=element, count=count, stages=staged(dataset.stages, call))


def _without_front(leaf: Array) -> Array:
    return replace(leaf, shape=None if leaf.shape is None else leaf.shape[1:])


def _divided(leaf: Array, size: Const | None, dropped: bool) -> Dim:
    """The batch dimension after `rebatch`: certain too where the batches before divide without a rest."""
    before = leaf.shape[0] if leaf.shape else None
    if before is None or before.soft or size is None or size.value < 1:
        return batch_dim(size, dropped)
    return batch_dim(size, dropped or before.value % size.value == 0)


@method(Dataset, "rebatch", parameters="batch_size drop_remainder name")
def rebatch(call: Call, run: Run) -> Value:
    """Another number of rows per batch."""
    dataset, size = received(call), bound(call.value("batch_size"))
    element = None
    if dataset.element is not None:
        element = each(
            dataset.element, lambda leaf: _in_front(_without_front(leaf), _divided(leaf, size, drops(call)))
        )
    return replace(dataset, element=element, count=None, stages=staged(dataset.stages, call))


@method(Dataset, "bucket_by_sequence_length")
def bucket(call: Call, run: Run) -> Value:
    """Batches of elements of like length: their number of rows differs."""
    dataset = received(call)
    element = None if dataset.element is None else each(dataset.element, lambda leaf: _in_front(leaf, None))
    return replace(dataset, element=element, count=None, stages=staged(dataset.stages, call))


@method(Dataset, "group_by_window", parameters="key_func reduce_func window_size window_size_func name")
def group_by_window(call: Call, run: Run) -> Value:
    """What the reducing function makes of the elements of one key."""
    dataset, reducer = received(call), call.value("reduce_func")
    if call.value("key_func") is not None:
        keyed = call.value("key_func") or Unknown()
        run.call(keyed, operands(dataset.element, keyed), call, "tf.data.map")
    element: Value | None = None
    if reducer is not None:
        size = bound(call.value("window_size"))
        group = Dataset(element=dataset.element, count=softened(size))
        made = deref(run.call(reducer, [Array("tensor", (), "int64"), group], call, "tf.data.map"))
        element = made.element if isinstance(made, Dataset) else None
    return replace(dataset, element=element, count=None, stages=staged(dataset.stages, call))


def _windowed(element: Value, rows: Dim) -> Value:
    """Every part of the element as a dataset of its own, windows of windows too."""
    element = deref(element)
    match element:
        case Sequence(items=list(items)):
            return Sequence(element.kind, items=[_windowed(item, rows) for item in items], tags=element.tags)
        case Mapping(entries=entries):
            return Mapping({key: _windowed(item, rows) for key, item in entries.items()}, element.complete)
    return Dataset(element=element, count=rows)


@method(Dataset, "window", parameters="size shift stride drop_remainder name")
def window(call: Call, run: Run) -> Value:
    """Every element is a small dataset."""
    dataset, size, dropped = received(call), bound(call.value("size")), drops(call)
    shift = bound(call.value("shift")) or size
    stride = bound(call.value("stride")) if call.argument("stride") is not None else Const(1)
    rows = batch_dim(size, dropped)
    element = None
    if dataset.element is not None:
        element = _windowed(dataset.element, rows)

    def windows(n: int, length: int, step: int, gap: int) -> int:
        if step < 1:
            return 0
        if dropped:
            span = (length - 1) * gap + 1
            return 0 if n < span else (n - span) // step + 1
        return -(-n // step)

    count = reckon(windows, dataset.count, size, shift, stride)
    return replace(dataset, element=element, count=count, stages=staged(dataset.stages, call))
