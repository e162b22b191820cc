"""Models that are made, or compiled, on the same pass of a loop on which they are trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.catalog.keras.training import slots_of
from oomlint.dryrun.loops import target_names
from oomlint.dryrun.queries.reached_rounds import reached_rounds
from oomlint.dryrun.queries.rounds import (
    guarded,
    loops_around,
    path_between,
    site_in,
    tries_until_it_works,
)
from oomlint.dryrun.queries.tape_training import model_of, tape_trainings
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.trace import Body, Call, Context, Loop
from oomlint.dryrun.values.base import Const
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.training import Model, Optimizer
from oomlint.syntax.blocks import nodes
from oomlint.syntax.uses import names_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace
    from oomlint.syntax.place import Place

TRAINING = ("keras.Model.fit", "keras.Model.fit_generator", "keras.Model.train_on_batch")
CLEARING = ("keras.backend.clear_session", "keras.utils.clear_session")
VERBS = {"loaded": "loaded", "cloned": "cloned", "revived": "rebuilt from its configuration"}


@dataclass(frozen=True, slots=True)
class Kept:
    """What one pass leaves behind at least: the weights and the optimizer's state."""

    parameters: int
    slots: int

    @property
    def bytes(self) -> int:
        """In single precision."""
        return 4 * self.parameters * (1 + self.slots)


@dataclass(frozen=True, slots=True)
class Repeated:
    """One model that is made or compiled over and over. `place` stands in the loop's own body."""

    place: Place
    verb: str
    loop: Place
    passes: Const | None
    trained: Place
    made: Place | None
    kept: Kept | None
    cleared: Place | None
    tested: bool  # in a test, whose process ends soon
    sometimes: bool = False  # a test that changes from pass to pass decides on which ones


def repeated_models(trace: Trace) -> Iterator[Repeated]:
    """Each place once, in the order of the training calls."""
    seen: set[int] = set()
    for call, model in _trainings(trace):
        for found in _of(trace, call, model):
            once = found.passes is not None and found.passes.value <= 1 and not found.passes.soft
            if not once and id(found.place.node) not in seen:
                seen.add(id(found.place.node))
                yield found


def _trainings(trace: Trace) -> list[tuple[Call, Model]]:
    """Training calls with their models. A tape leaves a graph behind only in a tf.function."""
    found = [(call, model_of(call.receiver)) for call in trace.calls(*TRAINING)]
    for training in tape_trainings(trace):
        if training.applied is not None and training.applied.context.role("tf.function"):
            found.append((training.gradient, training.model))
    known = [(call, model) for call, model in found if model is not None]
    return sorted(known, key=lambda pair: pair[0].index)


def _of(trace: Trace, call: Call, model: Model) -> Iterator[Repeated]:
    around = loops_around(call.context)
    created = loops_around(model.context) if model.context is not None else []
    shared = [loop for loop in around if loop in created]
    if shared:
        if (
            _eager(model)
            or guarded(model.context, shared[0], _node(model))
            # Left after the pass that did: another rule's matter.
            or tries_until_it_works(call.context, shared[0])
        ):
            return
        yield _found(trace, call, model, model.context, _made(model), shared, VERBS.get(model.kind, "built"))
        return
    for compiled in model.compiles:
        again = [loop for loop in around if loop in loops_around(compiled.context)]
        if again and not _eager_call(compiled) and not guarded(compiled.context, again[0], compiled.node):
            if not tries_until_it_works(call.context, again[0]) and not _optimizer_made_before(
                compiled, again[0]
            ):
                first = model.compiles[0] is compiled
                verb = "compiled" if first else "compiled again"
                found = _found(trace, call, model, compiled.context, compiled.place, again, verb)
                yield replace(found, sometimes=_sometimes(trace, again[0], found.place, call))
    if len(created) == 1 and len(around) == 1 and model.compiled is not None and not _eager(model):
        # Built in one loop, trained in the next: all of them are alive at once.
        if created[0] in loops_around(model.compiled.context) and not guarded(
            model.context, created[0], _node(model)
        ):
            yield _found(
                trace, call, model, model.context, _made(model), created, VERBS.get(model.kind, "built")
            )


