"""How many steps one update sums: what the rule on accumulation reads from loops and conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.queries.losses import unwrapped
from oomlint.dryrun.trace import Body, Branch, Context, Loop
from oomlint.dryrun.values.base import Const, deref
from oomlint.syntax.uses import Use, names_in, uses

if TYPE_CHECKING:
    from oomlint.rules.training_loop.updates import Update

    from oomlint.dryrun import Trace


@dataclass(frozen=True, slots=True)
class Steps:
    """How many rounds are summed: the number, and how the script calls it where the update stands."""

    number: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """What gives the gradients a new batch each time: a loop, or (None) Keras, which calls `train_step`."""

    loop: Loop | None

    def surrounds(self, context: Context) -> bool:
        """Whether something happens anew in every round."""
        if self.loop is None:
            return in_train_step(context)
        return any(
            isinstance(frame, Loop) and frame.place.node is self.loop.place.node for frame in context.frames()
        )


def in_train_step(context: Context) -> bool:
    """Whether Keras runs this for every batch: the `train_step` of a model of the program."""
    return any(
        body.function.name == "train_step"
        and body.function.owner is not None
        and body.function.owner.library_bases()
        for body in context.all(Body)
    )


def innermost(context: Context) -> Loop | None:
    """The loop directly around something, comprehensions aside."""
    return next((loop for loop in context.loops() if loop.kind != "comprehension"), None)


def steps_of(trace: Trace, update: Update, each: Round) -> Steps | None:
    """How many steps one update sums: the rounds of the inner loop, or N of `step % N == 0`."""
    context = update.call.context
    loop = each.loop
    if loop is not None and not each.surrounds(context):
        number = loop.trip.value if loop.trip is not None and isinstance(loop.trip.value, int) else None
        if number is not None and number < 2:
            return None
        match loop.place.node:
            case cst.For(
                iter=cst.Call(func=cst.Name(value="range"), args=[cst.Arg(value=cst.Name(value=text))])
            ):
                return Steps(number, text)
        return Steps(number, None)
    function = context.function()
    for body, frame in _branches(context):
        test = frame.test_node
        maker = trace.maker(frame.test) if isinstance(test, cst.Name) else None
        test = maker.node if maker is not None else test
        found = _period(test) if test is not None else None
        if found is None:
            continue
        text = (
            update.call.source.code(found)
            if isinstance(found, cst.Name | cst.Attribute | cst.Integer)
            else ""
        )
        number, plain = _number(trace, found)
        if not plain:
            text = ""  # a tensor of integers does not divide gradients
        here = body is function or text.startswith("self.") or isinstance(found, cst.Integer)
        if number is None or number > 1:
            return Steps(number, text if here and text else None)
    return None


def _branches(context: Context) -> Iterator[tuple[object, Branch]]:
    """The conditions around a place, each with the function whose body it stands in."""
    pending: list[Branch] = []
    for frame in context.frames():
        if isinstance(frame, Branch):
            pending.append(frame)
        elif isinstance(frame, Body):
            yield from ((frame.function, branch) for branch in pending)
            pending = []
    yield from ((None, branch) for branch in pending)


def _period(test: cst.CSTNode) -> cst.BaseExpression | None:
    """N in a test like `(step + 1) % N == 0` or `count == N`."""
    stack: list[cst.CSTNode] = [test]
    equal: cst.BaseExpression | None = None
    while stack:
        node = stack.pop()
        match node:
            case cst.BinaryOperation(operator=cst.Modulo(), right=right):
                return right
            case cst.Call(
                func=cst.Attribute(attr=cst.Name(value="equal")), args=[_, cst.Arg(value=right), *_]
            ):
                equal = right
            case cst.Comparison(
                comparisons=[cst.ComparisonTarget(operator=cst.Equal() | cst.GreaterThanEqual())]
            ):
                equal = node.comparisons[0].comparator
        stack.extend(node.children)
    return equal


def _number(trace: Trace, node: cst.BaseExpression) -> tuple[int | None, bool]:
    """The number behind a literal or behind what a name was last bound to, and whether it is a plain one there."""
    if isinstance(node, cst.Integer):
        return node.evaluated_value, True
    name = dotted(node)
    found: int | None = None
    plain = True
    own = any(assign.path == name for assign in trace.assigns())
    for assign in trace.assigns():
        # `config.STEPS` is bound in another module, as STEPS.
        elsewhere = not own and assign.place.source is not trace.source
        if name and (name.rpartition(".")[2] if elsewhere else name) == assign.path:
            value = unwrapped(assign.value, trace)
            found = value.value if isinstance(value, Const) and isinstance(value.value, int) else None
            plain = found is None or isinstance(deref(assign.value), Const)
    return found, plain


def part_by_part(block: cst.CSTNode, names: Iterable[str]) -> bool:
    """Whether a block sets what is in a list anew: `sums[k] = np.zeros(...)`, `for s in sums: s.fill(0)`."""
    for name in names:
        found = uses(block, name)
        loops = {id(node): node for use in found for node in use.around if isinstance(node, cst.For)}
        items = {
            item for node in loops.values() if name in names_in(node.iter) for item in names_in(node.target)
        }
        inner = [use for node in loops.values() for item in items for use in uses(node.body, item)]
        if any(_replaces(use) for use in (*found, *inner)):
            return True
    return False


def _replaces(use: Use) -> bool:
    """Whether a part of it is written, and not added to."""
    part: cst.CSTNode = use.node
    for node in use.around:
        match node:
            case cst.Subscript(value=value) if value is part:
                part = node
            case cst.Attribute(attr=cst.Name(value="assign" | "fill" | "clear")):
                return True
            case cst.AugAssign(target=target, operator=operator):
                return target is part and not isinstance(operator, cst.AddAssign)
            case cst.AssignTarget():
                continue
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                return isinstance(part, cst.Subscript) and target is part and not _adds(value)
            case _:
                return False
    return False


def _adds(value: cst.CSTNode) -> bool:
    match value:
        case cst.BinaryOperation(operator=cst.Add()):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="add" | "add_n"))):
            return True
    return any(_adds(child) for child in value.children)
