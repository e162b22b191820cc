"""What the program's own functions do, as far as a slice must know: build, read data, change what others see."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from oomlint.estimate.slicing.attributes import set_by
from oomlint.estimate.slicing.program import (
    FunctionNode,
    Program,
    Scope,
    Unit,
    canonical,
    dotted,
    is_library,
    own_expressions,
    root_name,
)
from oomlint.estimate.slicing.vocabulary import BUILDING, DATA_CALLS, GLOBAL_CALLS, MUTATING_METHODS


@dataclass(slots=True)
class Effects:
    """Of one function, with those it calls."""

    builds: bool = False
    reads: bool = False
    acts: bool = False  # on the library as a whole, or on its flags
    attributes: set[str] = field(default_factory=set)  # attributes that it writes
    names: set[str] = field(default_factory=set)  # global names that it writes
    mutates: bool = False  # something that it was handed
    holders: set[tuple[int, str]] = field(default_factory=set)  # (module's scope, name) that it fills


class Functions:
    """The functions of a program by name, and their effects."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._effects: dict[int, Effects] = {}
        self._methods: dict[str, list[Scope]] = {}
        self._imports: dict[int, list[ast.stmt]] = {}
        self._counted = 0

    def methods(self, name: str) -> list[Scope]:
        """All methods of that name in the program's classes."""
        if self._counted != len(self.program.units):
            self._counted = len(self.program.units)
            self._methods = {}
            for unit in self.program.units:
                for scope in unit.scopes.values():
                    if scope.owner is not None and not isinstance(scope.node, ast.Module):
                        self._methods.setdefault(scope.node.name, []).append(scope)
        return self._methods.get(name, [])

    def definition(self, unit: Unit, name: str, scope: Scope | None = None) -> tuple[Unit, ast.stmt] | None:
        """The function or class of the program that a name stands for, through imports."""
        seen: set[tuple[int, str]] = set()
        where = (scope or unit.scope).of(name)
        node: ast.stmt | None = None
        body = unit.tree.body
        if where is not None and not isinstance(where.node, ast.Module):
            body = where.node.body
        while (id(unit), name) not in seen:
            seen.add((id(unit), name))
            node = next((one for one in statements(body) if _defines(one, name)), None)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                return unit, node
            if node is None:
                provider = self.starred(unit, name)
                if provider is None or provider is unit:
                    return None
                unit, body = provider, provider.tree.body
                continue
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                name = node.value.id
                continue
            if not isinstance(node, ast.ImportFrom):
                return None
            alias = next(one for one in node.names if (one.asname or one.name) == name)
            target = self.program.module(unit, node.module or "", node.level)
            if target is None:
                return None
            unit, name, body = target, alias.name, target.tree.body
        return None

    def stars(self, unit: Unit) -> list[Unit]:
        """The project's modules that a module imports with a star."""
        found = []
        for one in statements(unit.tree.body):
            if isinstance(one, ast.ImportFrom) and any(alias.name == "*" for alias in one.names):
                target = self.program.module(unit, one.module or "", one.level)
                found += [target] if target is not None else []
        return found

    def all_of(self, unit: Unit) -> list[Unit]:
        """A module, and those that it imports with a star, and so on."""
        found = [unit]
        for one in found:
            found += [inner for inner in self.stars(one) if inner not in found]
        return found

    def starred(self, unit: Unit, name: str, seen: frozenset[int] = frozenset()) -> Unit | None:
        """The module that binds a name: this one, or one that it imports with a star."""
        if name in unit.scope.bound:
            return unit
        if id(unit) in seen:
            return None
        for inner in self.stars(unit):
            found = self.starred(inner, name, seen | {id(unit)})
            if found is not None:
                return found
        return None

    def callees(self, unit: Unit, scope: Scope, call: ast.Call) -> list[Scope]:
        """The functions of the program that a call may enter."""
        function = call.func
        if isinstance(function, ast.Name):
            found = self.definition(unit, function.id, scope)
            if found is None:
                return []
            owner, node = found
            if isinstance(node, ast.ClassDef):
                return _constructors(owner, node)
            return [owner.scopes[id(node)]] if id(node) in owner.scopes else []
        if isinstance(function, ast.Attribute):
            member = self.of_module(unit, function)
            if member is not None:
                owner, node = member
                if isinstance(node, ast.ClassDef):
                    return _constructors(owner, node)
                return [owner.scopes[id(node)]] if id(node) in owner.scopes else []
            return self.methods(function.attr)
        return []

    def of_module(self, unit: Unit, node: ast.Attribute) -> tuple[Unit, ast.stmt] | None:
        """`models.build` or `package.models.build` of the project."""
        parts = dotted(node).split(".")
        target = self.imported(unit, parts[0]) if len(parts) > 1 else None
        for part in parts[1:-1]:
            if target is None:
                return None
            target = self.imported(target, part) or self.program.module(
                self.program.main, f"{target.name}.{part}" if target.name else part, 0
            )
        return None if target is None else self.definition(target, parts[-1])

    def is_own(self, base: ast.expr, scope: Scope, whole: set[int]) -> bool:
        """Whether a base class is of the program and of no library, or `object`; `whole` are known not to be."""
        name = root_name(base)
        if name == "object" or scope.unit.aliases.get(name, "").partition(".")[0] in (
            "abc",
            "typing",
            "enum",
        ):
            return True
        found = self.definition(scope.unit, name, scope) if isinstance(base, ast.Name) else None
        if found is None or not isinstance(found[1], ast.ClassDef) or id(found[1]) in whole:
            return False
        return all(self.is_own(one, found[0].scope, whole) for one in found[1].bases)

    def of_program(self, owner: ast.ClassDef, unit: Unit) -> bool:
        """Whether a class and all that it inherits are the program's own: no model or layer of Keras."""
        return all(self.is_own(base, unit.scope, set()) for base in owner.bases)

    def imported(self, unit: Unit, name: str) -> Unit | None:
        """The project's module that a name stands for; functions import too."""
        for one in self._imports_of(unit):
            if isinstance(one, ast.Import):
                for alias in one.names:
                    if (alias.asname or alias.name.partition(".")[0]) == name:
                        whole = alias.name if alias.asname else name
                        return self.program.module(unit, whole, 0)
            elif isinstance(one, ast.ImportFrom):
                for alias in one.names:
                    if (alias.asname or alias.name) == name:
                        base = f"{one.module}.{alias.name}" if one.module else alias.name
                        return self.program.module(unit, base, one.level)
        return None

    def of_library(self, function: ast.Attribute, scope: Scope) -> bool:
        """The same as `is_library`, but for modules of the project: `nets.model.compile(...)` changes what is there."""
        where = scope.of(root_name(function.value))
        return is_library(function, scope) and (
            where is None or not self._of_project(where.unit, root_name(function.value))
        )

    def _of_project(self, unit: Unit, name: str) -> bool:
        """Whether a name that is imported is a module of the project, or from one."""
        for one in self._imports_of(unit):
            if not isinstance(one, ast.Import | ast.ImportFrom):
                continue
            named = (
                alias.name for alias in one.names if (alias.asname or alias.name.partition(".")[0]) == name
            )
            for whole in named:
                base, level = (whole, 0) if isinstance(one, ast.Import) else (one.module or whole, one.level)
                return self.program.module(unit, base, level) is not None
        return False

    def by_name(self, call: ast.Call, scope: Scope) -> Iterator[tuple[str, Scope]]:
        """The names, and where they stand, that a call may look up by what only a run tells."""
        if (unit := self.looked_up(call, scope)) is not None:
            yield from ((name, unit.scope) for name in unit.scope.bound)
        if isinstance(call.func, ast.Name) and call.func.id in ("eval", "exec") and call.args:
            # `eval("lambda _: activations." + name)`: the code is made of the module's texts, or of an option.
            texts = (node.value for node in ast.walk(scope.unit.tree) if isinstance(node, ast.Constant))
            words = {
                word for text in texts if isinstance(text, str) for word in re.findall(r"[^\W\d]\w*", text)
            }
            yield from ((word, scope) for word in words if scope.of(word) is not None)
            for one in scope.unit.tree.body:
                if isinstance(one, ast.FunctionDef | ast.ClassDef):
                    yield one.name, scope.unit.scope
                elif isinstance(one, ast.Import | ast.ImportFrom):
                    names = (alias.asname or alias.name.partition(".")[0] for alias in one.names)
                    yield from ((name, scope.unit.scope) for name in names if name != "*")

    def looked_up(self, call: ast.Call, scope: Scope) -> Unit | None:
        """The project's module in which a name is looked up that only a run tells: `getattr(encoders, name)`."""
        if not isinstance(call.func, ast.Name):
            return None
        if call.func.id == "globals" and not call.args:
            return scope.unit
        if call.func.id not in ("getattr", "vars") or not call.args:
            return None
        module = call.args[0]
        if isinstance(module, ast.Name):
            where = scope.of(module.id)
            for one in statements(where.node.body) if where is not None else ():
                match one:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == module.id:
                        return self._module_of(value, scope.unit)
            return self.imported(scope.unit, module.id)
        return self._module_of(module, scope.unit)

    def _module_of(self, value: ast.expr, unit: Unit) -> Unit | None:
        """The module that `sys.modules[__name__]` or `importlib.import_module("nets")` is."""
        match value:
            case ast.Subscript(value=ast.Attribute(attr="modules"), slice=named):
                pass
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[named, *_]):
                pass
            case ast.Call(func=ast.Name(id="import_module" | "__import__"), args=[named, *_]):
                pass
            case _:
                return None
        match named:
            case ast.Name(id="__name__"):
                return unit
            case ast.Constant(value=str() as name):
                return self.program.module(unit, name, 0)
        return None

    def _imports_of(self, unit: Unit) -> list[ast.stmt]:
        known = self._imports.get(id(unit))
        if known is None:
            own = list(statements(unit.tree.body))
            inner = (one for scope in unit.scopes.values() for one in statements(scope.node.body))
            known = [one for one in (*own, *inner) if isinstance(one, ast.Import | ast.ImportFrom)]
            self._imports[id(unit)] = known
        return known

    def effects(self, scope: Scope) -> Effects:
        """What a function does, with those that it calls."""
        known = self._effects.get(id(scope))
        if known is not None:
            return known
        found = self._effects[id(scope)] = Effects()  # a recursive call adds nothing
        declared: set[str] = set()
        for node in ast.walk(scope.node):
            match node:
                case ast.Global(names=names):
                    declared.update(names)
                case ast.Attribute(ctx=ast.Store(), value=value, attr=attribute):
                    found.attributes.add(attribute)
                    found.mutates |= root_name(value) not in ("self", "cls")
                case ast.Subscript(ctx=ast.Store(), value=value):
                    found.mutates = True
                    _hold(scope, value, found)
                    if isinstance(value, ast.Attribute):  # self.words[word] = 1
                        found.attributes.add(value.attr)
                case ast.Call():
                    self._of_call(scope, node, found)
        found.names |= declared & {
            node.id
            for node in ast.walk(scope.node)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        return found

    def registries(self, node: FunctionNode | ast.ClassDef, scope: Scope) -> set[tuple[int, str]]:
        """What the decorators of a function or class put it into: (scope, name)."""
        found: set[tuple[int, str]] = set()
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
            for callee in self.callees(scope.unit, scope, call):
                found |= self.effects(callee).holders
            root = root_name(call.func)
            where = scope.of(root) if isinstance(call.func, ast.Attribute) else None
            if where is not None and root not in where.unit.aliases:  # @registry.register
                found.add((id(where), root))
        return found

    def _of_call(self, scope: Scope, call: ast.Call, found: Effects) -> None:
        name = canonical(scope.unit, call.func)
        if given := set_by(call):
            found.attributes.add(given[1])
            found.mutates |= root_name(given[0]) not in ("self", "cls")
        if DATA_CALLS.fullmatch(name):
            found.reads = True
        if BUILDING.fullmatch(name):
            found.builds = True
        found.acts |= GLOBAL_CALLS.fullmatch(name) is not None
        if isinstance(call.func, ast.Attribute):
            if call.func.attr in MUTATING_METHODS:
                found.mutates = True
                _hold(scope, call.func.value, found)
                if isinstance(call.func.value, ast.Attribute):  # self.layers.append(...), self.model.add(...)
                    found.attributes.add(call.func.value.attr)
        for callee in self.callees(scope.unit, scope, call):
            other = self.effects(callee)
            found.builds |= other.builds
            found.reads |= other.reads
            found.acts |= other.acts
            found.mutates |= other.mutates
            found.attributes |= other.attributes
            found.names |= other.names
            found.holders |= other.holders


def _hold(scope: Scope, value: ast.expr, found: Effects) -> None:
    name = root_name(value)
    where = scope.of(name)
    if where is not None and isinstance(where.node, ast.Module):
        found.holders.add((id(where), name))


def _constructors(unit: Unit, node: ast.ClassDef) -> list[Scope]:
    names = ("__init__", "build", "call")
    return [
        unit.scopes[id(one)] for one in node.body if isinstance(one, ast.FunctionDef) and one.name in names
    ]


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a scope, those in its blocks included, those of functions and classes not."""
    from oomlint.estimate.slicing.program import blocks

    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for block in blocks(statement):
                yield from statements(block)


def calls_in(scope: Scope) -> Iterator[tuple[ast.stmt, ast.Call]]:
    """All calls of a scope, each with the innermost statement that holds it, as they are written."""
    for statement in statements(scope.node.body):
        for expression in own_expressions(statement):
            for node in ast.walk(expression):
                if isinstance(node, ast.Call):
                    yield statement, node


def _defines(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.FunctionDef(name=own) | ast.AsyncFunctionDef(name=own) | ast.ClassDef(name=own):
            return own == name
        case ast.ImportFrom(names=aliases):
            return any((alias.asname or alias.name) == name for alias in aliases)
        case ast.Assign(targets=[ast.Name(id=own)], value=ast.Name()):  # arg = argument
            return own == name
    return False


__all__ = ["Effects", "FunctionNode", "Functions", "statements"]
