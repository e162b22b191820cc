"""Rewritings that move what a script defines to another module."""

from __future__ import annotations

import ast
import builtins

from metamorphic.code import (
    DEFINITIONS,
    IMPORTS,
    Code,
    Rewriting,
    Traced,
    joined,
    loaded,
    opaque,
    transformation,
)
from metamorphic.naming import constants


def _needs(code: Code, node: ast.stmt) -> set[str]:
    """The names that a definition or constant takes from around it."""
    own: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            own.add(part.arg)
        elif part is not node and isinstance(part, (*DEFINITIONS, *IMPORTS, ast.ExceptHandler)):
            own |= code.binds(part)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and isinstance(node, DEFINITIONS):
            own.add(part.id)
    return loaded([node]) - own - code.binds(node)


def _can_move(code: Code, node: ast.stmt) -> bool:
    if not code.own_rows(node):
        return False
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return not any(isinstance(part, (ast.Global, ast.Nonlocal)) for part in ast.walk(node))
    return False


def _moved(code: Code) -> list[ast.stmt]:
    """Definitions and constants of a script that can stand in a module of their own."""
    body = code.tree.body
    imports = code.module_imports()
    if opaque(code) or any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in imports
    ):
        return []
    known = set(dir(builtins)).union(*(code.binds(node) for node in imports))
    bound = [name for node in body for name in code.binds(node)]
    named = list(constants(code).values())
    moved = [
        node
        for node in body
        if node in named
        or (_can_move(code, node) and all(bound.count(name) == 1 for name in code.binds(node)))
    ]
    while True:
        there = known.union(*(code.binds(node) for node in moved))
        kept = [node for node in moved if _needs(code, node) <= there]
        if len(kept) == len(moved):
            break
        moved = kept
    return moved if any(isinstance(node, DEFINITIONS) for node in moved) else []


def _header(code: Code) -> str:
    return code.rows(1, 1).text if code.text.startswith("# keras:") else ""


def _split(code: Code, moved: list[ast.stmt], module: str, imported: str, uses: str) -> Rewriting | None:
    """Statements in a module; `uses` is how the script then names what is in it."""
    if not moved:
        return None
    names = {name for node in moved for name in code.binds(node)}
    changes: list[tuple[int, int, Traced | str]] = []
    pieces: list[Traced | str] = [_header(code)]
    for node in code.module_imports():
        pieces += [code.rows(node.lineno, node.end_lineno)]
    for node in moved:
        first, last = code.comment_row(node), node.end_lineno
        if first == 1:
            first = code.first_row(node)
        pieces += ["\n", code.rows(first, last)]
        changes.append((code.row_start(first), code.row_start(last + 1), ""))
    if "{" in uses:
        spans = [(code.row_start(node.lineno), code.span(node)[1]) for node in moved]
        for use in code.of(ast.Name):
            start, end = code.span(use)
            inside = any(low <= start < high for low, high in spans)
            if use.id in names and not inside:
                if code.text[start:end] != use.id or not isinstance(use.ctx, ast.Load):
                    return None
                changes.append((start, end, uses.format(name=use.id)))
    row = code.after_preamble()
    imports = [node for node in code.module_imports() if node.lineno < moved[0].lineno]
    at = code.row_start(imports[-1].end_lineno + 1) if imports else code.row_start(row)
    changes.append((at, at, Traced.new(imported.format(names=", ".join(sorted(names))))))
    script = code.traced.put(changes)
    back = {uses.format(name=name): name for name in names} if "{" in uses else {}
    return Rewriting({"script": script, module: joined(pieces)}, back)


@transformation
def definitions_in_a_module(code: Code) -> Rewriting | None:
    """`from parts import build, SIZE`."""
    return _split(code, _moved(code), "parts_zq", "from parts_zq import {names}\n", "")


@transformation
def definitions_of_a_module(code: Code) -> Rewriting | None:
    """`import parts`, and `parts.build()`."""
    return _split(code, _moved(code), "parts_zq", "import parts_zq\n", "parts_zq.{name}")


@transformation
def constants_in_a_module(code: Code) -> Rewriting | None:
    """`import config`, and `config.SIZE`."""
    if opaque(code):
        return None
    moved: list[ast.stmt] = [node for node in constants(code).values() if not loaded([node])]
    return _split(code, moved, "config_zq", "import config_zq\n", "config_zq.{name}")
