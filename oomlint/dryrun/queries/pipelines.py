"""Questions about tf.data pipelines that several rules ask: what runs inside a stage, what comes after it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.once import once_per_trace
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Branch, Call, Event, Iterate, Role
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Value, deref
from oomlint.dryrun.values.data import Dataset, leaves

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace

# Elements go through these as they are.
KEEPING = frozenset(
    {"shuffle", "repeat", "take", "skip", "shard", "cache", "prefetch", "with_options", "concatenate"}
)
BATCHING = frozenset({"batch", "padded_batch", "ragged_batch", "map_and_batch", "dense_to_ragged_batch"})
ALIGNMENT = 64  # bytes: TensorFlow's allocator; slices at such offsets point into the tensor they are of
SPLITTING = frozenset({"unbatch", "flat_map", "interleave"})


def stage_name(call: Call) -> str:
    """`shuffle` of `tf.data.Dataset.shuffle`."""
    return call.name.rpartition(".")[2]


def received(call: Call) -> Dataset | None:
    """The dataset that a stage is called on."""
    value = deref(call.receiver) if call.receiver is not None else None
    return value if isinstance(value, Dataset) else None


def in_memory(cache: Call) -> bool:
    """Whether a `cache` call keeps its elements in memory: no file, or an empty name for it."""
    argument = cache.argument("filename")
    if argument is None:
        return True
    name = deref(argument.value)
    # `if path: data = data.cache(path)`: there it is not the empty default.
    asked = any(branch.taken and deref(branch.test) is name for branch in cache.context.all(Branch))
    return isinstance(name, Const) and not name.value and not asked


def since(dataset: Dataset, name: str) -> tuple[Call, ...] | None:
    """The stages after the last one of that name; None where there is none."""
    for position in range(len(dataset.stages) - 1, -1, -1):
        if stage_name(dataset.stages[position]) == name:
            return dataset.stages[position + 1 :]
    return None


def on_one_way(stage: Call, later: Call) -> bool:
    """Whether two stages run together for certain: not each under a test that the other is not under.

    `if training: ds = ds.repeat()` and then `if cached: ds = ds.cache()` may never meet.
    """
    one, two = ({id(frame): frame for frame in call.context.all(Branch)} for call in (stage, later))
    return not (one.keys() - two.keys() and two.keys() - one.keys())


def batched(dataset: Dataset) -> bool:
    """Whether an element is a batch."""
    for stage in reversed(dataset.stages):
        if stage_name(stage) in SPLITTING:
            return False
        if stage_name(stage) in BATCHING or stage_name(stage) == "rebatch":
            return True
    return "batched" in dataset.tags


def held_by_element(dataset: Dataset) -> Size | None:
    """Bytes that a buffer or cache holds per element: parts that are in memory anyway cost nothing."""
    kept = since(dataset, "cache")
    if kept is not None and all(stage_name(stage) in KEEPING for stage in kept):
        if in_memory(dataset.stages[-len(kept) - 1]):
            return None
    sliced = _slices(dataset)
    total: Size | None = None
    exact = True
    for leaf in leaves(dataset.element):
        size = leaf.size if isinstance(leaf, Array) else None
        if size is None:
            exact = False
        elif not sliced or size.bytes % ALIGNMENT:
            total = size if total is None else total.plus(size)
    return total if exact or total is None else total.plus(None)


def _slices(dataset: Dataset) -> bool:
    """Whether the elements are still slices of arrays that the source holds."""
    sources = {"from_tensor_slices", "from_tensors"}
    names = [stage_name(stage) for stage in dataset.stages]
    return bool(sources & set(names)) and set(names) <= sources | KEEPING | {"zip"}


def inside(trace: Trace, stage: Call) -> Iterator[Call]:
    """The calls that run in the function that a stage maps."""
    for event in islice(trace.events, _position(trace, stage) + 1, None):
        if not any(role.place is stage.place for role in event.context.all(Role)):
            return
        if isinstance(event, Call):
            yield event


def _position(trace: Trace, call: Call) -> int:
    """Where a call stands among the events, which are sorted by their indices."""
    low, high = 0, len(trace.events)
    while low < high:
        middle = (low + high) // 2
        if trace.events[middle].index < call.index:
            low = middle + 1
        else:
            high = middle
    while low < len(trace.events) and trace.events[low] is not call and trace.events[low].index == call.index:
        low += 1
    return low


def between(trace: Trace, first: Call, last: Call) -> Iterator[Event]:
    """The events after one call and before another."""
    for event in islice(trace.events, _position(trace, first) + 1, None):
        if event.index >= last.index:
            return
        yield event


def uses_of(trace: Trace, stage: Call) -> list[tuple[Call | Iterate, Dataset]]:
    """What happens to the datasets that have a stage behind them: further stages, loops, training."""
    return [(event, dataset) for event, dataset in _all_uses(trace).get(id(stage), ()) if event is not stage]


@once_per_trace
def _all_uses(trace: Trace) -> dict[int, list[tuple[Call | Iterate, Dataset]]]:
    """For every stage the events that datasets with it take part in: one walk over the trace for all questions."""
    table: dict[int, list[tuple[Call | Iterate, Dataset]]] = {}
    for event in trace.events:
        if isinstance(event, Iterate):
            values: list[Value] = [event.value]
        elif isinstance(event, Call):
            values = [argument.value for argument in event.arguments]
            if event.receiver is not None:
                values.append(event.receiver)
        else:
            continue
        for value in values:
            for dataset in _datasets(value):
                for stage in dataset.stages:
                    table.setdefault(id(stage), []).append((event, dataset))
    return table


def _datasets(value: Value) -> Iterator[Dataset]:
    value = deref(value)
    if isinstance(value, Dataset):
        yield value
    elif (
        isinstance(value, Sequence)
        and value.kind == "tuple"
        and value.items is not None
        and len(value.items) < 8
    ):
        for item in value.items:
            inner = deref(item)
            if isinstance(inner, Dataset):
                yield inner
