"""Arrays and tensors: shape, dtype, where they live and what made them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.sizes import Factor, Size
from oomlint.dryrun.values.base import Const, Sequence, Step, Unknown, Value, merge
from oomlint.syntax.records import plain_record

if TYPE_CHECKING:
    from collections.abc import Iterable

# The tag of a tensor of a model's graph. An unknown that has it may be the output of layers that nobody saw.
SYMBOLIC = "symbolic"

Dim = Const | None
Shape = tuple[Dim, ...]

# Bytes per element. Strings have no fixed size; object arrays hold pointers to things not counted here.
ITEMSIZE: dict[str, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1,
    "uint64": 8, "uint32": 4, "uint16": 2, "uint8": 1,
    "bool": 1, "complex64": 8, "complex128": 16,
}  # fmt: skip


@plain_record
class Array(Value):
    """A NumPy array, tensor, symbolic Keras tensor, table or HDF5 data set.

    `library` is numpy, tensor (eager or in a tf.function or dataset), keras (symbolic), variable, pandas,
    h5py, sparse, memmap. `shape` is None where even the rank is unknown; a dimension is None where it is.
    `origin` is the call that decided shape and dtype. `tags` are facts that rules need
    (`path`, `label`, `image`, `loaded`, `random`, `slice-of-array`, ...); the catalog sets them.
    """

    api: ClassVar[str] = "array"
    library: str = "numpy"
    shape: Shape | None = None
    dtype: str | None = None
    origin: Step | None = None
    tags: frozenset[str] = frozenset()
    producer: Value | None = None  # keras: the Layer (and its inputs) behind a symbolic tensor

    @property
    def rank(self) -> int | None:
        """The number of dimensions, if known."""
        return None if self.shape is None else len(self.shape)

    @property
    def size(self) -> Size | None:
        """Bytes of the whole array; None unless every dimension and the dtype are known."""
        if self.shape is None or self.dtype not in ITEMSIZE or any(dim is None for dim in self.shape):
            return None
        dims = [dim for dim in self.shape if dim is not None]
        if not all(isinstance(dim.value, int) and dim.value >= 0 for dim in dims):
            return None
        total = ITEMSIZE[self.dtype]
        for dim in dims:
            total *= dim.value
        shape = ", ".join(f"{dim.value:,}" for dim in dims)
        text = f"({shape}{',' if len(dims) == 1 else ''}) {self.dtype}"
        if self.origin is not None:
            text += f" from {self.origin.text}"
        trail = merge((self.origin,) if self.origin else (), *(dim.trail for dim in dims))
        return Size(total, True, (Factor(total, text, trail, "B"),))


def shape_text(shape: Shape | None) -> str:
    """A shape as people write it; unknown dimensions are `None`."""
    if shape is None:
        return "(unknown rank)"
    dims = ", ".join("None" if dim is None else str(dim.value) for dim in shape)
    return f"({dims},)" if len(shape) == 1 else f"({dims})"


def _in_graph(value: Value) -> bool:
    if isinstance(value, Array):
        return value.library == "keras"
    return isinstance(value, Unknown) and SYMBOLIC in value.tags


def computed_from(result: Value, operands: Iterable[Value]) -> Value:
    """A symbolic tensor computed from several others remembers each, so that a model's graph can be walked back."""
    if not isinstance(result, Array) or result.library != "keras":
        return result
    leaves = [
        item
        for value in operands
        for item in (value.items or () if isinstance(value, Sequence) else (value,))
    ]
    sources = [leaf for leaf in leaves if _in_graph(leaf)]
    copied = any(isinstance(source, Array) and result.producer is source.producer for source in sources)
    if len(sources) < 2 or not copied:
        return result  # one source: its producer is the way back; a layer's output has its own
    return replace(result, producer=Sequence("tuple", items=list(sources)))
