"""What an estimate says. The keys of its JSON are a promise to scripts; all amounts are bytes."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Literal

# In the order in which reports show them.
PARTS = ("weights", "optimizer_state", "gradients", "activations", "temporaries", "input")

# How assumptions begin that stand in for what the script would have said.
ASSUMED_BATCH = "batch size "
ASSUMED_OPTIMIZER = "optimizer "

Verdict = Literal["fits", "tight", "does-not-fit"]
Certainty = Literal["exact", "estimated", "assumed"]


@dataclass(frozen=True, slots=True)
class LayerShare:
    """A layer's part: what it keeps until the backward pass, and its parameters (a count)."""

    name: str
    class_name: str
    output_shape: tuple[int | None, ...] | None
    parameters: int
    saved_bytes: int


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change to the training, estimated anew: what the peak then is, what that saves, and what it costs."""

    change: str
    peak_bytes: int
    saved_bytes: int
    max_batch: int | None
    cost: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """The answer to a `Request`.

    `parts` add up to `peak_bytes`, which is one replica's. `certainty` says for each part how it is known.
    `outside_pool` is memory that TensorFlow's allocator does not see (the CUDA context and the like).
    `instead` says what of the script was not followed and what was estimated in its place, where that is not its own
    step; these are the first of the `assumptions` as well. `timeline` is the step in order of execution: the
    operation or layer, and the bytes alive while it runs.
    """

    target: str
    engine: Literal["graph", "xla"]
    program: Literal["xla", "graph", "eager"]
    reason: str
    backend: str
    batch_size: int
    replicas: int
    optimizer: str | None
    policy: str
    gpu: dict[str, Any]  # name, memory_bytes, usable_bytes
    peak_bytes: int
    range_bytes: tuple[int, int]
    parts: dict[str, int]
    certainty: dict[str, Certainty]
    outside_pool: dict[str, int]
    verdict: Verdict
    layers: tuple[LayerShare, ...] = ()
    timeline: tuple[tuple[str, int], ...] = ()
    peak_at: str = ""
    max_batch: dict[str, int] | None = None  # batch_size, peak_bytes
    what_if: tuple[Remedy, ...] = ()
    assumptions: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    seconds: float = 0.0
    resident_bytes: int = 0
    mode: str = "train"
    extra: dict[str, Any] = field(default_factory=dict)

    def to_json(self, indent: int | None = None) -> str:
        """As JSON text."""
        return json.dumps(dataclasses.asdict(self), indent=indent, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Estimate:
        """The estimate again."""
        content = json.loads(text)
        content["range_bytes"] = tuple(content["range_bytes"])
        content["layers"] = tuple(_layer(row) for row in content["layers"])
        content["timeline"] = tuple((name, size) for name, size in content["timeline"])
        content["what_if"] = tuple(Remedy(**row) for row in content["what_if"])
        content["assumptions"] = tuple(content["assumptions"])
        content["instead"] = tuple(content.get("instead", ()))  # records of before have none
        return cls(**content)


def _layer(row: dict[str, Any]) -> LayerShare:
    shape = row.pop("output_shape")
    return LayerShare(output_shape=None if shape is None else tuple(shape), **row)
