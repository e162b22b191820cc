"""Python's builtins on abstract values: lengths, ranges, conversions, what goes over iterables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun.catalog.arrays.making import VOCABULARY, figures, tags_of_all
from oomlint.dryrun.catalog.registry import Iteration, function, method
from oomlint.dryrun.trace import Iterate, Loop
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import (
    NONE,
    Const,
    Mapping,
    Namespace,
    Sequence,
    Slice,
    Unknown,
    Value,
    deref,
    join_all,
    merge,
    tags_of,
)
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.devices import DeviceCount, DeviceList
from oomlint.dryrun.values.indexing import sliced
from oomlint.dryrun.values.program import Function, Instance, Method
from oomlint.dryrun.values.shapes import dimension_at, number

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

MAX_EXACT = 1024  # elements of a range or repetition that are kept one by one


def computed(value: Any, *sources: Value | None) -> Const:
    """A constant computed from others, with the ways they came."""
    constants = [source for source in sources if isinstance(source, Const)]
    return Const(value, merge(*(item.trail for item in constants)), any(item.soft for item in constants))


def positional(call: Call) -> list[Value]:
    """The positional arguments."""
    return [
        deref(argument.value) for argument in call.arguments if argument.name is None and not argument.star
    ]


def items_of(run: Run, value: Value | None) -> Iteration:
    """The items of an iterable; of nothing, none."""
    if value is None:
        return Iteration(items=[])
    inner = run.iterate(value)
    if inner.items is not None and inner.count is None:
        return Iteration(inner.items, inner.element, Const(len(inner.items)))
    return inner


def one_of(inner: Iteration, value: Value | None = None) -> Value:
    """One value that stands for every item."""
    if inner.element is not None:
        return inner.element
    if inner.items:
        return join_all(inner.items)
    return Unknown(tags=tags_of(value)) if value is not None else Unknown()


def collected(kind: str, run: Run, call: Call, value: Value | None) -> Sequence:
    """A list, tuple or set of what an iterable gives."""
    inner = items_of(run, value)
    tags = tags_of(value) if value is not None else frozenset()
    if kind == "set" and _is_words(value):
        tags = tags | {VOCABULARY}
    if inner.items is not None:
        return Sequence(kind, items=list(inner.items), tags=tags, context=run.context)
    whole = deref(value) if value is not None else None
    parts = (whole,) if isinstance(whole, Sequence) else ()
    return Sequence(
        kind, element=inner.element, count=inner.count, tags=tags, context=run.context, parts=parts
    )


def _is_words(value: Value | None) -> bool:
    """Whether these are the words of a text (`text.split()`), each as often as it occurs."""
    value = deref(value) if value is not None else None
    made = value.made_by if isinstance(value, Unknown) else None
    return made is not None and made.method == "split" and not made.call.arguments


@function("builtins.len", parameters="object")
def length(call: Call, run: Run) -> Value:
    """How many elements; of an array, its rows."""
    value = call.value("object")
    count: Const | None = None
    match value:
        case Sequence() if value.kind != "set" or value.items == []:
            count = value.length
        case Array():
            count = dimension_at(value.shape, 0)
        case Dataset() if not value.infinite:
            count = value.count
        case Mapping(complete=True):
            count = Const(len(value.entries))
        case Const(value=str() | bytes() as text):
            count = computed(len(text), value)
        case Unknown(taken=Slice() as part):
            count = sliced(None, part)
        case DeviceList():
            return DeviceCount(value)
        case Instance():
            method = run.attribute(value, "__len__", call.place)
            result = deref(run.call(method, [], call)) if not isinstance(method, Unknown) else Unknown()
            count = result if isinstance(result, Const) else None
    if count is not None:
        return count
    tags = figures(tags_of(value)) if value is not None else frozenset()
    return Unknown(type="int", tags=tags, operation=call)


@function("builtins.range", "tqdm.trange")
def range_(call: Call, run: Run) -> Value:
    """Numbers in steps."""
    given = positional(call)[:3]
    bounds = [number(value) for value in given]
    if not given or any(argument.star for argument in call.arguments):
        return Sequence("range", element=Unknown(type="int"))
    if None in bounds:
        return Sequence(
            "range", element=Unknown(type="int", tags=tags_of_all(*given)), tags=tags_of_all(*given)
        )
    try:
        numbers = range(*(bound for bound in bounds if bound is not None))
        count = len(numbers)
    except (ValueError, OverflowError):
        return Sequence("range", element=Unknown(type="int"))
    counted = computed(count, *given)
    if count <= MAX_EXACT:
        return Sequence("range", items=[Const(item, counted.trail, counted.soft) for item in numbers])
    return Sequence("range", element=Unknown(type="int"), count=counted)


@function("builtins.enumerate", parameters="iterable start")
def enumerate_(call: Call, run: Run) -> Value:
    """Items with their number."""
    value = call.value("iterable")
    inner = items_of(run, value)
    start = number(call.value("start")) if call.argument("start") is not None else 0
    if inner.items is not None and start is not None:
        pairs: list[Value] = [
            Sequence("tuple", items=[Const(index), item]) for index, item in enumerate(inner.items, start)
        ]
        return Sequence("generator", items=pairs)
    pair = Sequence("tuple", items=[Unknown(type="int"), one_of(inner, value)])
    return Sequence("generator", element=pair, count=inner.count, tags=tags_of_all(value))


@function(
    "builtins.list",
    "builtins.sorted",
    "builtins.reversed",
    "builtins.tuple",
    parameters="iterable key reverse",
)
def list_(call: Call, run: Run) -> Value:
    """A list or tuple of what an iterable gives; sorting keeps its elements."""
    name = call.name.rpartition(".")[2]
    value = call.value("iterable")
    asked_for_keys(call, run, value)
    result = collected("tuple" if name == "tuple" else "list", run, call, value)
    if isinstance(value, Dataset) or "tf.data" in result.tags:
        run.record(call)  # every element in memory at once: worth an event
    if result.items is None:
        return result
    if name == "reversed":
        result.items.reverse()
    elif name == "sorted":
        constants = [item for item in map(deref, result.items) if isinstance(item, Const)]
        backwards = call.const("reverse", False)
        if (
            len(constants) == len(result.items)
            and call.argument("key") is None
            and isinstance(backwards, bool)
        ):
            try:
                constants.sort(key=lambda item: item.value, reverse=backwards)
                result.items = list(constants)
                return result
            except TypeError:  # values of kinds that do not compare
                pass
        if len(result.items) > 1:
            result.summarise(Const(len(result.items)))
    return result


def asked_for_keys(call: Call, run: Run, value: Value | None) -> None:
    """`key=score` runs for every item: a fitness that trains a model. Of a lambda, only one that calls something."""
    key = call.argument("key")
    asked = deref(key.value) if key is not None else None
    if isinstance(asked, Method):
        asked = asked.function
    if not isinstance(asked, Function) or key is None:
        return
    if isinstance(asked.node, cst.Lambda) and not isinstance(asked.node.body, cst.Call):
        return
    inner = items_of(run, value)
    loop = Loop(call.place, "comprehension", value or Unknown(), inner.count)
    run.trace.add(Iterate(value or Unknown(), loop, run.context))
    with run.inside(run.context.inside(loop)):
        run.call(key.value, [one_of(inner, value)], call)


@function("builtins.set", "builtins.frozenset", parameters="iterable")
def set_(call: Call, run: Run) -> Value:
    """Distinct elements: exact only where they are constants."""
    result = collected("set", run, call, call.value("iterable"))
    if result.items is None:
        result.count = None
        return result
    constants = [item for item in map(deref, result.items) if isinstance(item, Const)]
    if len(constants) == len(result.items):
        result.items = list({item.value: item for item in constants}.values())
    else:
        result.summarise(None)
    return result


@function("builtins.dict")
def dict_(call: Call, run: Run) -> Value:
    """A dictionary of another, of pairs, or of keyword arguments."""
    mapping = Mapping(context=run.context)
    for argument in call.arguments:
        value = deref(argument.value)
        if argument.name is not None:
            mapping.entries[argument.name] = value.bound(repr(argument.name), argument.place)
        elif isinstance(value, Mapping):
            mapping.entries.update(value.entries)
            mapping.complete = mapping.complete and value.complete
            mapping.other = value.other
        elif not argument.star:
            pairs = run.iterate(value).items
            for pair in pairs if pairs is not None else [Unknown()]:
                match deref(pair):
                    case Sequence(items=[key, item]) if isinstance(deref(key), Const):
                        mapping.entries[deref(key).value] = item  # type: ignore[attr-defined]
                    case _:
                        mapping.complete = False
        else:
            mapping.complete = False
    return mapping


@function("builtins.iter", parameters="object")
def iter_(call: Call, run: Run) -> Value:
    """The iterator of a value stands for the value."""
    return call.value("object") or Unknown()


@function("builtins.next", parameters="iterator default")
def next_(call: Call, run: Run) -> Value:
    """One item."""
    value = call.value("iterator")
    inner = items_of(run, value)
    return inner.items[0] if inner.items else one_of(Iteration(element=inner.element), value)


@method(Sequence, "next", "__next__")
def next_of(call: Call, run: Run) -> Value:
    """One batch of an iterator that has a method for it, as Keras' iterators over pictures have."""
    value = call.receiver
    assert isinstance(value, Sequence)
    return value.any if value.kind == "generator" else Unknown()


