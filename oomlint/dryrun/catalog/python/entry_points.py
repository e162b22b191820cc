"""Calls that run a function of the program: command-line front ends, threads, child processes, pools.

A function handed to a child process runs there, with a GPU context of its own that ends with the process; its
events carry the role `child-process`, those of threads `thread`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.registry import facet, function, method
from oomlint.dryrun.trace import Argument, Loop
from oomlint.dryrun.values.base import (
    NONE,
    Const,
    Mapping,
    Opaque,
    Sequence,
    Unknown,
    Value,
    deref,
    join_all,
    tags_of,
)
from oomlint.dryrun.values.program import Class, Function, Instance, Method, Partial

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

CALLABLE = (Function, Method, Partial, Class, Instance)
# Pools by what they start. A pool of threads shares the process, its memory and its GPU context.
PROCESS_POOLS = (
    "multiprocessing.Pool",
    "multiprocessing.pool.Pool",
    "concurrent.futures.ProcessPoolExecutor",
    "concurrent.futures.process.ProcessPoolExecutor",
    "torch.multiprocessing.Pool",
    "billiard.Pool",
    "billiard.pool.Pool",
    "loky.ProcessPoolExecutor",
    "loky.get_reusable_executor",
)
THREAD_POOLS = (
    "multiprocessing.pool.ThreadPool",
    "multiprocessing.dummy.Pool",
    "concurrent.futures.ThreadPoolExecutor",
    "concurrent.futures.thread.ThreadPoolExecutor",
)


@dataclass(frozen=True, slots=True, eq=False)
class OwnProcess(Value):
    """What `multiprocessing.Process` makes of an object of a class that derives from it."""

    api: ClassVar[str] = "multiprocessing.Process"
    instance: Instance


def run_here(
    run: Run,
    target: Value,
    values: list[Value],
    call: Call,
    role: str | None,
    keywords: Mapping | None = None,
) -> Value:
    """Run a callable of the program with these values and, for the rest, its defaults."""
    target = deref(target)
    if not isinstance(target, CALLABLE):
        return Unknown()
    if keywords is not None and keywords.complete:
        given = (Argument(value, call.place, str(name)) for name, value in keywords.entries.items())
        target = Partial(target, tuple(given))
    return run.call(target, values, call, role)


@function("absl.app.run", "tf.app.run", parameters="main argv")
def app_run(call: Call, run: Run) -> Value:
    """`app.run(main)`: main gets the arguments that no flag took."""
    main = call.value("main")
    if main is None:  # tf.app.run() runs the module's main
        main = run.state.get((run.scope.outermost, "main"))
    if main is not None:
        takes = isinstance(main, Function) and bool(main.node.params.params)
        run_here(run, main, [Unknown()] if takes else [], call, None)
    return NONE


@function("fire.Fire", "typer.run", "plac.call", "defopt.run", parameters="component")
def front_end(call: Call, run: Run) -> Value:
    """A front end that calls the function with arguments from the command line: its defaults are soft."""
    target = deref(call.arguments[0].value) if call.arguments else Unknown()
    if isinstance(target, Function):
        return run.enter(target, (), call.place, called=False)
    return Unknown()


@function("threading.Thread", "multiprocessing.dummy.Process", parameters="group target name args kwargs")
def thread(call: Call, run: Run) -> Value:
    """A thread: its target runs in this process."""
    _start(call, run, "thread")
    return Opaque("threading.Thread", call)


@function("asyncio.to_thread")
def to_thread(call: Call, run: Run) -> Value:
    """A call in another thread; `await` gives what it returns."""
    return _handed_over(call, run, 0, "thread")


@function("asyncio.get_running_loop", "asyncio.get_event_loop", "asyncio.new_event_loop")
def event_loop(call: Call, run: Run) -> Value:
    """The loop that coroutines run in."""
    return Opaque("asyncio.loop", call)


def _handed_over(call: Call, run: Run, position: int, role: str) -> Value:
    """A callable among the arguments, called with those behind it."""
    given = [argument for argument in call.arguments if argument.name is None]
    if len(given) <= position or any(argument.star for argument in call.arguments):
        return Unknown()
    keywords = Mapping({argument.name: argument.value for argument in call.arguments if argument.name})
    values = [deref(argument.value) for argument in given[position + 1 :]]
    return run_here(run, given[position].value, values, call, role, keywords)


@function(
    "multiprocessing.Process",
    "multiprocessing.context.Process",
    "multiprocessing.process.Process",
    "torch.multiprocessing.Process",
    "billiard.Process",
    parameters="group target name args kwargs",
)
def process(call: Call, run: Run) -> Value:
    """A child process: what its target allocates is gone when it ends."""
    _start(call, run, "child-process")
    return Opaque("multiprocessing.Process", call)


def _start(call: Call, run: Run, role: str) -> None:
    target, values = call.value("target"), call.value("args")
    items = list(values.items) if isinstance(values, Sequence) and values.items is not None else []
    keywords = call.value("kwargs")
    if target is not None:
        run_here(run, target, items, call, role, keywords if isinstance(keywords, Mapping) else None)


@facet("multiprocessing.Process", "multiprocessing.context.Process", "multiprocessing.process.Process")
def process_facet(instance: Instance, base: str, run: Run) -> Value:
    """An object of a class of processes: `start()` runs its `run`."""
    return OwnProcess(instance)


@method(OwnProcess, "start")
def start(call: Call, run: Run) -> Value:
    """The child process of a class of the program's own."""
    own = call.receiver
    assert isinstance(own, OwnProcess)
    run_here(run, run.attribute(own.instance, "run", call.place), [], call, "child-process")
    return NONE


