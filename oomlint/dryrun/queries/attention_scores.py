"""Attention layers in models that are trained, and the scores that they make for each pair of positions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.apply import config_of, short
from oomlint.dryrun.catalog.keras.dims import UNSURE, axis_of, known, product
from oomlint.dryrun.queries.tensor_sizes import Factor, batch_factor, count, factor, itemsize_of
from oomlint.dryrun.queries.trained_models import clearly_trained, layers_in_use
from oomlint.dryrun.trace import Role
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.training import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.trained_models import Trained, Use
    from oomlint.dryrun.trace import Call, Trace
    from oomlint.dryrun.values.arrays import Shape
    from oomlint.dryrun.values.base import Value
    from oomlint.syntax.place import Place


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of attention layers made at one place, `layers` of them, all alike.

    One tensor of them has `factors` elements. Of each layer `kept` of its size waits for the backward pass; while
    one layer is gone through backwards, `working` more of them live.
    """

    layer: Layer
    place: Place
    trained: Trained
    factors: tuple[Factor, ...]
    itemsize: int
    kept: float
    working: float
    layers: int = 1

    @property
    def single(self) -> int:
        """Bytes of the scores of one layer."""
        return count(self.factors) * self.itemsize

    @property
    def bytes(self) -> int:
        """What a training step holds of them at its peak."""
        return int(self.single * (self.layers * self.kept + self.working))


# Units of one layer's scores: what waits for the backward pass (the softmax' result; with dropout its mask and
# result too), and what lives beside it at the peak. Peaks of one layer: 4.0, 4.3 with dropout, 3.2 for Attention;
# each further layer adds what waits. AdditiveAttention keeps the tanh of every sum of a query and a key
# (keras/src/layers/attention/additive_attention.py). benchmarks/activations.py measures them.
_UNITS = {
    ("MultiHeadAttention", False): (1.0, 3.0),
    ("MultiHeadAttention", True): (2.25, 2.05),
    ("Attention", False): (1.0, 2.2),
    ("Attention", True): (1.0, 2.2),
    ("AdditiveAttention", False): (1.0, 3.0),
    ("AdditiveAttention", True): (1.0, 3.0),
}
_LIKE = {"GroupQueryAttention": "MultiHeadAttention", "GroupedQueryAttention": "MultiHeadAttention"}


def attention_scores(trace: Trace) -> Iterator[Scores]:
    """The scores of every attention layer whose every factor is known, those of one place together."""
    groups: dict[tuple[int, int], Scores] = {}
    counted: set[tuple[int, int]] = set()
    by_hand = _softmaxes(trace)
    for number, trained in enumerate(clearly_trained(trace)):
        for use in layers_in_use(trained.model):
            if id(use.layer) in trained.frozen or (number, id(use.layer)) in counted:
                continue
            counted.add((number, id(use.layer)))
            own = [_own(use, call, trained) for call in by_hand.get(id(use.layer), {}).values()]
            for made in (_scores(use, trained), *own):
                if made is not None:
                    key = number, id(made.place.node)
                    before = groups.get(key)
                    groups[key] = made if before is None else _together(before, made)
    best: dict[int, Scores] = {}
    for scores in groups.values():
        before = best.get(id(scores.place.node))
        if before is None or scores.bytes > before.bytes:
            best[id(scores.place.node)] = scores
    yield from best.values()


def _together(one: Scores, two: Scores) -> Scores:
    """Layers of one place: all counted like the smaller ones of them."""
    return replace(min(one, two, key=lambda scores: scores.single), layers=one.layers + 1)


def _scores(use: Use, trained: Trained) -> Scores | None:
    layer, name = use.layer, short(use.layer)
    kind = _LIKE.get(name, name)
    if (kind, False) not in _UNITS or len(layer.inputs) < 1:
        return None
    config = config_of(layer)
    query = layer.inputs[0]
    value = layer.inputs[1] if len(layer.inputs) > 1 else None
    if query is None or value is None or len(query) != len(value) or len(query) < 3:
        return None
    found = _positions(config.get("attention_axes"), query, value)
    if found is None:
        return None
    rest, queries, keys = found
    heads = config.dim("num_heads") if name == "MultiHeadAttention" else config.dim("num_query_heads")
    factors = [
        batch_factor(query, trained.batch),
        *(factor("time steps around it", dim) for dim in use.steps),
    ]
    if kind == "MultiHeadAttention":
        factors.append(factor("heads", heads))
    if rest is not None:
        factors.append(factor("places that attend each by itself", rest))
    factors += [factor("queries", queries), factor("keys", keys)]
    if kind == "AdditiveAttention":
        factors.append(factor("features of each sum", query[-1]))
    if kind == "Attention" and config.get("score_mode", "dot") != "dot":
        return None
    whole = tuple(item for item in factors if item is not None)
    if len(whole) < len(factors):
        return None
    dropped = config.get("dropout", 0.0)
    kept, working = _UNITS[kind, dropped is not UNSURE and bool(dropped)]
    return Scores(layer, use.place, trained, whole, itemsize_of(layer), kept, working)


