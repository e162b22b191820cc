"""What the bytes at the peak are, and which layer keeps how many for the backward pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from oomlint.estimate.result import LayerShare
from oomlint.estimate.worker.graph.lives import Buffer, Lives
from oomlint.estimate.worker.graph.operations import Program
from oomlint.estimate.worker.keras.layers import Names, layer_rows, thinned

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
    layers = list(_innermost(model))
    names = Names(layers)
    saved: Counter[str] = Counter()
    readers = _readers(program)
    for buffer in lives.buffers:
        if _part(program, buffer, readers) == "activations":
            owners = (names.layer(program.operations[holder].name) for holder in reversed(buffer.holders))
            owner = next(filter(None, owners), "")
            if owner:
                saved[owner] += buffer.size
    return layer_rows(layers, saved)


def _innermost(model: Any) -> Iterable[Any]:
    """Layers without layers in them, also those that wrappers and the user's own layers hold."""
    for layer in model._flatten_layers(include_self=False, recursive=True):
        inner = list(layer._flatten_layers(include_self=False)) if hasattr(layer, "_flatten_layers") else []
        if not inner:
            yield layer


def timeline_of(program: Program, lives: Lives, state: int, model: Any) -> list[tuple[str, int]]:
    """The bytes while the operations ran, thinned out so that no stretch loses its highest point."""
    names = Names(_innermost(model))

    def label(at: int) -> str:
        name = program.operations[lives.order[at]].name
        return names.layer(name) or name

    return thinned(lives.timeline, label, state, POINTS)
