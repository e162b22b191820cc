"""A model's layers in the answer of an engine: which one an operation belongs to, their rows, the timeline's labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from oomlint.estimate.result import LayerShare

_SCOPES = re.compile(r"[\w.\-]+")


def leaves(model: Any) -> Iterable[Any]:
    """The layers of a model, those of nested models in their place."""
    for layer in getattr(model, "layers", ()):
        inner = getattr(layer, "layers", None)
        if inner and not callable(inner):
            yield from leaves(layer)
        else:
            yield layer


class Names:
    """Layers by the names in an operation's scopes."""

    def __init__(self, layers: Iterable[Any]) -> None:
        self._known = {layer.name for layer in layers}

    def layer(self, op_name: str) -> str:
        """The innermost layer, or nothing. TensorFlow appends a number to a scope that it has seen."""
        for scope in reversed(_SCOPES.findall(op_name)):
            if scope in self._known:
                return str(scope)
            stem, _, number = scope.rpartition("_")
            if number.isdigit() and stem in self._known:
                return str(stem)
        return ""


def layer_rows(layers: Iterable[Any], saved: Mapping[str, int]) -> list[LayerShare]:
    """One row a layer, in their order; `saved` are bytes by the layer's name."""
    return [
        LayerShare(
            layer.name,
            type(layer).__name__,
            _output_shape(layer),
            int(layer.count_params()) if layer.built else 0,
            saved.get(layer.name, 0),
        )
        for layer in layers
    ]


def _output_shape(layer: Any) -> tuple[int | None, ...] | None:
    try:
        shape = layer.output.shape
    except (AttributeError, ValueError, RuntimeError):
        return None
    return tuple(None if size is None else int(size) for size in shape)


def thinned(
    levels: Sequence[int], label: Callable[[int], str], fixed: int, most: int
) -> list[tuple[str, int]]:
    """At most so many points of a step, in order: the fullest moment of each stretch, beside what is always there."""
    stretch = max(1, -(-len(levels) // most))
    points = []
    for start in range(0, len(levels), stretch):
        at = max(range(start, min(start + stretch, len(levels))), key=levels.__getitem__)
        points.append((label(at), fixed + levels[at]))
    return points
