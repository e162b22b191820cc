"""Attention layers in models that are trained, and the scores that they make for each pair of positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.apply import config_of, short
from oomlint.dryrun.catalog.keras.dims import UNSURE, axis_of, known, product
from oomlint.dryrun.queries.tensor_sizes import Factor, batch_factor, count, factor, itemsize_of
from oomlint.dryrun.queries.trained_models import clearly_trained, layers_in_use
from oomlint.dryrun.values.arrays import Dim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.trained_models import Trained, Use
    from oomlint.dryrun.trace import Trace
    from oomlint.dryrun.values.arrays import Shape
    from oomlint.dryrun.values.training import Layer
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
    for number, trained in enumerate(clearly_trained(trace)):
        for use in layers_in_use(trained.model):
            if id(use.layer) in trained.frozen or (number, id(use.layer)) in counted:
                continue
            counted.add((number, id(use.layer)))
            made = _scores(use, trained)
            if made is None:
                continue
            key = number, id(made.place.node)
            before = groups.get(key)
            groups[key] = made if before is None else _together(before, made)
    best: dict[int, Scores] = {}
    for made in groups.values():
        before = best.get(id(made.place.node))
        if before is None or made.bytes > before.bytes:
            best[id(made.place.node)] = made
    yield from best.values()


def _together(one: Scores, two: Scores) -> Scores:
    """Layers of one place: all counted like the smaller ones of them."""
    from dataclasses import replace

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
