"""Python loops that run while a graph is traced: each of their rounds becomes a copy of the body in the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.imports import dotted
from oomlint.dryrun.queries.changing import Changes, changes_of
from oomlint.dryrun.queries.python_values import computed_by_library
from oomlint.dryrun.queries.retracing import runs_eagerly
from oomlint.dryrun.trace import Body, Call, Context, Frame, Loop, Role
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.program import Class, Function, Instance
from oomlint.dryrun.values.training import Gradients, Layer, Model
from oomlint.syntax.children import code_children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace

# Methods that Keras itself traces, and the classes that they belong to.
STEPS = frozenset(("call", "train_step", "test_step", "predict_step"))
KERAS = ("keras.Model", "keras.Layer", "keras.Sequential", "keras.layers.")
UPDATES = (
    "keras.Optimizer.apply_gradients",
    "keras.Optimizer.apply",
    "keras.Optimizer.minimize",
    "tf.GradientTape.gradient",
)
FITTING = ("keras.Model.fit", "keras.Model.train_on_batch", "keras.Model.evaluate", "keras.Model.predict")
# Handing on what is there already, or Python: no node of the graph, or hardly one.
_NO_OPS = (
    "tf.function",
    "tf.config.",
    "tf.summary.create",
    "tf.GradientTape",
    "keras.backend.floatx",
    "tf.TensorArray",
)
_WRAPPERS = frozenset(("builtins.enumerate", "builtins.zip", "builtins.iter"))


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A loop that is unrolled. `rounds` counts those of the Python loops around it in the same graph, too."""

    loop: Loop
    rounds: int | None
    function: Function
    by_keras: bool
    updates: Call | None
    inner: Call


def unrolled_loops(trace: Trace) -> Iterator[Unrolled]:
    """Each loop once, with all the Python loops inside it counted in: inner loops first."""
    if runs_eagerly(trace):
        return
    updates: dict[int, Call] = {}
    inner: dict[int, tuple[Call, tuple[Loop, ...], Function, bool]] = {}
    regions = _Regions()
    for call in trace.all_calls():
        region = regions.around(call.context)
        if region is None or not region[0] or not _is_op(call):
            continue
        loops, function, by_keras = region
        for loop in loops:
            known = inner.get(id(loop.place.node))
            if known is None or len(known[1]) < len(loops):
                inner[id(loop.place.node)] = (call, loops, function, by_keras)
            if call.name in UPDATES:
                updates.setdefault(id(loop.place.node), call)
    if not inner:
        return
    changes, keras = changes_of(trace), _keras_traces(trace)
    for key, (call, loops, function, by_keras) in inner.items():
        if by_keras and not keras:
            continue
        at = next(index for index, loop in enumerate(loops) if id(loop.place.node) == key)
        loop = loops[at]
        within = [one for one in loops[: at + 1] if _is_python(trace, one, call, changes)]
        if loop not in within:
            continue
        rounds: int | None = 1
        for one in within:
            count = _count(trace, one)
            rounds = None if rounds is None or count is None else rounds * count
        yield Unrolled(loop, rounds, function, by_keras, updates.get(key), call)


def _is_op(call: Call) -> bool:
    name = call.name
    if name.startswith(_NO_OPS) and name not in UPDATES:
        return False
    if name.startswith(("operator.", "array.")):
        return not _is_of_numpy(call)
    return name.startswith(("tf.", "keras."))


def _is_of_numpy(call: Call) -> bool:
    """Whether an operator or method works on arrays of the host alone, which leave nothing in a graph."""
    operands = [argument.value for argument in call.arguments]
    if call.receiver is not None:
        operands.append(call.receiver)
    arrays = [value for value in map(deref, operands) if isinstance(value, Array)]
    return bool(arrays) and all(value.library in ("numpy", "pandas") for value in arrays)


_Region = tuple[tuple[Loop, ...], Function, bool]


class _Regions:
    """Where events stand in a function that is traced; by the contexts, which they share with one another."""

    def __init__(self) -> None:
        self._known: dict[int, _Region | None] = {}

    def around(self, context: Context) -> _Region | None:
        """The loops around an event in the function that is traced, that function, and whether Keras traces it."""
        waiting: list[Context] = []
        around: Context | None = context
        while around is not None and id(around) not in self._known:
            waiting.append(around)
            around = around.parent
        region = None if around is None else self._known[id(around)]
        for one in reversed(waiting):
            region = self._known[id(one)] = _inside(region, one.frame)
        return region


