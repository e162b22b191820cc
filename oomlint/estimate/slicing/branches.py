"""Which trainings a script comes to as it is called: the branches that its options, with their defaults, do not take.

A script that trains one of several models by `--model` trains the default's, unless `--arg model=...` says another.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from oomlint.estimate.slicing.functions import statements
from oomlint.estimate.slicing.program import Program, Unit, blocks, dotted

if TYPE_CHECKING:
    from oomlint.estimate.slicing.trainings import Training
    from oomlint.estimate.slicing.ways import Step

# What people call the object that holds a script's options.
_HOLDERS = frozenset(
    "a arg args argument arguments cfg conf config configs flag flags hparams opt option options opts params".split()
)
_OPEN = object()  # not known
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Is: lambda left, right: left == right if left is None or right is None else _OPEN,
    ast.IsNot: lambda left, right: left != right if left is None or right is None else _OPEN,
}


class Branches:
    """The conditions of a program that its options decide."""

    def __init__(self, program: Program, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self.used: set[str] = set()  # options that decided
        self._constants: dict[int, dict[str, Any]] = {}
        self.options: dict[str, Any] = {}
        for unit in program.units:
            for node in ast.walk(unit.tree):
                if isinstance(node, ast.Call):
                    self._option(node, unit)

    def taken(self, training: Training) -> bool:
        """Whether nothing on the way to a training call is known to be false."""
        return all(self._comes_to(step) for step in training.way)

    def words(self) -> str:
        """The options by which a training was chosen, as they were taken."""
        return ", ".join(f"{name}={self._of(name)}" for name in sorted(self.used))

    def _of(self, name: str) -> Any:
        return self._values.get(name, self.options.get(name, _OPEN))

    def _comes_to(self, step: Step) -> bool:
        if step.statement is None:
            return True
        return self._leads(step.scope.node.body, step.statement, step.scope.unit)

    def _leads(self, body: list[ast.stmt], stop: ast.stmt, unit: Unit) -> bool:
        for statement in body:
            for block in blocks(statement):
                if not any(one is stop for one in statements(block)):
                    continue
                if isinstance(statement, ast.If):
                    found = self._value(statement.test, unit)
                    if found is not _OPEN and bool(found) != (block is statement.body):
                        return False
                return self._leads(block, stop, unit)
        return True

    def _option(self, call: ast.Call, unit: Unit) -> None:
        """`add_argument("--model", default="a")`, `flags.DEFINE_string("model", "a", "...")`."""
        method = dotted(call.func).rpartition(".")[2]
        texts = [
            one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]
        named = {one.arg: one.value for one in call.keywords}
        if method == "add_argument" and texts and texts[-1].startswith("-"):
            long = next((one for one in texts if one.startswith("--")), texts[0])
            dest = named.get("dest")
            name = dest.value if isinstance(dest, ast.Constant) else long.lstrip("-").replace("-", "_")
            action = getattr(named.get("action"), "value", None)
            default: Any = {"store_true": False, "store_false": True}.get(str(action))
            given = named.get("default")
            if given is None and getattr(named.get("required"), "value", False) is True:
                default = _OPEN
            self._known(str(name), default if given is None else self._value(given, unit))
        elif method.startswith(("DEFINE_", "define_")) and texts:
            given = named.get("default", call.args[1] if len(call.args) > 1 else None)
            self._known(texts[0], _OPEN if given is None else self._value(given, unit))

    def _known(self, name: str, value: Any) -> None:
        """Options of several scripts of a project may have one name: then it says nothing, unless they agree."""
        if name in self.options and self.options[name] != value:
            value = _OPEN
        self.options[name] = value

    def _value(self, node: ast.expr, unit: Unit) -> Any:
        """What an expression is as the script is called; _OPEN where that is not known."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                values = [self._value(one, unit) for one in items]
                return _OPEN if any(one is _OPEN for one in values) else values
            case ast.Attribute(attr=name, value=holder) if _holds_options(holder):
                return self._taken(name)
            case ast.Subscript(value=holder, slice=ast.Constant(value=str(name))) if _holds_options(holder):
                return self._taken(name)
            case ast.Name(id=name):
                return self._constants_of(unit).get(name, _OPEN)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(index))):
                listed = self._constants_of(unit).get(name, _OPEN)
                return (
                    listed[index]
                    if isinstance(listed, list) and -len(listed) <= index < len(listed)
                    else _OPEN
                )
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                value = self._value(operand, unit)
                return _OPEN if value is _OPEN else not value
            case ast.Call(
                func=ast.Attribute(attr="lower" | "upper" | "strip" as method, value=value), args=[]
            ):
                text = self._value(value, unit)
                return getattr(text, method)() if isinstance(text, str) else _OPEN
            case ast.BoolOp(op=op, values=parts):
                return _joined(isinstance(op, ast.And), [self._value(one, unit) for one in parts])
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
                before, after = self._value(left, unit), self._value(right, unit)
                if before is _OPEN or after is _OPEN:
                    return _OPEN
                try:
                    return _COMPARED[type(op)](before, after)
                except TypeError:
                    return _OPEN
        return _OPEN

    def _taken(self, name: str) -> Any:
        value = self._of(name)
        if value is not _OPEN:
            self.used.add(name)
        return value

    def _constants_of(self, unit: Unit) -> dict[str, Any]:
        """Names that a module binds once, to constants or lists of them, and that nothing else binds."""
        if id(unit) not in self._constants:
            self._constants[id(unit)] = {}
            bound: dict[str, list[ast.expr | None]] = {}
            for node in ast.walk(unit.tree):
                if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                    bound.setdefault(node.id, []).append(None)
                elif isinstance(node, ast.arg):
                    bound.setdefault(node.arg, []).append(None)
            found = {}
            for statement in unit.tree.body:
                match statement:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                        len(bound.get(name, ())) == 1
                    ):
                        found[name] = self._value(value, unit)
            self._constants[id(unit)] = {name: value for name, value in found.items() if value is not _OPEN}
        return self._constants[id(unit)]


def _holds_options(node: ast.expr) -> bool:
    name = dotted(node)
    return name.rpartition(".")[2].lower() in _HOLDERS


def _joined(every: bool, values: list[Any]) -> Any:
    """`and` or `or` of values of which some are not known."""
    if any(value is not _OPEN and bool(value) != every for value in values):
        return not every
    return _OPEN if any(value is _OPEN for value in values) else every
