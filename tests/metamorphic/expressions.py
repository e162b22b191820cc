"""Rewritings of expressions: parts of them get names, arguments are passed in another way."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from metamorphic.code import (
    COMPREHENSIONS,
    DEFINITIONS,
    SCOPES,
    Code,
    Rewriting,
    Traced,
    single,
    transformation,
)

Changes = list[tuple[int, int, "Traced | str"]]
SIGNATURES = Path(__file__).with_name("signatures.json")


def _statements(code: Code) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """Statements before which another one can be put, with the expression that they evaluate first."""
    for owner, body in code.bodies():
        if isinstance(owner, ast.ClassDef):
            continue
        for node in body:
            value: ast.expr | None = None
            if isinstance(node, (ast.Assign, ast.Expr, ast.Return, ast.AnnAssign)):
                value = node.value
            elif isinstance(node, ast.For):
                value = node.iter
            elif isinstance(node, ast.With) and len(node.items) == 1:
                value = node.items[0].context_expr
            if value is None or not code.own_rows(node):
                continue
            if any(
                isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr))
                for part in ast.walk(value)
            ):
                continue
            if "super(" in code.source(value).text:
                continue
            yield node, value


def _hoisted(code: Code, node: ast.stmt, rows: list[Traced]) -> tuple[int, int, Traced]:
    at = code.row_start(code.first_row(node))
    indent = code.indent_of(node)
    whole = Traced.new("")
    for row in rows:
        whole += indent + row + "\n"
    return at, at, whole


def _chain(value: ast.expr) -> list[ast.Call]:
    """The calls of a chain, the first one first."""
    calls: list[ast.Call] = []
    node = value
    while isinstance(node, ast.Call):
        calls.append(node)
        node = node.func
        while isinstance(node, ast.Attribute):
            node = node.value
    return calls[::-1]


@transformation
def chains_split(code: Code) -> Rewriting | None:
    """A name for each step of a chain of calls."""
    changes: Changes = []
    number = 0
    for node, value in _statements(code):
        calls = _chain(value)
        if len(calls) < 2:
            continue
        rows: list[Traced] = []
        held: tuple[ast.Call, str] | None = None
        for call in calls[:-1]:
            number += 1
            start, end = code.span(call)
            text = code.traced[start:end]
            if held is not None:
                low, high = code.span(held[0])
                text = text.put([(low - start, high - start, held[1])])
            held = (call, f"step{number}_zq")
            rows.append(f"{held[1]} = (" + text + ")")
        assert held is not None
        changes += [_hoisted(code, node, rows), (*code.span(held[0]), held[1])]
    return single(code.traced.put(changes)) if changes else None


def _plain(node: ast.expr) -> bool:
    """Whether it does not matter when an argument is evaluated."""
    if isinstance(node, (ast.Constant, ast.Name, ast.Lambda)):
        return True
    if isinstance(node, ast.Attribute):
        return _plain(node.value)
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(map(_plain, node.elts))
    return isinstance(node, ast.UnaryOp) and _plain(node.operand)


@transformation
def arguments_named(code: Code) -> Rewriting | None:
    """A name for each argument that is a call itself."""
    changes: Changes = []
    number = 0
    for node, value in _statements(code):
        if not isinstance(value, ast.Call) or len(_chain(value)) > 1 or value.lineno != value.func.end_lineno:
            continue
        arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
        arguments.sort(key=lambda one: code.span(one))
        calls = [one for one in arguments if isinstance(one, ast.Call)]
        if not calls or not all(isinstance(one, ast.Call) or _plain(one) for one in arguments):
            continue
        rows = []
        for call in calls:
            number += 1
            rows.append(f"part{number}_zq = (" + code.source(call) + ")")
            changes.append((*code.span(call), f"part{number}_zq"))
        changes.append(_hoisted(code, node, rows))
    return single(code.traced.put(changes)) if changes else None


@transformation
def lambdas_defined(code: Code) -> Rewriting | None:
    """A `def` for each lambda."""
    changes: Changes = []
    number = 0
    for node, value in _statements(code):
        rows: list[Traced] = []
        indent = code.indent_of(node)
        for part in ast.walk(value):
            if not isinstance(part, ast.Lambda):
                continue
            above = list(code.ancestors(part))
            above = above[: above.index(node)]
            if any(
                isinstance(one, (*SCOPES, *COMPREHENSIONS, ast.IfExp, ast.BoolOp, ast.JoinedStr))
                for one in above
            ):
                continue
            if part.args.defaults or part.args.kw_defaults:
                continue
            number += 1
            header = f"def function{number}_zq({ast.unparse(part.args)}):\n{indent}    return ("
            rows.append(header + code.source(part.body) + ")")
            changes.append((*code.span(part), f"function{number}_zq"))
        if rows:
            changes.append(_hoisted(code, node, rows))
    return single(code.traced.put(changes)) if changes else None


@cache
def _known_signatures() -> dict[str, list[str]]:
    known: dict[str, list[str]] = json.loads(SIGNATURES.read_text("utf-8"))
    return known


def _own_signatures(code: Code) -> dict[str, list[str]]:
    """The parameters of the script's functions and classes that are called by a name of one meaning."""
    found: dict[str, list[str]] = {}
    times: dict[str, int] = {}
    for node in code.nodes:
        if isinstance(node, ast.stmt) and not isinstance(
            node, (ast.If, ast.For, ast.While, ast.With, ast.Try)
        ):
            for name in code.binds(node):
                times[name] = times.get(name, 0) + 1
        elif isinstance(node, ast.arg):
            times[node.arg] = times.get(node.arg, 0) + 1
    for node in code.tree.body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            found[node.name] = _parameters(node.args)
        elif isinstance(node, ast.ClassDef) and not node.decorator_list:
            makers = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
            if makers:
                found[node.name] = _parameters(makers[0].args)[1:]
    return {name: parameters for name, parameters in found.items() if times.get(name) == 1}


