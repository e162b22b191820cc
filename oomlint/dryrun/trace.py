"""The trace: the calls of known API, and a few statements, in the order in which they would run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import libcst as cst

from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Function
from oomlint.syntax.records import record

if TYPE_CHECKING:
    from oomlint.syntax.place import Place
    from oomlint.syntax.source import Source


@record
class Frame:
    """One surrounding thing at an event. Subclasses say which."""

    place: Place


@record
class Loop(Frame):
    """A for, while or comprehension loop. `trip` is the number of rounds where it is known."""

    kind: str  # for, while, comprehension
    iterable: Value | None = None
    trip: Const | None = None
    unrolled: bool = False  # every round was taken one by one with its own values
    endless: bool = False  # `while True`
    bound: Value | None = None  # what a `while` compares with
    targets: tuple[str, ...] = ()


@record
class Branch(Frame):
    """One side of an `if`, conditional expression or `match` whose test is not constant."""

    test: Value
    taken: bool
    test_node: cst.CSTNode | None = None


@record
class Body(Frame):
    """The body of a function of the program, entered from a call (or, `called` false, by nobody).

    `site` is that call, `statement` the statement it stands in.
    """

    function: Function
    called: bool = True
    site: Place | None = None
    statement: Place | None = None


@record
class Within(Frame):
    """The body of a `with` statement; `manager` is the context manager, `name` what it was bound to."""

    manager: Value
    name: str | None = None


@dataclass(slots=True, eq=False)
class HandlerFacts:
    """One `except` clause: the types it catches and whether it always leaves (raise, return, break)."""

    place: Place
    types: tuple[Value, ...]
    leaves: bool = False
    raises: bool = False
    bare: bool = False


@record
class Try(Frame):
    """The body of a `try`; its handlers say what is caught there."""

    handlers: tuple[HandlerFacts, ...] = ()


@record
class Handler(Frame):
    """The body of an `except` clause."""

    facts: HandlerFacts
    attempt: Try


@record
class Role(Frame):
    """A library runs this code in a role of its own: `tf.data.map`, `tf.function`, `child-process`, `callback`, ..."""

    name: str
    value: Value | None = None


F = TypeVar("F", bound=Frame)


@record
class Context:
    """Frames from the innermost outwards, shared between events (a linked list)."""

    frame: Frame | None = None
    parent: Context | None = None
    depth: int = 0

    def __repr__(self) -> str:
        return f"<context {self.depth}>"

    def inside(self, frame: Frame) -> Context:
        """This context with one more frame around what follows."""
        return Context(frame, self, self.depth + 1)

    def frames(self) -> Iterator[Frame]:
        """Frames, innermost first."""
        context: Context | None = self
        while context is not None and context.frame is not None:
            yield context.frame
            context = context.parent

    def all(self, kind: type[F]) -> Iterator[F]:
        """Frames of one kind, innermost first."""
        context: Context | None = self
        while context is not None:
            if isinstance(context.frame, kind):
                yield context.frame
            context = context.parent

    def innermost(self, kind: type[F]) -> F | None:
        """The innermost frame of a kind."""
        context: Context | None = self
        while context is not None:
            if isinstance(context.frame, kind):
                return context.frame
            context = context.parent
        return None

    def loops(self) -> list[Loop]:
        """Loops around the event, innermost first, through calls of the program's functions."""
        return list(self.all(Loop))

    def manager(self, kind: type[Value]) -> Any:
        """The innermost context manager of a kind (a Tape, a Strategy scope), or None."""
        for frame in self.all(Within):
            manager = deref(frame.manager)
            if isinstance(manager, kind):
                return manager
        return None

    def role(self, name: str) -> Role | None:
        """The innermost role of that name."""
        return next((role for role in self.all(Role) if role.name == name), None)

    def function(self) -> Function | None:
        """The innermost function of the program."""
        body = self.innermost(Body)
        return body.function if body else None

    def since(self, outer: Frame) -> Iterator[Frame]:
        """Frames between the event and `outer`, innermost first (all of them if it is not around)."""
        for frame in self.frames():
            if frame is outer:
                return
            yield frame


