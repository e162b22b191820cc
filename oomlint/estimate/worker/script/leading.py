"""Which statements of a slice lead on to the training call: its own, and those that call functions it is in."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from oomlint.estimate.slicing.program import root_name

Way = Mapping[str, Sequence[str]]  # the functions of each file that lead there: `train`, `Trainer.fit`


def mark(tree: ast.Module, path: str, way: Way) -> None:
    """Mark the statements and functions of a file."""
    _mark(tree)
    _mark_way(tree, path, way)


def called_on(text: str, path: str, way: Way) -> set[str]:
    """The names on which the call is made that leads there last in its block: `agent` of `agent.learn(batch)`."""
    tree = ast.parse(text, path)
    mark(tree, path, way)
    blocks = [
        tree.body,
        *(one.body for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and leads_on(one)),
    ]
    calls = [
        statement.value for body in blocks for statement in _last(body) if isinstance(statement, ast.Expr)
    ]
    return {
        root_name(one.func)
        for one in calls
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)
    }


def _last(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    while body:
        yield body[-1]
        body = getattr(body[-1], "body", []) if isinstance(body[-1], _BLOCKS) else []


_BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try)


def _mark(tree: ast.Module) -> None:
    """Mark what leads on to the training call: its statements, functions, and those that call them."""
    methods = {id(one) for cls in ast.walk(tree) if isinstance(cls, ast.ClassDef) for one in cls.body}
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    names, attributes = {"oomlint_trained"}, set[str]()
    leading: set[int] = set()
    while True:
        new = [
            one
            for one in functions
            if id(one) not in leading and (_says(one, names, attributes) or _ends_in(one.body, attributes))
        ]
        if not new:
            break
        leading.update(map(id, new))
        for one in new:
            (attributes if id(one) in methods else names).add(one.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.oomlint_leads = id(node) in leading  # type: ignore[union-attr]
        elif isinstance(node, ast.stmt):
            node.oomlint_leads = _says(node, names, attributes)  # type: ignore[attr-defined]


def _mark_way(tree: ast.Module, path: str, way: Way) -> None:
    """The same of a way through several modules, none of which says alone where it leads."""
    own = set(way.get(path, ()))
    called = {one.removesuffix(".__init__").rpartition(".")[2] for names in way.values() for one in names}
    blocks = [tree.body] if own else []
    for cls in ast.walk(tree):
        for node in getattr(cls, "body", ()) if isinstance(cls, ast.Module | ast.ClassDef) else ():
            inside = f"{cls.name}." if isinstance(cls, ast.ClassDef) else ""
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and inside + node.name in own:
                node.oomlint_leads = True  # type: ignore[union-attr]
                blocks.append(node.body)
    while blocks:
        last = blocks.pop()[-1]
        calls = (one.func for one in ast.walk(last) if isinstance(one, ast.Call))
        if isinstance(last, ast.FunctionDef | ast.ClassDef) or not any(
            getattr(one, "attr", getattr(one, "id", "")) in called for one in calls
        ):
            continue
        last.oomlint_leads = True  # type: ignore[attr-defined]
        if isinstance(last, _BLOCKS):
            blocks.append(last.body)


def _says(node: ast.AST, names: set[str], attributes: set[str]) -> bool:
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name) if name in names:
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name in attributes:
                return True
    return False


def _ends_in(body: list[ast.stmt], methods: set[str]) -> bool:
    """Whether the last statement calls one of these methods, of whatever object: `agent.train()`."""
    match body[-1] if body else None:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in methods
        case ast.For(body=inner) | ast.While(body=inner) | ast.With(body=inner) | ast.Try(body=inner):
            return _ends_in(inner, methods)
    return False


def leads_on(node: ast.AST) -> bool:
    """Whether a statement is one of those."""
    return getattr(node, "oomlint_leads", False)
