"""`tf.Variable` and what is assigned to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import function, method
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Step, Unknown, Value

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@function(
    "tf.Variable",
    "keras.Variable",
    "keras.backend.variable",
    parameters="initial_value trainable validate_shape caching_device name variable_def dtype",
)
def make_variable(call: Call, run: Run) -> Value:
    """A variable of the shape of its first value."""
    value = call.value("initial_value")
    dtype = call.value("dtype")
    named = getattr(dtype, "name", None) if dtype is not None else None
    kind = (
        named.rpartition(".")[2]
        if isinstance(named, str)
        else call.const("dtype")
        if dtype is not None
        else None
    )
    step = Step(call.name, call.place)
    if isinstance(value, Array):
        return Array("variable", value.shape, kind or value.dtype, step)
    if isinstance(value, Const) and isinstance(value.value, int | float):
        whole = isinstance(value.value, int) and not isinstance(value.value, bool)
        return Array("variable", (), kind or ("int32" if whole else "float32"), step)
    return Array("variable", None, kind, step)


@method(Array, "assign", "assign_add", "assign_sub", "assign_mul", parameters="value")
def assign(call: Call, run: Run) -> Value:
    """The variable itself, so that assignments chain."""
    return call.receiver or Unknown()