def _inside(region: _Region | None, frame: Frame | None) -> _Region | None:
    match frame:
        case Loop():
            return None if region is None else ((frame, *region[0]), *region[1:])
        case Role(name="tf.function", value=Function() as function) if "tf.function" in function.flags:
            return (), function, False
        case Role(name=name) if name.startswith("tf.data."):
            return None
        case Body(function=function) if is_keras_step(function):
            return (), function, True
    return region


def is_keras_step(function: Function) -> bool:
    """Whether Keras calls a method of the program while it traces: `call`, `train_step`."""
    if function.name not in STEPS or not isinstance(function.owner, Class):
        return False
    return any(name.startswith(KERAS) for name in function.owner.library_bases())


def _keras_traces(trace: Trace) -> bool:
    """Whether what Keras traces is traced: not with `run_eagerly`, nor in a training loop that runs eagerly."""
    if any(call.const("run_eagerly", False) is True for call in trace.calls("keras.Model.compile")):
        return False
    if trace.calls(*FITTING):
        return True
    updates = trace.calls(*UPDATES)
    return all(call.context.role("tf.function") is not None or _in_step(call.context) for call in updates)


def _in_step(context: Context) -> bool:
    return any(is_keras_step(body.function) for body in context.all(Body))


def _is_python(trace: Trace, loop: Loop, call: Call, changes: Changes) -> bool:
    """Whether Python runs the rounds: not AutoGraph, which makes one loop in the graph of a tensor or dataset."""
    node = loop.place.node
    if isinstance(node, cst.While):
        return _counter(node) is not None
    value = deref(loop.iterable) if loop.iterable is not None else None
    if loop.kind == "comprehension":
        return value is not None and isinstance(value, Sequence | Array | Dataset) and not _over_tensor(value)
    if isinstance(value, Array):
        return not _over_tensor(value)
    if not isinstance(value, Sequence) or value.kind == "tensor" or _in_graph(trace, value):
        return False
    if _is_part(value.any) or _counts_parts(trace, node):
        return False
    return not _range_of_tensor(getattr(node, "iter", None), call, changes)


def _counts_parts(trace: Trace, node: cst.CSTNode) -> bool:
    """Whether the loop's number picks the layer of the round: `for i in range(n): x = self.convs[i](x)`."""
    if not isinstance(node, cst.For) or not isinstance(node.target, cst.Name):
        return False
    stack: list[cst.CSTNode] = [node.body]
    while stack:
        current = stack.pop()
        match current:
            case cst.Call(
                func=cst.Subscript(
                    value=cst.Name() | cst.Attribute() as parts,
                    slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Name(value=index)))],
                )
            ) if index == node.target.value:
                path = dotted(parts)
                held = [deref(assign.value) for assign in trace.assigns() if assign.path == path]
                if any(isinstance(value, Sequence) and _is_part(value.any) for value in held):
                    return True
        stack.extend(code_children(current))
    return False


def _is_part(value: Value) -> bool:
    """Whether a round has a part of the network of its own, a layer or weight, that has to be in the graph anyway."""
    value = deref(value)
    if isinstance(value, Sequence) and value.kind == "tuple":
        return any(_is_part(item) for item in value.items or ())
    if isinstance(value, Array):
        return value.library == "variable"
    return isinstance(value, Layer | Model | Function | Gradients) or (
        isinstance(value, Instance) and value.facet is not None
    )


def _over_tensor(value: Value) -> bool:
    return isinstance(value, Array) and value.library not in ("numpy", "memmap", "h5py")


def _in_graph(trace: Trace, value: Value, depth: int = 0) -> bool:
    """Whether AutoGraph makes a loop in the graph of it: a tensor, a dataset, `enumerate` or `zip` of such."""
    value = deref(value)
    if isinstance(value, Dataset) or _over_tensor(value):
        return True
    maker = trace.maker(value)
    if maker is None or maker.name not in _WRAPPERS or depth > 4:
        return False
    return any(_in_graph(trace, argument.value, depth + 1) for argument in maker.arguments)


def _range_of_tensor(node: cst.CSTNode | None, call: Call, changes: Changes) -> bool:
    """`range(n)` with a tensor n."""
    if not isinstance(node, cst.Call) or dotted(node.func) != "range":
        return False
    return any(
        computed_by_library(argument.value, call.context, changes, ("tf.", "keras."))
        for argument in node.args
    )


