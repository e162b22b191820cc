"""Ways through a program by the names of its functions, where the dry run took none."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from oomlint.estimate.slicing.functions import Functions, calls_in, statements
from oomlint.estimate.slicing.program import (
    Program,
    Scope,
    Unit,
    bound_names,
    dotted,
    root_name,
)

METHODS = ("fit", "fit_generator", "train_on_batch", "fit_on_batch", "fit_loop")


@dataclass(slots=True)
class Step:
    """One function on the way to the training call: the statement in it that leads on, and the call there."""

    scope: Scope
    statement: ast.stmt | None  # None: nobody calls what comes next
    call: ast.Call | None = None


def way_by_name(program: Program, scope: Scope, statement: ast.stmt) -> list[Step] | None:
    """A way to a statement by the names of functions: the first caller of each, else nobody."""
    way = [Step(scope, statement)]
    seen = {id(scope)}
    functions = Functions(program)
    while not isinstance(scope.node, ast.Module):
        found = _caller(functions, scope, seen)
        if found is None:
            return [Step(scope.unit.scope, None), *way] if scope.unit is program.main else None
        scope, where, call = found
        seen.add(id(scope))
        way.insert(0, Step(scope, where, call))
    return way if scope.unit is program.main else None


def functions_of(way: list[Step]) -> dict[str, list[str]]:
    """The functions on a way by their files, for the child; of the module itself it is an empty name."""
    found: dict[str, list[str]] = {}
    for step in way:
        name = "" if isinstance(step.scope.node, ast.Module) else step.scope.node.name
        name = f"{step.scope.owner.name}.{name}" if step.scope.owner is not None else name
        found.setdefault(str(step.scope.unit.path), []).append(name)
    return found


def _caller(functions: Functions, callee: Scope, seen: set[int]) -> tuple[Scope, ast.stmt, ast.Call] | None:
    assert not isinstance(callee.node, ast.Module)
    name = callee.node.name
    if callee.owner is not None and name == "__init__":
        name = callee.owner.name
    for unit in functions.program.units:
        for scope in unit.scopes.values():
            if id(scope) in seen:
                continue
            for statement, call in calls_in(scope):
                if dotted(call.func).rpartition(".")[2] == name:
                    if _may_enter(call.func, callee, scope, functions):
                        return scope, statement, call
    return None


def _may_enter(function: ast.expr, callee: Scope, scope: Scope, functions: Functions) -> bool:
    """Whether a call of that name may be of the function: `app.run` is no method of the program's, nor another
    module's `main()` the script's own."""
    if isinstance(function, ast.Name):
        found = functions.definition(scope.unit, function.id, scope)
        meant = callee.owner if callee.owner is not None and callee.node.name == "__init__" else callee.node  # type: ignore[union-attr]
        return found is None or not isinstance(found[1], type(meant)) or found[1] is meant
    root = root_name(function)
    classes = classes_of(function, scope, functions)
    if classes and callee.owner is not None:
        return callee.owner in classes
    if isinstance(function, ast.Attribute) and function.attr in METHODS and "model" in dotted(function.value):
        return False  # Keras' own
    where = scope.of(root)
    module = "" if where is None else where.unit.aliases.get(root, "").partition(".")[0]
    return not module or functions.program.module(scope.unit, module, 0) is not None


def classes_of(function: ast.expr, scope: Scope, functions: Functions) -> list[ast.ClassDef]:
    """The classes of the program, with those they inherit, whose objects alone a name is bound to: `net` of `net.fit`.

    Nothing where something else may be bound to it.
    """
    name = dotted(function.value) if isinstance(function, ast.Attribute) else ""
    found: list[ast.ClassDef] = []
    for value in _bound_to(name, scope):
        classes = _made_by(value, scope, functions)
        if not classes:
            return []
        found += classes
    return found


def _made_by(value: ast.expr | None, scope: Scope, functions: Functions, deep: int = 2) -> list[ast.ClassDef]:
    """The class, with those it inherits, that a call makes an object of, itself or as all that a function returns."""
    made = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
    unit, node = (functions.definition(scope.unit, made, scope) if made else None) or (None, None)
    if unit is None or node is None:
        return []
    if isinstance(node, ast.ClassDef):
        return _with_bases(unit, node, functions)
    inner = unit.scopes.get(id(node))
    if not isinstance(node, ast.FunctionDef) or inner is None or not deep:
        return []
    found: list[ast.ClassDef] = []
    for one in statements(node.body):
        if isinstance(one, ast.Return):
            bound = _bound_to(one.value.id, inner) if isinstance(one.value, ast.Name) else [one.value]
            classes = [_made_by(each, inner, functions, deep - 1) for each in bound]
            if not classes or not all(classes):
                return []
            found += [each for several in classes for each in several]
    return found


def _bound_to(name: str, scope: Scope) -> Iterator[ast.expr | None]:
    """What a name, or an attribute of the object itself, is bound to; None where that is not plain to see."""
    root, _, attribute = name.partition(".")
    nodes: Iterable[ast.AST] = ()
    if root == "self" and attribute and scope.owner is not None:
        nodes = ast.walk(scope.owner)
    elif name and not attribute and (where := scope.of(name)) is not None:
        nodes = statements(where.node.body)
        if name in where.parameters:
            yield None
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=value) if dotted(target) == name:
                yield value
            case ast.stmt() if not attribute and name in bound_names(node):
                yield None


def _with_bases(unit: Unit, node: ast.ClassDef, functions: Functions) -> list[ast.ClassDef]:
    found = [node]
    for base in node.bases:
        known = functions.definition(unit, base.id) if isinstance(base, ast.Name) else None
        if known is not None and isinstance(known[1], ast.ClassDef) and known[1] is not node:
            found += _with_bases(known[0], known[1], functions)
    return found


def loops_around(step: Step) -> list[ast.stmt]:
    """The loops around a statement, from within."""
    loops = [one for one in statements(step.scope.node.body) if isinstance(one, ast.For | ast.While)]
    return [one for one in reversed(loops) if any(step.statement is inner for inner in ast.walk(one))]
