"""The batch size where the training call does not say it: what its data was made with, else the name everybody uses.

A generator or a data set carries its batch; the default of `fit`, 32, holds for arrays alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.values.base import Const, Mapping, Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.estimate.slicing.arguments import defaults_of
from oomlint.estimate.slicing.functions import Functions, statements
from oomlint.estimate.slicing.program import Scope, dotted, own_expressions, root_name
from oomlint.estimate.slicing.trainings import Training
from oomlint.estimate.slicing.ways import loops_around
from oomlint.syntax.blocks import nodes

if TYPE_CHECKING:
    from oomlint.dryrun import Trace

_SIZE = re.compile(
    r"(?i)(train(ing)?_?|per_?core_?|global_?)?batch_?(sz|size)|mini_?batch(_?size)?|n_?batch_?size|(train(ing)?_?)?bs"
)
_OF_OTHERS = re.compile(r"(?i)test|val|eval|pred|infer")
_DATA = ("x", "generator", "data", "dataset", "train_data")
_DEPTH = 3


def find_batch(training: Training, trace: Trace, functions: Functions) -> None:
    """Give a training call that does not say its batch the one that its data says, and where that was found."""
    training.batch, training.batch_named = _of_object(training, trace)
    if training.batch is None:
        training.batch = batch_expression(training, functions)
        training.batch_named = _named(training.batch)
    if training.batch is None:
        training.batch, training.batch_named = _anywhere(trace)


def _named(batch: ast.expr | None) -> str:
    """How an expression is told as the place where the batch was found; a number names no place."""
    if batch is None:
        return ""
    return "what makes its data" if isinstance(batch, ast.Constant) else ast.unparse(batch)


def said_of_batch(training: Training, trace: Trace, functions: Functions) -> dict[str, str]:
    """Of a batch that the slice may not know after all: what else says it, and whether a call has no default for it."""
    said: dict[str, str] = {}
    if isinstance(training.batch, ast.expr):
        size, where = _anywhere(trace)
        said = {"batch_asked": ast.unparse(training.batch)}
        said |= {} if size is None else {"batch_else": str(size), "batch_else_named": where}
    call = training.way[-1].call
    if call is not None and isinstance(call.func, ast.Attribute) and call.func.attr == "train_on_batch":
        said["at_once"] = ast.unparse(call.args[0]) if call.args else "its data"
    if training.batch is None and call is not None:
        if what := _yielding(call, training, functions):
            said["yielded"] = what
        elif name := _batched(call, training, functions):
            said["batch_asked"] = name
    return said


def _yielding(call: ast.Call, training: Training, functions: Functions) -> str:
    """What of the script's own yields the batches of a `fit`, which has no default for them then; else empty."""
    for one, callees in _made_by(call, training, functions):
        if any(isinstance(node, ast.Yield) for callee in callees for node in ast.walk(callee.node)):
            return ast.unparse(one)
    return ""


def _batched(call: ast.Call, training: Training, functions: Functions) -> str:
    """By which name a function of the script's own that makes the data batches it: `.batch(settings["batch_size"])`."""
    for _, callees in _made_by(call, training, functions):
        for callee in callees:
            sizes = [
                node.args[0]
                for node in ast.walk(callee.node)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "batch"
                and node.args
            ]
            names = {_unbound(one, callee.node) for one in sizes}
            if len(names) == 1 and names != {""}:
                return names.pop()
    return ""


def _unbound(size: ast.expr, function: ast.AST) -> str:
    """A size as what it was bound to says it, of a name that was bound once; empty for a number."""
    if isinstance(size, ast.Name):
        values = [
            one.value
            for one in ast.walk(function)
            if isinstance(one, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == size.id for target in one.targets)
        ]
        size = values[0] if len(values) == 1 else size
    return "" if isinstance(size, ast.Constant) else ast.unparse(size)


def _made_by(
    call: ast.Call, training: Training, functions: Functions
) -> Iterator[tuple[ast.Call, list[Scope]]]:
    """The calls that make the data of a training call, with the script's own functions that they are of."""
    scope = training.way[-1].scope
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg in _DATA)]
    names = {one.id for value in given for one in ast.walk(value) if isinstance(one, ast.Name)}
    made = [one.value for one in _assignments(scope) if names & _written_to(one)]
    for value in (*given, *made):
        for one in ast.walk(value):
            if isinstance(one, ast.Call):
                yield one, list(functions.callees(scope.unit, scope, one))


