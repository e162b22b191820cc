"""TensorFlow 1 (and `tf.compat.v1`): graphs, sessions, placeholders, and what is computed from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import (
    attribute,
    duck,
    function,
    function_on,
    item,
    method,
    operator,
    prefix,
)
from oomlint.dryrun.values.base import NONE, Opaque, Sequence, Unknown, Value
from oomlint.dryrun.values.graph import Symbol
from oomlint.dryrun.values.training import Optimizer

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call
    from oomlint.dryrun.values.base import Pending


# --- graphs and sessions --------------------------------------------------------------------------------


@function(
    "tf.get_default_session",
    "tf.train.MonitoredTrainingSession",
    "tf.train.MonitoredSession",
    "tf.train.SingularMonitoredSession",
    "keras.backend.get_session",
)
def some_session(call: Call, run: Run) -> Value:
    """A session, however it came about."""
    return Opaque("tf.Session", call)


@duck
def session_by_feed(pending: Pending, run: Run) -> Value | None:
    """`x.run(fetches, feed_dict=...)`: only a session is fed so."""
    named = any(argument.name == "feed_dict" for argument in pending.call.arguments)
    return Opaque("tf.Session") if pending.method == "run" and named and "tf" in run.trace.libraries else None


@function("keras.backend.function", parameters="inputs outputs updates name")
def session_function(call: Call, run: Run) -> Value:
    """A call of it runs the session."""
    return Opaque("keras.backend.function", call)


# --- what a graph is made of ----------------------------------------------------------------------------


@function(
    "tf.placeholder",
    "tf.placeholder_with_default",
    "keras.backend.placeholder",
    parameters="dtype shape name",
)
@function("tf.get_variable")
@prefix("tf.layers.", "tf.contrib.layers.", "tf.contrib.slim.")
def symbol(call: Call, run: Run) -> Value:
    """A tensor of the graph. Classes of layers are no tensors yet."""
    return Unknown() if call.name.rpartition(".")[2][:1].isupper() else Symbol()


@function("tf.gradients", "keras.backend.gradients")
def gradients(call: Call, run: Run) -> Value:
    """One for each variable."""
    return Sequence("list", element=Symbol())


@function(
    "tf.trainable_variables",
    "tf.global_variables",
    "tf.local_variables",
    "tf.all_variables",
    "tf.model_variables",
    "tf.moving_average_variables",
    parameters="scope",
)
def variables(call: Call, run: Run) -> Value:
    """All of the graph, or those in a scope."""
    return Sequence("list", element=Symbol())


@function("tf.get_collection", parameters="key scope")
def collection(call: Call, run: Run) -> Value:
    """Of the graph's variables, where the key says so."""
    key = call.argument("key")
    named = key is not None and call.source.words(key.place.node).endswith("_VARIABLES")
    return variables(call, run) if named else Unknown()


@function_on(Symbol, "*")
def computed(call: Call, run: Run) -> Value:
    """What TensorFlow computes from a tensor of the graph is one, too."""
    if call.name.endswith(".gradients"):
        return gradients(call, run)
    short = call.name.rpartition(".")[2]
    if call.name.startswith(("tf.", "keras.backend.")) and not short[:1].isupper():
        return Symbol()
    handler = run.catalog.function(call.name)
    return handler(call, run) if handler is not None else Unknown()


@operator(Symbol)
def operate(call: Call, run: Run) -> Value:
    """Arithmetic on tensors of the graph."""
    return Symbol()


@item(Symbol)
def subscript(value: Value, index: Value, call: Call, run: Run) -> Value:
    """`t[0]` is an operation."""
    return Symbol()


@attribute(Symbol, "shape", "dtype", "name", "op", "graph", "device", "initializer", "consumers")
def fact(value: Value, run: Run) -> Value:
    """What is known of a tensor: not a tensor, and no operation."""
    return Unknown()


@method(Symbol, "assign", "assign_add", "assign_sub", "initialized_value", "read_value", "value")
def changed(call: Call, run: Run) -> Value:
    """Operations that a variable offers."""
    return Symbol()


@method(Symbol, "eval", "get_shape", "load")
def evaluated(call: Call, run: Run) -> Value:
    """NumPy arrays, a shape, nothing."""
    return Unknown()


@method(Symbol, "set_shape")
def nothing(call: Call, run: Run) -> Value:
    """In place."""
    return NONE


# --- optimizers -----------------------------------------------------------------------------------------

OPTIMIZERS = (
    "Adadelta", "Adagrad", "Adam", "Ftrl", "GradientDescent", "Momentum", "ProximalAdagrad", "RMSProp",
    "SyncReplicas",
)  # fmt: skip


@function(*(f"tf.train.{name}Optimizer" for name in OPTIMIZERS), parameters="learning_rate")
def optimizer(call: Call, run: Run) -> Value:
    """An optimizer of `tf.train`."""
    rate = call.value("learning_rate")
    return Optimizer(call.name, call, {} if rate is None else {"learning_rate": rate})
