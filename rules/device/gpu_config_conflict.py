"""Two settings of the GPU's memory that exclude each other, or one that reaches nobody.

## What it does

Reports settings that cancel out or come to nothing:

- a memory limit, then growth on the same GPU: `ValueError` (error);
- growth, then a memory limit on any GPU: no error, and growth is off for all of them (warning);
- the CPU split into logical devices beside growth: growth is off as well, without a word (warning);
- a logical GPU without `memory_limit`: `ValueError` (error);
- a `ConfigProto` or `GPUOptions` that is passed to no session, or written to after the session was made, or
  whose session comes after TensorFlow has made its devices (warning);
- a session for Keras 3, whose backend has no `set_session` (error);
- `per_process_gpu_memory_fraction` of 1.0 (note).

`TF_FORCE_GPU_ALLOW_GROWTH` together with a limit works and is left alone, and so is a fraction above 1.0, which
asks for unified memory.

## Why is this bad?

TensorFlow takes growth into account only where no device is split into logical ones. What it drops it does not
mention: the run goes on with all memory reserved, or with the limit alone, and dies of what was believed to be set.

A fraction of 1.0 is no safe way to use all of the memory. The CUDA context, the libraries' workspaces and the
display take theirs first, so the whole of it is never there; TensorFlow is refused, asks for a tenth less
until it is given something, and nothing is left for others. Leave the fraction away, which takes what is free less a
reserve.

## Example

```python
import tensorflow as tf
from tensorflow import keras

gpus = tf.config.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
tf.config.set_logical_device_configuration(gpus[0], [tf.config.LogicalDeviceConfiguration(memory_limit=4096)])
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

gpus = tf.config.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=4096)])
```

## Fix safety

Nothing is rewritten: which of the two was meant, a bound or memory as needed, only the author knows.

## References

- <https://www.tensorflow.org/api_docs/python/tf/config/set_logical_device_configuration>
- <https://github.com/tensorflow/tensorflow/issues/38367>
- <https://github.com/tensorflow/tensorflow/issues/22239>
"""

from __future__ import annotations

from collections.abc import Iterator

from oomlint.dryrun.queries import gpu_options, gpu_setup
from oomlint.dryrun.queries.device_makers import device_makers
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.trace import Branch, Call, Handler, Trace, Try
from oomlint.dryrun.values.base import NONE, Opaque, Sequence, Value, deref
from oomlint.dryrun.values.devices import Device
from oomlint.findings.model import Evidence, Finding, Rule, Safety, Severity
from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM104",
    name="gpu-config-conflict",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=(
        "set_logical_device_configuration",
        "set_virtual_device_configuration",
        "ConfigProto",
        "GPUOptions",
        "set_session",
    ),
)

GRAPHS = (
    "tf.Graph",
    "tf.placeholder",
    "tf.disable_eager_execution",
    "tf.disable_v2_behavior",
    "tf.Session.run",
)
TRAINS = ("fit", "fit_generator", "train_on_batch", "predict", "evaluate")
CHOOSE = "choose one of the two: growth, or a memory limit for every GPU"


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Conflicts between devices' settings, then options of sessions."""
    keras3 = keras_at_least(trace, settings, 3)
    makers = device_makers(trace, keras3)
    yield from _devices(trace, makers)
    yield from _unpassed(trace)
    yield from _sessions(trace, makers, keras3)
    yield from _whole_memory(trace)


# --- logical devices and growth -------------------------------------------------------------------------


def _devices(trace: Trace, makers: list[Call]) -> Iterator[Finding]:
    growths = [call for call in trace.calls(gpu_setup.GROWTH) if call.const("enable", True) is not False]
    told: set[int] = set()
    for limit in trace.calls(gpu_setup.LIMIT):
        if gpu_setup.on_the_cpu(trace, limit):
            continue
        device = limit.value("device")
        if isinstance(device, Device) and device.of.kind == "CPU":
            yield from _split(trace, limit, growths)
            continue
        yield from _without_limit(trace, limit)
        for growth in trace.calls(gpu_setup.GROWTH):
            if _same(device, growth.value("device")) and _together(trace, limit, growth):
                if id(growth.node) not in told and id(limit.node) not in told:
                    told |= {id(growth.node), id(limit.node)}
                    yield from _refused(trace, limit, growth)
        if id(limit.node) in told:
            continue
        beside = [
            growth
            for growth in growths
            if _in_one_run(trace, limit, growth) and not _set_too_late(trace, makers, limit, growth)
        ]
        place = gpu_setup.seen_from(trace.source, limit)
        if beside and place is not None:
            told.add(id(limit.node))
            yield RULE.finding(
                place,
                "a memory limit beside memory growth: growth is silently off for every GPU, only the limit holds",
                evidence=[Evidence("growth is asked for here", beside[0].place)],
                help=CHOOSE,
            )


