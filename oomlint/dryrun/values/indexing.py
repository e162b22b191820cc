"""The shape of `x[key]`: numbers, slices, None, Ellipsis, integer and boolean arrays."""

from __future__ import annotations

from itertools import pairwise

from oomlint.dryrun.values.arrays import Array, Dim, Shape
from oomlint.dryrun.values.base import Const, Sequence, Slice, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.shapes import broadcast, derived, steps_of

# `paths[:16]` of unknown length is 16 or fewer: not the data set.
FEW = 4096
FEW_TAG = "few"
_AT_MOST = "few: "
_REST = -1  # the span of an Ellipsis: whatever dimensions the other keys leave


def is_window(part: Slice) -> bool:
    """Whether a slice is cut off on both sides by computed bounds: a batch, a shard, the slices around the middle one.

    A split that is most of the data keeps one end (`paths[:split]`).
    """
    bounds = [deref(bound) for bound in (part.start, part.stop)]
    fixed = [bound.value for bound in bounds if isinstance(bound, Const) and not bound.soft]
    return len(fixed) < 2 and not any(end is None or end == 0 for end in fixed)


def few_tags(part: Slice) -> frozenset[str]:
    """What a slice of a list of unknown length says of it: that it is a few, and how many where the text does."""
    stop = deref(part.stop)
    most = stop.value if isinstance(stop, Const) and isinstance(stop.value, int) else None
    if most is not None and 0 <= most <= FEW:
        return frozenset({FEW_TAG, f"{_AT_MOST}{most}"})
    return frozenset({FEW_TAG}) if is_window(part) else frozenset()


def few_tags_of(value: Value | None) -> frozenset[str]:
    """What a list says of itself in this, or an unknown one by the slice that was taken from it."""
    value = Unknown() if value is None else deref(value)
    taken = deref(value.taken) if isinstance(value, Unknown) and value.taken is not None else None
    own = few_tags(taken) if isinstance(taken, Slice) else frozenset()
    return own | {tag for tag in tags_of(value) if tag == FEW_TAG or tag.startswith(_AT_MOST)}


def most_of(tags: frozenset[str]) -> int | None:
    """How many a few are at most; None where the text does not say, as of a window."""
    said = [int(tag.removeprefix(_AT_MOST)) for tag in tags if tag.startswith(_AT_MOST)]
    return max(said, default=None)


def sliced(dim: Dim, part: Slice) -> Dim:
    """The length of `x[start:stop:step]` along a dimension of this length."""
    bounds = [deref(bound) for bound in (part.start, part.stop, part.step)]
    values = [bound.value for bound in bounds if isinstance(bound, Const)]
    if len(values) != 3 or values[2] == 0:
        return _window(dim, *bounds)
    if values[:2] == [None, None] and values[2] in (None, 1, -1):
        return dim
    if dim is None or dim.value < 0 or not all(value is None or isinstance(value, int) for value in values):
        return None
    given = [bound for bound in bounds if isinstance(bound, Const) and bound.value is not None]
    return derived(steps_of(range(*slice(*values).indices(dim.value))), dim, *given)


def _window(dim: Dim, start: Value, stop: Value, step: Value) -> Dim:
    """The length of `x[i : i + n]`, `x[i - n : i]` and `x[i * n : (i + 1) * n]`; the last one may be shorter."""
    if step not in (Const(None), Const(1)):
        return None
    ends = [stop]
    if isinstance(stop, Unknown) and stop.operation is not None and stop.operation.name == "builtins.min":
        ends = [deref(argument.value) for argument in stop.operation.arguments]  # `min(i + n, len(x))`
    width = next((found for end in ends if (found := _added(start, end) or _next(start, end))), None)
    if width is None or not isinstance(width.value, int) or width.value < 1:
        return None
    return dim if dim is not None and dim.value < width.value else width


def _added(start: Value, stop: Value) -> Const | None:
    """n, where stop is start + n, or start is stop - n."""
    for one, name, other in ((start, "add", stop), (stop, "sub", start)):
        left, right = _operands(name, other)
        if name == "add" and isinstance(left, Const):
            left, right = right, left
        if isinstance(one, Unknown | Array) and isinstance(right, Const) and _same(left, one):
            return right
    return None


