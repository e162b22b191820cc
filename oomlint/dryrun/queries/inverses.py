"""Products with `1 / N`, which divide: `gradient * (1 / STEPS)`, `scale = 1 / STEPS; tf.multiply(gradient, scale)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.values.base import Const, Step, deref

if TYPE_CHECKING:
    import libcst as cst

    from oomlint.dryrun.trace import Call

# What a name may say of a factor and tell nothing more than that it is one.
_PLAIN = frozenset(
    "scale scaling scaler factor inv inverse one over by per loss grad grads gradient gradients".split()
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def inverse_of(call: Call) -> Const | None:
    """N, where a product has a factor `1 / N`."""
    found = inverse_side(call)
    return found[1] if found is not None else None


def inverse_side(call: Call) -> tuple[cst.CSTNode, Const] | None:
    """The factor `1 / N` of a product, as the product has it, and N."""
    import libcst as cst

    node = call.node
    sides: tuple[cst.CSTNode, ...] = (node.left, node.right) if isinstance(node, cst.BinaryOperation) else ()
    if isinstance(node, cst.Call):
        sides = tuple(argument.place.node for argument in call.arguments[:2])
    if isinstance(node, cst.AugAssign):
        sides = (node.target, node.value)
    for side, argument in zip(sides, call.arguments, strict=False):
        value = deref(argument.value)
        if isinstance(value, Const) and isinstance(value.value, float) and value.value > 0:
            whole = 1 / value.value
            steps = _steps(side, value)
            if steps is not None and abs(whole - round(whole)) < 1e-6:
                return side, Const(round(whole), steps, value.soft)
    return None


def _steps(side: cst.CSTNode, value: Const) -> tuple[Step, ...] | None:
    """The way that N came, where a factor is written as `1 / N`, or has a name and is bound to it as that."""
    import libcst as cst

    if isinstance(side, cst.BinaryOperation):
        return value.trail if _divides_one(side, value) else None
    if not isinstance(side, cst.Name | cst.Attribute | cst.Subscript):
        return None
    for at, step in enumerate(value.trail):
        node = step.place.node if step.place is not None else None
        if isinstance(node, cst.BinaryOperation) and _divides_one(node, value):
            return value.trail[:at]
    return None


def _divides_one(node: cst.BinaryOperation, value: Const) -> bool:
    import libcst as cst

    if not isinstance(node.operator, cst.Divide):
        return False
    match node.left:
        case cst.Integer() | cst.Float() as one:
            return one.evaluated_value == 1
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            texts = (name,)
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
            texts = (repr(key.evaluated_value),)
        case _:
            return False
    ones = [step.place.node for step in value.trail if step.text in texts and step.place is not None]
    return any(isinstance(one, cst.Integer | cst.Float) and one.evaluated_value == 1 for one in ones)


def purpose_of(call: Call) -> str:
    """What the name of the factor says that it is for (`loss_weight`, `beta`); empty if that is nothing."""
    found = inverse_side(call)
    name = dotted(found[0]).rpartition(".")[2] if found is not None else ""
    return "" if all(word.lower() in _PLAIN for word in _WORD.findall(name)) else name