# --- how often ------------------------------------------------------------------------------------------


def _count(trace: Trace, loop: Loop) -> int | None:
    node = loop.place.node
    if isinstance(node, cst.While):
        return _while_rounds(trace, loop, node)
    trip = loop.trip
    return trip.value if trip is not None and isinstance(trip.value, int) else None


def _counter(node: cst.While) -> str | None:
    """The name in `while counter < bound`."""
    match node.test:
        case cst.Comparison(
            left=cst.Name(value=name),
            comparisons=[cst.ComparisonTarget(operator=cst.LessThan() | cst.LessThanEqual())],
        ):
            return name
    return None


def _while_rounds(trace: Trace, loop: Loop, node: cst.While) -> int | None:
    """The rounds of a counter to which Python adds the same number in each."""
    name, end = _counter(node), _integer(loop.bound)
    if name is None or end is None:
        return None
    start: int | None = None
    step: int | None = None
    for assign in trace.assigns():
        if assign.path != name:
            continue
        value = _integer(assign.value)
        if loop in assign.context.loops():
            if _adds(assign.statement.node if assign.statement is not None else None, name):
                step = value - start if value is not None and start is not None else None
            break
        start = value
    if start is None or step is None or step <= 0:
        return None
    return max(0, -(-(end - start) // step))


def _integer(value: Value | None) -> int | None:
    value = deref(value) if value is not None else None
    return value.value if isinstance(value, Const) and isinstance(value.value, int) else None


def _adds(statement: cst.CSTNode | None, name: str) -> bool:
    """Whether a line is `counter += step` or `counter = counter + step`."""
    match statement:
        case cst.SimpleStatementLine(body=[cst.AugAssign(operator=cst.AddAssign())]):
            return True
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(value=cst.BinaryOperation(left=cst.Name(value=left), operator=cst.Add()))
                | cst.AnnAssign(value=cst.BinaryOperation(left=cst.Name(value=left), operator=cst.Add()))
            ]
        ):
            return left == name
    return False


# --- whether AutoGraph could take it -------------------------------------------------------------------


def converts_to_range(trace: Trace, found: Unrolled) -> bool:
    """Whether `tf.range` in place of `range` leaves the loop working, as far as can be seen."""
    node = found.loop.place.node
    if not isinstance(node, cst.For) or not isinstance(node.target, cst.Name) or found.by_keras:
        return False
    if not isinstance(node.iter, cst.Call) or dotted(node.iter.func) != "range":
        return False
    index = node.target.value
    stack: list[tuple[cst.CSTNode, cst.CSTNode]] = [(child, node.body) for child in code_children(node.body)]
    while stack:
        current, parent = stack.pop()
        match current:
            case cst.Return() | cst.Yield() | cst.FormattedString() | cst.Lambda() | cst.FunctionDef():
                return False
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="append" | "extend" | "insert"))):
                return False
            case cst.Name(value=name) if name == index != "_" and not isinstance(
                parent, cst.Comparison | cst.ComparisonTarget
            ):
                return False
        stack.extend((child, current) for child in code_children(current))
    return _carries_tensors(trace, found.loop, found.function)


def _carries_tensors(trace: Trace, loop: Loop, function: Function) -> bool:
    """Whether every name that the rounds bind is a tensor before them, or is not read after them."""
    before: dict[str, object] = {}
    inside: set[str] = set()
    for assign in trace.assigns():
        if loop in assign.context.loops():
            if assign.context.innermost(Body) is not None and "." not in assign.path:
                inside.add(assign.path)
        elif not inside:
            before[assign.path] = deref(assign.value)
    parameters = function.node.params
    before.update({one.name.value: None for one in (*parameters.posonly_params, *parameters.params)})
    body = function.node.body
    for name in inside:
        known = before.get(name, ...)
        if known is ... and _mentions(body, name, loop.place.node):
            return False
        if isinstance(known, Const | Sequence):
            return False
    return True


def _mentions(node: cst.CSTNode, name: str, besides: cst.CSTNode) -> bool:
    stack = [node]
    while stack:
        current = stack.pop()
        if current is besides:
            continue
        if isinstance(current, cst.Name) and current.value == name:
            return True
        stack.extend(code_children(current))
    return False
