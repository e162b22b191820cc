"""Compiles a model that nobody compiled, and builds what a training step needs: weights, slots, metrics."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.result import ASSUMED_OPTIMIZER
from oomlint.estimate.worker.absent.stand_ins import Missing, NeededError
from oomlint.estimate.worker.keras.compilation import asked_jit
from oomlint.estimate.worker.keras.generation import chosen, is_legacy, keras_of, tree
from oomlint.estimate.worker.keras.state import own_optimizers
from oomlint.estimate.worker.script.making import Made, _failed, near
from oomlint.estimate.worker.step import losses
from oomlint.estimate.worker.subject import Spec, packed


def outputs_of(made: Made, x: Any, request: Request) -> Any:
    """What the model gives for a batch; None where only its own step says what the model is called on.

    A graph's nodes and edges are held by the model, and its data are the numbers of nodes.
    """
    if made.has_no_call:
        return None
    try:
        return built_outputs(made.model, x, training=request.mode != "predict")
    except EstimateError:
        if request.mode == "predict" or not losses.has_own(made.model, "train_step"):
            raise
        return None


def built_outputs(model: Any, x: Any, training: bool = True) -> Any:
    """The outputs for a batch, as symbolic tensors; a model without input layers is built by this.

    A `call` of the user's own is asked for those of a training step first: a detector may decode its boxes only
    otherwise, for one picture.
    """
    if training and _tells_training(model):
        try:
            return _outputs(model, functools.partial(model, training=True), x)
        except EstimateError:  # for the same reason mostly, which the plain call tells
            pass
    return _outputs(model, model, x)


def _tells_training(model: Any) -> bool:
    """Whether it has a `call` of the user's own that is told whether the model is trained."""
    call = type(model).call
    own = str(call.__module__).partition(".")[0] not in ("keras", "tf_keras")
    return own and "training" in inspect.signature(call).parameters


def _outputs(model: Any, call: Callable[[Any], Any], x: Any) -> Any:
    keras = keras_of(model)

    def symbolic(spec: Spec) -> Any:
        if hasattr(keras, "KerasTensor") and hasattr(keras, "config"):
            return keras.KerasTensor(spec.shape, spec.dtype)
        return keras.Input(batch_size=spec.shape[0], shape=spec.shape[1:], dtype=spec.dtype)

    given = tree().map_structure(symbolic, x)
    try:
        return _in_full(call(given), model, call, x)
    except Exception as error:
        outputs = _of_one_sample(model, call, x, given) if hasattr(keras, "KerasTensor") else None
        if outputs is not None:
            return outputs
        if isinstance(error, NeededError):
            from oomlint.estimate.worker.script import running

            raise running.asked(error.value, "", []) from error
        raise _failed(error, f"calling the model on {_words(x)}") from error


def _in_full(outputs: Any, model: Any, call: Callable[[Any], Any], x: Any) -> Any:
    """Outputs whose shapes the model calculates, `tf.reshape(y, (tf.shape(y)[0], -1))`, as a traced call has them."""
    keras = keras_of(model)
    leaves = tree().flatten(outputs)
    open_ = [one for one in leaves if any(size is None for size in tuple(one.shape)[1:])]
    if not open_ or not hasattr(keras, "KerasTensor") or keras.backend.backend() != "tensorflow":
        return outputs
    import tensorflow as tf

    specs = tree().map_structure(lambda spec: tf.TensorSpec(spec.shape, spec.dtype), x)
    try:
        traced = tf.function(lambda one: call(one), autograph=False).get_concrete_function(specs)
        shapes = [tuple(one.shape) for one in tree().flatten(traced.structured_outputs)]
    except Exception:  # the user's own code
        return outputs
    if len(shapes) != len(leaves) or any(None in shape for shape in shapes):
        return outputs
    whole = [keras.KerasTensor(shape, one.dtype) for shape, one in zip(shapes, leaves, strict=True)]
    return tree().pack_sequence_as(outputs, whole)


_LARGEST = 1 << 22  # numbers in a sample: a forward pass of more is no small matter on a CPU


def _of_one_sample(model: Any, call: Callable[[Any], Any], x: Any, given: Any) -> Any:
    """The outputs of a model whose code needs numbers: it is called on one sample of zeros; None where that fails, too.

    A layer may make variables of tensors when it is built, as Keras 2 let it.
    """
    import math

    import numpy

    keras = keras_of(model)
    if keras.backend.backend() != "tensorflow" or any(
        math.prod(spec.shape[1:]) > _LARGEST for spec in tree().flatten(x)
    ):
        return None

    def zeros(spec: Spec) -> Any:
        return keras.ops.convert_to_tensor(numpy.zeros((1, *spec.shape[1:]), spec.dtype))

    batch = tree().flatten(x)[0].shape[0]
    try:
        outputs = call(tree().map_structure(zeros, x))
        try:
            return call(given)
        except Exception:  # the user's own code: its outputs are known by now
            return tree().map_structure(
                lambda one: keras.KerasTensor((batch, *one.shape[1:]), one.dtype.name), outputs
            )
    except Exception:
        return None


