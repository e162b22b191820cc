"""Gradient tapes, gradients as values, and the optimizers that apply them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun import imports
from oomlint.dryrun.catalog.registry import (
    Iteration,
    entry,
    function,
    function_on,
    item,
    iteration,
    method,
    operator,
    prefix,
)
from oomlint.dryrun.queries import losses
from oomlint.dryrun.queries.inverses import inverse_of
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import NONE, Const, Mapping, Opaque, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.graph import Symbol
from oomlint.dryrun.values.training import STOPPED, Division, Gradients, Optimizer, Tape
from oomlint.syntax.children import code_children

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

# --- tapes --------------------------------------------------------------------------------------------


@function("tf.GradientTape", parameters="persistent watch_accessed_variables")
def make_tape(call: Call, run: Run) -> Value:
    """`tf.GradientTape()`."""
    return Tape(made_by=call, persistent=call.value("persistent") or Const(False), context=run.context)


@entry(Tape)
def enter_tape(value: Value, run: Run) -> Value:
    """`with tape as t` binds the tape."""
    return value


@method(Tape, "gradient", parameters="target sources output_gradients unconnected_gradients")
def gradient(call: Call, run: Run) -> Value:
    """`tape.gradient(loss, variables)`."""
    tape = call.receiver
    assert isinstance(tape, Tape)
    tape.gradients.append(call)
    target = call.value("target")
    loss = losses.loss_of(target, run.trace) if target is not None else None
    return Gradients(tape=tape, made_by=call, loss=loss)


@method(Tape, "jacobian", "batch_jacobian", parameters="target source")
def jacobian(call: Call, run: Run) -> Value:
    """Jacobians: tensors that no optimizer takes."""
    return Array(library="tensor")


@method(Tape, "watch", "reset", "__exit__", parameters="tensor")
def watch(call: Call, run: Run) -> Value:
    """Nothing comes back."""
    return NONE


@method(Tape, "stop_recording")
def stop_recording(call: Call, run: Run) -> Value:
    """A context manager in which the tape does not watch."""
    return Opaque(STOPPED, call)


@method(Tape, "__enter__")
def enter_by_hand(call: Call, run: Run) -> Value:
    """`tape.__enter__()` gives the tape."""
    return call.receiver or Unknown()


# --- gradients as values ------------------------------------------------------------------------------


@iteration(Gradients)
def each_gradient(value: Value, run: Run) -> Iteration:
    """A loop over gradients: what was done to all was done to each."""
    return Iteration(element=value)


@item(Gradients)
def one_gradient(value: Value, index: Value, call: Call, run: Run) -> Value:
    """One gradient of many, or some of them."""
    return value


@method(Gradients, "numpy", "astype", "copy")
def on_the_host(call: Call, run: Run) -> Value:
    """`g.numpy()`: the same numbers, as an array on the host (tag `numpy`)."""
    grads = call.receiver
    assert isinstance(grads, Gradients)
    return replace(grads, tags=grads.tags | {"numpy"})


@operator(Gradients)
def operate(call: Call, run: Run) -> Value:
    """Arithmetic on gradients."""
    left, right = (deref(argument.value) for argument in call.arguments[:2])
    name = call.name
    if isinstance(left, Gradients) and isinstance(right, Gradients):
        return _two(call, run, left, right)
    grads, other = (left, right) if isinstance(left, Gradients) else (right, left)
    assert isinstance(grads, Gradients)
    if name in ("operator.neg", "operator.pos"):
        return grads
    if name in losses.DIVIDE:
        return _divided(grads, other, call) if grads is left else Unknown()
    if name in losses.MULTIPLY:
        return _multiplied(grads, other, call)
    if name in losses.ADD:
        return _added(grads, other, call, run)
    if name.rpartition(".")[2] in ("eq", "ne", "lt", "le", "gt", "ge"):
        return Unknown(type="bool")
    return replace(grads, mixed=True)


def _divided(grads: Gradients, by: Value, call: Call) -> Gradients:
    return replace(grads, divisions=(*grads.divisions, Division(by, call)))


def _multiplied(grads: Gradients, factor: Value, call: Call) -> Gradients:
    inverse = inverse_of(call)
    if inverse is not None:
        return _divided(grads, inverse, call)
    return replace(grads, factors=(*grads.factors, factor))


def _two(call: Call, run: Run, left: Gradients, right: Gradients) -> Gradients:
    """Gradients with gradients: a running sum if the statement writes what it reads, else a mixture."""
    divisions = (*left.divisions, *(item for item in right.divisions if item not in left.divisions))
    names = carried(call, run) if call.name in losses.ADD else ()
    summed = left.summed or right.summed or bool(names)
    return replace(
        left,
        divisions=divisions,
        factors=left.factors + right.factors,
        summed=summed,
        mixed=not summed,
        sums=left.sums or right.sums or names,
    )


def _added(grads: Gradients, other: Value, call: Call, run: Run) -> Gradients:
    """Gradients plus something: an accumulator, a penalty's gradient (`0.01 * weight`), or we cannot tell."""
    names = carried(call, run)
    if names or _is_zero(other, run):
        # 0.9 * average + 0.1 * g is a moving average, not a sum over steps.
        weighted = bool(grads.factors)
        return replace(grads, summed=not weighted, mixed=grads.mixed or weighted, sums=names)
    maker = run.trace.maker(other)
    penalty = maker is not None and maker.name in losses.MULTIPLY
    return grads if penalty and not grads.factors else replace(grads, mixed=True)


