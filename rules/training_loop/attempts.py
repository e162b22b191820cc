"""Attempts at training inside `try`, and how the loops around them go on: what the rule on retries asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.loops import target_names
from oomlint.dryrun.trace import Body, Call, HandlerFacts, Loop, Try
from oomlint.dryrun.values.base import Const, deref
from oomlint.dryrun.values.program import Library
from oomlint.dryrun.values.training import Model
from oomlint.syntax.blocks import last_statement
from oomlint.syntax.uses import uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace

TRAINS = (
    "keras.Model.fit",
    "keras.Model.fit_generator",
    "keras.Model.train_on_batch",
    "keras.Optimizer.apply_gradients",
    "keras.Optimizer.apply",
)
OUT_OF_MEMORY = frozenset({"tf.errors.ResourceExhaustedError", "builtins.MemoryError"})
BROAD = frozenset(
    {
        "tf.errors.OpError",
        "tf.errors.InternalError",
        "builtins.Exception",
        "builtins.BaseException",
        "builtins.RuntimeError",
    }
)

ALL = frozenset({"builtins.Exception", "builtins.BaseException"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """A training call in a `try`, and the handler that catches its running out of memory."""

    call: Call
    attempt: Try
    facts: HandlerFacts

    @property
    def handler(self) -> cst.ExceptHandler:
        """The `except` clause."""
        node = self.facts.place.node
        assert isinstance(node, cst.ExceptHandler)
        return node

    @property
    def broad(self) -> bool:
        """Whether the handler catches more than running out of memory."""
        return self.facts.bare or any(_name(kind) not in OUT_OF_MEMORY for kind in self.facts.types)

    @property
    def catches_all(self) -> bool:
        """Whether nothing gets past the handler, not even the ValueError for a batch size of 0."""
        return self.facts.bare or any(_name(kind) in ALL for kind in self.facts.types)


def _name(kind: object) -> str:
    return kind.name if isinstance(kind, Library) else ""


def attempts(trace: Trace) -> Iterator[Attempt]:
    """Training calls in a `try` whose handler catches running out of memory."""
    for call in trace.calls(*TRAINS):
        for frame in call.context.all(Try):
            for facts in frame.handlers:
                caught = {_name(deref(kind)) for kind in facts.types}
                if isinstance(facts.place.node, cst.ExceptHandler) and (
                    facts.bare or caught & (OUT_OF_MEMORY | BROAD)
                ):
                    yield Attempt(call, frame, facts)
                    break


def same_batch(first: Call, second: Call) -> bool:
    """Whether two training calls have the same batch size, or neither says one and both get the same data."""
    sizes = [call.value("batch_size") for call in (first, second)]
    if sizes[0] is not None or sizes[1] is not None:
        return isinstance(sizes[0], Const) and sizes[0] == sizes[1]
    data = [call.value("x") or call.value("iterator") for call in (first, second)]
    return data[0] is data[1]


def loop_around(item: Attempt) -> Loop | None:
    """The loop around a `try`, in the same function."""
    frames = list(item.call.context.frames())
    position = next(index for index, frame in enumerate(frames) if frame is item.attempt)
    for frame in frames[position + 1 :]:
        if isinstance(frame, Body):
            return None
        if isinstance(frame, Loop):
            return frame if isinstance(frame.place.node, cst.For | cst.While) else None
    return None


def statements(block: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements of a block and of the branches in it, not of loops and functions in it."""
    stack: list[cst.CSTNode] = [block]
    while stack:
        node = stack.pop()
        match node:
            case cst.IndentedBlock() | cst.SimpleStatementSuite() | cst.SimpleStatementLine():
                stack.extend(reversed(node.body))
            case cst.If():
                stack.extend(part for part in (node.orelse, node.body) if part is not None)
            case cst.Else() | cst.Finally() | cst.With() | cst.ExceptHandler():
                stack.append(node.body)
            case cst.Try():
                stack.extend(
                    part for part in (node.finalbody, node.orelse, *node.handlers, node.body) if part
                )
            case cst.BaseSmallStatement():
                yield node


def leaves(block: cst.BaseSuite) -> bool:
    """Whether a handler always ends the loop: its last statement raises, returns or breaks."""
    return isinstance(last_statement(block), cst.Raise | cst.Return | cst.Break)


def ends_on_success(attempt: cst.Try, loop: cst.CSTNode) -> bool:
    """Whether an attempt that succeeds ends the loop: by leaving, or by what the loop's test reads."""
    good = [*statements(attempt.body), *(statements(attempt.orelse) if attempt.orelse is not None else ())]
    if any(isinstance(node, cst.Break | cst.Return) for node in good):
        return True
    if isinstance(loop, cst.While) and any(uses(cst.Arg(loop.test), name) for name in _written(good)):
        return True
    assert isinstance(loop, cst.For | cst.While)
    _, after = _around(loop.body, attempt)
    return any(isinstance(node, cst.Break | cst.Return) for part in after for node in statements(part))


def _written(statements: list[cst.CSTNode]) -> list[str]:
    names: list[str] = []
    for node in statements:
        if isinstance(node, cst.Assign):
            names.extend(name for target in node.targets for name in target_names(target.target))
        elif isinstance(node, cst.AugAssign | cst.AnnAssign):
            names.extend(target_names(node.target))
    return names


