"""JAX: `jit` leaves a function what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.values.base import Opaque, Unknown, Value, deref
from oomlint.dryrun.values.program import Function, Method, Partial

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@function("jax.jit", "jax.api.jit", "flax.nnx.jit", parameters="fun")
def jit(call: Call, run: Run) -> Value:
    """`jax.jit(step)`, or the decorator with its arguments."""
    given = deref(call.arguments[0].value) if call.arguments and call.arguments[0].name is None else None
    if given is None:
        return Opaque("jax.jit", call)
    return given if isinstance(given, Function | Method | Partial) else Unknown()