def _words(x: Any) -> str:
    return ", ".join(f"{spec.dtype}{list(spec.shape)}" for spec in tree().flatten(x))


def compile_model(made: Made, request: Request, outputs: Any, assumptions: list[str]) -> None:
    """Compile with what the request overrides, and with defaults where nobody said anything."""
    model = made.model
    compiled = getattr(model, "optimizer", None) is not None
    made.loss = made.loss if made.loss is not None else losses.compiled_loss(model)
    changes: dict[str, Any] = {}
    if request.optimizer or not compiled:
        changes["optimizer"] = _optimizer(made, request, assumptions)
    elif isinstance(model.optimizer, Missing):
        model.optimizer = _in_place_of(model.optimizer, model, assumptions)
    if request.loss:
        changes["loss"] = made.loss = request.loss
    elif made.loss is None and not losses.own_losses(model, compiled and not made.by_hand):
        called = losses.called_loss(request, model, outputs)
        changes["loss"] = made.loss = called or losses.default_loss(model, outputs)
        chosen = "chosen by the output: give another with --loss"
        if called is not None:
            chosen = f"as the loop calls it ({request.names['loss_named']})"
        assumptions.append(f"loss {losses.loss_words(made.loss)}, {chosen}")
    if request.jit != "auto":
        changes["jit_compile"] = request.jit == "on"
    elif made.by_hand:  # of whatever Keras: its loop says how a step runs
        changes |= {"jit_compile": False, "run_eagerly": made.by_hand == "eager"}
    elif request.names.get("keras") == "2" and asked_jit(model) is not True and not is_legacy(model):
        changes["jit_compile"] = False
        assumptions.append(
            "the script is for Keras 2, which does not use XLA: built with Keras 3, step without XLA"
        )
    if not changes:
        return
    kept: dict[str, Any] = {"optimizer": getattr(model, "optimizer", None), "loss": made.loss}
    if compiled and hasattr(model, "run_eagerly"):
        kept["jit_compile"] = asked_jit(model)
        kept["run_eagerly"] = bool(getattr(model, "run_eagerly", False))
    arguments = {name: value for name, value in (kept | changes).items() if value is not None}
    try:
        model.compile(**arguments)
    except Exception as error:
        raise _failed(error, "compiling the model") from error


def _optimizer(made: Made, request: Request, assumptions: list[str]) -> Any:
    keras = keras_of(made.model)
    if request.optimizer:
        return optimizer_named(request.optimizer, keras)
    if made.optimizer is not None and not _is_optimizer(made.optimizer, keras):
        return _in_place_of(made.optimizer, made.model, assumptions)
    if made.optimizer is not None:
        return made.optimizer
    assumptions.append(
        f"{ASSUMED_OPTIMIZER}Adam, as nothing compiles the model: give another with --optimizer"
    )
    return keras.optimizers.Adam()


def _is_optimizer(value: Any, keras: Any) -> bool:
    """Whether that Keras takes it: those of its old kind, or a script's own class, may not be."""
    kinds = [keras.optimizers.Optimizer]
    legacy = getattr(getattr(keras.optimizers, "legacy", None), "Optimizer", None)
    kinds += [legacy] if isinstance(legacy, type) else []
    return isinstance(value, tuple(kinds))


def _in_place_of(optimizer: Any, model: Any, assumptions: list[str]) -> Any:
    why = f"{type(optimizer).__name__} is no optimizer of the Keras that is installed"
    if isinstance(optimizer, Missing):
        why = " ".join(str(optimizer.oomlint_cause or "it is not known").split())[:120]
    kinds, keras = _slots(optimizer), keras_of(model)
    if kinds is None or kinds > 1:
        assumptions.append(f"{ASSUMED_OPTIMIZER}Adam: the script's own cannot be made ({why})")
        return keras.optimizers.Adam()
    like = "SGD with momentum" if kinds else "SGD"
    kept = "one number" if kinds else "none"
    assumptions.append(
        f"{ASSUMED_OPTIMIZER}{like}: the script's own, which cannot be made ({why}), keeps {kept} for each weight, too"
    )
    return keras.optimizers.SGD(0.01, momentum=0.9 if kinds else 0.0)


