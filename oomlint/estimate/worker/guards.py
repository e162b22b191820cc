"""The statements of a slice, guarded: one that fails binds "not known" to its names, and the rest goes on.

Imports of Keras from private modules become those of the Keras of today.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

from oomlint.estimate.slicing.steps import trains_itself

FAILED = "oomlint_failed"


def compiled(text: str, path: str, lines: list[int]) -> Any:
    """The slice as code whose statements are guarded, and whose lines are those of the user's file."""
    tree = ast.parse(text)
    _today(tree)
    for node in ast.walk(tree):
        number = getattr(node, "lineno", None)
        if number is not None and number < len(lines):
            node.lineno = lines[number]  # type: ignore[attr-defined]
            node.end_lineno = lines[number]  # type: ignore[attr-defined]
            node.end_col_offset = node.col_offset  # type: ignore[attr-defined] # what ended lines below ends here now
    tree.body = _guarded(tree.body, top=True)
    ast.fix_missing_locations(tree)
    return compile(tree, path, "exec", dont_inherit=True)


# Where Keras could be imported from that nobody should have; longer names first.
_PRIVATE = (
    ("tensorflow_core", "tensorflow"),
    ("tensorflow.python.keras.api._v1", "tensorflow"),
    ("tensorflow.python.keras.api._v2", "tensorflow"),
    ("tensorflow.python.keras.api", "tensorflow"),
    ("tensorflow.python.keras", "tensorflow.keras"),
    ("tensorflow._api.v2.v2", "tensorflow"),
    ("tensorflow._api.v2", "tensorflow"),
    ("keras.api._v2", "tensorflow"),
    ("keras.api", "keras"),
)


def _public(module: str) -> str:
    for private, public in _PRIVATE:
        if f"{module}.".startswith(f"{private}."):
            return _public(public + module[len(private) :])
    return module


def _today(tree: ast.Module) -> None:
    """Keras from its private modules, some of them copies that are gone, as the Keras of today."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            if _public(node.module) == "tensorflow.python" and any(one.name == "keras" for one in node.names):
                node.module = "tensorflow"
            else:
                node.module = _public(node.module)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    alias.name = _public(alias.name)


def _guarded(body: list[ast.stmt], top: bool) -> list[ast.stmt]:
    # What leads on to the training call is the last statement of its block.
    apart = [one for statement in body for one in _one_by_one(statement)]
    last = len(apart) - 1
    return [_guard(statement, top, index == last) for index, statement in enumerate(apart)]


def _one_by_one(statement: ast.stmt) -> list[ast.stmt]:
    """An import of several names as several imports: one that is not there any more takes no other along."""
    if not isinstance(statement, ast.ImportFrom) or statement.module == "__future__":
        return [statement]
    return [
        ast.copy_location(ast.ImportFrom(statement.module, [alias], statement.level), statement)
        for alias in statement.names
    ]


# Of a layer: what fails in them must not be left out in silence.
_STEPS = ("call", "build", "__call__")


def _guard(statement: ast.stmt, top: bool, last: bool = False) -> ast.stmt:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        statement.decorator_list = [_if_there(one) for one in statement.decorator_list]
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            way = _leads_on(statement)
            statement.body = _guarded(statement.body, way)
            return statement
        case ast.ClassDef() if trains_itself(statement):
            return statement  # a step that fails in part must not be estimated in part
        case ast.ClassDef():
            statement.body = [
                _guard(one, False) if isinstance(one, ast.FunctionDef) and one.name not in _STEPS else one
                for one in statement.body
            ]
            return statement
        case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try():
            for name in ("body", "orelse", "finalbody"):
                block = getattr(statement, name, None)
                if block:
                    setattr(statement, name, _guarded(block, top))
            if isinstance(statement, ast.If | ast.With) and not _leads_on(statement):
                return _attempt(statement) if top else statement
            return statement
        case ast.Expr(value=ast.Call(func=ast.Name(id="oomlint_trained"))):
            return statement
        case ast.ImportFrom(module="__future__"):
            return statement
        case ast.Import() | ast.ImportFrom():
            return _attempt(statement)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if top:
            statement.value = ast.copy_location(_call("named", value, name, statement.lineno), value)
            return _attempt(statement)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() if top:
            return _attempt(statement)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="compile" | "add"))):
            return statement
        case ast.Expr(value=ast.Call()):
            return statement if top and last else _attempt(statement)
    return statement


def _if_there(decorator: ast.expr) -> ast.expr:
    if isinstance(decorator, ast.Name) and hasattr(builtins, decorator.id):
        return decorator
    return ast.copy_location(_call("decorator", decorator), decorator)


def _call(helper: str, value: ast.expr, *more: str | int) -> ast.Call:
    """`oomlint_failed.helper(value, ...)`: what running.py keeps there."""
    function = ast.Attribute(ast.Name(FAILED, ast.Load()), helper, ast.Load())
    return ast.Call(function, [value, *map(ast.Constant, more)], [])


def _leads_on(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "oomlint_trained" for one in ast.walk(node))


def _attempt(statement: ast.stmt) -> ast.stmt:
    """`try: statement / except Exception as error: names = failed(error, name, line)`."""
    names = _names(statement)
    line = getattr(statement, "lineno", 0)
    handler: list[ast.stmt] = []
    for name in names or [""]:
        call = f"{FAILED}(oomlint_error, {name!r}, {line})"
        handler += ast.parse(f"{name} = {call}" if name else call).body
    attempt = ast.parse("try:\n    pass\nexcept Exception as oomlint_error:\n    pass").body[0]
    assert isinstance(attempt, ast.Try)
    attempt.body = [statement]
    attempt.handlers[0].body = handler
    return ast.copy_location(attempt, statement)


def _names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Import(names=aliases):
            return [alias.asname or alias.name.partition(".")[0] for alias in aliases]
        case ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name for alias in aliases if alias.name != "*"]
        case ast.If() | ast.With():
            return sorted(
                {name for one in ast.walk(statement) if isinstance(one, ast.Assign) for name in _names(one)}
            )
    found: list[str] = []
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    for target in targets:
        for node in ast.walk(target) if target is not None else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.append(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.append(ast.unparse(node))
    return found
