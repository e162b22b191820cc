"""The script and its project's modules as Python trees, and where names are bound in them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from oomlint.documents.python_file import Document, DocumentError
from oomlint.documents.python_syntax import imported
from oomlint.documents.reading import read as read_document
from oomlint.estimate.slicing.command_lines import with_options
from oomlint.estimate.slicing.initial_values import leave_out
from oomlint.estimate.slicing.search_path import added_folders
from oomlint.estimate.slicing.threads import called_in_place
from oomlint.project.modules import ModuleFinder

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef
# Methods that give a part of what they are called on: what is done to that is done to the whole.
_PARTS = ("get_layer", "add_argument_group", "add_mutually_exclusive_group")
COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try)


@dataclass(eq=False, slots=True)
class Scope:
    """A module's or a function's own names. The names of a class body are looked up through attributes."""

    unit: Unit
    node: ScopeNode
    parent: Scope | None
    owner: ast.ClassDef | None = None
    bound: set[str] = field(default_factory=set)
    taken: dict[str, set[str]] | None = None
    given: dict[str, set[str]] = field(default_factory=dict)

    def taken_from(self, name: str, shared: bool = False) -> set[str]:
        """The name, and those it holds a part of: `for layer in model.layers`, `layer = model.layers[3]`.

        With `shared` also those that one call gave with it: `model, base = build()` may have layers in common.
        """
        if self.taken is None:
            self.taken = {}
            for node in ast.walk(self.node):
                match node:
                    case ast.Assign(targets=[ast.Tuple(elts=elements)], value=ast.Call()):
                        together = {one.id for one in elements if isinstance(one, ast.Name)}
                        for given in together:
                            self.given.setdefault(given, set()).update(together)
                        continue
                    case ast.For(target=target, iter=value):
                        pass
                    case ast.Assign(
                        targets=[ast.Name() as target], value=ast.Attribute() | ast.Subscript() as value
                    ):
                        pass
                    case ast.Assign(
                        targets=[ast.Name() as target],
                        value=ast.Call(func=ast.Attribute(attr=taken)) as value,
                    ) if taken in _PARTS:
                        pass
                    case _:
                        continue
                names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
                for one in ast.walk(target):
                    if isinstance(one, ast.Name):
                        self.taken.setdefault(one.id, set()).update(names)
        found, stack = {name}, [name]
        while stack:
            last = stack.pop()
            for other in (*self.taken.get(last, ()), *(self.given.get(last, ()) if shared else ())):
                if other not in found:
                    found.add(other)
                    stack.append(other)
        return found

    def of(self, name: str) -> Scope | None:
        """The scope that binds a name as seen from here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound:
                return scope
            scope = scope.parent
        return None

    @property
    def parameters(self) -> list[str]:
        """The names of a function's parameters in order, `self` among them."""
        if isinstance(self.node, ast.Module):
            return []
        given = self.node.args
        names = [one.arg for one in (*given.posonlyargs, *given.args)]
        names += [given.vararg.arg] if given.vararg else []
        names += [one.arg for one in given.kwonlyargs]
        return names + ([given.kwarg.arg] if given.kwarg else [])


@dataclass(eq=False, slots=True)
class Unit:
    """One file. `name` is how it is imported, empty for the script itself."""

    path: Path
    name: str
    tree: ast.Module
    text: str = ""
    scopes: dict[int, Scope] = field(default_factory=dict)  # by id of a function's node, and of the module
    classes: list[ast.ClassDef] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)  # name -> dotted name of the library's thing

    @property
    def scope(self) -> Scope:
        """The module's scope."""
        return self.scopes[id(self.tree)]


def first_line(statement: ast.stmt) -> int:
    """Where a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    lines: list[int] = [statement.lineno, *(one.lineno for one in decorators)]
    return min(lines)


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of statements inside a statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list) and block:
            yield block
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for case in getattr(statement, "cases", []):
        yield case.body


class Program:
    """The script, and the modules of its project as they are asked for. `read` gives their texts."""

    def __init__(self, path: Path, root: Path, read: Callable[[Path], Document] = read_document) -> None:
        self.finder = ModuleFinder(root)
        self._text_of = read
        self._units: dict[Path, Unit | None] = {}
        self.main = self._read(path, "")
        self.finder.added = added_folders(self.main.tree, path)

    def module(self, importer: Unit, name: str, level: int) -> Unit | None:
        """The project's module that an import names, or None for a library."""
        path = self.finder.find(importer.path.parent, name, level)
        if path is None:
            return None
        if path not in self._units:
            self._units[path] = None  # a file that does not parse
            try:
                unit = self._units[path] = self._read(path, self._name(importer, name, level))
                more = added_folders(unit.tree, path)  # a module may put them there for all that come after
                self.finder.added += [one for one in more if one not in self.finder.added]
            except (SyntaxError, ValueError, OSError, DocumentError):
                return None
        return self._units[path]

    def unit_of(self, filename: str) -> Unit | None:
        """The unit of a document that the dry run names."""
        path = Path(filename)
        if path.name == self.main.path.name and path.resolve() == self.main.path.resolve():
            return self.main
        for known, unit in self._units.items():
            if known.resolve() == path.resolve():
                return unit
        return None

    @property
    def units(self) -> list[Unit]:
        """The script and all modules asked for so far."""
        return [
            self.main,
            *(unit for unit in self._units.values() if unit is not None and unit is not self.main),
        ]

    def read_on(self) -> bool:
        """Ask for what the modules asked for so far import themselves, to the end; whether there was any."""
        before = len(self._units)
        waiting, seen = self.units, set()
        while waiting:
            unit = waiting.pop()
            if id(unit) in seen:
                continue
            seen.add(id(unit))
            imports = (one for one in ast.walk(unit.tree) if isinstance(one, ast.Import | ast.ImportFrom))
            for name, level in (module for one in imports for module in imported(one)):
                found = self.module(unit, name, level)
                waiting += [] if found is None else [found]
        return len(self._units) > before

    def _name(self, importer: Unit, name: str, level: int) -> str:
        if not level:
            return name
        package = importer.name.split(".")
        if importer.path.name != "__init__.py":
            package = package[:-1]
        package = package[: len(package) - (level - 1)] if level > 1 else package
        return ".".join(filter(None, [*package, name]))

    def _read(self, path: Path, name: str) -> Unit:
        document = self._text_of(path)
        tree = ast.parse(document.text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr):
                node.value.oomlint_alone = True  # type: ignore[attr-defined] # copies keep it
        leave_out(tree)
        with_options(tree)
        called_in_place(tree)
        unit = Unit(path, name, tree, document.text)
        _Binder(unit).run()
        return unit