def assigned(block: cst.BaseSuite) -> list[str]:
    """Names that a handler gives new values to; a flag (True, False, None) only notes what happened."""
    kept = []
    for node in statements(block):
        value = node.value if isinstance(node, cst.Assign | cst.AnnAssign) else None
        if not (isinstance(value, cst.Name) and value.value in ("True", "False", "None")):
            kept.append(node)
    return _written(kept)


def only_numbers(block: cst.BaseSuite, names: list[str]) -> bool:
    """Whether all that a handler gives to some names is arithmetic, which takes no memory: `batch //= 2`."""
    for node in statements(block):
        match node:
            case cst.Assign(targets=targets, value=value):
                written = [name for target in targets for name in target_names(target.target)]
            case (
                cst.AugAssign(target=target, value=value)
                | cst.AnnAssign(target=target, value=cst.CSTNode() as value)
            ):
                written = target_names(target)
            case _:
                continue
        if set(written) & set(names) and not _is_arithmetic(value):
            return False
    return True


def _is_arithmetic(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Name() | cst.Attribute() | cst.Integer() | cst.Float():
            return True
        case cst.Subscript(value=cst.Name() | cst.Attribute()):
            return True  # `settings["factor"]`
        case cst.BinaryOperation(left=left, right=right):
            return _is_arithmetic(left) and _is_arithmetic(right)
        case cst.Call(func=cst.Name(value="max" | "min" | "int" | "round"), args=args):
            return all(_is_arithmetic(arg.value) for arg in args)
    return False


def read_by_attempt(loop: cst.CSTNode, attempt: cst.Try, name: str) -> bool:
    """Whether the attempt, or what the loop does before it, uses a name."""
    assert isinstance(loop, cst.For | cst.While)
    for statement in loop.body.body:
        if statement is attempt:
            break
        if uses(statement, name):
            return True
    return bool(uses(attempt.body, name))


def rebuilt_in(call: Call, loop: Loop) -> Call | None:
    """The call that makes the trained model in every round, if one does."""
    model = deref(call.receiver) if call.receiver is not None else None
    if isinstance(model, Model) and model.context is not None and model.made_by is not None:
        if any(frame is loop for frame in model.context.frames()):
            return model.made_by
    return None


def endless(item: Attempt, loop: Loop, reads: list[str]) -> bool:
    """Whether a loop of failing attempts has no way out."""
    node, attempt = loop.place.node, item.attempt.place.node
    assert isinstance(attempt, cst.Try)
    if not isinstance(node, cst.While):
        return False
    if not loop.endless:
        # `while not done`: the test reads only what a success writes
        tested = {name for name in _written(list(statements(attempt.body))) if uses(cst.Arg(node.test), name)}
        others = [name for name in names_of(node.test) if name not in tested]
        if not tested or others:
            return False
    before, after = _around(node.body, attempt)
    outside = [*before, *after]
    exits = [*statements(item.handler.body), *(small for part in outside for small in statements(part))]
    if any(isinstance(small, cst.Raise | cst.Return | cst.Break) for small in exits):
        return False
    if _prepared_behind(node, attempt):
        return False
    if not reads or item.catches_all:
        return not any(uses(part, name) for name in reads for part in outside)
    return all(_clamped(item.handler.body, name) for name in reads)


def _prepared_behind(loop: cst.While, attempt: cst.Try) -> bool:
    """Whether something behind the `try` statement gives the next attempt another size than `max(...)` of one."""
    _, after = _around(loop.body, attempt)
    return any(
        read_by_attempt(loop, attempt, name) and not all(_clamped(part, name) for part in after)
        for name in _written([small for part in after for small in statements(part)])
    )


def _around(block: cst.BaseSuite, attempt: cst.Try) -> tuple[list[cst.CSTNode], list[cst.CSTNode]]:
    """The statements before and behind a `try` in a loop's block: of the `with` or `if` that it stands under, too."""
    way = _way_to(block, attempt)
    before: list[cst.CSTNode] = [part for inner, number in way for part in inner.body[:number]]
    return before, [part for inner, number in way for part in inner.body[number + 1 :]]


def _way_to(node: cst.CSTNode, attempt: cst.Try) -> list[tuple[cst.BaseSuite, int]]:
    """The blocks that hold an attempt, from the outside, and where in each; empty where none does."""
    if isinstance(node, cst.BaseSuite):
        for number, part in enumerate(node.body):
            if part is attempt:
                return [(node, number)]
            if way := _way_to(part, attempt):
                return [(node, number), *way]
    elif isinstance(node, cst.If | cst.Else | cst.With | cst.Try | cst.ExceptHandler | cst.Finally):
        for inner in node.children:
            if way := _way_to(inner, attempt):
                return way
    return []


def names_of(node: cst.CSTNode) -> list[str]:
    """The dotted names in an expression."""
    found: list[str] = []
    stack: list[cst.CSTNode] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Name | cst.Attribute):
            found.extend(target_names(current))
        else:
            stack.extend(current.children)
    return found


def _clamped(block: cst.CSTNode, name: str) -> bool:
    """Whether every value given to a name is at least some number: `max(1, size // 2)`."""
    for node in statements(block):
        match node:
            case (
                cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)
                | cst.AnnAssign(target=target, value=cst.CSTNode() as value)
            ) if name in target_names(target):
                if not (isinstance(value, cst.Call) and _is_name(value.func, "max")):
                    return False
            case cst.AugAssign(target=target) if name in target_names(target):
                return False
    return True


def _is_name(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name
