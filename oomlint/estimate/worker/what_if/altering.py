"""The changes that what-if tries, made to the model: recomputation, a smaller input, frozen layers, micro-batches."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker.keras.generation import is_legacy, keras_of, tree
from oomlint.estimate.worker.keras.layers import leaves
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.what_if.changes import scaled


def rematerialized(request: Request, keras: Any) -> AbstractContextManager[Any]:
    """Layers that are made inside recompute their activations, where the request says so."""
    if not request.remat:
        return nullcontext()
    scope = getattr(keras, "RematScope", None)
    if scope is None:
        raise EstimateError("this Keras has no RematScope")
    made: AbstractContextManager[Any] = scope(mode="full")
    return made


def alter(made: Made, request: Request) -> None:
    """Change the model before it is compiled and built."""
    keras = keras_of(made.model)
    if request.remat and is_legacy(made.model):
        raise EstimateError("Keras 2 has no RematScope")
    if request.input_scale != 1:
        made.model = _smaller(made, request.input_scale, keras)
    if request.frozen:
        layers = [layer for layer in leaves(made.model) if layer.weights]
        for layer in layers[: round(len(layers) * request.frozen)]:
            layer.trainable = False
        own = getattr(made.model, "optimizer", None)
        if own is not None and getattr(own, "built", False):  # a loaded model's has slots for all of them
            made.model.optimizer = type(own).from_config(own.get_config())


def accumulate(model: Any, request: Request) -> None:
    """Give the optimizer sums of gradients; its slots are not built yet."""
    if request.accumulate_steps < 2 or getattr(model, "optimizer", None) is None:
        return
    optimizer = model.optimizer
    inner = getattr(optimizer, "inner_optimizer", None)
    again = _with_steps(inner if inner is not None else optimizer, request.accumulate_steps)
    if inner is not None:
        optimizer.inner_optimizer = again
    else:
        model.optimizer = again


def _with_steps(optimizer: Any, steps: int) -> Any:
    config = optimizer.get_config()
    if "gradient_accumulation_steps" not in config:
        raise EstimateError(f"{type(optimizer).__name__} cannot accumulate gradients")
    steps *= config["gradient_accumulation_steps"] or 1
    return type(optimizer).from_config({**config, "gradient_accumulation_steps": steps})


def _smaller(made: Made, scale: float, keras: Any) -> Any:
    """The model again on smaller inputs. Only a model whose layers are known as a graph can be made again."""
    model = made.model
    inputs = getattr(model, "inputs", None)
    if not inputs or type(model).__module__.partition(".")[0] not in ("keras", "tf_keras"):
        raise EstimateError("only a functional or sequential model can be made again on a smaller input")
    smaller = [
        keras.Input(_sample(tuple(one.shape)[1:], str(one.dtype), scale), dtype=one.dtype, name=one.name)
        for one in inputs
    ]
    struct = getattr(model, "_inputs_struct", None)
    tensors = smaller[0] if len(smaller) == 1 else smaller
    if isinstance(struct, dict):
        tensors = tree().pack_sequence_as(struct, smaller)
    again = keras.models.clone_model(model, input_tensors=tensors)
    if getattr(model, "optimizer", None) is not None and getattr(again, "optimizer", None) is None:
        again.compile_from_config(model.get_compile_config())
    return again


def _sample(shape: tuple[int | None, ...], dtype: str, scale: float) -> tuple[int | None, ...]:
    """A sample's shape with its sides scaled: all but the last size, or a row of tokens."""
    sides = len(shape) - 1
    if len(shape) == 1 and dtype.startswith(("int", "uint")):
        sides = 1
    if sides < 1 or None in shape[:sides]:
        raise EstimateError("the input has no sides that could be shorter")
    return tuple(
        scaled(size, scale) if index < sides and size is not None else size
        for index, size in enumerate(shape)
    )
