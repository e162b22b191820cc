"""The child process: builds the model, asks an engine, and writes the answer to a file."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from oomlint.estimate.assumed import assumed_in, of_batch, of_sizes, widened
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate
from oomlint.estimate.verdicts import range_of, verdict
from oomlint.estimate.worker.keras.state import own_optimizers
from oomlint.estimate.worker.step.beside import NOT_INCLUDED
from oomlint.estimate.worker.subject import Footprint, Subject
from oomlint.estimate.worker.tries.fallback import built_together, estimated_instead, together_or_apart
from oomlint.estimate.worker.tries.needed import SECONDS, all_of, with_named_sample


def main(answer_file: str) -> int:
    """Read the request, write the answer; the exit status."""
    request = Request.from_json(sys.stdin.read())
    sys.stdin = Path(os.devnull).open()  # noqa: SIM115 - to the end of the process; nobody answers the script's questions
    _die_with_parent()
    content: dict[str, Any]
    try:
        content = {"estimate": asdict(answer(request))}
    except EstimateError as error:
        content = {"error": error.to_dict()}
    except MemoryError:
        content = {"error": EstimateError("the host ran out of memory", "memory").to_dict()}
    except Exception as error:
        content = {"error": _unforeseen(error).to_dict()}
    Path(answer_file).write_text(json.dumps(content), encoding="utf-8")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads that the user's code or TensorFlow started must not keep the process


def answer(request: Request) -> Estimate:
    """The estimate. Raises EstimateError."""
    from oomlint.estimate.worker.tries.last_resort import of_makers
    from oomlint.estimate.worker.what_if.solve import completed

    started = time.monotonic()
    try:
        request, first = _first(request)
    except MemoryError:
        raise
    except Exception as error:
        told = error if isinstance(error, EstimateError) else _unforeseen(error)
        found = of_makers(told, request, _first)
        if found is None:
            raise
        request, first = found
    whole = completed(request, first, _estimated)
    return replace(whole, seconds=round(time.monotonic() - started, 3), resident_bytes=_resident())


def _first(request: Request, seconds: float = SECONDS) -> tuple[Request, Estimate]:
    """The estimate, and the request that it is of: the script's own step, or that with what is assumed."""
    from oomlint.estimate.worker.step.building import build
    from oomlint.estimate.worker.tries.last_resort import with_known

    if "unsliced" in request.names:
        raise EstimateError(**json.loads(request.names["unsliced"]))
    try:
        return together_or_apart(request, _estimated)
    except EstimateError as error:
        found = _with_names(with_named_sample(error, request))
        if found is None:
            request = with_known(request)
            told = all_of(error, request, lambda one: built_together(one, build), followed, seconds)
            found = estimated_instead(told, request, _estimated)
            if found is None:
                raise told from error
        return found


def _with_names(changed: Request | None) -> tuple[Request, Estimate] | None:
    """The estimate with what the script's names say of a sample, if that does."""
    if changed is None:
        return None
    try:
        return changed, _estimated(changed)
    except EstimateError:
        return None


def _estimated(request: Request) -> Estimate:
    """One estimate: the model is built anew for each, as a batch or an optimizer changes what is built."""
    from oomlint.estimate.worker.script.failures import said
    from oomlint.estimate.worker.step.building import build

    started = time.monotonic()
    with said(request):
        return measured(build(request), request, started)


def followed(subject: Subject, request: Request) -> None:
    """Follow the step of a model that examples made, with the quicker engine. Raises what that fails with."""
    from oomlint.estimate.worker.script.failures import said

    with said(request):
        measured(subject, replace(request, engine="graph"), time.monotonic())


def measured(subject: Subject, request: Request, started: float) -> Estimate:
    """What the engine says of a subject, as an answer to the request."""
    from oomlint.estimate.worker.keras.compilation import chooses_torch, program_of
    from oomlint.estimate.worker.step.beside import together
    from oomlint.estimate.worker.step.plain_loss import or_plainly

    program, reason = program_of(subject, request)
    engine, footprint = or_plainly(subject, lambda: _footprint(subject, request, program, reason))
    if subject.others and subject.mode == "train":
        footprint = together(
            subject,
            footprint,
            lambda one: or_plainly(one, lambda: _footprint(one, request, program, reason))[1],
        )
        for one in subject.others:
            subject.assumptions += [f"{one.model.name}: {words}" for words in one.assumptions]
            request = of_sizes(request, one.guessed) if one.guessed else request
    if subject.batch_guessed and request.fallback and not request.max_batch:
        request = of_batch(request, subject.batch_guessed)
    between = range_of(footprint.peak, footprint.lower, footprint.upper)
    how = request.names.get("clustering", "")
    if how and program == "graph":
        between, words = _in_clusters(between, how, subject, request)
        footprint.assumptions.append(words)
    between, instead = widened(between, footprint.parts, request), assumed_in(request).said
    answered = verdict(between, request.usable_bytes)
    left_out = tuple(one for one in subject.assumptions if NOT_INCLUDED in one)
    if left_out and answered == "fits":
        instead, answered = (*left_out, *instead), "tight"
    return Estimate(
        target=request.target,
        engine=engine,  # type: ignore[arg-type]
        program=program,
        reason=reason,
        backend="torch" if chooses_torch(request) else _backend(),
        batch_size=_batch_of(subject),
        replicas=request.replicas,
        optimizer=_optimizer_of(subject),
        policy=_policy_of(subject.model),
        gpu={"name": request.gpu, "memory_bytes": _memory(request), "usable_bytes": request.usable_bytes},
        peak_bytes=footprint.peak,
        range_bytes=between,
        parts=footprint.parts,
        certainty=footprint.certainty,
        outside_pool=footprint.outside_pool,
        verdict=answered,
        layers=tuple(footprint.layers),
        timeline=tuple(footprint.timeline),
        peak_at=footprint.peak_at,
        assumptions=tuple(dict.fromkeys([*instead, *subject.assumptions, *footprint.assumptions])),
        instead=instead,
        seconds=round(time.monotonic() - started, 3),
        mode=subject.mode,
    )


