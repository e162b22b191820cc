"""Models that are built for any length and trained on data of one: their layers' shapes as the data makes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.apply import build, compute_dtype, named
from oomlint.dryrun.catalog.keras.dims import Config
from oomlint.dryrun.catalog.keras.graph import Node, shape_of_tensor, symbolic, tensors, walk
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Sequence, Value
from oomlint.dryrun.values.shapes import broadcast
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call
    from oomlint.dryrun.values.arrays import Shape

SETTLED = "_settled"  # among a model's attributes: its outputs for the data that it is trained on


def settle(run: Run, model: Model, inputs: list[Value], site: Call) -> None:
    """Go through a model's graph again, with the shapes of the data where its inputs leave them open."""
    starts = tensors(model.inputs)
    graph = walk(model.outputs, model.inputs)
    if model.kind not in ("functional", "sequential") or model.instance is not None or not graph.sure:
        return
    if len(starts) != len(inputs) or not any(_fills(*pair) for pair in zip(starts, inputs)):
        return
    results: dict[int, Value] = {}
    before: dict[int, Shape | None] = {}
    for start, given in zip(starts, inputs):
        if isinstance(start, Array) and isinstance(given, Array) and start.producer is not None:
            shape = given.shape if _fills(start, given) else start.shape
            results[id(start.producer)], before[id(start.producer)] = replace(start, shape=shape), start.shape
    for step in graph.nodes:
        if id(step) in results or step.layer is None or not step.inputs:
            continue
        sources = [_anew(item, results, before) for item in step.inputs]
        arguments = Config(named(step.call, ())) if step.call is not None else Config({})
        layer, node = step.layer, Node(step.layer, tuple(sources), step.call)
        before[id(step)] = layer.output if isinstance(layer, Layer) else getattr(layer, "output_shape", None)
        built = build(run, layer, sources, arguments, site)
        if isinstance(layer, Layer):
            layer.inputs = tuple(shape_of_tensor(item) for item in sources)
            layer.output = built.output
            layer.attributes["_node"] = node
        elif isinstance(layer, Model):
            settle(run, layer, sources, site)
        results[id(step)] = symbolic(built.output, compute_dtype(run), node, site)
    ends = [_anew(item, results, before) for item in tensors(model.outputs)]
    model.attributes[SETTLED] = Sequence("list", items=ends)


def _fills(start: Value, given: Value) -> bool:
    """Whether data says what an input leaves open, and agrees with the rest."""
    one, two = shape_of_tensor(start), shape_of_tensor(given)
    if one is None or two is None or len(one) != len(two) or None not in one[1:]:
        return False
    return None not in two[1:] and all(left is None or left == right for left, right in zip(one[1:], two[1:]))


def _anew(value: Value, results: dict[int, Value], before: dict[int, Shape | None]) -> Value:
    """A tensor of the graph with its shape of this time; not known where an operation may have changed it."""
    if not isinstance(value, Array):
        return value
    key = id(value.producer)
    found = results.get(key)
    if found is not None:
        same = value.shape == before.get(key)
        return found if same else replace(value, shape=None)
    if isinstance(value.producer, Sequence):
        parts = tensors(value.producer)
        if all(
            shape_of_tensor(part) == value.shape for part in parts
        ):  # a sum or product, element by element
            again = [_anew(part, results, before) for part in parts]
            return replace(
                value,
                shape=broadcast(*(shape_of_tensor(part) for part in again)),
                producer=Sequence("tuple", items=again),
            )
    return replace(value, shape=None)
