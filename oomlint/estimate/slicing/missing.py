"""How a slice writes a value that it does not know."""

from __future__ import annotations

import ast

MISSING = "oomlint_missing"


def missing(name: str, node: ast.AST, classes: bool = False) -> ast.Call:
    """`oomlint_missing("name", line)`: not known, and nothing happens until something needs it."""
    given: list[ast.expr] = [ast.Constant(name), ast.Constant(getattr(node, "lineno", 0))]
    if classes:
        given.append(ast.Constant("classes"))
    return ast.Call(ast.Name(MISSING, ast.Load()), given, [])
