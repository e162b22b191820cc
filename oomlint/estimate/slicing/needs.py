"""The slice itself: from what the training call uses back to every statement that it depends on.

Names are followed within their scope, whatever the order of the statements; attributes by their name, in
whichever object; functions through their calls. So the slice may keep a statement too many, and never lacks one
that binds a name it uses.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from oomlint.estimate.slicing import import_statements
from oomlint.estimate.slicing.attributes import ALWAYS, set_by
from oomlint.estimate.slicing.functions import FunctionNode, Functions, statements
from oomlint.estimate.slicing.order import Order, escapes
from oomlint.estimate.slicing.program import (
    COMPOUND,
    Program,
    Scope,
    attribute_of_self,
    blocks,
    bound_names,
    canonical,
    dotted,
    own_expressions,
    root_name,
)
from oomlint.estimate.slicing.steps import trains_itself
from oomlint.estimate.slicing.taint import Taint
from oomlint.estimate.slicing.vocabulary import GLOBAL_CALLS, INERT_METHODS, SELF_OF_KERAS


@dataclass(slots=True)
class Needs:
    """What is needed so far, and the statements that are kept for it."""

    program: Program
    functions: Functions
    taint: Taint
    names: dict[int, set[str]] = field(default_factory=dict)  # scope -> its names that are used
    attributes: set[str] = field(default_factory=lambda: set(ALWAYS))
    kept: set[int] = field(default_factory=set)
    entered: dict[int, Scope] = field(default_factory=dict)  # functions that are called for their value
    on_path: dict[int, set[int]] = field(default_factory=dict)  # scope -> statements that may be kept in it
    whole: set[int] = field(default_factory=set)  # classes whose every method is kept
    verbatim: set[int] = field(default_factory=set)  # functions that are kept as they stand
    seen: set[int] = field(default_factory=set)  # statements whose uses are counted
    order: dict[int, Order] = field(default_factory=dict)  # of the scopes on the way
    now: tuple[int, int] | None = None  # the scope on the way, and the statement whose uses are counted
    changed: bool = False

    def require(self, name: str, scope: Scope) -> None:
        """A name is used."""
        where = scope.of(name)
        if where is None:
            provider = self.functions.starred(scope.unit, name)
            if provider is None:
                return
            where = provider.scope
        order = self.order.get(id(where))
        if order is not None:
            at = order.count if self.now is None or self.now[0] != id(where) else self.now[1]
            anywhere = self.now is None or self.now[0] != id(where)
            self.changed |= order.used(name, at, anywhere and where is not scope)
        wanted = self.names.setdefault(id(where), set())
        if name not in wanted:
            wanted.add(name)
            self.changed = True

    def requires(self, name: str, scope: Scope) -> bool:
        """Whether a name as seen from a scope is needed."""
        where = scope.of(name)
        return where is not None and name in self.names.get(id(where), ())

    def requires_from(self, name: str, scope: Scope, statement: ast.stmt, shared: bool = False) -> bool:
        """Whether what a statement does to a name is needed: on the way, a later binding makes it vain."""
        if not self.requires(name, scope):
            return False
        where = scope.of(name)
        order = self.order.get(id(where))
        return order is None or where is not scope or order.lives(name, statement, shared)

    def use(self, node: ast.AST, scope: Scope) -> None:
        """Everything that an expression uses."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                self.require(one.id, scope)
            elif isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load):
                self.changed |= one.attr not in self.attributes
                self.attributes.add(one.attr)
                self._member(one, scope)
            elif isinstance(one, ast.Call):
                for name, where in self.functions.by_name(one, scope):
                    self.require(name, where)

    def _member(self, node: ast.Attribute, scope: Scope) -> None:
        """`package.module.name`, where the package is of the project: the name is needed there."""
        parts = dotted(node).split(".")
        unit = self.functions.imported(scope.unit, parts[0]) if len(parts) > 1 else None
        for part in parts[1:]:
            if unit is None:
                return
            provider = self.functions.starred(unit, part)
            if provider is not None:
                self.require(part, provider.scope)
                unit = self.functions.imported(provider, part)
            else:
                unit = self.program.module(self.program.main, f"{unit.name}.{part}" if unit.name else part, 0)

    def settle(self) -> None:
        """Follow everything until nothing new is needed."""
        self.changed = True
        while self.changed:
            self.changed = False
            for unit in self.program.units:
                self.block(unit.tree.body, unit.scope)
            for scope in list(self.entered.values()):
                self.block(scope.node.body, scope)

    # --- statements ---------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt], scope: Scope) -> bool:
        """Keep what is needed of a block; whether anything is."""
        any_kept = False
        allowed = self.on_path.get(id(scope))
        for statement in body:
            if allowed is not None and id(statement) not in allowed:
                self._around_the_way(statement, scope)
                continue
            any_kept |= self.statement(statement, scope)
        return any_kept

    def _around_the_way(self, statement: ast.stmt, scope: Scope) -> None:
        """A block that holds the statement that leads on: what precedes it there."""
        if not isinstance(statement, COMPOUND):
            return
        for block in blocks(statement):
            self.block(block, scope)
        if id(statement) in self.seen:
            return
        bound: list[ast.expr] = []
        if isinstance(statement, ast.For):
            bound = [statement.target]
        elif isinstance(statement, ast.With):
            bound = [item.optional_vars for item in statement.items if item.optional_vars]
        for target in bound:
            if self._binds(target, scope, statement):
                self.seen.add(id(statement))
                self._use_own(statement, scope)

    def statement(self, statement: ast.stmt, scope: Scope) -> bool:
        """Keep a statement if it is needed; whether it is."""
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._function(statement, scope)
            case ast.ClassDef():
                return self._class(statement, scope)
        if isinstance(statement, COMPOUND) or (hasattr(ast, "Match") and isinstance(statement, ast.Match)):
            return self._compound(statement, scope)
        keep = id(statement) in self.kept or self.wants(statement, scope)
        if keep:
            self._keep(statement, scope)
        return keep

    def _mark(self, statement: ast.stmt) -> None:
        if id(statement) not in self.kept:
            self.kept.add(id(statement))
            self.changed = True

    def _keep(self, statement: ast.stmt, scope: Scope) -> None:
        self._mark(statement)
        if isinstance(statement, ast.ImportFrom | ast.Import):
            # Again each time: more of its names may be needed by now.
            import_statements.use(statement, scope, self)
            return
        if id(statement) in self.seen:
            return
        self.seen.add(id(statement))
        if self.taint.replaced(statement, scope) is not None:
            return  # its value is known, or asked for
        self._use_own(statement, scope)
        if id(scope) not in self.order:
            for name in bound_names(statement):  # other statements that bind what this one updates in part
                self.require(name, scope)

    def _use_own(self, statement: ast.stmt, scope: Scope) -> None:
        """What the expressions of a statement use, at the place where it stands."""
        before = self.now
        order = self.order.get(id(scope))
        self.now = before if order is None else (id(scope), order.reach(statement))
        for expression in own_expressions(statement):
            for part in self.taint.used_parts(expression, scope):
                self.use(part, scope)
        if isinstance(statement, ast.AugAssign):
            self.require(root_name(statement.target), scope)
        self.now = before

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> bool:
        inner = scope.unit.scopes[id(node)]
        if inner.owner is None and not self._wanted(node, scope):
            return False
        if id(node) not in self.seen:
            self.seen.add(id(node))
            self._mark(node)
            if id(inner) not in self.on_path:
                for decorator in node.decorator_list:
                    self.use(decorator, scope)
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                self.use(default, scope)
        if id(inner.owner) in self.whole and trains_itself(inner.owner) and id(inner) not in self.on_path:
            if id(node) not in self.verbatim:
                self.verbatim.add(id(node))
                self.use(node, inner)
        elif id(inner) not in self.entered:
            self.entered[id(inner)] = inner
            self.changed = True
        return True

    def _wanted(self, node: FunctionNode | ast.ClassDef, scope: Scope) -> bool:
        return self.requires(node.name, scope) or self.is_registered(node, scope)

    def is_registered(self, node: FunctionNode | ast.ClassDef, scope: Scope) -> bool:
        """Whether a decorator puts a function or class into what is needed."""
        return self._filled(self.functions.registries(node, scope))

    def _filled(self, holders: set[tuple[int, str]]) -> bool:
        return any(name in self.names.get(scope, ()) for scope, name in holders)

    def _class(self, node: ast.ClassDef, scope: Scope, inner: bool = False) -> bool:
        if not inner and not self._wanted(node, scope):
            return False
        if id(node) not in self.seen:
            self.seen.add(id(node))
            self._mark(node)
            for expression in (*node.bases, *node.decorator_list, *(one.value for one in node.keywords)):
                self.use(expression, scope)
            if any(not self.functions.is_own(base, scope, self.whole) for base in node.bases):
                self.whole.add(id(node))
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                special = statement.name.startswith("__") and statement.name.endswith("__")
                if special or id(node) in self.whole or statement.name in self.attributes:
                    self._function(statement, scope)
            elif isinstance(statement, ast.ClassDef):
                self._class(statement, scope, inner=True)
            elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                for one in statements([statement]):  # `if small: width = 5`, with what is in it
                    self._keep(one, scope)
        return True

    def _compound(self, statement: ast.stmt, scope: Scope) -> bool:
        if self.taint.replaced(statement, scope) is not None:
            changed = [ast.parse(name, mode="eval").body for name in self.taint.changed(statement, scope)]
            if any(self._binds(target, scope, statement) for target in changed):
                self._mark(statement)
            return id(statement) in self.kept
        inside = False
        for block in blocks(statement):
            inside |= self.block(block, scope)
        if not inside:
            return False
        if id(statement) not in self.seen:
            self.seen.add(id(statement))
            self._mark(statement)
            self._use_own(statement, scope)
            for handler in getattr(statement, "handlers", []):
                if handler.type is not None:
                    self.use(handler.type, scope)
            for one in escapes(statement):
                self._mark(one)
                if id(one) not in self.seen:
                    self.seen.add(id(one))
                    self._use_own(one, scope)
        return True

    def wants(self, statement: ast.stmt, scope: Scope) -> bool:
        """Whether a simple statement is needed."""
        match statement:
            case ast.Return() | ast.Global() | ast.Nonlocal():
                return id(scope) not in self.on_path or not isinstance(statement, ast.Return)
            case ast.Raise() | ast.Pass() | ast.Break() | ast.Continue() | ast.Assert() | ast.Delete():
                return False
            case ast.Import() | ast.ImportFrom():
                return import_statements.is_wanted(statement, scope, self)
            case ast.Expr(value=ast.Await(value=value)) | ast.Expr(value=value):
                return isinstance(value, ast.Yield | ast.YieldFrom) or (
                    isinstance(value, ast.Call) and self._changes(value, scope, statement)
                )
            case ast.Assign(targets=targets):
                return any(self._binds(target, scope, statement) for target in targets)
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                return self._binds(target, scope, statement)
        return False

    def _binds(self, target: ast.expr, scope: Scope, statement: ast.stmt) -> bool:
        match target:
            case ast.Name(id=name):
                return self.requires_from(name, scope, statement)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return any(self._binds(element, scope, statement) for element in elements)
            case ast.Starred(value=value):
                return self._binds(value, scope, statement)
            case ast.Attribute(value=value) | ast.Subscript(value=value) if (
                canonical(scope.unit, value) == "os.environ"
            ):
                return False
            case ast.Attribute(attr=name, value=value):
                root = root_name(value)
                if root in ("self", "cls"):
                    return name in self.attributes or (
                        isinstance(value, ast.Attribute) and value.attr in self.attributes
                    )
                # Freezing a network freezes the layers that another shares with it.
                return self._reaches(root, scope, statement, shared=name == "trainable")
            case ast.Subscript(value=value):
                return self._holds(value, scope, statement)
        return False

    def _holds(self, value: ast.expr, scope: Scope, statement: ast.stmt) -> bool:
        """Whether an object that is changed in place is needed."""
        root = root_name(value)
        if root in ("self", "cls"):
            return attribute_of_self(value) in self.attributes
        return self._reaches(root, scope, statement)

    def _reaches(self, root: str, scope: Scope, statement: ast.stmt, shared: bool = False) -> bool:
        """Whether what a name stands for is needed: under the name itself, or what it was taken from."""
        return any(
            self.requires_from(name, scope, statement, shared)
            or (id(scope) not in self.on_path and name in scope.parameters)
            for name in scope.taken_from(root, shared)
        )

    def _changes(self, call: ast.Call, scope: Scope, statement: ast.stmt) -> bool:
        """Whether a call that stands as a statement changes something that is needed."""
        function = call.func
        name = canonical(scope.unit, function)
        if GLOBAL_CALLS.fullmatch(name):
            return True
        if (given := set_by(call)) and self._holds(ast.Attribute(given[0], given[1]), scope, statement):
            return True
        match function:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
                return True
        callees = self.functions.callees(scope.unit, scope, call)
        callees = [callee for callee in callees if id(callee) not in self.on_path]
        for callee in callees:
            effects = self.functions.effects(callee)
            root = "" if isinstance(function, ast.Name) else root_name(function)
            if effects.attributes & self.attributes and (
                root in ("self", "cls", "") or self.requires(root, scope)
            ):
                return True
            changed = effects.names & self.names.get(id(callee.unit.scope), set())
            if effects.acts or changed or self._filled(effects.holders):
                return True
            handed = [*call.args, *(one.value for one in call.keywords)]
            if effects.mutates and any(
                isinstance(one, ast.Name | ast.Attribute) and self._holds(one, scope, statement)
                for one in handed
            ):
                return True
        if isinstance(function, ast.Attribute):
            if function.attr in INERT_METHODS:
                return False
            if function.attr == "exec_module" and call.args:  # `spec.loader.exec_module(settings)`
                return self._holds(call.args[0], scope, statement)
            if name in SELF_OF_KERAS and not any(one.owner is scope.owner for one in callees):
                return id(scope.owner) in self.whole or name != "self.add"
            if callees and isinstance(function.value, ast.Name) and function.value.id in ("self", "cls"):
                return False
            if self.functions.of_library(function, scope) or isinstance(function.value, ast.Call):
                return False  # what a call gave and nobody holds is of no use later
            return self._holds(function.value, scope, statement)
        return False
