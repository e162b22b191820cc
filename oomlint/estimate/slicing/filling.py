"""What code fills: lists and dicts whose entries it changes."""

from __future__ import annotations

import ast

FILLING = frozenset("append extend insert add update setdefault push appendleft".split())


def filled(node: ast.AST) -> set[str]:
    """The names and attributes whose entries a piece of code changes: `counts[word] += 1`, `seen.add(word)`."""
    found = set[str]()
    for one in ast.walk(node):
        match one:
            case ast.Subscript(value=ast.Name() | ast.Attribute() as value, ctx=ast.Store()):
                found.add(ast.unparse(value))
            case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as value, attr=name)):
                if name in FILLING:
                    found.add(ast.unparse(value))
    return {name for name in found if all(part.isidentifier() for part in name.split("."))}
