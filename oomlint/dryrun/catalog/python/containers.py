"""Lists, dictionaries and the builtins that look into objects."""

from __future__ import annotations

from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun import objects, subscripts
from oomlint.dryrun.catalog.python.builtin_functions import asked_for_keys
from oomlint.dryrun.catalog.registry import Iteration, function, item, iteration, method
from oomlint.dryrun.values.base import NONE, Const, Mapping, Sequence, Unknown, Value, deref, join
from oomlint.dryrun.values.program import Class, Instance, Super

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@function("builtins.super")
def make_super(call: Call, run: Run) -> Value:
    """`super()` in a method, also in its old form `super(Class, self)`."""
    if len(call.arguments) == 2:
        cls, instance = deref(call.arguments[0].value), deref(call.arguments[1].value)
        return Super(instance, cls) if isinstance(cls, Class) else Unknown()
    current = run.activations[-1].function
    if current is None or current.owner is None:
        return Unknown()
    parameters = current.node.params.params
    value = run.state.get((run.scope, parameters[0].name.value)) if parameters else None
    return Super(value, current.owner) if value is not None else Unknown()


@function("builtins.getattr", parameters="object name default")
def get_attribute(call: Call, run: Run) -> Value:
    """`getattr(x, "name")`; of libraries too (`getattr(keras.applications, "ResNet50")`)."""
    name, owner = call.const("name"), call.value("object")
    if isinstance(owner, Globals):
        return by_name(owner, call.value("name") or Unknown(), call, run)
    if isinstance(name, str) and owner is not None:
        return run.attribute(owner, name, call.place)
    return Unknown()


@function("builtins.eval", parameters="source")
def evaluated(call: Call, run: Run) -> Value:
    """`eval("ResNet50")`, as scripts pick a function by its name; expressions are not taken apart."""
    return _named(run, call.const("source")) if len(call.arguments) == 1 else Unknown()


def _named(run: Run, name: object) -> Value:
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
        return Unknown()
    return run.evaluate(cst.Name(name))


@dataclass(frozen=True, slots=True)
class Globals(Value):
    """The names of the module that asks."""


@function("builtins.globals")
def module_names(call: Call, run: Run) -> Value:
    """To be looked up: `globals()[args.model]()`."""
    return Globals()


@function("sys.modules.__getitem__")
def own_module(call: Call, run: Run) -> Value:
    """`sys.modules[__name__]`: the module that asks, whose names `getattr` looks up."""
    asked, own = deref(call.arguments[0].value), deref(run.evaluate(cst.Name("__name__")))
    return (
        Globals()
        if isinstance(asked, Const) and isinstance(own, Const) and asked.value == own.value
        else Unknown()
    )


@item(Globals)
def by_name(value: Value, index: Value, call: Call, run: Run) -> Value:
    """The module's own name, whatever a function around calls by it."""
    inner, run.scope = run.scope, run.scope.outermost
    try:
        return _named(run, index.value if isinstance(index, Const) else None)
    finally:
        run.scope = inner


@method(Globals, "get", parameters="key default")
def by_name_or_default(call: Call, run: Run) -> Value:
    """The same by a method."""
    return by_name(Globals(), call.value("key") or Unknown(), call, run)


@function("builtins.setattr", "builtins.object.__setattr__", parameters="object name value")
def set_attribute(call: Call, run: Run) -> Value:
    """`setattr(x, "name", value)`."""
    name, owner, value = call.const("name"), call.value("object"), call.value("value")
    if isinstance(name, str) and owner is not None and value is not None:
        run.set_attribute(owner, name, value)
    return NONE


@method(Sequence, "append", "add", "appendleft", parameters="item")
def append(call: Call, run: Run) -> Value:
    """One more element."""
    if isinstance(call.receiver, Sequence) and call.arguments:
        subscripts.append(run, call.receiver, deref(call.arguments[0].value))
    return NONE


@method(Sequence, "insert", parameters="index item")
def insert(call: Call, run: Run) -> Value:
    """One more element somewhere; the order of exact items is kept only for constant places."""
    receiver, index = call.receiver, call.const("index")
    item = call.value("item")
    if isinstance(receiver, Sequence) and item is not None:
        if receiver.items is not None and isinstance(index, int) and subscripts.happens_once(run, receiver):
            receiver.items.insert(index, item)
        else:
            subscripts.append(run, receiver, item)
    return NONE


@method(Sequence, "extend", parameters="iterable")
def extend(call: Call, run: Run) -> Value:
    """The elements of another iterable."""
    other = call.value("iterable")
    if isinstance(call.receiver, Sequence) and other is not None:
        subscripts.extend(run, call.receiver, other)
    return NONE


