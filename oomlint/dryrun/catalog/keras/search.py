"""Hyper-parameter searches and scikit-learn wrappers: they build and train in loops of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.arrays.sklearn_splits import HOME, Splitter
from oomlint.dryrun.catalog.keras.apply import named
from oomlint.dryrun.catalog.registry import duck, facet, function, method
from oomlint.dryrun.trace import Call, Loop
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import (
    NONE,
    Const,
    Mapping,
    Opaque,
    Pending,
    Sequence,
    Unknown,
    Value,
    deref,
    merge,
)
from oomlint.dryrun.values.program import Function, Instance
from oomlint.dryrun.values.training import Model

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run


@dataclass(frozen=True, slots=True, eq=False)
class Study(Value):
    """An Optuna study."""

    api: ClassVar[str] = "optuna.Study"


@dataclass(frozen=True, slots=True, eq=False)
class Tuner(Value):
    """A keras_tuner search: builds and trains one model per trial, in this process."""

    api: ClassVar[str] = "keras_tuner.Tuner"
    hypermodel: Value | None = None
    trials: Const | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Estimator(Value):
    """A scikit-learn wrapper of a Keras model: every `fit` builds it anew."""

    api: ClassVar[str] = "scikeras.Estimator"
    builder: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Search(Value):
    """A scikit-learn search over an estimator."""

    api: ClassVar[str] = "sklearn.Search"
    estimator: Value | None = None
    fits: Const | None = None


def repeated(run: Run, target: Value | None, values: list[Value], call: Call, trip: Const | None) -> Value:
    """Call a function as a library does that runs it many times."""
    if target is None:
        return Unknown()
    with run.inside(run.context.inside(Loop(call.place, "trials", None, trip))):
        return run.call(target, values, call)


def train(run: Run, model: Value, call: Call, trip: Const | None) -> None:
    """Record that a library fits a model with the arguments of its own call."""
    model = deref(model)
    if isinstance(model, Instance) and model.facet is not None:
        model = model.facet
    if isinstance(model, Model):
        context = (
            call.context if trip is NONE else call.context.inside(Loop(call.place, "trials", None, trip))
        )
        made = replace(call, name="keras.Model.fit", context=context, receiver=model, result=Unknown())
        made.signature = run.catalog.signatures.get(made.name, ())
        run.record(made)


# --- Optuna, Hyperopt -----------------------------------------------------------------------------------


@function("optuna.create_study", "optuna.load_study", "optuna.study.create_study", "optuna.study.load_study")
def create_study(call: Call, run: Run) -> Value:
    """A study."""
    return Study()


@method(Study, "optimize", parameters="func n_trials timeout n_jobs")
def optimize(call: Call, run: Run) -> Value:
    """`study.optimize(objective, n_trials=100)`."""
    trials = call.value("n_trials")
    return repeated(run, call.value("func"), [Unknown()], call, trials if isinstance(trials, Const) else None)


@duck
def study_by_trials(pending: Pending, run: Run) -> Value | None:
    """`x.optimize(f, n_trials=...)`: the keyword is Optuna's."""
    given = any(argument.name == "n_trials" for argument in pending.call.arguments)
    return Study() if pending.method == "optimize" and given else None


@function("hyperopt.fmin", "hyperopt.fmin.fmin", parameters="fn space algo max_evals")
def minimise(call: Call, run: Run) -> Value:
    """`fmin(objective, ..., max_evals=50)`."""
    count = call.value("max_evals")
    return repeated(run, call.value("fn"), [Unknown()], call, count if isinstance(count, Const) else None)


@function("skopt.dummy_minimize", parameters="func dimensions n_calls")
@function(
    *(f"skopt.{name}_minimize" for name in ("gp", "forest", "gbrt", "base")),
    parameters="func dimensions base_estimator n_calls",
)
def minimise_by_model(call: Call, run: Run) -> Value:
    """`gp_minimize(objective, space, n_calls=50)`; with `use_named_args` the objective gets keywords."""
    target, count = call.value("func"), call.value("n_calls") or Const(100)  # scikit-optimize's own default
    found = deref(target) if target is not None else None
    named = isinstance(found, Function) and found.node.params.star_kwarg is not None
    values: list[Value] = [] if named else [Unknown()]
    return repeated(run, target, values, call, count if isinstance(count, Const) else None)


