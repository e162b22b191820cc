"""TensorFlow: the same numbers under another shape, parts of them, and several as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import constant, function
from oomlint.dryrun.catalog.tensorflow.tensor_values import as_tensor, result, static
from oomlint.dryrun.catalog.tensorflow.tensors import axis_of, shaped, typed
from oomlint.dryrun.values.arrays import Dim
from oomlint.dryrun.values.base import NONE, Const, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.shapes import (
    axes_of,
    concatenate,
    derived,
    dimension_at,
    expand,
    number,
    reshape,
    scale,
    shape_of,
    squeeze,
    stack,
    transpose,
)

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

constant("tf.newaxis", NONE)


@function("tf.reshape", parameters="tensor shape name")
def reshaped(call: Call, run: Run) -> Value:
    """The same numbers under another shape."""
    value, given = call.value(call.signature[0]), call.value(call.signature[1])
    target, shape = shape_of(given), shaped(value)
    if target and shape and shape[0] is None and _same_rows(given):
        rest = reshape(shape[1:], target[1:])
        return result(call, value, None if rest is None else (None, *rest), typed(value))
    return result(call, value, reshape(shape, target), typed(value))


def _same_rows(target: Value | None) -> bool:
    """Whether a target begins with `tf.shape(x)[0]`, the open batch that the tensor has too."""
    rows = deref(target.items[0]) if isinstance(target, Sequence) and target.items else None
    return isinstance(rows, Unknown) and "open-batch" in rows.tags and rows.operation is None


@function("tf.expand_dims", parameters="input axis name")
def expand_dims(call: Call, run: Run) -> Value:
    """A dimension of 1 more."""
    value, axis = call.value(call.signature[0]), axis_of(call, 0)
    shape = None if axis is None else expand(shaped(value), (axis,))
    return result(call, value, shape, typed(value))


@function("tf.squeeze", parameters="input axis name")
def squeezed(call: Call, run: Run) -> Value:
    """Dimensions of 1 fewer."""
    value, given = call.value(call.signature[0]), call.value("axis")
    axes = None if given is None or (isinstance(given, Const) and given.value is None) else axes_of(given)
    return result(call, value, squeeze(shaped(value), axes), typed(value))


@function("tf.transpose", parameters="a perm conjugate name")
def transposed(call: Call, run: Run) -> Value:
    """Dimensions in another order."""
    value, given = call.value(call.signature[0]), call.value(call.signature[1])
    axes = () if given is None or (isinstance(given, Const) and given.value is None) else axes_of(given)
    return result(call, value, transpose(shaped(value), axes), typed(value))


@function("tf.stack", parameters="values axis name")
def stacked(call: Call, run: Run) -> Value:
    """Tensors side by side along a new dimension."""
    parts, count = listed(call.value(call.signature[0]), run)
    axis = axis_of(call, 0)
    if not parts or axis is None:
        return Unknown()
    return result(call, parts[0], stack(shaped(parts[0]), count, axis), typed(parts[0]), joined_tags(parts))


@function("tf.concat", parameters="values axis name")
def concatenated(call: Call, run: Run) -> Value:
    """Tensors one after another along a dimension they have."""
    parts, count = listed(call.value(call.signature[0]), run)
    axis = axis_of(call, -1)
    if not parts or axis is None:
        return Unknown()
    several = count is not None and len(parts) == count.value
    shapes = [shaped(part) for part in parts]
    shape = concatenate(shapes, axis) if several else None
    return result(call, parts[0], shape, typed(parts[0]), joined_tags(parts))


def listed(value: Value | None, run: Run) -> tuple[list[Value], Dim]:
    """The members of a list of tensors (or one for all of them), and how many they are."""
    value = deref(value) if value is not None else None
    if not isinstance(value, Sequence):
        known = as_tensor(value)
        return ([] if known is None else [known]), None
    if value.items is not None:
        return [deref(item) for item in value.items], derived(len(value.items))
    return [value.any], value.count


def joined_tags(parts: list[Value]) -> frozenset[str]:
    """The tags of several tensors together."""
    return frozenset().union(*(tags_of(part) for part in parts))


@function("tf.unstack", parameters="value num axis name")
def unstacked(call: Call, run: Run) -> Value:
    """A list of the parts."""
    value, axis = call.value("value"), axis_of(call, 0)
    shape = shaped(value)
    if shape is None or axis is None or not -len(shape) <= axis < len(shape):
        return Sequence("list", element=result(call, value, None, typed(value)))
    axis %= len(shape)
    part = result(call, value, (*shape[:axis], *shape[axis + 1 :]), typed(value))
    many = number(shape[axis])
    if many is not None and many <= 64:
        return Sequence("list", items=[part] * many)
    return Sequence("list", element=part, count=shape[axis])


@function("tf.split", parameters="value num_or_size_splits axis num name")
def split(call: Call, run: Run) -> Value:
    """A list of equal parts, or of parts of given lengths."""
    value, axis, given = call.value("value"), axis_of(call, 0), call.value("num_or_size_splits")
    shape, many = shaped(value), number(given)
    if shape is not None and axis is not None and -len(shape) <= axis < len(shape) and many and many <= 64:
        axis %= len(shape)
        size = number(shape[axis])
        part: Dim = derived(size // many, shape[axis]) if size is not None and size % many == 0 else None
        one = result(call, value, (*shape[:axis], part, *shape[axis + 1 :]), typed(value))
        return Sequence("list", items=[one] * many)
    return Sequence("list", element=result(call, value, None, typed(value)))


@function("tf.tile", parameters="input multiples name")
def tiled(call: Call, run: Run) -> Value:
    """Several times over along each dimension."""
    value, times = call.value("input"), shape_of(call.value("multiples"))
    shape = shaped(value)
    known = shape is not None and times is not None and len(shape) == len(times)
    grown = (
        tuple(scale(dim, by) for dim, by in zip(shape or (), times or (), strict=False)) if known else None
    )
    return result(call, value, grown, typed(value))


@function("tf.repeat", parameters="input repeats axis name")
def repeated(call: Call, run: Run) -> Value:
    """Each member several times."""
    value, axis, times = call.value("input"), axis_of(call, 0), shape_of(call.value("repeats"))
    shape = shaped(value)
    if shape is None or axis is None or call.argument("axis") is None or times is None or len(times) != 1:
        return result(call, value, None, typed(value))
    axis %= len(shape)
    return result(
        call, value, (*shape[:axis], scale(shape[axis], times[0]), *shape[axis + 1 :]), typed(value)
    )


@function("tf.pad", parameters="tensor paddings mode constant_values name")
def padded(call: Call, run: Run) -> Value:
    """Longer at both ends of each dimension."""
    value, given = call.value("tensor"), call.value("paddings")
    shape, grown = shaped(value), []
    if (
        shape is None
        or not isinstance(given, Sequence)
        or given.items is None
        or len(given.items) != len(shape)
    ):
        return result(call, value, None, typed(value))
    for dim, pair in zip(shape, given.items, strict=True):
        ends = shape_of(pair)
        whole = [number(part) for part in (dim, *(ends or (None,)))]
        grown.append(
            derived(sum(part or 0 for part in whole), dim, *(ends or ())) if None not in whole else None
        )
    return result(call, value, tuple(grown), typed(value))


@function("tf.slice", parameters="input_ begin size name")
def cut(call: Call, run: Run) -> Value:
    """A part of given size; -1 is the rest."""
    value, begin, size = call.value("input_"), shape_of(call.value("begin")), shape_of(call.value("size"))
    shape = shaped(value)
    if size is None:
        return result(call, value, None, typed(value))
    dims: list[Dim] = []
    for at, dim in enumerate(size):
        rest = (number(dimension_at(shape, at)), number(dimension_at(begin, at)))
        if dim is not None and dim.value == -1:
            dims.append(
                derived(rest[0] - rest[1], dim) if rest[0] is not None and rest[1] is not None else None
            )
        else:
            dims.append(dim)
    return result(call, value, tuple(dims), typed(value))


@function("tf.broadcast_to", parameters="input shape name")
def broadcast_to(call: Call, run: Run) -> Value:
    """The shape that is asked for."""
    value = call.value("input")
    return result(call, value, static(call.value("shape")), typed(value))


@function("tf.gather", parameters="params indices validate_indices axis batch_dims name")
def gather(call: Call, run: Run) -> Value:
    """Some of the rows."""
    value, axis, picked = call.value("params"), axis_of(call, 0), shaped(call.value("indices"))
    shape = shaped(value)
    if shape is None or axis is None or picked is None or not -len(shape) <= axis < len(shape):
        return result(call, value, None, typed(value))
    if call.argument("batch_dims") is not None:
        return result(call, value, None, typed(value))
    axis %= len(shape)
    return result(call, value, (*shape[:axis], *picked, *shape[axis + 1 :]), typed(value))


@function("tf.boolean_mask", parameters="tensor mask axis name")
def boolean_mask(call: Call, run: Run) -> Value:
    """The rows for which the mask is true: nobody knows how many."""
    value, mask = call.value("tensor"), shaped(call.value("mask"))
    shape = shaped(value)
    rest = None if shape is None or mask is None else (None, *shape[len(mask) :])
    return result(call, value, rest, typed(value))
