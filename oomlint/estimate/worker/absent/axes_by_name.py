"""einops where it is not installed: axes that are rearranged, reduced and repeated by names for them.

Networks of patches are written with it, and what it does to a tensor follows from its pattern alone: the same reshape,
transpose and reshape as einops makes of it. `import einops`, its functions and its layers are what is there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from unittest.mock import patch

_ROOT = "einops"
_PIECES = re.compile(r"\(|\)|\.\.\.|\w+|…")
_FRAMEWORKS = ("tensorflow", "keras", "torch", "flax")

_NUMBERED = "#"
_INSIDE = "(...)"  # the three dots in parentheses: all of them one dimension
Groups = list[list[str]]  # of each dimension its axes, the outermost first


@contextmanager
def axes_by_name(keras: Any) -> Iterator[None]:
    """Inside, `einops` can be imported, unless it is installed. `keras` is the Keras that models are built with."""
    if _ROOT in sys.modules or find_spec(_ROOT) is not None:
        yield
        return
    with patch.dict(sys.modules, _modules(keras)):
        yield


def _modules(keras: Any) -> dict[str, ModuleType]:
    work = _Work(keras)
    root, layers = ModuleType(_ROOT), ModuleType(f"{_ROOT}.layers")
    modules = {_ROOT: root, layers.__name__: layers}
    functions = {"rearrange": work.rearrange, "reduce": work.reduce, "repeat": work.repeat}
    root.__dict__.update(functions | {"layers": layers})
    for name in _FRAMEWORKS:
        modules[f"{_ROOT}.layers.{name}"] = module = ModuleType(f"{_ROOT}.layers.{name}")
        module.__dict__.update(_layers(keras, work))
        setattr(layers, name, module)
    return modules


def _layers(keras: Any, work: _Work) -> dict[str, Any]:
    class Rearrange(keras.layers.Layer):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self, pattern: str, **sizes: int) -> None:
            super().__init__()
            self.pattern, self.sizes = pattern, sizes

        def call(self, inputs: Any) -> Any:
            return work.rearrange(inputs, self.pattern, **self.sizes)

    class Reduce(keras.layers.Layer):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self, pattern: str, reduction: str, **sizes: int) -> None:
            super().__init__()
            self.pattern, self.reduction, self.sizes = pattern, reduction, sizes

        def call(self, inputs: Any) -> Any:
            return work.reduce(inputs, self.pattern, self.reduction, **self.sizes)

    return {"Rearrange": Rearrange, "Reduce": Reduce}


class _Work:
    """einops' three functions, by the operations of a Keras, or of TensorFlow under Keras 2."""

    def __init__(self, keras: Any) -> None:
        self.operations = getattr(keras, "ops", None)

    def rearrange(self, tensor: Any, pattern: str, **sizes: int) -> Any:
        """Axes in another order, taken apart and put together."""
        return self._done(self._one(tensor), pattern, "", sizes)

    def reduce(self, tensor: Any, pattern: str, reduction: str, **sizes: int) -> Any:
        """The same, without the axes that the right side leaves out."""
        return self._done(self._one(tensor), pattern, reduction, sizes)

    def repeat(self, tensor: Any, pattern: str, **sizes: int) -> Any:
        """The same, with the axes that only the right side has."""
        return self._done(self._one(tensor), pattern, "", sizes)

    def _one(self, tensor: Any) -> Any:
        return self._called("stack", tensor) if isinstance(tensor, list | tuple) else tensor

    def _done(self, tensor: Any, pattern: str, reduction: str, sizes: dict[str, int]) -> Any:
        left, right = (_groups(side) for side in pattern.split("->"))
        more = len(tensor.shape) - len([one for one in left if one != ["..."]])
        left, right = _spread(left, more), _spread(right, more)
        known = self._sizes(tensor, left, dict(sizes))
        axes = [axis for group in left for axis in group]
        if any(len(group) != 1 for group in left):
            tensor = self._shaped(tensor, [known[axis] for axis in axes])
        wanted = [axis for group in right for axis in group]
        gone = [
            axis for axis in axes if axis not in wanted
        ]  # a size written on the left is never on the right
        if gone:
            places = tuple(axes.index(axis) for axis in gone)
            if reduction:
                tensor = self._called(reduction, tensor, axis=places)
            else:  # of size one
                tensor = self._shaped(tensor, [known[axis] for axis in axes if axis not in gone])
            axes = [axis for axis in axes if axis not in gone]
        order = [axes.index(axis) for axis in wanted if axis in axes]
        if order != sorted(order):
            tensor = self._called("transpose", tensor, order)
        for place, axis in enumerate(wanted):
            if axis not in axes:
                tensor = self._called("expand_dims", tensor, place)
                if _NUMBERED in axis:  # of size one
                    known[axis] = 1
                if known[axis] != 1:
                    tensor = self._called("repeat", tensor, known[axis], axis=place)
        if any(len(group) != 1 for group in right):
            tensor = self._shaped(tensor, [_product(known[axis] for axis in group) for group in right])
        return tensor

    def _sizes(self, tensor: Any, left: Groups, known: dict[str, Any]) -> dict[str, Any]:
        """The size of each axis: an integer, a tensor, or None where the batch is not known."""
        whole = self._shape(tensor)
        for group, size in zip(left, whole, strict=True):
            for axis in group:
                if _NUMBERED in axis:
                    known[axis] = int(axis.partition(_NUMBERED)[0])
            open_ones = [axis for axis in group if axis not in known]
            if len(open_ones) > 1:
                raise ValueError(f"einops: the sizes of {', '.join(open_ones)} are not known")
            for axis in open_ones:
                others = _product(known[one] for one in group if one != axis)
                known[axis] = size if size is None or others == 1 else size // others
        return known

    def _shape(self, tensor: Any) -> list[Any]:
        sizes = list(tensor.shape)
        tensorflow = sys.modules.get("tensorflow")
        if None in sizes and tensorflow is not None and tensorflow.is_tensor(tensor):
            dynamic = tensorflow.shape(tensor)
            return [dynamic[axis] if size is None else size for axis, size in enumerate(sizes)]
        return sizes

    def _shaped(self, tensor: Any, sizes: list[Any]) -> Any:
        return self._called("reshape", tensor, [-1 if size is None else size for size in sizes])

    def _called(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if self.operations is not None:
            return getattr(self.operations, name)(*args, **kwargs)
        import tensorflow

        found = getattr(tensorflow, f"reduce_{name}", None) or getattr(tensorflow, name)
        return found(*args, **kwargs)


def _groups(side: str) -> Groups:
    """`b (h 2) ...` as [["b"], ["h", "2#0"], ["..."]]: two axes of size 2 are two."""
    found: Groups = []
    inside = False
    for number, piece in enumerate(_PIECES.findall(side.replace("…", "..."))):
        piece = f"{piece}{_NUMBERED}{number}" if piece.isdigit() else piece
        if piece == "(":
            inside = True
            found.append([])
        elif piece == ")":
            inside = False
        elif inside:
            found[-1].append(_INSIDE if piece == "..." else piece)
        else:
            found.append([piece])
    return found


def _spread(side: Groups, more: int) -> Groups:
    """The same with as many axes in place of the three dots."""
    names = [f"...{number}" for number in range(max(0, more))]
    found: Groups = []
    for group in side:
        if group == ["..."]:
            found += [[name] for name in names]
        else:
            found.append([one for axis in group for one in (names if axis == _INSIDE else [axis])])
    return found


def _product(sizes: Iterator[Any]) -> Any:
    whole: Any = 1
    for size in sizes:
        if size is None:
            return None
        whole = size if isinstance(whole, int) and whole == 1 else whole * size
    return whole
