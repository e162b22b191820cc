"""What a script does under a tf.distribute strategy: questions that the distribution rules ask of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import EllipsisType
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.trace import Body, Call, Context, Within
from oomlint.dryrun.values.base import Value, deref
from oomlint.dryrun.values.program import ExitStack, Instance
from oomlint.dryrun.values.training import Model, Strategy, StrategyScope
from oomlint.syntax.blocks import block_of

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace
    from oomlint.dryrun.values.program import Function
    from oomlint.syntax.place import Place

SEVERAL = frozenset(
    """tf.distribute.MirroredStrategy tf.distribute.MultiWorkerMirroredStrategy tf.distribute.TPUStrategy
    tf.distribute.CentralStorageStrategy""".split()
)


def replicates(strategy: object) -> bool:
    """Whether a value is a strategy that may have several replicas, each with all the variables."""
    return may_replicate(strategy) and isinstance(strategy, Strategy) and not strategy.alternative


def may_replicate(strategy: object) -> bool:
    """The same, also where the script takes the strategy on some of its ways only (several GPUs, a flag)."""
    return isinstance(strategy, Strategy) and strategy.type in SEVERAL and not strategy.single


def short(strategy: Strategy) -> str:
    """`MirroredStrategy`."""
    return strategy.type.rpartition(".")[2]


def scope_frame(context: Context | None) -> Within | None:
    """The innermost `with strategy.scope():` around an event."""
    for frame in context.all(Within) if context is not None else ():
        if isinstance(deref(frame.manager), StrategyScope):
            return frame
    return None


def of_scope(context: Context | None) -> Strategy | None:
    """The strategy whose scope is entered around an event; an alternative where a stack enters it on some ways."""
    for frame in context.all(Within) if context is not None else ():
        manager = deref(frame.manager)
        if isinstance(manager, StrategyScope):
            return manager.strategy
        for perhaps in manager.perhaps if isinstance(manager, ExitStack) else ():
            scope = deref(perhaps)
            if isinstance(scope, StrategyScope):
                return replace(scope.strategy, alternative=True)
    return None


def on_replicas(context: Context) -> Strategy | None:
    """The strategy that runs this code on each of its replicas."""
    role = context.role("strategy.run")
    return role.value if role is not None and isinstance(role.value, Strategy) else None


def of_model(model: Value | None, *calls: Call) -> Strategy | None:
    """The strategy under which a model was made; of a model from elsewhere, that of its calls."""
    model = deref(model) if model is not None else None
    if isinstance(model, Model) and model.made_by is not None:
        return of_scope(model.context)
    if isinstance(model, Model) and model.instance is not None:
        return of_scope(model.context)
    if isinstance(model, Model) and model.compiled is not None:
        calls = (model.compiled, *calls)
    return next(
        (found for found in map(of_scope, (call.context for call in calls)) if found is not None), None
    )


def strategies(trace: Trace) -> list[Call]:
    """The calls that make strategies with several replicas."""
    return [call for call in trace.calls_under("tf.distribute.") if replicates(call.result)]


def strategy_path(strategy: Strategy, at: Call, here: Function | EllipsisType | None = ...) -> str | None:
    """How the strategy is called where `at` stands (`strategy`, `self.strategy`); None if it is not in sight there.

    `here` is the function that has to see it, if it is not the one around `at`.
    """
    made = strategy.made_by
    if made is None or not made.targets or made.source is not at.source or made.index > at.index:
        return None
    path = made.targets[0]
    here = at.context.function() if isinstance(here, EllipsisType) else here
    there = made.context.function()
    if there is None or here is there:
        return path
    if path.startswith("self.") and here is not None and here.owner is not None and here.owner is there.owner:
        return path
    return None


def site(made: Call, user: Call) -> tuple[Place, Place | None]:
    """Where a thing was made, as seen from its user: outside the functions that only make and return it.

    The place of the call, and the statement that it stands in.
    """
    place, statement = made.place, made.statement
    shared = list(user.context.all(Body))
    for body in made.context.all(Body):
        if any(body is other for other in shared) or body.function.name == "__init__" or body.site is None:
            break
        place, statement = body.site, body.statement
    return place, statement


def scope_statement(trace: Trace, strategy: Strategy) -> tuple[Place, Sequence[cst.CSTNode]] | None:
    """The first `with strategy.scope():` of the document, and the block that it stands in."""
    for call in trace.all_calls():
        frames = list(call.context.frames()) if of_scope(call.context) is strategy else []
        for index, frame in enumerate(frames):
            own = isinstance(frame, Within) and isinstance(frame.place.node, cst.With)
            if own and isinstance(frame, Within) and isinstance(deref(frame.manager), StrategyScope):
                function = next(
                    (outer.function.node for outer in frames[index:] if isinstance(outer, Body)), None
                )
                if frame.place.source is not trace.source or isinstance(function, cst.Lambda):
                    return None
                return frame.place, block_of(function or trace.source.module)
    return None


def maker(model: Model) -> Call | None:
    """The call that made a model, an object of the program's own class too."""
    if model.made_by is not None or model.context is None:
        return model.made_by
    instance = model.instance
    if not isinstance(instance, Instance) or instance.place is None or not instance.constructed:
        return None
    return Call(instance.cls.name, instance.place, model.context)