@record
class Argument:
    """One argument of a call: its value, its keyword, and where its expression stands."""

    value: Value
    place: Place
    name: str | None = None
    star: str = ""
    path: str | None = None  # dotted name, when the expression is a plain name or attribute
    arg: cst.Arg | None = None  # the node in the call, for fixes

    def const(self) -> Any:
        """The constant's value, or None."""
        value = deref(self.value)
        return value.value if isinstance(value, Const) else None


@dataclass(slots=True, eq=False)
class Call:
    """A call of known API. `name` is canonical: `tf.data.Dataset.shuffle`, `keras.Model.fit`, `numpy.load`.

    `receiver` is the value before the dot for method calls. `result` is what the call gave.
    Operators on arrays and gradients are calls too (`operator.truediv`), as are constructors.
    """

    name: str
    place: Place
    context: Context
    receiver: Value | None = None
    arguments: tuple[Argument, ...] = ()
    signature: tuple[str, ...] = ()
    result: Value = field(default_factory=Unknown)
    spelled: str = ""
    index: int = 0
    path: str | None = None  # dotted name of the receiver's expression
    statement: Place | None = None  # the statement it stands in
    targets: tuple[str, ...] = ()  # dotted names the statement binds its value to

    def __repr__(self) -> str:
        return f"<call {self.name}>"

    @property
    def node(self) -> cst.CSTNode:
        """The node of the call."""
        return self.place.node

    @property
    def source(self) -> Source:
        """The document it stands in."""
        return self.place.source

    def argument(self, name: str) -> Argument | None:
        """The argument for a parameter, whether it is given by keyword or by position."""
        for argument in self.arguments:
            if argument.name == name:
                return argument
        if name in self.signature:
            position = self.signature.index(name)
            for argument in self.arguments:
                if argument.star:
                    return None
                if argument.name is not None:
                    continue  # given to a `partial`, it stands before what the call gives
                if position == 0:
                    return argument
                position -= 1
        return None

    def value(self, name: str) -> Value | None:
        """The value of an argument, if given."""
        argument = self.argument(name)
        return None if argument is None else deref(argument.value)

    def const(self, name: str, default: Any = None) -> Any:
        """The constant given for a parameter; `default` if it is not given; None if it is not constant."""
        argument = self.argument(name)
        return default if argument is None else argument.const()

    @property
    def opaque_arguments(self) -> bool:
        """Whether `*args` or `**kwargs` of unknown content are passed."""
        return any(argument.star for argument in self.arguments)


@dataclass(slots=True, eq=False)
class Assign:
    """A binding of a name or attribute: `path` is dotted (`x`, `self.x`), `value` what it got."""

    path: str
    value: Value
    place: Place
    context: Context
    index: int = 0
    augmented: str = ""  # the operator of an augmented assignment
    target: Value | None = None  # the object whose attribute is written
    statement: Place | None = None  # the statement that binds it (the loop, for its own targets)


@dataclass(slots=True, eq=False)
class Iterate:
    """A for loop over a value begins."""

    value: Value
    loop: Loop
    context: Context
    index: int = 0


Event = Call | Assign | Iterate