class _Binder:
    """Finds every scope's names."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.globals: dict[int, set[str]] = {}

    def run(self) -> None:
        tree = self.unit.tree
        scope = Scope(self.unit, tree, None)
        self.unit.scopes[id(tree)] = scope
        self._block(tree.body, scope, None)

    def _block(self, body: list[ast.stmt], scope: Scope, owner: ast.ClassDef | None) -> None:
        for statement in body:
            self._statement(statement, scope, owner)

    def _statement(self, statement: ast.stmt, scope: Scope, owner: ast.ClassDef | None) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if owner is None:
                    scope.bound.add(statement.name)
                inner = Scope(self.unit, statement, scope, owner)
                inner.bound.update(inner.parameters)
                self.unit.scopes[id(statement)] = inner
                self._block(statement.body, inner, None)
                return
            case ast.ClassDef():
                if owner is None:
                    scope.bound.add(statement.name)
                self.unit.classes.append(statement)
                self._block(statement.body, scope, statement)
                return
            case ast.Import() | ast.ImportFrom():
                self._import(statement, scope)
                return
            case ast.Global():
                scope.bound.difference_update(statement.names)
                module = self.unit.scope
                module.bound.update(statement.names)
                return
        if owner is None:
            declared = self._globals(scope)
            for name in bound_names(statement):
                (self.unit.scope if name in declared else scope).bound.add(name)
        for block in blocks(statement):
            self._block(block, scope, owner)

    def _globals(self, scope: Scope) -> set[str]:
        if id(scope) not in self.globals:
            self.globals[id(scope)] = (
                set()
                if scope.parent is None
                else {
                    name for one in ast.walk(scope.node) if isinstance(one, ast.Global) for name in one.names
                }
            )
        return self.globals[id(scope)]

    def _import(self, statement: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in statement.names:
            name = alias.asname or alias.name.partition(".")[0]
            scope.bound.add(name)
            if isinstance(statement, ast.Import):
                self.unit.aliases[name] = alias.name if alias.asname else name
            elif not statement.level:
                self.unit.aliases[name] = f"{statement.module}.{alias.name}"


def bound_names(statement: ast.stmt) -> set[str]:
    """The names that a statement itself binds, without those of its inner blocks."""
    names: set[str] = set()
    for expression in own_expressions(statement):
        for node in ast.walk(expression):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                names.add(node.id)
    for handler in getattr(statement, "handlers", []):
        if handler.name:
            names.add(handler.name)
    return names


def own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement that are not in its inner blocks."""
    for name, value in ast.iter_fields(statement):
        if name in ("body", "orelse", "finalbody", "handlers", "cases"):
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST):
                yield one


def dotted(node: ast.AST | None) -> str:
    """`a.b.c` of a chain of names, else nothing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def canonical(unit: Unit, node: ast.AST | None) -> str:
    """The dotted name of a callee with the import's alias resolved: `np.load` -> `numpy.load`."""
    name = dotted(node)
    if not name and isinstance(node, ast.Attribute):
        return f"?.{node.attr}"
    root, dot, rest = name.partition(".")
    return unit.aliases.get(root, root) + dot + rest


def root_name(node: ast.AST) -> str:
    """The name at the bottom of a chain of attributes, subscripts and calls; empty if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def attribute_of_self(node: ast.expr) -> str:
    """`layers` of `self.layers[0].units`: the attribute of the object itself that an expression begins with."""
    chain: ast.expr = node
    while isinstance(chain, ast.Call | ast.Subscript):
        chain = chain.func if isinstance(chain, ast.Call) else chain.value
    while isinstance(chain, ast.Attribute) and isinstance(chain.value, ast.Attribute | ast.Call):
        chain = chain.value if isinstance(chain.value, ast.Attribute) else chain.value.func
    return chain.attr if isinstance(chain, ast.Attribute) else ""


def is_library(function: ast.Attribute, scope: Scope) -> bool:
    """Whether the receiver is a module: `tf.random.set_seed(1)` changes nothing that the name `tf` stands for."""
    root = root_name(function.value)
    where = scope.of(root)
    return where is not None and root in where.unit.aliases
