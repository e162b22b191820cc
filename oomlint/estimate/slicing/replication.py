"""The tf.distribute strategy that a script trains under: how many replicas, and whose the batch is that it names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from oomlint.dryrun.queries import replicas
from oomlint.dryrun.queries.tape_training import model_of, trained_by
from oomlint.dryrun.queries.trained_models import batch_by_hand, batch_of_replicas
from oomlint.dryrun.values.training import Strategy

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace
    from oomlint.estimate.slicing.trainings import Training


def replicate(training: Training, trace: Trace) -> dict[str, str]:
    """Set the training's `replicas`, where the script says it; and what the child has to know of the strategy.

    `strategy` is its name; `strategy:count` "" where it takes the GPUs that it finds; `strategy:if-several` says that
    the script takes it only where there are several; `strategy:whole` that the batch is that of all replicas.
    """
    strategy = _strategy(training, trace)
    if strategy is None or strategy.type == "tf.distribute.Strategy":
        return {}
    count = strategy.replicas.value if strategy.replicas is not None else None
    training.replicas = count if isinstance(count, int) else None
    names = {"strategy": replicas.short(strategy), "strategy:count": str(training.replicas or "")}
    if strategy.alternative:
        names["strategy:if-several"] = "1"
    whole = isinstance(training.batch, ast.expr) or strategy.alternative
    if training.batch is None and training.seen is not None:
        batch, whole = batch_of_replicas(training.seen)
        training.batch = None if batch is None else batch.value
    if (
        training.batch is None
        and training.by_hand
        and (model := trained_by(trace, training.seen)) is not None
    ):
        batch, whole = batch_by_hand(trace, model)
        training.batch = None if batch is None else batch.value
    if whole and training.batch is not None:
        names["strategy:whole"] = "1"
    return names


def _strategy(training: Training, trace: Trace) -> Strategy | None:
    """That of the model or of the code that trains it; else the only one that the script makes."""
    call = training.seen
    if call is not None:
        found = replicas.of_model(model_of(call.receiver), call) or replicas.on_replicas(call.context)
        if found is not None:
            return found
    made = [one.result for one in trace.calls_under("tf.distribute.") if replicas.may_replicate(one.result)]
    return made[0] if len(made) == 1 and isinstance(made[0], Strategy) else None
