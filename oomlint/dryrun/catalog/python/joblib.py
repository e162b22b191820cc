"""joblib: `Parallel(n_jobs=4)(delayed(train)(seed) for seed in seeds)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.python.entry_points import run_here
from oomlint.dryrun.catalog.registry import function, method
from oomlint.dryrun.trace import Argument, Loop, Within
from oomlint.dryrun.values.base import Const, Opaque, Sequence, Unknown, Value, deref, join_all, tags_of
from oomlint.dryrun.values.program import Partial

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call, Context

_HOMES = (
    "joblib",
    "joblib.parallel",
    "sklearn.externals.joblib",
    "sklearn.utils.parallel",
    "sklearn.utils.fixes",
)
BACKENDS = ("joblib.parallel_backend", "joblib.parallel_config", "sklearn.utils.parallel_backend")
PROCESSES = (None, "loky", "multiprocessing")


@dataclass(frozen=True, slots=True)
class Delayed(Value):
    """`delayed(train)`."""

    api: ClassVar[str] = "joblib.delayed"
    function: Value


@dataclass(frozen=True, slots=True)
class Task(Value):
    """`delayed(train)(seed)`: a call for later."""

    api: ClassVar[str] = "joblib.Task"
    function: Value
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Parallel(Value):
    """`Parallel(n_jobs=4)`."""

    api: ClassVar[str] = "joblib.Parallel"
    made_by: Call


@function(*(f"{home}.delayed" for home in _HOMES), parameters="function")
def delayed(call: Call, run: Run) -> Value:
    """A function whose calls wait."""
    return Delayed(call.value("function") or Unknown())


@method(Delayed, "__call__")
def task(call: Call, run: Run) -> Value:
    """A call that waits."""
    assert isinstance(call.receiver, Delayed)
    return Task(call.receiver.function, call.arguments)


@function(
    *(f"{home}.Parallel" for home in _HOMES),
    parameters="n_jobs backend return_as verbose timeout pre_dispatch batch_size temp_folder max_nbytes",
)
def parallel(call: Call, run: Run) -> Value:
    """Workers, not started yet."""
    return Parallel(call)


@function(*BACKENDS, parameters="backend n_jobs")
def backend(call: Call, run: Run) -> Value:
    """What `Parallel` and scikit-learn use inside of it."""
    return Opaque("joblib.parallel_backend", call)


def surrounding(context: Context) -> Call | None:
    """The innermost `with parallel_backend(...)`."""
    for frame in context.all(Within):
        manager = deref(frame.manager)
        if isinstance(manager, Opaque) and manager.type == "joblib.parallel_backend":
            return manager.made_by
    return None


def in_processes(context: Context, made: Call | None = None) -> bool:
    """Whether joblib starts processes here (and neither threads nor somebody's cluster)."""
    around = surrounding(context)
    chosen = made.value("backend") if made is not None else None
    if chosen is None and around is not None:
        chosen = around.value("backend")
    if made is not None and (made.const("prefer") == "threads" or made.const("require") == "sharedmem"):
        return False
    return chosen is None or (isinstance(chosen, Const) and chosen.value in PROCESSES)


@method(Parallel, "__call__", parameters="iterable")
def run_tasks(call: Call, run: Run) -> Value:
    """The tasks are run, each function once with what its calls have in common."""
    assert isinstance(call.receiver, Parallel)
    tasks = call.value("iterable")
    iteration = run.iterate(tasks) if tasks is not None else None
    if iteration is None:
        return Unknown()
    found = iteration.items if iteration.items is not None else [iteration.element or Unknown()]
    groups: dict[int, list[Task]] = {}
    for item in map(deref, found):
        if isinstance(item, Task):
            groups.setdefault(id(deref(item.function)), []).append(item)
    made = call.receiver.made_by
    alone = made.value("n_jobs") in (None, Const(1), Const(None)) and surrounding(run.context) is None
    role = None if alone else "child-process" if in_processes(run.context, made) else "thread"
    count = iteration.count if iteration.items is None else Const(len(iteration.items))
    context = (
        run.context
        if role == "child-process"
        else run.context.inside(Loop(call.place, "trials", tasks, count))
    )
    with run.inside(context):
        results = [_run(run, group, call, role) for group in groups.values()]
    result = join_all(results)
    return Sequence("list", element=result, count=count, tags=tags_of(result), context=run.context)


def _run(run: Run, group: list[Task], call: Call, role: str | None) -> Value:
    first = group[0]
    arguments = list(first.arguments)
    for index, argument in enumerate(arguments):
        if all(len(one.arguments) == len(arguments) for one in group):
            value = join_all([one.arguments[index].value for one in group])
            arguments[index] = Argument(value, argument.place, argument.name, argument.star, arg=argument.arg)
    return run_here(run, Partial(first.function, tuple(arguments)), [], call, role)
