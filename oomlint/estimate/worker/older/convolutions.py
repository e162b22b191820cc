"""Convolutions of Keras 2: `keras.utils.conv_utils`, and data with more sizes than a picture has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _normalize_tuple(value: Any, n: int, name: str = "", allow_zero: bool = False) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


def _normalize_padding(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _normalize_data_format(value: Any) -> str:
    import keras

    return str(value or keras.config.image_data_format()).lower()


def _output_length(
    length: int | None, kernel: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    if length is None:
        return None
    reach = (kernel - 1) * dilation + 1
    if padding == "valid":
        length = length - reach + 1
    elif padding == "full":
        length = length + reach - 1
    return (length + stride - 1) // stride


def _transposed_length(
    length: int | None,
    kernel: int,
    padding: str,
    output_padding: int | None = None,
    stride: int = 0,
    dilation: int = 1,
) -> int | None:
    """As `Conv2DTranspose` computes it."""
    if length is None:
        return None
    reach = (kernel - 1) * dilation + 1
    if output_padding is None:
        more = {"valid": max(reach - stride, 0), "full": -(stride + reach - 2)}.get(padding, 0)
        return length * stride + more
    pad = {"same": reach // 2, "valid": 0}.get(padding, reach - 1)
    return (length - 1) * stride + reach - 2 * pad + output_padding


CONVOLUTIONS = {
    "normalize_tuple": _normalize_tuple,
    "normalize_padding": _normalize_padding,
    "normalize_data_format": _normalize_data_format,
    "conv_output_length": _output_length,
    "deconv_output_length": _transposed_length,
    "deconv_length": _transposed_length,
}


def has_more_sizes(layer: Any, given: Any) -> bool:
    """Whether a convolution is called on a batch of several: Keras 2 went over all of them, Keras 3 does not."""
    plain = type(layer).__name__ in ("Conv1D", "Conv2D") and type(layer).__module__.startswith("keras.src.")
    sizes = getattr(given, "shape", ()) if plain else ()
    return plain and len(sizes) > layer.rank + 2 and None not in tuple(sizes)[1:]


def over_more_sizes(call: Callable[[Any], Any], layer: Any, given: Any) -> Any:
    """The same on all of them as one batch."""
    import keras

    inner = tuple(given.shape)[-(layer.rank + 1) :]
    before = tuple(given.shape)[1 : -(layer.rank + 1)]
    found = call(keras.ops.reshape(given, (-1, *inner)))
    return keras.ops.reshape(found, (-1, *before, *tuple(found.shape)[1:]))
