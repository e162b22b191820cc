"""tf.config: physical and logical devices, and what a script finds out about their number.

Growth, limits and visibility change nothing that the dry run follows: rules read those calls
(:mod:`oomlint.dryrun.queries.gpu_setup`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import Iteration, function, item, iteration, method, operator, signature
from oomlint.dryrun.values.base import NONE, Const, Opaque, Slice, Unknown, Value, deref
from oomlint.dryrun.values.devices import SOME_OF_THEM, Device, DeviceCount, DeviceList

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

signature("tf.config.set_memory_growth", "device enable")
signature("tf.config.set_logical_device_configuration", "device logical_devices")
signature("tf.config.set_visible_devices", "devices device_type")
signature("tf.config.get_visible_devices", "device_type")
signature("tf.device", "device_name")
signature("keras.distribution.list_devices", "device_type")

# What a test on the number of devices says where it holds.
SEVERAL, ONE, SOME, NONE_THERE = "several-gpus", "one-gpu", "some-gpus", "no-gpus"
# A test of which exactly this is true where it does not hold (`len(gpus) > 1` says that there is one GPU at most).
_OTHERWISE = {SEVERAL: "not-several-gpus", ONE: "not-one-gpu", NONE_THERE: "not-no-gpus"}


@function(
    "tf.config.list_physical_devices",
    "tf.config.get_visible_devices",
    "tf.config.list_logical_devices",
    parameters="device_type",
)
def list_devices(call: Call, run: Run) -> Value:
    """The devices of a kind."""
    kind = call.const("device_type", "")
    return DeviceList(
        kind.upper() if isinstance(kind, str) else "", logical=call.name.endswith("logical_devices")
    )


@item(DeviceList)
def device_item(value: Value, index: Value, call: Call, run: Run) -> Value:
    """`gpus[0]`, `gpus[1:]`, `gpus[i]` for i in range(len(gpus))."""
    assert isinstance(value, DeviceList)
    match index:
        case Const(value=int(number)):
            return Device(value, number + (value.first or 0) if number >= 0 else None)
        case Slice():
            first, last = _bound(index.start), _bound(index.stop)
            if index.stop != NONE and last is None:
                return Unknown()
            whole = not first and index.stop == NONE and not value.partial
            return DeviceList(value.kind, value.logical, not whole, first, last)
        case Unknown(tags=tags) if "devices" in tags:
            return Device(replace(value, partial=True) if SOME_OF_THEM in tags else value, each=True)
    return Unknown()


def _bound(part: Value) -> int | None:
    part = deref(part)
    if isinstance(part, DeviceCount):
        return part.of.last if part.of.partial else None
    return part.value if isinstance(part, Const) and isinstance(part.value, int) else None


@iteration(DeviceList)
def each_device(value: Value, run: Run) -> Iteration:
    """One device that stands for every one."""
    assert isinstance(value, DeviceList)
    return Iteration(element=Device(value, each=True))


@method(DeviceList, "copy")
def same_devices(call: Call, run: Run) -> Value:
    """Another list of the same devices."""
    return call.receiver or Unknown()


@operator(DeviceCount)
def counted(call: Call, run: Run) -> Value:
    """A comparison with the number of devices says how many there are on that side of a branch."""
    left, right = (deref(argument.value) for argument in call.arguments)
    name = call.name.removeprefix("operator.")
    if isinstance(right, DeviceCount):
        left, right = right, left
        name = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}.get(name, name)
    tags = frozenset({"devices"})
    if isinstance(right, Const) and isinstance(right.value, int):
        tags |= frozenset(_said(name, right.value))
    return Unknown(type="bool" if name in ("lt", "gt", "le", "ge", "eq", "ne") else "int", tags=tags)


def _said(name: str, number: int) -> list[str]:
    """What `count <name> number` says where it is true, and where it is false."""
    several = (
        (name == "gt" and number >= 1) or (name == "ge" and number >= 2) or (name == "eq" and number >= 2)
    )
    none_left = (name == "gt" and number == 1) or (name == "ge" and number == 2)
    if several:
        return [SEVERAL, SOME, _OTHERWISE[SEVERAL]] if none_left else [SEVERAL, SOME]
    if (name, number) in (("eq", 1), ("le", 1), ("lt", 2)):
        return [ONE] if name == "eq" else [ONE, _OTHERWISE[ONE]]
    if (name, number) in (("gt", 0), ("ge", 1), ("ne", 0)):
        return [SOME]
    if (name, number) in (("eq", 0), ("lt", 1), ("le", 0)):
        return [NONE_THERE, _OTHERWISE[NONE_THERE]]
    return []


@function(
    "tf.config.LogicalDeviceConfiguration",
    parameters="memory_limit experimental_priority experimental_device_ordinal",
)
def logical_device(call: Call, run: Run) -> Value:
    """A logical device; its limit, if it has one."""
    return Opaque("tf.config.LogicalDeviceConfiguration", call)


@function("tf.device", parameters="device_name")
def device_scope(call: Call, run: Run) -> Value:
    """A context manager that places what runs in it."""
    return Opaque("tf.device", call)


@function("tf.GPUOptions")
def gpu_options(call: Call, run: Run) -> Value:
    """GPU options of a TF1 session, given as keywords or written to as attributes."""
    return Opaque(call.name, call, {item.name: deref(item.value) for item in call.arguments if item.name})


@function("tf.ConfigProto")
def session_options(call: Call, run: Run) -> Value:
    """Options of a TF1 session, with their GPU options."""
    given = call.value("gpu_options")
    options = given if isinstance(given, Opaque) else Opaque("tf.GPUOptions", call)
    return Opaque(call.name, call, {"gpu_options": options})


@function("tf.Session", "tf.InteractiveSession", parameters="target graph config")
def session(call: Call, run: Run) -> Value:
    """A TF1 session."""
    return Opaque(call.name, call)


@function("tf.Graph", "tf.get_default_graph")
def graph(call: Call, run: Run) -> Value:
    """A graph, which collects the operations made in `with graph.as_default():`."""
    return Opaque(call.name, call)


@method(Opaque, "as_default")
def as_default(call: Call, run: Run) -> Value:
    """`graph.as_default()`, `session.as_default()`."""
    return call.receiver or Unknown()
