"""Which program trains on the GPU: one that XLA compiles, a TensorFlow graph, or operations one by one.

That decides the memory, and on a machine without a GPU Keras answers for the CPU; so its rules are applied here for
the GPU (Keras 3.15.1: keras/src/trainers/trainer.py `_resolve_auto_jit_compile` and `model_supports_jit`,
keras/src/backend/tensorflow/trainer.py; Keras 2 does not compile unless it is told to).
"""

from __future__ import annotations

from typing import Any, Literal

from oomlint.estimate.request import Request
from oomlint.estimate.worker.keras.generation import is_legacy, layers_of
from oomlint.estimate.worker.keras.strategies import distributed
from oomlint.estimate.worker.keras.weightless import backend_name
from oomlint.estimate.worker.subject import Subject

Program = Literal["xla", "graph", "eager"]


def program_of(subject: Subject, request: Request) -> tuple[Program, str]:
    """The program, and the reason in words."""
    model = subject.model
    plain: Program = "eager" if backend_name() == "jax" else "graph"
    if getattr(model, "run_eagerly", False):
        by_hand = "its loop takes each step by hand, and no tf.function is around that"
        return "eager", by_hand if subject.one_step else "the model is compiled with run_eagerly=True"
    if request.jit == "off":
        return plain, "--jit off"
    if request.jit != "on" and chooses_torch(request):
        return plain, (
            "Keras compiles no step with XLA on PyTorch: estimated as TensorFlow's graph without XLA, which keeps "
            "much the same tensors"
        )
    refusing = _refusing(model)
    asked = "auto" if request.names.get("jit") == "lost" else asked_jit(model)
    if request.jit == "on" or asked is True:
        if refusing:
            return plain, f"Keras does not compile {refusing}, even with jit_compile=True"
        return "xla", "--jit on" if request.jit == "on" else "the model is compiled with jit_compile=True"
    if asked is False:
        return plain, "the step runs without XLA (jit_compile=False, or a training loop of the script's own)"
    if is_legacy(model):
        return "graph", "Keras 2 compiles no step with XLA unless it is told to"
    strategy = distributed(request)
    if strategy or request.replicas > 1 or getattr(model, "_distribute_strategy", None) is not None:
        named = f" ({strategy})" if strategy else ""
        return "graph", f"Keras compiles no step with XLA under a tf.distribute strategy{named}"
    if refusing:
        return plain, f"Keras does not compile {refusing} with XLA"
    if backend_name() == "tensorflow" and _is_deterministic():
        return "graph", "Keras compiles no step with XLA while op determinism is on"
    return "xla", "Keras 3 compiles the training step with XLA on a GPU (jit_compile='auto')"


def chooses_torch(request: Request) -> bool:
    """Whether the script trains on PyTorch, and nobody asked for another backend: its step is not traced itself."""
    return request.backend == "auto" and request.names.get("backend") == "torch"


def asked_jit(model: Any) -> Any:
    """What `compile` was given for `jit_compile` (True, False, "auto"); Keras puts what it means here in its place."""
    config = getattr(model, "_compile_config", None)
    if config is not None:
        return getattr(config, "config", {}).get("jit_compile", "auto")
    return getattr(model, "_jit_compile", None)


def _refusing(model: Any) -> str:
    """A layer that cannot be compiled; the default LSTM and GRU run on cuDNN instead."""
    for layer in layers_of(model):
        if not getattr(layer, "supports_jit", True) or _on_cudnn(layer):
            return f"{type(layer).__name__} {layer.name!r}"
    return ""


def _on_cudnn(layer: Any) -> bool:
    """Whether a recurrent layer would run on cuDNN on a GPU: it asks for one when it is made, and there is none here.

    keras/src/layers/rnn/lstm.py, gru.py (`supports_jit`); keras/src/backend/tensorflow/rnn.py (`cudnn_ok`).
    """
    if getattr(layer, "use_cudnn", False) not in ("auto", True) or backend_name() != "tensorflow":
        return False
    cell: Any = getattr(layer, "cell", None)
    try:
        names = ("tanh", "sigmoid")
        known = (cell.activation.__name__, cell.recurrent_activation.__name__) == names
        return bool(known and not layer.unroll and cell.use_bias and getattr(cell, "reset_after", True))
    except AttributeError:  # a cell of the user's own
        return False


def _is_deterministic() -> bool:
    from tensorflow.python.framework.config import is_op_determinism_enabled

    return bool(is_op_determinism_enabled())
