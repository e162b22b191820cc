"""scikit-learn's splitters and parameter grids: how many rounds a loop over them has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.registry import Iteration, function, iteration, method
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref, merge
from oomlint.dryrun.values.shapes import number

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

HOME = "sklearn.model_selection."
# Splitters and the number of folds that they make when nothing is said.
FOLDS = {
    "KFold": 5, "StratifiedKFold": 5, "GroupKFold": 5, "StratifiedGroupKFold": 5, "TimeSeriesSplit": 5,
    "ShuffleSplit": 10, "StratifiedShuffleSplit": 10, "GroupShuffleSplit": 5,
    "RepeatedKFold": 5, "RepeatedStratifiedKFold": 5,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Splitter(Value):
    """A cross-validation splitter; `folds` where it is known."""

    api: ClassVar[str] = "sklearn.Splitter"
    folds: Const | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Grid(Value):
    """A ParameterGrid or ParameterSampler: dictionaries, one per point."""

    api: ClassVar[str] = "sklearn.Grid"
    points: Const | None = None


@function(*(HOME + name for name in FOLDS), parameters="n_splits shuffle random_state")
def make_splitter(call: Call, run: Run) -> Value:
    """`KFold(n_splits=10)`."""
    name = call.name.rpartition(".")[2]
    folds = _count(call, "n_splits", FOLDS[name])
    if name.startswith("Repeated") and folds is not None:
        times = _count(call, "n_repeats", 10)
        folds = None if times is None else Const(folds.value * times.value, merge(folds.trail, times.trail))
    return Splitter(folds)


def _count(call: Call, name: str, default: int) -> Const | None:
    """A number given, its default if it is not, None if it is not known."""
    given = call.value(name)
    if given is None:
        return Const(default)
    return given if isinstance(given, Const) and number(given) is not None else None


@method(Splitter, "split", parameters="X y groups")
def split(call: Call, run: Run) -> Value:
    """Pairs of index arrays, one per fold."""
    splitter = call.receiver
    assert isinstance(splitter, Splitter)
    indices = Array("numpy", (None,), "int64")
    pair = Sequence("tuple", items=[indices, indices])
    return Sequence("generator", element=pair, count=splitter.folds)


@method(Splitter, "get_n_splits")
def get_n_splits(call: Call, run: Run) -> Value:
    """The number of folds."""
    splitter = call.receiver
    known = splitter.folds if isinstance(splitter, Splitter) else None
    return known or Unknown(type="int")


@function(HOME + "ParameterGrid", parameters="param_grid")
def parameter_grid(call: Call, run: Run) -> Value:
    """`ParameterGrid({"a": [1, 2], "b": [3, 4]})`: the product of the lists' lengths."""
    grid = call.value("param_grid")
    if not isinstance(grid, Mapping) or not grid.complete:
        return Grid()
    points = 1
    for value in grid.entries.values():
        value = deref(value)
        length = number(value.length) if isinstance(value, Sequence) else None
        if length is None:
            return Grid()
        points *= length
    return Grid(Const(points))


@function(HOME + "ParameterSampler", parameters="param_distributions n_iter random_state")
def parameter_sampler(call: Call, run: Run) -> Value:
    """`ParameterSampler(space, n_iter=20)`."""
    given = call.value("n_iter")
    return Grid(given if isinstance(given, Const) else None)


@iteration(Grid)
def points_of(value: Value, run: Run) -> Iteration:
    """One dictionary per point."""
    assert isinstance(value, Grid)
    return Iteration(element=Mapping(complete=False), count=value.points)
