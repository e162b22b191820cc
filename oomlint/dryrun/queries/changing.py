"""Which expressions have another value in every round of a loop, and where that value changes.

The dry run takes a loop once, so one value stands for all its rounds. Whether the value changes is read from
what binds the names in the expression: the loop itself, a running count, a call that gives something new.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.queries.few import sweeps
from oomlint.dryrun.queries.function_names import is_global, parameters
from oomlint.dryrun.queries.once import once_per_trace
from oomlint.dryrun.queries.python_values import of_a_property
from oomlint.dryrun.queries.written import multiplies
from oomlint.dryrun.trace import Assign, Body, Call, Context, Loop
from oomlint.dryrun.values.base import Sequence, deref
from oomlint.syntax.blocks import ends_when_told
from oomlint.syntax.uses import names_in, uses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oomlint.dryrun.trace import Trace
    from oomlint.syntax.place import Place

# Calls without arguments, or with the same ones, that give something new each time.
_FRESH = ("random.", "numpy.random.", "time.", "uuid.", "secrets.")
_NOT_FRESH = ("random.seed", "random.choice", "random.shuffle", "numpy.random.seed", "numpy.random.choice")
_TWO_VALUES = frozenset(("bool", "isinstance", "callable", "hasattr", "any", "all"))
GROWING = ("builtins.list.append", "builtins.list.extend", "builtins.list.insert", "builtins.list.add")
_JOINING = ("concat", "concatenate", "append", "vstack", "hstack", "column_stack", "row_stack")
FEW = 4  # values that may be told apart without being a leak: TensorFlow starts to warn with the fifth trace
SMALL_RANGE = 16
MAX_DEPTH = 12
# Expressions looked at for one question: forty blocks that each keep `params` as `self.params` have more ways back than
# anybody counts. Of 844 questions that 182 public repositories gave, what changes was found within 23 looks, and that
# nothing does took 454 at most.
MAX_LOOKS = 1_000


@dataclass(frozen=True, slots=True)
class Change:
    """An expression changes in every round of `loop`, because of what stands at `place`."""

    loop: Loop
    place: Place
    goes_on: bool = False  # a running count: the next run of the loop does not begin anew

    @property
    def values(self) -> int | None:
        """How many values it takes at most, if known."""
        trip = self.loop.trip
        return None if trip is None or self.goes_on or not isinstance(trip.value, int) else trip.value


class Changes:
    """The bindings of a trace, by name, for questions about expressions."""

    def __init__(self, trace: Trace) -> None:
        self._assigns: dict[str, list[Assign]] = {}
        # The same by the run of a function that they are in; None: by none.
        self._of_run: dict[tuple[str, Body | None], list[Assign]] = {}
        bodies: dict[int, Body | None] = {}
        for assign in trace.assigns():
            context = assign.context
            if id(context) not in bodies:
                bodies[id(context)] = context.innermost(Body)
            self._assigns.setdefault(assign.path, []).append(assign)
            self._of_run.setdefault((assign.path, bodies[id(context)]), []).append(assign)
        self._looks = 0
        self._asked: set[tuple[str, int]] = set()  # names whose change is being looked for, by their context
        self._calls: dict[int, Call] = {}
        self._grown: dict[str, list[Call]] = {}
        self._put_into: dict[int, list[Call]] = {}
        for call in trace.all_calls():
            if call.name == "tf.function.call":
                continue
            self._calls.setdefault(id(call.node), call)
            if call.name in GROWING and call.path is not None:
                self._grown.setdefault(call.path, []).append(call)
                if call.receiver is not None:
                    self._put_into.setdefault(id(deref(call.receiver)), []).append(call)

    def call_at(self, node: cst.CSTNode) -> Call | None:
        """The library call that an expression is, if it is one."""
        return self._calls.get(id(node))

    def of(self, node: cst.CSTNode, context: Context, depth: int = 0) -> Change | None:
        """How the expression changes in the rounds of the loops around it; None if it does not, or only a little."""
        self._looks = self._looks + 1 if depth else 0
        if depth > MAX_DEPTH or self._looks > MAX_LOOKS:
            return None
        match node:
            case cst.Attribute(attr=cst.Name(value="iterations")):
                loop = context.innermost(Loop)  # an optimizer counts its updates
                return None if loop is None else Change(loop, loop.place, True)
            case cst.Attribute(attr=cst.Name(value="shape" | "ndim" | "dtype")):
                return None  # of a batch: the same for each but the last
            case cst.Name() | cst.Attribute() if path := dotted(node):
                found = self._name(path, context, depth)
                if found is None and isinstance(node, cst.Attribute) and path not in self._assigns:
                    found = self.of(of_a_property(node, context) or node.value, context, depth + 1)
                return found
            case cst.Attribute(value=inner):
                return self.of(inner, context, depth + 1)
            case cst.BinaryOperation(left=left, operator=operator, right=right):
                if isinstance(operator, cst.Modulo) and not isinstance(left, cst.SimpleString):
                    large = isinstance(right, cst.Integer) and int(right.value, 0) > SMALL_RANGE
                    return self.of(left, context, depth + 1) if large else None
                return self._any((left, right), context, depth)
            case cst.UnaryOperation(operator=cst.Not()) | cst.Comparison():
                return None
            case cst.UnaryOperation(expression=inner):
                return self.of(inner, context, depth + 1)
            case cst.BooleanOperation(left=left, right=right):
                return self._any((left, right), context, depth)
            case cst.IfExp(body=one, orelse=other):
                return self._any((one, other), context, depth)
            case cst.Call():
                return self._call(node, context, depth)
            case cst.Subscript(value=value, slice=elements):
                parts: list[cst.CSTNode] = [value]
                for element in elements:
                    if isinstance(element.slice, cst.Index):
                        parts.append(element.slice.value)
                return self._any(parts, context, depth)
            case cst.FormattedString(parts=pieces):
                inside = [
                    piece.expression for piece in pieces if isinstance(piece, cst.FormattedStringExpression)
                ]
                return self._any(inside, context, depth)
            case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Set(elements=elements):
                return self._any([element.value for element in elements], context, depth)
            case cst.Dict(elements=entries):
                return self._any([entry.value for entry in entries], context, depth)
        return None

    def _any(self, nodes: Iterable[cst.CSTNode], context: Context, depth: int) -> Change | None:
        found = (self.of(node, context, depth + 1) for node in nodes)
        return next((change for change in found if change is not None), None)

    def _call(self, node: cst.Call, context: Context, depth: int) -> Change | None:
        path = dotted(node.func)
        if path in _TWO_VALUES:
            return None
        known = self.call_at(node)
        name = known.name if known is not None else path
        loop = context.innermost(Loop)
        arguments = [argument.value for argument in node.args]
        if name.startswith(_FRESH) and not name.startswith(_NOT_FRESH) and known is not None:
            few = _small_range(arguments) if name.endswith("randint") else False
            return Change(loop, known.place) if loop is not None and not few else None
        if name.startswith(_NOT_FRESH):
            return None
        if path == "next" and loop is not None and known is None:
            return Change(loop, loop.place, True)
        receiver = [node.func.value] if isinstance(node.func, cst.Attribute) else []
        if path == "len":
            argument = dotted(arguments[0]) if arguments else ""
            return self.grown(argument, context) if argument else None
        return self._any([*arguments, *receiver], context, depth)

    def joined(self, path: str, context: Context) -> Change | None:
        """Whether an array or tensor gets longer in the rounds of a loop around: `x = tf.concat([x, new], 0)`."""
        for assign in self._assigns.get(path, ()):
            value = value_of(assign)
            known = self.call_at(value) if value is not None else None
            loop = _shared(assign.context, context, context.innermost(Body) if "." not in path else None)
            if known is None or loop is None or value is None:
                continue
            whole = [use for use in uses(cst.Arg(value), path) if not isinstance(use.parent, cst.Subscript)]
            if not whole:  # `np.concatenate([frames[1:], new])` stays as long as it was
                continue
            if known.name.rpartition(".")[2] in _JOINING and known.name.startswith(("tf.", "numpy.")):
                return Change(loop, assign.place)
        return None

    def grown(self, path: str, context: Context) -> Change | None:
        """Whether a list gets longer in the rounds of a loop around."""
        for call in self._grown.get(path, ()):
            loop = _shared(call.context, context, None)
            made = getattr(call.receiver, "context", None)
            if loop is not None and not (isinstance(made, Context) and loop in made.loops()):
                return Change(loop, call.place, _goes_on(loop, context, None))
        return None

    def filled(self, value: Sequence, context: Context) -> Change | None:
        """Whether a list is begun anew in every round, and gets as long as a loop in the round happens to go on."""
        began = value.context.loops() if isinstance(value.context, Context) else []
        around = next((loop for loop in context.loops() if loop in began), None)
        for call in self._put_into.get(id(value), ()) if around is not None else ():
            loops = call.context.loops()
            inner = loops[: loops.index(around)] if around in loops else []
            if any(ends_when_told(loop.place.node) for loop in inner):
                return Change(around, call.place) if around is not None else None
        return None

    def _name(self, path: str, context: Context, depth: int) -> Change | None:
        key = path, id(context)
        if key in self._asked:  # in a circle: `x = f(y)`, `y = g(x)`
            return None
        self._asked.add(key)
        try:
            return self._named(path, context, depth)
        finally:
            self._asked.remove(key)

    def _named(self, path: str, context: Context, depth: int) -> Change | None:
        body = context.innermost(Body)
        local = "." not in path and not (body is not None and is_global(path, body))
        here = self._of_run.get((path, body), []) if local else self._assigns.get(path, [])
        if local and not here and body is not None:
            outside = _before(context, body)
            argument = _argument_for(path, body, self)
            if argument is not None:
                return self.of(argument, outside, depth + 1)
            if path in parameters(body):
                return None
            here = self._of_run.get((path, None), [])
            body = None
        for assign in here:
            found = self._binding(assign, path, context, body if local else None, depth)
            if found is not None:
                return found
        return None

    def _binding(
        self, assign: Assign, path: str, context: Context, body: Body | None, depth: int
    ) -> Change | None:
        """Whether one binding of a name makes it change."""
        around = context.loops()
        own = _loop_of_target(assign)
        if own is not None:
            swept = _few(own) or sweeps(own, self._assigns, self._grown, SMALL_RANGE)
            return Change(own, assign.place) if own in around and not swept else None
        shared = _shared(assign.context, context, body)
        if assign.augmented == "del":
            return None
        if assign.augmented:
            if multiplies(assign, lambda name: self._assigns.get(name, ())):
                return None
            return None if shared is None else Change(shared, assign.place, _goes_on(shared, context, body))
        value = value_of(assign)
        if value is None:
            return None
        if shared is not None and path in names_in(value):
            return Change(shared, assign.place, _goes_on(shared, context, body))
        found = self.of(value, assign.context, depth + 1)
        return found if found is not None and found.loop in around else None

    def bound(self, path: str, context: Context) -> tuple[cst.CSTNode, Context] | None:
        """The expression that a name stands for, where one statement of the same function binds it."""
        body = context.innermost(Body)
        here = self._of_run.get((path, body), [])
        if not here and body is not None and "." not in path:
            argument = _argument_for(path, body, self)
            if argument is not None:
                return argument, _before(context, body)
        values = {id(value): (value, assign) for assign in here if (value := value_of(assign)) is not None}
        if len(values) != 1:
            return None
        value, assign = next(iter(values.values()))
        return value, assign.context


changes_of = once_per_trace(Changes)


def _few(loop: Loop) -> bool:
    """Whether a loop has few rounds, or goes over values that the text lists one by one: a sweep, which ends."""
    if loop.trip is None or not isinstance(loop.trip.value, int):
        return False
    items = deref(loop.iterable) if loop.iterable is not None else None
    listed = isinstance(items, Sequence) and items.kind in ("list", "tuple") and items.items is not None
    return loop.trip.value <= (SMALL_RANGE if listed else FEW)


def value_of(assign: Assign) -> cst.BaseExpression | None:
    """What an assignment binds the name to, or, where it unpacks, takes apart."""
    statement = assign.statement.node if assign.statement is not None else None
    if not isinstance(statement, cst.SimpleStatementLine):
        return None
    for small in statement.body:
        if isinstance(small, cst.Assign):
            targets = [target.target for target in small.targets]
        elif isinstance(small, cst.AnnAssign) and small.value is not None:
            targets = [small.target]
        else:
            continue
        for target in targets:
            parts = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else []
            if target is assign.place.node:
                return small.value
            if any(part is assign.place.node for part in parts):
                values = small.value
                if isinstance(values, cst.Tuple) and len(values.elements) == len(parts):
                    at = next(index for index, part in enumerate(parts) if part is assign.place.node)
                    return values.elements[at].value
                return values
    return None


def _loop_of_target(assign: Assign) -> Loop | None:
    """The loop whose own target a binding is."""
    frame = assign.context.frame
    if not isinstance(frame, Loop):
        return None
    if frame.kind == "comprehension":
        return frame
    statement = assign.statement.node if assign.statement is not None else None
    return frame if statement is frame.place.node else None


def _shared(one: Context, other: Context, body: Body | None) -> Loop | None:
    """The innermost loop around both; within a function's body where the name lives no longer than that."""
    others = other.loops()
    for frame in one.frames():
        if frame is body and body is not None:
            return None
        if isinstance(frame, Loop) and frame in others:
            return frame
    return None


