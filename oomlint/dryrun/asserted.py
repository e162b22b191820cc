"""What a script makes sure of: `assert x.shape == (60000, 28, 28)`, `if x.dtype != np.uint8: raise ...`.

Behind such a line the array is what the line says, or nobody gets there. Nothing that is known already is replaced.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import Const, Mapping, Step, Value, deref
from oomlint.dryrun.values.dtypes import dtype_of
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.shapes import refined, shape_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run

# What it is compared with, if asking for it again does nothing.
_PLAIN = (cst.Tuple, cst.List, cst.Name, cst.Attribute, cst.Integer, cst.SimpleString)


def learn(run: Run, test: cst.BaseExpression, holds: bool = True) -> None:
    """Take in what a test says, where it holds (or does not)."""
    match test:
        case cst.BooleanOperation(operator=cst.And() | cst.Or() as joint):
            if isinstance(joint, cst.And) is holds:
                learn(run, test.left, holds)
                learn(run, test.right, holds)
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            learn(run, inner, not holds)
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=operator, comparator=other)]):
            if isinstance(operator, cst.Equal if holds else cst.NotEqual) and _is_plain(run, other):
                _equal(run, test.left, other, test)


def _is_plain(run: Run, node: cst.BaseExpression) -> bool:
    """A name, what is written there, or an entry of a table of settings."""
    match node:
        case cst.Subscript(
            value=cst.Name() | cst.Attribute() as table,
            slice=[cst.SubscriptElement(slice=cst.Index(value=key))],
        ):
            return _is_plain(run, key) and isinstance(deref(run.evaluate(table)), Mapping)
    return isinstance(node, _PLAIN)


def _equal(run: Run, asked: cst.BaseExpression, other: cst.BaseExpression, test: cst.CSTNode) -> None:
    fact: str
    part: Any = None
    match asked:
        case cst.Attribute(value=of, attr=cst.Name(value="shape" | "dtype" as fact)):
            pass
        case cst.Subscript(
            value=cst.Attribute(value=of, attr=cst.Name(value="shape" as fact)),
            slice=[cst.SubscriptElement(slice=part)],
        ):
            pass
        case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=of, star="")]):
            fact = "len"
        case _:
            return
    array = _read(run, of)
    if array is None or any(isinstance(child, cst.Call) for child in _parts(other)):
        return
    said = deref(run.evaluate(other))
    step = Step("the script makes sure of it", run.place(test))
    if fact == "dtype":
        dtype = dtype_of(said)
        if array.dtype is None and dtype is not None:
            _write(run, of, replace(array, dtype=dtype, origin=array.origin or step))
        return
    shape = _refined(run, array.shape, fact, part, said)
    if shape is not None and shape != array.shape:
        _write(run, of, replace(array, shape=shape, origin=array.origin or step))


def _parts(node: cst.BaseExpression) -> list[cst.CSTNode]:
    items = node.elements if isinstance(node, cst.Tuple | cst.List) else ()
    return [item.value for item in items]


def _refined(run: Run, old: Shape | None, fact: str, part: Any, said: Value) -> Shape | None:
    """The shape with what is said of it, or of some of its dimensions."""
    if fact == "len" or isinstance(part, cst.Index):
        index = Const(0) if fact == "len" else deref(run.evaluate(part.value))
        number = index.value if isinstance(index, Const) else None
        if old is None or not isinstance(number, int) or not -len(old) <= number < len(old):
            return None
        new = list(old)
        new[number] = said if isinstance(said, Const) and isinstance(said.value, int) else None
        return refined(tuple(new), old)
    given = shape_of(said)
    if given is None or part is None:
        return refined(given, old)
    match part:
        case cst.Slice(lower=cst.BaseExpression() as lower, upper=None, step=None):
            first = deref(run.evaluate(lower)) if _is_plain(run, lower) else None
            if isinstance(first, Const) and isinstance(first.value, int) and 0 <= first.value < 16:
                front: Shape = (None,) * first.value
                return refined((*front, *given), old)
    return None


def _read(run: Run, node: cst.BaseExpression) -> Array | None:
    """The array under a name, or under an attribute of an object of the program."""
    value: Value | None = None
    match node:
        case cst.Name(value=name):
            value = run.state.get((run.scope, name))
        case cst.Attribute(value=cst.Name(value=owner), attr=cst.Name(value=name)):
            holder = run.state.get((run.scope, owner))
            holder = deref(holder) if holder is not None else None
            value = run.state.get((holder, name)) if isinstance(holder, Instance) else None
    value = deref(value) if value is not None else None
    return value if isinstance(value, Array) else None


def _write(run: Run, node: cst.BaseExpression, array: Array) -> None:
    match node:
        case cst.Name(value=name):
            run.state.set((run.scope, name), array)
        case cst.Attribute(value=cst.Name(value=owner), attr=cst.Name(value=name)):
            holder = run.state.get((run.scope, owner))
            if holder is not None:
                run.state.set_attribute(deref(holder), name, array)