def _found(
    trace: Trace,
    call: Call,
    model: Model,
    context: Context | None,
    made: Place | None,
    loops: list[Loop],
    verb: str,
) -> Repeated:
    cleared = next((one for one in trace.calls(*CLEARING) if loops[0] in loops_around(one.context)), None)
    place = _in_body(context, loops[0]) or made or call.place
    return Repeated(
        place=place,
        verb=verb,
        loop=loops[0].place,
        passes=_product(trace, loops, place, call),
        trained=call.place,
        made=made,
        kept=_kept(model),
        cleared=None if cleared is None else cleared.place,
        tested=in_test(call),
    )


def _sometimes(trace: Trace, loop: Loop, place: Place, call: Call) -> bool:
    """Whether it stands under a test of what changes from pass to pass, and the training does not.

    Layers are unfrozen so at a few epochs of many (`if epoch in stages`, `if len(due) > 0`).
    """
    body = loop.place.node
    if not isinstance(body, cst.For | cst.While) or reached_rounds(trace, loop, place.node) is not None:
        return False
    trained = (site_in(call.context, loop) or call.place).node
    changing = set(target_names(body.target)) if isinstance(body, cst.For) else set()
    for node in nodes(body.body):
        if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.NamedExpr):
            changing.update(target_names(node.target))
    return any(
        isinstance(outer, cst.If)
        and inner is not outer.test
        and not path_between(inner, trained)
        and bool(names_in(outer.test) & changing)
        for outer, inner in pairwise(path_between(body, place.node))
    )


def _in_body(context: Context | None, loop: Loop) -> Place | None:
    """The call in the loop's own body that leads to an event; None if the event itself stands there.

    The body of a loop that a library runs is the function it was given.
    """
    bodies = (
        [frame for frame in context.since(loop) if isinstance(frame, Body)] if context is not None else []
    )
    if loop.kind == "trials":
        bodies = [body for body in bodies if isinstance(body.function.node, cst.FunctionDef)][:-1]
    sites = [body.site for body in bodies if body.called and body.site is not None]
    return sites[-1] if sites else None


def _made(model: Model) -> Place | None:
    if isinstance(model.instance, Instance):
        return model.instance.place
    return None if model.made_by is None else model.made_by.place


def _node(model: Model) -> cst.CSTNode:
    made = _made(model)
    return made.node if made is not None else cst.Module([])


def _product(trace: Trace, loops: list[Loop], place: Place, call: Call) -> Const | None:
    """How often the model is made and trained; not known if it is not of one of the loops."""
    count, soft = 1, False
    for loop in loops:
        trained = site_in(call.context, loop) or call.place
        limits = [reached_rounds(trace, loop, node.node) for node in (place, trained)]
        rounds = loop.trip.value if loop.trip is not None and isinstance(loop.trip.value, int) else None
        known = [limit for limit in limits if limit is not None]
        if known and (rounds is None or min(known) < rounds):
            count *= min(known)
        elif rounds is not None and loop.trip is not None:
            count *= rounds
            soft = soft or loop.trip.soft
        else:
            return None
    return Const(count, (), soft)


def _kept(model: Model) -> Kept | None:
    slots = slots_of(model.compiled.value("optimizer")) if model.compiled is not None else None
    return None if model.parameters is None or slots is None else Kept(model.parameters.value, slots)


def _eager_call(compiled: Call) -> bool:
    return compiled.const("run_eagerly", False) is True


def _eager(model: Model) -> bool:
    """Run eagerly, nothing is traced and nothing stays (0.04 MB a pass against 49.8)."""
    return bool(model.compiles) and all(_eager_call(call) for call in model.compiles)


def _optimizer_made_before(compiled: Call, loop: Loop) -> bool:
    """Compiled with one optimizer object made before the loop: 1.7 MB a pass, its state is not made again."""
    optimizer = compiled.value("optimizer")
    made = optimizer.made_by if isinstance(optimizer, Optimizer) else None
    return made is not None and loop not in loops_around(made.context)
