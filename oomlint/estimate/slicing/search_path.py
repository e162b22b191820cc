"""Folders that a script puts on `sys.path` itself, as in `sys.path.append("..")`."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path


def added_folders(tree: ast.Module, script: Path) -> list[Path]:
    """The folders, in the order in which they are added; what cannot be told from the text is left out.

    Relative ones are taken from the script's own folder: that is where such scripts are written to be run; those that
    are not there from the folders above it, where others are. A folder far from it is a library's.
    """
    near = next((one for depth, one in enumerate(script.parents) if depth == 3), script.parent)
    found: list[Path] = []
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                text = _text(value, script, names)
                if text is not None:
                    names.setdefault(name, text)
    for value in _added(tree):
        text = _text(value, script, names)
        if text is not None:
            folders = (Path(os.path.normpath(start / text)) for start in script.parents[:3])
            folder = next((one for one in folders if one.is_dir()), None)
            if folder is not None and folder.is_relative_to(near) and folder not in found:
                found.append(folder)
    return found


def _added(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="append" | "insert", value=path), args=[*_, value]):
                if ast.unparse(path) == "sys.path":
                    yield value
            case ast.Call(func=ast.Attribute(attr="extend", value=path), args=[ast.List(elts=values)]):
                if ast.unparse(path) == "sys.path":
                    yield from values
            case ast.AugAssign(target=path, value=ast.List(elts=values)):
                if ast.unparse(path) == "sys.path":
                    yield from values


def _text(node: ast.expr, script: Path, names: dict[str, str]) -> str | None:
    """The path that an expression of the usual kind gives."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id="__file__"):
            return str(script)
        case ast.Subscript(value=ast.Attribute(attr="path"), slice=ast.Constant(value=0)):  # sys.path[0]
            return str(script.parent)
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(attr="pardir"):
            return ".."
        case ast.Attribute(attr="parent", value=inner):
            below = _text(inner, script, names)
            return None if below is None else str(Path(below).parent)
        case ast.Subscript(
            value=ast.Attribute(attr="parents", value=inner), slice=ast.Constant(value=int(up))
        ):
            above = list(Path(_text(inner, script, names) or "").parents)
            return str(above[up]) if up < len(above) else None
        case ast.BinOp(op=ast.Add() | ast.Div() as operator, left=left, right=right):
            first, second = _text(left, script, names), _text(right, script, names)
            if first is None or second is None:
                return None
            return first + second if isinstance(operator, ast.Add) else str(Path(first, second))
        case ast.Subscript(value=ast.Call(func=function, args=[inner]), slice=ast.Constant(value=0)) if (
            ast.unparse(function).endswith("path.split")
        ):
            below = _text(inner, script, names)
            return None if below is None else str(Path(below).parent)
        case ast.Call(func=ast.Attribute(attr="getcwd" | "cwd"), args=[]):
            return str(script.parent)
        case ast.Call(func=ast.Attribute(attr="resolve" | "absolute" | "as_posix", value=inner), args=[]):
            return _text(inner, script, names)
        case ast.Call(func=function, args=[*arguments]) if arguments:
            parts = [_text(one, script, names) for one in arguments]
            name = ast.unparse(function).rpartition(".")[2]
            known = [part for part in parts if part is not None]
            if len(known) != len(parts):
                return None
            if name == "dirname":
                return str(Path(known[0]).parent)
            if name in ("join", "Path"):
                return str(Path(*known))
            if name in ("abspath", "realpath", "normpath", "expanduser", "str"):
                return os.path.normpath(script.parent / known[0])
    return None
