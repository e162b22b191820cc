"""Prints the table in `oomlint/dryrun/catalog/keras/application_activations.py`.

Walks each architecture of keras.applications, built without its classifier, and adds up the tensors that the
backward pass needs, each once, by the rules of `oomlint/dryrun/queries/saved_activations.py`:

    python benchmarks/application_activations.py [NAME ...]
"""

from __future__ import annotations

import gc
import os
import sys
from math import prod
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tensorflow import keras

from oomlint.dryrun.catalog.keras.applications import TABLE
from oomlint.dryrun.queries.saved_activations import (
    BY_INPUT,
    BY_OUTPUT,
    LAYERS_BY_INPUT,
    LAYERS_BY_OUTPUT,
    NEEDS_INPUT,
)


def saved(model: Any) -> int:
    """Elements that wait for the backward pass, for one sample."""
    kept: dict[int, int] = {}
    batches = {id(tensor) for tensor in model.inputs}
    for operation in model.operations:
        name = type(operation).__name__
        if name == "InputLayer":
            continue
        kind = getattr(getattr(operation, "activation", None), "__name__", "").lower()
        inner = name not in ("Activation", *LAYERS_BY_OUTPUT, *LAYERS_BY_INPUT)
        node = operation._inbound_nodes[0]
        needed = []
        if name in NEEDS_INPUT or name in LAYERS_BY_INPUT or (kind in BY_INPUT and not inner):
            needed += node.input_tensors[:1]
        if name in LAYERS_BY_OUTPUT or kind in BY_OUTPUT or (kind in BY_INPUT and inner):
            needed += node.output_tensors
        for tensor in needed:
            if id(tensor) not in batches:
                kept[id(tensor)] = prod(tensor.shape[1:])
    return sum(kept.values())


def main() -> None:
    """One row for each architecture."""
    for name in sys.argv[1:] or list(TABLE):
        side = TABLE[name].size or 224
        model = getattr(keras.applications, name)(
            weights=None, include_top=False, input_shape=(side, side, 3)
        )
        print(f'    "{name}": ({side}, {saved(model):_}),', flush=True)
        keras.backend.clear_session()
        del model
        gc.collect()


if __name__ == "__main__":
    main()