def _refused(trace: Trace, limit: Call, growth: Call) -> Iterator[Finding]:
    place = gpu_setup.seen_from(trace.source, growth)
    quiet = gpu_setup.swallowed(growth, gpu_setup.VALUE_ERRORS)
    if place is not None:
        end = ", which is caught: only the limit holds" if quiet else ""
        yield RULE.finding(
            place,
            "growth on a GPU that has a memory limit raises ValueError, "
            f'"Cannot set memory growth on device when virtual devices configured"{end}',
            severity=Severity.WARNING if quiet else Severity.ERROR,
            evidence=[Evidence("the limit is set here", limit.place)],
            help=CHOOSE,
        )


def _split(trace: Trace, split: Call, growths: list[Call]) -> Iterator[Finding]:
    """The CPU as several devices: growth is computed only where nothing is split."""
    place = gpu_setup.seen_from(trace.source, split)
    beside = [growth for growth in growths if _in_one_run(trace, split, growth)]
    if place is not None and beside:
        yield RULE.finding(
            place,
            "the CPU is split into logical devices, which silently switches memory growth off for every GPU",
            evidence=[Evidence("growth is asked for here", beside[0].place)],
            help='set TF_FORCE_GPU_ALLOW_GROWTH to "true" instead of calling set_memory_growth: it still holds',
        )


def _without_limit(trace: Trace, call: Call) -> Iterator[Finding]:
    device, place = call.value("device"), gpu_setup.seen_from(trace.source, call)
    if place is None or not (isinstance(device, Device) and device.of.kind == "GPU"):
        return
    match call.value("logical_devices"):
        case Sequence(items=list(items)):
            parts = items
        case Sequence(element=Value() as element):
            parts = [element]
        case _:
            return
    for part in map(deref, parts):
        made = part.made_by if isinstance(part, Opaque) else None
        if made is None or made.opaque_arguments or made.const("memory_limit") is not None:
            continue
        if made.argument("memory_limit") is None or made.value("memory_limit") == NONE:
            quiet = gpu_setup.swallowed(call, gpu_setup.VALUE_ERRORS)
            yield RULE.finding(
                place,
                "a logical GPU without memory_limit raises ValueError, "
                '"Setting memory limit is required for GPU virtual devices"',
                severity=Severity.WARNING if quiet else Severity.ERROR,
                evidence=[Evidence("no memory_limit here", made.place)],
                help="give each logical GPU its memory_limit, in MB",
            )
            return


def _together(trace: Trace, earlier: Call, later: Call) -> bool:
    """Whether the later call always finds the earlier one done (and is no way out of its failing)."""
    tried = set(map(id, earlier.context.all(Try)))
    if any(id(handler.attempt) in tried for handler in later.context.all(Handler)):
        return False
    if gpu_setup.uncalled(earlier.context) is not gpu_setup.uncalled(later.context):
        return False  # a function that nobody calls after what the script does: they need never meet
    return gpu_setup.always_before(trace, earlier, later)


def _set_too_late(trace: Trace, makers: list[Call], one: Call, other: Call) -> bool:
    """Whether the devices are made between the two, so that the later one raises: OOM102 is about that."""
    first, last = sorted((one, other), key=trace.position)
    return any(
        trace.position(first) < trace.position(maker) and gpu_setup.always_before(trace, maker, last)
        for maker in makers
    )


def _in_one_run(trace: Trace, one: Call, other: Call) -> bool:
    return _together(trace, one, other) or _together(trace, other, one)


def _same(one: Value | None, other: Value | None) -> bool:
    """Whether two settings meet on a GPU."""
    if one is None or other is None or one is other:
        return one is not None
    if not (isinstance(one, Device) and isinstance(other, Device)) or "CPU" in (one.of.kind, other.of.kind):
        return False
    if one.each or other.each:
        index = one.index if one.index is not None else other.index
        return not any(
            device.of.partial and (index is None or not _reaches(device, index)) for device in (one, other)
        )
    return one.index is not None and one.index == other.index


def _reaches(device: Device, index: int) -> bool:
    """Whether every GPU of a slice, in turn, comes to this one."""
    if not device.each:
        return True
    return (device.of.first or 0) <= index and (device.of.last is None or index < device.of.last)


# --- sessions -------------------------------------------------------------------------------------------