def _parameters(arguments: ast.arguments) -> list[str]:
    return [] if arguments.posonlyargs else [one.arg for one in arguments.args]


def _signature(call: ast.Call, own: dict[str, list[str]], known: dict[str, list[str]]) -> list[str] | None:
    if isinstance(call.func, ast.Name) and call.func.id in own:
        return own[call.func.id]
    name = ast.unparse(call.func)
    if name.startswith("tf.keras."):
        name = name[3:]
    if name in known:
        return known[name]
    if isinstance(call.func, ast.Attribute):
        chain = _chain(call)
        first = ast.unparse(chain[0].func)
        if first.startswith("tf.data."):
            return known.get(f"tf.data.Dataset().{call.func.attr}")
        if call.func.attr in ("fit", "compile", "evaluate"):
            return known.get(f"keras.Model().{call.func.attr}")
    return None


def _calls(code: Code) -> Iterator[tuple[ast.Call, list[str]]]:
    own, known = _own_signatures(code), _known_signatures()
    methods = {node.name for node in code.of(ast.FunctionDef)}
    known = {name: found for name, found in known.items() if name.rpartition(".")[2] not in methods}
    inside = {part for node in code.of(ast.JoinedStr) for part in ast.walk(node)}
    for call in code.of(ast.Call):
        starred = any(isinstance(one, ast.Starred) for one in call.args) or any(
            keyword.arg is None for keyword in call.keywords
        )
        if not starred and call not in inside and (parameters := _signature(call, own, known)):
            yield call, parameters


@transformation
def positional_to_keyword(code: Code) -> Rewriting | None:
    changes: Changes = []
    for call, parameters in _calls(code):
        if len(call.args) > len(parameters):
            continue
        for name, argument in zip(parameters, call.args):
            if isinstance(argument, ast.GeneratorExp) or name == "self":
                break
            start = code.span(argument)[0]
            opening = code.text.index("(", code.span(call.func)[1])
            while code.text[start - 1] == "(" and start - 1 > opening:
                start -= 1
            changes.append((start, start, f"{name}="))
    return single(code.traced.put(changes)) if changes else None


@transformation
def keyword_to_positional(code: Code) -> Rewriting | None:
    """Keywords that stand where their parameters do."""
    changes: Changes = []
    for call, parameters in _calls(code):
        for name, keyword in zip(parameters[len(call.args) :], call.keywords):
            if keyword.arg != name:
                break
            start = code.span(keyword)[0]
            equals = code.text.index("=", start)
            changes.append((start, equals + 1, ""))
    return single(code.traced.put(changes)) if changes else None


def definitions_inside(node: ast.AST) -> bool:
    return any(isinstance(part, DEFINITIONS) for part in ast.walk(node))


@transformation
def keywords_in_a_dict(code: Code) -> Rewriting | None:
    """The keywords of a call in a dictionary, which is spread out again."""
    changes: Changes = []
    inside = {part for node in code.of(ast.JoinedStr) for part in ast.walk(node)}
    for call in code.of(ast.Call):
        if not call.keywords or call in inside or any(keyword.arg is None for keyword in call.keywords):
            continue
        start, end = code.span(call.keywords[0])[0], code.span(call.keywords[-1])[1]
        if any(code.span(argument)[0] > start for argument in call.args):
            continue
        for number, keyword in enumerate(call.keywords):
            begin = code.span(keyword)[0]
            opening = "" if number else "**{"
            changes.append((begin, code.text.index("=", begin) + 1, f'{opening}"{keyword.arg}": '))
        changes.append((end, end, "}"))
    return single(code.traced.put(changes)) if changes else None
