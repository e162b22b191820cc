"""Batches of one: what the text shows to have a single row, whatever its other dimensions are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Slice, Unknown, Value, deref

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Trace

MAX_DEPTH = 8
EXPANDS = frozenset(
    ["numpy.expand_dims", "tf.expand_dims", "keras.ops.expand_dims", "keras.backend.expand_dims"]
)
# Of a list with one item they make one row.
WRAPS = frozenset(
    """numpy.array numpy.asarray numpy.stack numpy.vstack tf.constant tf.convert_to_tensor tf.stack
    keras.ops.array keras.ops.convert_to_tensor keras.ops.stack""".split()
)
RESHAPES = frozenset(["numpy.reshape", "tf.reshape", "keras.ops.reshape", "array.reshape", "reshape"])
# The rows stay what they are.
THROUGH = frozenset(
    """tf.cast tf.identity tf.image.resize tf.image.convert_image_dtype keras.ops.cast array.astype astype array.numpy
    array.copy keras.ops.convert_to_numpy numpy.asarray numpy.array numpy.float32 numpy.ascontiguousarray
    tf.constant tf.convert_to_tensor""".split()
)


class SingleItems:
    """Answers for one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def holds(self, value: Value, depth: int = 0) -> bool:
        """Whether a batch has one row for certain; of several inputs each of them."""
        value = deref(value)
        if isinstance(value, Array) and value.shape:
            first = value.shape[0]
            return first is not None and first.value == 1
        if isinstance(value, Sequence):
            items = value.items or []
            return (
                bool(items)
                and all(isinstance(deref(item), Array | Unknown) for item in items)
                and all(self.holds(item, depth + 1) for item in items)
            )
        if not isinstance(value, Array | Unknown) or depth > MAX_DEPTH:
            return False
        item = self.trace.subscript(value)
        index = deref(item.arguments[1].value) if item is not None else getattr(value, "taken", None)
        if index is not None:
            return is_one_row(index)
        made = self.trace.maker(value)
        return made is not None and self._makes_one_row(made, depth)

    def _makes_one_row(self, made: Call, depth: int) -> bool:
        values = [deref(argument.value) for argument in made.arguments]
        first = values[0] if values else None
        if made.name in EXPANDS:
            axis = made.value("axis") or (values[1] if len(values) > 1 else None)
            return isinstance(axis, Const) and axis.value == 0
        if made.name in RESHAPES:
            own = made.name in ("reshape", "array.reshape")
            shape = first if own else (values[1] if len(values) > 1 else made.value("shape"))
            if isinstance(shape, Sequence):
                shape = deref(shape.items[0]) if shape.items else None
            return isinstance(shape, Const) and shape.value == 1
        if made.name in WRAPS and isinstance(first, Sequence):
            return (
                first.items is not None
                and len(first.items) == 1
                and not isinstance(deref(first.items[0]), Const)
            )
        if made.name.startswith("operator."):
            return any(self.holds(operand, depth + 1) for operand in values)
        if made.name in THROUGH or made.name.endswith(("preprocess_input", "astype")):
            inner = (
                first if first is not None and made.name not in ("astype", "array.astype") else made.receiver
            )
            return inner is not None and self.holds(inner, depth + 1)
        return False


def is_one_row(index: Value) -> bool:
    """`x[None]`, `x[np.newaxis, ...]`, `x[i:i+1]`, `x[-1:]`."""
    index = deref(index)
    if isinstance(index, Sequence):
        return bool(index.items) and is_one_row((index.items or [index])[0])
    if isinstance(index, Const):
        return index.value is None
    if not isinstance(index, Slice):
        return False
    start, stop = deref(index.start), deref(index.stop)
    if isinstance(start, Const) and isinstance(stop, Const):
        if stop.value is None:
            return bool(start.value == -1)
        return isinstance(stop.value, int) and stop.value - (start.value or 0) == 1
    added = stop.operation if isinstance(stop, Unknown) else None
    if added is None or added.name != "operator.add" or len(added.arguments) != 2:
        return False
    one, other = (deref(argument.value) for argument in added.arguments)
    return one is start and isinstance(other, Const) and bool(other.value == 1)