def _anywhere(trace: Trace) -> tuple[int | None, str]:
    """The one number that a name of the script's says is a batch size: in a function that calls what trains, say."""
    found: dict[int, str] = {}
    for assign in trace.assigns():
        name = assign.path.rpartition(".")[2]
        value = deref(assign.value)
        ours = (_SIZE.fullmatch(name) or name == "BATCH") and not _OF_OTHERS.search(assign.path)
        if ours and isinstance(value, Const) and type(value.value) is int:
            found.setdefault(value.value, assign.path)
        for size, where in _entries(value, assign.path):
            found.setdefault(size, where)
    return next(iter(found.items())) if len(found) == 1 else (None, "")


def _entries(value: Value, path: str, depth: int = 2) -> Iterator[tuple[int, str]]:
    """The same of settings in a table: `{"batch_size": 64}`."""
    if not isinstance(value, Mapping) or not depth:
        return
    for key, item in value.entries.items():
        held = deref(item)
        where = f"{path}[{key!r}]"
        if (
            isinstance(key, str)
            and (_SIZE.fullmatch(key) or key.lower() == "batch")
            and isinstance(held, Const)
            and type(held.value) is int
        ):
            yield held.value, where
        yield from _entries(held, where, depth - 1)


def _of_object(training: Training, trace: Trace) -> tuple[int | None, str]:
    """What an object of the script's own that yields the batches keeps as their size."""
    call = training.seen
    data = (
        next((call.value(name) for name in _DATA if call.argument(name)), None) if call is not None else None
    )
    source = None if data is None else deref(data)
    if isinstance(source, Instance):
        counted = _counted_by(source)
        for assign in trace.assigns():
            name = assign.path.rpartition(".")[2]
            value = deref(assign.value)
            ours = assign.target is not None and deref(assign.target) is source
            says = _SIZE.fullmatch(name) or name in counted
            if ours and says and isinstance(value, Const) and type(value.value) is int:
                return value.value, f"{source.cls.name}.{name}"
    return None, ""


def _counted_by(source: Instance) -> set[str]:
    """Its attributes that `__len__` divides by: `ceil(len(self.files) / self.bs)` is how many batches there are."""
    methods = [
        part
        for cls in source.cls.ancestry()
        for part in cls.node.body.body
        if isinstance(part, cst.FunctionDef) and part.name.value == "__len__"
    ]
    return {
        node.right.attr.value
        for node in (nodes(methods[0]) if methods else ())
        if isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Divide | cst.FloorDivide)
        and isinstance(node.right, cst.Attribute)
    }


def batch_expression(training: Training, functions: Functions) -> ast.expr | None:
    """An expression of the function that trains, or None. It is to be said where it came from."""
    step = training.way[-1]
    scope = step.scope
    call = step.call
    if call is not None:
        named = [one.value for one in call.keywords if one.arg in _DATA]
        for value in [*named, *call.args[:1]]:
            found = _of_data(value, scope, _DEPTH)
            if found is not None:
                return found
    found = _by_name(scope) or _of_loops(training)
    if found is None and not any(_is_measured(name, scope) for name in scope.bound if _SIZE.fullmatch(name)):
        found = _by_name(scope.unit.scope)  # no name of the function's hides it
    return found or _starred(scope, functions) or _parameter(scope) or _of_object_itself(scope)


def _of_loops(training: Training) -> ast.expr | None:
    """What the data was made with that a loop by hand goes through, of which a round is the step or leads to it."""
    last = training.way[-1].scope
    if "_from_function(" in training.unit.text:
        return None  # a data set that a strategy asks for by a function has the batch of one replica
    for step in reversed(training.way) if training.by_hand else ():
        for loop in loops_around(step):
            if not isinstance(loop, ast.For) or _OF_OTHERS.search(ast.unparse(loop.iter)):
                continue
            if (found := _of_data(loop.iter, step.scope, _DEPTH)) is not None:
                root = root_name(found)
                seen = isinstance(found, ast.Constant) or (root and last.of(root) is step.scope.of(root))
                return found if seen else None
    return None


