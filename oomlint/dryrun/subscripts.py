"""Items: subscripts, and lists that grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun import calls, imports, objects
from oomlint.dryrun.trace import Argument, Branch, Call, Context, Loop
from oomlint.dryrun.values.base import (
    Const,
    Mapping,
    Sequence,
    Slice,
    Unknown,
    Value,
    deref,
    doubted,
    join,
    join_all,
    merge,
    tags_of,
)
from oomlint.dryrun.values.indexing import few_tags, sliced
from oomlint.dryrun.values.program import Instance, Library
from oomlint.dryrun.values.shapes import steps_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run


def get_item(run: Run, value: Value, index: Value, node: cst.CSTNode) -> Value:
    """`value[index]`."""
    value, index = deref(value), deref(index)
    handler = run.catalog.items.get(type(value))
    if handler is not None:
        place = run.place(node)
        call = Call(
            "operator.getitem", place, run.context, value, (Argument(value, place), Argument(index, place))
        )
        call.statement = run.statement
        run.record(call)
        call.result = handler(value, index, call, run)
        return call.result
    match value:
        case Sequence():
            return _sequence_item(value, index)
        case Mapping():
            if isinstance(index, Const) and index.value in value.entries:
                return value.entries[index.value]
            if value.other is not None:
                return value.other
            values = list(value.entries.values())
            same = len(values) > 0 and not isinstance(index, Const)
            return join_all(values) if same else Unknown()
        case Const(value=str() as text):
            return _text_item(text, index)
        case Unknown():
            if isinstance(index, Slice | Sequence):  # two parts are one thing only if both are cut alike
                return Unknown(tags=value.tags, taken=index)
            key = f"[{index.value!r}]" if isinstance(index, Const) else "[]"
            return value.attributes.setdefault(key, Unknown(tags=value.tags, taken=index))
        case Instance():
            method = objects.class_attribute(run, value, "__getitem__")
            if method is not None:
                return run.apply(method, (Argument(index, run.place(node)),), run.place(node))
            if value.cls.flags & {"namedtuple"} and isinstance(index, Const) and isinstance(index.value, int):
                names = list(value.cls.fields)
                if -len(names) <= index.value < len(names):
                    return objects.instance_attribute(run, value, names[index.value])
            if isinstance(value.facet, Mapping):
                return get_item(run, value.facet, index, node)
        case Library(name="sys.modules"):
            asked = Library("sys.modules.__getitem__")
            return run.apply(asked, (Argument(index, run.place(node)),), run.place(node))
        case Library(name="numpy.r_" | "numpy.c_"):  # calls, but for their brackets
            items = index.items if isinstance(index, Sequence) and index.items is not None else [index]
            place = run.place(node)
            targets = run.targets[1] if run.targets[0] is node else ()
            return calls.apply(run, value, tuple(Argument(item, place) for item in items), place, targets)
    return Unknown(tags=tags_of(value))


def _sequence_item(value: Sequence, index: Value) -> Value:
    if isinstance(index, Const) and isinstance(index.value, int):
        if value.items is not None:
            inside = -len(value.items) <= index.value < len(value.items)
            return value.items[index.value] if inside else Unknown()
        return value.any
    if isinstance(index, Slice):
        parts = (index.start, index.stop, index.step)
        bounds: list[Any] = [part.value if isinstance(part, Const) else ... for part in parts]
        if value.items is not None and ... not in bounds:
            start, stop, step = bounds
            try:
                return Sequence(value.kind, items=value.items[slice(start, stop, step)], tags=value.tags)
            except (TypeError, ValueError):
                return Unknown()
        count = _slice_count(value, bounds)
        tags = value.tags | few_tags(index) if count is None else value.tags
        if count is None and value.length is None:
            count = sliced(None, index)  # a batch of `names[i * n : (i + 1) * n]`, however many there are
        return Sequence(value.kind, element=value.any, count=count, tags=tags)
    return value.any


def _slice_count(value: Sequence, bounds: list[Any]) -> Const | None:
    """How many elements a slice has: known when the whole is, or at most its stop is not said here."""
    length = value.length
    if length is None or ... in bounds or not isinstance(length.value, int):
        return None
    try:
        return Const(steps_of(range(*slice(*bounds).indices(length.value))), length.trail, length.soft)
    except (TypeError, ValueError):
        return None


def _text_item(text: str, index: Value) -> Value:
    try:
        if isinstance(index, Const):
            return Const(text[index.value])
        if isinstance(index, Slice) and all(
            isinstance(part, Const) for part in (index.start, index.stop, index.step)
        ):
            return Const(text[index.start.value : index.stop.value : index.step.value])  # type: ignore[attr-defined]
    except (TypeError, IndexError, ValueError):
        pass
    return Unknown(type="str")


def unknown_item(value: Value) -> Value:
    """What tuple unpacking of an unknown takes apart: items of it, so that tags survive."""
    return Unknown(tags=tags_of(value))


def _is_exact(index: Value) -> bool:
    return isinstance(index, Const) and isinstance(index.value, int) and not index.soft


def set_item(run: Run, owner: Value, index: Value, value: Value, node: cst.CSTNode) -> None:
    """`owner[index] = value`."""
    owner, index = objects.dictionary_of(owner) or deref(owner), deref(index)
    value = without_owner(value, owner)
    match owner:
        case Mapping():
            if isinstance(index, Const) and not index.soft:
                try:
                    if index.value not in owner.entries and not happens_once(run, owner):
                        doubted(owner)  # a branch may leave it out: `in` decides nothing
                    owner.entries[index.value] = value
                except TypeError:
                    owner.complete = False
            else:
                owner.complete = False
                owner.other = value if owner.other is None else join(owner.other, value)
        case Sequence(items=list(items)) if _is_exact(index):
            if -len(items) <= index.value < len(items):  # type: ignore[attr-defined]
                items[index.value] = value  # type: ignore[attr-defined]
        case Sequence() if not isinstance(index, Slice):
            # Some item, or another in every round of a loop: what all items have in common counts it in.
            owner.summarise(owner.length)
            owner.element = value if owner.element is None else join(owner.element, value)
        case Unknown() if isinstance(index, Const):
            owner.attributes[f"[{index.value!r}]"] = value
    place = run.place(node)
    if not isinstance(owner, Const | Sequence):
        name = (
            "os.environ.__setitem__"
            if isinstance(owner, Library) and owner.name == "os.environ"
            else "operator.setitem"
        )
        arguments = (Argument(owner, place), Argument(index, place), Argument(value, place))
        call = Call(name, place, run.context, owner, arguments)
        call.statement = run.statement
        base = node.value if isinstance(node, cst.Subscript) else None
        call.path = imports.dotted(base) or None
        run.record(call)


def delete_item(owner: Value) -> None:
    """`del owner[...]`: what is left is not followed item by item."""
    owner = deref(owner)
    if isinstance(owner, Sequence) and owner.items:
        owner.summarise(None)
    elif isinstance(owner, Mapping):
        owner.complete = False


def without_owner(value: Value, owner: Value) -> Value:
    """The value, or unknown if it holds the container that it is put into: a walk over that would not end."""
    stack, seen = [value], 0
    while stack and seen < 256:
        current, seen = deref(stack.pop()), seen + 1
        if current is owner:
            return Unknown()
        match current:
            case Sequence(items=items, element=element):
                stack.extend(items[:64] if items else [element] if element is not None else [])
            case Mapping(entries=entries, other=other):
                stack.extend([*entries.values(), *([other] if other is not None else [])])
    return value


def extend(run: Run, target: Sequence, other: Value) -> None:
    """`target += other` on a list."""
    inner = run.iterate(other)
    if isinstance(other, Sequence):
        target.parts = (*target.parts, other)
    for item in inner.items if inner.items is not None else [inner.element or Unknown()]:
        append(run, target, item, None if inner.items is None else Const(1))


def append(run: Run, target: Sequence, item: Value, times: Const | None = Const(1)) -> None:  # noqa: B008 - immutable
    """`target.append(item)`: exact outside loops, else `item` stands for what every round appends."""
    item = without_owner(item, target)
    loops = _rounds_since(run, target)
    if loops == [] and times == Const(1) and target.items is not None and len(target.items) < 4096:
        target.items.append(item)
        return
    count: Const | None = target.length
    empty = count is not None and count.value == 0
    if loops is None or times is None:
        count = None
    else:
        product: Const | None = times
        for trip in loops:
            known = product is not None and trip is not None
            product = Const(product.value * trip.value, merge(product.trail, trip.trail)) if known else None  # type: ignore[union-attr]
        count = (
            None if product is None or count is None else Const(count.value + product.value, product.trail)
        )
    element = item if empty and target.items == [] else join(target.any, item)
    if target.items is None and target.element is None:
        element = item
    target.items, target.element, target.count = None, element, count


def happens_once(run: Run, target: Sequence | Mapping) -> bool:
    """Whether what is done here to a container is done exactly once: under no branch and in no loop it outlives."""
    return _rounds_since(run, target) == []


def _rounds_since(run: Run, target: Sequence | Mapping) -> list[Const | None] | None:
    """Trip counts of the loops entered since a list was made; None when a branch may skip the append."""
    made: Context | None = target.context
    around: set[int] = (
        set()
    )  # a list made in a call (`self.memory = []`) is older than a loop as deep as that
    while made is not None:
        around.add(id(made))
        made = made.parent
    trips: list[Const | None] = []
    context: Context | None = run.context
    conditional = False
    while context is not None and context.depth > 0 and id(context) not in around:
        if isinstance(context.frame, Loop) and not context.frame.unrolled:
            trips.append(context.frame.trip)
        elif isinstance(context.frame, Branch):
            conditional = True
        context = context.parent
    return None if conditional else trips