def _goes_on(loop: Loop, context: Context, body: Body | None) -> bool:
    """Whether the loop itself is run again and again while what it counts lives."""
    loops = context.loops()
    if body is not None:
        inner = [frame for frame in context.since(body) if isinstance(frame, Loop)]
        loops = [one for one in loops if one in inner]
    return loop is not loops[-1] if loops else False


def _before(context: Context, body: Body) -> Context:
    """The context in which a function was called."""
    current: Context | None = context
    while current is not None and current.frame is not body:
        current = current.parent
    return current.parent if current is not None and current.parent is not None else Context()


def _argument_for(path: str, body: Body, changes: Changes) -> cst.BaseExpression | None:
    """What the call of a function gives for one of its parameters."""
    if not body.called or body.site is None or not isinstance(body.site.node, cst.Call):
        return None
    call = body.site.node
    if changes.call_at(call) is not None or dotted(call.func) in ("map", "filter", "sorted"):
        return None  # a library calls it, with arguments of its own
    names = parameters(body)
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == path:
            return argument.value
    if path not in names:
        return None
    function = body.function
    bound = function.owner is not None and "staticmethod" not in function.flags
    position = names.index(path) - bound
    plain = [argument for argument in call.args if argument.keyword is None]
    if any(argument.star for argument in plain[: position + 1]) or not 0 <= position < len(plain):
        return None
    return plain[position].value


def _small_range(arguments: list[cst.BaseExpression]) -> bool:
    """`randint(0, 8)`: few values."""
    bounds = [int(node.value, 0) for node in arguments if isinstance(node, cst.Integer)]
    return (
        len(bounds) == len(arguments) and bool(bounds) and max(bounds) - min([0, *bounds[:-1]]) <= SMALL_RANGE
    )