def _unpassed(trace: Trace) -> Iterator[Finding]:
    """Options that are in no session, or were written when it was there already."""
    if trace.exhausted:
        return
    for options in gpu_options.options(trace):
        made = options.made
        users = list(gpu_options.users(trace, made))
        what = made.name.removeprefix("tf.")
        if not users and not gpu_options.kept(trace, made) and _complete(trace, made):
            yield RULE.finding(
                made.place,
                f"this {what} ({options.words}) is passed to no session: TensorFlow sets its memory up without it",
                evidence=[Evidence("written here", write.place) for write in options.writes[:2]],
                help="pass it on, Session(config=...); in TensorFlow 2 use tf.config.experimental.set_memory_growth",
            )
        early = [write for write in options.writes if not _late(trace, write.index, users)]
        keywords = made.name == gpu_options.OPTIONS and any(
            made.argument(name) for name in gpu_options.MEMORY
        )
        if options.writes and users and not early and not keywords:
            yield RULE.finding(
                options.writes[0].place,
                f"this {what} is changed ({options.written}) after the session has copied it: nothing comes of it",
                evidence=[Evidence("passed on here", users[0].place)],
                help="set the options first",
            )


def _late(trace: Trace, index: int, users: list[Call]) -> bool:
    """Whether a write comes after every use, all of them sessions made in the same straight line."""
    return all(
        user.name in gpu_options.SESSIONS and user.index < index and user.context.innermost(Branch) is None
        for user in users
    )


def _complete(trace: Trace, made: Call) -> bool:
    """Whether every use of it was seen: made in a function, or by a script that itself goes on to work."""
    if made.context.function() is not None:
        return True
    if trace.calls(*gpu_options.SESSIONS):
        return True
    return any(call.name.rpartition(".")[2] in TRAINS for call in trace.calls_under("keras.Model."))


def _sessions(trace: Trace, makers: list[Call], keras3: bool) -> Iterator[Finding]:
    """Sessions with options that come too late, or that Keras 3 does not take."""
    # What a session asks for may have been set up otherwise, in time.
    settled = bool(trace.calls(gpu_setup.GROWTH, gpu_setup.LIMIT, *GRAPHS))
    settled = settled or any(call.name == "run" for call in trace.loose)
    for session in trace.calls(*gpu_options.SESSIONS):
        config = session.value("config")
        if not isinstance(config, Opaque) or not session.spelled.startswith("tensorflow.compat"):
            continue
        inner = config.attributes.get("gpu_options")
        if not isinstance(inner, Opaque) or not any(name in inner.attributes for name in gpu_options.MEMORY):
            continue
        place = gpu_setup.seen_from(trace.source, session)
        maker = None if settled else _first(trace, makers, session)
        if maker is not None and place is not None:
            yield RULE.finding(
                place,
                f"this session's GPU options come too late and change nothing: {maker.name} has made the devices",
                evidence=[Evidence(f"{maker.name} makes the devices", maker.place)],
                help="make the session first, or use tf.config.experimental.set_memory_growth before that",
            )
    if not keras3:
        return
    for call in trace.calls("keras.backend.set_session"):
        passed = deref(call.arguments[0].value) if call.arguments else None
        made = passed.made_by if isinstance(passed, Opaque) else None
        place = gpu_setup.seen_from(trace.source, call)
        if (
            made is None
            or made.argument("config") is None
            or place is None
            or "tensorflow_backend" in call.spelled
        ):
            continue
        caught = any(frame.handlers for frame in call.context.all(Try))
        if call.context.innermost(Branch) is None and not caught:
            yield RULE.finding(
                place,
                "Keras 3 has no keras.backend.set_session: AttributeError, and the session's GPU options with it",
                severity=Severity.ERROR,
                evidence=[Evidence("the session with its options", made.place)],
                help="use tf.config.experimental.set_memory_growth, or set_logical_device_configuration for a limit",
            )


def _first(trace: Trace, makers: list[Call], session: Call) -> Call | None:
    return next((call for call in makers if gpu_setup.always_before(trace, call, session)), None)


def _whole_memory(trace: Trace) -> Iterator[Finding]:
    for fraction, options, place in gpu_options.fractions(trace):
        if fraction == 1 and place.source is trace.source and not gpu_options.grows(options):
            yield RULE.finding(
                place,
                "a memory fraction of 1.0 asks for all of the GPU's memory, and the CUDA context needs some of it",
                severity=Severity.NOTE,
                help="leave the fraction away (TensorFlow then takes what is free, less a reserve), or stay below 0.9",
            )
