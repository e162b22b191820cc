"""TensorFlow only reads the data, and takes the GPU from JAX or PyTorch, which train on it.

## What it does

Reports the call by which TensorFlow opens the GPU, in a script that trains with JAX or PyTorch on it and uses
TensorFlow for `tf.data`, TensorFlow Datasets, decoding or summaries only, without hiding the GPU from TensorFlow.

It is a note where Keras runs on JAX or PyTorch: Keras then asks TensorFlow for growth itself. It does so when it is
imported, so a data set that was made before that is a warning again.

## Why is this bad?

A data set is enough: the first one makes TensorFlow open every GPU it sees and reserve nearly all of its memory,
though it will compute nothing there. JAX wants three quarters of the same GPU at its own first
operation, PyTorch what it needs; whoever comes second dies of an out-of-memory error that names neither
TensorFlow nor the data. Placing the pipeline with `tf.device("CPU")` does not help, as opening comes first; nor does
`XLA_PYTHON_CLIENT_PREALLOCATE`, which is about JAX's part.

## Example

```python
import jax
import optax
import tensorflow as tf

optimizer = optax.adam(1e-3)
gradients = jax.grad(lambda w, x: ((x @ w) ** 2).mean())
dataset = tf.data.Dataset.from_tensor_slices([[1.0, 2.0]]).batch(1)
```

## Use instead

```python
import jax
import optax
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")

optimizer = optax.adam(1e-3)
gradients = jax.grad(lambda w, x: ((x @ w) ** 2).mean())
dataset = tf.data.Dataset.from_tensor_slices([[1.0, 2.0]]).batch(1)
```

## Fix safety

Unsafe: TensorFlow sees no GPU afterwards. What it computes after all, it computes on the CPU.

## References

- <https://github.com/google-deepmind/acme/issues/208>
- <https://docs.jax.dev/en/latest/gpu_memory_allocation.html>
- <https://www.tensorflow.org/api_docs/python/tf/config/set_visible_devices>
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from oomlint.rules.device.insertion import after_imports

from oomlint.dryrun.queries import gpu_setup
from oomlint.dryrun.queries.backend import keras_backend
from oomlint.dryrun.queries.device_makers import makes_devices
from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.queries.other_frameworks import jax_trains, torch_trains
from oomlint.dryrun.queries.rounds import path_between
from oomlint.dryrun.trace import Body, Branch, Call, Trace
from oomlint.dryrun.values.base import Const
from oomlint.findings.model import Evidence, Finding, Rule, Safety, Severity
from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM106",
    name="gpu-claimed-by-two-frameworks",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=(
        *("jit", "pmap", "grad", "value_and_grad", "backward", "Trainer", "fit"),
        *(
            "from_tensor_slices",
            "from_tensors",
            "from_generator",
            "list_files",
            "TFRecordDataset",
            "TextLineDataset",
        ),
        *("load", "builder", "as_numpy", "image_dataset_from_directory", "read_file"),
    ),
)

BLOCK = ('{tf}.config.set_visible_devices([], "GPU")',)
READS = ("tf.", "tensorflow_datasets.", "keras.utils.")
# TensorFlow computes: it is there for more than data.
COMPUTES = (
    "tf.GradientTape",
    "tf.Variable",
    "tf.saved_model.load",
    "tensorflow_hub.load",
    "tensorflow_hub.KerasLayer",
)
KERAS = ("keras.Model", "keras.Sequential", "keras.layers.", "keras.applications.")
NAMES = {"jax": "JAX", "torch": "PyTorch"}


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """The call by which TensorFlow opens the GPU that another framework trains on."""
    if not {"jax", "torch"} & trace.libraries.keys() or gpu_setup.hidden(trace) or _bounded(trace):
        return
    builds = any(call.name.startswith(KERAS) for call in trace.all_calls())
    backend = keras_backend(trace, settings) if builds else "tensorflow"
    keras = backend in NAMES and builds
    if backend is None or (builds and not keras) or trace.calls(*COMPUTES):
        return
    trains = (backend or "", None) if keras else _trains(trace)
    maker = _maker(trace)
    place = gpu_setup.seen_from(trace.source, maker) if maker is not None else None
    if trains is None or maker is None or place is None:
        return
    framework, training = trains
    early = maker.source is not trace.source or maker.index < trace.imported.get("keras", 0)
    quiet = keras and not early
    evidence = [Evidence(f"{training.name} trains", training.place)] if training is not None else []
    if maker.place != place:
        evidence.append(Evidence(f"{maker.name} makes the devices", maker.place))
    if quiet:
        message = (
            f"TensorFlow opens the GPU at {maker.name} only to read data, beside Keras on {NAMES[framework]}: with "
            "growth, which Keras asks for, and a CUDA context of its own"
        )
    else:
        message = (
            f"TensorFlow reserves the GPU's memory at {maker.name} only to read data, "
            f"and {NAMES[framework]} trains on that GPU"
        )
    yield RULE.finding(
        place,
        message,
        severity=Severity.NOTE if quiet else Severity.WARNING,
        evidence=evidence,
        help='hide the GPU from TensorFlow right after importing it: tf.config.set_visible_devices([], "GPU")',
        fix=after_imports(trace, BLOCK, "hide the GPU from TensorFlow")
        if maker.source is trace.source
        else None,
    )


def _maker(trace: Trace) -> Call | None:
    """What makes TensorFlow's devices first, when the script runs."""
    handed = gpu_setup.handed_over(trace)
    for call in trace.all_calls():
        if call.name.startswith(READS) and makes_devices(call, keras3=True):
            body = gpu_setup.uncalled(call.context)
            elsewhere = call.source is not trace.source and _is_in_a_branch(call)
            if (body is None or id(body.function) in handed) and not elsewhere:
                return call
    return None


def _is_in_a_branch(call: Call) -> bool:
    """Whether it runs on one way only, or in a function defined on one: `if keras.__version__ < "3": def ...`."""
    if call.context.innermost(Branch) is not None:
        return True
    functions = [body.function for body in call.context.all(Body)]
    return any(
        isinstance(node, cst.If)
        for function in functions
        for node in path_between(function.source.module, function.node)
    )


def _bounded(trace: Trace) -> bool:
    """Whether TensorFlow takes no more than it needs, or than it was given; or who knows (a helper out of sight)."""
    if trace.calls(gpu_setup.GROWTH, gpu_setup.LIMIT) or gpu_setup.on_a_tpu(trace):
        return True
    for _, value in environment(trace, "TF_FORCE_GPU_ALLOW_GROWTH"):
        if not isinstance(value, Const) or value.value == "true":
            return True
    return gpu_setup.out_of_sight(trace)


def _trains(trace: Trace) -> tuple[str, Call] | None:
    """Which other framework trains on the GPU, and where."""
    for name, training in (("jax", jax_trains(trace)), ("torch", torch_trains(trace))):
        if training is not None:
            return name, training
    return None
