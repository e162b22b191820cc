"""Estimates of a model that is there: `oomlint.estimate(model, ...)`, and `oomlint.guard(...)`, a callback.

A model that can be described as data is estimated in a child process like a saved one: nothing in this process
changes. One that cannot, because layers of it are the user's own, is traced where it is, with an optimizer of
the same kind that has no memory in place of its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Engine, Jit, Mode, Request
from oomlint.estimate.result import Estimate
from oomlint.project.gpus import find_gpu, parse_memory

DEFAULT_GPU = "T4"


class Answer(Estimate):
    """An estimate that shows itself: as text where it is printed, as the HTML report in a notebook."""

    def __str__(self) -> str:
        from oomlint.report.estimate_text import render

        return render(self, width=100, options=("max_batch=True", "what_if=True"))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from oomlint.report.estimate_html import fragment

        return fragment(self)


class WillNotFit(RuntimeError):
    """The run that `guard` stopped: its estimate does not fit. `estimate` is the whole answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(str(answer))
        self.estimate = answer


def estimate(
    model: Any,
    batch_size: int | None = None,
    gpu: str | None = None,
    *,
    input_shape: tuple[int | None, ...] | None = None,
    optimizer: str | None = None,
    loss: str | None = None,
    engine: Engine = "auto",
    jit: Jit = "auto",
    mode: Mode = "train",
    replicas: int = 1,
    max_batch: bool = False,
    what_if: bool = False,
    timeout: float = 600.0,
) -> Answer:
    """The peak GPU memory of a training step of a Keras model, found without running it.

    `gpu` is a name that `oomlint gpus` lists or an amount ("16GB"); without it, the GPU of this machine, else a T4.
    `batch_size` defaults to Keras' own 32. An uncompiled model is estimated with Adam, unless `optimizer` and `loss`
    say otherwise. Raises `EstimateError` where the model cannot be estimated.
    """
    request = _request(
        model,
        gpu or local_gpu() or DEFAULT_GPU,
        batch_size=batch_size,
        optimizer=optimizer,
        loss=loss,
        input_shape=input_shape,
        replicas=replicas,
        jit=jit,
        engine=engine,
        mode=mode,
        max_batch=max_batch,
        what_if=what_if,
    )
    return _answer(model, request, None, timeout)


def estimate_for_run(
    model: Any, batch_size: int | None, gpu: str, data: tuple[Any, ...] | None, options: dict[str, Any]
) -> Answer:
    """The same for a run whose batches are known (`data`, without unknown sizes where it is of use)."""
    options = dict(options)
    timeout = options.pop("timeout", 600.0)
    request = _request(model, gpu, batch_size=batch_size, **options)
    return _answer(model, request, data, timeout)


def _request(model: Any, gpu: str, **options: Any) -> Request:
    card = find_gpu(gpu)
    return Request(
        target=str(getattr(model, "name", type(model).__name__)),
        gpu=card.name if card else gpu,
        usable_bytes=parse_memory(gpu),
        layers=True,
        **options,
    )


def _answer(model: Any, request: Request, data: tuple[Any, ...] | None, timeout: float) -> Answer:
    try:
        found = _elsewhere(model, request, timeout)
    except _NotData as reason:
        found = _here(model, request, data, str(reason))
    return Answer(**{field.name: getattr(found, field.name) for field in dataclasses.fields(Estimate)})


class _NotData(Exception):
    """The model cannot be handed over as data."""


def _elsewhere(model: Any, request: Request, timeout: float) -> Estimate:
    """In a child process, from the model's own description of itself."""
    from oomlint.estimate import launch

    generation = _generation(model)
    if generation != 3:
        raise _NotData("Keras 2 describes a model without its optimizer")
    if not _is_keras_own(model):
        raise _NotData(f"{type(model).__name__} is a class of your own")
    try:
        text = model.to_json()
    except Exception as error:  # whatever a layer's get_config raises
        raise _NotData(f"the model cannot be written as JSON ({_first_line(error)})") from error
    backend = _backend()
    if (
        request.jit == "auto"
        and backend != "torch"
        and local_gpu()
        and getattr(model, "jit_compile", None) is False
    ):
        request = dataclasses.replace(request, jit="off")  # with a GPU there, that is what somebody said
    # As of a script that trains on PyTorch: the child says as what that is estimated.
    request = dataclasses.replace(request, backend="auto", names={**request.names, "backend": backend})
    with tempfile.TemporaryDirectory(prefix="oomlint-") as folder:
        path = Path(folder).resolve() / "model.json"
        path.write_text(text, encoding="utf-8")
        asked = dataclasses.replace(request, names={**request.names, "saved": str(path)})
        try:
            return launch.estimate(
                asked, timeout=timeout, environment=launch.backend_environment(asked), folders=[Path.cwd()]
            )
        except EstimateError as error:
            if error.kind in ("build", "target"):
                raise _NotData(error.message) from error
            raise


def _is_keras_own(model: Any) -> bool:
    return type(model).__module__.partition(".")[0] == "keras"


