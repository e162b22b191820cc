"""A script trains on the GPU and leaves TensorFlow's memory as it is: all of it, for one process.

## What it does

Reports the first training call of a script that configures no GPU memory anywhere it can be seen: no growth,
no limit, no allocator, no `TF_FORCE_GPU_ALLOW_GROWTH`. One finding a script. Modules that only define
things, examples in documents, scripts that hide the GPU, and Keras on JAX or PyTorch (where Keras asks for growth
itself) are left alone.

It is a note, and a warning where something else plainly needs the same GPU: child processes that train, another
framework, a notebook's kernel that stays alive (Colab and Kaggle give each notebook a machine of its own). Two models
trained by one process are no such thing: both live in the one pool that the process has, with growth or without it.

## Why is this bad?

At its first operation TensorFlow reserves nearly all the memory of every GPU it sees. A second process on that
GPU, even a short test, then fails with an out-of-memory error. With growth the memory is taken as it is needed.

What growth does not do: it prevents no out-of-memory error of the run itself. A model that does not fit still does
not fit, what is taken is not given back before the process ends, and memory taken piece by piece can
fragment, so that a run that just fitted no longer does. Nor is a full GPU in `nvidia-smi` a leak: it shows what is
reserved, not what is used (`tf.config.experimental.get_memory_info("GPU:0")` tells that).

`TF_FORCE_GPU_ALLOW_GROWTH` counts only if it is exactly `true`: with `1` or `True` TensorFlow logs a line and
leaves growth off.

## Example

```python
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(tf.zeros((64, 8)), tf.zeros((64, 1)), epochs=2)
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(tf.zeros((64, 8)), tf.zeros((64, 1)), epochs=2)
```

## Fix safety

Unsafe: the block is inserted after the imports, for all GPUs (growth on only some of them raises). Memory that
grows can fragment, so a model that filled the GPU to the last megabyte may need more than before.
In a script of TensorFlow 1 there is no fix, for its sessions go by their own configuration.

## References

- <https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth>
- <https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_memory_growth>
"""

from __future__ import annotations

from collections.abc import Iterator

from oomlint.rules.device.insertion import after_imports

from oomlint.dryrun.queries import child_processes, gpu_setup, replicas
from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.queries.graph_growth import is_legacy
from oomlint.dryrun.queries.other_frameworks import jax_on_the_gpu, torch_on_the_gpu
from oomlint.dryrun.trace import Call, Trace
from oomlint.dryrun.values.base import Const, deref
from oomlint.dryrun.values.training import Layer, Model
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Finding, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM101",
    name="missing-memory-growth",
    severity=Severity.NOTE,
    fix=Safety.UNSAFE,
    literals=("fit", "fit_generator", "train_on_batch", "apply_gradients", "minimize"),
    backends=TENSORFLOW_BACKEND,
)

