"""TF1 session options (`ConfigProto`, `GPUOptions`) and whether they ever reach a session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.gpu_setup import uncalled
from oomlint.dryrun.trace import Assign, Body, Call, Trace
from oomlint.dryrun.values.base import Const, Mapping, Namespace, Opaque, Sequence, Unknown, Value, deref
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
        # The dry run's object knows later writes too.
        return _words(self.given.items())

    @property
    def written(self) -> str:
        """What is written to it later."""
        return _words((write.path.rpartition(".")[2], write.value) for write in self.writes)


def _words(given: Iterable[tuple[str, Value]]) -> str:
    said = []
    for name, value in given:
        known = deref(value)
        if name in MEMORY:
            said.append(f"{name} = {known.value}" if isinstance(known, Const) else name)
    return ", ".join(said)


def options(trace: Trace) -> list[Options]:
    """Everything that the document itself makes to set up the GPU for a session."""
    found: list[Options] = []
    for call in trace.calls(CONFIG, OPTIONS):
        if call.source is not trace.source or not isinstance(call.result, Opaque):
            continue
        if any(options.made.node is call.node for options in found):
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
            # A function may make it more than once. Of two that met in a branch nobody knows which it is.
            if (made is None and value.type in (CONFIG, OPTIONS)) or (
                made is not None and made.node is call.node
            ):
                return True
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
        if other.node is call.node:
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
        result = deref(body.function.result) if body.function.result is not None else None
        if isinstance(result, Unknown) or (result is not None and not body.called and holds(result, call)):
            return True
    return False


def fractions(trace: Trace) -> Iterator[tuple[float, Opaque | None, Place]]:
    """The fractions of the GPU's memory that are asked for: the options, and where they are made or written to."""
    for call in trace.calls(OPTIONS):
        value = call.value(FRACTION)
        if isinstance(value, Const) and isinstance(value.value, int | float):
            if not (value.soft and uncalled(call.context) is not None):  # a default that callers may replace
                yield value.value, call.result if isinstance(call.result, Opaque) else None, call.place
    for assign in trace.assigns():
        if assign.path.endswith(f".{FRACTION}"):
            written = deref(assign.value)
            if isinstance(written, Const) and isinstance(written.value, int | float):
                target = deref(assign.target) if assign.target is not None else None
                yield written.value, target if isinstance(target, Opaque) else None, assign.place


def grows(options: Opaque | None) -> bool:
    """Whether memory is taken as it is needed: a fraction is the most it may come to then."""
    value = (
        deref(options.attributes["allow_growth"])
        if options and "allow_growth" in options.attributes
        else None
    )
    return value is not None and not (isinstance(value, Const) and not value.value)
