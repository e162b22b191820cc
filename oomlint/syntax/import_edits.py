"""Adding an import where the file's other imports are, unless it is there already."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import libcst as cst

from oomlint.documents.text_edits import TextEdit
from oomlint.syntax.layout import EditError, Layout
from oomlint.syntax.statement_edits import insert_after, insert_before
from oomlint.syntax.statements import anchor

# What an import binds: the module ("" .. for relative ones), the name taken from it if any, the local name.
_Binding = tuple[str, str | None, str]


def add_import(layout: Layout, place: cst.CSTNode, statement: str) -> list[TextEdit]:
    """The insertion of an import that `place` needs; nothing where the file has it."""
    wanted = list(_wanted(statement))
    path = layout.path(place)
    module = layout.source.whole
    own = next((number for number, node in enumerate(module.body) if node is path[1]), 0)
    in_function = any(isinstance(node, (cst.FunctionDef, cst.Lambda)) for node in path)
    # Code in a function runs later, when imports further down have run too.
    before = module.body if in_function else module.body[: own + 1]
    blocks = [node.body for node in path if isinstance(node, cst.IndentedBlock)]
    present = [binding for block in (before, *blocks) for binding in _bindings(block)]
    if all(any(_serves(binding, want) for binding in present) for want in wanted):
        return []
    last = _last_import(module.body[:own])
    if own and _imports(module.body[own]) and module.body[own - 1] is not last:
        # Settings that stand above an import (`os.environ[...]`, what a notebook installs) are for this one, too.
        return insert_before(layout, anchor(layout, module.body[own]), [statement], blank=False)
    if last is not None:
        return insert_after(layout, anchor(layout, last), [statement])
    below = next(
        node for number, node in enumerate(module.body) if number == own or not _is_docstring(node, number)
    )
    return insert_before(layout, anchor(layout, below), [statement], blank=not _imports(below))


def _wanted(statement: str) -> Iterator[_Binding]:
    tree = ast.parse(statement)
    match tree.body:
        case [ast.Import(names=names)]:
            for alias in names:
                yield alias.name, None, alias.asname or alias.name.partition(".")[0]
        case [ast.ImportFrom(module=module, names=names, level=level)]:
            for alias in names:
                yield "." * level + (module or ""), alias.name, alias.asname or alias.name
        case _:
            raise EditError(f"{statement!r} is not an import")


def _serves(present: _Binding, wanted: _Binding) -> bool:
    if present == wanted:
        return True
    # `import a.b` binds a, as `import a` does
    module, name, local = wanted
    return (
        name is None
        and present[1] is None
        and local == present[2] == module
        and present[0].startswith(f"{module}.")
    )


def _bindings(statements: Sequence[cst.CSTNode]) -> Iterator[_Binding]:
    """What the imports of a block bind, those in its `try`, `if` and `with` blocks too."""
    stack = list(statements)
    while stack:
        node = stack.pop()
        match node:
            case cst.SimpleStatementLine(body=body) | cst.SimpleStatementSuite(body=body):
                stack += body
            case cst.IndentedBlock(body=body):
                stack += body
            case cst.Import(names=names):
                for alias in names:
                    module = alias.evaluated_name
                    yield module, None, alias.evaluated_alias or module.partition(".")[0]
            case cst.ImportFrom(module=source, names=[*aliases], relative=dots):
                module = "." * len(dots) + (_dotted(source) if source is not None else "")
                for alias in aliases:
                    yield module, alias.evaluated_name, alias.evaluated_alias or alias.evaluated_name
            case cst.Try() | cst.TryStar() | cst.If() | cst.With() | cst.Else() | cst.ExceptHandler():
                stack += node.children
            case cst.Finally():
                stack.append(node.body)


def _dotted(node: cst.Attribute | cst.Name) -> str:
    parts = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        assert isinstance(node.value, (cst.Attribute, cst.Name))
        node = node.value
    return ".".join([node.value, *reversed(parts)])


def _last_import(statements: Sequence[cst.CSTNode]) -> cst.CSTNode | None:
    """The last import of the block of imports that a file starts with.

    Settings such as `os.environ[...] = ...` often stand between imports, and must stay above those after them.
    """
    last = None
    for statement in statements:
        if _imports(statement):
            last = statement
        elif not isinstance(statement, cst.SimpleStatementLine):
            break
    return last


def _imports(statement: cst.CSTNode) -> bool:
    match statement:
        case cst.SimpleStatementLine(body=body):
            return any(isinstance(small, (cst.Import, cst.ImportFrom)) for small in body)
        case cst.Try(body=block) | cst.TryStar(body=block) | cst.If(body=block):
            if isinstance(block, cst.SimpleStatementSuite):
                return any(isinstance(small, (cst.Import, cst.ImportFrom)) for small in block.body)
            return bool(block.body) and _imports(block.body[0])
    return False


def _is_docstring(node: cst.CSTNode, number: int) -> bool:
    match node:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            return number == 0
    return False
