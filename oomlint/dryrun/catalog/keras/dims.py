"""Shapes and layer configurations: the arithmetic that all Keras layers share.

A dimension is a constant with its trail, or None. What is computed from a dimension keeps that
dimension's trail, so a finding can say that 26 came from `IMAGE` and not only that it is 26.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oomlint.dryrun.values.base import Const, Sequence, Value, deref, merge
from oomlint.dryrun.values.shapes import dim_of, shape_of

if TYPE_CHECKING:
    from oomlint.dryrun.values.arrays import Dim, Shape


class _Unsure:
    """Stands for an argument that is given but not known (None is a value of its own)."""

    def __repr__(self) -> str:
        return "UNSURE"


UNSURE = _Unsure()


def plain(value: Value | None) -> Any:
    """The Python value of constants and of tuples and lists of them; UNSURE for all else."""
    value = None if value is None else deref(value)
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Sequence) and value.items is not None:
        items = tuple(plain(item) for item in value.items)
        return UNSURE if UNSURE in items else items
    return UNSURE


@dataclass(frozen=True, slots=True)
class Config:
    """The arguments of a layer's constructor or call. `partial`: there may be more that nobody can see."""

    values: Mapping[str, Value]
    partial: bool = False

    def get(self, name: str, default: Any = None) -> Any:
        """The Python value of an argument, its default if it is not given, or UNSURE."""
        if name in self.values:
            return plain(self.values[name])
        return UNSURE if self.partial else default

    def value(self, name: str) -> Value | None:
        """The abstract value of an argument, if given."""
        value = self.values.get(name)
        return None if value is None else deref(value)

    def dim(self, name: str, default: int | None = None) -> Dim:
        """An integer argument with its trail."""
        if name in self.values:
            return dim_of(self.values[name])
        return None if self.partial or default is None else Const(default)

    def flag(self, name: str, default: bool) -> bool | None:
        """A Boolean argument; None if it is not known."""
        got = self.get(name, default)
        return None if got is UNSURE else bool(got)

    def window(self, name: str, rank: int, default: int | None = 1) -> tuple[Dim, ...]:
        """One number per spatial dimension, from an integer or a tuple (`kernel_size`, `strides`)."""
        value = self.value(name)
        if value is None or (isinstance(value, Const) and value.value is None):
            known = default is not None and not self.partial
            return (Const(default) if known else None,) * rank
        if isinstance(value, Sequence):
            dims = shape_of(value)
            return dims if dims is not None and len(dims) == rank else (None,) * rank
        return (dim_of(value),) * rank

    def channels_first(self) -> bool | None:
        """Whether `data_format` puts the channels before the spatial dimensions."""
        got = self.get("data_format")
        return None if got is UNSURE else got == "channels_first"


@dataclass(frozen=True, slots=True)
class Built:
    """What a layer makes of its input: shapes and weights, None where they are not known.

    `outputs` is set for layers that give several tensors (`return_state=True`).
    """

    output: Shape | None = None
    weights: dict[str, Shape] | None = None
    outputs: tuple[Shape | None, ...] | None = None


# Weights that no optimizer touches.
NEVER_TRAINED = ("moving_mean", "moving_variance", "mean", "variance", "count", "vector_u")

Infer = Callable[[Config, "tuple[Shape | None, ...]", Config], Built]


@dataclass(frozen=True, slots=True)
class Kind:
    """A layer class: its parameters in order, and how it turns shapes into shapes."""

    name: str
    signature: tuple[str, ...]
    infer: Infer
    call: tuple[str, ...] = ("inputs",)


@dataclass(slots=True)
class Layers:
    """The layer classes known, by class name; older spellings are further names of one class."""

    kinds: dict[str, Kind] = field(default_factory=dict)

    def __call__(self, names: str, signature: str = "", call: str = "inputs") -> Callable[[Infer], Infer]:
        """Decorator: the function computes shapes and weights of these classes."""

        def register(infer: Infer) -> Infer:
            for name in names.split():
                self.kinds[name] = Kind(name, tuple(signature.split()), infer, tuple(call.split()))
            return infer

        return register


LAYERS = Layers()


def known(dim: Dim) -> int | None:
    """The number, where it is known and can be a size."""
    return dim.value if dim is not None and isinstance(dim.value, int) and dim.value >= 0 else None


def derived(number: int | None, *sources: Dim) -> Dim:
    """A number computed from dimensions; it keeps their trails."""
    if number is None or number < 0:
        return None
    return Const(number, merge(*(source.trail for source in sources if source is not None)))


def product(dims: Shape) -> Dim:
    """All dimensions multiplied; unknown if one is."""
    total = 1
    for dim in dims:
        number = known(dim)
        if number is None:
            return None
        total *= number
    return derived(total, *dims)


def total(*dims: Dim) -> Dim:
    """The sum of dimensions; unknown if one is."""
    numbers = [known(dim) for dim in dims]
    count = sum(number for number in numbers if number is not None)
    return None if None in numbers else derived(count, *dims)


def scaled(dim: Dim, factor: Dim | int) -> Dim:
    """A dimension times a factor."""
    return product((dim, Const(factor) if isinstance(factor, int) else factor))


def extent(dim: Dim, kernel: Dim, stride: Dim, padding: str | None, dilation: Dim = None) -> Dim:
    """Windows that fit into a dimension: the length after a convolution or pooling.

    With "same" and "causal" padding the kernel does not matter.
    """
    size, step = known(dim), known(stride)
    if size is None or not step or padding is None:
        return None
    if padding in ("same", "causal"):
        return derived(-(-size // step), dim)
    width, spread = known(kernel), 1 if dilation is None else known(dilation)
    if width is None or spread is None or padding != "valid":
        return None
    reach = spread * (width - 1) + 1
    return derived((size - reach) // step + 1, dim) if size >= reach else None


def split(shape: Shape, first: bool | None) -> tuple[Dim, Shape, Dim] | None:
    """Batch, spatial dimensions and channels of an image-like shape."""
    if first is None or len(shape) < 3:
        return None
    return (shape[0], shape[2:], shape[1]) if first else (shape[0], shape[1:-1], shape[-1])


def unite(batch: Dim, spatial: Shape, channels: Dim, first: bool | None) -> Shape:
    """The inverse of `split`."""
    return (batch, channels, *spatial) if first else (batch, *spatial, channels)


def elements(shape: Shape) -> int | None:
    """How many numbers a weight of that shape holds."""
    return known(product(shape))


def parameters(weights: dict[str, Shape] | None, trained_only: bool = False) -> int | None:
    """The sum over all weights; None if one of them is not known."""
    if weights is None:
        return None
    count = 0
    for name, shape in weights.items():
        if trained_only and name.rpartition("/")[2] in NEVER_TRAINED:
            continue
        number = elements(shape)
        if number is None:
            return None
        count += number
    return count


def prefixed(prefix: str, weights: dict[str, Shape] | None) -> dict[str, Shape] | None:
    """The weights of an inner layer under the outer layer's name."""
    return None if weights is None else {f"{prefix}/{name}": shape for name, shape in weights.items()}


def together(*parts: dict[str, Shape] | None) -> dict[str, Shape] | None:
    """The weights of several parts; not known if one part's are not."""
    united: dict[str, Shape] = {}
    for part in parts:
        if part is None:
            return None
        united.update(part)
    return united


def axis_of(axis: Any, rank: int) -> int | None:
    """A possibly negative axis as an index."""
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < rank:
        return None
    return axis % rank
