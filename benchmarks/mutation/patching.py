"""Putting a mutant into a process that has the module loaded: no import, and no file is written.

Functions keep their identity and get other code, so that whoever imported or registered one has the mutant. The
process is thrown away afterwards.
"""

from __future__ import annotations
import __future__

import ast
import functools
import gc
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from operators import Mutant, applied

_FLAGS = __future__.annotations.compiler_flag


class Loaded:
    """A module that is to be mutated, and the functions that are alive in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: ModuleType = sys.modules[name]
        self.path = Path(str(self.module.__file__))
        self.text = self.path.read_text("utf-8")
        self.tree = ast.parse(self.text)
        self.functions: dict[tuple[str, int], list[FunctionType]] = {}

    def look(self, alive: list[FunctionType]) -> None:
        """Find its functions among all that are alive."""
        for function in alive:
            if function.__code__.co_filename == str(self.path):
                self.functions.setdefault(_code_key(function.__code__), []).append(function)

    def install(self, mutant: Mutant) -> None:
        """Be the mutant from here on."""
        index = mutant.path[0][1]
        statement = applied(self.tree, mutant).body[index or 0]
        code = compile(ast.Module([statement], []), str(self.path), "exec", _FLAGS, dont_inherit=True)
        for value in vars(self.module).values():
            if isinstance(value, functools._lru_cache_wrapper):
                value.cache_clear()
        function = self._function_of(mutant, statement)
        if function is None:
            self._execute(code)
            return
        live = self.functions.get(function, [])
        new = next((one for one in _codes(code) if _code_key(one) == function), None)
        if new is None or not live:
            raise RuntimeError(f"no function {function} in {self.name}")
        for one in live:
            one.__code__ = new

    def _function_of(self, mutant: Mutant, statement: ast.stmt) -> tuple[str, int] | None:
        """The outermost function whose body the mutant is in."""
        node: Any = statement
        for name, index in mutant.path[1:]:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and name == "body":
                rows = [node.lineno, *(one.lineno for one in node.decorator_list)]
                return node.name, min(rows)
            node = getattr(node, name)
            if index is not None and index < len(node):
                node = node[index]
        return None

    def _execute(self, code: CodeType) -> None:
        """Constants, tables, default values and records: what they become is put where the old ones are."""
        space = dict(vars(self.module))
        exec(code, space)
        for name, new in space.items():
            old = vars(self.module).get(name)
            if new is old or name == "__builtins__":
                continue
            if isinstance(new, type) and isinstance(old, type):
                for member, function in vars(new).items():
                    _adopt(vars(old).get(member), function)
            elif isinstance(new, FunctionType) or hasattr(new, "__wrapped__"):
                _adopt(old, new)
            elif is_dataclass(new) and type(new) is type(old):
                for one in fields(new):
                    object.__setattr__(old, one.name, getattr(new, one.name))
            else:
                for module in list(sys.modules.values()):
                    if getattr(module, "__dict__", {}).get(name) is old:
                        vars(module)[name] = new


def _adopt(old: object, new: object) -> None:
    """Take over a new function's code and default values."""
    old, new = getattr(old, "__wrapped__", old), getattr(new, "__wrapped__", new)
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
        if old.__code__.co_freevars == new.__code__.co_freevars:
            old.__code__ = new.__code__


def living_functions() -> list[FunctionType]:
    """All functions that are alive."""
    return [one for one in gc.get_objects() if isinstance(one, FunctionType)]


def _code_key(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def _codes(code: CodeType) -> list[CodeType]:
    found = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += [constant, *_codes(constant)]
    return found
