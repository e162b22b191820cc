"""Helpers for everything that makes or takes arrays: conversion, tags, NumPy's own scalars."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun.trace import Branch
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import Const, Sequence, Step, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.dtypes import promote
from oomlint.dryrun.values.shapes import derived, stack

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call

# Of two operands, the one whose library decides what the result is. A table, an HDF5 data set or a
# memory map gives a plain array as soon as it is computed with.
_RANK = ("numpy", "sparse", "pandas", "variable", "tensor", "keras")
LAZY = frozenset({"h5py", "memmap", "pil"})
TENSORS = frozenset({"tensor", "variable", "keras"})

LOADED = "loaded:"
GROWN = "grown:"
DENSE = "dense:"
ONE_HOT = "one-hot:"
BLANK = "blank:"
VOCABULARY = "vocabulary"  # a number of words that the data decides, and what is made of it
FEW_WORDS = 1_000  # a vocabulary that is limited to fewer than this is not large
SPLIT = "split"  # one of the parts of a data set that is divided for training and testing
PART = "part"  # some rows of an array: no longer the whole, however many they are
DECODED = frozenset({"decoded"})  # a picture, sound or volume that was read from a file
VIDEO = "frame"  # with DECODED: a frame of one of many videos
UNSCALED = "0..255"  # floats that were 8-bit colours and still have their values; arithmetic takes it off
MAX_ITEMS = 2_000  # of a list that is looked at one by one


class NumpyInt(int):
    """A NumPy integer whose value is known (`np.prod(shape)`): unlike Python's it has a width."""

    dtype = "int64"


class NumpyFloat(float):
    """A NumPy float whose value is known (`np.sqrt(2)`): unlike Python's it has a width."""

    dtype = "float64"


class NumpyFloat32(NumpyFloat):
    """A known `np.float32`."""

    dtype = "float32"


class NumpyFloat16(NumpyFloat):
    """A known `np.float16`."""

    dtype = "float16"


def step(call: Call, text: str | None = None) -> Step:
    """The origin of an array: the call that decided its shape and dtype."""
    name = call.name.replace("numpy.", "np.", 1) if call.name.startswith("numpy.") else call.name
    return Step(text if text is not None else name, call.place)


def made(call: Call, shape: Shape | None, dtype: str | None, tags: frozenset[str] = frozenset()) -> Array:
    """A NumPy array that this call makes."""
    return Array("numpy", shape, dtype, step(call), tags)


def loaded(call: Call) -> frozenset[str]:
    """The tag of an array that this call reads whole; rules find the call by it."""
    return frozenset({f"{LOADED}{call.index}"})


def read_whole(call: Call, array: Array) -> frozenset[str]:
    """The tag of an array that is read whole only now: a stored or mapped one that nothing was cut out of."""
    whole = array.library in ("h5py", "memmap") and PART not in array.tags
    return loaded(call) if whole else frozenset()


def loads_of(value: Value) -> set[int]:
    """The indices of the events that read what this value holds."""
    return {int(tag[len(LOADED) :]) for tag in tags_of(value) if tag.startswith(LOADED)}


def without_loads(tags: frozenset[str]) -> frozenset[str]:
    """The tags of a small part of what was loaded."""
    return frozenset(
        tag for tag in tags if not tag.startswith((LOADED, GROWN, DENSE, BLANK)) and tag != SPLIT
    )


def grown(call: Call) -> frozenset[str]:
    """The tag of an array that this call made larger in a loop; rules find the call by it."""
    if not call.context.loops() or not (call.targets or _is_a_side(call)):
        return frozenset()
    return frozenset({f"{GROWN}{call.index}"})


def _is_a_side(call: Call) -> bool:
    """Whether it is one side of `new if x is None else np.vstack((x, new))`, to whose target it goes."""
    frame = call.context.frame
    node = frame.place.node if isinstance(frame, Branch) else None
    return isinstance(node, cst.IfExp) and call.node in (node.body, node.orelse)


def grown_by(value: Value) -> set[int]:
    """The indices of the events that made this value larger, round by round."""
    return {int(tag[len(GROWN) :]) for tag in tags_of(value) if tag.startswith(GROWN)}


