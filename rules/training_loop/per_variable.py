"""Loops over a model's variables: there are so many of them, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst
from oomlint.rules.training_loop.keeping import COMPUTES, MAKERS, Kept, is_called_as_a_model

from oomlint.dryrun.loops import target_names
from oomlint.dryrun.trace import Body
from oomlint.dryrun.values.base import deref
from oomlint.dryrun.values.training import Layer
from oomlint.syntax.uses import Use, names_in, uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.dryrun.trace import Loop

# Methods that only a variable has.
ASSIGNING = frozenset(["assign", "assign_add", "assign_sub"])
# What models and layers call the parts that they consist of.
PARTS = frozenset(
    """trainable_variables trainable_weights non_trainable_variables non_trainable_weights variables weights layers
    losses""".split()
)


def is_one_per_variable(trace: Trace, loop: Loop | None) -> bool:
    """Whether the loop goes over variables: by what it goes over is called, or by what it does with each."""
    node = loop.place.node if loop is not None else None
    if not isinstance(node, cst.For):
        return False
    names = target_names(node.target)
    if _is_over_parts(node.iter) or any(
        _is_assigned_to(use) for name in names for use in uses(node.body, name)
    ):
        return True
    for call in trace.calls("tf.GradientTape.gradient", "tf.GradientTape.jacobian"):
        source = call.argument("sources") or call.argument("source")
        if (
            source is not None
            and source.path in names
            and any(frame is loop for frame in call.context.loops())
        ):
            return True
    return False


def is_one_per_tensor(trace: Trace, kept: Kept) -> bool:
    """Whether all loops go over lists that are there, and make one tensor of each by arithmetic: as many again."""
    made = kept.container.context
    before = made.loops() if made is not None else []
    loops = [loop for loop in kept.call.context.loops() if loop not in before]
    if not loops or not all(_is_over_places(trace, loop, kept.expression) for loop in loops):
        return False
    pending, seen = [kept.value], 0
    while pending and seen < MAKERS:
        one, seen = deref(pending.pop()), seen + 1
        maker = trace.maker(one) or trace.subscript(one)
        if maker is None or not any(loop in maker.context.loops() for loop in loops):
            continue
        if maker.name.startswith((*COMPUTES, "tf.GradientTape.")) or is_called_as_a_model(trace, maker):
            return False
        pending += [argument.value for argument in maker.arguments]
        pending += [maker.receiver] if maker.receiver is not None else []
    return True


def is_the_same_each_round(trace: Trace, kept: Kept, loop: Loop | None) -> bool:
    """Whether a layer made out of sight is called on what no round changes: room in a model, for each of its blocks."""
    maker = trace.maker(kept.value)
    layer = deref(maker.receiver) if maker is not None and maker.receiver is not None else None
    made = maker.node if maker is not None else None  # the result may have got a name before it is kept
    if (
        loop is None
        or not isinstance(layer, Layer)
        or layer.made_by is not None
        or not isinstance(made, cst.Call)
    ):
        return False
    body = kept.call.context.innermost(Body)
    bound = {
        assign.path
        for assign in trace.assigns()
        if loop in assign.context.loops() and assign.context.innermost(Body) is body
    }
    bound |= set(target_names(loop.place.node.target)) if isinstance(loop.place.node, cst.For) else set()
    return all(bound.isdisjoint(names_in(argument.value)) for argument in made.args)


def _is_over_places(trace: Trace, loop: Loop, kept: cst.BaseExpression) -> bool:
    """Whether it goes over `range(len(weights))`, be the length a name's, or over `zip(weights, moved)`.

    `enumerate(weights)` is the same where what is kept takes from another list by the number: `weight + moved[i]`.
    """
    maker = trace.maker(loop.iterable) if loop.iterable is not None else None
    if maker is None or not isinstance(loop.place.node, cst.For):
        return False
    if maker.name == "builtins.zip":
        return len(maker.arguments) > 1
    if maker.name == "builtins.enumerate":
        number = next(iter(target_names(loop.place.node.target)), None)
        return number is not None and any(
            isinstance(use.parent, cst.Index) for use in uses(cst.Arg(kept), number)
        )
    given = maker.arguments[0].value if maker.name == "builtins.range" and len(maker.arguments) == 1 else None
    length = trace.maker(given) if given is not None else None
    return length is not None and length.name == "builtins.len"


def _is_over_parts(expression: cst.BaseExpression) -> bool:
    """Whether it is `model.trainable_variables`, also behind `enumerate` and beside gradients in `zip`."""
    match expression:
        case cst.Attribute(attr=cst.Name(value=name)):
            return name in PARTS
        case cst.Call(func=cst.Name(value="enumerate" | "zip" | "reversed" | "list"), args=arguments):
            return any(_is_over_parts(argument.value) for argument in arguments)
    return False


def _is_assigned_to(use: Use) -> bool:
    """Whether a use is the variable, or its number, in `variable.assign(...)`, `variables[i].assign_add(...)`."""
    match use.around:
        case [cst.Attribute(attr=cst.Name(value=name)), cst.Call(), *_]:
            return name in ASSIGNING
        case [
            cst.Index(),
            cst.SubscriptElement(),
            cst.Subscript(),
            cst.Attribute(attr=cst.Name(value=name)),
            *_,
        ]:
            return name in ASSIGNING
    return False