@function("wandb.agent", parameters="sweep_id function entity project count")
def agent(call: Call, run: Run) -> Value:
    """`wandb.agent(sweep, function=train, count=50)`: the runs are calls in this process."""
    count = call.value("count")
    return repeated(run, call.value("function"), [], call, count if isinstance(count, Const) else None)


@dataclass(frozen=True, slots=True, eq=False)
class Optimization(Value):
    """A `bayes_opt.BayesianOptimization` of a function."""

    api: ClassVar[str] = "bayes_opt.BayesianOptimization"
    function: Value | None = None


@function("bayes_opt.BayesianOptimization", parameters="f pbounds")
def make_optimization(call: Call, run: Run) -> Value:
    """`BayesianOptimization(f=black_box, pbounds=...)`."""
    return Optimization(call.value("f"))


@method(Optimization, "maximize", parameters="init_points n_iter")
def maximize(call: Call, run: Run) -> Value:
    """Calls the function with its parameters by name."""
    found = call.receiver
    assert isinstance(found, Optimization)
    points = [call.value(name) or Const(default) for name, default in (("init_points", 5), ("n_iter", 25))]
    known = [point for point in points if isinstance(point, Const) and isinstance(point.value, int)]
    trip = Const(sum(point.value for point in known)) if len(known) == 2 else None
    repeated(run, found.function, [], call, trip)
    return NONE


@function("scipy.optimize.differential_evolution", "scipy.optimize.dual_annealing", parameters="func bounds")
def evolve(call: Call, run: Run) -> Value:
    """A search that calls the function with a vector, many times."""
    repeated(run, call.value("func"), [Unknown()], call, None)
    return Unknown()


# --- keras_tuner ----------------------------------------------------------------------------------------

_TUNERS = ("RandomSearch", "BayesianOptimization", "GridSearch", "Hyperband")
_PACKAGES = ("keras_tuner", "kerastuner", "keras_tuner.tuners", "kerastuner.tuners")


@function(
    *(f"{package}.{tuner}" for package in _PACKAGES for tuner in _TUNERS),
    parameters="hypermodel objective max_trials",
)
def make_tuner(call: Call, run: Run) -> Value:
    """`RandomSearch(build, max_trials=60)`."""
    trials = call.value("max_trials")
    if trials is None and call.name.endswith("RandomSearch"):
        trials = Const(10)
    return Tuner(call.value("hypermodel"), trials if isinstance(trials, Const) else None)


@method(Tuner, "search")
def search(call: Call, run: Run) -> Value:
    """`tuner.search(x, y)` builds and fits a model per trial."""
    tuner = call.receiver
    assert isinstance(tuner, Tuner)
    build = None if tuner.hypermodel is None else deref(tuner.hypermodel)
    if isinstance(build, Instance):
        build = run.attribute(build, "build", call.place)
    with run.inside(run.context.inside(Loop(call.place, "trials", None, tuner.trials))):
        model = run.call(build, [Unknown()], call) if build is not None else Unknown()
        train(run, model, replace(call, context=run.context), NONE)
    return NONE


# --- scikit-learn ---------------------------------------------------------------------------------------

_WRAPPERS = ("KerasClassifier", "KerasRegressor")
_HOMES = ("scikeras.wrappers", "keras.wrappers.scikit_learn", "keras.wrappers")


@function(*(f"{home}.{name}" for home in _HOMES for name in _WRAPPERS), parameters="model build_fn")
def make_estimator(call: Call, run: Run) -> Value:
    """`KerasClassifier(build_fn)`."""
    arguments = named(call, call.signature)
    return Estimator(arguments.get("build_fn", arguments.get("model")))


@facet(*(f"{home}.{name}" for home in _HOMES for name in _WRAPPERS))
def estimator_facet(instance: Instance, base: str, run: Run) -> Value:
    """An estimator of a class that derives from the wrapper: its builder is its own."""
    return Estimator()


@function("sklearn.base.clone", parameters="estimator")
def clone(call: Call, run: Run) -> Value:
    """A copy that is not fitted."""
    return call.value("estimator") or Unknown()


