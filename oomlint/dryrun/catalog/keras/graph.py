"""How Keras layers and models are applied: symbolic tensors, the nodes behind them, and the walk back.

Every application of a layer, in a functional graph, in a Sequential or in a subclass' `call`, gives tensors
whose producer is a :class:`Node`. A model's layers and parameters are found by walking back from its outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.dims import NEVER_TRAINED, parameters
from oomlint.dryrun.values.arrays import SYMBOLIC, Array, Shape
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Step, Unknown, Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.training import Layer, Model
from oomlint.syntax.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@record
class Node(Value):
    """One application of a layer or model (`layer` None: an operation without weights).

    `either` holds the two nodes of a branch that met here: the graph is one of them.
    """

    layer: Value | None = None
    inputs: tuple[Value, ...] = ()
    call: Call | None = None
    either: tuple[Value, ...] = ()

    def __repr__(self) -> str:
        return f"<node of {getattr(self.layer, 'type', type(self.layer).__name__)}>"

    def joined(self, other: Node) -> Node:
        """Either of two applications."""
        return Node(either=(self, other))

    def prevail(self, other: Value) -> Value:
        """Either an application or what an operator made of several tensors."""
        return Node(either=(self, other)) if isinstance(other, Sequence) else Unknown()


@dataclass(slots=True)
class Graph:
    """What a walk back from some tensors finds: layers and models in order, and whether that is all of them."""

    layers: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    sure: bool = True


def tensors(value: Value | None) -> list[Value]:
    """The tensors of a tensor, list, tuple or dictionary of them."""
    value = None if value is None else deref(value)
    match value:
        case None:
            return []
        case Sequence(items=list(items)):
            return [leaf for item in items for leaf in tensors(item)]
        case Mapping(entries=entries):
            return [leaf for item in entries.values() for leaf in tensors(item)]
    return [value]


def shape_of_tensor(value: Value) -> Shape | None:
    """The shape of a tensor, None for anything else."""
    return value.shape if isinstance(value, Array) else None


def is_symbolic(value: Value | None) -> bool:
    """Whether a value is made of symbolic Keras tensors."""
    return any(isinstance(item, Array) and item.library == "keras" for item in tensors(value))


def symbolic(shape: Shape | None, dtype: str | None, producer: Value | None, call: Call | None) -> Array:
    """A symbolic tensor."""
    origin = None if call is None else Step(call.name, call.place)
    return Array("keras", shape, dtype, origin, frozenset({SYMBOLIC}), producer)


def walk(outputs: Value | None, inputs: Value | None) -> Graph:
    """Everything between inputs and outputs, in the order of making."""
    graph = Graph()
    stop = {
        id(item.producer) for item in tensors(inputs) if isinstance(item, Array) and item.producer is not None
    }
    # Tensors, too: `x = x + x` reaches the one before by two ways, that one by four.
    seen: dict[int, Value] = {}
    known: set[int] = set()
    decided: Decided = {}
    stack: list[tuple[Value, bool]] = [(item, False) for item in reversed(tensors(outputs))]
    while stack:
        value, done = stack.pop()
        if done:
            assert isinstance(value, Node)
            graph.nodes.append(value)
            if value.layer is not None and id(value.layer) not in known:
                known.add(id(value.layer))
                graph.layers.append(value.layer)
            continue
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, Array):
            if value.producer is None:
                graph.sure = False
            else:
                stack.append((value.producer, False))
        elif isinstance(value, Sequence):
            if value.items is None:  # how many tensors it holds is not known
                graph.sure = False
                stack.append((value.any, False))
            else:
                stack.extend((item, False) for item in reversed(tensors(value)))
        elif isinstance(value, Node):
            if value.either:
                way = likely_way(value, decided)
                graph.sure = graph.sure and way is not None
                stack.extend((way, False) for way in reversed(value.either if way is None else (way,)))
                continue
            stack.append((value, True))
            if id(value) not in stop:
                stack.extend((item, False) for item in reversed(value.inputs))
        elif isinstance(value, Unknown):
            graph.sure = False
    if any(isinstance(part, Mapping) and not part.complete for part in (deref(outputs or Unknown()),)):
        graph.sure = False  # there are more outputs than are known
    return graph


NEAR = 64  # applications that are looked at around a branch
MAX_BRANCHES = 16  # inside one another
Decided = dict[int, "tuple[Value, Value | None]"]  # nodes of branches, and the way taken


def likely_way(node: Node, decided: Decided, depth: int = 0) -> Value | None:
    """Of the ways that met here, the one with more layers; None unless all of them have as many parameters.

    `if rate: x = Dropout(rate)(x)` leaves the parameters certain whatever the rate is. Each branch is looked at once.
    """
    known = decided.get(id(node))
    if known is not None or depth > MAX_BRANCHES:
        return known[1] if known is not None else None
    decided[id(node)] = (node, None)
    ways = node.either
    near = [_near(way) for way in ways]
    found = []
    for position, way in enumerate(ways):
        others = set().union(*(near[at] for at in range(len(ways)) if at != position))
        found.append(_apart(way, others, decided, depth))
    if any(item is None for item in found) or len({item[1] for item in found if item}) != 1:
        return None
    chosen = max(zip(ways, found), key=lambda pair: pair[1][0] if pair[1] else 0)[0]
    decided[id(node)] = (node, chosen)
    return chosen


def _behind(value: Value) -> list[Value]:
    """What a tensor or application was made from, one step back."""
    match value:
        case Array():
            return [value.producer] if value.producer is not None else []
        case Node():
            return list(value.either or value.inputs)
        case Sequence():
            return list(value.items[:NEAR]) if value.items is not None else [Unknown()]
    return []


def _near(way: Value) -> set[int]:
    """The applications behind a tensor, the nearest ones."""
    nodes: set[int] = set()
    seen: set[int] = set()
    queue = [way]
    for current in queue:  # grows while it is gone through
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Node):
            nodes.add(id(current))
        if len(seen) > 4 * NEAR:
            break
        queue.extend(deref(item) for item in _behind(current))
    return nodes


def _apart(way: Value, others: set[int], decided: Decided, depth: int) -> tuple[int, int] | None:
    """How many layers, with how many parameters, lie on this way and on no other; None if that is not known."""
    layers: dict[int, Value] = {}
    seen: set[int] = set()
    stack = [way]
    while stack:
        current = deref(stack.pop())
        if id(current) in others or id(current) in seen:
            continue
        seen.add(id(current))
        unsure = isinstance(current, Unknown) or (isinstance(current, Array) and current.producer is None)
        if unsure or len(seen) > 4 * NEAR:
            return None
        if isinstance(current, Node) and current.either:
            chosen = likely_way(current, decided, depth + 1)
            if chosen is None:
                return None
            stack.append(chosen)
            continue
        if isinstance(current, Node) and current.layer is not None:
            layers[id(current.layer)] = current.layer
        stack.extend(_behind(current))
    counted = count_parameters(list(layers.values()))
    return None if counted is None else (len(layers), counted.value)


def weights_of(layer: Value) -> dict[str, Shape] | None:
    """The weights of a layer or a whole model, None where they are not known."""
    if isinstance(layer, Layer):
        return layer.weights
    if isinstance(layer, Model):
        return None if layer.parameters is None else {"all": (layer.parameters,)}
    return None


def count_parameters(layers: list[Value] | None, sure: bool = True) -> Const | None:
    """The parameters of several layers, each counted once: also one that another holds (an embedding and its head)."""
    if layers is None or not sure:
        return None
    total = 0
    counted = {id(layer) for layer in layers}
    for layer in layers:
        shared = []
        for part in tensors(layer.attributes.get("_parts")) if isinstance(layer, Layer) else ():
            if id(part) in counted:
                shared.append(part)
            counted.add(id(part))
        numbers = [number for one in (layer, *shared) if (number := parameters(weights_of(one))) is not None]
        if len(numbers) <= len(shared):
            return None
        total += numbers[0] - sum(numbers[1:])
    return Const(total)


def inner_layers(value: Value) -> Iterator[Layer]:
    """All single layers of a model or layer, nested ones too, each once."""
    seen: set[int] = set()
    stack: list[Value] = [value]
    while stack:
        current = deref(stack.pop())
        if isinstance(current, Instance) and current.facet is not None:
            current = current.facet
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Model):
            stack.extend(reversed(current.layers or []))
            for name in ("_head", "_either", "_parts"):
                stack.extend(reversed(tensors(current.attributes.get(name))))
        elif isinstance(current, Layer) and "_either" in current.attributes:
            stack.extend(reversed(current.ways()))
        elif isinstance(current, Layer):
            yield current
            if current.inner is not None:
                stack.append(current.inner)
            stack.extend(reversed(tensors(current.attributes.get("_parts"))))


def owned(run: Run, instance: Instance) -> list[Value]:
    """The layers and models that an object of the program holds in its attributes, in order of writing."""
    found: list[Value] = []
    for value in run.state.attributes(instance):
        for item in tensors(value):
            part = item.facet if isinstance(item, Instance) and item.facet is not None else item
            if isinstance(part, Layer | Model) and all(part is not other for other in found):
                found.append(part)
    return found


def trained_weights(layer: Layer) -> dict[str, Shape] | None:
    """The weights of a layer that an optimizer changes."""
    if layer.weights is None:
        return None
    return {
        name: shape for name, shape in layer.weights.items() if name.rpartition("/")[2] not in NEVER_TRAINED
    }


def without_batch(shape: Shape | None) -> Shape | None:
    """A shape whose first dimension is left open, as models are built."""
    return None if not shape else (None, *shape[1:])


def as_symbolic(value: Value) -> Value:
    """A data set's element or an array as the input that a model is built on."""
    value = deref(value)
    match value:
        case Array():
            return replace(value, library="keras", shape=without_batch(value.shape), producer=Node())
        case Sequence(items=list(items)):
            return Sequence(value.kind, items=[as_symbolic(item) for item in items])
        case Mapping(entries=entries):
            return Mapping({key: as_symbolic(item) for key, item in entries.items()}, value.complete)
    return value
