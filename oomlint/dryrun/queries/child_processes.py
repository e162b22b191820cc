"""Where a script hands work to several processes that run at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.search import Estimator, Search
from oomlint.dryrun.catalog.python.joblib import Parallel, in_processes, surrounding
from oomlint.dryrun.catalog.python.ray import REMOTE, TRIALS, Remote, Trainable
from oomlint.dryrun.trace import Argument, Body, Call, Loop, Trace
from oomlint.dryrun.values.base import Const, Mapping, Opaque, Sequence, Value, deref, tags_of
from oomlint.dryrun.values.program import Instance
from oomlint.syntax.place import Several

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Context

_SKLEARN = (
    "sklearn.model_selection.",
    "sklearn.ensemble.",
    "sklearn.multioutput.",
    "sklearn.multiclass.",
    "sklearn.feature_selection.",
    "skopt.BayesSearchCV",
)
_WAITS = ("get", "result", "wait")
PROCESS = "multiprocessing.Process"


@dataclass(frozen=True, slots=True)
class Handing:
    """Work for several processes: the call that hands it over, and what says how many there are."""

    call: Call
    made: Call | None = None  # the pool, where it is not the same call
    number: Argument | None = None  # how many, where the script says it
    parameter: str = ""  # and what that is called

    @property
    def words(self) -> str:
        """How many, as the script says it."""
        value = None if self.number is None else deref(self.number.value)
        if isinstance(value, Const):
            return f"{self.parameter}={value.value}"
        if self.number is None or isinstance(self.number.place, Several):
            return "several processes"
        return f"{self.parameter}={(self.made or self.call).source.code(self.number.place.node)}"


def handings(trace: Trace, work: list[Call]) -> Iterator[tuple[Handing, Call | None]]:
    """Every place where some work (calls of the trace) is handed to more than one process, with the work.

    scikit-learn is told what to do by its estimators: there it is known without seeing it.
    """
    children = [call for call in work if call.context.role("child-process") is not None]
    for handing in _searches(trace, work):
        yield handing, None
    for handing in (*_joblib(trace), *_pools(trace), *_processes(trace, children), *_ray(trace)):
        done = does(handing.call, children)
        if done is not None:
            yield handing, done


def does(handed: Call, work: list[Call]) -> Call | None:
    """The first of the calls that runs in the processes to which something was handed."""
    for call in work:
        role = call.context.role("child-process")
        if role is not None and role.place.node is handed.place.node:
            return call
    return None


def several(value: Value | None, unsaid: bool) -> bool:
    """Whether a number of workers is more than one (not known: no)."""
    if value is None:
        return unsaid
    if "processors" in tags_of(value):
        return True
    if not isinstance(value, Const):
        return False
    if value.value is None:
        return unsaid
    return isinstance(value.value, int) and value.value not in (0, 1)


# --- scikit-learn, joblib ------------------------------------------------------------------------------


def keras_inside(value: Value | None, depth: int = 4) -> Estimator | Instance | None:
    """The wrapped Keras model (or the program's own estimator) in an estimator, pipeline, search or list of them."""
    value = deref(value) if value is not None else None
    match value:
        case Instance(facet=Estimator() as wrapper):
            return wrapper
        case Estimator() | Instance():
            return value
        case Search(estimator=inner):
            return keras_inside(inner, depth - 1) if depth else None
        case Sequence(items=list(items)) if depth:
            inside = (keras_inside(item, depth - 1) for item in items)
            return next((one for one in inside if one is not None), None)
    return None


def _searches(trace: Trace, work: list[Call]) -> Iterator[Handing]:
    for prefix in _SKLEARN:
        for call in trace.calls_under(prefix):
            estimator = call.value("estimator") or (
                deref(call.arguments[0].value) if call.arguments else None
            )
            inside = keras_inside(estimator)
            if isinstance(inside, Instance) and not any(_fits(one, inside) for one in work):
                continue  # an estimator of the program's own, without Keras
            if inside is None or not in_processes(call.context):
                continue
            number = call.argument("n_jobs") or _number_around(call.context)
            if number is not None and several(deref(number.value), unsaid=False):
                yield Handing(call, None, number, "n_jobs")


def _fits(call: Call, estimator: Instance) -> bool:
    return call.name.startswith("keras.") and inside_method(call, estimator, "fit", "partial_fit", "_fit")


def _number_around(context: Context) -> Argument | None:
    around = surrounding(context)
    return around.argument("n_jobs") if around is not None else None


def _joblib(trace: Trace) -> Iterator[Handing]:
    for call in trace.calls("joblib.Parallel.__call__"):
        assert isinstance(call.receiver, Parallel)
        made = call.receiver.made_by
        number = made.argument("n_jobs") or _number_around(call.context)
        if (
            number is not None
            and several(deref(number.value), unsaid=False)
            and in_processes(call.context, made)
        ):
            yield Handing(call, made, number, "n_jobs")


# --- the standard library ------------------------------------------------------------------------------


def _pools(trace: Trace) -> Iterator[Handing]:
    for call in trace.calls_under("process-pool."):
        pool = deref(call.receiver) if call.receiver is not None else None
        made = pool.made_by if isinstance(pool, Opaque) else None
        method = call.name.rpartition(".")[2]
        if made is None or method in ("apply", "shutdown", "close", "join", "terminate"):
            continue
        number = made.argument("max_workers") or made.argument("processes")
        if not several(deref(number.value) if number is not None else None, unsaid=True):
            continue
        many = _many(call) if "map" in method else _repeated(trace, call)
        if many and not _waited_for(trace, call):
            parameter = "max_workers" if made.name.endswith("Executor") else "processes"
            yield Handing(call, made, number, parameter)


def _many(call: Call) -> bool:
    items = deref(call.arguments[1].value) if len(call.arguments) > 1 else None
    length = items.length if isinstance(items, Sequence) else None
    return length is None or length.value != 1


def _repeated(trace: Trace, call: Call) -> bool:
    """Whether it is done again while the first may run still: in a loop, or by another call of the same pool."""
    loop = call.context.innermost(Loop)
    if loop is not None:
        return loop.trip is None or loop.trip.value != 1
    return any(
        other.node is not call.node and other.receiver is call.receiver
        for other in trace.calls_under("process-pool.")
        if other.name == call.name
    )


def _waited_for(trace: Trace, call: Call) -> bool:
    """Whether the result is waited for before the next one is handed over."""
    loop = call.context.innermost(Loop)
    return any(
        other.name in _WAITS and other.receiver is call.result and other.context.innermost(Loop) is loop
        for other in trace.loose
        if other.index >= call.index
    )


def _processes(trace: Trace, work: list[Call]) -> Iterator[Handing]:
    """`Process(...)` objects of which several run at a time."""
    starts = [start for start in trace.calls(f"{PROCESS}.start") if _target(start, work) is not None]
    joins = trace.calls(f"{PROCESS}.join")
    told: set[int] = set()
    for start in starts:
        target = _target(start, work)
        if target is not None and id(target.node) not in told and _at_once(start, starts, joins):
            told.add(id(target.node))
            yield Handing(target)
            if start.context.innermost(Loop) is None:
                return  # said of the first of them


def _target(start: Call, work: list[Call]) -> Call | None:
    """What hands the work to a process that is started: its making, or for classes of one's own the start."""
    process = deref(start.receiver) if start.receiver is not None else None
    handed = process.made_by if isinstance(process, Opaque) else start
    return handed if handed is not None and does(handed, work) is not None else None


def _at_once(start: Call, starts: list[Call], joins: list[Call]) -> bool:
    """Whether a started process still runs when the next one starts."""
    loop = start.context.innermost(Loop)
    if loop is not None:
        if loop.trip is not None and loop.trip.value == 1:
            return False
        return not any(join.context.innermost(Loop) is loop and join.index > start.index for join in joins)
    following = [other for other in starts if other.index > start.index and other.node is not start.node]
    if not following:
        return False
    return not any(start.index < join.index < following[0].index for join in joins)


# --- Ray ------------------------------------------------------------------------------------------------


def _ray(trace: Trace) -> Iterator[Handing]:
    """Tasks that are promised a part of a GPU: Ray puts several on one, and bounds nobody's memory."""
    for call in trace.calls(REMOTE):
        needs = call.receiver.needs if isinstance(call.receiver, Remote) else None
        number = needs.argument("num_gpus") if needs is not None else None
        value = deref(number.value) if number is not None else None
        if isinstance(value, Const) and isinstance(value.value, float) and 0 < value.value < 1:
            if call.context.innermost(Loop) is not None:
                yield Handing(call, needs, number, "num_gpus")
    for call in trace.calls(TRIALS):
        held = call.receiver
        if not isinstance(held, Trainable) or held.resources is None:
            continue
        entries = deref(held.resources.value)
        share = entries.entries.get("gpu") if isinstance(entries, Mapping) else None
        value = deref(share) if share is not None else None
        alone = held.samples is not None and deref(held.samples) == Const(1)
        if isinstance(value, Const) and isinstance(value.value, float) and 0 < value.value < 1 and not alone:
            yield Handing(call, None, replace(held.resources, value=value), "gpu")


# --- data workers ---------------------------------------------------------------------------------------


def inside_method(call: Call, owner: Instance, *names: str) -> bool:
    """Whether a call runs in a method of an object's class."""
    classes = set(map(id, owner.cls.ancestry()))
    return any(
        body.function.owner is not None and id(body.function.owner) in classes and body.function.name in names
        for body in call.context.all(Body)
    )
