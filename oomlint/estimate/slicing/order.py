"""The order of the statements on the way to the training call: a later binding makes an earlier one vain.

Notebooks bind `model` ten times; only the last one before the training call, and what it uses, is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from oomlint.estimate.slicing.program import blocks


class Order:
    """The statements of one scope in order, which names they bind for good, and where names are used."""

    def __init__(self, body: list[ast.stmt], allowed: set[int]) -> None:
        self.positions: dict[int, int] = {}
        self.reaches: dict[int, int] = {}
        self.kills: dict[str, list[int]] = {}
        self.uses: dict[str, set[int]] = {}
        self.anywhere: set[str] = set()
        self.count = 0
        self._take(body, allowed, certain=True, loops=[])

    def _take(
        self, body: Iterable[ast.stmt], allowed: set[int], certain: bool, loops: list[list[int]]
    ) -> None:
        for statement in body:
            self.count += 1
            self.positions[id(statement)] = self.count
            for loop in loops:
                loop.append(id(statement))
            if certain and id(statement) in allowed:
                for name in _bound_for_good(statement):
                    self.kills.setdefault(name, []).append(self.count)
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            own_loop = isinstance(statement, ast.For | ast.While) and id(statement) in allowed
            inside: list[int] = [id(statement)]
            # What holds the way itself is certain to be run; other compound statements may not be.
            through = certain and (id(statement) not in allowed or isinstance(statement, ast.With))
            for block in blocks(statement):
                self._take(block, allowed, through, [*loops, inside] if own_loop else loops)
            if own_loop:
                for one in inside:
                    self.reaches[one] = self.count + 1

    def reach(self, statement: ast.stmt) -> int:
        """The last position at which a statement may read: the end of the loop that it stands in."""
        return self.reaches.get(id(statement), self.positions.get(id(statement), self.count))

    def used(self, name: str, at: int, anywhere: bool) -> bool:
        """A name is read at a position, or by a function at any time; whether that is news."""
        if anywhere:
            news = name not in self.anywhere
            self.anywhere.add(name)
            return news
        uses = self.uses.setdefault(name, set())
        news = at not in uses
        uses.add(at)
        return news

    def lives(self, name: str, statement: ast.stmt, shared: bool = False) -> bool:
        """Whether what a statement does to a name is still there at one of its uses.

        Where it is done to the object and what that is a part of (`shared`), an earlier use of the object counts too.
        """
        here = self.positions.get(id(statement))
        if here is None or name in self.anywhere:
            return True
        kills = self.kills.get(name, ())
        later = min((kill for kill in kills if kill > here), default=self.count + 2)
        start = max((kill for kill in kills if kill < here), default=0) if shared else here
        return any(start < use <= later for use in self.uses.get(name, ()))


def escapes(loop: ast.stmt) -> list[ast.stmt]:
    """What leaves a round of a loop early, and the conditions that it stands under: which rounds make the model."""
    return _escapes(loop.body) if isinstance(loop, ast.For | ast.While) else []


def _escapes(body: Iterable[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Break | ast.Continue):
            found.append(statement)
        elif isinstance(statement, ast.If | ast.With | ast.Try):
            inside = [one for block in blocks(statement) for one in _escapes(block)]
            found += [statement, *inside] if inside else []
    return found


def _bound_for_good(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=targets):
            return [name for target in targets for name in _plain(target)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return [name]
    return []


def _plain(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple | ast.List):
        return [name for element in target.elts for name in _plain(element)]
    return []