@method(Sequence, "pop", "popleft", "popitem", parameters="index")
def pop(call: Call, run: Run) -> Value:
    """An element, and one fewer."""
    receiver = call.receiver
    assert isinstance(receiver, Sequence)
    index = call.const("index", -1)
    if receiver.items and isinstance(index, int) and subscripts.happens_once(run, receiver):
        if call.name.endswith("popleft"):
            index = 0
        if -len(receiver.items) <= index < len(receiver.items):
            return receiver.items.pop(index)
    element = receiver.any
    if receiver.items is not None:
        receiver.summarise(None)
    receiver.count = None
    return element


@method(Sequence, "clear")
def clear(call: Call, run: Run) -> Value:
    """No elements any more."""
    assert isinstance(call.receiver, Sequence)
    call.receiver.items, call.receiver.element, call.receiver.count = [], None, None
    return NONE


@method(Sequence, "copy")
def copy(call: Call, run: Run) -> Value:
    """Another list with the same elements."""
    receiver = call.receiver
    assert isinstance(receiver, Sequence)
    items = None if receiver.items is None else list(receiver.items)
    return Sequence(receiver.kind, items, receiver.element, receiver.count, receiver.tags, run.context)


@method(Sequence, "sort", "reverse", "remove", "discard", parameters="key reverse")
def reorder(call: Call, run: Run) -> Value:
    """The same elements in another order (or one fewer): exact places are no longer known."""
    receiver = call.receiver
    assert isinstance(receiver, Sequence)
    if call.name.endswith("sort"):
        asked_for_keys(call, run, receiver)
    if (
        call.name.endswith("reverse")
        and receiver.items is not None
        and subscripts.happens_once(run, receiver)
    ):
        receiver.items.reverse()
    elif receiver.items is not None and len(receiver.items) > 1:
        receiver.summarise(receiver.length if call.name.endswith(("sort", "reverse")) else None)
    return NONE


@method(Mapping, "get", "setdefault", "pop", parameters="key default")
def mapping_get(call: Call, run: Run) -> Value:
    """The value under a key, or the default."""
    receiver, key = call.receiver, call.value("key")
    assert isinstance(receiver, Mapping)
    default = call.value("default") or NONE
    if isinstance(key, Const):
        try:
            found = receiver.entries.get(key.value)
        except TypeError:
            return Unknown()
        if found is not None:
            if call.name.endswith("pop") and subscripts.happens_once(run, receiver):
                del receiver.entries[key.value]
            return found
        if receiver.complete:
            if call.name.endswith("setdefault"):
                if isinstance(default, Sequence) and default.items == []:
                    # The list of the first round is that of all rounds: it is as old as what it is in.
                    default = Sequence(default.kind, items=[], context=receiver.context)
                receiver.entries[key.value] = default
            return default
    elif call.name.endswith("setdefault") and receiver.other is None and isinstance(default, Sequence):
        receiver.complete = False
        receiver.other = Sequence(default.kind, context=receiver.context)  # one list stands for all of them
        return receiver.other
    return join(receiver.other, default) if receiver.other is not None else Unknown()


@method(Mapping, "update")
def mapping_update(call: Call, run: Run) -> Value:
    """The entries of another mapping, and keyword arguments."""
    receiver = call.receiver
    assert isinstance(receiver, Mapping)
    for argument in call.arguments:
        value = deref(argument.value)
        if argument.name is not None:
            receiver.entries[argument.name] = value
        elif isinstance(value, Mapping):
            receiver.entries.update(value.entries)
            receiver.complete = receiver.complete and value.complete
        else:
            receiver.complete = False
    return NONE


@method(Mapping, "items", "values", "keys")
def mapping_views(call: Call, run: Run) -> Value:
    """Entries, values or keys, in order."""
    receiver = call.receiver
    assert isinstance(receiver, Mapping)
    which = call.name.rpartition(".")[2]
    pairs: list[tuple[Value, Value]] = [(Const(key), value) for key, value in receiver.entries.items()]
    views: list[Value]
    if which == "items":
        views = [Sequence("tuple", items=[key, value]) for key, value in pairs]
    else:
        views = [value if which == "values" else key for key, value in pairs]
    view = Sequence("tuple", items=list(views))
    if not receiver.complete:
        if receiver.other is not None and which == "values":
            view.items = [*views, receiver.other]
        view.summarise(None)
        if not views and which == "items":
            view.element = Sequence("tuple", items=[Unknown(), receiver.other or Unknown()])
    return view


@method(Mapping, "copy")
def mapping_copy(call: Call, run: Run) -> Value:
    """Another dictionary with the same entries."""
    assert isinstance(call.receiver, Mapping)
    return Mapping(dict(call.receiver.entries), call.receiver.complete, call.receiver.other, run.context)


@iteration(Instance)
def iterate_instance(value: Value, run: Run) -> Iteration:
    """An object with `__iter__` or, for a NamedTuple, its fields."""
    assert isinstance(value, Instance)
    if "namedtuple" in value.cls.flags:
        return Iteration(items=[objects.instance_attribute(run, value, name) for name in value.cls.fields])
    if isinstance(value.facet, Mapping):
        return run.iterate(value.facet)
    return Iteration(element=None)