def blank(call: Call) -> frozenset[str]:
    """The tag of an array that this call makes to be filled; rules find the call by it."""
    return frozenset({f"{BLANK}{call.index}"})


def blanks_of(value: Value) -> set[int]:
    """The indices of the events that made, still empty, what this value holds."""
    return {int(tag[len(BLANK) :]) for tag in tags_of(value) if tag.startswith(BLANK)}


def dense(call: Call) -> frozenset[str]:
    """The tag of an array that this call made of something sparse; rules find the call by it."""
    return frozenset({f"{DENSE}{call.index}"})


def dense_by(value: Value) -> set[int]:
    """The indices of the events that made what this value holds dense."""
    return {int(tag[len(DENSE) :]) for tag in tags_of(value) if tag.startswith(DENSE)}


def one_hot(call: Call) -> frozenset[str]:
    """The tag of an array that this call made with one column per class; rules find the call by it."""
    return frozenset({f"{ONE_HOT}{call.index}"})


def one_hot_by(value: Value) -> set[int]:
    """The indices of the events that made one column per class of what this value holds."""
    return {int(tag[len(ONE_HOT) :]) for tag in tags_of(value) if tag.startswith(ONE_HOT)}


def figures(tags: frozenset[str]) -> frozenset[str]:
    """The tags of numbers that were computed from data: they are neither the data set nor a picture."""
    return without_loads(tags) - DECODED


def of_number(value: Any) -> Array | None:
    """A NumPy or Python number as a 0-d array."""
    match value:
        case NumpyInt() | NumpyFloat():
            return Array(shape=(), dtype=value.dtype)
        case bool():
            return Array(shape=(), dtype="bool")
        case int():
            return Array(shape=(), dtype="int64")
        case float():
            return Array(shape=(), dtype="float64")
        case complex():
            return Array(shape=(), dtype="complex128")
        case str() | bytes():
            return Array(shape=(), dtype="string")
    return None


def as_array(value: Value | None) -> Array | None:
    """The array that `np.asarray` makes of a value; None where nothing is known of it."""
    value = deref(value) if value is not None else None
    match value:
        case Array(library=library) if library in LAZY | TENSORS:
            return replace(value, library="numpy", producer=None)
        case Array():
            return value
        case Const():
            return of_number(value.value)
        case Sequence():
            return _of_sequence(value)
        case Unknown(type="int" | "float" | "bool" | "str" as kind, tags=tags):
            dtype = {"int": "int64", "float": "float64", "bool": "bool", "str": "string"}[kind]
            return Array(shape=(), dtype=dtype, tags=tags)
    return None


def _of_sequence(value: Sequence) -> Array | None:
    if value.items is not None:
        if not value.items:
            return Array(shape=(Const(0),), dtype="float64", tags=value.tags)
        parts = [as_array(item) for item in value.items[:MAX_ITEMS]]
        if any(part is None for part in parts):
            return None
        arrays = [part for part in parts if part is not None]
        first = arrays[0]
        dtype = first.dtype
        for array in arrays[1:]:
            dtype = promote(dtype, array.dtype)
        ranks = {array.rank for array in arrays}
        shape = stack(first.shape, derived(len(value.items)), 0) if len(ranks) == 1 else None
        tags = value.tags.union(*(array.tags for array in arrays))
        return Array(shape=shape, dtype=dtype, tags=tags, origin=first.origin)
    element = as_array(value.element)
    if element is None:
        return Array(shape=None, dtype=None, tags=value.tags) if value.tags else None
    count = value.count
    return replace(element, shape=stack(element.shape, count, 0), tags=element.tags | value.tags)


def leading(*operands: Value) -> Array:
    """Of several operands, the array whose library the result has."""
    arrays = [operand for operand in operands if isinstance(operand, Array)]
    best = max(arrays, key=lambda array: _RANK.index(array.library) if array.library in _RANK else -1)
    if best.library == "variable":
        return replace(best, library="tensor")  # what is computed with a variable is none itself
    return replace(best, library="numpy") if best.library in LAZY else best


def tags_of_all(*values: Value | None) -> frozenset[str]:
    """The tags of several values together."""
    return frozenset().union(*(tags_of(deref(value)) for value in values if value is not None))
