"""Which argument of a call goes to which parameter of a function of the program."""

from __future__ import annotations

import ast
import copy
from collections.abc import Container, Iterator

from oomlint.estimate.slicing.missing import missing
from oomlint.estimate.slicing.program import Scope


def matched(call: ast.Call, callee: Scope) -> list[tuple[str | None, ast.expr]]:
    """Each argument with the parameter that it goes to; None where a star hides it."""
    node = callee.node
    assert not isinstance(node, ast.Module)
    plain = _positional(callee)
    matched: list[tuple[str | None, ast.expr]] = []
    starred = False
    for position, value in enumerate(call.args):
        starred |= isinstance(value, ast.Starred)
        if starred:
            matched.append((None, value))
        else:
            vararg = node.args.vararg.arg if node.args.vararg else None
            matched.append((plain[position] if position < len(plain) else vararg, value))
    names = set(callee.parameters)
    for keyword in call.keywords:
        other = node.args.kwarg.arg if node.args.kwarg else None
        name = keyword.arg if keyword.arg in names else (None if keyword.arg is None else other)
        matched.append((name, keyword.value))
    return matched


def hidden(call: ast.Call, value: ast.expr, callee: Scope) -> set[str]:
    """The parameters that a starred argument may go to: those that nothing before or beside it fills."""
    node = callee.node
    assert not isinstance(node, ast.Module)
    named = {one.arg for one in call.keywords}
    position = next((at for at, one in enumerate(call.args) if one is value), 0)
    if not isinstance(value, ast.Starred):  # `**options`: by name
        return {name for name in callee.parameters if name not in named} - set(
            _positional(callee)[: len(call.args)]
        )
    rest = _positional(callee)[position:]
    return {
        name for name in (*rest, *([node.args.vararg.arg] if node.args.vararg else [])) if name not in named
    }


def required(callee: Scope) -> set[str]:
    """The parameters that have no default."""
    assert not isinstance(callee.node, ast.Module)
    return set(_positional(callee)) - defaulted(callee.node)


def _positional(callee: Scope) -> list[str]:
    """The parameters that a caller may give by position: those of a method without its object."""
    node = callee.node
    assert not isinstance(node, ast.Module)
    plain = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    statics = {getattr(one, "id", "") for one in node.decorator_list}
    return plain[1:] if callee.owner is not None and "staticmethod" not in statics else plain


def defaulted(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The parameters that have a default."""
    return {name for name, _ in defaults_of(node.args)}


def defaults_of(given: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that have a default, with it."""
    plain = [*given.posonlyargs, *given.args]
    pairs = zip(plain[len(plain) - len(given.defaults) :], given.defaults, strict=True)
    yield from ((one.arg, value) for one, value in pairs)
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    yield from ((one.arg, value) for one, value in named if value is not None)


def bare(arguments: ast.arguments, given: Container[str]) -> ast.arguments:
    """The parameters of a function without their annotations, whose names the slice may lack.

    Of options of a command line that the user gives (`given`) the default is that.
    """
    new = copy.deepcopy(arguments)
    for number, option in enumerate(new.kwonlyargs):
        if option.arg in given:
            new.kw_defaults[number] = missing(option.arg, option)
    for one in (*new.posonlyargs, *new.args, *new.kwonlyargs, new.vararg, new.kwarg):
        if one is not None:
            one.annotation = None
    return new


def of_base(call: ast.Call) -> bool:
    """`super().__init__(config)`: a class that trains as it is made, and whose base does it."""
    match call.func:
        case ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"))):
            return True
    return False
