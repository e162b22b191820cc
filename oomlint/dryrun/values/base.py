"""Abstract values: what the dry run knows about the result of an expression.

Every field of a value has a default that means "not known", so that two values of one kind can be
joined field by field (:func:`join`). A constant carries its trail: the places it passed on its
way, which is the evidence printed beside a size.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from oomlint.syntax.place import Place
from oomlint.syntax.records import plain_record

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call

MAX_TRAIL = 8  # longer ways are cut in the middle: the origin and the last stops are what a reader wants


@plain_record
class Step:
    """One stop of a value on its way: a name it was bound to, or the call that made it."""

    text: str
    place: Place | None = None


Trail = tuple[Step, ...]


def extend(trail: Trail, step: Step) -> Trail:
    """The trail with one more stop."""
    if len(trail) < MAX_TRAIL:
        return (*trail, step)
    return (*trail[: MAX_TRAIL - 2], trail[-1], step)


def merge(*trails: Trail) -> Trail:
    """The stops of several trails, each once, in order (for the result of arithmetic)."""
    merged: dict[int, Step] = {}
    for trail in trails:
        for step in trail:
            merged.setdefault(id(step), step)
    return tuple(merged.values())[:MAX_TRAIL]


class Value:
    """Base of all abstract values. `api` is the canonical library type, for naming method calls."""

    __slots__ = ("perhaps",)  # set where the value stands for a join with None or an unknown (see `join`)
    api: ClassVar[str] = ""

    def bound(self, name: str, place: Place) -> Value:
        """This value after it was bound to a name (constants remember that)."""
        return self


@dataclass(slots=True, eq=False)
class Unknown(Value):
    """Nothing is known, except perhaps the Python type and what it was computed from.

    `tags` say what flowed in (`replicas`, `gpu-count`, ...) and survive arithmetic and unknown calls.
    An unknown receiver collects the method calls made on it (`pending`); when its use shows what
    it is (a Dataset, a Model), `role` is set and those calls are replayed as real events.
    """

    type: str | None = None
    tags: frozenset[str] = frozenset()
    name: str | None = None
    attributes: dict[str, Value] = field(default_factory=dict)
    pending: list[Pending] = field(default_factory=list)
    made_by: Pending | None = None
    role: Value | None = None
    operation: Call | None = None  # the operator that gave it (not in the trace)
    taken: Value | None = None  # the index by which it was taken out of another unknown

    def __repr__(self) -> str:
        facts = [self.type or "", self.name or "", *sorted(self.tags)]
        return f"<unknown {' '.join(fact for fact in facts if fact)}>"


@dataclass(slots=True, eq=False)
class Pending:
    """A method call on an unknown receiver, kept until its use tells what the receiver is."""

    receiver: Unknown
    method: str
    call: Call
    result: Unknown

    def __repr__(self) -> str:
        return f"<pending {self.method}>"


@plain_record
class Const(Value):
    """A Python constant (number, string, bytes, bool, None, Ellipsis), with the way it came.

    A `soft` constant is a default that the command line, the environment, a caller or a later round of a
    loop may replace: good for sizes, not for deciding a branch.
    """

    value: Any
    trail: Trail = field(default=(), compare=False)
    soft: bool = field(default=False, compare=False)

    def bound(self, name: str, place: Place) -> Value:
        """The same constant with one more stop on its trail."""
        return Const(self.value, extend(self.trail, Step(name, place)), self.soft)

    def softened(self) -> Const:
        """The same constant, no longer good for deciding a branch."""
        return self if self.soft else Const(self.value, self.trail, True)


NONE = Const(None)


@dataclass(slots=True, eq=False)
class Sequence(Value):
    """A list, tuple, set, deque or generator.

    `items` when every element is known one by one; else `element` stands for all of them and `count`
    says how many there are (None: not known). Lists change in place, as in Python.
    """

    api: ClassVar[str] = "builtins.list"
    kind: str = "list"
    items: list[Value] | None = None
    element: Value | None = None
    count: Const | None = None
    tags: frozenset[str] = frozenset()
    context: Any = None  # where it was made; an append deeper inside a loop is one of many
    loop: Any = None  # the comprehension or `map` that made it
    parts: tuple[Sequence, ...] = ()  # lists whose elements were put into it, or rows that it is a column of

    @property
    def length(self) -> Const | None:
        """How many elements, where that is known."""
        return Const(len(self.items)) if self.items is not None else self.count

    @property
    def any(self) -> Value:
        """One value that stands for every element."""
        if self.items is not None:
            return join_all(self.items) if self.items else Unknown()
        return self.element if self.element is not None else Unknown()

    def bound(self, name: str, place: Place) -> Value:
        """This sequence; constants in a short one (a shape, a size) remember the name that it got."""
        if self.items is not None and len(self.items) <= 8:
            step = Step(name, place)
            for index, item in enumerate(self.items):
                if isinstance(item, Const) and not item.trail:
                    self.items[index] = Const(item.value, (step,), item.soft)
        return self

    def summarise(self, count: Const | None) -> None:
        """Forget the single elements and keep what they have in common."""
        self.element = self.any if self.items != [] else None
        self.items = None
        self.count = count


@dataclass(slots=True, eq=False)
class Mapping(Value):
    """A dictionary. `complete` is false once a key that is not known was written."""

    api: ClassVar[str] = "builtins.dict"
    entries: dict[Any, Value] = field(default_factory=dict)
    complete: bool = True
    other: Value | None = None  # what stands under keys that are not known
    context: Any = None


@dataclass(slots=True, eq=False)
class Namespace(Value):
    """An object with attributes that are plain data: argparse.Namespace, SimpleNamespace, flags."""

    api: ClassVar[str] = "types.SimpleNamespace"
    attributes: dict[str, Value] = field(default_factory=dict)


@plain_record
class Slice(Value):
    """A slice in a subscript, or `slice(...)`."""

    start: Value = NONE
    stop: Value = NONE
    step: Value = NONE


@plain_record
class Opaque(Value):
    """An object of a library type about which only its making is known (a loss, a callback, a ConfigProto).

    `type` is the canonical name of its class; attribute writes on it are kept in `attributes`.
    """

    type: str
    made_by: Call | None = None
    attributes: dict[str, Value] = field(default_factory=dict, compare=False)

    def joined(self, other: Opaque) -> Value:
        """The value where two ways meet: one of two objects of a type, which one is not known."""
        if self.type != other.type:
            return Unknown()
        if self.made_by is other.made_by and self.attributes == other.attributes:
            return self
        return Opaque(self.type, None, {**other.attributes, **self.attributes})


def deref(value: Value) -> Value:
    """What an unknown turned out to be, if its use has shown it."""
    while isinstance(value, Unknown) and value.role is not None:
        value = value.role
    return value


def parts_of(value: Value) -> list[Value]:
    """What a list, tuple or dictionary holds, where that is known one by one; else the value itself."""
    match value:
        case Sequence(items=list(items)):
            return [deref(item) for item in items]
        case Mapping(entries=entries):
            return [deref(item) for item in entries.values()]
    return [value]


def tags_of(value: Value) -> frozenset[str]:
    """The tags of a value and, for a sequence, of what stands for its elements."""
    return getattr(value, "tags", frozenset())


def join(left: Value, right: Value) -> Value:
    """The value after two ways meet.

    Kinds that carry evidence (arrays, datasets, models) win over unknown: the claim holds on
    the way that makes them. Two different constants, or a constant and unknown, are unknown.
    """
    left, right = deref(left), deref(right)
    if left is right:
        return left
    if isinstance(left, Unknown):
        left, right = right, left
    if isinstance(right, Unknown):
        if isinstance(left, Const | Unknown):
            kind = left.type if isinstance(left, Unknown) else type(left.value).__name__
            joined = Unknown(type=kind if kind == right.type else None, tags=tags_of(left) | right.tags)
            joined.operation = (
                getattr(left, "operation", None) or right.operation
            )  # it holds on one of the ways
            return joined
        return doubted(left)
    if isinstance(left, Const) and left.value is None:
        return doubted(right)
    if isinstance(right, Const) and right.value is None:
        return doubted(left)
    if type(left) is not type(right):
        return _of_two_kinds(left, right)
    if isinstance(left, Const) and isinstance(right, Const):
        if type(left.value) is type(right.value):
            if left.value == right.value:
                return left if left.soft else right
            return Unknown(type=type(left.value).__name__)
        return Unknown()
    return _fieldwise(left, right)


def doubted(value: Value) -> Value:
    """The value, marked as one that may not be there: `is None` and `in` decide no branch any more."""
    if isinstance(value, Const):
        return value.softened()
    if not isinstance(value, Unknown):
        object.__setattr__(value, "perhaps", True)
    return value


def _of_two_kinds(left: Value, right: Value) -> Value:
    """Two kinds: the richer one, if the other is a bare constant; else unknown, unless one kind prevails."""
    for one, other in ((left, right), (right, left)):
        prevail = getattr(one, "prevail", None)
        if prevail is not None:
            result: Value = prevail(other)
            return result
    if isinstance(left, Const):
        return right
    return left if isinstance(right, Const) else Unknown(tags=tags_of(left) | tags_of(right))


def _fieldwise(left: Any, right: Any) -> Value:
    """Join two values of one class; fields that differ fall back to their defaults (not known)."""
    custom = getattr(left, "joined", None)
    if custom is not None:
        result: Value = custom(right)
        return result
    if isinstance(left, Sequence):
        return _join_sequences(left, right)
    if isinstance(left, Mapping):
        keys = left.entries.keys() | right.entries.keys()
        entries = {
            key: join(left.entries[key], right.entries[key])
            if key in left.entries and key in right.entries
            else left.entries.get(key) or right.entries[key]
            for key in sorted(keys, key=str)
        }
        return Mapping(
            entries, left.complete and right.complete and left.entries.keys() == right.entries.keys()
        )
    changes: dict[str, Any] = {}
    for item in fields(left):
        one, two = getattr(left, item.name), getattr(right, item.name)
        if one is two:
            continue
        if item.name == "tags":
            changes[item.name] = one | two
        elif isinstance(one, Value) and isinstance(two, Value):
            met = join(one, two)  # a field that is not known is None, not Unknown
            unknown = isinstance(met, Unknown) and item.default is None
            changes[item.name] = None if unknown else met
        elif one != two:
            if item.default is not None and not isinstance(item.default, str | bool | frozenset | tuple):
                return Unknown(tags=tags_of(left) | tags_of(right))
            changes[item.name] = item.default
    joined: Value = replace(left, **changes) if changes else left
    return joined


def _join_sequences(left: Sequence, right: Sequence) -> Sequence:
    if left.items is not None and right.items is not None and len(left.items) == len(right.items):
        pairs = zip(left.items, right.items, strict=True)
        return Sequence(left.kind, items=[join(one, two) for one, two in pairs], tags=left.tags | right.tags)
    parts = [side.any for side in (left, right) if side.items != []]
    count = left.count if left.count is not None and left.count == right.count else None
    return Sequence(left.kind, element=join_all(parts), count=count, tags=left.tags | right.tags)


def join_all(values: list[Value]) -> Value:
    """The join of any number of values (unknown for none)."""
    if not values:
        return Unknown()
    result = values[0]
    for value in values[1:64]:  # what many elements have in common shows in the first ones
        result = join(result, value)
    return result
