"""The step of the TensorFlow backend as XLA gets it: TensorFlow's own bridge makes StableHLO of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.keras.state import own_optimizers, variable_bytes
from oomlint.estimate.worker.keras.weightless_tensorflow import give_value
from oomlint.estimate.worker.subject import Spec, Subject, packed
from oomlint.estimate.worker.xla.lowered import Program

# Results that are updated variables are copied in the exported text, by an operation of a dialect that JAX lacks.
_COPY = re.compile(r'"?mhlo\.copy"?\(?\s*(%[\w#]+)\)?\s*(?:\{[^}]*\}\s*)?: (?:\(.*?\) -> )?(tensor<[^>]*>)')

# Masks: MLIR packed eight of their elements in a byte until 2025 and gives each a byte since, so that TensorFlow and
# JAX may not agree.
_MASK = re.compile(
    r'^(\s*)(%\w+) = stablehlo\.constant dense<"0x([0-9A-Fa-f]+)"> : tensor<([\dx]+)xi1>(.*)$', re.MULTILINE
)

# TensorFlow's bridge computes the gradient of a bilinear resize in float32 whatever it resizes, and chooses between
# that and zeros of float16: XLA takes the more precise of the two, StableHLO's verifier neither.
_CHOICE = re.compile(
    r'^(\s*)(%\w+) = "stablehlo\.select"\((%[\w#]+), (%[\w#]+), (%[\w#]+)\) : \((tensor<[\dx]*i1>), '
    r"tensor<(?P<shape>[\dx]*)(\w+)>, tensor<(?P=shape)(\w+)>\) -> tensor<(?P=shape)(\w+)>(.*)$",
    re.MULTILINE,
)


def exported(subject: Subject) -> Program:
    """The model's own `train_step`, compiled as `keras/src/backend/tensorflow/trainer.py` has it."""
    import tensorflow as tf

    step = tf.function(_call(subject), jit_compile=True, autograph=False)
    data = [_spec(leaf) for leaf in tf.nest.flatten(subject.data)]
    try:
        concrete = step.get_concrete_function(*data)
        captured = _captured(concrete)
        _give_values(captured)
        text = step.experimental_get_compiler_ir(*data)(stage="stablehlo", platform_name="CPU")
    except (tf.errors.OpError, ValueError, NotImplementedError) as error:
        raise _refused(error) from error
    return Program(
        readable(text).encode(),
        "tensorflow",
        inputs=sum(map(_spec_bytes, [*data, *_held(concrete)])),
        captured=_others(captured, subject),
    )


def _call(subject: Subject) -> Any:
    """The step as a function of flat arguments: the export takes no others."""
    import tensorflow as tf

    model = subject.model
    step = model.predict_step if subject.mode == "predict" else model.train_step
    return lambda *flat: step(packed(tf.nest.pack_sequence_as(subject.data, flat)))


def _spec(spec: Spec) -> Any:
    import tensorflow as tf

    return tf.TensorSpec(spec.shape, spec.dtype)


def _spec_bytes(spec: Any) -> int:
    return int(math.prod(spec.shape)) * int(spec.dtype.size)


def _captured(concrete: Any) -> list[Any]:
    """The variables that the step reads or writes, those that nothing else keeps count of among them."""
    return list({id(variable): variable for variable in concrete.graph.variables}.values())


def _held(concrete: Any) -> list[Any]:
    """The tensors that the step is given each time beside its batch: a graph's nodes that the model holds."""
    import tensorflow as tf

    return [one for one in concrete.captured_inputs if one.dtype not in (tf.resource, tf.variant)]


def _others(captured: Iterable[Any], subject: Subject) -> int:
    """Bytes of the captured variables that are neither the model's nor its optimizer's."""
    model = subject.model
    optimizer = getattr(model, "optimizer", None)
    slots = getattr(optimizer, "variables", ()) if optimizer is not None else ()
    metrics = [variable for metric in getattr(model, "metrics", ()) for variable in metric.variables]
    own = [slot for one in own_optimizers(model) for slot in one.variables]
    known = [*model.variables, *(slots() if callable(slots) else slots), *metrics, *own]
    names = {id(getattr(variable, "value", variable)) for variable in known}
    names |= {id(getattr(variable, "_value", variable)) for variable in known}
    return sum(variable_bytes(variable) for variable in captured if id(variable) not in names)


def _give_values(variables: Iterable[Any]) -> None:
    """Exporting wants variables that have a value."""
    import tensorflow as tf

    for variable in variables:
        if not bool(tf.raw_ops.VarIsInitializedOp(resource=variable.handle)):
            give_value(variable)


def readable(text: str) -> str:
    """The module in words that JAX' parser knows.

    A reshape to the same shape, which XLA drops, in place of every copy; masks as bytes that are converted; choices
    between values of one precision.
    """
    text = _COPY.sub(r"stablehlo.reshape \1 : (\2) -> \2", text)
    return _CHOICE.sub(_of_one_precision, _MASK.sub(_mask_of_bytes, text))


def _mask_of_bytes(found: re.Match[str]) -> str:
    import numpy as np

    indent, name, digits, sides, rest = found.groups()
    count = math.prod(int(side) for side in sides.split("x"))
    elements: np.ndarray[Any, np.dtype[np.uint8]] = np.frombuffer(bytes.fromhex(digits), np.uint8)
    if len(elements) != count:
        elements = np.unpackbits(elements, bitorder="little")[:count]
    data = np.minimum(elements, 1).astype(np.uint8).tobytes().hex().upper()
    whole = f'{indent}{name}_bytes = stablehlo.constant dense<"0x{data}"> : tensor<{sides}xi8>{rest}\n'
    return f"{whole}{indent}{name} = stablehlo.convert {name}_bytes : (tensor<{sides}xi8>) -> tensor<{sides}xi1>{rest}"


def _of_one_precision(found: re.Match[str]) -> str:
    indent, name, chooser, first, second, asked, shape, of_first, of_second, wanted, rest = found.groups()
    lines, chosen = [], []
    for number, (value, kind) in enumerate(((first, of_first), (second, of_second))):
        if kind != wanted:
            made = f"%precise_{name[1:]}_{number}"
            types = f"(tensor<{shape}{kind}>) -> tensor<{shape}{wanted}>"
            lines.append(f"{indent}{made} = stablehlo.convert {value} : {types}{rest}\n")
            value = made
        chosen.append(value)
    types = f"{asked}, tensor<{shape}{wanted}>"
    return f"{''.join(lines)}{indent}{name} = stablehlo.select {chooser}, {', '.join(chosen)} : {types}{rest}"


NOT_LOWERED = "TensorFlow does not lower the step to XLA"
_UNKNOWN = re.compile(r"(\w+) \(No registered '\w+' OpKernel for XLA\w+[^()]*?\{\{node ([^}]+)\}\}")


def _refused(error: Exception) -> EstimateError:
    """Why XLA takes no such step. What it has no operation for fails on the GPU, too."""
    unknown = {name: node.rpartition("/")[0] for name, node in _UNKNOWN.findall(str(error))}
    if not unknown:
        return EstimateError(f"{NOT_LOWERED}: {_first_line(error)}", "engine")
    names = ", ".join(f"{name} (in {node})" if node else name for name, node in unknown.items())
    return EstimateError(
        f"XLA has no {names}: compiled by XLA, as Keras 3 does on a GPU by itself, the first step fails",
        "engine",
        hint="Give compile() jit_compile=False, and estimate that: --jit off.",
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]
