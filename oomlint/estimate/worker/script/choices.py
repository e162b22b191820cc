"""Names that a script binds only for some values of an option: `if args.net == "a": model = one()`, and so on."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.absent import stand_ins
from oomlint.estimate.worker.script import making


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


FILES: list[str] = []  # of the script and of the modules that are sliced


def not_made(place: tuple[str, int | None]) -> EstimateError | None:
    """What to ask for where no branch gave a model back, since the option that they compare was not given."""
    trees = []
    for file in FILES if stand_ins.UNSET else ():
        try:
            trees.append(ast.parse("".join(linecache.getlines(file))))
        except SyntaxError:
            continue
    for option in sorted(stand_ins.UNSET):
        examples = list(dict.fromkeys(value for tree in trees for value in _compared(tree, option)))
        if len(examples) > 1:
            stand_ins.EXAMPLES[option] = list(examples)
            words = ", ".join(examples[:12])
            message = f"no model is made, since {option} has no default on the command line"
            hint = f"Give it: --arg {option}={examples[0]}  (there is {words})"
            return EstimateError(message, "build", *place, hint, asked=option)
    return None


def _compared(tree: ast.Module, option: str) -> Iterator[str]:
    """The texts that a name, or an attribute of that name, is compared with."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(
                left=ast.Name(id=name) | ast.Attribute(attr=name),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=str(value))],
            ) if name == option:
                yield value


def keys(error: KeyError) -> list[str]:
    """What a table knows in which a value was looked up that is not known: `NETS[args.net]`."""
    trace = error.__traceback__
    if trace is None:
        return []
    while trace.tb_next is not None:
        trace = trace.tb_next
    names = trace.tb_frame.f_globals | trace.tb_frame.f_locals
    line = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    tables = (names.get(name) for name in re.findall(r"(\w+)\[", line))
    return [key for table in tables if isinstance(table, dict) for key in table if isinstance(key, str)]


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


def unset(file: str, line: int | None) -> list[str]:
    """The options without a default that a line of the script takes."""
    text = linecache.getline(file, line or 0)
    taken = re.findall(r"""\.(\w+)|\[["'](\w+)["']\]""", text)
    found = [name for pair in taken for name in pair if name in stand_ins.UNSET]
    return found or (list(stand_ins.UNSET) if len(stand_ins.UNSET) == 1 else [])


def none_in(error: BaseException) -> list[str]:
    """The names of the user's line that failed that are None in it."""
    found: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if making.of_the_user(code.co_filename) and Path(code.co_filename).suffix == ".py":
            known = trace.tb_frame.f_globals | trace.tb_frame.f_locals
            line = linecache.getline(code.co_filename, trace.tb_lineno)
            words = re.findall(r"(?<![\w.])[A-Za-z_]\w*", line)
            found = [one for one in dict.fromkeys(words) if one in known and known[one] is None]
            found += [
                name
                for holder, name in re.findall(r"(?<![\w.])([A-Za-z_]\w*)\.(\w+)", line)
                if isinstance(known.get(holder), type | ModuleType)
                and getattr(known[holder], name, holder) is None
            ]
        trace = trace.tb_next
    return found