def _of_object_itself(scope: Scope) -> ast.expr | None:
    """The one size that the class of the trainer takes from itself, in any method: `self.config["batch_size"]`."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(scope.owner) if scope.owner is not None else ():
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
            if _says_size(node) and root_name(node) == "self":
                found.setdefault(ast.unparse(node), node)
    return next(iter(found.values())) if len(found) == 1 else None


def _parameter(scope: Scope) -> ast.expr | None:
    """`def train(epochs=1000, batch=150)`: a number is a size, elsewhere the name is of the data."""
    if isinstance(scope.node, ast.Module):
        return None
    for name, value in defaults_of(scope.node.args):
        if name == "batch" and isinstance(value, ast.Constant) and type(value.value) is int:
            return ast.Name("batch", ast.Load())
    return None


def _starred(scope: Scope, functions: Functions) -> ast.expr | None:
    """The same of the names that the module takes from others with a star: `from config import *`."""
    found = [_by_name(one.scope, bound=True) for one in functions.all_of(scope.unit)[1:]]
    names = {one.id for one in found if isinstance(one, ast.Name)}
    return ast.Name(names.pop(), ast.Load()) if len(names) == 1 else None


def _of_data(value: ast.expr, scope: Scope, depth: int) -> ast.expr | None:
    """What the calls that make the data are handed as their batch size."""
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    sizes = [
        one for call in calls for one in _handed(call) if isinstance(one, ast.Constant) or _says_size(one)
    ]
    if sizes:
        return next((one for one in sizes if not _OF_OTHERS.search(ast.unparse(one))), sizes[0])
    if depth:
        names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
        for statement in reversed(list(_assignments(scope))):
            if names & _written_to(statement):
                found = _of_data(statement.value, scope, depth - 1)
                if found is not None:
                    return found
    return None


def _handed(call: ast.Call) -> Iterator[ast.expr]:
    for keyword in call.keywords:
        if keyword.arg is not None and _SIZE.fullmatch(keyword.arg):
            yield keyword.value
    if isinstance(call.func, ast.Attribute) and call.func.attr == "batch" and call.args:
        yield call.args[0]
    for argument in call.args:
        if not isinstance(argument, ast.Constant) and _says_size(argument):
            yield argument


def _says_size(node: ast.expr) -> bool:
    """`BATCH_SIZE`, `args.batch_size`, `config["batch_size"]`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _SIZE.fullmatch(name) is not None
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return _SIZE.fullmatch(name) is not None
    return False


def _by_name(scope: Scope, bound: bool = False) -> ast.expr | None:
    """The one name of a scope that says it is the batch size, else the one attribute or entry that does."""
    names = [name for name in scope.bound if _SIZE.fullmatch(name) and not _is_measured(name, scope)]
    exact = [name for name in names if name.lower().replace("_", "") == "batchsize"] or names
    if exact:
        return ast.Name(exact[0], ast.Load()) if len(exact) == 1 else None
    if bound:
        return None
    found: dict[str, ast.expr] = {}
    for statement in statements(scope.node.body):
        for expression in own_expressions(statement):
            for node in ast.walk(expression):
                if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
                    if _says_size(node) and dotted(node if isinstance(node, ast.Attribute) else node.value):
                        found.setdefault(ast.unparse(node), node)
    own = [node for text, node in found.items() if not _OF_OTHERS.search(text)] or list(found.values())
    return own[0] if len(own) == 1 else None


def _is_measured(name: str, scope: Scope) -> bool:
    """Whether a name is only counted of a batch that is there already: `batch_size = np.shape(images)[0]`."""
    values = [
        one.value
        for one in _assignments(scope)
        if any(isinstance(target, ast.Name) and target.id == name for target in one.targets)
    ]
    return bool(values) and name not in scope.parameters and all(map(_is_count, values))


def _is_count(value: ast.expr) -> bool:
    match value:
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Subscript(value=ast.Call(func=ast.Attribute(attr="shape"))):
            return True
        case ast.Call(func=ast.Name(id="len")):
            return True
    return False


def _written_to(statement: ast.Assign) -> set[str]:
    """The names in its targets: `loader` of `loader.train = ...`, too."""
    return {one.id for target in statement.targets for one in ast.walk(target) if isinstance(one, ast.Name)}


def _assignments(scope: Scope) -> Iterator[ast.Assign]:
    for one in statements(scope.node.body):
        if isinstance(one, ast.Assign):
            yield one
