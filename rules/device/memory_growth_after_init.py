"""GPU memory or visibility is set up after something has made the devices: it raises, or does nothing.

## What it does

Reports `set_memory_growth`, `set_logical_device_configuration` and `set_visible_devices`, and the environment
variables that stand for them, where an earlier call has made TensorFlow's devices already.

## Why is this bad?

TensorFlow fixes the options of its devices when it first needs one. What needs one was measured: a tensor, a
variable, any optimizer or metric, any `Dataset`, a layer with weights that is called, a strategy, a list of the
logical devices.
What only describes does not: `keras.Input`, losses, seeds, schedules, callbacks, unbuilt layers,
`list_physical_devices()`. Afterwards a change raises `RuntimeError`: "Physical devices cannot be modified after
being initialized". Asking again for what is set already does not.

Two ways lose the setting without a word, and are warnings: a `try` around it that catches the error and goes
on, and calls such as `tf.test.is_gpu_available()` or a TF1 session, which make the GPU's allocator, once for the
process. `TF_FORCE_GPU_ALLOW_GROWTH` and `TF_GPU_ALLOCATOR` are read when the devices are made and ignored from then
on, `CUDA_VISIBLE_DEVICES` already when the GPUs are listed.

## Example

```python
import tensorflow as tf
from tensorflow import keras

optimizer = keras.optimizers.Adam(1e-3)
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
optimizer = keras.optimizers.Adam(1e-3)
```

## Fix safety

Unsafe: the statements are moved up, with the assignments that they need, to where nothing has made the devices
yet. Where something between needs to stay above them there is no fix.

## References

- <https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_memory_growth>
- <https://github.com/tensorflow/tensorflow/issues/25848>
- <https://github.com/hunglc007/tensorflow-yolov4-tflite/issues/171>
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from oomlint.dryrun.queries import gpu_setup
from oomlint.dryrun.queries.device_makers import LOSES_SILENTLY, device_makers
from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.queries.graph_growth import is_legacy
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.queries.trained_models import FIT
from oomlint.dryrun.trace import Body, Call, Trace
from oomlint.dryrun.values.base import Const, Opaque, Sequence, deref
from oomlint.dryrun.values.devices import DeviceList
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.blocks import block_of, imports_of, index_of, names_bound, names_read
from oomlint.syntax.edits import MoveBefore
from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM102",
    name="memory-growth-after-init",
    severity=Severity.ERROR,
    fix=Safety.UNSAFE,
    literals=(
        "set_memory_growth",
        "set_logical_device_configuration",
        "set_virtual_device_configuration",
        "set_visible_devices",
        "environ",
        "putenv",
    ),
)

WHAT = {
    gpu_setup.GROWTH: "memory growth",
    gpu_setup.LIMIT: "a memory limit",
    gpu_setup.VISIBLE: "the visible devices",
}
WORDS = {
    gpu_setup.GROWTH: "Physical devices cannot be modified after being initialized",
    gpu_setup.LIMIT: "Virtual devices cannot be modified after being initialized",
    gpu_setup.VISIBLE: "Visible devices cannot be modified after being initialized",
}
TRAINS = (*FIT, "keras.Optimizer.apply_gradients")
# A script that starts others may set variables for them.
CHILDREN = ("subprocess", "multiprocessing", "concurrent", "joblib", "ray")
HELP = "do it first: after the imports, before anything makes a tensor, variable, dataset or optimizer"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """The first late configuration of each kind."""
    if trace.calls("tf.disable_eager_execution", "tf.disable_v2_behavior"):
        return  # graph mode: ops make nothing until a session runs
    keras3 = keras_at_least(trace, settings, 3)
    # In a script of TensorFlow 1 an operation is a node of the graph: only sessions make devices.
    makers = [] if is_legacy(trace) else device_makers(trace, keras3)
    # A session that is given a configuration sets the memory up by that.
    losers = [call for call in trace.calls(*LOSES_SILENTLY) if call.argument("config") is None]
    seen: set[str] = set()
    for call in trace.calls(*WHAT):
        maker = _before(trace, makers, call)
        loser = None if maker is not None else _before(trace, losers, call)
        cause = maker or loser
        place = gpu_setup.seen_from(trace.source, call)
        if cause is None or call.name in seen or place is None or _asked_before(trace, call, cause):
            continue
        if _is_left_over(trace, call, cause) or _all_visible(trace, call):
            continue
        seen.add(call.name)
        quiet = loser is not None or gpu_setup.swallowed(call)
        if quiet and call.name == gpu_setup.GROWTH and _forced(trace, cause):
            continue
        if loser is not None:
            effect = "comes too late and is silently lost"
        elif quiet:
            effect = "raises RuntimeError, which is caught, so the run goes on without it"
        else:
            effect = f'raises RuntimeError, "{WORDS[call.name]}"'
        yield RULE.finding(
            place,
            f"setting {WHAT[call.name]} {effect}: {cause.name} has made the devices",
            severity=Severity.WARNING if quiet else Severity.ERROR,
            evidence=[Evidence(f"{cause.name} makes the devices", cause.place)],
            help=HELP,
            fix=_fix(trace, call, cause),
        )
    yield from _variables(trace, [*makers, *losers])


def _variables(trace: Trace, makers: list[Call]) -> Iterator[Finding]:
    """Environment variables that are set when nobody reads them any more."""
    children = any(name.partition(".")[0] in CHILDREN for name, _ in trace.imports)
    listed = [
        call for call in trace.calls("tf.config.list_physical_devices") if call.const("device_type") != "CPU"
    ]
    for name in ("TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR", "CUDA_VISIBLE_DEVICES"):
        writes = list(environment(trace, name))
        for call, value in writes[:1]:
            # Finding the GPUs starts CUDA, which reads its variable then; TensorFlow reads its own later.
            cause = _before(trace, [*makers, *listed] if name.startswith("CUDA") else makers, call)
            if cause is None or call.source is not trace.source or children:
                continue
            if name == "TF_FORCE_GPU_ALLOW_GROWTH" and isinstance(value, Const) and value.value != "true":
                continue
            made = "has found the GPUs" if cause in listed else "has made the devices"
            yield RULE.finding(
                call.place,
                f"{name} is set too late and is ignored: {cause.name} {made}",
                severity=Severity.WARNING,
                evidence=[Evidence(f"{cause.name} {made}, which reads the variable", cause.place)],
                help=HELP,
                fix=_fix(trace, call, cause),
            )


def _before(trace: Trace, candidates: list[Call], call: Call) -> Call | None:
    """The first of the candidates, one of which has always run by then."""
    imported = gpu_setup.uncalled(call.context) is not None and trace.guarded_main
    # What runs under `__main__` has not run when somebody imports the function.
    seen = [one for one in candidates if not (imported and gpu_setup.uncalled(one.context) is None)]
    return gpu_setup.first_before(trace, seen, call)


def _forced(trace: Trace, cause: Call) -> bool:
    """Whether the environment asked for growth in time: what is lost later is there already."""
    return any(
        isinstance(value, Const) and value.value == "true" and gpu_setup.always_before(trace, call, cause)
        for call, value in environment(trace, "TF_FORCE_GPU_ALLOW_GROWTH")
    )


def _is_left_over(trace: Trace, call: Call, cause: Call) -> bool:
    """Whether a function sets it up that nobody calls, in a script that trains by itself: nobody else imports that."""
    body = gpu_setup.uncalled(call.context)
    if body is None or body is gpu_setup.uncalled(cause.context):
        return False
    if id(body.function) in gpu_setup.handed_over(trace):
        return False
    return any(gpu_setup.uncalled(trained.context) is None for trained in trace.calls(*TRAINS))


def _asked_before(trace: Trace, call: Call, cause: Call) -> bool:
    """The same was asked for in time: asking again changes nothing and raises nothing."""
    return any(
        trace.position(earlier) < trace.position(cause) and _asks(earlier) == _asks(call)
        for earlier in trace.calls(call.name)
        if earlier is not call
    )


def _all_visible(trace: Trace, call: Call) -> bool:
    """Whether every device of a kind is made visible, as all are from the start: then nothing changes or raises."""
    devices = call.value("devices") if call.name == gpu_setup.VISIBLE else None
    whole = isinstance(devices, DeviceList) and not devices.logical and not devices.partial
    return whole and trace.calls(gpu_setup.VISIBLE)[0] is call


def _asks(call: Call) -> object:
    """What a call asks for, to be compared with another call of it."""
    match call.value("logical_devices"):
        case Sequence(items=list(items)):
            made = [item.made_by for item in map(deref, items) if isinstance(item, Opaque)]
            return [[argument.const() for argument in one.arguments] for one in made if one is not None]
    return call.const("enable")


def _fix(trace: Trace, call: Call, cause: Call) -> Fix | None:
    """Move the statements up, in the innermost function that both calls have in common."""
    if any(trace.position(earlier) < trace.position(cause) for earlier in trace.calls(call.name)):
        return None  # set otherwise before: moved above that, it would be undone by it
    around = [
        body for body in call.context.all(Body) if any(body is other for other in cause.context.all(Body))
    ]
    common = around[0] if around else None
    late, early = _statement(call, common), _statement(cause, common)
    if late is None or early is None or late.source is not trace.source or early.source is not trace.source:
        return None
    if common is None:
        block = block_of(trace.source.module)
    else:
        node = common.function.node
        block = block_of(node) if isinstance(node, cst.FunctionDef) else ()
    last, stop = index_of(block, late.node), index_of(block, early.node)
    if last is None or stop is None or stop >= last:
        return None
    first, needed = last, names_read(block[last])
    while first - 1 > stop and names_bound(block[first - 1]) & needed:
        first -= 1
        needed |= names_read(block[first])
    if any(names_bound(block[index]) & needed for index in range(stop, first)):
        return None
    target = stop
    imports = imports_of(trace.source, "tensorflow", ("keras", "tf_keras")) if common is None else None
    if imports is not None:
        # Listing the GPUs makes CUDA read its environment: what sets that stays above.
        needed |= {"os", "environ"}
        while target - 1 > imports.index and not names_bound(block[target - 1]) & needed:
            target -= 1
    moved = (trace.source.place(block[index]) for index in (first, last, target))
    return Fix("move it up", Safety.UNSAFE, (MoveBefore(*moved),))


def _statement(call: Call, common: Body | None) -> Place | None:
    """The statement of the common function (or module) in which a call happens."""
    inner = None
    for body in call.context.all(Body):
        if body is common:
            break
        inner = body
    return call.statement if inner is None else inner.statement