FITS = ("keras.Model.fit", "keras.Model.fit_generator")
TRAINS = (*FITS, "keras.Model.train_on_batch", "keras.Optimizer.apply_gradients", "keras.Optimizer.minimize")
VARIABLE = "TF_FORCE_GPU_ALLOW_GROWTH"
BLOCK = (
    'for {gpu} in {tf}.config.list_physical_devices("GPU"):',
    "    {tf}.config.experimental.set_memory_growth({gpu}, True)",
)
OF_TENSORFLOW_2 = (
    "switch growth on for every GPU after the imports, before anything makes a tensor, variable or dataset"
)
# TensorFlow 1 has no `tf.config.list_physical_devices` (2.1 brought it), and a session goes by its own configuration.
OF_SESSIONS = (
    "give the session that trains a `tf.ConfigProto` whose `gpu_options.allow_growth` is True: Keras takes it by "
    "`keras.backend.set_session`"
)
FRAMEWORKS = ("cupy", "mxnet", "paddle")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """The first training call of a script that sets up no GPU memory."""
    if not trace.source.document.runs:
        return
    calls = trace.calls(*TRAINS)
    handed = gpu_setup.handed_over(trace) if calls else set()
    training = [call for call in calls if _runs(call, handed) and gpu_setup.seen_from(trace.source, call)]
    if not training or not _whole(trace, training) or _configured(trace) or gpu_setup.on_a_tpu(trace):
        return
    first = training[0]
    if gpu_setup.on_the_cpu(trace, first):
        return
    shared = _shared(trace, training)
    evidence = [Evidence(*shared)] if shared else _second_model(training)
    for call, value in environment(trace, VARIABLE):
        if isinstance(value, Const):
            text = f'{VARIABLE} is set to "{value.value}": only "true", letter by letter, switches growth on'
            evidence.append(Evidence(text, call.place))
    why = f", and {shared[0]}" if shared else ""
    legacy = is_legacy(trace)
    yield RULE.finding(
        gpu_setup.seen_from(trace.source, first) or first.place,
        f"training reserves all the memory of every GPU for this process: nothing sets up GPU memory{why}",
        severity=Severity.WARNING if shared else Severity.NOTE,
        evidence=evidence,
        help=OF_SESSIONS if legacy else OF_TENSORFLOW_2,
        fix=None
        if legacy
        else after_imports(trace, BLOCK, "set memory growth on every GPU after the imports"),
    )


def _runs(call: Call, handed: set[int]) -> bool:
    """Whether the call runs when the script does (and not only when somebody imports it)."""
    body = gpu_setup.uncalled(call.context)
    return body is None or id(body.function) in handed


def _whole(trace: Trace, training: list[Call]) -> bool:
    """Whether the file makes what it trains: a fragment that trains a name from nowhere is set up elsewhere."""
    if any(isinstance(call.receiver, Model) and replicas.maker(call.receiver) for call in training):
        return True
    if any(call.name.startswith("keras.Optimizer.") for call in training):
        # single layers are enough for a loop of one's own
        return any(isinstance(deref(call.result), Model | Layer) for call in trace.all_calls())
    return any(isinstance(deref(call.result), Model) for call in trace.all_calls())


def _configured(trace: Trace) -> bool:
    if trace.calls(gpu_setup.GROWTH, gpu_setup.LIMIT):
        return True
    if any(True for _ in environment(trace, "TF_GPU_ALLOCATOR")):
        return True
    for _, value in environment(trace, VARIABLE):
        if not isinstance(value, Const) or value.value == "true":
            return True
    options = ("allow_growth", "per_process_gpu_memory_fraction", "visible_device_list")
    if any(assign.path.endswith(options) for assign in trace.assigns()):
        return True
    if any(call.argument(name) for call in trace.calls("tf.GPUOptions") for name in options):
        return True
    return gpu_setup.out_of_sight(trace)


def _shared(trace: Trace, training: list[Call]) -> tuple[str, Place] | None:
    """Who else wants the GPU, and where that shows."""
    for handing, _ in child_processes.handings(trace, training):
        return "each process that trains wants the GPU for itself", handing.call.place
    for name, use in (("PyTorch", torch_on_the_gpu(trace)), ("JAX", jax_on_the_gpu(trace))):
        place = gpu_setup.seen_from(trace.source, use) if use is not None else None
        if place is not None:
            return f"{name} uses the same GPU", place
    for framework in FRAMEWORKS:
        if framework in trace.libraries:
            for module, place in trace.imports:
                if module.partition(".")[0] == framework and place.source is trace.source:
                    return f"{framework} is there to use the same GPU", place
    if trace.source.document.keeps_process:
        return "a notebook's kernel keeps it until it is restarted", training[0].place
    return None


def _second_model(training: list[Call]) -> list[Evidence]:
    """Where a second model is trained, with what growth does for the two: nothing."""
    models: dict[int, Call] = {}
    for call in training:
        if call.name in FITS and call.receiver is not None and call.context.role("child-process") is None:
            models.setdefault(id(call.receiver), call)
    text = "a second model is trained here, out of the same pool: growth makes no room for it"
    return [Evidence(text, call.place) for call in list(models.values())[1:2]]
