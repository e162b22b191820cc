"""Rewritings that make functions of statements, and statements of functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from metamorphic.code import (
    COMPREHENSIONS,
    DEFINITIONS,
    IMPORTS,
    SCOPES,
    Code,
    Rewriting,
    Traced,
    is_preamble,
    joined,
    loaded,
    opaque,
    single,
    transformation,
)
from metamorphic.naming import renamed

Changes = list[tuple[int, int, "Traced | str"]]
_TIED = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def _extractable(code: Code, value: ast.expr) -> bool:
    return (
        not any(isinstance(part, _TIED) for part in ast.walk(value))
        and "super(" not in code.source(value).text
    )


@transformation
def values_from_functions(code: Code) -> Rewriting | None:
    """`def value(): return ...` right before each assignment of a call, and `x = value()`."""
    if opaque(code):
        return None
    changes: Changes = []
    number = 0
    for owner, body in code.bodies():
        if isinstance(owner, ast.ClassDef):
            continue
        for node in body:
            if (
                not isinstance(node, ast.Assign)
                or not isinstance(node.value, ast.Call)
                or not code.own_rows(node)
            ):
                continue
            # In a loop the function would be another one each time, for tf.function too.
            if any(isinstance(one, (ast.For, ast.While)) for one in code.ancestors(node)):
                continue
            if not _extractable(code, node.value):
                continue
            number += 1
            indent = code.indent_of(node)
            at = code.row_start(node.lineno)
            header = f"{indent}def value{number}_zq():\n{indent}    return ("
            changes.append((at, at, header + code.source(node.value) + ")\n\n"))
            changes.append((*code.span(node.value), f"value{number}_zq()"))
    return single(code.traced.put(changes)) if changes else None


@transformation
def calls_from_functions(code: Code) -> Rewriting | None:
    """`def act(): ...` on top of a script's work for each of its statements that is a call, and `act()`."""
    if opaque(code):
        return None
    changes: Changes = []
    number = 0
    for node in code.tree.body:
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call) or not code.own_rows(node):
            continue
        if not _extractable(code, node.value):
            continue
        number += 1
        at = code.row_start(node.lineno)
        changes.append((at, at, f"def act{number}_zq():\n    " + code.source(node.value) + "\n\n\n"))
        changes.append((*code.span(node.value), f"act{number}_zq()"))
    return single(code.traced.put(changes)) if changes else None


def _here(node: ast.AST) -> Iterator[ast.AST]:
    """What runs in the scope of a statement."""
    yield node
    if not isinstance(node, (*SCOPES, *COMPREHENSIONS)):
        for child in ast.iter_child_nodes(node):
            yield from _here(child)


def _groups(code: Code, length: int) -> Iterator[list[ast.stmt]]:
    held: list[ast.stmt] = []
    for node in [*code.tree.body, None]:
        simple = (
            isinstance(node, (ast.Assign, ast.Expr, ast.AugAssign))
            and code.own_rows(node)
            and not is_preamble(node)
            and not any(isinstance(part, _TIED) for part in ast.walk(node))
        )
        if simple:
            held.append(node)
        if not simple or len(held) == length:
            if len(held) > 1:
                yield held
            held = []


@transformation
def steps_in_functions(code: Code) -> Rewriting | None:
    """Each few statements of a script in a function that gets what they need and gives back what they make."""
    if opaque(code):
        return None
    variables = {
        name
        for node in code.tree.body
        if not isinstance(node, (*IMPORTS, *DEFINITIONS))
        for name in code.binds(node)
    }
    pieces: Changes = []
    for number, group in enumerate(_groups(code, 4)):
        own = {name for node in group for name in code.binds(node)}
        others = [node for node in code.tree.body if node not in group]
        nested = {
            name
            for node in others
            for part in ast.walk(node)
            if isinstance(part, SCOPES)
            for name in loaded([part])
        }
        # A function elsewhere would look for the name in the module.
        if own & nested or any(code.traced[slice(*code.span(node))].text.startswith("#") for node in group):
            continue
        needs = sorted(variables & loaded(group))
        before = {
            name for node in code.tree.body if node.lineno < group[0].lineno for name in code.binds(node)
        }
        parameters = [name for name in needs if name in before]
        gives = sorted(own)
        first, last = group[0].lineno, group[-1].end_lineno
        body = code.indented(first, last, "    ")
        body = body if body.text.endswith("\n") else body + "\n"
        result = f"    return {', '.join(gives)}\n" if gives else ""
        call = f"step{number}_zq({', '.join(parameters)})\n"
        whole = joined(
            [
                f"def step{number}_zq({', '.join(parameters)}):\n",
                body,
                result,
                "\n\n",
                f"{', '.join(gives)} = {call}" if gives else call,
            ]
        )
        pieces.append((code.row_start(first), code.row_start(last + 1), whole))
    return single(code.traced.put(pieces)) if pieces else None


