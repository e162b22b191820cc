"""Models that a script trains beside the one that is estimated, in the same step or in turns with it."""

from __future__ import annotations

import ast
import dataclasses

from oomlint.estimate.slicing.arguments import matched
from oomlint.estimate.slicing.program import root_name
from oomlint.estimate.slicing.trainings import Training
from oomlint.estimate.slicing.ways import Step, loops_around


def beside(training: Training, trained: list[Training]) -> list[Training]:
    """Other models that the function with the training call trains in the same way: a GAN's two parts.

    Of hand-written loops also those that another step of the same loop trains: `train_generator(x)`, then
    `train_critic(x)`.
    """
    found = {training.name: training}
    for other in trained:
        if _in_the_next_step(other, training):
            seen = other if other.optimizer is None or _is_seen(other.optimizer, other, training) else None
            found.setdefault(other.name, seen or dataclasses.replace(other, optimizer=None))
        same = other.way[-1].scope is training.way[-1].scope and other.by_hand == training.by_hand
        if (
            same
            and _in_turns(other, training)
            and other.compiled
            and isinstance(other.receiver, ast.Name | ast.Attribute)
        ):
            found.setdefault(other.name, other)
    return list(found.values())[1:] if training.compiled else []


def one_after_the_other(training: Training, trained: list[Training]) -> str:
    """In words: what else the script trains, before or after. The estimate is of one training."""
    known = {training.name, *(one.name for one in training.others)}
    others = [one for one in trained if one.reached and one.compiled and one.name not in known]
    if others and training.reached:
        rows = ", ".join(dict.fromkeys(f"{one.name} (line {one.line})" for one in others[:4]))
        return f"the script trains {rows}, too: that is estimated with --model LINE"
    ways = {
        tuple(ast.unparse(step.call)[:80] for step in one.way[:-1] if step.call is not None)
        for one in trained
        if one.reached and one.line == training.line and one.unit is training.unit
    }
    if len(ways) > 1:
        calls = sorted({text for way in ways for text in way if not all(text in other for other in ways)})
        return f"the script comes to this training several times, and one of these is estimated: {'; '.join(calls)}"
    return ""


def skipped(training: Training, trained: list[Training]) -> int:
    """How often the script comes to the training before the round that is meant, in a call whose value it goes on with.

    `model = train(model, 10)`, then `model.trainable = True` and `train(model, 50)`: the last is estimated.
    """
    meant = [step.statement for step in training.way[:-1]]
    others = {
        tuple(map(id, statements)): statements
        for one in trained
        if one.reached and one.line == training.line and one.unit is training.unit
        for statements in [[step.statement for step in one.way[:-1]]]
        if statements != meant
    }
    return sum(
        any(isinstance(one, ast.Assign) and one not in meant for one in statements)
        for statements in others.values()
    )


def _in_turns(one: Training, other: Training) -> bool:
    """Whether two models are trained batch by batch in turns; those that `fit` trains one after the other are not."""
    if one.by_hand and not isinstance(one.way[-1].scope.node, ast.Module):
        return True  # a function that is one step
    functions = [step.call.func for step in (one.way[-1], other.way[-1]) if step.call is not None]
    methods = {function.attr for function in functions if isinstance(function, ast.Attribute)}
    if methods and not methods & {"fit", "fit_generator"}:
        return True
    loop = _loop_around(one)
    return loop is not None and loop is _loop_around(other)


def _loop_around(training: Training) -> ast.stmt | None:
    return next(iter(loops_around(training.way[-1])), None)


def _in_the_next_step(other: Training, training: Training) -> bool:
    """Whether a round of a hand-written loop takes a step of the one and of the other, and both are seen from there."""
    if not (other.by_hand and training.by_hand) or min(len(other.way), len(training.way)) < 2:
        return False
    ours, theirs = training.way[-2], other.way[-2]
    if ours.scope is not theirs.scope or training.way[-1].scope is other.way[-1].scope:
        return False
    around, beside = loops_around(ours), loops_around(theirs)
    # The critic may take several steps for one of the generator's.
    together = bool(around and beside) and (around[0] in beside or beside[0] in around)
    if not (around or beside) and len(training.way) > 2:  # a function that is a round, called in the loop
        together = not isinstance(ours.scope.node, ast.Module) and bool(loops_around(training.way[-3]))
    return together and _is_seen(other.receiver, other, training)


def _is_seen(value: ast.expr, other: Training, training: Training) -> bool:
    """Whether what a function names is the same under that name in the other one."""
    root = root_name(value)
    theirs, ours = other.way[-1].scope, training.way[-1].scope
    if root == "self":
        return ours.owner is not None and ours.owner is theirs.owner
    if root in theirs.parameters or root in ours.parameters:
        handed = _handed(other.way, root)
        return handed is not None and handed == _handed(training.way, root)
    return theirs.of(root) is not None and theirs.of(root) is ours.of(root)


def _handed(way: list[Step], name: str) -> str | None:
    """What the call that leads to the step gives for a parameter."""
    call = way[-2].call
    if call is None or name not in way[-1].scope.parameters:
        return None
    return next((ast.unparse(value) for one, value in matched(call, way[-1].scope) if one == name), None)
