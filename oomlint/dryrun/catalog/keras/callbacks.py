"""Callbacks: the parameters of Keras' own, where a rule asks for them, and what `fit` runs of the program's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import facet, signature
from oomlint.dryrun.values.base import Mapping, Opaque, Unknown, Value
from oomlint.dryrun.values.program import Instance, Method
from oomlint.dryrun.values.training import Model

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

HOOKS = tuple(
    """on_train_begin on_epoch_begin on_train_batch_begin on_train_batch_end on_batch_end on_epoch_end
    on_train_end""".split()
)

signature("keras.callbacks.TensorBoard", "log_dir histogram_freq write_graph write_images")


@facet("keras.callbacks.Callback")
def callback_facet(instance: Instance, base: str, run: Run) -> Value:
    """An object of the program's own callback class; Keras gives it its model."""
    return Opaque(base, None, {"model": Model()})


def run_callback(run: Run, callback: Value, model: Model, call: Call) -> None:
    """Run the hooks of one of them: an epoch or batch number, and logs of plain floats."""
    made = callback.made_by if isinstance(callback, Opaque) else None
    if made is not None and made.name == "keras.callbacks.LambdaCallback":
        for argument in made.arguments:
            if argument.name in HOOKS:
                run.call(argument.value, *_given(argument.name, call))
    if not isinstance(callback, Instance):
        return
    if isinstance(callback.facet, Opaque):
        callback.facet.attributes["model"] = model
    for name in HOOKS:
        own = run.attribute(callback, name, call.place)
        if isinstance(own, Method) and own.function is not None and not own.function.entered:
            run.call(own, *_given(name, call))


def _given(name: str, call: Call) -> tuple[list[Value], Call, str]:
    """What a hook is given, by which call and in which role: again and again, or once."""
    logs = Mapping(complete=False, other=Unknown(type="float"))
    if "train_begin" in name or "train_end" in name:
        return [logs], call, "callback-once"
    return [Unknown(type="int"), logs], call, "callback"
