"""Generators of the program: what they yield, and how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.trace import Body, Branch, Handler, Loop
from oomlint.dryrun.values.base import NONE, Const, Sequence, Unknown, Value, join_all, merge

if TYPE_CHECKING:
    from oomlint.dryrun.calls import Activation
    from oomlint.dryrun.interpreter import Run


def evaluate_yield(run: Run, node: cst.Yield) -> Value:
    """`yield`: one more item, as often as the loops around it say."""
    activation = run.activations[-1]
    times, once = _times(run)
    activation.in_order = activation.in_order and once
    if node.value is None:
        activation.yielded.append(NONE)
    elif isinstance(node.value, cst.From):
        activation.in_order, times = False, None
        inner = run.iterate(run.evaluate(node.value.item))
        activation.yielded.append(inner.element or Sequence(items=inner.items).any)
    else:
        activation.yielded.append(run.evaluate(node.value))
    activation.times.append(times)
    return Unknown()


def given(activation: Activation) -> Sequence:
    """What a generator gives: its items where each was yielded once, else one that stands for all."""
    if activation.in_order:
        return Sequence("generator", items=activation.yielded)
    known = [times for times in activation.times if times is not None]
    count = None
    if len(known) == len(activation.times):
        count = Const(sum(times.value for times in known), merge(*(times.trail for times in known)))
    return Sequence("generator", element=join_all(activation.yielded), count=count)


def _times(run: Run) -> tuple[Const | None, bool]:
    """How often an expression in a function is taken, where loops tell; whether the dry run takes it as often."""
    product, once = Const(1), True
    for frame in run.context.frames():
        if isinstance(frame, Body):
            return product, once
        if isinstance(frame, Branch | Handler):
            return None, False
        if isinstance(frame, Loop) and not frame.unrolled:
            if frame.trip is None:
                return None, False
            once = False
            product = Const(product.value * frame.trip.value, merge(product.trail, frame.trip.trail))
    return None, False
