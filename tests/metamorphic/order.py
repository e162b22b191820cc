"""Rewritings that change the order of statements that have nothing to do with each other."""

from __future__ import annotations

import ast
import re

from metamorphic.code import DEFINITIONS, Code, Rewriting, Traced, loaded, single, transformation

_MAKERS = re.compile(r"(tf\.)?keras\.(optimizers|losses|metrics|initializers|regularizers)\.\w+")


def _quiet(code: Code, node: ast.stmt) -> bool:
    """Whether a statement does nothing but bind names."""
    if not code.own_rows(node):
        return False
    if isinstance(node, ast.FunctionDef):
        return not node.decorator_list and not [*node.args.defaults, *node.args.kw_defaults]
    if isinstance(node, ast.ClassDef):
        return False
    if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
        return _value_is_quiet(node.value)
    return False


def _value_is_quiet(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
        return bool(_MAKERS.fullmatch(ast.unparse(value.func))) and all(map(_value_is_quiet, arguments))
    if isinstance(value, (ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp)):
        return all(
            _value_is_quiet(part) for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr)
        )
    return isinstance(value, (ast.Constant, ast.Name))


def _independent(code: Code, one: ast.stmt, other: ast.stmt) -> bool:
    binds, others = code.binds(one), code.binds(other)
    if binds & others:
        return False
    # What a function reads, it reads when it is called.
    reads = set() if isinstance(one, DEFINITIONS) else loaded([one])
    other_reads = set() if isinstance(other, DEFINITIONS) else loaded([other])
    return not (binds & other_reads or others & reads)


@transformation
def independent_swapped(code: Code) -> Rewriting | None:
    """Neighbours that only bind names change places, again and again until each went as far up as it can."""
    changes: list[tuple[int, int, Traced | str]] = []
    moved: set[ast.AST] = set()
    for owner, body in code.bodies():
        if owner in moved or not moved.isdisjoint(code.ancestors(owner)):
            continue
        groups: list[list[ast.stmt]] = [[]]
        for node in body:
            if _quiet(code, node):
                groups[-1].append(node)
            elif groups[-1]:
                groups.append([])
        for group in groups:
            order = list(group)
            for _ in group:
                for index in range(len(order) - 1):
                    one, other = order[index], order[index + 1]
                    if group.index(one) < group.index(other) and _independent(code, one, other):
                        order[index], order[index + 1] = other, one
            for place, node in zip(group, order):
                if place is not node:
                    moved.add(node)
                    rows = code.rows(place.lineno, place.end_lineno), code.rows(node.lineno, node.end_lineno)
                    if not all(row.text.endswith("\n") for row in rows):
                        return None
                    changes.append(
                        (code.row_start(place.lineno), code.row_start(place.end_lineno + 1), rows[1])
                    )
    return single(code.traced.put(changes)) if changes else None
