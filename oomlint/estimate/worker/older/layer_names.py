"""Names that Keras gives layers by itself: counted anew for each model that is made, as in a process of its own.

`get_layer("add_19")` means a layer by how many there were before. Keras before 2.4 called the first one `add_1`
(keras/engine/base_layer.py, `K.get_uid(prefix)`); tf.keras, and all later ones, call it `add`.
"""

from __future__ import annotations

import collections
import re
from importlib import import_module

from oomlint.estimate.worker.keras import generation

# What only scripts of that age have: modules that went in Keras 2.4, and what trained from a generator till then.
_BEFORE_2_4 = re.compile(
    r"keras\.layers\.(?:advanced_activations|normalization|convolutional|pooling|core|recurrent|embeddings|merge|noise)\b"
    r"|keras\.backend\.tensorflow_backend|keras\.utils\.(?:np_utils|training_utils|layer_utils)"
    r"|\.(?:fit|evaluate|predict)_generator\("
)


def is_counted_from_one(text: str) -> bool:
    """Whether the program's text, which imports a `keras` that is not Keras 3, is of one before 2.4."""
    return _BEFORE_2_4.search(text) is not None


class _FromOne(collections.defaultdict[str, int]):
    """Counters that say of each name that it was given before."""

    def __init__(self) -> None:
        super().__init__(lambda: 1)

    def __contains__(self, key: object) -> bool:
        return True


def count_anew(from_one: bool) -> None:
    """Begin to count."""
    for keras in generation.present():
        if hasattr(keras, "config"):  # Keras 3
            state = import_module("keras.src.backend.common.global_state")
            counters = _FromOne() if from_one else collections.defaultdict(int)
            state.set_global_attribute("object_name_uids", counters)
        else:
            keras.backend.reset_uids()
