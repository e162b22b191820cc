"""Ray: functions that run in worker processes (`@ray.remote`, `train.remote(seed)`).

Ray shows a worker the GPUs that it was promised (`num_gpus=1`), and none if nothing was said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.python.entry_points import run_here
from oomlint.dryrun.catalog.registry import function, method
from oomlint.dryrun.values.base import Mapping, Opaque, Unknown, Value, deref
from oomlint.dryrun.values.program import Function, Library

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

REMOTE = "ray.RemoteFunction.remote"


@dataclass(frozen=True, slots=True, eq=False)
class Remote(Value):
    """A function that Ray runs, with the call that says what its workers are given."""

    api: ClassVar[str] = "ray.RemoteFunction"
    target: Value
    needs: Call | None = None


@function("ray.remote")
def remote(call: Call, run: Run) -> Value:
    """`ray.remote(train)`, or the decorator with its arguments."""
    if len(call.arguments) == 1 and call.arguments[0].name is None:
        return Remote(deref(call.arguments[0].value))
    return Opaque("ray.remote", call)


@method(Function, "remote")
def call_decorated(call: Call, run: Run) -> Value:
    """`train.remote(seed)` of a function with the decorator."""
    target = call.receiver
    assert isinstance(target, Function)
    for decorator in target.decorators:
        if isinstance(decorator, Library) and decorator.name == "ray.remote":
            return _start(call, run, Remote(target))
        if isinstance(decorator, Opaque) and decorator.type == "ray.remote":
            return _start(call, run, Remote(target, decorator.made_by))
    return Unknown()


@method(Function, "options")
def decorated_options(call: Call, run: Run) -> Value:
    """`train.options(num_gpus=0.5)`."""
    return Remote(call.receiver or Unknown(), call)


@method(Remote, "options")
def options(call: Call, run: Run) -> Value:
    """`remote_train.options(num_gpus=0.5)`."""
    assert isinstance(call.receiver, Remote)
    return Remote(call.receiver.target, call)


@method(Remote, "remote")
def call_remote(call: Call, run: Run) -> Value:
    """A task is started; what it gives is fetched later."""
    assert isinstance(call.receiver, Remote)
    return _start(call, run, call.receiver)


def _start(call: Call, run: Run, what: Remote) -> Value:
    call.name, call.receiver = REMOTE, what
    values = [deref(argument.value) for argument in call.arguments if argument.name is None]
    keywords = Mapping({argument.name: argument.value for argument in call.arguments if argument.name})
    run_here(run, what.target, values, call, "child-process", keywords)
    return Unknown()
