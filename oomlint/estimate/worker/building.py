"""From a request to a model that is compiled and built, with the shapes of a batch; nothing is allocated."""

from __future__ import annotations

from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker.subject import Subject
from oomlint.estimate.worker.weightless import without_memory

DEFAULT_BATCH = 32  # Keras' own: keras/src/trainers/data_adapters/array_data_adapter.py


def build(request: Request) -> Subject:
    """The subject of an estimate. Raises EstimateError (kind build, extra or target)."""
    keras = _keras()
    assumptions: list[str] = []
    from oomlint.estimate.worker import compiling, data_specs, making

    with without_memory():
        if request.policy:
            keras.config.set_dtype_policy(request.policy) if hasattr(keras, "config") else (
                keras.mixed_precision.set_global_policy(request.policy)
            )
        made = making.make(request, assumptions)
        batch = request.batch_size or made.batch
        if batch is None:
            batch = DEFAULT_BATCH
            assumptions.append(f"batch size {batch}, Keras' default: give another with --batch-size")
        x = data_specs.inputs(made, request, batch)
        outputs = compiling.built_outputs(made.model, x)
        if request.mode == "predict":
            return Subject(made.model, (x,), "predict", assumptions)
        compiling.compile_model(made, request, outputs, assumptions)
        y = data_specs.targets(made, outputs, batch, assumptions)
        compiling.build_slots(made.model, x, y)
    data = (x,) if y is None else (x, y)
    return Subject(made.model, data, "train", assumptions)


def _keras() -> Any:
    try:
        import keras
    except ImportError as error:
        name = getattr(error, "name", None) or "keras"
        raise EstimateError(
            f"estimating needs TensorFlow and Keras, and {name} is not installed",
            "extra",
            hint='Install them: pip install "oomlint[estimate]"',
        ) from None
    return keras