def _here(model: Any, request: Request, data: tuple[Any, ...] | None, reason: str) -> Estimate:
    """In this process: the step of the model itself is traced, and nothing of it changes."""
    from oomlint.estimate.worker import main
    from oomlint.estimate.worker.what_if import solve

    if _backend() == "torch":
        raise EstimateError(
            f"Keras on PyTorch is estimated from the model's description only, and {reason}", "engine"
        )
    if request.engine == "auto" and _backend() != "jax":
        # Importing XLA's compiler would set flags that the training in this process reads too.
        request = dataclasses.replace(request, engine="graph")
    notes = [f"traced in this process, since {reason}"]
    if request.jit == "auto" and _lost_jit(model):
        request = dataclasses.replace(request, names={**request.names, "jit": "lost"})
        notes.append(
            "without a GPU here, Keras puts False in place of its default for jit_compile, which is XLA on a GPU: "
            'estimate(..., jit="off") if it was you'
        )
    if request.what_if:
        notes.append(f"no what-if: it takes building the model anew, and {reason}")
        request = dataclasses.replace(request, what_if=False)
    started = time.monotonic()

    def one(asked: Request) -> Estimate:
        subject = _subject(model, asked, data)
        with _stand_in_optimizer(subject.model):
            return main.measured(subject, asked, started)

    found = solve.completed(request, one(request), one)
    return dataclasses.replace(found, backend=_backend(), assumptions=(*found.assumptions, *notes))


def _lost_jit(model: Any) -> bool:
    """Whether False for `jit_compile` may be Keras' own word for "auto": on TensorFlow without a GPU it writes that."""
    if local_gpu() or _backend() != "tensorflow" or _generation(model) != 3:
        return False
    return getattr(model, "jit_compile", None) is False and not getattr(model, "run_eagerly", False)


def _subject(model: Any, request: Request, data: tuple[Any, ...] | None) -> Any:
    from oomlint.estimate.worker.script.making import Made
    from oomlint.estimate.worker.step.compiling import built_outputs
    from oomlint.estimate.worker.step.data_specs import inputs, targets
    from oomlint.estimate.worker.subject import Spec, Subject

    if request.mode == "train" and getattr(model, "optimizer", None) is None:
        raise EstimateError(
            f"the model is not compiled, and {type(model).__name__} cannot be compiled elsewhere",
            "build",
            hint="Call model.compile(optimizer=..., loss=...) before the estimate.",
        )
    assumptions: list[str] = []
    batch = request.batch_size or 32
    if data is not None:
        specs = tuple(_with_batch(part, request.batch_size) for part in data)
        return Subject(model, specs if request.mode == "train" else specs[:1], request.mode, assumptions)
    made = Made(model)
    made.loss = getattr(model, "loss", None)
    x = inputs(made, request, batch, assumptions)
    if request.mode == "predict":
        return Subject(model, (x,), "predict", assumptions)
    y = targets(made, None if made.has_no_call else built_outputs(model, x), batch, assumptions)
    assert isinstance(x, Spec | dict | list | tuple)
    return Subject(model, (x,) if y is None else (x, y), "train", assumptions)


def _with_batch(part: Any, batch: int | None) -> Any:
    """The same nest of specs for another batch."""
    if isinstance(part, dict):
        return {key: _with_batch(item, batch) for key, item in part.items()}
    if isinstance(part, list | tuple):
        return type(part)(_with_batch(item, batch) for item in part)
    if part is None or batch is None:
        return part
    return dataclasses.replace(part, shape=(batch, *part.shape[1:]))


@contextlib.contextmanager
def _stand_in_optimizer(model: Any) -> Iterator[None]:
    """An optimizer of the same kind whose slots occupy nothing, for as long as the step is traced."""
    from oomlint.estimate.worker.keras.state import own_optimizers

    own = getattr(model, "optimizer", None)
    if own is None or getattr(own, "built", False) or getattr(own, "_built", False) or own_optimizers(model):
        yield
        return
    from oomlint.estimate.worker.keras.weightless import without_memory

    try:
        with without_memory():
            stand_in = type(own).from_config(own.get_config())
            stand_in.build(model.trainable_variables)
    except Exception:
        # A learning-rate schedule of the user's own, for one: then its real slots are built, as training would.
        own.build(model.trainable_variables)
        yield
        return
    model.optimizer = stand_in
    try:
        yield
    finally:
        model.optimizer = own


def _generation(model: Any) -> Literal[2, 3]:
    for base in type(model).__mro__:
        if base.__module__.startswith("keras.src") and "keras" in sys.modules:
            return 3 if str(sys.modules["keras"].__version__).startswith("3") else 2
        if base.__module__.partition(".")[0] == "tf_keras":
            return 2
    return 3


def _backend() -> str:
    keras = sys.modules.get("keras")
    return str(keras.backend.backend()) if keras is not None else "tensorflow"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def local_gpu() -> str | None:
    """The name of the GPU that this process trains on, as TensorFlow or JAX tell it without starting it up."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None:
        with contextlib.suppress(Exception):
            for device in tensorflow.config.list_physical_devices("GPU"):
                name = tensorflow.config.experimental.get_device_details(device).get("device_name", "")
                if find_gpu(name):
                    return str(name)
    jax = sys.modules.get("jax")
    if jax is not None and _backend() == "jax":
        with contextlib.suppress(Exception):
            for device in jax.devices("gpu"):
                if find_gpu(device.device_kind):
                    return str(device.device_kind)
    return None


def guard(
    model: Any = None,
    *,
    gpu: str | None = None,
    batch_size: int | None = None,
    action: Literal["raise", "warn"] = "raise",
    **options: Any,
) -> Any:
    """A Keras callback that estimates the run before its first step, and stops it where it will not fit.

    model.fit(..., callbacks=[oomlint.guard(gpu="T4")])

    `gpu` as in `oomlint.estimate`; without it, the GPU of this machine, and nothing is checked where there is none.
    `batch_size` is taken from `fit` where it is not given. With `action="warn"` the run goes on. Other options are
    those of `oomlint.estimate`. Raises `WillNotFit`; whatever else goes wrong is a warning, not the end of the run.
    """
    from oomlint.guarding import make_guard

    return make_guard(model, gpu, batch_size, action, options)


def warn(message: str) -> None:
    """A warning that names the caller's line as well as it can."""
    warnings.warn(f"oomlint: {message}", RuntimeWarning, stacklevel=3)
