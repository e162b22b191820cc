"""Which number of the text decides the batch of a training call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.queries.built import WORDS
from oomlint.dryrun.queries.pipelines import BATCHING
from oomlint.dryrun.queries.tape_training import model_of
from oomlint.dryrun.queries.trained_models import trained_models
from oomlint.dryrun.values.base import Const, Sequence, Step, deref
from oomlint.syntax.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Argument, Call, Trace
    from oomlint.dryrun.values.base import Trail, Value


@dataclass(frozen=True, slots=True)
class BatchNumber:
    """Where a batch is decided.

    `literal` is the number itself, where it stands in the text once and for the batch alone; `share` is
    how many replicas divide it. `without` is a call that takes its default, and could be given `batch_size`.
    """

    place: Place
    trail: Trail = ()
    literal: Place | None = None
    share: int = 1
    without: Place | None = None


def batch_number(trace: Trace, call: Call, batch: int, replicas: int = 1) -> BatchNumber:
    """What decides that a replica takes `batch` samples in a step of a training call; the call itself if unknown."""
    for value in _batches(trace, call):
        if value.value == batch:
            return _decided(trace, call, value, {batch: 1, batch * replicas: replicas})
    return BatchNumber(call.place)


def _batches(trace: Trace, call: Call) -> Iterator[Const]:
    model = model_of(call.receiver)
    for trained in trained_models(trace):
        ours = trained.step is not None and trained.step.node is call.node
        if trained.batch is not None and (ours or (model is not None and trained.model is model)):
            yield trained.batch
    value = call.value("batch_size")
    if isinstance(value, Const):
        yield value


def _decided(trace: Trace, training: Call, batch: Const, wanted: dict[int, int]) -> BatchNumber:
    first = next((step for step in batch.trail if step.place is not None), None)
    origin = None if first is None else first.place
    if first is None or origin is None or first.text == WORDS:  # the text does not say it
        argument = training.argument("batch_size")
        return BatchNumber(training.place if argument is None else argument.place)
    node = origin.node
    if isinstance(node, cst.Param) and node.default is not None:
        origin = Place(origin.source, node.default)
    elif isinstance(node, cst.Call):
        call = next((one for one in trace.all_calls() if one.node is node), None)
        if call is not None and "batch_size" not in call.signature:
            return _of_the_only_stage(trace, training, wanted)
        argument = None if call is None else call.argument("batch_size")
        if argument is None:
            takes = call is not None and not call.opaque_arguments and "batch_size" in call.signature
            return BatchNumber(origin, batch.trail, without=origin if takes else None)
        origin = argument.place
    share = wanted.get(_number(origin.node) or 0)
    if share is None or _shapes_the_model(trace, origin):
        return BatchNumber(origin, batch.trail)
    return BatchNumber(origin, batch.trail, origin, share)


def _of_the_only_stage(trace: Trace, training: Call, wanted: dict[int, int]) -> BatchNumber:
    """In a loop of the script's own a tensor knows its batch, but not who made it: the one stage that makes such."""
    stages = {
        id(stage.node): (stage, stage.value("batch_size"))
        for name in BATCHING
        for stage in trace.calls(f"tf.data.Dataset.{name}")
    }
    sizes = {
        key: replace(size, trail=size.trail or (Step(stage.name.rpartition(".")[2], stage.place),))
        for key, (stage, size) in stages.items()
        if isinstance(size, Const) and size.value in wanted
    }
    if len(sizes) != 1:
        return BatchNumber(training.place)
    return _decided(trace, training, next(iter(sizes.values())), wanted)


def _number(node: cst.CSTNode) -> int | None:
    return int(node.value, 0) if isinstance(node, cst.Integer) else None


def _shapes_the_model(trace: Trace, literal: Place) -> bool:
    """Whether the number decides more than the batch: `N = 64` that is the image's size as well."""
    return any(
        _from(literal, argument.value) and "batch" not in _name(call, argument)
        for call in (*trace.calls_under("keras.layers."), *trace.calls("keras.Input"))
        for argument in call.arguments
    )


def _from(literal: Place, value: Value) -> bool:
    match deref(value):
        case Const(trail=trail):
            return any(step.place is not None and step.place.node is literal.node for step in trail)
        case Sequence(items=list(items)):
            return any(_from(literal, item) for item in items)
    return False


def _name(call: Call, argument: Argument) -> str:
    if argument.name is not None:
        return argument.name
    plain = [one for one in call.arguments if one.name is None]
    position = next(index for index, one in enumerate(plain) if one is argument)
    return call.signature[position] if position < len(call.signature) else ""
