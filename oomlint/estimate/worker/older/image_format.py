"""Where a script has the channels of its images: `~/.keras/keras.json` said so for all, and is not at hand.

With the channels of another place each convolution and each pooling has another size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_FIRST = re.compile(
    r"(?:input_shape\s*=\s*|\bInput\(\s*(?:shape\s*=\s*)?)\(\s*[13]\s*,\s*(\w*[A-Za-z_]\w*|\d{2,})\s*,\s*(\w*[A-Za-z_]\w*|\d{2,})\s*\)"
)
_IMAGES = re.compile(r"\b(?:Conv2D|Convolution2D)\(")
_SAYS = re.compile(r"data_format|dim_ordering|\bPermute\(|channels_first")


@contextmanager
def image_format(keras: Any, text: str, assumptions: list[str]) -> Iterator[None]:
    """Inside, channels come first if the shapes of a script's images say so; afterwards it is as it was."""
    before = keras.backend.image_data_format()
    if _IMAGES.search(text) and _FIRST.search(text) and not _SAYS.search(text):
        keras.backend.set_image_data_format("channels_first")
        assumptions.append(
            "channels first, as the images' shape has them: the script does not say the format"
        )
    try:
        yield
    finally:
        keras.backend.set_image_data_format(before)
