"""Questions about the statements of a block, for fixes that insert or move some.

Asked only about code that has a finding: the answers walk the block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.syntax.children import code_children

if TYPE_CHECKING:
    from oomlint.syntax.source import Source


def nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and everything below it that is code, in no particular order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(code_children(current, types=True))


def block_of(node: cst.Module | cst.FunctionDef) -> Sequence[cst.CSTNode]:
    """The statements of a module or function (none for a body on the line of its `def`)."""
    body: Any = node.body if isinstance(node, cst.Module) else node.body.body
    return body if all(isinstance(part, cst.BaseStatement) for part in body) else ()


def in_one_block(root: cst.Module, statements: Sequence[cst.CSTNode]) -> bool:
    """Whether all these statements stand in one block, so that each runs whenever the others do."""
    wanted = {id(statement) for statement in statements}
    for node in nodes(root):
        body = getattr(node, "body", None)
        if isinstance(body, Sequence):
            found = wanted & {id(statement) for statement in body}
            if found:
                return found == wanted
    return False


def last_statement(block: cst.BaseSuite) -> cst.CSTNode | None:
    """What a block ends with: the first that leaves it for good, or else its last statement that is no `pass`."""
    statements: list[cst.CSTNode] = []
    for part in block.body:
        statements += part.body if isinstance(part, cst.SimpleStatementLine) else [part]
    leaving = cst.Break | cst.Continue | cst.Return | cst.Raise
    left = next((one for one in statements if isinstance(one, leaving)), None)
    if left is not None:
        return left
    said = [one for one in statements if not isinstance(one, cst.Pass)] or statements
    return said[-1] if said else None


def rows_of(statement: cst.CSTNode) -> tuple[str, ...]:
    """A statement as an edit takes the lines that it inserts: with four blanks for a level."""
    code = cst.Module([], default_indent=" " * 4, default_newline="\n").code_for_node(statement)
    return tuple(re.split(r"\r\n?|\n", code.rstrip("\r\n")))


def index_of(block: Sequence[cst.CSTNode], node: cst.CSTNode) -> int | None:
    """Which statement of a block a node stands in."""
    for index, statement in enumerate(block):
        if any(inner is node for inner in nodes(statement)):
            return index
    return None


def names_read(statement: cst.CSTNode) -> set[str]:
    """Every plain name in a statement (attributes, keywords and parameters are not names of the block)."""
    found: set[str] = set()
    stack: list[cst.CSTNode] = [statement]
    while stack:
        current = stack.pop()
        match current:
            case cst.Name(value=name):
                found.add(name)
            case cst.Attribute(value=base):
                stack.append(base)
            case cst.Arg(value=value):
                stack.append(value)
            case _:
                stack.extend(current.children)
    return found


def names_bound(statement: cst.CSTNode) -> set[str]:
    """The names that a statement of a block binds: what it assigns, defines, imports or loops over."""
    found: set[str] = set()
    for node in nodes(statement):
        match node:
            case cst.Assign(targets=targets):
                for target in targets:
                    found |= _targets(target.target)
            case cst.AnnAssign(target=target) | cst.AugAssign(target=target) | cst.For(target=target):
                found |= _targets(target)
            case cst.NamedExpr(target=target) | cst.AsName(name=target):
                found |= _targets(target)
            case cst.FunctionDef(name=name) | cst.ClassDef(name=name):
                found.add(name.value)
            case cst.ImportAlias(name=name, asname=None):
                found |= {_dotted(name).partition(".")[0]}
    return found


def _targets(node: cst.CSTNode) -> set[str]:
    match node:
        case cst.Name(value=name):
            return {name}
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            return {name for element in elements for name in _targets(element.value)}
        case cst.Attribute(value=base) | cst.Subscript(value=base) | cst.StarredElement(value=base):
            return _targets(base)  # the object changes: what reads it has to stay below
    return set()


def _dotted(node: cst.CSTNode | None) -> str:
    match node:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=base, attr=attr):
            return f"{_dotted(base)}.{attr.value}"
    return ""


@dataclass(frozen=True, slots=True)
class Imports:
    """Where a document's imports end, as far as one library is concerned."""

    last: cst.CSTNode  # the statement after which that library and its neighbours are imported
    index: int
    name: str | None  # what the library itself is bound to, if it is
    # A further import that the fix needs stands before this: after the library's, or before the last of all.
    neighbour: cst.CSTNode


def imports_of(source: Source, library: str, roots: tuple[str, ...] = ()) -> Imports | None:
    """The run of module-level imports that ends the import of `library` (or of one of `roots` instead)."""
    block = source.module.body
    name: str | None = None
    at: int | None = None
    for index, statement in enumerate(block):
        for alias, bound in _imported(statement):
            if alias in (library, f"{library}.compat.v2"):
                name, at = bound, index
            elif at is None and alias.partition(".")[0] in (library, *roots):
                at = index
    if at is None:
        return None
    own = at
    while at + 1 < len(block) and _is_import(block[at + 1]):
        at += 1
    return Imports(block[at], at, name, block[min(own + 1, at)])


def _imported(statement: cst.CSTNode) -> Iterator[tuple[str, str]]:
    """Modules that a statement imports, each with the name it is bound to."""
    for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
        match small:
            case cst.Import(names=aliases):
                for alias in aliases:
                    module = _dotted(alias.name)
                    bound = (
                        _dotted(alias.asname.name) if alias.asname is not None else module.partition(".")[0]
                    )
                    yield module, bound
            case cst.ImportFrom(module=module) if module is not None:
                yield _dotted(module) + ".", ""


def _is_import(statement: cst.CSTNode) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    return all(isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body)


def leaves_early(loop: cst.CSTNode) -> bool:
    """Whether a loop's own body holds a `break` or `return`: not every round need come."""
    stack: list[cst.CSTNode] = [loop.body] if isinstance(loop, cst.For | cst.While) else []
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Break | cst.Return):
            return True
        if not isinstance(current, cst.For | cst.While | cst.FunctionDef | cst.ClassDef | cst.Lambda):
            stack.extend(code_children(current))
    return False


def ends_when_told(loop: cst.CSTNode) -> bool:
    """Whether a flag ends a loop (`while not done`, `if done: break`), so that nobody knows how many rounds it has."""
    tests = [loop.test] if isinstance(loop, cst.While) else []
    stack: list[cst.CSTNode] = [loop.body] if isinstance(loop, cst.For | cst.While) else []
    while stack:
        current = stack.pop()
        if isinstance(current, cst.If) and any(
            isinstance(small, cst.Break | cst.Return)
            for line in current.body.body
            for small in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])
        ):
            tests.append(current.test)
        if not isinstance(current, cst.For | cst.While | cst.FunctionDef | cst.ClassDef | cst.Lambda):
            stack.extend(code_children(current))
    return any(map(_is_flag, tests))


def _is_flag(test: cst.CSTNode) -> bool:
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return _is_flag(inner)
        case cst.BooleanOperation(left=left, right=right):
            return _is_flag(left) or _is_flag(right)
        case cst.Name(value=name):
            return name not in ("True", "False")
        case cst.Attribute():
            return True
    return False
