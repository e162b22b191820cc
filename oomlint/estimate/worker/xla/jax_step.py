"""The step of Keras' JAX backend as XLA gets it: StableHLO, with what `jax.jit` says of donated arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.keras.weightless_jax import shape_of, without_memory
from oomlint.estimate.worker.subject import Spec, Subject
from oomlint.estimate.worker.xla.lowered import Program


def exported(subject: Subject) -> Program:
    """The model's own `train_step` (or `predict_step`), jitted as `keras/src/backend/jax/trainer.py` does it."""
    import jax

    model = subject.model
    data = jax.tree_util.tree_map(_shape, subject.data)
    state = _predict_state(model) if subject.mode == "predict" else _train_state(subject, data)
    step = model.predict_step if subject.mode == "predict" else model.train_step
    with without_memory():
        lowered = jax.jit(step, donate_argnums=0).trace(state, data).lower(lowering_platforms=("cuda",))
    module = lowered.compiler_ir("stablehlo")
    return Program(_bytecode(module), "jax", inputs=sum(map(_bytes, jax.tree_util.tree_leaves(data))))


def _train_state(subject: Subject, data: Any) -> Any:
    """What the trainer hands to a step: the variables of metrics exist only once it has seen a batch."""
    model = subject.model
    with without_memory(), _outputs_known(model, subject.outputs):
        model._symbolic_build(data_batch=data)
    groups = (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
    return tuple([shape_of(variable) for variable in group] for group in groups)


@contextmanager
def _outputs_known(model: Any, outputs: Any) -> Iterator[None]:
    """Inside, the model is not traced to find out what it gives: that takes as long as its forward pass."""
    from keras.src import backend

    original = backend.compute_output_spec

    def known(function: Any, *args: Any, **kwargs: Any) -> Any:
        if function is model and outputs is not None:
            return outputs
        return original(function, *args, **kwargs)

    with patch.object(backend, "compute_output_spec", known):
        yield


def _predict_state(model: Any) -> Any:
    groups = (model.trainable_variables, model.non_trainable_variables)
    return tuple([shape_of(variable) for variable in group] for group in groups)


def _shape(spec: Spec) -> Any:
    import jax
    from jax import dtypes

    return jax.ShapeDtypeStruct(spec.shape, dtypes.canonicalize_dtype(spec.dtype))


def _bytes(leaf: Any) -> int:
    return int(leaf.size) * int(leaf.dtype.itemsize)


def _bytecode(module: Any) -> bytes:
    import io

    output = io.BytesIO()
    module.operation.write_bytecode(output)
    return output.getvalue()
