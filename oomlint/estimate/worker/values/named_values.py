"""What a project says of a name anywhere in it: defaults of options, constants, settings in its files.

A value that is missing where a script is estimated is likelier to be that than a usual size. Names are compared
without regard to their spelling (`BATCH_SIZE`, `batchSize`), and only those of which one value is said are known.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oomlint.estimate.slicing.arguments import defaults_of
from oomlint.estimate.slicing.program import Program, Unit
from oomlint.estimate.worker.values import option_files
from oomlint.project.configuration import project_root

# How sure a value is what a run of the script has: an option's default, what a module binds, a file, a parameter's.
_OPTION, _BOUND, _FILE, _PARAMETER = range(4)
_MOST_FILES = 12
_LARGEST = 200_000  # bytes of a file of settings
_PAIR = re.compile(r"""^\s*["']?([A-Za-z_][\w-]*)["']?\s*[:=]\s*(.+?)\s*,?\s*(?:#.*)?$""", re.MULTILINE)


def spelled(name: str) -> str:
    """A name as it is compared: `batchSize`, `BATCH_SIZE` and `batch-size` are one."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.lstrip("-").replace("-", "_"))
    return snake.lower()


def named_values(program: Program) -> dict[str, Any]:
    """The one value that the surest places give each name."""
    said: dict[str, dict[int, list[Any]]] = {}
    for name, value, how in (*_of_units(program.units), *_of_files(program)):
        values = said.setdefault(spelled(name), {}).setdefault(how, [])
        if value not in values:
            values.append(value)
    surest = {name: places[min(places)] for name, places in said.items()}
    return {name: values[0] for name, values in surest.items() if len(values) == 1}


def of_script(path: Path) -> dict[str, Any] | None:
    """What a script's project says of names; None where it cannot be read."""
    try:
        program = Program(path, root_of(path))
        program.read_on()
        return named_values(program)
    except (SyntaxError, ValueError, OSError, RecursionError):
        return None


def root_of(script: Path) -> Path:
    """The folder that the command was given in, if the script is in it; else its project's."""
    folders = [Path(one) for one in os.environ.get("OOMLINT_FOLDERS", "").split(os.pathsep) if one]
    return next((one for one in folders[::-1] if script.is_relative_to(one)), project_root(script.parent))


def _of_units(units: list[Unit]) -> Iterator[tuple[str, Any, int]]:
    for unit in units:
        for node in ast.walk(unit.tree):
            match node:
                case ast.Call(func=ast.Attribute(attr=attr)) if attr == "add_argument" or attr.startswith(
                    "DEFINE_"
                ):
                    yield from _of_option(node)
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if _HOLDS.search(name):
                    yield from (
                        (one.arg, found, _BOUND)
                        for one in node.keywords
                        if one.arg
                        for found in literal(one.value)
                    )
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        yield from _bound(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    yield from _bound(target, value)
                case ast.Dict(keys=keys, values=values):
                    for key, value in zip(keys, values, strict=True):
                        if isinstance(key, ast.Constant) and isinstance(key.value, str):
                            yield from ((key.value, found, _BOUND) for found in literal(value))
                case ast.arguments():
                    yield from (
                        (name, found, _PARAMETER)
                        for name, value in defaults_of(node)
                        for found in literal(value)
                    )


_HOLDS = re.compile(r"(?i)dict|config|cfg|param|namespace|setting|option|struct|bunch")


def _of_option(call: ast.Call) -> Iterator[tuple[str, Any, int]]:
    names = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    default = next((one.value for one in call.keywords if one.arg == "default"), None)
    define = isinstance(call.func, ast.Attribute) and call.func.attr.startswith("DEFINE_")
    if define and default is None and len(call.args) > 1:
        default, names = call.args[1], names[:1]
    if names and default is not None:
        longest = max(names, key=lambda one: len(one) - len(one.lstrip("-")))
        dest = next(
            (
                one.value.value
                for one in call.keywords
                if one.arg == "dest" and isinstance(one.value, ast.Constant)
            ),
            longest,
        )
        yield from ((str(dest), found, _OPTION) for found in literal(default))


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, Any, int]]:
    match target:
        case (
            ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name)))
        ):
            yield from ((name, found, _BOUND) for found in literal(value))
        case ast.Tuple(elts=targets) if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
            for one, part in zip(targets, value.elts, strict=True):
                yield from _bound(one, part)


def literal(value: ast.expr) -> list[Any]:
    """The value of a literal that a setting may be, alone in a list; empty for None and for what is no literal."""
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return [] if not isinstance(value, ast.BinOp) else _calculated(value)
    return [found] if _is_setting(found) else []


def _calculated(value: ast.BinOp) -> list[Any]:
    """`2 ** 10`, `64 * 64`."""
    parts = [literal(value.left), literal(value.right)]
    if not all(len(one) == 1 and type(one[0]) is int and abs(one[0]) < 1 << 20 for one in parts):
        return []
    (left,), (right,) = parts
    match value.op:
        case ast.Mult():
            return [left * right]
        case ast.Pow() if 0 <= right <= 30 and abs(left) <= 16:
            return [left**right]
        case ast.Add():
            return [left + right]
        case ast.Sub():
            return [left - right]
        case ast.FloorDiv() if right:
            return [left // right]
    return []


def _is_setting(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return 0 < len(value) <= 16 and all(isinstance(one, int | float | str) for one in value)
    return isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= 60)


def _of_files(program: Program) -> Iterator[tuple[str, Any, int]]:
    folder = program.main.path.parent
    for name in option_files.found([str(folder)])[:_MOST_FILES]:
        path = folder / name
        try:
            text = path.read_text("utf-8", "replace") if path.stat().st_size < _LARGEST else ""
        except OSError:
            continue
        yield from ((key, value, _FILE) for key, value in _entries(path, text) if _is_setting(value))


def _entries(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    try:
        if path.suffix == ".json":
            yield from _flat(json.loads(text))
            return
        if path.suffix in (".yaml", ".yml"):
            import yaml  # type: ignore[import-untyped, unused-ignore]

            yield from _flat(yaml.safe_load(text))
            return
    except Exception:  # whatever the library that reads it raises: its lines are read below
        pass
    for key, written in _PAIR.findall(text):
        try:
            yield key, ast.literal_eval(written)
        except (ValueError, SyntaxError):
            yield key, written


def _flat(content: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(content, dict):
        for key, value in content.items():
            if isinstance(value, dict):
                yield from _flat(value)
            else:
                yield str(key), value
    elif isinstance(content, list):
        for one in content:
            yield from _flat(one) if isinstance(one, dict) else ()
