"""What is to be estimated: everything that crosses over to the child process."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Literal

Engine = Literal["auto", "graph", "xla"]
Jit = Literal["auto", "on", "off"]
Mode = Literal["train", "predict"]
Backend = Literal["auto", "tensorflow", "jax"]


@dataclass(frozen=True, slots=True)
class Request:
    """One question. What is None is taken from the script or the model, else from Keras' own defaults.

    `target` is as the user wrote it (see `targets.py`). `source` is the program that builds the model, where the
    target is a script: its slice, which binds the names that `names` lists. `arguments` are those of a
    function target. `data` describes arrays of the script by name (shape, dtype, and what their values are
    below). `input_shape` is one sample's, without the batch. `usable_bytes` is what TensorFlow can use on
    the GPU. `max_batch_if_over` asks for the largest batch only where the peak is more than that.

    Changes that what-if tries (see `worker/what_if/solve.py`); where one cannot be made, building says so with a
    BuildError:
    `accumulate_steps`: the optimizer gets `gradient_accumulation_steps`, and `batch_size` is a micro-batch.
    `remat`: the model is built in `keras.RematScope(mode="full")`.
    `input_scale`: the sides of the input (height and width, or the length of a sequence; not features or channels)
    are this many times as long, rounded to a multiple of 32 where the whole ones are.
    `frozen`: this share of the model's layers that have weights, from the input on, is not trainable.

    `fallback`: where the script's own step cannot be followed, its model with what is assumed
    (see `worker/tries/fallback.py`).
    """

    target: str
    source: str = ""
    names: dict[str, str] = dataclasses.field(default_factory=dict)
    arguments: dict[str, Any] = dataclasses.field(default_factory=dict)
    data: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    batch_size: int | None = None
    optimizer: str | None = None
    loss: str | None = None
    policy: str | None = None
    input_shape: tuple[int | None, ...] | None = None
    gpu: str = "T4"
    usable_bytes: int = 0
    replicas: int = 1
    jit: Jit = "auto"
    backend: Backend = "auto"
    engine: Engine = "auto"
    mode: Mode = "train"
    max_batch: bool = False
    max_batch_if_over: bool = False
    what_if: bool = False
    layers: bool = False
    accumulate_steps: int = 1
    remat: bool = False
    input_scale: float = 1.0
    frozen: float = 0.0
    fallback: bool = False

    def to_json(self) -> str:
        """As text for the child process."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Request:
        """The request again. Raises TypeError for keys that are none."""
        content = json.loads(text)
        shape = content.get("input_shape")
        content["input_shape"] = None if shape is None else tuple(shape)
        return cls(**content)
