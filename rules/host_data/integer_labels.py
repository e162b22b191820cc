"""The fix of OOM205: labels stay integers, and the loss is the sparse one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.catalog.arrays.making import one_hot_by
from oomlint.dryrun.imports import dotted
from oomlint.dryrun.queries.labels import labels
from oomlint.dryrun.trace import Argument, Call, Trace
from oomlint.dryrun.values.base import Const, Sequence, Value, deref
from oomlint.findings.model import Fix, Safety
from oomlint.syntax.edits import Edit, RemoveStatement, Replace
from oomlint.syntax.uses import Use, uses

if TYPE_CHECKING:
    from collections.abc import Sequence as Many

    from oomlint.dryrun.values.training import Model

_PLAIN_METRICS = frozenset({"accuracy", "acc"})
_TAKING = ("keras.Model.fit", "keras.Model.evaluate", "sklearn.model_selection.train_test_split")


def integer_labels(trace: Trace, call: Call, every: Many[Call], models: Many[Model | None]) -> Fix | None:
    """The edits, where it shows that all labels of the one model come from such calls and go nowhere else."""
    model = models[0]
    compiles = trace.calls("keras.Model.compile")
    if model is None or any(other is not model for other in models) or len(compiles) != 1:
        return None
    loss = compiles[0].argument("loss")
    swap = _sparse(loss) if loss is not None else None
    if swap is None or not _plain(compiles[0].value("metrics")):
        return None
    edits: list[Edit] = [swap]
    indices: set[int] = set()
    for other in every:
        node = _labels(other)
        if node is None or other.source is not trace.source or not _bound_once(trace, other):
            return None
        edits.append(_undone(other, node))
        indices.add(other.index)
    if any(not one_hot_by(entry.value) & indices for entry in labels(trace)):
        return None
    return Fix("keep the labels as integers and use the sparse loss", Safety.UNSAFE, tuple(edits))


def _sparse(loss: Argument) -> Edit | None:
    """The loss argument written as its sparse twin."""
    match loss.place.source.written(loss.place.node):
        case cst.SimpleString(value=text) if text.strip("\"'") == "categorical_crossentropy":
            return Replace(loss.place, f"{text[0]}sparse_categorical_crossentropy{text[0]}")
        case cst.Call(
            func=cst.Attribute(value=base, attr=cst.Name(value="CategoricalCrossentropy")) as function
        ):
            place = loss.place
            return Replace(
                type(place)(place.source, function),
                f"{place.source.code(base)}.SparseCategoricalCrossentropy",
            )
    return None


def _undone(call: Call, labels: cst.BaseExpression) -> Edit:
    """The integers in place of the call; of `y = to_categorical(y)` nothing is left."""
    line = call.statement.node if call.statement is not None else None
    match line:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)]
        ):
            if value is call.node and dotted(target) == dotted(labels) != "" and call.statement is not None:
                return RemoveStatement(call.statement)
    return Replace(call.place, call.source.code(labels))


def _plain(metrics: Value | None) -> bool:
    """Whether the metrics are none, or such as follow the loss."""
    if metrics is None:
        return True
    if not isinstance(metrics, Sequence) or metrics.items is None:
        return False
    items = [deref(item) for item in metrics.items]
    return all(isinstance(item, Const) and item.value in _PLAIN_METRICS for item in items)


def _labels(call: Call) -> cst.BaseExpression | None:
    """The expression of the integers in `to_categorical(labels)`, `np.eye(n)[labels]`, `tf.one_hot(labels, n)`."""
    match call.node:
        case cst.Call() if call.name in ("keras.utils.to_categorical", "tf.one_hot"):
            given = call.argument("y") or call.argument("indices")
            node = given.place.node if given is not None else None
            return node if isinstance(node, cst.BaseExpression) else None
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=value))]):
            return value
    return None


def _bound_once(trace: Trace, call: Call) -> bool:
    """Whether the labels are handed to training at once, or by names that nothing else looks at."""
    takers = {id(taker.node) for taker in trace.calls(*_TAKING)}
    names = {name for taker in trace.calls(*_TAKING) for name in _paths(taker)}
    names |= set(call.targets)
    if any("." in name for name in names):
        return False
    # The expression itself may read the name that it is bound to: that is the integers.
    return all(_harmless(use, takers, call) for name in names for use in uses(trace.source.module, name))


def _paths(taker: Call) -> set[str]:
    """The names of label arrays in a call."""
    given = [taker.argument("y")] if taker.name.startswith("keras.") else []
    return {argument.path for argument in given if argument is not None and argument.path is not None}


def _harmless(use: Use, takers: set[int], call: Call) -> bool:
    around = use.around
    if any(node is call.node for node in around):
        return True
    match around:
        case [cst.AssignTarget(), *_]:
            return True
        case [cst.Arg(), cst.Call() as user, *_] if id(user) in takers:
            return True
        case [cst.Element(), cst.Tuple() | cst.List(), cst.AssignTarget(), *_]:
            return True
        case [cst.Element(), cst.Tuple() | cst.List(), cst.Arg(), cst.Call() as user, *_] if (
            id(user) in takers
        ):
            return True
        case [
            cst.Arg(),
            cst.Call(
                func=cst.Attribute(attr=cst.Name(value="to_categorical"))
                | cst.Name(value="to_categorical" | "len" | "print")
            ),
            *_,
        ]:
            return True
    return False
