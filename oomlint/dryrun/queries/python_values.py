"""Python's own numbers and strings among the values of a script, as against tensors and NumPy's scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.catalog.arrays.making import NumpyFloat, NumpyInt
from oomlint.dryrun.imports import dotted
from oomlint.dryrun.values.base import Const, Unknown, Value, deref
from oomlint.syntax.blocks import nodes
from oomlint.syntax.uses import Use, uses

if TYPE_CHECKING:
    from oomlint.dryrun.queries.changing import Changes
    from oomlint.dryrun.trace import Argument, Call, Context
    from oomlint.dryrun.values.arrays import Array
    from oomlint.dryrun.values.program import Function

NUMBERS = ("int", "float")


def python_type(value: Value) -> str | None:
    """int, float or str, if the value is certainly one of Python's own."""
    value = deref(value)
    if isinstance(value, Const):
        if isinstance(value.value, bool | NumpyInt | NumpyFloat):
            return None
        return type(value.value).__name__ if isinstance(value.value, int | float | str) else None
    return value.type if isinstance(value, Unknown) and value.type in (*NUMBERS, "str") else None


def is_number(value: Value) -> bool:
    """Whether it is certainly one of Python's own numbers."""
    return python_type(value) in NUMBERS


def set_anew(value: Value, context: Context, changes: Changes) -> bool:
    """Whether each round sets it before the call (`loss = 0`): what a loop carries on is soft in its first round."""
    if not isinstance(value, Const) or value.soft or not value.trail or value.trail[-1].place is None:
        return False
    match value.trail[-1].place.node:
        case cst.Integer() | cst.Float() | cst.SimpleString():
            return True
        case cst.Name() | cst.Attribute() | cst.Subscript() as named:
            return changes.of(named, context) is None
    return False


_PYTHON_CALLS = frozenset(("float", "int", "len", "str", "round", "repr", "format"))


LIBRARIES = ("tf.", "numpy.", "keras.", "array.")


def computed_by_library(
    node: cst.CSTNode,
    context: Context,
    changes: Changes,
    libraries: tuple[str, ...] = LIBRARIES,
    depth: int = 0,
) -> bool:
    """Whether an expression is computed by a library's call, whose numbers are tensors or NumPy's own."""
    if depth > 8:
        return False

    def inside(part: cst.CSTNode, where: Context = context) -> bool:
        return computed_by_library(part, where, changes, libraries, depth + 1)

    match node:
        case cst.Name() | cst.Attribute() if path := dotted(node):
            bound = changes.bound(path, context)
            return bound is not None and inside(*bound)
        case cst.BinaryOperation(left=left, right=right):
            return inside(left) or inside(right)
        case cst.UnaryOperation(expression=inner):
            return inside(inner)
        case cst.Subscript(value=inner):
            return inside(inner)
        case cst.IfExp(body=one, orelse=other):
            return inside(one) or inside(other)
        case cst.Call(func=func, args=arguments):
            path = dotted(func)
            if path in _PYTHON_CALLS:
                return False
            known = changes.call_at(node)
            name = known.name if known is not None else ""
            if name.startswith(("numpy.random.", "array.item")):
                return False
            if name.startswith(libraries):
                return True
            if path in ("min", "max", "abs", "sum"):
                return any(inside(argument.value) for argument in arguments)
    return False


def drawn(node: cst.CSTNode, value: Array, context: Context, changes: Changes) -> bool:
    """`np.random.uniform(0.8, 1.2)`: without a size, a Python number."""
    path = dotted(node)
    if path and (bound := changes.bound(path, context)) is not None:
        node = bound[0]
    known = changes.call_at(node)
    if known is None or not known.name.startswith("numpy.random."):
        return False
    return value.shape == () and not known.name.endswith((".integers", ".choice", ".permutation"))


# --- whether a tensor would do ------------------------------------------------------------------------


def may_be_tensor(function: Function, call: Call, argument: Argument, value: Value) -> bool:
    """Whether the function goes on working if this parameter is a tensor."""
    if not isinstance(function.node, cst.FunctionDef):
        return False
    parameters = [*function.node.params.posonly_params, *function.node.params.params]
    keyword = argument.arg.keyword if argument.arg is not None else None
    if keyword is not None:
        name = keyword.value
    else:
        at = next((index for index, one in enumerate(call.arguments) if one is argument), -1)
        if not 0 <= at < len(parameters):
            return False
        name = parameters[at].name.value
    kind = python_type(value)
    return all(_bears_tensor(use, kind) for use in uses(function.node.body, name))


_TAKES = ("cast", "constant", "convert_to_tensor", "print", "assign", "assign_add", "pow", "float")


def _bears_tensor(use: Use, kind: str | None) -> bool:
    """Whether one use of a number works with a tensor of type int32 or float32."""
    parent = use.parent
    if isinstance(parent, cst.Arg):
        outer = use.around[1]
        if isinstance(outer, cst.Call):
            return dotted(outer.func).rpartition(".")[2] in _TAKES
        return False
    if isinstance(parent, cst.Comparison | cst.ComparisonTarget):
        return True
    if isinstance(parent, cst.BinaryOperation):
        other = parent.right if parent.left is use.node else parent.left
        return kind == "float" or isinstance(other, cst.Integer)
    return False


def of_a_property(node: cst.Attribute, context: Context) -> cst.BaseExpression | None:
    """What a property of the object itself returns: `self.n + 1` for `self.next`, in a method of its class."""
    function = context.function()
    owner = function.owner if function is not None else None
    if owner is None or not isinstance(node.value, cst.Name) or node.value.value != "self":
        return None
    for cls in owner.ancestry():
        for statement in cls.node.body.body:
            if isinstance(statement, cst.FunctionDef) and statement.name.value == node.attr.value:
                given = [part for part in nodes(statement.body) if isinstance(part, cst.Return)]
                match given if statement.decorators else None:
                    case [cst.Return(value=cst.BaseExpression() as value)]:
                        return value
    return None
