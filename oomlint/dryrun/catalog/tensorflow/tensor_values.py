"""Tensors as TensorFlow makes them of Python values, and the elements of a dataset."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import LAZY, UNSCALED, NumpyFloat, NumpyInt, as_array
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Step, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.shapes import shape_of
from oomlint.dryrun.values.training import Gradients

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call

# TensorFlow gives Python's numbers 32 bits; NumPy gives them 64.
_PYTHON = {"int64": "int32", "float64": "float32"}
_TYPES = {"int": "int32", "float": "float32", "bool": "bool", "str": "string", "bytes": "string"}

# Their results are no longer the colours that came in.
_RECKONS = ("tf.math.", "tf.nn.", "tf.linalg.", "tf.reduce_", "tf.image.per_image_", "tf.image.convert_")


def tensor(call: Call, shape: Shape | None, dtype: str | None, tags: frozenset[str] = frozenset()) -> Array:
    """A tensor that this call makes."""
    return Array("tensor", shape, dtype, Step(call.name, call.place), tags)


def result(
    call: Call,
    operand: Value | None,
    shape: Shape | None,
    dtype: str | None,
    tags: frozenset[str] | None = None,
) -> Array:
    """A tensor computed from an operand: symbolic if that is, with what is known to flow in.

    The evidence of its size is this call if it decided the dtype or the shape, else what decided them before.
    """
    known = as_tensor(operand)
    tags = tags_of(operand) if tags is None and operand is not None else tags or frozenset()
    if UNSCALED in tags and call.name.startswith(_RECKONS):
        tags -= {UNSCALED}
    if known is None:
        return tensor(call, shape, dtype, tags)
    same = known.shape is not None and shape is not None
    same = same and [_plain(dim) for dim in known.shape or ()] == [_plain(dim) for dim in shape or ()]
    origin = (
        known.origin
        if same and known.dtype == dtype and known.origin is not None
        else Step(call.name, call.place)
    )
    library = "tensor" if known.library == "variable" else known.library
    return replace(known, library=library, shape=shape, dtype=dtype, origin=origin, tags=tags)


def _plain(dim: Const | None) -> object:
    return None if dim is None else dim.value


def as_tensor(value: Value | None) -> Array | None:
    """The tensor that TensorFlow converts a value to; None where nothing is known of it."""
    value = deref(value) if value is not None else None
    match value:
        case Array(library="tensor" | "keras" | "variable" | "sparse"):
            return value
        case Array():
            return replace(value, library="tensor", producer=None)
        case Const(value=NumpyInt() | NumpyFloat() as number):
            return Array("tensor", (), number.dtype)
        case Const(value=bool() | int() | float() | str() | bytes() as constant):
            return Array("tensor", (), _TYPES[_type_name(constant)])
        case Unknown(type=str() as kind, tags=tags) if kind in _TYPES:
            return Array("tensor", (), _TYPES[kind], tags=tags)
        case Sequence():
            return _of_sequence(value)
    return None


def _type_name(constant: object) -> str:
    for kind in (bool, int, float, str, bytes):
        if isinstance(constant, kind):
            return kind.__name__
    return ""


def _of_sequence(value: Sequence) -> Array | None:
    """A list of numbers, strings, arrays or tensors: stacked."""
    array = as_array(value)
    if array is None:
        return None
    dtype = array.dtype
    if _is_python(value):
        dtype = _PYTHON.get(dtype or "", dtype)
    return replace(array, library="tensor", dtype=dtype, producer=None)


def _is_python(value: Sequence) -> bool:
    """Whether the numbers in a (nested) list are Python's own."""
    for _ in range(16):
        inner = (
            deref(value.items[0])
            if value.items
            else deref(value.element)
            if value.element is not None
            else None
        )
        if isinstance(inner, Sequence):
            value = inner
            continue
        if isinstance(inner, Const):
            return not isinstance(inner.value, NumpyInt | NumpyFloat)
        return isinstance(inner, Unknown) and inner.type is not None
    return False


def component(value: Value | None) -> Value:
    """One element as tf.data keeps it: tuples and dictionaries stay, everything else is a tensor."""
    value = deref(value) if value is not None else Unknown()
    match value:
        case Sequence(kind="tuple", items=list(items)):
            return Sequence("tuple", items=[component(item) for item in items], tags=value.tags)
        case Mapping():
            entries = {key: component(item) for key, item in value.entries.items()}
            return Mapping(entries, value.complete, None if value.other is None else component(value.other))
        case Dataset() | Unknown(type=None) | Gradients():
            return value
    known = as_tensor(value)
    return known if known is not None else Unknown(tags=tags_of(value))


def returned(value: Value) -> Value:
    """What a mapped function returned, as an element: a list counts as a tuple (measured on TF 2.21)."""
    value = deref(value)
    if isinstance(value, Sequence) and value.kind in ("list", "tuple") and value.items is not None:
        return Sequence("tuple", items=[component(item) for item in value.items], tags=value.tags)
    return component(value)


def each(value: Value | None, change: object) -> Value:
    """The element with every tensor replaced by `change(tensor)`; other leaves stay."""
    assert callable(change)
    value = deref(value) if value is not None else Unknown()
    match value:
        case Sequence(items=list(items)):
            return Sequence(value.kind, items=[each(item, change) for item in items], tags=value.tags)
        case Mapping():
            entries = {key: each(item, change) for key, item in value.entries.items()}
            return Mapping(
                entries, value.complete, None if value.other is None else each(value.other, change)
            )
        case Array():
            changed: Value = change(value)
            return changed
    return value


def as_numpy(value: Value | None) -> Value:
    """The element as NumPy arrays."""
    return each(
        value,
        lambda leaf: replace(leaf, library="numpy", producer=None) if leaf.library not in LAZY else leaf,
    )


def static(value: Value | None) -> Shape | None:
    """A static shape: a list with None (or -1) where the size is open."""
    shape = shape_of(value)
    return (
        None
        if shape is None
        else tuple(None if dim is not None and dim.value == -1 else dim for dim in shape)
    )
