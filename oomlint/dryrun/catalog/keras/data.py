"""Keras' own data sets with their true sizes, one-hot labels, padding; scikit-learn's splits and scalers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.encoders import ENCODERS, encoded
from oomlint.dryrun.catalog.arrays.making import (
    LAZY,
    SPLIT,
    TENSORS,
    as_array,
    figures,
    made,
    one_hot,
    read_whole,
    step,
    tags_of_all,
)
from oomlint.dryrun.catalog.names import generation
from oomlint.dryrun.catalog.registry import function, method, prefix
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import Const, Opaque, Sequence, Step, Unknown, Value, deref
from oomlint.dryrun.values.dtypes import dtype_of, is_float
from oomlint.dryrun.values.shapes import derived, dim_of, dimension_at, number, with_dim

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

Spec = tuple[tuple[int | None, ...], str | None]

# x_train, y_train, x_test, y_test. CIFAR-100's labels come out of a pickle as a list: int64.
DATASETS: dict[str, tuple[Spec, Spec, Spec, Spec]] = {
    "mnist": (((60_000, 28, 28), "uint8"), ((60_000,), "uint8"), ((10_000, 28, 28), "uint8"), ((10_000,), "uint8")),
    "cifar10": (
        ((50_000, 32, 32, 3), "uint8"), ((50_000, 1), "uint8"), ((10_000, 32, 32, 3), "uint8"), ((10_000, 1), "uint8"),
    ),
    "cifar100": (
        ((50_000, 32, 32, 3), "uint8"), ((50_000, 1), "int64"), ((10_000, 32, 32, 3), "uint8"), ((10_000, 1), "int64"),
    ),
    # Lists of word numbers, of many lengths: the arrays hold Python objects.
    "imdb": (((25_000,), "object"), ((25_000,), "int64"), ((25_000,), "object"), ((25_000,), "int64")),
}  # fmt: skip
DATASETS["fashion_mnist"] = DATASETS["mnist"]

# One table that Keras splits itself: rows, columns (None: one object per row), dtypes of x and y.
TABLES: dict[str, tuple[int, tuple[int, ...], str | None, str | None]] = {
    "reuters": (11_228, (), "object", "int64"),
    "boston_housing": (506, (13,), "float64", "float64"),
    "california_housing": (20_640, (8,), None, None),
}


def _array(call: Call, shape: tuple[int | None, ...], dtype: str | None) -> Array:
    trail = (Step(call.name.rpartition(".")[0], call.place),)
    dims = tuple(None if size is None else Const(size, trail) for size in shape)
    return made(call, dims, dtype, frozenset({"dataset"}))


def _quadruple(parts: list[Array]) -> Sequence:
    train, test = Sequence("tuple", items=list(parts[:2])), Sequence("tuple", items=list(parts[2:]))
    return Sequence("tuple", items=[train, test])


def _fixed(name: str) -> None:
    @function(f"keras.datasets.{name}.load_data")
    def load_data(call: Call, run: Run) -> Value:
        specs = DATASETS[name]
        shorter = name == "imdb" and call.argument("maxlen") is not None  # drops the longer reviews
        parts = [_array(call, (None,) if shorter else shape, dtype) for shape, dtype in specs]
        return _quadruple(parts)


def _split(name: str) -> None:
    @function(f"keras.datasets.{name}.load_data")
    def load_data(call: Call, run: Run) -> Value:
        rows, columns, x_dtype, y_dtype = TABLES[name]
        if name == "california_housing" and call.const("version", "large") == "small":
            rows = 600
        part = call.const("test_split", 0.2)
        train: int | None = None
        if isinstance(part, int | float) and 0 <= part < 1 and call.argument("maxlen") is None:
            train = int(rows * (1 - part))
        test = None if train is None else rows - train
        sizes = ((train, *columns), (train,), (test, *columns), (test,))
        dtypes = (x_dtype, y_dtype, x_dtype, y_dtype)
        return _quadruple([_array(call, shape, dtype) for shape, dtype in zip(sizes, dtypes)])


for _name in DATASETS:
    _fixed(_name)
for _name in TABLES:
    _split(_name)


@function("keras.utils.get_file", "pooch.retrieve", parameters="fname origin")
def get_file(call: Call, run: Run) -> Value:
    """A file fetched from a URL: a teaching set more often than not (the tag `fetched`)."""
    return Unknown(type="str", tags=frozenset({"fetched"}))


@function("keras.utils.to_categorical", parameters="y num_classes dtype")
def to_categorical(call: Call, run: Run) -> Value:
    """One-hot rows: float64 for an array in Keras 3, float32 in Keras 2 and for a tensor."""
    value = call.value("y")
    labels = as_array(value)
    classes = call.argument("num_classes")
    width = dim_of(classes.value) if classes is not None else None
    shape = labels.shape if labels is not None else None
    if shape is not None and len(shape) > 1 and number(shape[-1]) == 1:
        shape = shape[:-1]
    dtype: str | None = "float64" if generation(call.spelled) != "tf_keras" else "float32"
    if call.argument("dtype") is not None:
        dtype = dtype_of(call.value("dtype"))  # Keras 2 only: Keras 3 has no such parameter
    library = "numpy"
    if isinstance(value, Array) and value.library in TENSORS:
        library, dtype = "tensor", "float32"
    tags = labels.tags if labels is not None else frozenset()
    return Array(
        library, None if shape is None else (*shape, width), dtype, step(call), figures(tags) | one_hot(call)
    )


@function(
    "keras.ops.one_hot",
    "keras.ops.nn.one_hot",
    "keras.backend.one_hot",
    parameters="x num_classes axis dtype",
)
def ops_one_hot(call: Call, run: Run) -> Value:
    """One more dimension, as long as there are classes: float32, in whatever library Keras runs on."""
    labels = as_array(call.value("x") or call.value("indices"))
    classes = call.argument("num_classes")
    width = dim_of(classes.value) if classes is not None else None
    shape = labels.shape if labels is not None else None
    dtype = call.argument("dtype")
    last = call.const("axis", -1) == -1
    tags = figures(labels.tags) if labels is not None else frozenset()
    value = call.value("x")
    library = value.library if isinstance(value, Array) and value.library in TENSORS else "tensor"
    return Array(
        library,
        (*shape, width) if shape is not None and last else None,
        "float32" if dtype is None else dtype_of(dtype.value),
        step(call),
        tags | one_hot(call),
    )


@function("keras.utils.pad_sequences", parameters="sequences maxlen dtype padding truncating value")
def pad_sequences(call: Call, run: Run) -> Value:
    """One row per sequence, int32 unless asked; without `maxlen` as wide as the longest."""
    sequences = call.value("sequences")
    rows: Dim = None
    if isinstance(sequences, Array):
        rows = dimension_at(sequences.shape, 0)
    elif isinstance(sequences, Sequence):
        rows = sequences.length
    dtype = call.argument("dtype")
    width = dim_of(call.value("maxlen")) if call.argument("maxlen") is not None else None
    return made(call, (rows, width), "int32" if dtype is None else dtype_of(dtype.value))


@function("keras.utils.normalize", parameters="x axis order")
def normalize(call: Call, run: Run) -> Value:
    """The same array, in floats."""
    value = as_array(call.value("x"))
    return Unknown() if value is None else replace(value, dtype=None, origin=step(call))


# --- scikit-learn -------------------------------------------------------------------------------------


@function("sklearn.model_selection.train_test_split", "sklearn.cross_validation.train_test_split")
def train_test_split(call: Call, run: Run) -> Value:
    """Two parts of each array; a quarter is for testing unless the call says otherwise."""
    arrays = [deref(argument.value) for argument in call.arguments if argument.name is None]
    if any(argument.star for argument in call.arguments):
        return Sequence("list", element=Unknown(tags=tags_of_all(*arrays)))
    parts: list[Value] = []
    for value in arrays:
        rows = _rows(value)
        train, test = _counts(call, rows)
        parts.extend((_part(value, train), _part(value, test)))
    return Sequence("list", items=parts)


def _rows(value: Value) -> Dim:
    if isinstance(value, Array):
        return dimension_at(value.shape, 0)
    return value.length if isinstance(value, Sequence) else None


def _part(value: Value, rows: Dim) -> Value:
    if isinstance(value, Array):
        return replace(value, shape=with_dim(value.shape, 0, rows), tags=value.tags | {SPLIT})
    if isinstance(value, Sequence):
        return Sequence(value.kind, element=value.any, count=rows, tags=value.tags)
    return value


def _counts(call: Call, rows: Dim) -> tuple[Dim, Dim]:
    """How many rows go where: scikit-learn rounds the test part up and the train part down."""
    test, train = call.const("test_size", 0), call.const("train_size", 0)
    if call.argument("test_size") is None and call.argument("train_size") is None:
        test = 0.25
    if rows is None or test is None or train is None:
        return None, None
    total = rows.value
    for_test = math.ceil(test * total) if isinstance(test, float) else test
    for_train = math.floor(train * total) if isinstance(train, float) else train
    for_test, for_train = for_test or total - for_train, for_train or total - for_test
    if not (0 < for_test <= total and 0 < for_train <= total):
        return None, None
    return derived(for_train, rows), derived(for_test, rows)


@function("sklearn.utils.shuffle", "sklearn.utils.resample")
def reordered(call: Call, run: Run) -> Value:
    """The same arrays with their rows in another order, copied out of a map or table."""
    if any(argument.star for argument in call.arguments):
        return Unknown()
    given = [deref(argument.value) for argument in call.arguments if argument.name is None]
    count = call.value("n_samples")
    whole = count is None or (isinstance(count, Const) and count.value is None)
    parts: list[Value] = []
    for value in given:
        rows = _rows(value) if whole else dim_of(count)
        if isinstance(value, Array):
            library = "numpy" if value.library in LAZY else value.library
            tags = value.tags | read_whole(call, value)
            parts.append(replace(value, library=library, shape=with_dim(value.shape, 0, rows), tags=tags))
        else:
            parts.append(_part(value, rows))
    return parts[0] if len(parts) == 1 else Sequence("list", items=parts)


@prefix("sklearn.")
def estimator(call: Call, run: Run) -> Value:
    """An estimator; what it computes is not the data it was given."""
    return Opaque(call.name, call)


_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer")


@method(Opaque, "fit_transform", "transform", "inverse_transform", parameters="X")
def transform(call: Call, run: Run) -> Value:
    """Scaled data has the shape it had; whatever else a transformer gives is not followed."""
    receiver, value = call.receiver, as_array(call.value("X"))
    if isinstance(receiver, Opaque) and receiver.type.rpartition(".")[2] in ENCODERS:
        return encoded(call, receiver)
    if not isinstance(receiver, Opaque) or value is None or not receiver.type.startswith("sklearn."):
        return Unknown()
    if receiver.type.rpartition(".")[2] not in _SCALERS:
        return Unknown()
    dtype = value.dtype if is_float(value.dtype) or value.dtype is None else "float64"
    return replace(
        value, library="numpy", dtype=dtype, origin=value.origin if dtype == value.dtype else step(call)
    )


@method(Opaque, "fit")
def fitted(call: Call, run: Run) -> Value:
    """scikit-learn's `fit` gives the estimator back."""
    receiver = call.receiver
    return receiver if isinstance(receiver, Opaque) and receiver.type.startswith("sklearn.") else Unknown()
