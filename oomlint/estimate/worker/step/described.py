"""What `--data` says of arrays, made ready for the slice and for the shapes of a batch."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker.absent import stand_ins
from oomlint.estimate.worker.absent.stand_ins import Data
from oomlint.estimate.worker.subject import Spec
from oomlint.estimate.worker.values import roles

_USUAL = ("x", "y")


def prepared(request: Request) -> Request:
    """The request, with the shape of its one input as the data has it; the arrays are known by name from now on."""
    stand_ins.DESCRIBED.clear()
    stand_ins.OPEN.clear()
    stand_ins.DEFAULTS.clear()
    arrays = dict(request.data)
    if "data_file" in request.names:
        arrays = _of_file(Path(request.names["data_file"])) | arrays
    for name, about in arrays.items():
        shape = tuple(about["shape"])
        stand_ins.DESCRIBED[name] = Data(shape, about["dtype"], name, about["below"])
    x = roles.samples_of(stand_ins.DESCRIBED)
    if request.input_shape is None and x is not None and None not in x.sizes[1:] and len(x.sizes) > 1:
        return dataclasses.replace(request, input_shape=x.sizes[1:])
    return request


def inputs() -> list[Data]:
    """The arrays that are described and are neither labels nor weights nor anchors, in order."""
    others = (roles.is_labels, roles.is_weights, roles.is_anchors)
    return [one for name, one in stand_ins.DESCRIBED.items() if not any(is_(name) for is_ in others)]


def of_input(name: str, position: int, count: int) -> Data | None:
    """The array for one of a model's inputs: by its name, else by its place if there are as many."""
    if name in stand_ins.DESCRIBED:
        return stand_ins.DESCRIBED[name]
    arrays = inputs()
    return arrays[position] if len(arrays) == count else None


def whole(name: str, batch: int) -> Spec | None:
    """The array of that name as a batch of so many samples, where all of their sizes are given."""
    array = stand_ins.DESCRIBED.get(name)
    if array is None or None in array.sizes[1:]:
        return None
    return Spec((batch, *(int(size) for size in array.sizes[1:] if size is not None)), str(array.dtype))


def fitting(sample: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
    """The sizes of the first array that fits an input of which some are open."""
    for one in inputs():
        sizes = one.sizes[1:]
        if len(sizes) == len(sample) and all(
            old in (None, new) for old, new in zip(sample, sizes, strict=True)
        ):
            return sizes
    return None


def _of_file(path: Path) -> dict[str, dict[str, Any]]:
    """Shapes, dtypes and limits of a batch that was saved by NumPy."""
    import numpy

    try:
        loaded = numpy.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise EstimateError(f"--data {path.name} cannot be read: {error}", "target") from None
    if isinstance(loaded, numpy.ndarray):
        return {"x": _about(loaded)}
    names = list(loaded.files)
    usual = dict(zip(names, _USUAL, strict=False)) if names and all(map(_is_numbered, names)) else {}
    return {usual.get(name, name): _about(loaded[name]) for name in names}


def _is_numbered(name: str) -> bool:
    """`numpy.savez(file, x, y)` calls them so."""
    return name.startswith("arr_") and name[4:].isdigit()


def _about(array: Any) -> dict[str, Any]:
    counts = array.dtype.kind in "iu" and array.size
    return {
        "shape": [int(size) for size in array.shape],
        "dtype": str(array.dtype),
        "below": int(array.max()) + 1 if counts else None,
    }
