"""Estimates made by hand, for tests of what is done with them."""

from __future__ import annotations

import dataclasses
from typing import Any

from oomlint.estimate.result import Estimate, LayerShare, Remedy
from oomlint.estimate.verdicts import range_of, verdict

MIB = 1 << 20
T4 = {"name": "T4", "memory_bytes": 15_360 * MIB, "usable_bytes": 13_584 * MIB}


def estimate(
    parts: dict[str, int] | None = None,
    *,
    error: tuple[float, float] = (0.02, 0.03),
    usable: int = 13_584 * MIB,
    **changes: Any,
) -> Estimate:
    """A ResNet50-like answer; `parts` in MiB."""
    mib = {
        "weights": 98,
        "optimizer_state": 196,
        "gradients": 98,
        "activations": 4_500,
        "temporaries": 150,
        "input": 37,
    }
    sizes = {name: size * MIB for name, size in {**mib, **(parts or {})}.items()}
    peak = sum(sizes.values())
    between = range_of(peak, *error)
    made = Estimate(
        target="train.py",
        engine="graph",
        program="xla",
        reason="Keras compiles the step with XLA: no layer objects",
        backend="tensorflow",
        batch_size=64,
        replicas=1,
        optimizer="adam",
        policy="float32",
        gpu={**T4, "usable_bytes": usable},
        peak_bytes=peak,
        range_bytes=between,
        parts=sizes,
        certainty=dict.fromkeys(sizes, "exact") | {"activations": "estimated", "temporaries": "estimated"},
        outside_pool={"CUDA context": 300 * MIB},
        verdict=verdict(between, usable),
    )
    return dataclasses.replace(made, **changes)


LAYERS = (
    LayerShare("input_layer", "InputLayer", (64, 224, 224, 3), 0, 0),
    LayerShare("conv1", "Conv2D", (None, 112, 112, 64), 9_472, 205_520_896),
    LayerShare("bn <1> & co", "BatchNormalization", (64, 112, 112, 64), 256, 411_041_792),
    LayerShare("predictions", "Dense", (64, 1000), 2_049_000, 256_000),
)

TIMELINE = tuple(
    [(f"forward/{index}", (500 + 45 * index) * MIB) for index in range(100)]
    + [("conv5_block3_out", 5_079 * MIB)]
    + [(f"backward/{index}", (5_000 - 45 * index) * MIB) for index in range(100)]
)

REMEDIES = (
    Remedy("mixed precision", 2_700 * MIB, 2_379 * MIB, 160, "needs loss scaling"),
    Remedy("SGD", 4_883 * MIB, 196 * MIB, None, "slower <to> converge"),
)