def _is_zero(value: Value, run: Run) -> bool:
    value = deref(value)
    if isinstance(value, Const):
        return value.value == 0 and not isinstance(value.value, bool)
    maker = run.trace.maker(value)
    return maker is not None and maker.name.rpartition(".")[2] in ("zeros_like", "zeros")


def carried(call: Call, run: Run) -> tuple[str, ...]:
    """Names whose value goes from one round of a loop to the next: the statement reads what it binds."""
    if not any(loop.kind != "comprehension" for loop in call.context.loops()):
        return ()
    if isinstance(call.node, cst.AugAssign):
        if _is_fresh(call.arguments[0].value):
            return ()
        target = call.node.target
        return (imports.dotted(target.value if isinstance(target, cst.Subscript) else target) or "?",)
    value, names = run.targets if any(run.targets[1]) else _of_item(run)
    stack: list[Any] = [value] if value is not None and any(names) else []
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Name | cst.Attribute) and (name := imports.dotted(node)) in names:
            return () if _is_fresh(run.evaluate(node)) else (name,)
        stack.extend(code_children(node))
    return ()


def _of_item(run: Run) -> tuple[cst.CSTNode | None, tuple[str, ...]]:
    """What is written into an item (`sums[k] = sums[k] + g`), and the list's name."""
    match run.statement.node if run.statement is not None else None:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript(value=base))], value=value)]
        ):
            return value, (imports.dotted(base),)
    return None, ()


def _is_fresh(value: Value) -> bool:
    """Whether a name holds this step's own gradients: `grads = [g + 0.01 * v for ...]` sums over no steps."""
    value = deref(value)
    if isinstance(value, Sequence):
        value = deref(value.any)
    return isinstance(value, Gradients) and not value.summed


@function_on(Gradients, *sorted(losses.DIVIDE - {"operator.truediv", "operator.floordiv"}))
@function_on(Gradients, *sorted(losses.MULTIPLY - {"operator.mul"}))
@function_on(Gradients, *sorted(losses.ADD - {"operator.add", "operator.sub"}))
def arithmetic(call: Call, run: Run) -> Value:
    """`tf.divide(g, n)` and its kin are operators by another name."""
    if len(call.arguments) < 2:
        return Unknown()
    return operate(call, run)


@function_on(
    Gradients,
    *"""tf.clip_by_value tf.clip_by_norm tf.identity tf.cast tf.convert_to_tensor tf.debugging.check_numerics
    tf.reshape tf.clip_by_average_norm tf.stop_gradient keras.ops.clip keras.ops.cast keras.ops.convert_to_tensor
    tf.math.negative tf.negative""".split(),
)
def passed_through(call: Call, run: Run) -> Value:
    """Clipped, cast or reshaped gradients are still the same gradients."""
    return _gradients_in(call) or Unknown()


@function_on(Gradients, "tf.clip_by_global_norm")
@function_on(Sequence, "tf.clip_by_global_norm")
def clipped_by_norm(call: Call, run: Run) -> Value:
    """The clipped gradients and their norm before."""
    norm = Array(library="tensor", shape=(), dtype="float32")
    return Sequence("tuple", items=[deref(call.arguments[0].value), norm])


@function_on(
    Gradients,
    *"""tf.add_n tf.math.add_n tf.stack tf.reduce_mean tf.math.reduce_mean tf.reduce_sum tf.math.reduce_sum
    tf.concat tf.where""".split(),
)
def combined(call: Call, run: Run) -> Value:
    """Several gradients made one: no longer those of one step as they were."""
    grads = _gradients_in(call)
    return replace(grads, mixed=True) if grads is not None else Unknown()


@function("tf.linalg.global_norm", parameters="t_list")
def global_norm(call: Call, run: Run) -> Value:
    """One number over all gradients."""
    return Array(library="tensor", shape=(), dtype="float32")


