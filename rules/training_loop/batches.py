"""Which loops go over batches: what the rules on tapes and on accumulation share.

Time steps of one batch, heads, layers and tasks are loops too; a loop over batches gives the model new data in
every round: a data set's elements, the next of an iterator, slices along the first axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.loops import target_names
from oomlint.dryrun.trace import Body, Call, Loop
from oomlint.dryrun.values.base import Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.syntax.uses import names_in, uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.syntax.place import Place

FORWARD = ("keras.Model.__call__", "keras.Layer.__call__", "unresolved")
OVER = frozenset(
    "builtins.enumerate builtins.zip builtins.iter builtins.reversed tqdm.tqdm builtins.list".split()
)


def over_batches(trace: Trace, call: Call, loop: Loop, elsewhere: bool, predicts: bool) -> bool:
    """Whether each round of a loop runs the model of a call on a batch of its own."""
    if _recurrent(call):
        return False
    known = call.name != "unresolved" or predicts
    if loop.iterable is not None and is_dataset(trace, loop.iterable, 0):
        return known
    given: list[cst.Arg] = [argument.arg for argument in call.arguments if argument.arg is not None]
    if elsewhere:  # the model runs in a function: what the loop hands to that
        body = _entered_in(call, loop)
        site = body.site.node if body is not None and body.site is not None else None
        if body is None or not isinstance(site, cst.Call) or _is_fed_back(body.statement, site.args):
            return False
        given = list(site.args)
    if not known:
        return False
    node = loop.place.node
    clause = node.for_in if isinstance(node, cst.ListComp | cst.GeneratorExp) else node
    names = target_names(clause.target) if isinstance(clause, cst.For | cst.CompFor) else []
    if isinstance(node, cst.For | cst.While) and uses(node.body, "next") and not _few(loop):
        return True
    for argument in given:
        expression = argument.value
        match expression:
            case cst.Subscript(
                slice=[cst.SubscriptElement(slice=cst.Slice(lower=cst.BaseExpression() as lower)), *_]
            ):
                if any(uses(cst.Arg(lower), name) for name in names):
                    return True
        taken = any(uses(cst.Arg(expression), name) for name in names)
        if taken and _is_unknown(trace, loop.iterable) and isinstance(clause, cst.For | cst.CompFor):
            return _says_batches(clause.iter)
    return False


# What a loop over something that nobody knows goes over, by the name its author gave it. Views, crops, tasks and
# heads of one batch look the same otherwise.
_BATCHES = frozenset(
    "batches minibatches microbatches dataset data ds loader dataloader iterator trainset trainloader".split()
)


def _says_batches(iterable: cst.BaseExpression) -> bool:
    words = {
        word.lower() for name in names_in(iterable) for part in name.split(".") for word in part.split("_")
    }
    return not words.isdisjoint(_BATCHES)


def _is_unknown(trace: Trace, value: Value | None) -> bool:
    """Whether nothing is known of what a loop goes over, also if its rounds are counted."""
    value = deref(value or Unknown())
    if isinstance(value, Unknown):
        return True
    maker = trace.maker(value)
    counted = maker is not None and maker.name in ("builtins.enumerate", "tqdm.tqdm") and maker.arguments
    return bool(counted) and maker is not None and isinstance(deref(maker.arguments[0].value), Unknown)


def _few(loop: Loop) -> bool:
    return loop.trip is not None and isinstance(loop.trip.value, int) and loop.trip.value < 2


def _entered_in(call: Call, loop: Loop) -> Body | None:
    """The function that a loop's own body calls and that leads to a call."""
    bodies = [frame for frame in call.context.since(loop) if isinstance(frame, Body)]
    return bodies[-1] if bodies and bodies[-1].called else None


def _recurrent(call: Call) -> bool:
    """Whether the call's result becomes its own argument in the next round: time steps, not batches."""
    return _is_fed_back(
        call.statement, [argument.arg for argument in call.arguments if argument.arg is not None]
    )


def _is_fed_back(statement: Place | None, given: Iterable[cst.Arg]) -> bool:
    """Whether a statement binds a name that a call in it is given."""
    line = statement.node if statement is not None else None
    written: set[str] = set()
    for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
        if isinstance(small, cst.Assign):
            written.update(name for target in small.targets for name in target_names(target.target))
        elif isinstance(small, cst.AugAssign | cst.AnnAssign):
            written.update(target_names(small.target))
    return any(uses(argument, name) for argument in given for name in written)


def fed_to_losses(trace: Trace) -> set[int]:
    """Values that go into a loss beside something else: an unknown call that gives one gives a prediction."""
    fed: set[int] = set()
    for call in trace.all_calls():
        is_loss = call.name == "unresolved" or call.name.startswith(("keras.losses.", "operator.sub"))
        if is_loss and len(call.arguments) > 1:
            fed.update(id(deref(argument.value)) for argument in call.arguments)
    return fed


def is_dataset(trace: Trace, value: Value, depth: int) -> bool:
    """Whether a loop goes over a data set, also behind enumerate, zip and the like."""
    value = deref(value)
    if isinstance(value, Dataset):
        return True
    maker = trace.maker(value)
    if maker is None or maker.name not in OVER or depth > 4:
        return False
    return any(is_dataset(trace, argument.value, depth + 1) for argument in maker.arguments)
