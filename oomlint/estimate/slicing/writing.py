"""Small questions about statements, and the lines that written ones had."""

from __future__ import annotations

import ast

from oomlint.estimate.slicing.program import Scope, blocks


def matters(manager: ast.expr) -> bool:
    """Whether a context manager around the way says something about the model."""
    text = ast.unparse(manager)
    return any(
        word in text for word in (".scope()", "RematScope", "custom_object_scope", "CustomObjectScope")
    )


def inside(statement: ast.stmt, target: ast.stmt) -> bool:
    """Whether a statement holds another one in its blocks."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(is_or_holds(one, target) for block in blocks(statement) for one in block)


def is_or_holds(statement: ast.stmt, target: ast.stmt) -> bool:
    """Whether it is the other one, or holds it."""
    return statement is target or inside(statement, target)


def last(call: ast.expr, scope: Scope) -> ast.stmt:
    """The training as a statement. What a function gives back matters in a round that is passed over."""
    return ast.Expr(call) if isinstance(scope.node, ast.Module) else ast.Return(call)


def at(node: ast.stmt, where: ast.AST) -> ast.stmt:
    """A new statement at the place of an old node."""
    for one in ast.walk(node):
        if isinstance(one, ast.expr | ast.stmt) and not hasattr(one, "lineno"):
            one.lineno = getattr(where, "lineno", 1)
            one.col_offset = 0
    return ast.fix_missing_locations(node)


def lines_of(tree: ast.Module, text: str) -> list[int]:
    """For each line of the written text, the line that its statement had in the user's file."""
    lines = [0] * (text.count("\n") + 2)
    written = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.stmt)]
    original = [one for one in ast.walk(tree) if isinstance(one, ast.stmt)]
    for new, old in zip(written, original):
        lines[new.lineno] = getattr(old, "lineno", 0)
        # A function begins at its first decorator: there AutoGraph looks for its text.
        for one, other in zip(getattr(new, "decorator_list", []), getattr(old, "decorator_list", [])):
            lines[one.lineno] = getattr(other, "lineno", 0)
    for number in range(1, len(lines)):
        lines[number] = lines[number] or lines[number - 1]
    return lines


def around(body: list[ast.stmt], target: ast.stmt | None) -> list[ast.stmt]:
    """The statements of a scope that hold a statement, outermost first."""
    found: list[ast.stmt] = []
    while target is not None:
        holder = next((one for one in body if one is not target and inside(one, target)), None)
        if holder is None:
            break
        found.append(holder)
        body = next(block for block in blocks(holder) if any(is_or_holds(one, target) for one in block))
    return found


def reference(callee: Scope, scope: Scope) -> ast.expr:
    """A function, or the class of a method, as another module calls it, which need not have imported it."""
    assert not isinstance(callee.node, ast.Module)
    name = callee.node.name if callee.owner is None else callee.owner.name
    if callee.unit is scope.unit or not callee.unit.name or scope.of(name) is not None:
        return ast.Name(name, ast.Load())
    module = f"__import__('importlib').import_module({callee.unit.name!r})"
    return ast.parse(f"{module}.{name}", mode="eval").body