def _footprint(subject: Subject, request: Request, program: str, reason: str) -> tuple[str, Footprint]:
    from oomlint.estimate.worker.graph import of_data
    from oomlint.estimate.worker.xla import engine as xla

    missing = xla.available()
    if request.engine == "xla" and missing:
        raise EstimateError(missing, "extra", hint='Install it: pip install "oomlint[xla]"')
    if request.engine == "xla" and program != "xla":
        message = f"the step is not compiled by XLA here ({program}), so engine xla has nothing to compile"
        raise EstimateError(message, "engine", hint="Leave --engine out, or force XLA with --jit on.")
    if program == "xla" and request.engine != "graph":
        if not missing:
            found = xla.footprint(subject, request.gpu, request.usable_bytes)
            if subject.mode == "train" and not found.parts["activations"] + found.parts["gradients"]:
                of_data.require_in_trace(subject)
            return "xla", found
        subject.assumptions.append(f"engine graph in place of xla: {missing}")
    if program == "eager" and _backend() == "jax":
        message = f"on JAX the step runs operation by operation, which no engine follows: {reason}"
        raise EstimateError(message, "engine", hint="As TensorFlow would run it: --backend tensorflow.")
    from oomlint.estimate.worker.graph import engine as graph

    return "graph", graph.footprint(subject, program, request.gpu)


def _in_clusters(
    between: tuple[int, int], how: str, subject: Subject, request: Request
) -> tuple[tuple[int, int], str]:
    """The range of a step whose pieces XLA compiles: from all of it to none. No engine knows which pieces those are."""
    from oomlint.estimate.worker.graph import engine as graph

    whole = graph.footprint(subject, "xla", request.gpu)
    low, high = range_of(whole.peak, whole.lower, whole.upper)
    words = (
        f"{how} has XLA compile what it can of the step, and which pieces those are is decided as it runs: "
        "the range reaches from all of them to none"
    )
    return (min(low, between[0]), max(high, between[1])), words


def _batch_of(subject: Subject) -> int:
    from oomlint.estimate.worker.keras.generation import tree

    specs = tree().flatten(subject.data[0])
    return int(specs[0].shape[0]) if specs and specs[0].shape else 0


def _optimizer_of(subject: Subject) -> str | None:
    own = own_optimizers(subject.model)
    if own and subject.mode == "train":
        return " + ".join(type(one).__name__ for one in own)
    optimizer = getattr(subject.model, "optimizer", None)
    if optimizer is None or subject.mode == "predict":
        return None
    scaled = getattr(optimizer, "inner_optimizer", None)  # mixed_float16 puts a LossScaleOptimizer around it
    return type(optimizer if scaled is None else scaled).__name__


def _policy_of(model: Any) -> str:
    policy = getattr(model, "dtype_policy", None)
    return str(getattr(policy, "name", "float32"))


def _backend() -> str:
    from oomlint.estimate.worker.keras.weightless import backend_name

    return backend_name()


def _memory(request: Request) -> int:
    """What the card has; of an amount, the amount."""
    from oomlint.project.gpus import find_gpu

    found = find_gpu(request.gpu)
    return request.usable_bytes if found is None else found.memory


def _resident() -> int:
    """The most memory that this process held."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _unforeseen(error: Exception) -> EstimateError:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].name}, {Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = "".join(traceback.format_exception(error))
    message = f"{type(error).__name__}: {error}{where}"
    return EstimateError(message, "internal", hint="This is a bug of oomlint.", output=text[-4000:])


def _die_with_parent() -> None:
    """Where the system can: end when the process that waits for the answer ends."""
    if sys.platform != "linux":
        return
    import ctypes
    import signal

    death = 1  # PR_SET_PDEATHSIG, linux/prctl.h
    ctypes.CDLL(None).prctl(death, signal.SIGKILL, 0, 0, 0)