@method(Estimator, "fit", parameters="x y")
def fit_estimator(call: Call, run: Run) -> Value:
    """Builds the model and fits it."""
    estimator = call.receiver
    assert isinstance(estimator, Estimator)
    if estimator.builder is not None:
        train(run, run.call(estimator.builder, [], call), call, NONE)
    return estimator


@function("sklearn.pipeline.make_pipeline", "sklearn.pipeline.Pipeline", parameters="steps")
def pipeline(call: Call, run: Run) -> Value:
    """A pipeline that ends in a wrapped Keras model builds that model when it is fitted."""
    steps = [item for argument in call.arguments for item in _steps(argument.value)]
    return next((step for step in reversed(steps) if isinstance(step, Estimator)), Opaque(call.name, call))


def _steps(value: Value) -> list[Value]:
    value = deref(value)
    if isinstance(value, Sequence) and value.items is not None:
        return [step for item in value.items for step in _steps(item)]
    return [value]


_GRIDS = ("GridSearchCV", "HalvingGridSearchCV")
_SAMPLES = ("RandomizedSearchCV", "HalvingRandomSearchCV")


@function(*(f"{HOME}{name}" for name in _GRIDS), parameters="estimator param_grid")
@function(*(f"{HOME}{name}" for name in _SAMPLES), parameters="estimator param_distributions n_iter")
def make_search(call: Call, run: Run) -> Value:
    """A search over an estimator's parameters."""
    name, candidates = call.name.rpartition(".")[2], None
    if name == "GridSearchCV":
        candidates = _points(call.value("param_grid"))
    elif name == "RandomizedSearchCV":
        given = call.value("n_iter") or Const(10)
        candidates = given if isinstance(given, Const) else None
    return Search(call.value("estimator"), _times(candidates, _folds(call)))


def _points(grid: Value | None) -> Const | None:
    """How many points a grid of parameters has."""
    if not isinstance(grid, Mapping) or not grid.complete or not grid.entries:
        return None
    count: Const | None = Const(1)
    for choices in map(deref, grid.entries.values()):
        length = choices.length if isinstance(choices, Sequence) else None
        if isinstance(choices, Array) and choices.shape:
            length = choices.shape[0]
        count = _times(count, length)
    return count


def _times(one: Const | None, other: Const | None) -> Const | None:
    if one is None or other is None or not isinstance(one.value, int) or not isinstance(other.value, int):
        return None
    return Const(one.value * other.value, merge(one.trail, other.trail), one.soft or other.soft)


def _folds(call: Call) -> Const | None:
    """How many folds `cv=` stands for."""
    given = call.value("cv")
    if given is None or (isinstance(given, Const) and given.value is None):
        return Const(5)
    if isinstance(given, Splitter):
        return given.folds
    return given if isinstance(given, Const) and isinstance(given.value, int) else None


@method(Search, "fit", parameters="x y")
def fit_search(call: Call, run: Run) -> Value:
    """One model per candidate and fold."""
    found = call.receiver
    assert isinstance(found, Search)
    estimator = None if found.estimator is None else deref(found.estimator)
    if isinstance(estimator, Estimator) and estimator.builder is not None:
        _trials(run, estimator.builder, call, found.fits)
    return found


_SCORES = ("cross_val_score", "cross_validate", "cross_val_predict", "permutation_test_score")
_CURVES = ("learning_curve", "validation_curve")


@function(*(f"{HOME}{name}" for name in (*_SCORES, *_CURVES)), parameters="estimator x y")
def cross_validation(call: Call, run: Run) -> Value:
    """One model per fold."""
    estimator = call.value("estimator")
    if isinstance(estimator, Estimator) and estimator.builder is not None:
        once = call.name.rpartition(".")[2] in _SCORES[:3]
        _trials(run, estimator.builder, call, _folds(call) if once else None)
    return Unknown()


def _trials(run: Run, builder: Value, call: Call, fits: Const | None) -> None:
    with run.inside(run.context.inside(Loop(call.place, "trials", None, fits))):
        train(run, run.call(builder, [], call), replace(call, context=run.context), NONE)
