"""Scripts that say less than the fixtures: arguments missing, unknown, of another kind. No rule may fail on them.

Each bad fixture in one such form, with its own rule. What is found there is not judged: the fixtures do that.
"""

from __future__ import annotations

import ast
import random

import pytest
from fixture_files import Fixture, by_id, fixtures, modules, settings

from oomlint.testing import run_rules

UNKNOWN = "somewhere_else"


class _Incomplete(ast.NodeTransformer):
    """Every fourth call or so loses something, and some of what is assigned comes from nowhere."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self.random.random() < 0.3:
            self.random.choice((self.dropped, self.dropped, self.replaced, self.replaced, self.starred))(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if self.random.random() < 0.06:
            node.value = ast.Name(UNKNOWN, ast.Load())
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if self.random.random() < 0.2:
            node.decorator_list = []
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if self.random.random() < 0.06:
            node.value = None
        return node

    def dropped(self, node: ast.Call) -> None:
        if node.keywords and self.random.random() < 0.5:
            del node.keywords[self.random.randrange(len(node.keywords))]
        elif node.args:
            node.args = node.args[: self.random.randrange(len(node.args))]

    def replaced(self, node: ast.Call) -> None:
        other = self.random.choice(
            (
                ast.Name(UNKNOWN, ast.Load()),
                ast.Name(UNKNOWN, ast.Load()),
                ast.Constant(None),
                ast.Constant("text"),
                ast.Constant(0),
                ast.Constant(-1),
                ast.Constant(2.5),
                ast.List([], ast.Load()),
                ast.Call(ast.Name(UNKNOWN, ast.Load()), [], []),
            )
        )
        at = self.random.randrange(len(node.args) + len(node.keywords)) if node.args or node.keywords else 0
        if at < len(node.args):
            node.args[at] = other
        elif node.keywords:
            node.keywords[at - len(node.args)].value = other

    def starred(self, node: ast.Call) -> None:
        keep = self.random.randrange(len(node.args) + 1)
        node.args = [*node.args[:keep], ast.Starred(ast.Name(UNKNOWN, ast.Load()), ast.Load())]
        node.keywords = [ast.keyword(None, ast.Name(UNKNOWN, ast.Load()))]


def incomplete(text: str, seed: str) -> str:
    whole = ast.unparse(ast.parse(text))
    for number in range(20):
        tree = _Incomplete(f"{seed} {number}").visit(ast.parse(text))
        less = ast.unparse(ast.fix_missing_locations(tree))
        if less != whole:
            return less
    raise AssertionError("nothing can be left out")


@pytest.mark.parametrize("fixture", **by_id(fixtures("bad")))
def test_no_rule_fails_on_less(fixture: Fixture):
    text = fixture.document().text
    run_rules(
        fixture.rules,
        fixture.document(incomplete(text, fixture.id)),
        settings=settings(fixture.code, text),
        resolver=modules(fixture.path.parent),
    )
