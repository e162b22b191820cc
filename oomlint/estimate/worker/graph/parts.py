"""What the bytes at the peak are, and which layer keeps how many for the backward pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oomlint.estimate.result import LayerShare
from oomlint.estimate.worker.graph.lives import Buffer, Lives
from oomlint.estimate.worker.graph.program import Program

BACKWARD = "gradient_tape"  # the scope of what a GradientTape computes
POINTS = 1200  # of a timeline, at most


def parts_of(program: Program, lives: Lives) -> dict[str, int]:
    """Gradients, activations, temporaries and the input at the peak, in bytes."""
    readers = _readers(program)
    parts = dict.fromkeys(("gradients", "activations", "temporaries", "input"), 0)
    for buffer in lives.at_peak:
        parts[_part(program, buffer, readers)] += buffer.size
    # Less what variables gave back that got a new buffer, more what the operation itself takes while it runs.
    parts["temporaries"] += lives.peak - sum(buffer.size for buffer in lives.at_peak)
    return parts


def _part(program: Program, buffer: Buffer, readers: list[set[int]]) -> str:
    maker = program.operations[buffer.maker]
    if maker.type == "Argument":
        return "input"
    backward = [_is_backward(program, reader) for holder in buffer.holders for reader in readers[holder]]
    if BACKWARD in maker.name:
        return "temporaries" if all(backward) else "gradients"
    return "activations" if any(backward) else "temporaries"


def _is_backward(program: Program, number: int) -> bool:
    return BACKWARD in program.operations[number].name


def _readers(program: Program) -> list[set[int]]:
    """For each operation those that read what it made."""
    readers: list[set[int]] = [set() for _ in program.operations]
    for number, operation in enumerate(program.operations):
        for source, _ in operation.inputs:
            readers[source].add(number)
    return readers


def layers_of(program: Program, lives: Lives, model: Any) -> list[LayerShare]:
    """Every layer with its parameters, and the bytes of its forward pass that the backward pass reads.

    A buffer that several layers write into, one after the other, belongs to the last of them.
    """
    layers = list(_leaves(model))
    names = {layer.name for layer in layers}
    saved = dict.fromkeys(names, 0)
    readers = _readers(program)
    for buffer in lives.buffers:
        if _part(program, buffer, readers) == "activations":
            owners = (
                layer_named(program.operations[holder].name, names) for holder in reversed(buffer.holders)
            )
            owner = next(filter(None, owners), "")
            if owner:
                saved[owner] += buffer.size
    return [
        LayerShare(
            layer.name,
            type(layer).__name__,
            _shape(layer),
            int(layer.count_params()) if layer.built else 0,
            saved[layer.name],
        )
        for layer in layers
    ]


def layer_named(operation: str, names: Iterable[str]) -> str:
    """The innermost layer in an operation's scopes; TensorFlow appends a number to a scope that is there already."""
    known = names if isinstance(names, (set, dict)) else set(names)
    for scope in reversed(operation.split("/")):
        base, _, digits = scope.rpartition("_")
        if scope in known:
            return scope
        if digits.isdigit() and base in known:
            return base
    return ""


def _leaves(model: Any) -> Iterable[Any]:
    for layer in model._flatten_layers(include_self=False, recursive=True):
        inner = list(layer._flatten_layers(include_self=False)) if hasattr(layer, "_flatten_layers") else []
        if not inner:
            yield layer


def _shape(layer: Any) -> tuple[int | None, ...] | None:
    try:
        shape = layer.output.shape
    except (AttributeError, ValueError):
        return None
    return tuple(shape)


def timeline_of(program: Program, lives: Lives, state: int, model: Any) -> list[tuple[str, int]]:
    """The bytes while the operations ran, thinned out so that no stretch loses its highest point."""
    names = {layer.name for layer in _leaves(model)}
    width = max(1, -(-len(lives.timeline) // POINTS))
    points = []
    for start in range(0, len(lives.timeline), width):
        stretch = range(start, min(start + width, len(lives.timeline)))
        top = max(stretch, key=lives.timeline.__getitem__)
        name = program.operations[lives.order[top]].name
        points.append((layer_named(name, names) or name, state + lives.timeline[top]))
    return points
