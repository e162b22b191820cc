"""Statements of a light tree, and the module."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from oomlint.syntax.light.expressions import ASYNCHRONOUS, Expressions
from oomlint.syntax.light.later import Rows, later, statements_in
from oomlint.syntax.light.nodes import Unlike, made, name_of

_NEWLINE = re.compile(rb"\r\n|\r|\n")
_SMALL = cst.BaseSmallStatement


def light_module(tree: ast.Module, text: str, refused: Callable[[], None] | None = None) -> cst.Module:
    """The light tree of a text, given the standard library's. Raises Unlike, and RecursionError.

    With `refused` the bodies of functions are made when somebody looks into them: that may raise both, after
    `refused` was called for Unlike.
    """
    statements = _Statements(_NEWLINE.split(text.encode("utf-8", "surrogatepass")), refused)
    return made(cst.Module, body=statements.block(tree.body))


class _Statements(Expressions):
    def __init__(self, rows: list[bytes], refused: Callable[[], None] | None) -> None:
        super().__init__(rows)
        self.refused = refused

    def block(self, nodes: Sequence[ast.stmt]) -> list[Any]:
        """Statements as LibCST groups them: the small ones of a row in one line."""
        lines: list[Any] = []
        smalls: list[Any] = []
        before: ast.stmt | None = None
        for node in nodes:
            make = _SMALL_MAKERS.get(type(node))
            if make is None:
                lines.append(self._compound(node))
                before = None
                continue
            if before is not None and self._on_one_line(before, node):
                smalls.append(make(self, node))
            else:
                smalls = [make(self, node)]
                lines.append(made(cst.SimpleStatementLine, body=smalls))
            before = node
        return lines

    def _on_one_line(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Whether a statement stands behind another in its line, which backslashes may lead over rows."""
        if one.end_lineno == other.lineno:
            return True
        last, column = one.end_lineno or one.lineno, one.end_col_offset or 0
        between = [self.rows[last - 1][column:], *self.rows[last : other.lineno - 1]]
        return all(row.endswith(b"\\") and b"#" not in row for row in between)

    def _compound(self, node: ast.stmt) -> cst.BaseCompoundStatement:
        make = _COMPOUND_MAKERS.get(type(node))
        if make is None:
            raise Unlike(type(node).__name__)
        compound: cst.BaseCompoundStatement = make(self, node)
        return compound

    def suite(self, nodes: Sequence[ast.stmt]) -> cst.BaseSuite:
        """A block; what stands behind the colon of its head is another kind."""
        first = nodes[0]
        if type(first) in _SMALL_MAKERS and self._stands_behind(first):
            smalls = [_SMALL_MAKERS[type(one)](self, one) for one in nodes]
            return made(cst.SimpleStatementSuite, body=smalls)
        return made(cst.IndentedBlock, body=self.block(nodes))

    def _stands_behind(self, node: ast.stmt) -> bool:
        """Whether something stands before a statement in its line. Raises Unlike where that is hard to tell."""
        if self.rows[node.lineno - 1][: node.col_offset].strip(b" \t\f"):
            return True
        above = self.rows[node.lineno - 2] if node.lineno > 1 else b""
        if not above.endswith(b"\\") or above.lstrip().startswith(b"#"):
            return False
        raise Unlike("a backslash")

    def _else(self, nodes: Sequence[ast.stmt]) -> cst.Else | None:
        return made(cst.Else, body=self.suite(nodes)) if nodes else None

    def decorators(self, nodes: Sequence[ast.expr]) -> list[cst.Decorator]:
        return [made(cst.Decorator, decorator=self.expression(one)) for one in nodes]

    def function_def(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> cst.FunctionDef:
        if getattr(node, "type_params", None):
            raise Unlike("type parameters")
        return made(
            cst.FunctionDef,
            name=name_of(node.name),
            params=self.parameters(node.args),
            body=self._function_body(node.body),
            decorators=self.decorators(node.decorator_list),
            returns=self.annotation(node.returns),
            asynchronous=ASYNCHRONOUS if type(node) is ast.AsyncFunctionDef else None,
        )

    def _function_body(self, nodes: Sequence[ast.stmt]) -> cst.BaseSuite:
        refused, first = self.refused, nodes[0]
        if refused is None or self._stands_behind(first):
            return self.suite(nodes)
        decorators = getattr(first, "decorator_list", None)
        start = (decorators[0] if decorators else first).lineno - 1
        rows = self.rows[start : nodes[-1].end_lineno]

        def make(rows: list[bytes], nodes: Sequence[ast.stmt]) -> list[Any]:
            return _Statements(rows, refused).block(nodes)

        return later(Rows(rows, statements_in(nodes), make, refused))

    def class_def(self, node: ast.ClassDef) -> cst.ClassDef:
        if getattr(node, "type_params", None):
            raise Unlike("type parameters")
        arguments = self.arguments(node.bases, node.keywords)
        return made(
            cst.ClassDef,
            name=name_of(node.name),
            body=self.suite(node.body),
            bases=[one for one in arguments if one.keyword is None and one.star != "**"],
            keywords=[one for one in arguments if one.keyword is not None or one.star == "**"],
            decorators=self.decorators(node.decorator_list),
        )

    def if_statement(self, node: ast.If) -> cst.If:
        test, body = self.expression(node.test), self.suite(node.body)
        return made(cst.If, test=test, body=body, orelse=self._orelse(node.orelse))

    def _orelse(self, nodes: Sequence[ast.stmt]) -> cst.If | cst.Else | None:
        first = nodes[0] if nodes else None
        if isinstance(first, ast.If):
            row, column = self.rows[first.lineno - 1], first.col_offset
            if row[column : column + 4] == b"elif":
                return self.if_statement(first)
        return self._else(nodes)

    def for_loop(self, node: ast.For | ast.AsyncFor) -> cst.For:
        return made(
            cst.For,
            target=self.expression(node.target),
            iter=self.expression(node.iter),
            body=self.suite(node.body),
            orelse=self._else(node.orelse),
            asynchronous=ASYNCHRONOUS if type(node) is ast.AsyncFor else None,
        )

    def while_loop(self, node: ast.While) -> cst.While:
        test, body = self.expression(node.test), self.suite(node.body)
        return made(cst.While, test=test, body=body, orelse=self._else(node.orelse))

    def with_block(self, node: ast.With | ast.AsyncWith) -> cst.With:
        items = [
            made(cst.WithItem, item=self.expression(one.context_expr), asname=self._as(one.optional_vars))
            for one in node.items
        ]
        asynchronous = ASYNCHRONOUS if type(node) is ast.AsyncWith else None
        return made(cst.With, items=items, body=self.suite(node.body), asynchronous=asynchronous)

    def _as(self, target: ast.expr | None) -> cst.AsName | None:
        return None if target is None else made(cst.AsName, name=self.expression(target))

    def try_block(self, node: Any) -> Any:
        starred = type(node) is not ast.Try
        kind: Any = cst.TryStar if starred else cst.Try
        handler: Any = cst.ExceptStarHandler if starred else cst.ExceptHandler
        return made(
            kind,
            body=self.suite(node.body),
            handlers=[
                made(
                    handler,
                    type=self.optional(one.type),
                    name=None if one.name is None else made(cst.AsName, name=name_of(one.name)),
                    body=self.suite(one.body),
                )
                for one in node.handlers
            ],
            orelse=self._else(node.orelse),
            finalbody=made(cst.Finally, body=self.suite(node.finalbody)) if node.finalbody else None,
        )

    def expr(self, node: ast.Expr) -> _SMALL:
        return made(cst.Expr, value=self.expression(node.value))

    def assign(self, node: ast.Assign) -> _SMALL:
        targets = [made(cst.AssignTarget, target=self.expression(one)) for one in node.targets]
        return made(cst.Assign, targets=targets, value=self.expression(node.value))

    def annotated(self, node: ast.AnnAssign) -> _SMALL:
        return made(
            cst.AnnAssign,
            target=self.expression(node.target),
            annotation=self.annotation(node.annotation),
            value=self.optional(node.value),
        )

    def augmented_assign(self, node: ast.AugAssign) -> _SMALL:
        target, value = self.expression(node.target), self.expression(node.value)
        return made(cst.AugAssign, target=target, operator=self.augmented(node.op), value=value)

    def return_statement(self, node: ast.Return) -> _SMALL:
        return made(cst.Return, value=self.optional(node.value))

    def raise_statement(self, node: ast.Raise) -> _SMALL:
        cause = None if node.cause is None else made(cst.From, item=self.expression(node.cause))
        return made(cst.Raise, exc=self.optional(node.exc), cause=cause)

    def delete(self, node: ast.Delete) -> _SMALL:
        if len(node.targets) == 1:
            return made(cst.Del, target=self.expression(node.targets[0]))
        elements = [made(cst.Element, value=self.expression(one)) for one in node.targets]
        return made(cst.Del, target=made(cst.Tuple, elements=elements))

    def assertion(self, node: ast.Assert) -> _SMALL:
        return made(cst.Assert, test=self.expression(node.test), msg=self.optional(node.msg))

    def empty(self, node: ast.Pass | ast.Break | ast.Continue) -> _SMALL:
        return made(_EMPTY[type(node)])

    def names(self, node: ast.Global | ast.Nonlocal) -> _SMALL:
        kind: Any = cst.Global if type(node) is ast.Global else cst.Nonlocal
        small: _SMALL = made(kind, names=[made(cst.NameItem, name=name_of(one)) for one in node.names])
        return small

    def import_statement(self, node: ast.Import) -> _SMALL:
        return made(cst.Import, names=[_alias(one) for one in node.names])

    def import_from(self, node: ast.ImportFrom) -> _SMALL:
        starred = node.names[0].name == "*"
        return made(
            cst.ImportFrom,
            module=None if node.module is None else _dotted(node.module),
            names=made(cst.ImportStar) if starred else [_alias(one) for one in node.names],
            relative=[_DOT] * node.level,
        )


_DOT = cst.Dot()
_EMPTY: dict[type[ast.stmt], type[_SMALL]] = {
    ast.Pass: cst.Pass,
    ast.Break: cst.Break,
    ast.Continue: cst.Continue,
}


def _alias(node: ast.alias) -> cst.ImportAlias:
    bound = None if node.asname is None else made(cst.AsName, name=name_of(node.asname))
    return made(cst.ImportAlias, name=_dotted(node.name), asname=bound)


def _dotted(text: str) -> cst.Name | cst.Attribute:
    first, *others = text.split(".")
    node: cst.Name | cst.Attribute = name_of(first)
    for other in others:
        node = made(cst.Attribute, value=node, attr=name_of(other))
    return node


_SMALL_MAKERS: dict[type[ast.stmt], Callable[[_Statements, Any], _SMALL]] = {
    ast.Expr: _Statements.expr,
    ast.Assign: _Statements.assign,
    ast.AnnAssign: _Statements.annotated,
    ast.AugAssign: _Statements.augmented_assign,
    ast.Return: _Statements.return_statement,
    ast.Raise: _Statements.raise_statement,
    ast.Delete: _Statements.delete,
    ast.Assert: _Statements.assertion,
    ast.Pass: _Statements.empty,
    ast.Break: _Statements.empty,
    ast.Continue: _Statements.empty,
    ast.Global: _Statements.names,
    ast.Nonlocal: _Statements.names,
    ast.Import: _Statements.import_statement,
    ast.ImportFrom: _Statements.import_from,
}
_COMPOUND_MAKERS: dict[type[ast.stmt], Callable[[_Statements, Any], Any]] = {
    ast.FunctionDef: _Statements.function_def,
    ast.AsyncFunctionDef: _Statements.function_def,
    ast.ClassDef: _Statements.class_def,
    ast.If: _Statements.if_statement,
    ast.For: _Statements.for_loop,
    ast.AsyncFor: _Statements.for_loop,
    ast.While: _Statements.while_loop,
    ast.With: _Statements.with_block,
    ast.AsyncWith: _Statements.with_block,
    ast.Try: _Statements.try_block,
}
if hasattr(ast, "TryStar"):
    _COMPOUND_MAKERS[ast.TryStar] = _Statements.try_block
