"""TensorFlow 1: what a graph is made of before a session runs it."""

from __future__ import annotations

from typing import ClassVar

from oomlint.dryrun.values.base import Value
from oomlint.syntax.records import record


@record
class Symbol(Value):
    """A tensor or variable of a TF1 graph: a name for an operation, without a value. Each use of it adds more."""

    api: ClassVar[str] = "tf.Tensor"
