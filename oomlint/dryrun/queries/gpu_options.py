"""TF1 session options (`ConfigProto`, `GPUOptions`) and whether they ever reach a session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oomlint.dryrun.trace import Assign, Body, Call, Trace
from oomlint.dryrun.values.base import Const, Mapping, Namespace, Opaque, Sequence, Value, deref
from oomlint.dryrun.values.program import Partial

if TYPE_CHECKING:
    from oomlint.syntax.place import Place

SESSIONS = ("tf.Session", "tf.InteractiveSession")
CONFIG, OPTIONS = "tf.ConfigProto", "tf.GPUOptions"
FRACTION = "per_process_gpu_memory_fraction"
MEMORY = ("allow_growth", FRACTION, "visible_device_list")
# These write into what they are called on; everything else reads it and may hand it on.
_MERGES = ("CopyFrom", "MergeFrom", "Clear")


@dataclass(frozen=True, slots=True)
class Options:
    """One `ConfigProto` (or `GPUOptions`) that says something about the GPU's memory."""

    made: Call
    given: dict[str, Value]  # options set when it was made
    writes: list[Assign] = field(default_factory=list)  # options written to it later

    @property
    def words(self) -> str:
        """What it says."""
        said = []  # the dry run's object knows later writes too
        for name, value in self.given.items():
            known = deref(value)
            if name in MEMORY:
                said.append(f"{name} = {known.value}" if isinstance(known, Const) else name)
        return ", ".join(said)


def options(trace: Trace) -> list[Options]:
    """Everything that the document itself makes to set up the GPU for a session."""
    found = []
    for call in trace.calls(CONFIG, OPTIONS):
        if call.source is not trace.source or not isinstance(call.result, Opaque):
            continue
        inner = call.result.attributes.get("gpu_options") if call.name == CONFIG else call.result
        if not isinstance(inner, Opaque):
            continue
        writes = [
            assign
            for assign in trace.assigns()
            if assign.target is not None
            and _is(assign.target, inner)
            and assign.path.rpartition(".")[2] in MEMORY
        ]
        if any(name in MEMORY for name in inner.attributes):
            found.append(Options(call, inner.attributes, writes))
    return found


def _is(value: Value, other: Opaque) -> bool:
    value = deref(value)
    return value is other or (
        isinstance(value, Opaque) and value.type == other.type and value.made_by is other.made_by is not None
    )


def holds(value: Value, call: Call, depth: int = 4) -> bool:
    """Whether a value is what a call made, or has it inside."""
    value = deref(value)
    if depth == 0:
        return False
    match value:
        case Opaque(made_by=made, attributes=attributes):
            inner = list(attributes.values())
            if made is call or (made is None and value.type in (CONFIG, OPTIONS)):
                return True  # of two that met in a branch nobody knows which it is
        case Sequence(items=list(items)):
            inner = items
        case Sequence(element=Value() as element):
            inner = [element]
        case Mapping(entries=entries):
            inner = list(entries.values())
        case Namespace(attributes=attributes):
            inner = list(attributes.values())
        case Partial(arguments=arguments):
            inner = [argument.value for argument in arguments]
        case _:
            return False
    return any(holds(item, call, depth - 1) for item in inner)


def users(trace: Trace, call: Call) -> Iterator[Call]:
    """Calls that are handed what a call made, or that read it out (`config.SerializeToString()`)."""
    for other in (*trace.all_calls(), *trace.loose):
        if other is call:
            continue
        if any(holds(argument.value, call) for argument in other.arguments):
            yield other
        elif other.receiver is not None and holds(other.receiver, call, 1):
            if other.name.rpartition(".")[2] not in _MERGES:
                yield other


def kept(trace: Trace, call: Call) -> bool:
    """Whether others may get hold of what a call made: kept in an object, or returned by what nobody here calls."""
    if any("." in assign.path and holds(assign.value, call, 3) for assign in trace.assigns()):
        return True
    for body in call.context.all(Body):
        if "generator" in body.function.flags:
            return True
        if not body.called and body.function.result is not None and holds(body.function.result, call):
            return True
    return False


def fractions(trace: Trace) -> Iterator[tuple[float, Call | None, Place]]:
    """The fractions of the GPU's memory that are asked for: with the `GPUOptions` call, or where they are written."""
    for call in trace.calls(OPTIONS):
        value = call.const(FRACTION)
        if isinstance(value, int | float):
            yield value, call, call.place
    for assign in trace.assigns():
        written = deref(assign.value)
        if assign.path.endswith(f".{FRACTION}") and isinstance(written, Const):
            if isinstance(written.value, int | float):
                yield written.value, None, assign.place
