"""`tf.function` in its forms: bare decorator, decorator with arguments, and a call on a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.values.base import Opaque, Unknown, Value
from oomlint.dryrun.values.program import Function, Method

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@function(
    "tf.function",
    parameters="func input_signature autograph jit_compile reduce_retracing experimental_implements",
)
def make_function(call: Call, run: Run) -> Value:
    """`tf.function(step)`, `tf.function(model.train_step)`, `@tf.function(jit_compile=True)`."""
    inner = call.value("func")
    if inner is None:
        return Opaque("tf.function", call)  # a decorator still to be applied
    target = inner.function if isinstance(inner, Method) else inner
    if isinstance(target, Function):
        target.flags.add("tf.function")
        return inner
    return inner if not isinstance(inner, Unknown) else Unknown(tags=inner.tags)
