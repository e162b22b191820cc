"""What depends on data: its value is the dry run's where that is known, else the user is asked for it.

A statement that reads data, or computes with what was read, is not kept: the names that it binds get what the dry
run knows of them (a constant, a shape), or stand for "not known" until something of the model needs them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from oomlint.estimate.slicing.filling import filled
from oomlint.estimate.slicing.functions import Functions, statements
from oomlint.estimate.slicing.known import DATA, Known
from oomlint.estimate.slicing.learned import is_learned
from oomlint.estimate.slicing.missing import missing
from oomlint.estimate.slicing.program import (
    Scope,
    Unit,
    blocks,
    bound_names,
    canonical,
    dotted,
    own_expressions,
    root_name,
)
from oomlint.estimate.slicing.vocabulary import BUILDING, DATA_ATTRIBUTES, DATA_CALLS, is_model

GIVEN = "oomlint_given"


@dataclass(slots=True)
class Taint:
    """Decides for each statement whether it depends on data."""

    functions: Functions
    known: Known
    given: dict[str, Any]  # --arg NAME=VALUE
    tainted: set[tuple[int, str]] = field(default_factory=set)  # scope and dotted name
    decided: dict[int, list[ast.stmt] | None] = field(default_factory=dict)
    unknown: list[tuple[str, int]] = field(default_factory=list)
    begun: set[int] = field(default_factory=set)  # scopes of which each statement was looked at in order

    def replaced(self, statement: ast.stmt, scope: Scope) -> list[ast.stmt] | None:
        """What stands in place of a statement that depends on data; None for one that does not."""
        if id(scope) not in self.begun:  # what follows on others has to be asked after them
            self.begun.add(id(scope))
            for one in statements(scope.node.body):
                self._replaced(one, scope)
        if id(statement) not in self.decided:
            self.decided[id(statement)] = None  # asked again below
            self.decided[id(statement)] = self._replaced(statement, scope)
        return self.decided[id(statement)]

    def survey(self, units: list[Unit]) -> None:
        """Find what depends on data before anything is decided: twice, for what goes round a loop or a function."""
        for _ in range(2):
            for unit in units:
                for scope in unit.scopes.values():
                    for statement in statements(scope.node.body):
                        self.replaced(statement, scope)
            self.decided.clear()

    def assigned(self, statement: ast.stmt) -> list[str]:
        """The names that a statement and its blocks bind."""
        names = set(bound_names(statement))
        for block in blocks(statement):
            for one in block:
                names.update(self.assigned(one))
        return sorted(names)

    def _replaced(self, statement: ast.stmt, scope: Scope) -> list[ast.stmt] | None:
        match statement:
            case ast.Assign(targets=targets, value=value):
                names = [name for target in targets for name in _targets(target)]
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                names = _targets(target)
            case ast.AugAssign(target=target, value=value):
                names = _targets(target)
            case ast.For() | ast.With() | ast.While():
                return self._block(statement, scope)
            case _:
                return None
        if not names:
            return None
        plain = names[0].rpartition(".")[2]
        made = self._constructs(value, scope)
        given = len(names) == 1 and plain in self.given and not _of_layer(scope)
        if given and isinstance(self.given[plain], str):
            given = not _is_loaded(value, plain) and not (is_model(plain) and _is_made(value))
        if given and not made and not self._makes_parts(value, scope):
            return [_bind(statement, names[0], missing(names[0], statement))]
        if made or not (self.depends(value, scope) or (_are_data(names) and self._reads(value, scope))):
            return None
        if self.known.is_part(scope.unit, statement, names):
            return None
        bound = []
        literals = [self.known.literal(scope.unit, statement, name) for name in names]
        if all(literal is None for literal in literals) and (
            self._is_own_work(value, scope) or _is_shape(value)
        ):
            return None
        for name, literal in zip(names, literals, strict=True):
            self._taint(name, scope)
            unknown = missing(name, statement, _counts_classes(value))
            bound.append(_bind(statement, name, literal or unknown))
        return bound

    def _taint(self, name: str, scope: Scope) -> None:
        where = scope.of(name.partition(".")[0]) or scope
        self.tainted.add((0 if name.startswith("self.") else id(where), name))

    def _block(self, statement: ast.stmt, scope: Scope) -> list[ast.stmt] | None:
        """A loop over data, or a file that is open: everything that it binds."""
        headers = [one for one in own_expressions(statement) if isinstance(one, ast.expr | ast.withitem)]
        of_data = isinstance(statement, ast.For) and self._yields_data(statement, scope)
        of_data |= isinstance(statement, ast.For | ast.While) and _plays(statement)
        if not of_data and not any(self.depends(one, scope) for one in headers):
            return None
        if any(self._makes_parts(one, scope) for one in ast.walk(statement) if isinstance(one, ast.expr)):
            return None
        names = self.changed(statement, scope)
        bound: list[ast.stmt] = []
        for name in names:
            self._taint(name, scope)
            literal = None
            for one in ast.walk(statement):
                if isinstance(one, ast.stmt):
                    literal = self.known.literal(scope.unit, one, name) or literal
            bound.append(_bind(statement, name, literal or missing(name, statement)))
        return bound

    def changed(self, statement: ast.stmt, scope: Scope) -> list[str]:
        """What a block over data binds, and the lists and dicts that it fills. An array keeps its shape."""
        return sorted({*self.assigned(statement), *self._filled(statement, scope)})

    def _filled(self, statement: ast.stmt, scope: Scope) -> set[str]:
        found = set[str]()
        for name in filled(statement):
            where = scope.of(name)
            made: Iterable[ast.AST] = statements(where.node.body) if where is not None else ()
            if name.startswith("self.") and scope.owner is not None:
                made = ast.walk(scope.owner)
            for one in made:
                match one:
                    case ast.Assign(targets=[target], value=value) if dotted(target) == name:
                        found |= {name} if _is_container(value) else set()
        return found

    def _yields_data(self, statement: ast.For, scope: Scope) -> bool:
        """Whether a loop takes batches of data: `for images, labels in dataset.take(1)`.

        Not `for x, layer in zip(outputs, self.heads): found.append(layer(x))`.
        """
        targets = {one.id for one in ast.walk(statement.target) if isinstance(one, ast.Name)}
        called = [one.func for one in ast.walk(statement) if isinstance(one, ast.Call)]
        if any(isinstance(one, ast.Name) and one.id in targets for one in called):
            return False
        return any(
            self.known.is_data(scope.unit, statement, name)
            for node in ast.walk(statement.target)
            if (name := dotted(node))
        )

    def _makes_parts(self, node: ast.AST, scope: Scope) -> bool:
        """Whether an expression makes a part of a model: it stays, whatever it is handed."""
        for one in ast.walk(node):
            if isinstance(one, ast.Call):
                name = canonical(scope.unit, one.func)
                if BUILDING.fullmatch(name) and not DATA_CALLS.fullmatch(name):
                    return True
                if any(
                    self.functions.effects(callee).builds
                    for callee in self.functions.callees(scope.unit, scope, one)
                ):
                    return True
        return False

    def _constructs(self, value: ast.AST, scope: Scope) -> bool:
        """Whether it makes an object of a class: one of the program, or by the way that its name is written."""
        if not isinstance(value, ast.Call):
            return False
        if isinstance(value.func, ast.Subscript):
            return self._of_classes(value.func.value, scope)
        if not isinstance(value.func, ast.Name | ast.Attribute):
            return False
        name = canonical(scope.unit, value.func)
        last = name.rpartition(".")[2]
        if last[:1].isupper() and not last.isupper() and not DATA_CALLS.fullmatch(name):
            return True
        if isinstance(value.func, ast.Name):
            found = self.functions.definition(scope.unit, value.func.id, scope)
        else:
            found = self.functions.of_module(scope.unit, value.func)
        return found is not None and isinstance(found[1], ast.ClassDef)

    def _of_classes(self, table: ast.expr, scope: Scope) -> bool:
        """Whether a name stands for a table of classes: `NETS[args.net](data.shape)` makes an object of one."""
        where = scope.of(table.id) if isinstance(table, ast.Name) else None
        for statement in statements(where.node.body) if where is not None else ():
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(values=[_, *_] as values)) if (
                    name == root_name(table)
                ):
                    made = (ast.Call(one, [], []) for one in values)
                    return all(self._constructs(one, where or scope) for one in made)
        return False

    def _is_own_work(self, value: ast.expr, scope: Scope) -> bool:
        """Whether a function of the program that reads nothing computes it: not `np.load(path_of(name))`."""
        if self.is_read(value, scope):
            return False
        calls = [one for one in ast.walk(value) if isinstance(one, ast.Call)]
        callees = [callee for call in calls for callee in self.functions.callees(scope.unit, scope, call)]
        return bool(callees) and not any(self.functions.effects(callee).reads for callee in callees)

    def depends(self, node: ast.AST, scope: Scope) -> bool:
        """Whether an expression depends on data and makes no part of a model."""
        return not self._makes_parts(node, scope) and any(True for _ in self._sources(node, scope))

    def _reads(self, value: ast.expr, scope: Scope) -> bool:
        """Whether a function of the program that reads data gives it, whatever else that function makes."""
        if not isinstance(value, ast.Call):
            return False
        callees = self.functions.callees(scope.unit, scope, value)
        return any(self.functions.effects(callee).reads for callee in callees)

    def _sources(self, node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
        for one in ast.walk(node):
            match one:
                case ast.Call(func=function):
                    name = canonical(scope.unit, function)
                    callees = self.functions.callees(scope.unit, scope, one)
                    if callees:
                        effects = [self.functions.effects(callee) for callee in callees]
                        if any(effect.reads and not effect.builds for effect in effects):
                            yield one
                    elif DATA_CALLS.fullmatch(name):
                        yield one
                case ast.Attribute(attr=name) if name in DATA_ATTRIBUTES and is_learned(
                    one, scope, self.known
                ):
                    yield one
                case ast.Attribute(ctx=ast.Load()) if (0, dotted(one)) in self.tainted:
                    yield one
                case ast.Name(id=name, ctx=ast.Load()):
                    where = scope.of(name)
                    if where is not None and (id(where), name) in self.tainted:
                        yield one

    def used_parts(self, expression: ast.AST, scope: Scope) -> Iterator[ast.AST]:
        """The parts of a kept expression whose names are needed: not those of a read that is left out."""
        stack = [expression]
        while stack:
            node = stack.pop()
            if self.is_read(node, scope):
                continue
            if isinstance(node, ast.Name | ast.Lambda) or not any(
                self.is_read(child, scope) for child in ast.walk(node)
            ):
                yield node
                continue
            stack.extend(ast.iter_child_nodes(node))
            if isinstance(node, ast.Attribute):
                yield ast.Attribute(ast.Constant(None), node.attr, node.ctx)

    def is_read(self, node: ast.AST, scope: Scope) -> bool:
        """Whether an expression within a kept statement reads data by itself."""
        match node:
            case ast.Call(func=function):
                name = canonical(scope.unit, function)
                if BUILDING.fullmatch(name) and not DATA_CALLS.fullmatch(name):
                    return False
                callees = self.functions.callees(scope.unit, scope, node)
                if callees:
                    if self._constructs(node, scope) or getattr(node, "oomlint_alone", False):
                        return False  # an object that reads as it is made may train later; `self.load()` sets sizes
                    effects = [self.functions.effects(callee) for callee in callees]
                    return all(effect.reads and not effect.builds for effect in effects)
                return bool(DATA_CALLS.fullmatch(name)) and not self._makes_parts(node, scope)
            case ast.Attribute(attr=attribute, ctx=ast.Load()):
                return attribute in DATA_ATTRIBUTES and is_learned(node, scope, self.known)
        return False


def _is_loaded(value: ast.expr, given: str) -> bool:
    """`config = json.load(file)`, `config = process(args.config)`: what is given is the option, that file's name."""
    handed = value.args if isinstance(value, ast.Call) else []
    if any(isinstance(one, ast.Attribute | ast.Subscript) and _last(one) == given for one in handed):
        return True
    name = dotted(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
    return re.fullmatch(r"\w*load\w*|read\w*|parse\w*|from_\w+|open", name) is not None


def _last(node: ast.Attribute | ast.Subscript) -> str:
    """`config` of `args.config` and of `args["config"]`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""


def _is_made(value: ast.expr) -> bool:
    """`model = networks[name]()`: what is given is the option `--model`, the name of that network."""
    return isinstance(value, ast.Call) and dotted(value.func) not in ("input", "getattr", "str", "os.getenv")


def _of_layer(scope: Scope) -> bool:
    """Whether a layer computes with its own input there: `F = input_shape[-1]` is no `F` of the script's data."""
    return scope.owner is not None and getattr(scope.node, "name", "") in _OF_INPUT


_OF_INPUT = frozenset("call __call__ build compute_output_shape compute_output_spec".split())


def _plays(loop: ast.For | ast.While) -> bool:
    """Whether it goes through the steps of an environment: `state, reward, done, info = env.step(action)`."""
    for one in ast.walk(loop):
        match one:
            case ast.Assign(
                targets=[ast.Tuple(elts=elements)], value=ast.Call(func=ast.Attribute(attr="step"))
            ) if len(elements) > 3:
                return True
    return False


_CONTAINERS = frozenset("dict list set Counter defaultdict OrderedDict deque".split())


def _is_container(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return dotted(value.func).rpartition(".")[2] in _CONTAINERS
    return isinstance(value, ast.Dict | ast.List | ast.Set)


_SAMPLES = re.compile(r"[xX](_?(train|tr|test|val|valid|data)\w*)?")
_LABELS = re.compile(r"[yYtT](_?(train|tr|test|val|valid|data)\w*)?|(labels?|targets?)(_\w+)?")


def _is_shape(value: ast.expr) -> bool:
    """`(longest, 16)`: what is asked for is `longest`, by its own name."""
    parts = [one for one in ast.walk(value) if isinstance(one, ast.expr)]
    plain = ast.Tuple | ast.List | ast.Name | ast.Constant | ast.BinOp
    return isinstance(value, ast.Tuple | ast.List) and all(isinstance(one, plain) for one in parts)


def _are_data(names: list[str]) -> bool:
    """`x, y = ...`: samples with their labels, as everybody calls them."""
    return any(_SAMPLES.fullmatch(one) for one in names) and any(_LABELS.fullmatch(one) for one in names)


def _targets(target: ast.expr) -> list[str]:
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute():
            name = dotted(target)
            return [name] if name else []
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return [name for element in elements for name in _targets(element)]
        case ast.Starred(value=value):
            return _targets(value)
    return []


def _bind(statement: ast.stmt, name: str, value: ast.expr) -> ast.stmt:
    if isinstance(value, ast.Call) and getattr(value.func, "id", "") == DATA:
        # How to ask for what is not known of it.
        value = ast.Call(value.func, [*value.args, ast.Constant(name)], [])
    target = ast.parse(name, mode="eval").body
    target.ctx = ast.Store()  # type: ignore[attr-defined]
    bound = ast.Assign([target], value)
    ast.copy_location(bound, statement)
    return ast.fix_missing_locations(bound)


def _counts_classes(value: ast.expr) -> bool:
    """`len(np.unique(labels))`, `frame.label.nunique()`, `sorted(generator.class_indices.keys())`."""
    match value:
        case ast.Call(func=ast.Attribute(attr="nunique")):
            return True
        case ast.Call(func=ast.Name(id="len"), args=[ast.Call(func=ast.Attribute(attr="unique"))]):
            return True
        case ast.Call(func=ast.Name(id="len" | "int" | "list" | "sorted" | "tuple"), args=[inner, *_]):
            return _counts_classes(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[]):
            return _counts_classes(inner)
        case ast.Attribute(attr=attribute):
            return attribute in ("class_names", "classes_", "class_indices")
    return False