@function(*PROCESS_POOLS, parameters="processes initializer initargs maxtasksperchild")
def process_pool(call: Call, run: Run) -> Value:
    """A pool of processes."""
    return Opaque("process-pool", call)


@function(*THREAD_POOLS, parameters="processes initializer initargs")
def thread_pool(call: Call, run: Run) -> Value:
    """A pool of threads."""
    return Opaque("thread-pool", call)


@function("multiprocessing.get_context", parameters="method")
def context(call: Call, run: Run) -> Value:
    """`get_context("spawn")`: its `Process` and `Pool` are those of the module."""
    return Opaque("multiprocessing.context", call)


@method(
    Opaque,
    "submit",
    "apply",
    "apply_async",
    "map",
    "imap",
    "imap_unordered",
    "map_async",
    "starmap",
    "run_in_executor",
    "Process",
    "Pool",
)
def pool_call(call: Call, run: Run) -> Value:
    """Work handed to a pool; other objects with such methods are left alone."""
    receiver = call.receiver
    assert isinstance(receiver, Opaque)
    name = call.name.rpartition(".")[2]
    if receiver.type == "multiprocessing.context" and name == "Process":
        call.signature = ("group", "target", "name", "args", "kwargs")
        return process(call, run)
    if receiver.type == "multiprocessing.context" and name == "Pool":
        return process_pool(call, run)
    if receiver.type == "asyncio.loop" and name == "run_in_executor":
        pool = deref(call.arguments[0].value) if call.arguments else None
        in_process = isinstance(pool, Opaque) and pool.type == "process-pool"
        return _handed_over(call, run, 1, "child-process" if in_process else "thread")
    if receiver.type not in ("process-pool", "thread-pool") or not call.arguments:
        return Unknown()
    role = "child-process" if receiver.type == "process-pool" else "thread"
    target = call.arguments[0].value
    keywords = Mapping({argument.name: argument.value for argument in call.arguments[1:] if argument.name})
    if name == "submit":
        values: list[Value] = [deref(item.value) for item in call.arguments[1:] if item.name is None]
        run_here(run, target, values, call, role, keywords)
        return Unknown()
    if name.startswith("apply"):
        call.signature = ("func", "args", "kwds", "callback")
        given, more = call.value("args"), call.value("kwds")
        values = list(run.iterate(given).items or []) if given is not None else []
        run_here(run, target, values, call, role, more if isinstance(more, Mapping) else None)
        return Unknown()
    inner = run.iterate(call.arguments[1].value) if len(call.arguments) > 1 else None
    items = inner.items if inner is not None else None
    # One that stands for all: each worker gets another one.
    element = (
        join_all(items) if items else inner.element if inner is not None and inner.element else Unknown()
    )
    values = list(run.iterate(element).items or [element]) if name == "starmap" else [element]
    times = inner.count if inner is not None and items is None else Const(len(items or ()))
    with run.inside(run.context.inside(Loop(call.place, "trials", None, times))):
        result = run_here(run, target, values, call, role)
    if name == "map_async":
        return Unknown()
    return Sequence("list", element=result, count=times, tags=tags_of(result), context=run.context)
