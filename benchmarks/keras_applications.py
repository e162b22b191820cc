"""Prints the rows of the table in `oomlint/dryrun/catalog/keras/applications.py`, and checks its spatial chains.

Builds every architecture of keras.applications on the CPU without pretrained weights (about ten minutes for all):

    python benchmarks/keras_applications.py [NAME ...]
"""

from __future__ import annotations

import gc
import os
import sys
from math import prod
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tensorflow import keras

from oomlint.dryrun.catalog.keras.applications import TABLE, Row, spatial

# Odd and even, and not all alike on both sides: the padding of some families depends on the parity of the input.
SIZES = ((75, 97), (128, 160), (201, 224), (299, 333), (150, 111))


def counts(model: Any) -> tuple[int, int]:
    """All weights and the trainable ones."""
    return model.count_params(), sum(prod(weight.shape) for weight in model.trainable_weights)


def measure(name: str) -> Row:
    """The row of one architecture."""
    build = getattr(keras.applications, name)
    bodies = {}
    for channels in (1, 3, 4):
        model = build(weights=None, include_top=False, input_shape=(96, 96, channels))
        bodies[channels] = counts(model)
        width = model.output_shape[-1]
    channel = (bodies[4][0] - bodies[1][0]) // 3
    assert bodies[1][0] + 2 * channel == bodies[3][0], f"{name}: not linear in the channels"
    heads = {}
    for classes in (10, 20):
        model = build(weights=None, include_top=True, classes=classes)
        heads[classes] = counts(model)[0]
        size = model.input_shape[1] or 0
    body, trained = bodies[3]
    features = (heads[20] - heads[10]) // 10 - 1
    top = heads[10] - 10 * (features + 1) - body
    chain = TABLE[name].chain
    if chain == "vgg":
        top = 0  # fc1 depends on the input size and is counted by the catalog itself
    return Row(chain, size, width, body, body - trained, channel, top, 0 if features == width else features)


def mismatches(name: str) -> list[str]:
    """Where the chain of a family does not give what a built model does."""
    build = getattr(keras.applications, name)
    wrong = []
    for height, width in SIZES:
        model = build(weights=None, include_top=False, input_shape=(height, width, 3))
        said = (spatial(name, height), spatial(name, width))
        if tuple(model.output_shape[1:3]) != said:
            wrong.append(f"{name} on {height} x {width}: {model.output_shape[1:3]}, the chain says {said}")
    return wrong


def main() -> int:
    names = sys.argv[1:] or list(TABLE)
    failed = 0
    for name in names:
        row = measure(name)
        wrong = mismatches(name)
        if row != TABLE[name]:
            wrong.append(f"{name}: the table says {TABLE[name]}")
        failed += len(wrong)
        print(f'    "{name}": {row},', *wrong, sep="\n", flush=True)
        keras.backend.clear_session()
        gc.collect()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