@function("builtins.slice")
def slice_(call: Call, run: Run) -> Value:
    """A slice."""
    given = positional(call)
    if len(given) == 1:
        return Slice(NONE, given[0])
    return Slice(*given[:3]) if given else Unknown()


@function("builtins.any", "builtins.all", parameters="iterable")
def any_(call: Call, run: Run) -> Value:
    """Whether any, or all, hold."""
    return Unknown(type="bool", tags=tags_of_all(call.value("iterable")))


@function("builtins.print")
def print_(call: Call, run: Run) -> Value:
    """Nothing."""
    return NONE


@function("builtins.vars", parameters="object")
def vars_(call: Call, run: Run) -> Value:
    """The attributes of a namespace, or of an object."""
    value = call.value("object")
    if isinstance(value, Instance):
        return run.attribute(value, "__dict__", call.place)
    return Mapping(dict(value.attributes)) if isinstance(value, Namespace) else Mapping(complete=False)


@function("builtins.callable", "builtins.hasattr", "builtins.issubclass")
def question(call: Call, run: Run) -> Value:
    """A question about what a value can do is not decided."""
    return Unknown(type="bool")


@function("builtins.input")
def input_(call: Call, run: Run) -> Value:
    """Whatever somebody types."""
    return Unknown(type="str")


# --- progress bars ------------------------------------------------------------------------------------


@function("tqdm.tqdm", "rich.progress.track", "alive_progress.alive_it", "tqdm", parameters="iterable")
def progress(call: Call, run: Run) -> Value:
    """A progress bar gives the items that it is put around."""
    return call.value("iterable") or (call.value("sequence") or Unknown())
