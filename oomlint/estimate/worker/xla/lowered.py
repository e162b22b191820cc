"""A step ready for the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Program:
    """MLIR in StableHLO, as text or bytecode.

    `inputs` are the bytes of the batch and of tensors that the model holds; `captured` those of variables that the step
    uses and that are neither the model's nor its optimizer's (a second optimizer's slots).
    """

    module: bytes
    origin: Literal["jax", "tensorflow"]
    inputs: int
    captured: int = 0
