"""Initial values of weights, such as vectors of words read from a file: the memory is the same without them."""

from __future__ import annotations

import ast


def leave_out(tree: ast.Module) -> None:
    """`Embedding(n, d, weights=[matrix])` and `embeddings_initializer=Constant(matrix)` lose the matrix."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _last_name(node.func) != "Embedding":
            continue
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg == "weights" and not isinstance(value, ast.Constant):
                keyword.value = ast.copy_location(ast.Constant(None), value)
            elif keyword.arg == "embeddings_initializer" and isinstance(value, ast.Call):
                if _last_name(value.func).lower() == "constant":
                    keyword.value = ast.copy_location(ast.Constant("uniform"), value)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