def _inlinable(code: Code, function: ast.FunctionDef) -> bool:
    if function.decorator_list or not code.own_rows(function) or function.body[0].lineno == function.lineno:
        return False
    arguments = function.args
    if arguments.posonlyargs or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        return False
    for part in ast.walk(function):
        if isinstance(part, (ast.Global, ast.Nonlocal, *_TIED, *IMPORTS)):
            return False
        if isinstance(part, ast.Return) and part is not function.body[-1]:
            if next(one for one in code.ancestors(part) if isinstance(one, SCOPES)) is function:
                return False
    return True


@transformation
def function_inlined(code: Code) -> Rewriting | None:
    """The body of functions that the script calls once, in the call's place."""
    if opaque(code):
        return None
    text = None
    current = code
    for number in range(6):
        found = _first_inlined(current, number)
        if found is None:
            break
        text = found
        current = Code(text)
    if text is None:
        return None
    return single(text, {f"{name}_zq{number}": name for name in _own_names(code) for number in range(6)})


def _own_names(code: Code) -> set[str]:
    return {node.id for node in code.of(ast.Name)} | {node.arg for node in code.of(ast.arg)}


def _first_inlined(code: Code, number: int) -> Traced | None:
    functions = [node for node in code.tree.body if isinstance(node, ast.FunctionDef)]
    for function in functions:
        uses = [node for node in code.of(ast.Name) if node.id == function.name]
        if len(uses) != 1 or not _inlinable(code, function):
            continue
        call = code.parents[uses[0]]
        statement = code.parents[call]
        if not isinstance(call, ast.Call) or call.func is not uses[0] or statement not in code.tree.body:
            continue
        if not isinstance(statement, (ast.Assign, ast.Expr)) or statement.value is not call:
            continue
        if not code.own_rows(statement):
            continue
        text = _inlined(code, function, call, statement, number)
        if text is not None:
            return text
    return None


def _inlined(
    code: Code, function: ast.FunctionDef, call: ast.Call, statement: ast.Assign | ast.Expr, number: int
) -> Traced | None:
    parameters = [one.arg for one in function.args.args]
    if any(isinstance(one, ast.Starred) for one in call.args) or any(
        one.arg is None for one in call.keywords
    ):
        return None
    given = dict(zip(parameters, call.args)) | {one.arg: one.value for one in call.keywords if one.arg}
    defaults = dict(zip(parameters[::-1], function.args.defaults[::-1]))
    inner = {
        part.arg if isinstance(part, ast.arg) else part.name
        for node in function.body
        for part in ast.walk(node)
        if isinstance(part, (ast.arg, *DEFINITIONS))
    }
    passed = {
        keyword.arg
        for node in function.body
        for part in ast.walk(node)
        if isinstance(part, ast.Call)
        for keyword in part.keywords
    }
    local = {name for node in function.body for name in code.binds(node)} | set(parameters)
    if inner & passed & local:
        return None
    names = {name: f"{name}_zq{number}" for name in local}
    result = function.body[-1] if isinstance(function.body[-1], ast.Return) else None
    if isinstance(statement, ast.Assign) and (result is None or result.value is None):
        return None
    if result is not None and result.value is not None and isinstance(statement, ast.Assign):
        targets = code.traced[code.span(statement)[0] : code.span(statement.targets[-1])[1]] + " = "
    else:
        targets = Traced.new("")
    rows: list[Traced | str] = []
    for name in parameters:
        value = given.get(name, defaults.get(name))
        if value is None:
            return None
        rows += [f"{names[name]} = (", code.source(value), ")\n"]
    body = function.body[:-1] if result is not None else function.body
    indent = code.indent_of(function.body[0])
    inside = Code(
        joined(
            [
                f"def {function.name}():\n",
                code.rows(code.comment_row(function.body[0]), function.end_lineno),
                "\n",
            ]
        )
    )
    replaced = renamed(inside, names)
    if replaced is None:
        return None
    again = Code(replaced)
    [copy] = [node for node in again.tree.body if isinstance(node, ast.FunctionDef)]
    kept = copy.body[: len(body)]
    if kept:
        rows.append(_dedented(again, again.comment_row(kept[0]), kept[-1].end_lineno, len(indent)))
    if result is not None and result.value is not None:
        rows += [targets, "(", again.source(copy.body[-1].value), ")\n"]
    start = code.row_start(statement.lineno)
    end = code.row_start(statement.end_lineno + 1)
    gone = (code.row_start(code.comment_row(function)), code.row_start(function.end_lineno + 1), "")
    return code.traced.put([gone, (start, end, joined(rows))])


def _dedented(code: Code, first: int, last: int, by: int) -> Traced:
    frozen: set[int] = set()
    for node in code.of(ast.Constant, ast.JoinedStr):
        frozen.update(range(node.lineno + 1, node.end_lineno + 1))
    pieces = []
    for row in range(first, last + 1):
        own = code.rows(row, row)
        pieces.append(own if row in frozen or own.text[:by].strip() else own[by:])
    return joined(pieces)
