"""Hyper-parameter searches and scikit-learn wrappers: they build and train in loops of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.keras.apply import named
from oomlint.dryrun.catalog.registry import duck, facet, function, method
from oomlint.dryrun.trace import Call, Loop
from oomlint.dryrun.values.base import NONE, Const, Opaque, Pending, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Instance
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
@function(
    "skopt.gp_minimize", "skopt.forest_minimize", "skopt.dummy_minimize", parameters="fn space base n_calls"
)
def minimise(call: Call, run: Run) -> Value:
    """`fmin(objective, ..., max_evals=50)`."""
    count = call.value("max_evals") or call.value("n_calls")
    return repeated(run, call.value("fn"), [Unknown()], call, count if isinstance(count, Const) else None)


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


@function(
    "sklearn.model_selection.GridSearchCV",
    "sklearn.model_selection.RandomizedSearchCV",
    parameters="estimator param_grid",
)
def make_search(call: Call, run: Run) -> Value:
    """A search over an estimator's parameters."""
    return Search(call.value("estimator"))


@method(Search, "fit", parameters="x y")
def fit_search(call: Call, run: Run) -> Value:
    """One model per candidate and fold."""
    found = call.receiver
    assert isinstance(found, Search)
    estimator = None if found.estimator is None else deref(found.estimator)
    if isinstance(estimator, Estimator) and estimator.builder is not None:
        _trials(run, estimator.builder, call)
    return found


@function(
    "sklearn.model_selection.cross_val_score",
    "sklearn.model_selection.cross_validate",
    "sklearn.model_selection.cross_val_predict",
    parameters="estimator x y",
)
def cross_validation(call: Call, run: Run) -> Value:
    """One model per fold."""
    estimator = call.value("estimator")
    if isinstance(estimator, Estimator) and estimator.builder is not None:
        _trials(run, estimator.builder, call)
    return Unknown()


def _trials(run: Run, builder: Value, call: Call) -> None:
    with run.inside(run.context.inside(Loop(call.place, "trials"))):
        train(run, run.call(builder, [], call), replace(call, context=run.context), NONE)
