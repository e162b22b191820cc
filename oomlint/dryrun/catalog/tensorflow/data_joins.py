"""tf.data: several datasets as one, and transformations handed to `apply`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import function, method
from oomlint.dryrun.catalog.tensorflow.data_batches import batch, ragged_batch, unbatch
from oomlint.dryrun.catalog.tensorflow.data_stages import (
    as_dataset,
    bound,
    enumerate_elements,
    fewer,
    filtered,
    flat_map,
    map_elements,
    received,
    same,
    staged,
)
from oomlint.dryrun.values.base import Mapping, Opaque, Sequence, Unknown, Value, deref, join_all
from oomlint.dryrun.values.data import Dataset

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

EXPERIMENTAL = "tf.data.experimental."
PLAIN = ("ignore_errors", "unique", "copy_to_device", "snapshot", "take_while", "unbatch")


# --- several datasets ---------------------------------------------------------------------------------


@function("tf.data.Dataset.zip", parameters="datasets")
def zip_datasets(call: Call, run: Run) -> Value:
    """Elements side by side, as many as the shortest has."""
    positional = [argument.value for argument in call.arguments if argument.name is None]
    structure = call.value("datasets") if len(positional) < 2 else Sequence("tuple", items=positional)
    parts: list[Dataset] = []
    element = _zipped(structure, parts, run)
    counts = [part.count for part in parts if not part.infinite]
    known = [count for count in counts if count is not None]
    count = None
    if known:
        count = min(known, key=lambda item: int(item.value))
        count = count if len(known) == len(counts) else count.softened()
    tags = frozenset().union(*(part.tags for part in parts)) if parts else frozenset()
    infinite = bool(parts) and not counts
    return Dataset(
        element,
        count,
        infinite,
        staged(tuple(stage for part in parts for stage in part.stages), call),
        tags=tags,
    )


def _zipped(structure: Value | None, parts: list[Dataset], run: Run) -> Value:
    structure = deref(structure) if structure is not None else Unknown()
    match structure:
        case Sequence(items=list(items)):
            return Sequence("tuple", items=[_zipped(item, parts, run) for item in items])
        case Mapping(entries=entries):
            return Mapping({key: _zipped(item, parts, run) for key, item in entries.items()})
    dataset = as_dataset(structure, run)
    parts.append(dataset)
    return dataset.element if dataset.element is not None else Unknown()


@function(
    "tf.data.Dataset.sample_from_datasets",
    "tf.data.experimental.sample_from_datasets",
    parameters="datasets weights seed stop_on_empty_dataset",
)
@function(
    "tf.data.Dataset.choose_from_datasets",
    "tf.data.experimental.choose_from_datasets",
    parameters="datasets choice_dataset stop_on_empty_dataset",
)
def mixed(call: Call, run: Run) -> Value:
    """Elements now from the one, now from the other."""
    given = call.value("datasets")
    inner = run.iterate(given) if given is not None else None
    values = [] if inner is None else inner.items if inner.items is not None else [inner.element]
    parts = [as_dataset(value, run) for value in values]
    specs = [part.element for part in parts if part.element is not None]
    element = join_all(specs) if len(specs) == len(parts) else None
    infinite = (
        call.name.endswith("sample_from_datasets") and bool(parts) and all(part.infinite for part in parts)
    )
    return Dataset(
        element, None, infinite, staged(tuple(stage for part in parts for stage in part.stages), call)
    )


# --- apply --------------------------------------------------------------------------------------------


@function(*(EXPERIMENTAL + name for name in PLAIN))
@function(EXPERIMENTAL + "assert_cardinality", parameters="expected_cardinality")
@function(EXPERIMENTAL + "prefetch_to_device", parameters="device buffer_size")
@function(EXPERIMENTAL + "shuffle_and_repeat", parameters="buffer_size count seed")
@function(
    EXPERIMENTAL + "map_and_batch",
    parameters="map_func batch_size num_parallel_batches drop_remainder num_parallel_calls",
)
@function(EXPERIMENTAL + "parallel_interleave", parameters="map_func cycle_length block_length sloppy")
@function(EXPERIMENTAL + "dense_to_ragged_batch", parameters="batch_size drop_remainder row_splits_dtype")
@function(EXPERIMENTAL + "enumerate_dataset", parameters="start")
def transformation(call: Call, run: Run) -> Value:
    """Something for `apply`."""
    return Opaque(call.name, call)


_METHODS: dict[str, Callable[[Call, Run], Value]] = {
    "ignore_errors": fewer, "unique": fewer, "copy_to_device": same, "prefetch_to_device": same, "snapshot": same,
    "take_while": filtered, "unbatch": unbatch, "parallel_interleave": flat_map, "dense_to_ragged_batch": ragged_batch,
    "enumerate_dataset": enumerate_elements,
}  # fmt: skip


@method(Dataset, "apply", parameters="transformation_func")
def apply(call: Call, run: Run) -> Value:
    """A transformation made elsewhere, or any function from dataset to dataset."""
    dataset, given = received(call), call.value("transformation_func")
    if isinstance(given, Opaque) and given.made_by is not None and given.type.startswith(EXPERIMENTAL):
        name, made = given.type[len(EXPERIMENTAL) :], given.made_by
        stages = staged(dataset.stages, made)
        if name == "assert_cardinality":
            count = bound(made.value("expected_cardinality"))
            return replace(dataset, count=count, infinite=False, stages=stages)
        made.receiver = dataset
        if name == "shuffle_and_repeat":
            return replace(dataset, count=None, infinite=True, stages=stages)
        if name == "map_and_batch":
            mapped = map_elements(made, run)
            assert isinstance(mapped, Dataset)
            made.receiver = replace(mapped, stages=dataset.stages)
            return batch(made, run)
        handler = _METHODS.get(name)
        if handler is not None:
            return handler(made, run)
    if given is not None and not isinstance(given, Opaque | Unknown):
        result = deref(run.call(given, [dataset], call))
        if isinstance(result, Dataset):
            return result
    return Dataset(stages=staged(dataset.stages, call))
