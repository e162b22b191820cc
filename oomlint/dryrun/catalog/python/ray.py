"""Ray: functions that run in worker processes (`@ray.remote`, `train.remote(seed)`), and the trials of Ray Tune.

Ray shows a worker the GPUs that it was promised (`num_gpus=1`), and none if nothing was said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.python.entry_points import CALLABLE, run_here
from oomlint.dryrun.catalog.registry import function, method
from oomlint.dryrun.values.base import Mapping, Opaque, Unknown, Value, deref
from oomlint.dryrun.values.program import Function, Library, Partial

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Argument, Call

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


# --- Ray Tune -----------------------------------------------------------------------------------------

TRIALS = "ray.tune.trials"


@dataclass(frozen=True, slots=True, eq=False)
class Trainable(Value):
    """A function whose trials run in processes, with what each is promised."""

    api: ClassVar[str] = "ray.tune.Trainable"
    target: Value
    resources: Argument | None = None
    samples: Value | None = None


def _trainable(value: Value | None) -> Trainable:
    value = deref(value) if value is not None else Unknown()
    return value if isinstance(value, Trainable) else Trainable(value)


@function("ray.tune.with_resources", parameters="trainable resources")
def with_resources(call: Call, run: Run) -> Value:
    """`tune.with_resources(train, {"gpu": 0.25})`."""
    return replace(_trainable(call.value("trainable")), resources=call.argument("resources"))


@function("ray.tune.with_parameters", parameters="trainable")
def with_parameters(call: Call, run: Run) -> Value:
    """`tune.with_parameters(train, data=data)`: the arguments beside the configuration."""
    held = _trainable(call.value("trainable"))
    given = tuple(argument for argument in call.arguments[1:] if argument.name is not None)
    return replace(held, target=Partial(held.target, given)) if isinstance(held.target, CALLABLE) else held


@function(
    "ray.tune.run",
    parameters="trainable name metric mode stop time_budget_s config resources_per_trial num_samples",
)
def tune_run(call: Call, run: Run) -> Value:
    """`tune.run(train, resources_per_trial={"gpu": 0.25}, num_samples=8)`."""
    held = _trainable(call.value("trainable"))
    asked = call.argument("resources_per_trial") or held.resources
    return _tried(call, run, replace(held, resources=asked, samples=call.value("num_samples")))


@function("ray.tune.TuneConfig", parameters="metric mode search_alg scheduler num_samples")
def tune_config(call: Call, run: Run) -> Value:
    """`tune.TuneConfig(num_samples=8)`."""
    return Opaque("ray.tune.TuneConfig", call)


@function("ray.tune.Tuner", parameters="trainable param_space tune_config")
def make_tuner(call: Call, run: Run) -> Value:
    """`tune.Tuner(train, param_space=..., tune_config=...)`."""
    config = call.value("tune_config")
    made = config.made_by if isinstance(config, Opaque) else None
    samples = made.value("num_samples") if made is not None else None
    return replace(_trainable(call.value("trainable")), samples=samples)


@method(Trainable, "fit")
def fit_tuner(call: Call, run: Run) -> Value:
    """`tuner.fit()` runs the trials."""
    assert isinstance(call.receiver, Trainable)
    return _tried(call, run, call.receiver)


def _tried(call: Call, run: Run, what: Trainable) -> Value:
    call.name, call.receiver = TRIALS, what
    run_here(run, what.target, [Unknown()], call, "child-process")
    return Unknown()
