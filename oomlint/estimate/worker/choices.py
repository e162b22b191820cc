"""Names that a script binds only for some values of an option: `if args.net == "a": model = one()`, and so on."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker import stand_ins


def unchosen(error: NameError, file: str, line: int | None) -> EstimateError | None:
    """What to ask for where no branch was taken, since an option without a default was not given."""
    found = re.search(r"name '(\w+)' is not defined|local variable '(\w+)'", str(error))
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    if found is None:
        return None
    missing = found[1] or found[2]
    values: dict[str, list[str]] = {}
    for subject, value in _choices(tree, missing):
        values.setdefault(_option(tree, subject), []).append(value)
    for option, examples in values.items():
        if option in stand_ins.UNSET and len(examples) > 1:
            stand_ins.EXAMPLES[option] = list(examples)
            words = ", ".join(examples[:8])
            message = f"{missing} is made only where {option} is one of {words}, and it has no default"
            hint = f"Give it: --arg {option}={examples[0]}"
            return EstimateError(message, "build", file, line, hint, asked=option)
    return None


def _choices(tree: ast.Module, name: str) -> Iterator[tuple[ast.expr, str]]:
    """What is compared, and with which text, where a branch binds a name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.If) or not any(_binds(one, name) for one in node.body):
            continue
        match node.test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=str(value))]):
                yield left, value
            case ast.Compare(
                left=left, ops=[ast.In()], comparators=[ast.List(elts=items) | ast.Tuple(elts=items)]
            ):
                for item in items:
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        yield left, item.value


def _binds(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(statement)
    )


def _option(tree: ast.Module, subject: ast.expr) -> str:
    """The option that is compared: `args.net`, or a name that it was given: `net = args.net`."""
    if isinstance(subject, ast.Attribute):
        return subject.attr
    if not isinstance(subject, ast.Name):
        return ""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr=attribute)) if (
                name == subject.id
            ):
                return attribute
    return subject.id
