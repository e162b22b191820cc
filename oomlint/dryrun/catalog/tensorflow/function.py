"""`tf.function` in its forms: bare decorator, decorator with arguments, and a call on a function."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.values.base import Opaque, Unknown, Value, deref
from oomlint.dryrun.values.program import Function, Method, Partial

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@function(
    "tf.function",
    "tf.contrib.eager.defun",
    "tf.contrib.eager.function",
    parameters="func input_signature autograph jit_compile reduce_retracing experimental_implements",
)
def make_function(call: Call, run: Run) -> Value:
    """`tf.function(step)`, `tf.function(model.train_step)`, `@tf.function(jit_compile=True)`.

    The function that was given goes on running eagerly under its own name.
    """
    inner = call.value("func")
    if inner is None:
        return Opaque("tf.function", call)  # a decorator still to be applied
    return traced(inner, call)


def traced(inner: Value, call: Call) -> Value:
    """What `tf.function` makes of a callable."""
    if isinstance(inner, Method) and isinstance(inner.function, Function):
        return replace(inner, function=_copy(inner.function, call))
    if isinstance(inner, Function):
        return _copy(inner, call)
    if isinstance(inner, Partial):  # `tf.function(partial(step, scale=0.5))`
        return replace(inner, function=traced(deref(inner.function), call))
    return inner if not isinstance(inner, Unknown) else Unknown(tags=inner.tags)


def _copy(plain: Function, call: Call) -> Function:
    wrapper = replace(plain, flags={*plain.flags, "tf.function"}, traced=call, plain=plain, wrapper=None)
    plain.wrapper = wrapper
    return wrapper
