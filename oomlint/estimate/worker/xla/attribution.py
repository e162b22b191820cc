"""What the bytes in the temporary block are, and whose: by the operation names that frameworks leave in a program.

JAX writes `jit(train_step)/jvp(conv1)/conv_general_dilated` for the forward pass and `transpose(jvp(conv1))` for the
backward one; TensorFlow `functional_1/conv1_1/convolution`, and `gradient_tape/` in front for the backward one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from oomlint.estimate.worker.keras.layers import Names, leaves, thinned
from oomlint.estimate.worker.xla.buffers import Assignment, Buffer, alive, spans

POINTS = 400  # of a timeline, at most

Phase = Literal["forward", "backward", "update"]

_SHAPE = re.compile(r"^\w+\[([\d,]*)\]")
# Work that the scheduler moves about freely says nothing of where the backward pass begins.
_REAL_WORK = ("fusion", "custom-call", "convolution", "dot", "while", "reduce", "scatter", "call")


@dataclass(frozen=True, slots=True)
class Shares:
    """The temporary block at its fullest: by part, by layer (activations), and the step at which it is."""

    parts: dict[str, int]
    saved: Counter[str]
    timeline: list[tuple[str, int]]
    peak_at: str


def phase_of(op_name: str) -> Phase:
    """Which part of the step an operation belongs to."""
    if "transpose(" in op_name or "gradient_tape" in op_name or "gradients/" in op_name:
        return "backward"
    if "jvp(" in op_name:
        return "forward"
    if op_name.startswith("jit(") or "XLA_Retvals" in op_name:
        return "update"
    return "forward"


def shares(found: Assignment, model: Any, fixed: int) -> Shares:
    """Split the temporary block. `fixed` is what is there throughout: weights, slots, the batch."""
    names = Names(leaves(model))
    levels = alive(found)
    parts = dict.fromkeys(("gradients", "activations", "temporaries"), 0)
    saved: Counter[str] = Counter()
    if not levels:
        parts["temporaries"] = found.temporaries
        return Shares(parts, saved, [], "")
    peak = max(range(len(levels)), key=levels.__getitem__)
    turn = _turn(found)
    weights = {_sides(variable.shape) for variable in model.trainable_variables if len(variable.shape)}
    for buffer in found.buffers:
        here = buffer.at(peak)
        if here is None:
            continue
        first, last, value, shape = here
        op_name = found.op_names.get(value.partition("{")[0], "")
        if not op_name or "while" in op_name:
            op_name, first, last = _of_loop(found, buffer, peak)
        if found.opcodes.get(value.partition("{")[0]) == "copy" and _sides_of(shape) in weights:
            kind = "temporaries"  # the old weight, kept beside the new one for those that still read it
        elif first < turn and (not op_name or phase_of(op_name) == "forward"):
            kind = "activations" if last >= turn else "temporaries"
        else:
            kind = "gradients" if _sides_of(shape) in weights else "temporaries"
        parts[kind] += buffer.size
        if kind == "activations":
            saved[names.layer(op_name)] += buffer.size
    # What lies between the buffers, or is in use under two names at once.
    parts["temporaries"] += found.temporaries - sum(parts.values())
    _no_part_below_nothing(parts)

    def label(at: int) -> str:
        op_name = found.op_names.get(found.order[at], "")
        return names.layer(op_name) or op_name.rpartition("/")[2] or found.order[at]

    timeline = thinned(levels, label, fixed, POINTS)
    return Shares(parts, saved, timeline, _place(found, peak, names))


def _place(found: Assignment, moment: int, names: Names) -> str:
    """The layer at work then: of the latest operation that names one, as what XLA made up itself names none."""
    for name in reversed(found.order[: moment + 1]):
        if layer := names.layer(found.op_names.get(name, "")):
            return layer
    return found.op_names.get(found.order[moment], found.order[moment])


def _of_loop(found: Assignment, buffer: Buffer, moment: int) -> tuple[str, int, int]:
    """The operation behind a buffer that a loop carries, its first and its last use.

    The loop's own values stand in one place one after another: the zeros that it begins with, the body's, the result.
    """
    first, last = next(span for span in spans(buffer) if span[0] <= moment <= span[1])
    names = (
        found.op_names.get(life[2].partition("{")[0], "") for life in buffer.lives if first <= life[0] <= last
    )
    known = [name for name in names if name]
    forward = next((name for name in known if phase_of(name) == "forward"), "")
    return forward or (known[0] if known else ""), first, last


def _no_part_below_nothing(parts: dict[str, int]) -> None:
    """Buffers that overlap are counted twice above: the sum stays the block's size."""
    if parts["temporaries"] < 0:
        parts["activations"] += parts["temporaries"]
        parts["temporaries"] = 0


def _turn(found: Assignment) -> int:
    """Where the forward pass ends: the position with the most forward work before and backward work after it."""
    best, score, at = 0, 0, 0
    for position, name in enumerate(found.order):
        if not found.opcodes.get(name, "").startswith(_REAL_WORK):
            continue
        score += 1 if phase_of(found.op_names.get(name, "")) == "forward" else -1
        if score > best:
            best, at = score, position + 1
    return at


def _sides(shape: Iterable[int]) -> tuple[int, ...]:
    """A shape whatever its order, and without sides of one: XLA transposes as it likes."""
    return tuple(sorted(int(side) for side in shape if int(side) != 1))


def _sides_of(text: str) -> tuple[int, ...]:
    found = _SHAPE.match(text)
    return _sides(int(side) for side in found[1].split(",") if side) if found else ()
