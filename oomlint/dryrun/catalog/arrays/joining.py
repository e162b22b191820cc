"""NumPy: joining arrays, taking them apart, and bringing them into another shape."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.functions import first, nothing
from oomlint.dryrun.catalog.arrays.making import (
    MAX_ITEMS,
    PART,
    as_array,
    figures,
    grown,
    made,
    step,
    tags_of_all,
)
from oomlint.dryrun.catalog.arrays.methods import repeat, swap
from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.values.arrays import Array, Dim, Shape
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.dtypes import dtype_of, promote
from oomlint.dryrun.values.shapes import (
    add_dims,
    axes_of,
    concatenate,
    derived,
    dim_of,
    dimension_at,
    expand,
    known,
    number,
    reshape,
    scale,
    shape_of,
    squeeze,
    stack,
    total,
    transpose,
    with_dim,
)

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


class Parts:
    """The arrays that a call joins: each one, or one that stands for `count` of them."""

    def __init__(self, value: Value | None) -> None:
        value = deref(value) if value is not None else None
        self.arrays: list[Array | None] = []
        self.count: Dim = None
        self.uniform = False  # one array stands for all
        self.tags = tags_of(value) if value is not None else frozenset()
        if isinstance(value, Sequence) and value.items is not None:
            self.arrays = [as_array(item) for item in value.items[:MAX_ITEMS]]
            self.count = derived(len(value.items))
        elif isinstance(value, Sequence):
            self.arrays, self.count, self.uniform = [as_array(value.element)], value.count, True
        elif isinstance(value, Array):  # its rows are joined
            rows = value.shape[1:] if value.shape else None
            self.arrays, self.uniform = [replace(value, shape=rows)], True
            self.count = dimension_at(value.shape, 0)
        if None in self.arrays:
            self.tags = figures(self.tags)
        self.tags = self.tags.union(*(array.tags for array in self.arrays if array is not None))

    def result(self, call: Call, shape: Shape | None) -> Value:
        """The joined array."""
        if not self.arrays:
            return Unknown(tags=self.tags)
        dtype = self.arrays[0].dtype if self.arrays[0] is not None else None
        for array in self.arrays[1:]:
            dtype = promote(dtype, array.dtype if array is not None else None)
        asked = call.argument("dtype")
        if asked is not None:
            dtype = dtype_of(asked.value)
        return made(call, shape, dtype, self.tags | grown(call))

    def shapes(self, least: int = 0) -> list[Shape | None]:
        """Their shapes; with `least` dimensions where NumPy puts new ones in front."""
        return [_at_least(array.shape, least) if array is not None else None for array in self.arrays]

    def joined(self, call: Call, axis: int, least: int = 0) -> Value:
        """All of them along an axis."""
        shapes = self.shapes(least)
        if not self.uniform:
            return self.result(call, concatenate(shapes, axis))
        shape = concatenate(shapes, axis)
        if shape is not None:
            along = scale(dimension_at(shape, axis), self.count)
            shape = with_dim(shape, axis, along)
        return self.result(call, shape)


def _at_least(shape: Shape | None, rank: int) -> Shape | None:
    return shape if shape is None else (*(Const(1),) * max(0, rank - len(shape)), *shape)


@function("numpy.concatenate", "numpy.concat", parameters="arrays axis out dtype")
def concatenated(call: Call, run: Run) -> Value:
    """Joined along an axis that is there."""
    parts = Parts(call.value("arrays") or (deref(call.arguments[0].value) if call.arguments else None))
    axis = call.argument("axis")
    if axis is not None and isinstance(deref(axis.value), Const) and axis.const() is None:
        totals = [total(shape) for shape in parts.shapes()]
        along = add_dims(totals) if not parts.uniform else scale(totals[0], parts.count) if totals else None
        return parts.result(call, (along,))
    at = 0 if axis is None else number(axis.value)
    return parts.result(call, None) if at is None else parts.joined(call, at)


@function("numpy.stack", parameters="arrays axis out dtype")
def stacked(call: Call, run: Run) -> Value:
    """Joined along a new axis."""
    parts = Parts(call.value("arrays"))
    axis = call.argument("axis")
    at = 0 if axis is None else number(axis.value)
    known_shape = next((shape for shape in parts.shapes() if shape is not None), None)
    return parts.result(call, None if at is None else stack(known_shape, parts.count, at))


@function("numpy.vstack", "numpy.row_stack", parameters="tup dtype")
def vstacked(call: Call, run: Run) -> Value:
    """Joined along the first axis; a vector is a row."""
    parts = Parts(call.value("tup"))
    return parts.joined(call, 0, 2)


@function("numpy.hstack", parameters="tup dtype")
def hstacked(call: Call, run: Run) -> Value:
    """Joined along the second axis; vectors along their only one."""
    parts = Parts(call.value("tup"))
    flat = any(shape is not None and len(shape) == 1 for shape in parts.shapes())
    return parts.joined(call, 0 if flat else 1, 1)


@function("numpy.dstack", parameters="tup")
def dstacked(call: Call, run: Run) -> Value:
    """Joined along the third axis."""
    parts = Parts(call.value("tup"))
    shapes: list[Shape | None] = []
    for shape in parts.shapes():
        deep = shape if shape is None or len(shape) != 1 else (Const(1), *shape)
        shapes.append(deep if deep is None or len(deep) > 2 else (*deep, Const(1)))
    return parts.result(call, None if parts.uniform else concatenate(shapes, 2))


@function("numpy.column_stack", parameters="tup")
def columns(call: Call, run: Run) -> Value:
    """Vectors as columns."""
    parts = Parts(call.value("tup"))
    if parts.uniform:
        return parts.result(call, None)
    shapes = [shape if shape is None or len(shape) != 1 else (*shape, Const(1)) for shape in parts.shapes()]
    return parts.result(call, concatenate(shapes, 1))


@function("numpy.append", parameters="arr values axis")
def append(call: Call, run: Run) -> Value:
    """One more: flat without an axis."""
    left, right = as_array(call.value("arr")), as_array(call.value("values"))
    if left is None or right is None:
        return made(call, None, None, figures((left or right or Array()).tags) | grown(call))
    tags = left.tags | right.tags | grown(call)
    dtype = promote(left.dtype, right.dtype)
    if call.argument("axis") is None:
        return made(call, (add_dims([total(left.shape), total(right.shape)]),), dtype, tags)
    axis = number(call.value("axis"))
    shape = None if axis is None else concatenate([left.shape, right.shape], axis)
    return made(call, shape, dtype, tags)


@function("numpy.insert", "numpy.delete", parameters="arr obj values axis")
def changed(call: Call, run: Run) -> Value:
    """One element more or less of a vector; else only the dtype is known."""
    array, place = first(call), call.value("obj")
    if array is None:
        return nothing(call)
    dim = dimension_at(array.shape, 0)
    if array.rank != 1 or dim is None or number(place) is None or call.argument("axis") is not None:
        return replace(array, shape=None)
    more = 1 if "insert" in call.name else -1
    values = as_array(call.value("values"))
    if more == 1 and (values is None or values.shape != ()):
        return replace(array, shape=(None,))
    return replace(array, shape=(derived(dim.value + more, dim),))


@function("numpy.split", "numpy.array_split", "numpy.vsplit", "numpy.hsplit", parameters="ary indices axis")
def split(call: Call, run: Run) -> Value:
    """Parts along an axis: a number of them, or cut at indices."""
    array = first(call)
    if array is None:
        return nothing(call)
    axis = number(call.value("axis")) if call.argument("axis") is not None else 0
    if "hsplit" in call.name:
        axis = 0 if array.rank == 1 else 1
    array = replace(array, tags=array.tags | {PART})
    pieces, cuts = number(call.value("indices")), known(shape_of(call.value("indices")))
    dim = dimension_at(array.shape, axis) if axis is not None else None
    if axis is None or dim is None:
        element = replace(array, shape=None if axis is None else with_dim(array.shape, axis, None))
        count = None if pieces is None else Const(pieces)
        return Sequence("list", element=element, count=count)
    if pieces is not None and 0 < pieces <= 256:
        base, rest = divmod(dim.value, pieces)
        sizes = [base + (position < rest) for position in range(pieces)]
    elif cuts is not None and pieces is None:
        edges = [0, *(min(cut, dim.value) for cut in cuts), dim.value]
        sizes = [max(0, end - start) for start, end in pairwise(edges)]
    else:
        return Sequence("list", element=replace(array, shape=with_dim(array.shape, axis, None)))
    dims = [derived(size, dim) for size in sizes]
    return Sequence("list", items=[replace(array, shape=with_dim(array.shape, axis, part)) for part in dims])


@function("numpy.block", parameters="arrays")
def block(call: Call, run: Run) -> Value:
    """Nested lists of blocks: only the dtype is followed, except for one row."""
    value = call.value("arrays")
    if isinstance(value, Sequence) and value.items and len(value.items) == 1:
        parts = Parts(value.items[0])
        return parts.joined(call, -1)
    return nothing(call)


# --- shape --------------------------------------------------------------------------------------------


@function("numpy.reshape", parameters="a shape order")
def reshaped(call: Call, run: Run) -> Value:
    """Another shape."""
    array = first(call)
    if array is None:
        return nothing(call)
    target = shape_of(call.value("shape") or call.value("newshape"))
    origin = array.origin if array.shape is not None else step(call)
    return replace(array, shape=reshape(array.shape, target), origin=origin)


@function("numpy.resize", parameters="a new_shape")
def resized(call: Call, run: Run) -> Value:
    """Repeated or cut to another shape."""
    array = first(call)
    return nothing(call) if array is None else replace(array, shape=shape_of(call.value("new_shape")))


@function("numpy.ravel", parameters="a")
def flat(call: Call, run: Run) -> Value:
    """One dimension."""
    array = first(call)
    return nothing(call) if array is None else replace(array, shape=(total(array.shape),))


@function("numpy.transpose", "numpy.permute_dims", parameters="a axes")
def transposed(call: Call, run: Run) -> Value:
    """Axes in another order."""
    array = first(call)
    if array is None:
        return nothing(call)
    axes = axes_of(call.value("axes")) if call.argument("axes") is not None else ()
    return replace(array, shape=transpose(array.shape, axes))


@function("numpy.moveaxis", "numpy.rollaxis", parameters="a source destination")
def moved(call: Call, run: Run) -> Value:
    """One axis, or several, to another place."""
    array = first(call)
    source, target = axes_of(call.value("source")), axes_of(call.value("destination"))
    if array is None:
        return nothing(call)
    if not array.shape or source is None or len(source) != (len(target) if target else 1):
        return replace(array, shape=None)
    rank = len(array.shape)
    goal: tuple[int, ...]
    if "rollaxis" in call.name:
        to = target[0] if target else 0
        goal = (to - 1 if source[0] % rank < to else to,)
    else:
        goal = target or (0,)
    order = [axis for axis in range(rank) if axis not in {item % rank for item in source}]
    for to, start in sorted(zip((axis % rank for axis in goal), (axis % rank for axis in source))):
        order.insert(to, start)
    return replace(array, shape=transpose(array.shape, tuple(order)))


@function("numpy.swapaxes", parameters="a axis1 axis2")
def swapped(call: Call, run: Run) -> Value:
    """Two axes exchanged."""
    array = first(call)
    return nothing(call) if array is None else swap(array, call.value("axis1"), call.value("axis2"))


@function("numpy.expand_dims", parameters="a axis")
def expanded(call: Call, run: Run) -> Value:
    """One or more new axes."""
    array = first(call)
    if array is None:
        return nothing(call)
    return replace(array, shape=expand(array.shape, axes_of(call.value("axis"))))


@function("numpy.squeeze", parameters="a axis")
def squeezed(call: Call, run: Run) -> Value:
    """Without dimensions of 1."""
    array = first(call)
    if array is None:
        return nothing(call)
    axes = axes_of(call.value("axis")) if call.argument("axis") is not None else None
    return replace(array, shape=squeeze(array.shape, axes))


@function("numpy.atleast_1d", "numpy.atleast_2d", parameters="a")
def at_least(call: Call, run: Run) -> Value:
    """New axes in front where there are too few."""
    array = first(call)
    if array is None:
        return nothing(call)
    return replace(array, shape=_at_least(array.shape, 1 if call.name.endswith("1d") else 2))


@function("numpy.broadcast_to", parameters="array shape")
def broadcast_to(call: Call, run: Run) -> Value:
    """A view of a larger shape."""
    array = first(call)
    return nothing(call) if array is None else replace(array, shape=shape_of(call.value("shape")))


@function("numpy.repeat", parameters="a repeats axis")
def repeated(call: Call, run: Run) -> Value:
    """Elements taken several times."""
    array = first(call)
    return nothing(call) if array is None else repeat(array, call.value("repeats"), call.value("axis"))


@function("numpy.tile", parameters="A reps")
def tiled(call: Call, run: Run) -> Value:
    """The whole taken several times along each axis."""
    array, reps = first(call), shape_of(call.value("reps"))
    if array is None:
        return nothing(call)
    if array.shape is None or reps is None:
        return replace(array, shape=None)
    rank = max(len(array.shape), len(reps))
    times = (*(Const(1),) * (rank - len(reps)), *reps)
    shape = _at_least(array.shape, rank) or ()
    dims = tuple(scale(dim, count) for dim, count in zip(shape, times))
    return replace(array, shape=dims, origin=step(call))


@function("numpy.pad", parameters="array pad_width mode")
def padded(call: Call, run: Run) -> Value:
    """A margin around it."""
    array = first(call)
    if array is None:
        return nothing(call)
    widths = _widths(call.value("pad_width"), array.rank)
    if array.shape is None or widths is None:
        return replace(array, shape=None if array.shape is None else (None,) * len(array.shape))
    dims = [add_dims([dim, *width]) for dim, width in zip(array.shape, widths)]
    return replace(array, shape=tuple(dims), origin=step(call))


def _widths(value: Value | None, rank: int | None) -> list[tuple[Dim, Dim]] | None:
    """The margins before and after, per axis."""
    if rank is None or value is None:
        return None
    if dim_of(value) is not None:
        return [(dim_of(value), dim_of(value))] * rank
    if not isinstance(value, Sequence) or value.items is None:
        return None
    items = [deref(item) for item in value.items]
    if items and isinstance(items[0], Const):
        pair = [dim_of(item) for item in items]
        return [(pair[0], pair[-1])] * rank
    pairs = [shape_of(item) for item in items]
    if any(pair is None for pair in pairs):
        return None
    margins = [(pair[0], pair[-1]) for pair in pairs if pair]
    return margins * rank if len(margins) == 1 else margins if len(margins) == rank else None


@function("numpy.take", parameters="a indices axis")
def taken(call: Call, run: Run) -> Value:
    """Elements by index along an axis."""
    array, indices = first(call), as_array(call.value("indices"))
    axis = number(call.value("axis"))
    if array is None or indices is None:
        return Unknown(tags=tags_of_all(call.value("a")))
    if array.shape is None or indices.shape is None:
        return replace(array, shape=None)
    if axis is None:
        return replace(array, shape=indices.shape if call.argument("axis") is None else None)
    axis %= max(1, len(array.shape))
    return replace(array, shape=(*array.shape[:axis], *indices.shape, *array.shape[axis + 1 :]))
