"""Shape arithmetic. A shape is a tuple of dimensions; a dimension, or a whole shape, may be unknown (None).

Nothing here knows a library: NumPy, TensorFlow and Keras reshape, slice, stack and broadcast alike.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from oomlint.dryrun.values.base import Const, Sequence, Value, deref, merge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oomlint.dryrun.values.arrays import Dim, Shape


def number(value: Value | None) -> int | None:
    """The integer that a value is, if it is one (True and False are none)."""
    value = deref(value) if value is not None else None
    if isinstance(value, Const) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return value.value
    return None


def steps_of(numbers: range) -> int:
    """How many numbers there are; `len` takes no more than a machine word (seed 909218 of the mutated fixtures)."""
    return (numbers[-1] - numbers[0]) // numbers.step + 1 if numbers else 0


def refined(first: Shape | None, second: Shape | None) -> Shape | None:
    """Two statements about one shape, put together; where they differ the second counts."""
    if first is None or second is None or len(first) != len(second):
        return second if second is not None else first
    return tuple(two if two is not None else one for one, two in zip(first, second, strict=True))


def dim_of(value: Value | None) -> Dim:
    """The dimension that a value stands for."""
    value = deref(value) if value is not None else None
    return value if isinstance(value, Const) and number(value) is not None else None


def derived(count: int, *sources: Dim) -> Const:
    """A dimension computed from others, with the ways they came."""
    given = [source for source in sources if source is not None]
    return Const(count, merge(*(source.trail for source in given)), any(source.soft for source in given))


def shape_of(value: Value | None) -> Shape | None:
    """The shape that an argument gives: a number, or a tuple or list of numbers."""
    value = deref(value) if value is not None else None
    if number(value) is not None:
        return (dim_of(value),)
    if isinstance(value, Sequence):
        if value.items is not None:
            return tuple(dim_of(item) for item in value.items)
        rank = number(value.count)
        return None if rank is None or rank > 16 else (dim_of(value.element),) * rank
    return None


def axes_of(value: Value | None) -> tuple[int, ...] | None:
    """Axis numbers given as one number or a tuple of them; None where they are not known."""
    shape = shape_of(value)
    axes = [number(dim) for dim in shape or ()]
    return None if shape is None or None in axes else tuple(axis for axis in axes if axis is not None)


def known(shape: Shape | None) -> list[int] | None:
    """The dimensions as numbers, if all are known."""
    sizes = [number(dim) for dim in shape or ()]
    return None if shape is None or None in sizes else [size for size in sizes if size is not None]


def total(shape: Shape | None) -> Dim:
    """The number of elements."""
    sizes = known(shape)
    return None if sizes is None or shape is None else derived(prod(sizes), *shape)


def broadcast(*shapes: Shape | None) -> Shape | None:
    """The shape of an operation on operands of these shapes."""
    if not shapes or None in shapes:
        return None
    every = [shape for shape in shapes if shape is not None]
    rank = max(len(shape) for shape in every)
    result: list[Dim] = []
    for axis in range(-rank, 0):
        dims = [shape[axis] for shape in every if len(shape) >= -axis]
        wide = [dim for dim in dims if dim is not None and dim.value != 1]
        ones = [dim for dim in dims if dim is not None and dim.value == 1]
        if wide:
            result.append(wide[0])
        else:  # an unknown one may be anything, with a 1 beside it too
            result.append(ones[0] if len(ones) == len(dims) else None)
    return tuple(result)


def reshape(shape: Shape | None, target: Shape | None) -> Shape | None:
    """The shape after `reshape(target)`: one -1 is worked out."""
    if target is None:
        return None
    holes = [axis for axis, dim in enumerate(target) if dim is not None and dim.value == -1]
    if not holes:
        return target
    rest = known(tuple(dim for axis, dim in enumerate(target) if axis not in holes))
    elements = total(shape)
    missing: Dim = None
    if len(holes) == 1 and rest is not None and elements is not None and shape is not None:
        if prod(rest) and elements.value % prod(rest) == 0:
            missing = derived(elements.value // prod(rest), *shape)
    return tuple(missing if axis in holes else dim for axis, dim in enumerate(target))


def transpose(shape: Shape | None, axes: tuple[int, ...] | None) -> Shape | None:
    """The shape with its dimensions in another order (reversed where `axes` is empty)."""
    if shape is None or axes is None:
        return None
    if not axes:
        return shape[::-1]
    rank = len(shape)
    if len(axes) != rank or any(not -rank <= axis < rank for axis in axes):
        return None
    return tuple(shape[axis] for axis in axes)


def expand(shape: Shape | None, axes: tuple[int, ...] | None) -> Shape | None:
    """The shape with new dimensions of 1 at these positions of the result."""
    if shape is None or axes is None:
        return None
    rank = len(shape) + len(axes)
    places = {axis + rank if axis < 0 else axis for axis in axes}
    old = iter(shape)
    return tuple(Const(1) if axis in places else next(old, None) for axis in range(rank))


def squeeze(shape: Shape | None, axes: tuple[int, ...] | None) -> Shape | None:
    """The shape without these dimensions, or without all that are 1."""
    if shape is None:
        return None
    if axes is not None:
        gone = {axis % len(shape) for axis in axes if shape}
        return tuple(dim for axis, dim in enumerate(shape) if axis not in gone)
    if any(dim is None for dim in shape):
        return None
    return tuple(dim for dim in shape if dim is not None and dim.value != 1)


def reduce(shape: Shape | None, axes: tuple[int, ...] | None, keep: bool = False) -> Shape | None:
    """The shape after a reduction over these axes."""
    if shape is None or axes is None:
        return None
    if not shape:
        return shape
    gone = {axis % len(shape) for axis in axes}
    if keep:
        return tuple(Const(1) if axis in gone else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in gone)


def add_dims(dims: Iterable[Dim]) -> Dim:
    """The sum of dimensions; unknown if one is."""
    dims = list(dims)
    sizes = known(tuple(dims))
    return None if sizes is None else derived(sum(sizes), *dims)


def scale(dim: Dim, factor: Dim) -> Dim:
    """A dimension taken some times over."""
    if dim is None or factor is None:
        return None
    return derived(dim.value * factor.value, dim, factor)


def concatenate(shapes: list[Shape | None], axis: int, repeats: Dim = None) -> Shape | None:
    """The shape of arrays joined along an axis. One shape and `repeats` stand for that many equal ones."""
    ranks = {len(shape) for shape in shapes if shape is not None}
    if len(ranks) != 1 or not shapes:
        return None
    rank = ranks.pop()
    if not -rank <= axis < rank:
        return None
    axis %= rank
    every: list[Shape] = [shape if shape is not None else (None,) * rank for shape in shapes]
    result = [next((shape[at] for shape in every if shape[at] is not None), None) for at in range(rank)]
    along = add_dims(shape[axis] for shape in every)
    result[axis] = along if repeats is None else scale(every[0][axis], repeats)
    return tuple(result)


def stack(shape: Shape | None, count: Dim, axis: int) -> Shape | None:
    """The shape of `count` arrays of one shape, stacked along a new axis."""
    if shape is None:
        return None
    at = axis + len(shape) + 1 if axis < 0 else axis
    return (*shape[:at], count, *shape[at:])


def dimension_at(shape: Shape | None, axis: int) -> Dim:
    """One dimension of a shape, if there is one."""
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    return shape[axis]


def with_dim(shape: Shape | None, axis: int, dim: Dim) -> Shape | None:
    """The shape with one dimension replaced."""
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    return (*shape[:axis], dim, *shape[axis + 1 :])


def einsum_shape(text: object, shapes: list[Shape | None]) -> Shape | None:
    """What `einsum("btd,dv->btv", ...)` gives, where the letters and all shapes tell."""
    if not isinstance(text, str) or "->" not in text or "." in text:
        return None
    inputs, _, output = text.replace(" ", "").partition("->")
    sizes: dict[str, Dim] = {}
    for letters, shape in zip(inputs.split(","), shapes):
        if shape is None or len(shape) != len(letters):
            return None
        sizes.update((letter, dim) for letter, dim in zip(letters, shape) if dim is not None)
    return tuple(sizes.get(letter) for letter in output)
