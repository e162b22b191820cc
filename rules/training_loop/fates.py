"""What becomes of a container: whether it starts again, and what its uses ask of what is in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst
from oomlint.rules.training_loop.keeping import Kept

from oomlint.dryrun.loops import target_names
from oomlint.dryrun.trace import Context
from oomlint.syntax.uses import Use, uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace

# Methods that run before what fills a list; others that set it to an empty one start it again.
BEGINNINGS = frozenset(["__init__", "build", "setup", "on_train_begin", "on_test_begin", "on_predict_begin"])
AVERAGES = frozenset("mean average median plot nanmean sum min max".split())


@dataclass(frozen=True, slots=True)
class Fate:
    """What the code that sees a container does with it, all uses of its name together.

    `reset`: it is emptied, or replaced by a new one, in a loop or a hook. `averaged`: every use gives the same
    with floats as with scalar tensors. `tensors`: some use asks an element for its `.numpy()`.
    """

    reset: bool = False
    averaged: bool = False
    tensors: bool = False


class Fates:
    """Fates by block and name, each worked out once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[tuple[int, int, str], Fate] = {}

    def of(self, kept: Kept) -> Fate:
        """The fate of the container that a value is put into."""
        if kept.name is None:
            return Fate(tensors=True)
        name, block = kept.name, block_of(kept)
        function = kept.call.context.function()
        filling = function.node if function is not None else None
        key = (id(block), id(filling), name)
        if key not in self._known:
            found = uses(block, name)
            self._known[key] = Fate(
                reset=any(_resets(use, name, filling) for use in found),
                averaged="." not in name and all(_only_averaged(self._trace, use) for use in found),
                tensors=any(
                    isinstance(node, cst.Attribute) and node.attr.value == "numpy"
                    for use in found
                    for node in use.around
                )
                or any(_elements_are_asked(use) for use in found),
            )
        return self._known[key]


def _elements_are_asked(use: Use) -> bool:
    """Whether a loop over the container asks its elements for their `.numpy()`."""
    for position, node in enumerate(use.around):
        if isinstance(node, cst.For | cst.CompFor):
            body = node if isinstance(node, cst.For) else use.around[position + 1]
            return any(uses(body, f"{name}.numpy") for name in target_names(node.target))
    return False


def _resets(use: Use, name: str, filling: cst.CSTNode | None) -> bool:
    """Whether a use empties a container, or replaces it where that happens again and again.

    The method that is `filling` it begins with a new one, as it would with a variable of its own.
    """
    match use.around:
        case [cst.Attribute(attr=cst.Name(value="clear" | "pop" | "popleft" | "popitem" | "remove")), *_]:
            return True
        case [cst.Subscript(), cst.Del(), *_] | [cst.Del(), *_]:
            return True
        case [
            cst.AssignTarget(),
            cst.Assign(value=cst.Call(func=cst.Attribute(attr=cst.Name("setdefault")))),
            *_,
        ] | [cst.AnnAssign(value=cst.Call(func=cst.Attribute(attr=cst.Name("setdefault")))), *_]:
            return False  # the list that is kept under a key, and a new one for the first of it
        case [cst.AssignTarget() | cst.AnnAssign() as binding, *_] if binding.target is use.node:
            if any(isinstance(node, cst.For | cst.While) for node in use.around):
                return True
            method = next((node for node in use.around if isinstance(node, cst.FunctionDef)), None)
            if method is None or method is filling:
                return False
            return name.startswith("self.") and method.name.value not in BEGINNINGS
    return False


def _only_averaged(trace: Trace, use: Use) -> bool:
    """Whether a use of a list of numbers gives the same with floats as with scalar tensors."""
    match use.around:
        case [cst.AssignTarget(), *_] | [cst.AnnAssign(), *_]:
            return True
        case [cst.AugAssign(target=target), *_]:
            return target is use.node
        case [cst.Attribute(attr=cst.Name(value="append" | "extend" | "clear")), *_]:
            return True
        case [cst.Arg(), cst.Call(func=cst.Name(value="len" | "print")), *_]:
            return True
        case [cst.Arg(), cst.Call(func=cst.Attribute(attr=cst.Name(value=name))) as call, *_] if (
            name in AVERAGES
        ):
            return any(
                event.node is call
                for prefix in ("numpy.", "matplotlib.", "seaborn.")
                for event in trace.calls_under(prefix)
            )
        case [cst.Arg(), cst.Call(func=cst.Name(value="sum" | "min" | "max")), *rest]:
            return _is_shown(rest)
    return False


def _is_shown(around: list[cst.CSTNode]) -> bool:
    """Whether an expression is only formatted, printed or made a float."""
    for node in around:
        match node:
            case cst.Attribute() | cst.Assign() | cst.AnnAssign() | cst.Return():
                return False
            case cst.FormattedStringExpression() | cst.Call(func=cst.Name(value="print" | "float" | "round")):
                return True
    return False


def block_of(kept: Kept) -> cst.CSTNode:
    """The code that can see the container's name."""
    function = kept.call.context.function()
    if (
        kept.name is not None
        and kept.name.startswith("self.")
        and function is not None
        and function.owner is not None
    ):
        return function.owner.node
    made: Context | None = kept.container.context
    outer = made.function() if made is not None else None
    return outer.node if outer is not None else kept.call.source.module