class Trace:
    """Everything that a rule may ask about one checked document."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.events: list[Event] = []
        self.libraries: dict[str, str] = {}  # canonical root -> module as first imported (`tensorflow.keras`)
        self.loose: list[Call] = []  # methods called on what nobody knows, in order, by bare name
        self.operations: list[Call] = []  # operators on what nobody knows: no events, `maker` has them
        self.imports: list[tuple[str, Place]] = []  # modules imported, in order, with the statement
        self.imported: dict[str, int] = {}  # package as spelled -> number of events before its first import
        self.guarded_main = False  # has `if __name__ == "__main__":`
        self.exhausted = False  # the dry run stopped at its bound; later calls were not entered
        self.steps = 0  # statements, rounds and calls taken: the run's cost, for tests of its growth
        self.estimate: Any = None  # `findings.estimates.Estimated`, where the engine was to ask for one
        self._put_off: list[tuple[int, int, int]] = []
        # What `seal` sorts the events into.
        self._calls: list[Call] = []
        self._assigns: list[Assign] = []
        self._iterations: list[Iterate] = []
        self._by_name: dict[str, list[Call]] = {}
        self._by_index: dict[int, Call] | None = None
        self.answers: dict[Any, Any] = {}  # of questions that several rules ask (`queries.once`)
        self._makers: dict[int, Call] = {}
        self._cuts: dict[int, Call] | None = None

    def add(self, event: Event, index: int | None = None) -> None:
        """Record an event (a replayed one at the place where it would have stood)."""
        event.index = len(self.events) if index is None else index
        self.events.append(event)

    def put_off(self, start: int, at: int) -> None:
        """What was recorded from `start` on runs, in Python, where event `at` is: an import that was put off."""
        if at < start < len(self.events):
            self._put_off.append((start, len(self.events), at))

    def position(self, event: Event) -> float:
        """When an event runs, in terms of the other events' numbers."""
        moved = [at for start, end, at in self._put_off if start <= event.index < end]
        return min(moved) - 0.5 if moved else event.index

    def made(self, call: Call) -> Call:
        """Remember which call gave its result; the first one counts, where handlers pass a value through."""
        self._makers.setdefault(id(call.result), call)
        if call.name.endswith(".__call__"):  # a model with several outputs gives each of them
            match call.result:
                case Mapping(entries=entries):
                    parts = list(entries.values())
                case Sequence(items=list(items)):
                    parts = items
                case _:
                    parts = []
            for part in parts:
                self._makers.setdefault(id(part), call)
        return call

    def maker(self, value: Value) -> Call | None:
        """The call or operator that gave a value, if one did."""
        value = deref(value)
        if isinstance(value, Unknown):
            if value.operation is not None:
                return value.operation
            if value.made_by is not None:
                return value.made_by.call
        return self._makers.get(id(value))

    def subscript(self, value: Value) -> Call | None:
        """The subscript that cut a value out of another (`logits[:, -1]`), if one did; asked when the run has ended."""
        if self._cuts is None:
            self._cuts = {id(deref(call.result)): call for call in self.calls("operator.getitem")}
        return self._cuts.get(id(deref(value)))

    def seal(self) -> None:
        """Sort replayed events into their places; called once when the run has ended."""
        self.events.sort(key=lambda event: event.index)
        kinds: dict[type, list[Any]] = {Call: [], Assign: [], Iterate: []}
        for event in self.events:
            kinds[type(event)].append(event)
        self._calls, self._assigns, self._iterations = kinds[Call], kinds[Assign], kinds[Iterate]
        for call in self._calls:
            self._by_name.setdefault(call.name, []).append(call)

    def calls(self, *names: str) -> list[Call]:
        """Calls of any of these canonical names, in order."""
        table = self._by_name
        if len(names) == 1:
            return table.get(names[0], [])
        found = [call for name in names if name in table for call in table[name]]
        return sorted(found, key=lambda call: call.index) if len(found) > 1 else found

    def calls_under(self, prefix: str) -> list[Call]:
        """Calls whose canonical name begins with a prefix (`tf.config.`), in order."""
        return self.calls(*(name for name in self._by_name if name.startswith(prefix)))

    def calls_where(self, holds: Callable[[str], bool]) -> list[Call]:
        """Calls of whose canonical names something holds, in order; each name is asked once."""
        return self.calls(*filter(holds, self._by_name))

    def all_calls(self) -> list[Call]:
        """Every call, in order; asked when the run has ended."""
        return self._calls

    def numbered(self, indices: Iterable[int]) -> list[Call]:
        """The calls that have these numbers, in their order; asked when the run has ended."""
        if self._by_index is None:
            self._by_index = {call.index: call for call in self._calls}
        return [self._by_index[index] for index in indices if index in self._by_index]

    def assigns(self) -> list[Assign]:
        """Every binding, in order; asked when the run has ended."""
        return self._assigns

    def iterations(self) -> list[Iterate]:
        """Every for loop entered, in order; asked when the run has ended."""
        return self._iterations
