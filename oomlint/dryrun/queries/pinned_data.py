"""Objects that tf.data calls back into, made anew on every pass of a loop, and the data that they hold.

tf.data keeps every Python callable that it was given for the life of the process (script_ops.py keeps the function, the
graph keeps its token), and with it what the callable holds: measured in tests/claims/test_pinned_data.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.catalog.arrays.making import LOADED
from oomlint.dryrun.loops import target_names
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Assign, Body, Call, Context, Frame, Iterate, Loop, Role
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Value, deref
from oomlint.dryrun.values.program import Function, Instance

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace
    from oomlint.syntax.place import Place

USERS = tuple(
    f"keras.Model.{name}{kind}" for name in ("fit", "evaluate", "predict") for kind in ("", "_generator")
)
FED = ("x", "generator", "data", "validation_data")
ONE_BY_ONE = frozenset(["keras.utils.PyDataset", "keras.utils.Sequence"])
FLOW = "keras.preprocessing.image.ImageDataGenerator.flow"
# Calls whose result shows the same memory.
VIEWS = frozenset(
    """array.reshape numpy.reshape array.transpose numpy.transpose array.squeeze numpy.squeeze numpy.expand_dims
    numpy.asarray numpy.ravel array.ravel numpy.moveaxis array.view""".split()
)


WALKS = frozenset(["builtins.zip", "builtins.enumerate", "builtins.iter", "builtins.reversed", "tqdm.tqdm"])


@dataclass(frozen=True, slots=True)
class Held:
    """One array that an object holds and a pass made. `size` None: not known; `most`: it may be less."""

    value: Value
    size: Size | None
    most: bool
    made: Place | None
    loops: tuple[Loop, ...]  # in whose rounds both the object and the array are made, innermost first


@dataclass(frozen=True, slots=True)
class Pinned:
    """An object made anew in a loop: where, what it is, the data that it holds, and who uses it."""

    place: Place
    text: str
    held: tuple[Held, ...]
    used: Call


def pinned_data(trace: Trace) -> Iterator[Pinned]:
    """Every object once."""
    query = _Query(trace)
    seen: set[int] = set()
    for found in query.all():
        if found.held and id(found.place.node) not in seen:
            seen.add(id(found.place.node))
            yield found


def loops_outside(context: Context) -> list[Loop]:
    """The loops around an event that run as Python, up to the process: not those of a traced or mapped function."""
    loops: list[Loop] = []
    for frame in context.frames():
        if isinstance(frame, Role):
            if frame.name == "child-process":
                break
            if frame.name.startswith("tf.") or frame.name == "generator":
                loops = []
        if isinstance(frame, Loop) and frame.kind != "trials":
            loops.append(frame)
    return loops


class _Query:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def all(self) -> Iterator[Pinned]:
        for call in self.trace.calls(*USERS):
            if not loops_outside(call.context):
                continue
            for name in FED:
                argument = call.argument(name)
                value = deref(argument.value) if argument is not None else None
                if isinstance(value, Instance):
                    yield from self._sequence(value, call)
                elif isinstance(value, Sequence) and value.kind == "generator" and argument is not None:
                    yield from self._generator(argument.place, argument.path, call)
        fed = self._fed()
        for call in self.trace.calls(FLOW):
            if loops_outside(call.context) and id(deref(call.result)) in fed:
                yield from self._flow(call)
        for call in self.trace.calls("tf.data.Dataset.from_generator", "tf.py_function", "tf.numpy_function"):
            if loops_outside(call.context):
                role = next((frame for frame in self._roles(call)), None)
                held = self._captured(role, call.context) if role is not None else ()
                name = call.name.rpartition(".")[2]
                yield Pinned(call.place, f"function for `{name}`", held or self._returned(call), call)

    def _fed(self) -> set[int]:
        """What `fit` and its like are given, also through `zip`. Of what only `next` reads tf.data knows nothing."""
        given = (call.argument(name) for call in self.trace.calls(*USERS) for name in FED)
        values = (argument.value for argument in given if argument is not None)
        return {id(deref(part)) for value in values for part in self._gone_through(value)}

    # --- what holds ----------------------------------------------------------------------------------

    def _sequence(self, instance: Instance, used: Call) -> Iterator[Pinned]:
        """A PyDataset (a Sequence in Keras 2) with data in its attributes."""
        if instance.place is None or ONE_BY_ONE.isdisjoint(instance.cls.library_bases()):
            return
        held: list[Held] = []
        for event in self.trace.assigns():
            if event.target is not None and deref(event.target) is instance:
                held += self._held(event.value, event.context)
        yield Pinned(instance.place, f"`{instance.cls.name}`", tuple(held), used)

    def _generator(self, place: Place, path: str | None, used: Call) -> Iterator[Pinned]:
        """A generator of the program, made in the call that uses it or on the way to it."""
        for event in self.trace.events:
            body = self._generator_body(event.context, place, path) if not isinstance(event, Assign) else None
            if body is not None and body.site is not None:
                around = Context()
                context: Context | None = event.context
                while context is not None and context.frame is not None:
                    if context.frame is body:
                        around = context.parent or around
                    context = context.parent
                held = (*self._captured(body, around), *self._locals(body, around))
                yield Pinned(body.site, f"generator `{body.function.name}`", held, used)
                return

    def _generator_body(self, context: Context, place: Place, path: str | None) -> Body | None:
        for body in context.all(Body):
            if "generator" not in body.function.flags or body.site is None:
                continue
            if body.site.node is place.node:
                return body
            if path is not None and body.statement is not None and _binds(body.statement, path, body.site):
                return body
        return None

    def _flow(self, call: Call) -> Iterator[Pinned]:
        """`datagen.flow(x, y)` keeps x as float32: a copy of its own, unless it is one already."""
        value = call.value("x")
        if not isinstance(value, Array):
            return
        held = self._held(value, call.context)
        if value.dtype not in (None, "float32"):
            made = held[0].made if held else call.place
            kept = replace(value, dtype="float32")
            held = [self._measured(kept, made, tuple(loops_outside(call.context)))]
        yield Pinned(call.place, "`flow` iterator", tuple(held), call)

    def _roles(self, call: Call) -> Iterator[Frame]:
        """The frame in which the dry run has run the function that a call was given."""
        for event in self.trace.events:
            for role in event.context.all(Role):
                if role.place.node is call.place.node and role.name in ("generator", "tf.py_function"):
                    yield role

    def _captured(self, frame: Frame, around: Context) -> tuple[Held, ...]:
        """The arrays that code inside a frame uses and that were made outside of it."""
        found: dict[int, Held] = {}
        for event in self.trace.events:
            if isinstance(event, Assign) or not any(inner is frame for inner in event.context.frames()):
                continue
            if isinstance(event, Iterate):
                values = list(self._gone_through(event.value))
            else:
                values = [argument.value for argument in event.arguments]
            if isinstance(event, Call) and event.receiver is not None:
                values.append(event.receiver)
            for value in values:
                made = self._made(value)
                if made is None or any(inner is frame for inner in made[0].frames()):
                    continue
                for held in self._held(value, around):
                    found.setdefault(id(held.value), held)
        return tuple(found.values())

    def _returned(self, call: Call) -> tuple[Held, ...]:
        """The arrays that a function gives back to be gone through: `lambda: zip(x, y)`."""
        function = call.value("generator")
        result = function.result if isinstance(function, Function) else None
        values = () if result is None else self._gone_through(result)
        return tuple(held for value in values for held in self._held(value, call.context))

    def _locals(self, body: Body, around: Context) -> tuple[Held, ...]:
        """The arrays that a generator without end has bound before its loop: its frame stays, and they with it."""
        inside = [
            event for event in self.trace.events if any(frame is body for frame in event.context.frames())
        ]
        if not any(loop.endless for event in inside for loop in _since(event.context, body)):
            return ()
        bound = {
            id(deref(event.value)): event.value
            for event in inside
            if isinstance(event, Assign)
            and not _since(event.context, body)
            and event.context.innermost(Body) is body
        }
        return tuple(held for value in bound.values() for held in self._held(value, around))

    def _gone_through(self, value: Value, depth: int = 0) -> Iterator[Value]:
        """What a loop goes over, also behind `zip`, `enumerate` and the like."""
        yield value
        maker = self.trace.maker(value)
        if maker is not None and maker.name in WALKS and depth < 4:
            for argument in maker.arguments:
                yield from self._gone_through(argument.value, depth + 1)

    # --- what is held --------------------------------------------------------------------------------

    def _held(self, value: Value, around: Context) -> list[Held]:
        """The value, if it is data made in a loop around an event."""
        value = deref(value)
        if isinstance(value, Sequence) and value.kind in ("tuple", "list") and value.items is not None:
            return [held for item in value.items for held in self._held(item, around)]
        if isinstance(value, Mapping):
            return [held for item in value.entries.values() for held in self._held(item, around)]
        made = self._made(value)
        if made is None:
            return []
        context, place = made
        inside = loops_outside(context)
        loops = tuple(loop for loop in loops_outside(around) if loop in inside)
        return [self._measured(value, place, loops)] if loops else []

    def _measured(self, value: Value, place: Place | None, loops: tuple[Loop, ...]) -> Held:
        size = _size(value)
        if size is not None:
            return Held(value, size, False, place, loops)
        item = self.trace.subscript(value)
        whole = _size(item.receiver) if item is not None and item.receiver is not None else None
        return Held(value, whole, whole is not None, place, loops)

    def _made(self, value: Value, depth: int = 0) -> tuple[Context, Place | None] | None:
        """Where an array, or a list of arrays, was made: not where a view of it was."""
        value = deref(value)
        if depth > 8:
            return None
        if isinstance(value, Sequence):
            many = value.kind == "list" and _is_data(value.any)
            context = value.context if many else None
            return None if context is None else (context, None)
        if not isinstance(value, Array) or value.library not in ("numpy", "pandas") or value.shape == ():
            return None
        if value.size is None and value.rank == 1:
            return None  # a number for each sample, as an order is that the samples are taken in
        item = self.trace.subscript(value)
        if item is not None and item.receiver is not None:
            index = deref(item.arguments[1].value)
            copied = isinstance(index, Array) or (isinstance(index, Sequence) and index.kind == "list")
            return (item.context, item.place) if copied else self._made(item.receiver, depth + 1)
        maker = self.trace.maker(value)
        if maker is None:
            return None
        if maker.name in VIEWS:
            inner = (
                maker.receiver
                if maker.receiver is not None
                else maker.arguments[0].value
                if maker.arguments
                else None
            )
            return None if inner is None else self._made(inner, depth + 1)
        return maker.context, maker.place


def _since(context: Context, body: Body) -> list[Loop]:
    return [frame for frame in context.since(body) if isinstance(frame, Loop)]


def _is_data(element: Value) -> bool:
    """Whether the elements of a list are arrays with rows, or read from files, or tuples of such."""
    element = deref(element)
    if isinstance(element, Sequence) and element.kind == "tuple" and element.items is not None:
        return any(map(_is_data, element.items))
    if not isinstance(element, Array):
        return False
    read = element.shape is None and any(tag.startswith(LOADED) for tag in element.tags)
    return read or len(element.shape or ()) >= 2


def _size(value: Value | None) -> Size | None:
    value = deref(value) if value is not None else None
    if isinstance(value, Array):
        return value.size
    if isinstance(value, Sequence):
        element, count = deref(value.any), value.length
        if isinstance(element, Array) and element.size is not None and isinstance(count, Const):
            return element.size.times(count, "{} of them in a list")
    return None


def _binds(statement: Place, path: str, site: Place) -> bool:
    """Whether a statement is `path = <the call>`."""
    match statement.node:
        case cst.SimpleStatementLine(body=[cst.Assign(targets=targets, value=value)]):
            return value is site.node and any(path in target_names(target.target) for target in targets)
        case cst.SimpleStatementLine(body=[cst.AnnAssign(target=target, value=value)]):
            return value is site.node and path in target_names(target)
    return False
