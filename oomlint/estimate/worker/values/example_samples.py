"""A sample such as a program's models take, by the layers that its text names: nothing of these is made yet."""

from __future__ import annotations

import re

IMAGE = "224,224,3"

_OF_IMAGES = re.compile(
    r"\b(?:\w*Conv(?:olution)?2D\w*|\w*Pool(?:ing)?2D|UpSampling2D|ZeroPadding2D|ConvLSTM2D|Random(?:Flip|Crop|Rotation|Zoom)"
    r"|applications|conv2d\w*|Conv3D|image\w*|img\w*|pixels?)\b",
    re.IGNORECASE,
)
_OF_SEQUENCES = re.compile(
    r"\b(?:LSTM|GRU|SimpleRNN|RNN|Conv(?:olution)?1D|\w*Pooling1D|MultiHeadAttention)\b"
)
_OF_VECTORS = re.compile(r"\b(?:Dense|Embedding)\b")


def of_layers(text: str) -> str:
    """As `--input-shape` takes it: an image's unless the text names layers, and none of these takes images."""
    if _OF_IMAGES.search(text) is not None:
        return IMAGE
    if "Embedding(" not in text and _OF_SEQUENCES.search(text) is not None:
        return "128,16"
    return "128" if _OF_VECTORS.search(text) is not None else IMAGE
