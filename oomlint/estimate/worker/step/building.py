"""From a request to a model that is compiled and built, with the shapes of a batch; nothing is allocated."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

from oomlint.estimate.request import Request
from oomlint.estimate.result import ASSUMED_BATCH
from oomlint.estimate.worker.keras import generation, strategies
from oomlint.estimate.worker.keras.weightless import without_memory
from oomlint.estimate.worker.subject import Subject
from oomlint.estimate.worker.values import project_batch

DEFAULT_BATCH = 32  # Keras' own: keras/src/trainers/data_adapters/array_data_adapter.py


def build(request: Request) -> Subject:
    """The subject of an estimate. Raises EstimateError (kind build, extra or target)."""
    keras = generation.chosen()
    assumptions: list[str] = []
    from oomlint.estimate.worker.keras import adapted, inner_functions
    from oomlint.estimate.worker.script import making
    from oomlint.estimate.worker.step import (
        beside,
        compiling,
        data_specs,
        described,
        entrances,
        pairs,
        plain_step,
        whole_steps,
    )
    from oomlint.estimate.worker.what_if import altering

    request = described.prepared(request)

    with (
        without_memory(),
        inner_functions.traced_in_place(),
        adapted.built_outside(),
        adapted.vocabularies(),
        _asked_jit_kept(keras),
        _under_policies(request.policy),
        altering.rematerialized(request, keras),
    ):
        made = making.make(request, assumptions)
        if options := request.names.get("branch"):
            assumptions.append(
                f"of several trainings the one for {options}: give others with --arg NAME=VALUE"
            )
        assumptions += [request.names[one] for one in ("said", "unreached", "more") if one in request.names]
        if "plainly" in request.names:
            plain_step.make(made)
        if "together" in request.names and "whole" not in request.names:
            made.step = None
        whole = made.step is not None and request.mode == "train"
        if not whole:
            altering.alter(made, request)
        batch = request.batch_size or (made.batch and strategies.share(made.batch, request))
        guessed = 0
        if batch is None and (batch := project_batch.of_project(request)) is not None:
            words = f"batch size {batch}, as the project says of {request.names['batch_asked']}"
            assumptions.append(f"{words} (another: --batch-size)")
        if batch is None:
            batch = DEFAULT_BATCH
            why = _guess(made, request)
            guessed = batch if why else 0
            whose = why or "Keras' default"
            assumptions.append(f"{ASSUMED_BATCH}{batch}, {whose}: give another with --batch-size")
        assumptions += strategies.words(request, batch)
        if whole:
            return dataclasses.replace(
                whole_steps.subject(made, request, batch, assumptions), batch_guessed=guessed
            )
        x = entrances.inputs(made, request, batch, assumptions)
        x = data_specs.inputs(made, request, batch, assumptions) if x is None else x
        outputs = compiling.outputs_of(made, x, request)
        if request.mode == "predict":
            return Subject(made.model, (x,), "predict", assumptions)
        compiling.compile_model(made, request, outputs, assumptions)
        altering.accumulate(made.model, request)
        alone = pairs.takes_one(made.model)
        y = None if alone else data_specs.targets(made, outputs, batch, assumptions)
        if y is None and not alone:
            y = pairs.second_of(made, x, outputs, batch, assumptions)
        data: tuple[Any, ...] = (x,) if y is None else (x, y)
        if y is not None and (weights := pairs.weights_of(made, batch)) is not None:
            data = (x, y, weights)
        compiling.build_slots(made.model, data)
        others = beside.subjects(made, x, outputs, request, batch, assumptions)
    by_hand = bool(made.by_hand)
    return Subject(
        made.model,
        data,
        "train",
        assumptions,
        others,
        one_step=by_hand,
        outputs=outputs,
        batch_guessed=guessed,
    )


def _guess(made: Any, request: Request) -> str:
    """Why a batch is only a usual one; empty where Keras itself takes that."""
    if (data := request.names.get("at_once")) is not None:
        return f"assumed: train_on_batch takes all of {data} at once"
    if (asked := request.names.get("batch_asked")) is not None:
        return f"a usual one, as {asked} is not known"
    if (what := request.names.get("yielded")) is not None:
        return f"a usual one, as nothing says how much {what} yields"
    return "a usual one, as nothing says the loop's own" if made.by_hand else ""


@contextmanager
def _under_policies(policy: str | None) -> Iterator[None]:
    with ExitStack() as stack:
        for keras in generation.present():
            stack.enter_context(_under_policy(keras, policy))
        yield


@contextmanager
def _under_policy(keras: Any, policy: str | None) -> Iterator[None]:
    """Inside, this is the global policy; afterwards it is what it was: the next model of what-if has its own.

    Layers take the policy when they are made, so the step may be traced later. One that nobody has asked for yet is
    left so: Keras makes it of `floatx`, which the script may set.
    """
    if hasattr(keras, "config"):
        change: Callable[[Any], None] = keras.config.set_dtype_policy
        state = import_module("keras.src.backend.common.global_state")
        before = state.get_global_attribute("dtype_policy", None)
    else:
        change, before = keras.mixed_precision.set_global_policy, keras.mixed_precision.global_policy()
    if policy:
        change(policy)
    try:
        yield
    finally:
        if before is not None:
            change(before)
        else:
            state.set_global_attribute("dtype_policy", None)


@contextmanager
def _asked_jit_kept(keras: Any) -> Iterator[None]:
    """Inside, a compiled model remembers what was asked of XLA.

    On a machine without a GPU Keras puts False in place of "auto" (keras/src/trainers/trainer.py, `compile`), and
    nobody could tell any more what it would do on the GPU.
    """
    # The class that has it: Keras compiles a model that it loads or clones only if nobody overrides its own `compile`.
    owner = next(base for base in keras.Model.__mro__ if "compile" in vars(base))
    original = owner.compile

    @functools.wraps(original)
    def compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        config = getattr(getattr(self, "_compile_config", None), "config", None)
        if isinstance(config, dict) and not generation.is_legacy(self):
            config["jit_compile"] = kwargs.get("jit_compile", "auto")
        return result

    with patch.object(owner, "compile", compile):
        yield
