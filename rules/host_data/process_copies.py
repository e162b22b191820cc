"""What worker processes copy of an object that gives batches: Python objects, and arrays where they are spawned."""

from __future__ import annotations

from dataclasses import dataclass

from oomlint.rules.host_data.amounts import against, form

from oomlint.dryrun.catalog.arrays.making import DECODED
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Assign, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Value, deref, tags_of
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Severity
from oomlint.project.settings import Settings

_START = ("multiprocessing.set_start_method", "multiprocessing.get_context")


@dataclass(frozen=True, slots=True)
class Copies:
    """A finding's parts."""

    message: str
    severity: Severity
    evidence: tuple[Evidence, ...]
    help: str


def copied(trace: Trace, source: Value, workers: int, settings: Settings) -> Copies | None:
    """Copies of arrays past the budget, else Python objects of unknown size that several processes read."""
    return _arrays(trace, source, workers, settings) or _objects(trace, source, workers)


def _arrays(trace: Trace, source: Value, workers: int, settings: Settings) -> Copies | None:
    """Processes that are not forked get a copy of everything that the object holds, arrays too."""
    started = [call for call in trace.calls(*_START) if call.const("method") in ("spawn", "forkserver")]
    held: dict[str, tuple[Array, Assign]] = {}
    for assign in trace.assigns() if started else ():
        value = deref(assign.value)
        if assign.target is source and isinstance(value, Array) and value.size is not None:
            if value.library == "numpy":
                held[assign.path] = (value, assign)
    size: Size | None = None
    for array, _ in held.values():
        size = array.size if size is None else size.plus(array.size)
    size = size.times(Const(workers), "worker processes") if size is not None else None
    severity = over(size, settings.budget.host) if size is not None else None
    if size is None or severity is None:
        return None
    return Copies(
        f"each of {workers} spawned processes gets a copy of the arrays: {against(size.bytes, settings.budget)}",
        severity,
        (
            Evidence("processes are not forked", started[0].place),
            *(Evidence(f"{path} is {form(array)}", assign.place) for path, (array, assign) in held.items()),
        ),
        "open the arrays in __getitem__ (np.load with mmap_mode), use threads, or let the processes be forked",
    )


def _objects(trace: Trace, source: Value, workers: int) -> Copies | None:
    """Processes write to the pages of Python objects as they count references to them."""
    if workers < 2:
        return None
    for assign in trace.assigns():
        if assign.target is source and assign.path.startswith("self.") and _heavy(deref(assign.value)):
            return Copies(
                f"each of the {workers} worker processes ends up with its own copy of {assign.path}",
                Severity.NOTE,
                (Evidence("Python objects, which forked processes do not share for long", assign.place),),
                "keep one NumPy array instead (ragged rows: values and offsets), or use threads",
            )
    return None


def _heavy(value: Value) -> bool:
    """A list or dictionary of unknown length that holds lists, arrays or dictionaries."""
    match value:
        case Sequence(kind="list", items=None, count=None):
            element = deref(value.any)
            return isinstance(element, Sequence | Mapping) or (
                isinstance(element, Array) and tags_of(element) >= DECODED
            )
        case Mapping(complete=False, other=other) if other is not None:
            return isinstance(deref(other), Sequence | Mapping | Array)
    return False
