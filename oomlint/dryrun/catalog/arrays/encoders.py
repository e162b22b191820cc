"""scikit-learn's encoders and vectorizers: how many columns they make of texts, categories and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import as_array, dense, made, one_hot, step
from oomlint.dryrun.catalog.arrays.sparse import sparse
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import Const, Opaque, Sequence, Value, deref
from oomlint.dryrun.values.dtypes import dtype_of
from oomlint.dryrun.values.shapes import derived, dim_of, dimension_at, number

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call

TEXTS = frozenset({"TfidfVectorizer", "CountVectorizer", "HashingVectorizer"})
CATEGORIES = frozenset({"OneHotEncoder", "DictVectorizer"})
LABELS = frozenset({"LabelBinarizer"})
ENCODERS = TEXTS | CATEGORIES | LABELS

_PARAMETERS = {
    "CountVectorizer": "max_features",
    "TfidfVectorizer": "max_features",
    "HashingVectorizer": "n_features",
}


def encoded(call: Call, encoder: Opaque) -> Value:
    """What `fit_transform` or `transform` gives."""
    kind = encoder.type.rpartition(".")[2]
    given = call.value("X") or (deref(call.arguments[0].value) if call.arguments else None)
    rows, columns = _rows(given), _columns(kind, encoder.made_by)
    dtype = _dtype(kind, encoder.made_by)
    if kind in LABELS:
        array = as_array(given)
        tags = array.tags if array is not None else frozenset()
        return Array("numpy", (rows, None), "int64", step(call), tags | one_hot(call))
    if kind in CATEGORIES and _asks_for_dense(encoder.made_by):
        return made(call, (rows, columns), dtype, dense(call))
    return sparse(call, (rows, columns), dtype)


def _rows(value: Value | None) -> Dim:
    if isinstance(value, Array):
        return dimension_at(value.shape, 0)
    return value.length if isinstance(value, Sequence) else None


def _dtype(kind: str, made_by: Call | None) -> str | None:
    asked = made_by.argument("dtype") if made_by is not None else None
    if asked is not None:
        return dtype_of(asked.value)
    return "int64" if kind == "CountVectorizer" else "float64"


def _columns(kind: str, made_by: Call | None) -> Dim:
    if made_by is None or made_by.opaque_arguments:
        return None
    if kind == "OneHotEncoder":
        return _of_categories(made_by)
    limit = made_by.argument(_PARAMETERS.get(kind, ""))
    if limit is None and kind == "HashingVectorizer":
        return Const(2**20)  # its default
    words = made_by.value("vocabulary")
    if limit is None and isinstance(words, Sequence):
        return words.length
    return dim_of(limit.value) if limit is not None else None


def _of_categories(made_by: Call) -> Dim:
    """The sum of the categories, where they are written down."""
    given = made_by.value("categories")
    if not isinstance(given, Sequence) or not given.items:
        return None
    counts = [
        number(part.length) if isinstance(part := deref(item), Sequence) else None for item in given.items
    ]
    known = [count for count in counts if count is not None]
    return derived(sum(known)) if len(known) == len(counts) else None


def _asks_for_dense(made_by: Call | None) -> bool:
    """`sparse_output=False`, or `sparse=False` before scikit-learn 1.2."""
    return made_by is not None and any(
        (argument := made_by.argument(name)) is not None and argument.const() is False
        for name in ("sparse_output", "sparse")
    )
