"""The statements of a slice, guarded: one that fails binds "not known" to its names, and the rest goes on.

What is spelled as Keras 2 or TensorFlow 1 had it is respelled first: spellings.py.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from typing import Any

from oomlint.estimate.slicing.filling import filled
from oomlint.estimate.slicing.program import dotted
from oomlint.estimate.slicing.steps import trains_itself
from oomlint.estimate.worker.script.altered import Altering
from oomlint.estimate.worker.script.leading import Way, leads_on, mark
from oomlint.estimate.worker.script.spellings import FAILED, helper, today

__all__ = ["FAILED", "compiled"]


def compiled(
    text: str, path: str, lines: list[int], way: Way | None = None, others: Sequence[ast.Module] = ()
) -> Any:
    """The slice as code whose statements are guarded, and whose lines are those of the user's file.

    `way` names the functions of each file that lead to the training call: `train`, `Trainer.fit`; `others` are the
    project's other modules, whose classes it may have objects of.
    """
    tree = ast.parse(text, path)
    today(tree)
    for node in ast.walk(tree):
        number = getattr(node, "lineno", None)
        if number is not None and number < len(lines):
            node.lineno = lines[number]  # type: ignore[attr-defined]
            node.end_lineno = lines[number]  # type: ignore[attr-defined]
            node.end_col_offset = node.col_offset  # type: ignore[attr-defined] # what ended lines below ends here now
    _unset(tree)
    mark(tree, path, way or {})
    altering = Altering(tree, others)
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            for inner in (one for statement in node.body for one in ast.walk(statement)):
                inner.oomlint_tried = True  # type: ignore[attr-defined] # that it fails is what its handler is for
        if isinstance(node, ast.Expr):
            node.oomlint_alters = altering.of_call(node)  # type: ignore[attr-defined]
    tree.body = _guarded(tree.body, top=True)
    ast.fix_missing_locations(tree)
    return compile(tree, path, "exec", dont_inherit=True)


def _guarded(body: list[ast.stmt], top: bool) -> list[ast.stmt]:
    # What leads on to the training call is the last statement of its block.
    apart = [one for statement in body for one in _one_by_one(statement)]
    last = len(apart) - 1
    return [_guard(statement, top, index == last) for index, statement in enumerate(apart)]


def _one_by_one(statement: ast.stmt) -> list[ast.stmt]:
    """An import or an assignment of several names as several: one that fails takes no other along."""
    match statement:
        case ast.ImportFrom(module=module, names=aliases, level=level) if module != "__future__":
            return [ast.copy_location(ast.ImportFrom(module, [one], level), statement) for one in aliases]
        case ast.Assign(
            targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)],
            value=ast.Tuple(elts=values) | ast.List(elts=values),
        ) if len(targets) == len(values) and not _meet(targets, values) and not leads_on(statement):
            pairs = zip(targets, values, strict=True)
            return [ast.copy_location(ast.Assign([target], value), statement) for target, value in pairs]
    return [statement]


def _meet(targets: list[ast.expr], values: list[ast.expr]) -> bool:
    """Whether a value reads what stands before it: `a, b = b, a`."""
    if any(isinstance(one, ast.Starred | ast.Subscript) for one in (*targets, *values)):
        return True
    bound: set[str] = set()
    for target, value in zip(targets, values, strict=True):
        read = {ast.unparse(one) for one in ast.walk(value) if isinstance(one, ast.Name | ast.Attribute)}
        if bound & read:
            return True
        bound |= {ast.unparse(one) for one in ast.walk(target) if isinstance(one, ast.Name | ast.Attribute)}
        bound -= {ast.unparse(target.value)} if isinstance(target, ast.Attribute) else set()
    return False


# Of a layer: what fails in them must not be left out in silence.
_STEPS = ("call", "build", "__call__")


def _guard(statement: ast.stmt, top: bool, last: bool = False) -> ast.stmt:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        statement.decorator_list = [_if_there(one) for one in statement.decorator_list]
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            way = leads_on(statement)
            _begin(statement)
            statement.body = _guarded(statement.body, way)
            return statement
        case ast.ClassDef() if trains_itself(statement):
            for method in statement.body:
                _begin(method)
            return statement  # a step that fails in part must not be estimated in part
        case ast.ClassDef():
            statement.body = [_member(one) for one in statement.body]
            return statement
        case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try():
            fails_alone = isinstance(statement, ast.If | ast.With) or _fills(statement)
            for name in ("body", "orelse", "finalbody"):
                block = getattr(statement, name, None)
                if name == "body" and isinstance(statement, ast.Try) and _falls_back(statement):
                    continue  # that it fails is what its handler is for
                if block:
                    setattr(statement, name, _guarded(block, top))
            alone = fails_alone if top else _reads_words(statement)
            return _attempt(statement) if alone and not leads_on(statement) else statement
        case ast.Expr() | ast.Assign() | ast.Return() if leads_on(statement):
            return statement  # why it fails is what is to be said
        case ast.ImportFrom(module="__future__"):
            return statement
        case ast.Import() | ast.ImportFrom():
            return _attempt(statement)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if top:
            statement.value = ast.copy_location(helper("named", value, name, statement.lineno), value)
            return _attempt(statement)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() if top:
            return _attempt(statement)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="compile"))):
            return statement
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add", value=model))):
            return _noted(statement, model)
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"))))
        ):
            return statement  # no object is one without that
        case ast.Expr(value=ast.Call()):
            return statement if top and last else _attempt(statement)
    return statement


def _begin(method: ast.stmt) -> None:
    """What an object begins with and reads from a file that is not there is not known; the rest of it is."""
    if isinstance(method, ast.FunctionDef) and method.name == "__init__":
        method.body = [_begun(one) for one in method.body]


def _begun(statement: ast.stmt) -> ast.stmt:
    match statement:
        case ast.Assign(value=ast.Call(func=called)) if dotted(called) != "open" and not leads_on(statement):
            return _attempt(statement, "FileNotFoundError")
    return statement


def _member(statement: ast.stmt) -> ast.stmt:
    """A statement of a class: settings that are computed may read a file that is not there."""
    match statement:
        case ast.FunctionDef(name=name) if name not in _STEPS:
            return _guard(statement, False)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as value):
            statement.value = ast.copy_location(helper("named", value, name, statement.lineno), value)
        case ast.Assign(targets=[ast.Name()], value=ast.expr() as value):
            calls = any(isinstance(one, ast.Call) for one in ast.walk(value))
            return _attempt(statement) if calls else statement
    return statement


def _reads_words(statement: ast.stmt) -> bool:
    """Whether it reads a file into what it fills, or goes through what was read: vectors of words, in a method."""
    if getattr(statement, "oomlint_tried", False) or any(
        isinstance(one, ast.Return | ast.Yield) for one in ast.walk(statement)
    ):
        return False
    match statement:
        case ast.With(items=[ast.withitem(context_expr=ast.Call(func=ast.Name(id="open")))]):
            return bool(filled(statement))
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="items"), args=[])):
            return _fills(statement)
    return False


_READS = re.compile(r"load\w*|restore\w*|open|read\w*|from_pretrained")


def _falls_back(statement: ast.Try) -> bool:
    """Whether a handler makes what could not be read: `try: net = load_model(file)`, `except: net = build()`."""
    calls = [getattr(one.func, "attr", getattr(one.func, "id", "")) for one in _calls(statement.body)]
    made = {name for one in statement.body if isinstance(one, ast.Assign) for name in _names(one)}
    instead = {
        name
        for handler in statement.handlers
        for one in handler.body
        if isinstance(one, ast.Assign) and not isinstance(one.value, ast.Constant)
        for name in _names(one)
    }
    return bool(made & instead) and any(map(_READS.fullmatch, calls))


def _calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    for statement in body:
        yield from (one for one in ast.walk(statement) if isinstance(one, ast.Call))


def _if_there(decorator: ast.expr) -> ast.expr:
    if isinstance(decorator, ast.Name) and hasattr(builtins, decorator.id):
        return decorator
    return ast.copy_location(helper("decorator", decorator), decorator)


def _unset(tree: ast.Module) -> None:
    """Attributes that begin as None, and that nothing sets which is in the slice: what does may read data."""
    stores = [
        one for one in ast.walk(tree) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
    ]
    names = [one.attr for one in stores]
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Constant(None)
            ):
                if names.count(name) == 1:
                    node.value = ast.copy_location(helper("unset", node.value, name, node.lineno), node.value)


def _attempt(statement: ast.stmt, kind: str = "Exception") -> ast.stmt:
    """`try: statement / except Exception as error: names = failed(error, name, line)`.

    What it was to fill or to set by a call is not known then either, unless it is another object by then.
    """
    names = _names(statement)
    line = getattr(statement, "lineno", 0)
    altered = [] if isinstance(statement, ast.Assign) else sorted(filled(statement) - set(names))
    if isinstance(statement, ast.Expr):
        altered = statement.oomlint_alters  # type: ignore[attr-defined]
    handler: list[ast.stmt] = []
    for name in names or [""] * (not altered):
        key = name.partition("['")[2].rstrip("']") or name
        call = f"{FAILED}(oomlint_error, {key!r}, {line})"
        handler += ast.parse(f"{name} = {call}" if name else call).body
    before = f"oomlint_before_{line}"
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="read" | "read_file"))):
            handler += ast.parse(f"{name} = {FAILED}.read(oomlint_error, {name!r}, {line}, {name})").body
    for name in altered:
        held = f"{before}.get({name!r})" if isinstance(statement, ast.Expr) else "None"
        call = f"{FAILED}.left(oomlint_error, {name!r}, {line}, lambda: {name}, {held})"
        handler += ast.parse(f"try:\n    {name} = {call}\nexcept Exception:\n    pass").body
    attempt = ast.parse(f"try:\n    pass\nexcept {kind} as oomlint_error:\n    pass").body[0]
    assert isinstance(attempt, ast.Try)
    attempt.body = [statement]
    if altered and isinstance(statement, ast.Expr):
        values = ", ".join(f"{name!r}: {FAILED}.held(lambda: {name})" for name in altered)
        attempt.body = [*ast.parse(f"{before} = {{{values}}}").body, statement]
    attempt.handlers[0].body = handler
    return ast.copy_location(attempt, statement)


def _noted(statement: ast.stmt, model: ast.expr) -> ast.stmt:
    """`model.add(layer)`: where that fails, a model without the layer must not be estimated, whoever goes on."""
    handler = f"{FAILED}.half_made(oomlint_error, lambda: {ast.unparse(model)})"
    attempt = ast.parse(f"try:\n    pass\nexcept Exception as oomlint_error:\n    {handler}\n    raise").body[
        0
    ]
    assert isinstance(attempt, ast.Try)
    attempt.body = [statement]
    return ast.copy_location(attempt, statement)


def _fills(statement: ast.stmt) -> bool:
    """Whether a loop only computes: every name that it leaves something in can be bound to "not known"."""
    if not isinstance(statement, ast.For | ast.While):
        return False
    for one in ast.walk(statement):
        match one:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=holder))):
                if dotted(holder) in ("", "self"):  # what its method sets is not seen from here
                    return False
            case ast.Expr(value=ast.Call(func=ast.Name())):
                continue
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.For() | ast.While() | ast.If():
                continue
            case ast.Pass() | ast.Break() | ast.Continue():
                continue
            case ast.stmt():
                return False
    return True


def _names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Import(names=aliases):
            return [alias.asname or alias.name.partition(".")[0] for alias in aliases]
        case ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name for alias in aliases if alias.name != "*"]
        case ast.For() | ast.While():
            named = (one for one in ast.walk(statement) if isinstance(one, ast.Name))
            found = {one.id for one in named if isinstance(one.ctx, ast.Store)}
            for one in ast.walk(statement):  # `model.add(layer)`, `self.blocks.append(block)`
                match one:
                    case ast.Expr(value=ast.Call(func=ast.Attribute(value=holder))) if dotted(holder):
                        found.add(dotted(holder))
                    case ast.Attribute(ctx=ast.Store()) if dotted(one):
                        found.add(dotted(one))
            return sorted(found - {FAILED})
        case ast.If() | ast.With():
            return sorted(
                {name for one in ast.walk(statement) if isinstance(one, ast.Assign) for name in _names(one)}
            )
    bound: list[str] = []
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    for target in targets:
        for node in ast.walk(target) if target is not None else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound.append(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                bound.append(ast.unparse(node))
        # Entries of a table that are unpacked, `data["x"], data["y"] = load(...)`: asked for by their keys.
        for one in target.elts if isinstance(target, ast.Tuple) else ():
            match one:
                case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str(key))) if (
                    key.isidentifier()
                ):
                    bound.append(ast.unparse(one))
    return bound
