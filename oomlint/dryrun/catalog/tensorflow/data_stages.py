"""tf.data: what each transformation makes of elements and of their number.

A count or a batch dimension that is only an upper bound (the last batch may be smaller, a source may
end before `take` does) is a soft constant: good for a size, and no more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import method
from oomlint.dryrun.catalog.tensorflow.tensor_values import component, returned
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref, join, merge
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.program import Function, Method
from oomlint.dryrun.values.shapes import number

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

MAX_STAGES, FIRST_STAGES = 64, 8


def received(call: Call) -> Dataset:
    """The dataset that a method is called on."""
    value = deref(call.receiver) if call.receiver is not None else None
    return value if isinstance(value, Dataset) else Dataset()


def bound(value: Value | None) -> Const | None:
    """An argument that is a number of elements."""
    value = deref(value) if value is not None else None
    return value if isinstance(value, Const) and number(value) is not None else None


def staged(stages: tuple[Call, ...], *more: Call) -> tuple[Call, ...]:
    """The stages with some more. Of hundreds the middle is forgotten, so that no chain costs its square."""
    together = (*stages, *more)
    return (
        together
        if len(together) <= MAX_STAGES
        else (*together[:FIRST_STAGES], *together[FIRST_STAGES - MAX_STAGES :])
    )


def reckon(change: Callable[..., int], *parts: Const | None, soft: bool = False) -> Const | None:
    """A count worked out from others; unknown if one of them is."""
    known = [part for part in parts if part is not None]
    if len(known) != len(parts):
        return None
    value = change(*(part.value for part in known))
    return Const(value, merge(*(part.trail for part in known)), soft or any(part.soft for part in known))


def softened(count: Const | None) -> Const | None:
    """An upper bound."""
    return None if count is None else count.softened()


# --- the same elements -------------------------------------------------------------------------------


@method(Dataset, "shuffle", parameters="buffer_size seed reshuffle_each_iteration name")
@method(Dataset, "cache", parameters="filename name")
@method(Dataset, "prefetch", parameters="buffer_size name")
@method(Dataset, "with_options", parameters="options name")
@method(Dataset, "snapshot", parameters="path compression reader_func shard_func name")
def same(call: Call, run: Run) -> Value:
    """Elements and count stay."""
    dataset = received(call)
    return replace(dataset, stages=staged(dataset.stages, call))


@method(Dataset, "filter", parameters="predicate name")
@method(Dataset, "take_while", parameters="predicate name")
@method(Dataset, "rejection_resample", parameters="class_func target_dist initial_dist seed name")
def filtered(call: Call, run: Run) -> Value:
    """Some of the elements, nobody knows how many."""
    dataset = received(call)
    if call.arguments:
        run.call(
            call.arguments[0].value, operands(dataset.element, call.arguments[0].value), call, "tf.data.map"
        )
    return replace(dataset, count=None, infinite=False, stages=staged(dataset.stages, call))


@method(Dataset, "ignore_errors", parameters="log_warning name")
@method(Dataset, "unique", parameters="name")
def fewer(call: Call, run: Run) -> Value:
    """At most as many."""
    dataset = received(call)
    return replace(
        dataset, count=softened(dataset.count), infinite=False, stages=staged(dataset.stages, call)
    )


@method(Dataset, "repeat", parameters="count name")
def repeat(call: Call, run: Run) -> Value:
    """Again and again; without a count (or -1) for ever."""
    dataset = received(call)
    given = call.value("count")
    stages = staged(dataset.stages, call)
    if dataset.count is not None and dataset.count.value == 0:
        return replace(dataset, stages=stages)
    if given is None or (isinstance(given, Const) and given.value in (None, -1)):
        return replace(dataset, count=None, infinite=True, stages=stages)
    count = reckon(lambda each_time, times: each_time * times, dataset.count, bound(given))
    return replace(dataset, count=count, stages=stages)


@method(Dataset, "take", parameters="count name")
def take(call: Call, run: Run) -> Value:
    """The first elements."""
    dataset, wanted = received(call), bound(call.value("count"))
    stages = staged(dataset.stages, call)
    if wanted is not None and wanted.value < 0:
        return replace(dataset, stages=stages)
    if dataset.infinite:
        return replace(dataset, count=wanted, infinite=False, stages=stages)
    if dataset.count is None:
        return replace(dataset, count=softened(wanted), stages=stages)
    if wanted is None:
        return replace(dataset, count=None, stages=stages)
    smaller = wanted if wanted.value <= dataset.count.value else dataset.count
    return replace(dataset, count=softened(smaller) if dataset.count.soft else smaller, stages=stages)


@method(Dataset, "skip", parameters="count name")
def skip(call: Call, run: Run) -> Value:
    """All but the first elements."""
    dataset, gone = received(call), bound(call.value("count"))
    count = reckon(lambda all_of, first: 0 if first < 0 else max(0, all_of - first), dataset.count, gone)
    return replace(dataset, count=count, stages=staged(dataset.stages, call))


@method(Dataset, "shard", parameters="num_shards index name")
def shard(call: Call, run: Run) -> Value:
    """Every n-th element."""
    dataset, parts, index = received(call), bound(call.value("num_shards")), bound(call.value("index"))
    count = None
    if parts is not None and parts.value > 0:
        if index is not None:
            count = reckon(lambda n, k, at: max(0, -(-(n - at) // k)), dataset.count, parts, index)
        else:
            count = softened(reckon(lambda n, k: -(-n // k), dataset.count, parts))
    return replace(dataset, count=count, stages=staged(dataset.stages, call))


@method(Dataset, "concatenate", parameters="dataset name")
def concatenate(call: Call, run: Run) -> Value:
    """One after the other."""
    dataset, other = received(call), as_dataset(call.value("dataset"), run)
    element = None
    if dataset.element is not None and other.element is not None:
        element = join(dataset.element, other.element)
    return Dataset(
        element=element,
        count=reckon(lambda one, two: one + two, dataset.count, other.count),
        infinite=dataset.infinite or other.infinite,
        stages=staged(dataset.stages, call),
        tags=dataset.tags | other.tags,
    )


def as_dataset(value: Value | None, run: Run) -> Dataset:
    """An argument that must be a dataset."""
    value = deref(value) if value is not None else None
    if isinstance(value, Unknown):
        value = run.infer_receiver(value, Dataset())
    return value if isinstance(value, Dataset) else Dataset()


# --- functions on elements ----------------------------------------------------------------------------


def operands(element: Value | None, callee: Value) -> list[Value]:
    """What a mapped function is called with: the parts of a tuple, else the element itself."""
    element = deref(element) if element is not None else Unknown()
    if isinstance(element, Sequence) and element.kind == "tuple" and element.items is not None:
        return list(element.items)
    if isinstance(element, Unknown):
        return [element, *(Unknown(tags=element.tags) for _ in range(_parameters(callee) - 1))]
    return [element]


def _parameters(callee: Value) -> int:
    """How many arguments a function of the program must be given."""
    callee = deref(callee)
    bound_already = 0
    if isinstance(callee, Method) and callee.function is not None:
        callee, bound_already = callee.function, 1
    if not isinstance(callee, Function):
        return 1
    parameters = [*callee.node.params.posonly_params, *callee.node.params.params]
    return max(1, sum(parameter.default is None for parameter in parameters) - bound_already)


@method(
    Dataset,
    "map",
    parameters="map_func num_parallel_calls deterministic synchronous use_unbounded_threadpool name",
)
def map_elements(call: Call, run: Run) -> Value:
    """The function is dry-run on the element."""
    dataset, mapped = received(call), call.value("map_func")
    element: Value | None = None
    if mapped is not None:
        element = returned(run.call(mapped, operands(dataset.element, mapped), call, "tf.data.map"))
    return replace(dataset, element=element, stages=staged(dataset.stages, call))


@method(Dataset, "flat_map", parameters="map_func name")
@method(
    Dataset,
    "interleave",
    parameters="map_func cycle_length block_length num_parallel_calls deterministic name",
)
def flat_map(call: Call, run: Run) -> Value:
    """Every element becomes a dataset of its own; their elements follow."""
    dataset, mapped = received(call), call.value("map_func")
    stages = staged(dataset.stages, call)
    if mapped is None:
        return replace(dataset, element=None, count=None, stages=stages)
    inner = as_dataset(run.call(mapped, operands(dataset.element, mapped), call, "tf.data.map"), run)
    count = softened(reckon(lambda outer, each_one: outer * each_one, dataset.count, inner.count))
    infinite = dataset.infinite or inner.infinite
    return Dataset(
        inner.element, count, infinite, staged(stages, *inner.stages), tags=dataset.tags | inner.tags
    )


@method(Dataset, "enumerate", parameters="start name")
def enumerate_elements(call: Call, run: Run) -> Value:
    """(number, element)."""
    dataset = received(call)
    pair = Sequence("tuple", items=[Array("tensor", (), "int64"), dataset.element or Unknown()])
    return replace(dataset, element=pair, stages=staged(dataset.stages, call))


@method(Dataset, "scan", parameters="initial_state scan_func name")
def scan(call: Call, run: Run) -> Value:
    """Another element of unknown kind."""
    dataset = received(call)
    return replace(dataset, element=None, stages=staged(dataset.stages, call))


@method(Dataset, "reduce", parameters="initial_state reduce_func name")
def reduce(call: Call, run: Run) -> Value:
    """What was folded together: like the initial state."""
    return component(call.value("initial_state"))
