"""scikit-learn's own data sets, as large as they are, and its generators of made-up ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import made
from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.values.base import Const, Namespace, Sequence, Step, Unknown
from oomlint.dryrun.values.shapes import dim_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call
    from oomlint.dryrun.values.arrays import Array
    from oomlint.dryrun.values.base import Value

HOME = "sklearn.datasets."
# Rows, columns, dtypes of data and target; the shape of one picture where there are pictures too.
TABLES: dict[str, tuple[int, int, str, str, tuple[int, ...]]] = {
    "load_iris": (150, 4, "float64", "int64", ()),
    "load_wine": (178, 13, "float64", "int64", ()),
    "load_breast_cancer": (569, 30, "float64", "int64", ()),
    "load_digits": (1_797, 64, "float64", "int64", (8, 8)),
    "load_diabetes": (442, 10, "float64", "float64", ()),
    "load_boston": (506, 13, "float64", "float64", ()),
    "fetch_california_housing": (20_640, 8, "float64", "float64", ()),
    "fetch_covtype": (581_012, 54, "float64", "int32", ()),
    "fetch_olivetti_faces": (400, 4_096, "float32", "int64", (64, 64)),
}
# Rows and columns by default, and what the argument for the columns is called.
GENERATORS = {
    "make_classification": (100, 20, "n_features"),
    "make_regression": (100, 100, "n_features"),
    "make_blobs": (100, 2, "n_features"),
    "make_moons": (100, 2, ""),
    "make_circles": (100, 2, ""),
}


def _array(call: Call, dtype: str, *sizes: int) -> Array:
    trail = (Step(call.name, call.place),)
    return made(call, tuple(Const(size, trail) for size in sizes), dtype)


@function(*(HOME + name for name in TABLES))
def table(call: Call, run: Run) -> Value:
    """`load_iris()`: the data and the target, as attributes or as a pair."""
    rows, columns, dtype, labels, picture = TABLES[call.name.removeprefix(HOME)]
    given = {argument.name: argument.value for argument in call.arguments}
    pair, frame = given.get("return_X_y", Const(False)), given.get("as_frame", Const(False))
    if call.opaque_arguments or not isinstance(pair, Const) or frame != Const(False):
        return Unknown()
    data, target = _array(call, dtype, rows, columns), _array(call, labels, rows)
    if pair.value:
        return Sequence("tuple", items=[data, target])
    attributes: dict[str, Value] = {"data": data, "target": target}
    if picture:
        attributes["images"] = _array(call, dtype, rows, *picture)
    return Namespace(attributes)


@function(*(HOME + name for name in GENERATORS), parameters="n_samples n_features")
def generator(call: Call, run: Run) -> Value:
    """`make_moons(1000)`: points and what belongs to each."""
    name = call.name.removeprefix(HOME)
    rows, columns, width = GENERATORS[name]
    count, features = call.value("n_samples"), call.value("n_features") if width else None
    numbers = "float64" if name == "make_regression" else "int64"
    points, target = _array(call, "float64", rows, columns), _array(call, numbers, rows)
    lead = points.shape[0] if points.shape and count is None else dim_of(count) if count is not None else None
    side = points.shape[1] if points.shape and features is None else dim_of(features) if features else None
    return Sequence("tuple", items=[replace(points, shape=(lead, side)), replace(target, shape=(lead,))])
