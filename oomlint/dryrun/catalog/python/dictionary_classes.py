"""Classes of the program that are dictionaries: settings that are read as attributes, mostly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.python.builtin_functions import dict_
from oomlint.dryrun.catalog.registry import facet, method
from oomlint.dryrun.values.base import NONE, Mapping, Value

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call
    from oomlint.dryrun.values.program import Instance


@facet("builtins.dict", "collections.OrderedDict", "collections.UserDict")
def dictionary_facet(instance: Instance, base: str, run: Run) -> Value:
    """What such an object holds under its keys."""
    return Mapping(complete=instance.constructed, context=run.context)


@method(Mapping, "__init__")
def filled(call: Call, run: Run) -> Value:
    """`super().__init__(entries, **more)`."""
    receiver, given = call.receiver, dict_(call, run)
    assert isinstance(receiver, Mapping)
    assert isinstance(given, Mapping)
    receiver.entries.update(given.entries)
    receiver.complete = receiver.complete and given.complete
    receiver.other = given.other
    return NONE
