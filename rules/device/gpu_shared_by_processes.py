"""Several processes train on one GPU at the same time, each as if it had it to itself.

## What it does

Reports work for several processes that trains, predicts or computes with Keras and TensorFlow: `n_jobs` other than 1
around a wrapped Keras model (`GridSearchCV`, `cross_val_score`, joblib), process pools with more than one
worker, processes of which the next is started before the last has ended, Ray tasks and trials of Ray Tune that share a
GPU (`num_gpus=0.5`, `resources_per_trial={"gpu": 0.5}`), and data workers (`use_multiprocessing=True`) that call
TensorFlow.

Left alone: one worker, one process at a time (the way to get memory back between trials), threads, a GPU of its
own or a memory limit for each worker, and a script that hides the GPU. Where growth is switched on it is a note.

## Why is this bad?

Each process has a CUDA context of its own, some hundreds of megabytes, and reserves the rest of the GPU at its first
operation. The first one gets nearly all of it, the others die of an out-of-memory error, often in a way that the
parent reports as nothing but a broken pool. With growth they start, and N models need N times the memory.

A GPU is no faster for it: the processes take turns.

## Example

```python
import tensorflow as tf
from tensorflow import keras
from scikeras.wrappers import KerasClassifier
from sklearn.model_selection import GridSearchCV

def build(units=32):
    model = keras.Sequential([keras.layers.Dense(units), keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
    return model

search = GridSearchCV(KerasClassifier(build), {"model__units": [32, 64, 128]}, n_jobs=-1)
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras
from scikeras.wrappers import KerasClassifier
from sklearn.model_selection import GridSearchCV

def build(units=32):
    model = keras.Sequential([keras.layers.Dense(units), keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
    return model

search = GridSearchCV(KerasClassifier(build), {"model__units": [32, 64, 128]}, n_jobs=1)
```

## Fix safety

Unsafe: one worker is left, which takes longer where the work is not the GPU's. With several GPUs, giving each worker
its own (`CUDA_VISIBLE_DEVICES`, set before it imports TensorFlow) is the better repair.

## References

- <https://github.com/keras-team/keras/issues/7553>
- <https://github.com/keras-team/keras/issues/13764>
- <https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth>
"""

from __future__ import annotations

from collections.abc import Iterator

from oomlint.dryrun.catalog.keras.batch_sources import BatchSource
from oomlint.dryrun.queries import child_processes, gpu_options, gpu_setup
from oomlint.dryrun.queries.backend import keras_backend
from oomlint.dryrun.queries.child_processes import Handing
from oomlint.dryrun.queries.device_makers import device_makers
from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.trace import Call, Trace
from oomlint.dryrun.values.base import Const, Sequence, Value, deref
from oomlint.dryrun.values.devices import Device, DeviceList
from oomlint.dryrun.values.program import Instance
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.edits import AddArgument, Replace

RULE = Rule(
    code="OOM105",
    name="gpu-shared-by-processes",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=(
        "n_jobs",
        "Parallel",
        "Pool",
        "ProcessPoolExecutor",
        "get_reusable_executor",
        "Process",
        "remote",
        "resources_per_trial",
        "with_resources",
        "use_multiprocessing",
    ),
)

