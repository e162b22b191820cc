"""Memory growth is set on some of the GPUs only, or differently on them.

## What it does

Reports `set_memory_growth` on one device of `list_physical_devices("GPU")`, on a part of them, or with a value that
depends on which one it is (`i == 0`), where the others stay visible to TensorFlow. It is an error where the script
itself shows that there is more than one GPU: a strategy, `gpus[1]`, `len(gpus) > 1`, a `tf.device` with another number.

## Why is this bad?

On a machine with two visible GPUs the first operation raises `ValueError`: "Memory growth cannot differ between
GPU devices". It needs no strategy, and the GPU left out need not be used: being visible is enough. The script
works on the laptop with one card and fails on the server.

It is fine where only one GPU is visible (`set_visible_devices(gpus[0], "GPU")`, a single number in
`CUDA_VISIBLE_DEVICES`), and with a memory limit on any GPU, as growth is then not compared.

## Example

```python
import tensorflow as tf
from tensorflow import keras

gpus = tf.config.list_physical_devices("GPU")
tf.config.experimental.set_memory_growth(gpus[0], True)
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

gpus = tf.config.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
```

## Fix safety

Unsafe: growth is set on every GPU. Where one GPU was meant, `set_visible_devices` is the better repair.

## References

- <https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth>
- <https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_memory_growth>
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from oomlint.rules.device.insertion import name_of_a_gpu

from oomlint.dryrun.catalog.tensorflow.config import ONE, SEVERAL
from oomlint.dryrun.queries import gpu_setup
from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.trace import Branch, Call, Loop, Trace
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.devices import Device, DeviceList
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.edits import InsertBefore, RemoveStatement, Replace
from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM103",
    name="memory-growth-partial",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("set_memory_growth",),
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """The first call that leaves a visible GPU out."""
    calls = trace.calls(gpu_setup.GROWTH)
    if not calls or trace.calls(gpu_setup.LIMIT) or _one_visible(trace):
        return
    devices = [(call, call.value("device")) for call in calls]
    chosen = [
        (call, device) for call, device in devices if isinstance(device, Device) and device.of.kind != "CPU"
    ]
    if len(chosen) < len(calls):
        return
    by_number = next(
        (call for call, _ in chosen if call.source is trace.source and _by_number(trace, call)), None
    )
    if by_number is not None:
        yield _differs(by_number)
        return
    if any(_covers_all(call, device) for call, device in chosen):
        return
    if any(_only_one_there(call) for call, _ in chosen):
        return
    first, device = next(((c, d) for c, d in chosen if c.source is trace.source), (None, None))
    if first is None or device is None:
        return
    differ = len({call.const("enable", True) for call, _ in chosen}) > 1
    numbers = {device.index for _, device in chosen if not device.each}
    if len(numbers) > 1 and not differ:
        return  # each of them is named: that is all of them, as far as the script says
    several = None if _first_few(device) else _several(trace, first)
    evidence = [Evidence(*several)] if several else []
    what = f"on {_text(first)}" if not differ else "on one GPU and not on another"
    yield RULE.finding(
        first.place,
        f"memory growth {what} only: with {_more(device)} the first operation raises "
        'ValueError, "Memory growth cannot differ between GPU devices"',
        severity=Severity.ERROR if several or differ else Severity.WARNING,
        evidence=evidence,
        help='set it on every GPU, or show TensorFlow one only: tf.config.set_visible_devices(gpus[0], "GPU")',
        fix=None if differ else _fix(first, device),
    )


# --- a value or a test that tells one GPU from the others ----------------------------------------------


def _differs(call: Call) -> Finding:
    enable = call.argument("enable")
    told = enable is not None and isinstance(deref(enable.value), Unknown)
    edits = (Replace(call.source.place(enable.place.node), "True"),) if told and enable is not None else ()
    what = call.source.quoted(enable.place.node) if told and enable is not None else "one of them only"
    return RULE.finding(
        call.place,
        f"memory growth differs from GPU to GPU ({what}): with more than one the first operation raises "
        'ValueError, "Memory growth cannot differ between GPU devices"',
        severity=Severity.ERROR,
        help='set it on every GPU, or show TensorFlow one only: tf.config.set_visible_devices(gpus[0], "GPU")',
        fix=Fix("set it on every GPU", Safety.UNSAFE, edits) if edits else None,
    )


def _by_number(trace: Trace, call: Call) -> bool:
    """Whether a call in a loop over the GPUs switches growth on for some of them, by their number."""
    loop = call.context.innermost(Loop)
    device = call.value("device")
    if loop is None or not isinstance(device, Device) or not device.each:
        return False
    counted = {
        id(deref(assign.value))
        for assign in trace.assigns()
        if assign.path in loop.targets
        or (loop.kind == "comprehension" and assign.context.innermost(Loop) is loop)
    }
    enable = call.value("enable")
    if isinstance(enable, Unknown):
        return _tells_one(enable, counted)
    tests = [frame for frame in call.context.since(loop) if isinstance(frame, Branch)]
    if len(tests) != 1 or enable is None or not _tells_one(tests[0].test, counted):
        return False
    elsewhere = [
        other.const("enable", True)
        for other in trace.calls(gpu_setup.GROWTH)
        if any(
            frame.test_node is tests[0].test_node and frame.taken is not tests[0].taken
            for frame in other.context.all(Branch)
        )
    ]
    return not elsewhere or elsewhere != [enable.value if isinstance(enable, Const) else None]


def _tells_one(test: Value, counted: set[int]) -> bool:
    """Whether a test is true of one number (or GPU) and false of another, or the other way round."""
    operation = test.operation if isinstance(test, Unknown) else None
    if operation is None:
        return False
    name = operation.name.removeprefix("operator.")
    operands = [deref(argument.value) for argument in operation.arguments]
    number = next((operand for operand in operands if id(operand) in counted), None)
    if name == "not_":
        return number is not None or _tells_one(operands[0], counted)
    if number is None:
        return False
    other = operands[1] if operands[0] is number else operands[0]
    if name in ("eq", "ne", "is_", "is_not"):
        return not isinstance(other, Const) or isinstance(other.value, int)
    if not isinstance(other, Const) or operands[0] is not number:
        return False
    return (name, other.value) in (("lt", 1), ("le", 0), ("gt", 0), ("ge", 1))


def _covers_all(call: Call, device: Device) -> bool:
    """A loop over every GPU, and no test in it that may leave one out (then nothing is known: silent)."""
    if device.index is not None:
        return False
    if not device.each:
        return True  # which one is not known
    loop = call.context.innermost(Loop)
    tests = (
        [frame for frame in call.context.since(loop) if isinstance(frame, Branch)] if loop is not None else []
    )
    return not device.of.partial or bool(tests)


def _one_visible(trace: Trace) -> bool:
    """Whether at most one GPU is visible, or nobody can tell which are."""
    for _, value in environment(trace, "CUDA_VISIBLE_DEVICES"):
        if not isinstance(value, Const) or "," not in str(value.value):
            return True
    for call in trace.calls(gpu_setup.VISIBLE):
        if call.const("device_type", "GPU") == "CPU":
            continue
        match call.value("devices"):
            case DeviceList(single=False, partial=False):
                continue
            case Sequence(items=list(items)) if len(items) > 1:
                continue
            case _:
                return True
    return False


def _only_one_there(call: Call) -> bool:
    """Whether a test around the call says that there is one GPU."""
    branches = call.context.all(Branch)
    return any((ONE if branch.taken else f"not-{SEVERAL}") in tags_of(branch.test) for branch in branches)


def _several(trace: Trace, call: Call) -> tuple[str, Place] | None:
    """What shows that there is more than one GPU."""
    for made in trace.calls("tf.distribute.MirroredStrategy", "tf.distribute.MultiWorkerMirroredStrategy"):
        return f"{made.name} is for several GPUs", made.place
    for branch in call.context.all(Branch):
        if (SEVERAL if branch.taken else f"not-{ONE}") in tags_of(branch.test):
            return "this is where there is more than one GPU", Place(
                call.source, branch.test_node or call.node
            )
    for item in trace.calls("operator.getitem"):
        match deref(item.result):
            case Device(index=int(index), of=DeviceList(kind="GPU", logical=False)) if index > 0:
                return f"GPU number {index} is used", item.place
            case DeviceList(kind="GPU", logical=False, first=int(first)) if first > 0:
                return f"the GPUs from number {first} on are used", item.place
    for write, value in environment(trace, "CUDA_VISIBLE_DEVICES"):
        if isinstance(value, Const) and "," in str(value.value):
            return f"CUDA_VISIBLE_DEVICES is {value.value}", write.place
    for placed in trace.calls("tf.device"):
        name = placed.const("device_name")
        if isinstance(name, str) and "gpu:" in name.lower() and not name.lower().endswith("gpu:0"):
            return f"{name} is used", placed.place
    return None


def _first_few(device: Device) -> bool:
    """Whether it stands for the first two or more: a machine with as many is fine."""
    return device.each and not device.of.first and device.of.last != 1


def _more(device: Device) -> str:
    if not _first_few(device):
        return "more than one visible GPU"
    return f"more than {device.of.last} visible GPUs" if device.of.last else "more visible GPUs than these"


def _text(call: Call) -> str:
    """The devices as the script writes them."""
    loop = call.context.innermost(Loop)
    device = call.value("device")
    if (
        isinstance(device, Device)
        and device.each
        and loop is not None
        and isinstance(loop.place.node, cst.For)
    ):
        return loop.place.source.quoted(loop.place.node.iter)
    argument = call.argument("device")
    return call.source.quoted(argument.place.node) if argument is not None else "one GPU"


def _fix(call: Call, device: Device) -> Fix | None:
    message = "set it on every GPU"
    if device.each:
        loop = call.context.innermost(Loop)
        node = loop.place.node if loop is not None else None
        if loop is None or not isinstance(node, cst.For) or not isinstance(node.iter, cst.Subscript):
            return None
        whole = loop.place.source.code(node.iter.value)
        return Fix(message, Safety.UNSAFE, (Replace(loop.place.source.place(node.iter), whole),))
    argument, statement = call.argument("device"), call.statement
    if argument is None or statement is None or not isinstance(statement.node, cst.SimpleStatementLine):
        return None
    subscript, alone = argument.place.node, statement.node.body
    if not isinstance(subscript, cst.Subscript) or len(alone) > 1:
        return None
    if not isinstance(alone[0], cst.Expr) or alone[0].value is not call.node:
        return None
    gpu = name_of_a_gpu(call.source)
    line = call.source.code(call.node).replace(call.source.code(subscript), gpu, 1)
    written = statement.source.written(statement.node)
    comment = written.trailing_whitespace.comment if isinstance(written, cst.SimpleStatementLine) else None
    ending = f"  {comment.value}" if comment is not None else ""
    lines = (f"for {gpu} in {call.source.code(subscript.value)}:", f"    {line}{ending}")
    return Fix(message, Safety.UNSAFE, (InsertBefore(statement, lines), RemoveStatement(statement)))
