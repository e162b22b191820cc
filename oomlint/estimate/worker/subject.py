"""What the engines work on, and what they give back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from oomlint.estimate.request import Mode
from oomlint.estimate.result import Certainty, LayerShare


@dataclass(frozen=True, slots=True)
class Spec:
    """Shape, batch included and without unknowns, and dtype of a tensor that goes into the step."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(slots=True)
class Subject:
    """A compiled Keras model with built weights and optimizer slots, none of which need to be allocated.

    `data` is what `model.train_step` is handed: a nest of `Spec` of the form `(x,)`, `(x, y)` or
    `(x, y, sample_weight)`; with mode `predict`, `(x,)`. `outputs` are what the model gives for `x`, as symbolic
    tensors, where that was found out while it was built. `guessed` is for one of `others`.
    """

    model: Any
    data: tuple[Any, ...]
    mode: Mode = "train"
    assumptions: list[str] = field(default_factory=list)
    others: list[Subject] = field(default_factory=list)  # trained beside it: in turns, or in one step
    one_step: bool = False
    outputs: Any = None
    batch_guessed: int = 0  # the batch, where nothing says a loop's own
    guessed: str = ""  # in words: what its weights' sizes hang on and nothing says


def packed(parts: Any) -> Any:
    """The parts of a batch as `train_step` gets them: a lone input by itself (Keras' `pack_x_y_sample_weight`)."""
    return parts[0] if len(parts) == 1 and not isinstance(parts[0], list | tuple) else parts


@dataclass(slots=True)
class Footprint:
    """What an engine found: the parts (see `result.PARTS`) add up to `peak`, before anything is rounded for people."""

    peak: int
    parts: dict[str, int]
    certainty: dict[str, Certainty]
    layers: list[LayerShare] = field(default_factory=list)
    timeline: list[tuple[str, int]] = field(default_factory=list)
    peak_at: str = ""
    # Fractions of the peak by which the truth may lie lower or higher, from the engine's own comparison.
    lower: float = 0.0
    upper: float = 0.0
    outside_pool: dict[str, int] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