def _gradients_in(call: Call) -> Gradients | None:
    return next(
        (value for value in (deref(a.value) for a in call.arguments) if isinstance(value, Gradients)), None
    )


@function("tf.nest.map_structure", parameters="func structure")
def map_structure(call: Call, run: Run) -> Value:
    """`tf.nest.map_structure(lambda g: g / n, gradients)`."""
    given = [deref(argument.value) for argument in call.arguments if argument.name is None]
    if len(given) < 2:
        return Unknown()
    rounds = [run.iterate(value) for value in given[1:]]
    elements = [inner.element or (inner.items[0] if inner.items else Unknown()) for inner in rounds]
    result = run.call(given[0], elements, call)
    return result if isinstance(result, Gradients) else Sequence("list", element=result, context=run.context)


# --- optimizers ---------------------------------------------------------------------------------------


@prefix("keras.optimizers.")
@function("keras.mixed_precision.LossScaleOptimizer", parameters="inner_optimizer")
def make_optimizer(call: Call, run: Run) -> Value:
    """`keras.optimizers.Adam(...)`, `keras.optimizers.get("adam")`; schedules are not optimizers."""
    name = call.name.rpartition(".")[2]
    if call.name.startswith("keras.optimizers.schedules."):
        return Opaque(call.name, call)
    if not name[:1].isupper() and name not in ("get", "deserialize"):
        return Unknown()
    config: dict[str, Value] = {}
    for position, argument in enumerate(call.arguments):
        key = argument.name or (FIRST.get(name, ("learning_rate",))[position:] or ("",))[0]
        if argument.star:
            config["**"] = Unknown()
        elif key:
            config["learning_rate" if key == "lr" else key] = deref(argument.value)
    kind = f"keras.optimizers.{name}" if name[:1].isupper() else "keras.Optimizer"
    inner = config.get("inner_optimizer") if name == "LossScaleOptimizer" else None
    return Optimizer(kind, call, config, inner)


# Parameters that people pass by position.
FIRST = {
    "SGD": ("learning_rate", "momentum", "nesterov"),
    "LossScaleOptimizer": ("inner_optimizer",),
    "Adam": ("learning_rate", "beta_1", "beta_2"),
    "RMSprop": ("learning_rate", "rho", "momentum"),
}


@method(Optimizer, "apply_gradients", parameters="grads_and_vars")
@method(Optimizer, "apply", parameters="grads trainable_variables")
def apply_gradients(call: Call, run: Run) -> Value:
    """The update."""
    return NONE


@method(Optimizer, "minimize", parameters="loss var_list")
def minimize(call: Call, run: Run) -> Value:
    """`minimize(loss, variables)`: gradient and update in one; a callable loss is called under a tape of its own."""
    tape, loss = call.value("tape"), call.value("loss")
    if isinstance(tape, Tape):
        tape.gradients.append(call)
    elif loss is not None and not isinstance(loss, Unknown | Array | Const | Symbol):
        loss = run.call(loss, [], call)
    return Gradients(made_by=call, loss=losses.loss_of(loss, run.trace) if loss is not None else None)


@method(Optimizer, "compute_gradients", "_compute_gradients", parameters="loss var_list")
def compute_gradients(call: Call, run: Run) -> Value:
    """Pairs of gradient and variable."""
    loss = call.value("loss")
    made = Gradients(made_by=call, loss=losses.loss_of(loss, run.trace) if loss is not None else None)
    return Sequence("list", element=Sequence("tuple", items=[made, Unknown()]))


@method(Optimizer, "get_unscaled_gradients", "get_scaled_loss", "scale_loss", parameters="value")
def scaled(call: Call, run: Run) -> Value:
    """Loss scaling and its reverse cancel out."""
    return deref(call.arguments[0].value) if call.arguments else Unknown()


def gradients_of(value: Value | None) -> list[Value]:
    """The gradients (or accumulators) in what an optimizer is given: pairs with variables, or a plain list."""
    value = deref(value) if value is not None else None
    match value:
        case None:
            return []
        case Sequence(items=list(items)) if items and not isinstance(deref(items[0]), Sequence):
            return [deref(item) for item in items[:64]]
        case Sequence(items=list(items)):
            return [found for item in items[:64] for found in _first_of(item)]
        case Sequence():
            return _first_of(value.any)
        case Mapping(entries=entries):
            return [deref(item) for item in entries.values()]
        case _:
            return [value]


def _first_of(pair: Value) -> list[Value]:
    pair = deref(pair)
    if isinstance(pair, Sequence) and pair.items:
        return [deref(pair.items[0])]
    return [pair]