_ARITHMETIC = frozenset(f"operator.{name}" for name in ("add", "sub", "mul", "floordiv"))


def _same(one: Value, other: Value, depth: int = 4) -> bool:
    """Whether two numbers are the same one, be it computed twice: `x[i * n : i * n + n]`."""
    if one is other:
        return True
    if isinstance(one, Const) or isinstance(other, Const):
        return one == other
    first = one.operation if isinstance(one, Unknown) else None
    second = other.operation if isinstance(other, Unknown) else None
    if first is None or second is None or not depth:
        return False
    return (
        first.name == second.name
        and first.name in _ARITHMETIC
        and all(
            _same(deref(left.value), deref(right.value), depth - 1)
            for left, right in zip(first.arguments, second.arguments, strict=True)
        )
    )


def _next(start: Value, stop: Value) -> Const | None:
    """n, where start is i * n and stop (i + 1) * n."""
    first, second = _operands("mul", start), _operands("mul", stop)
    for one, times in (first, first[::-1]):
        for other, again in (second, second[::-1]):
            if isinstance(times, Const) and times == again and _added(one, other) == Const(1):
                return times
    return None


def _operands(name: str, value: Value) -> tuple[Value, Value]:
    made = value.operation if isinstance(value, Unknown) else None
    if made is None or made.name != f"operator.{name}":
        return Unknown(), Unknown()
    return deref(made.arguments[0].value), deref(made.arguments[1].value)


def keys_of(key: Value) -> list[Value]:
    """The single keys of a subscript."""
    key = deref(key)
    if isinstance(key, Sequence) and key.kind == "tuple" and key.items is not None:
        return [deref(item) for item in key.items]
    return [key]


def index(shape: Shape | None, key: Value) -> Shape | None:
    """The shape of `x[key]` for an x of this shape; None where it cannot be told."""
    if shape is None:
        return None
    keys = keys_of(key)
    spans = [_span(item) for item in keys]
    if None in spans or spans.count(_REST) > 1:
        return None
    takes = [span for span in spans if span is not None]
    left = len(shape) - sum(span for span in takes if span != _REST)
    if left < 0:
        return None
    if _REST not in takes:
        keys, takes = [*keys, Const(Ellipsis)], [*takes, _REST]
    fancy = any(isinstance(item, Array | Sequence) for item in keys)

    result: list[Dim] = []
    chosen: list[Shape] = []  # what the integer and boolean arrays (and numbers beside them) take out
    where: list[tuple[int, int]] = []  # their positions among the keys, and in the result
    at = 0
    for position, (item, span) in enumerate(zip(keys, takes, strict=True)):
        width = left if span == _REST else span
        match item:
            case Slice():
                result.append(sliced(shape[at], item))
            case Const(value=None):
                result.append(Const(1))
            case Const() if span == _REST:
                result.extend(shape[at : at + width])
            case Array() | Sequence():
                picked = _picked(item)
                if picked is None:
                    return None
                chosen.append(picked)
                where.append((position, len(result)))
            case _ if fancy:
                chosen.append(())
                where.append((position, len(result)))
        at += width
    if not chosen:
        return tuple(result)
    together = broadcast(*chosen)
    if together is None:
        return None
    # Arrays that stand next to each other leave their dimensions in place; else these come first.
    apart = any(two - one > 1 for (one, _), (two, _) in pairwise(where))
    first = 0 if apart else where[0][1]
    return (*result[:first], *together, *result[first:])


def _span(item: Value) -> int | None:
    """How many dimensions a key takes; None where that is not known."""
    match item:
        case Const(value=None):
            return 0
        case Const(value=value) if value is Ellipsis:
            return _REST
        case Const(value=bool()):
            return None
        case Const(value=int()) | Slice() | Sequence() | Unknown(type="int"):
            return 1
        case Array(dtype="bool", shape=shape):
            return None if shape is None else len(shape)
        case Array(library=library) if library != "h5py":
            return 1
    return None


def _picked(item: Array | Sequence) -> Shape | None:
    """The shape that an array of indices, or a mask, takes out."""
    if isinstance(item, Sequence):
        return (item.length,)
    return (None,) if item.dtype == "bool" else item.shape  # how many of a mask are true is not known
