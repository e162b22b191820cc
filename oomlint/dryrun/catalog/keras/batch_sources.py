"""`keras.utils.PyDataset` and `Sequence`: objects of the program that give Keras a batch by its number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun import objects
from oomlint.dryrun.catalog.registry import facet, method, signature
from oomlint.dryrun.values.base import NONE, Const, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.program import Function, Instance, Method

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

signature("multiprocessing.set_start_method multiprocessing.get_context", "method force")


@dataclass(slots=True, eq=False)
class BatchSource(Value):
    """What the library's class makes of the program's object.

    `made_by` is the call of the library's `__init__`, with the workers and the queue in its arguments; `item` the
    program's `__getitem__`, whose result is a batch.
    """

    api: ClassVar[str] = "keras.utils.PyDataset"
    made_by: Call | None = None
    item: Function | None = None
    attributes: dict[str, Value] = field(default_factory=dict)


@facet("keras.utils.PyDataset", "keras.utils.Sequence")
def batch_source(instance: Instance, base: str, run: Run) -> Value:
    """An object of the program's own subclass."""
    own = objects.class_attribute(run, instance, "__getitem__")
    return BatchSource(item=own.function if isinstance(own, Method) else None)


def as_batches(data: Value | None, call: Call, run: Run) -> Value | None:
    """The batches of a program's object, as many as its `__len__` says; other data as it is."""
    if not isinstance(data, Instance) or not isinstance(data.facet, BatchSource):
        return data
    item, length = (run.attribute(data, name, call.place) for name in ("__getitem__", "__len__"))
    if not isinstance(item, Method):
        return data
    element = deref(run.call(item, [Unknown(type="int")], call))
    count = deref(run.call(length, [], call)) if isinstance(length, Method) else None
    return Dataset(element, count=count if isinstance(count, Const) else None)


@method(BatchSource, "__init__", parameters="workers use_multiprocessing max_queue_size")
def initialise(call: Call, run: Run) -> Value:
    """`super().__init__(workers=..., ...)`: Keras 3 keeps the numbers here."""
    source = call.receiver
    assert isinstance(source, BatchSource)
    source.made_by = call
    return NONE


@method(BatchSource, "on_epoch_end", "on_epoch_begin")
def hook(call: Call, run: Run) -> Value:
    """Does nothing unless the program says so."""
    return NONE