TRAINS = (
    "keras.Model.fit",
    "keras.Model.fit_generator",
    "keras.Model.train_on_batch",
    "keras.Optimizer.apply_gradients",
    "keras.Optimizer.minimize",
)
PREDICTS = ("keras.Model.predict", "keras.Model.evaluate", "keras.Model.__call__")
HELP = "let one process at a time use the GPU, or give each worker a GPU of its own (CUDA_VISIBLE_DEVICES)"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Work on the GPU that several processes do at the same time."""
    keras3 = keras_at_least(trace, settings, 3)
    work = [*trace.calls(*TRAINS), *trace.calls(*PREDICTS)]
    work += device_makers(trace, keras3)
    backend = keras_backend(trace, settings)
    told: set[int] = set()
    for handing, done in child_processes.handings(trace, work):
        call = handing.call
        place = gpu_setup.seen_from(trace.source, call)
        if (
            place is None
            or id(place.node) in told
            or gpu_setup.on_the_cpu(trace, done or call)
            or _divided(trace)
        ):
            continue
        told.add(id(place.node))
        evidence = [Evidence(f"{_what(done)} in each of them", done.place)] if done is not None else []
        if handing.made is not None:
            evidence.append(Evidence("the workers are set up here", handing.made.place))
        grown = _grows(trace) or backend == "torch"  # which takes memory as it is needed
        yield RULE.finding(
            place,
            f"{handing.words}: {_effect(grown, backend)}",
            severity=Severity.NOTE if grown else Severity.WARNING,
            evidence=evidence,
            help=HELP,
            fix=_fix(handing, call),
        )
    yield from _data_workers(trace, work)


def _effect(grown: bool, backend: str | None) -> str:
    if grown:
        return "each process has a model and a CUDA context of its own on the GPU: that many times the memory"
    part = "three quarters" if backend == "jax" else "all"
    return f"each process reserves {part} of the GPU's memory for itself, and only the first one gets it"


def _what(call: Call) -> str:
    if call.name in TRAINS:
        return "a model is trained"
    return f"{call.name} uses the GPU"


# --- who has which GPU ----------------------------------------------------------------------------------


def _divided(trace: Trace) -> bool:
    """Whether each process has its own GPU, or its own part of one; not known counts as yes."""
    if trace.calls(gpu_setup.LIMIT) or gpu_setup.on_a_tpu(trace):
        return True
    if any(fraction < 1 for fraction, _, _ in gpu_options.fractions(trace)):
        return True
    chosen: set[object] = set()
    for _, value in environment(trace, "CUDA_VISIBLE_DEVICES"):
        if not isinstance(value, Const) or value.soft:
            return True
        chosen.add(value.value)
    for call in trace.calls(gpu_setup.VISIBLE):
        index = _visible(call.value("devices"))
        if call.const("device_type", "GPU") == "CPU" or index == ALL:
            continue
        if index is None:
            return True
        chosen.add(index)
    placed = [call.value("device_name") or call.value("device") for call in trace.calls("tf.device")]
    if _grows(trace) and any(not isinstance(name, Const) for name in placed):
        return True
    return len(chosen) > 1 or gpu_setup.out_of_sight(trace)


ALL = -1


def _visible(value: Value | None) -> int | None:
    """The one GPU that is made visible, all of them, or None: which, is not known."""
    match value:
        case DeviceList(partial=False):
            return ALL
        case Device(index=int(index)):
            return index
        case Sequence(items=[only]):
            return _visible(deref(only))
    return None


def _grows(trace: Trace) -> bool:
    if trace.calls(gpu_setup.GROWTH):
        return True
    return any(
        not isinstance(value, Const) or value.value == "true"
        for _, value in environment(trace, "TF_FORCE_GPU_ALLOW_GROWTH")
    )


# --- the fix, data workers ------------------------------------------------------------------------------


def _fix(handing: Handing, call: Call) -> Fix | None:
    if handing.parameter in ("num_gpus", "gpu"):
        return None
    number, made = handing.number, handing.made or call
    if number is not None and number.arg is not None and not number.arg.star and made.source is call.source:
        return Fix("one process", Safety.UNSAFE, (Replace(call.source.place(number.place.node), "1"),))
    if number is None and handing.made is not None and handing.made.source is call.source:
        return Fix("one process", Safety.UNSAFE, (AddArgument(handing.made.place, f"{handing.parameter}=1"),))
    return None


def _data_workers(trace: Trace, work: list[Call]) -> Iterator[Finding]:
    """Workers that prepare batches, in processes, with TensorFlow."""
    for fit in trace.calls("keras.Model.fit", "keras.Model.fit_generator"):
        data = fit.value("x") or fit.value("generator")
        if not isinstance(data, Instance) or not isinstance(data.facet, BatchSource):
            continue
        asked = _asked(fit, data)
        place = gpu_setup.seen_from(trace.source, asked) if asked is not None else None
        for done in work:
            if place is not None and child_processes.inside_method(done, data, "__getitem__"):
                if not (gpu_setup.on_the_cpu(trace, done) or _grows(trace) or _divided(trace)):
                    yield RULE.finding(
                        place,
                        "use_multiprocessing=True starts data workers that use TensorFlow, and each of them reserves "
                        "all of the GPU's memory",
                        evidence=[Evidence(f"{done.name} in each worker", done.place)],
                        help="prepare batches with NumPy, or leave the data to threads (use_multiprocessing=False)",
                    )
                return


def _asked(fit: Call, data: Instance) -> Call | None:
    """Where worker processes are asked for: by `fit` (Keras 2), or where the data set is made."""
    if fit.const("use_multiprocessing") is True:
        return fit
    made = data.facet.made_by if isinstance(data.facet, BatchSource) else None
    return made if made is not None and made.const("use_multiprocessing") is True else None
