"""Pixels into channels and back: `depth_to_space`, the end of most networks that enlarge pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.catalog.tensorflow.tensor_values import result
from oomlint.dryrun.catalog.tensorflow.tensors import shaped, typed
from oomlint.dryrun.values.shapes import derived, number

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call
    from oomlint.dryrun.values.arrays import Dim
    from oomlint.dryrun.values.base import Value


def _multiplied(dim: Dim, factor: int, wanted: bool) -> Dim:
    """A dimension times a factor, or divided by it."""
    size = number(dim)
    if size is None or (not wanted and size % factor):
        return None
    return derived(size * factor if wanted else size // factor, dim)


@function("tf.nn.depth_to_space", "tf.depth_to_space", parameters="input block_size data_format")
@function("tf.nn.space_to_depth", "tf.space_to_depth", parameters="input block_size data_format")
def rearranged(call: Call, run: Run) -> Value:
    """Blocks of pixels stand in the channels, or the other way round."""
    value, block = call.value("input"), call.const("block_size")
    shape, order = shaped(value), call.const("data_format", "NHWC")
    if (
        shape is None
        or len(shape) != 4
        or not isinstance(block, int)
        or block < 1
        or order not in ("NHWC", "NCHW")
    ):
        return result(call, value, None, typed(value))
    grow = call.name.endswith("depth_to_space")
    batch, *rest = shape
    channels = rest.pop(-1 if order == "NHWC" else 0)
    sides = [_multiplied(side, block, grow) for side in rest]
    depth = _multiplied(channels, block * block, not grow)
    after = (batch, *sides, depth) if order == "NHWC" else (batch, depth, *sides)
    return result(call, value, after, typed(value))