# Where an optimizer of Keras 2 makes what it keeps for each weight: `self.add_slot(var, "momentum")`.
_SLOT = re.compile(r"""\.add_slot\(\s*\w+\s*,\s*["'](\w+)["']""")


def _slots(optimizer: Any) -> int | None:
    """How many numbers an optimizer of the user's own keeps for each weight; None where its code does not say it."""
    makes = getattr(type(optimizer), "_create_slots", None)
    try:
        return None if makes is None else len(set(_SLOT.findall(inspect.getsource(makes))))
    except (OSError, TypeError):
        return None


def optimizer_named(text: str, keras: Any = None) -> Any:
    """An optimizer by name, with arguments if any: `adam`, `momentum`, `SGD(momentum=0.9)`, `sgd:nesterov=True`."""
    import ast

    keras = chosen() if keras is None else keras
    found = re.fullmatch(r"\s*([A-Za-z]\w*)\s*(?:\((.*)\)|:(.*))?\s*", text)
    if found is None:
        raise EstimateError(f"--optimizer {text!r} is no optimizer's name", "target")
    name, inside = found[1], found[2] or found[3] or ""
    arguments: dict[str, Any] = {}
    try:
        parsed = ast.parse(f"f({inside})", mode="eval").body
        assert isinstance(parsed, ast.Call)
        arguments = {one.arg: ast.literal_eval(one.value) for one in parsed.keywords if one.arg}
    except (SyntaxError, ValueError):
        raise EstimateError(f"--optimizer {text!r}: write NAME or NAME(argument=value)", "target") from None
    if name.lower() == "momentum":
        name, arguments = "sgd", {"momentum": 0.9} | arguments
    if name.lower() == "sgd":
        arguments.setdefault("learning_rate", 0.01)
    known = {
        one.lower(): one for one in dir(keras.optimizers) if isinstance(getattr(keras.optimizers, one), type)
    }
    if name.lower() not in known:
        raise EstimateError(f"Keras has no optimizer {name!r}", "target", hint=near(name.lower(), known))
    try:
        return getattr(keras.optimizers, known[name.lower()])(**arguments)
    except (TypeError, ValueError) as error:
        raise EstimateError(f"--optimizer {text!r}: {error}", "target") from None


def build_slots(model: Any, data: tuple[Any, ...]) -> None:
    """Build the optimizer's slots; by a step on a batch where layers get their weights in a step of the model's own."""
    if losses.own_step(model) and any(not one.built for one in _parts(model)):
        _traced_once(model, data)
    optimizer = model.optimizer
    if optimizer is not None and _of_another(optimizer, model) and not losses.own_step(model):
        # Two models may be compiled with one optimizer: in Keras 2 it kept slots for both, Keras 3 refuses the second.
        optimizer = model.optimizer = type(optimizer).from_config(optimizer.get_config())
    if optimizer is None or getattr(optimizer, "built", False) or own_optimizers(model):
        return  # one that has optimizers of its own builds them in its step, and the usual one never
    if hasattr(optimizer, "build"):
        strategy = getattr(model, "distribute_strategy", None)  # whose scope the script has left by now
        with strategy.scope() if strategy is not None else contextlib.nullcontext():
            optimizer.build(model.trainable_variables)
    elif hasattr(optimizer, "_create_all_weights"):  # tf_keras.optimizers.legacy
        optimizer._create_all_weights(model.trainable_variables)


def _parts(model: Any) -> list[Any]:
    flat = getattr(model, "_flatten_layers", None)
    return [] if flat is None else list(flat(include_self=False))


def _traced_once(model: Any, data: tuple[Any, ...]) -> None:
    """Trace the step without keeping it: Keras has the optimizer built by it, with the weights that there are then."""
    if keras_of(model).backend.backend() != "tensorflow":
        return
    import tensorflow as tf

    specs = tree().map_structure(lambda one: tf.TensorSpec(one.shape, one.dtype), packed(data))
    with contextlib.suppress(
        Exception
    ):  # the user's own code, which is to fail where the step itself is traced
        tf.function(model.train_step).get_concrete_function(specs)


def _of_another(optimizer: Any, model: Any) -> bool:
    """Whether an optimizer was built for the variables of another model."""
    known = getattr(optimizer, "_trainable_variables_indices", None)
    if (
        not getattr(optimizer, "built", False)
        or not isinstance(known, dict)
        or not hasattr(optimizer, "_var_key")
    ):
        return False
    return any(optimizer._var_key(one) not in known for one in model.trainable_variables)