def _positions(axes: object, query: Shape, value: Shape) -> tuple[Dim, Dim, Dim] | None:
    """What is left as it is (None: nothing), the positions that ask, and those that are asked."""
    inner = range(1, len(query) - 1)
    if axes is UNSURE:
        return None
    if axes is None:
        chosen = set(inner)
    else:
        given = axes if isinstance(axes, tuple) else (axes,)
        chosen = {index for axis in given if (index := axis_of(axis, len(query))) is not None}
    if not chosen or not chosen <= set(inner):
        return None
    queries, keys = (product(tuple(shape[axis] for axis in sorted(chosen))) for shape in (query, value))
    rest = tuple(query[axis] for axis in inner if axis not in chosen)
    if queries is None or keys is None or (rest and known(product(rest)) is None):
        return None
    return product(rest) if rest else None, queries, keys


# --- by hand ------------------------------------------------------------------------------------------

SOFTMAX = (
    "tf.nn.softmax",
    "tf.math.softmax",
    "keras.ops.softmax",
    "keras.ops.nn.softmax",
    "keras.activations.softmax",
)
PRODUCTS = frozenset(
    """tf.matmul tf.linalg.matmul tf.einsum operator.matmul keras.ops.matmul keras.ops.einsum keras.ops.dot
    keras.backend.batch_dot keras.backend.dot""".split()
)


def _softmaxes(trace: Trace) -> dict[int, dict[int, Call]]:
    """For each layer of the program the softmaxes over products of two tensors in its `call`, by their nodes."""
    found: dict[int, dict[int, Call]] = {}
    for call in trace.calls(*SOFTMAX, "keras.Layer.__call__"):
        receiver = call.receiver
        if call.name.endswith("__call__") and not (
            isinstance(receiver, Layer) and short(receiver) == "Softmax"
        ):
            continue
        instance = next((role.value for role in call.context.all(Role) if role.name == "keras.call"), None)
        layer = instance.facet if isinstance(instance, Instance) else None
        value = deref(call.arguments[0].value) if call.arguments else None
        if isinstance(layer, Layer) and isinstance(value, Array) and _of_pairs(value, trace):
            found.setdefault(id(layer), {})[id(call.place.node)] = call
    return found


def _of_pairs(value: Array, trace: Trace) -> bool:
    """Whether scores were computed as products of two tensors, scaled and masked since."""
    if value.shape is None or len(value.shape) < 3:
        return False
    current: Value = value
    for _ in range(8):
        maker = trace.maker(current)
        if maker is None:
            return False
        if maker.name in PRODUCTS:
            return _two_tensors(maker)
        if not maker.name.startswith(("operator.", "tf.where", "keras.ops.")) or not maker.arguments:
            return False
        current = maker.arguments[1 if maker.name.endswith("where") and len(maker.arguments) > 1 else 0].value
    return False


def _two_tensors(product: Call) -> bool:
    """Whether both factors are data, one for each sample; a weight times data is a dense layer."""
    given = [deref(argument.value) for argument in product.arguments]
    arrays = [value for value in given if isinstance(value, Array)]
    return len(arrays) > 1 and all(
        value.library != "variable" and len(value.shape or ()) > 2 for value in arrays
    )


def _own(use: Use, call: Call, trained: Trained) -> Scores | None:
    """The scores that a layer of the program's own puts through a softmax."""
    if not call.arguments:
        return None
    value = deref(call.arguments[0].value)
    shape = value.shape if isinstance(value, Array) else None
    if shape is None:
        return None
    factors = [
        batch_factor(shape, trained.batch),
        *(factor("time steps around it", dim) for dim in use.steps),
    ]
    factors += [factor("heads or places", dim) for dim in shape[1:-2]]
    factors += [factor("queries", shape[-2]), factor("keys", shape[-1])]
    whole = tuple(item for item in factors if item is not None)
    if len(whole) < len(factors):
        return None
    kept, working = _UNITS["MultiHeadAttention", False]
    return Scores(use.layer, call.place, trained, whole, itemsize_of(use.layer), kept, working)
