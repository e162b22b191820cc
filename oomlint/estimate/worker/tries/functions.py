"""A function to name in place of a script that is refused: one that was tried, with the command for it."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate
from oomlint.estimate.slicing.arguments import defaults_of
from oomlint.estimate.slicing.program import Program
from oomlint.estimate.worker.tries import usual
from oomlint.estimate.worker.tries.makers import Maker, makers, parameters

First = Callable[[Request, float], tuple[Request, Estimate]]

# How the hint ends that says to name any function.
_ANY = re.compile(r"\n? *Name the function that builds the model[^\n]*")
_MOST = 4
_SECONDS = 20.0  # of the processor's time for all of them
_OF_EACH = 6.0
_PLAIN = (bool, int, float, str, type(None))


def proposed(
    error: EstimateError, request: Request, program: Program, known: dict[str, Any], first: First
) -> str:
    """The hint, with a function that makes a model in place of any; without, where none does by itself."""
    if _ANY.search(error.hint) is None:
        return error.hint
    end = time.process_time() + _SECONDS
    for maker in makers(program, known)[:_MOST]:
        if isinstance(maker.node, ast.Assign) or time.process_time() > end:
            continue
        arguments = _arguments(maker)
        if arguments is None:
            continue
        try:
            first(_request(maker, arguments, request), _OF_EACH)
        except Exception:  # the user's own code, with what is only assumed
            continue
        words = f"A model by itself can be estimated, as was tried: {_command(maker, arguments)}"
        return _ANY.sub("", error.hint) + ("\n  " if _ANY.sub("", error.hint) else "") + words
    left = _ANY.sub("", error.hint)
    return left or "Nothing here was found that makes a model by itself and could be named in its place."


def _arguments(maker: Maker) -> dict[str, Any] | None:
    """What it takes that has no default; None where that is more than numbers and words."""
    begins = maker.node
    if isinstance(begins, ast.ClassDef):
        found = [one for one in begins.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        begins = found[0] if found else begins
    have = {name for name, _ in defaults_of(begins.args)} if isinstance(begins, ast.FunctionDef) else set()
    arguments: dict[str, Any] = {}
    for one in parameters(maker.node):
        if one.arg in have:
            continue
        value = maker.given[one.arg] if one.arg in maker.given else usual.argument(one.arg, {})
        value = tuple(value) if isinstance(value, list | tuple) else value
        if not all(isinstance(part, _PLAIN) for part in (value if isinstance(value, tuple) else (value,))):
            return None
        arguments[one.arg] = int(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return arguments


def _request(maker: Maker, arguments: dict[str, Any], request: Request) -> Request:
    from oomlint.estimate.slicing.script import slice_script

    sliced = slice_script(maker.unit.path, function=maker.name, values=arguments)
    return dataclasses.replace(
        request, target=_target(maker), source=sliced.text, names=sliced.names, arguments=arguments, data={}
    )


def _target(maker: Maker) -> str:
    here = os.environ.get("OOMLINT_FOLDERS", "").rpartition(os.pathsep)[2] or "."
    return f"{os.path.relpath(maker.unit.path, here)}:{maker.name}"


def _command(maker: Maker, arguments: dict[str, Any]) -> str:
    given = "".join(f" --arg {shlex.quote(f'{name}={value}')}" for name, value in arguments.items())
    return f"oomlint estimate {shlex.quote(Path(_target(maker)).as_posix())}{given}"
