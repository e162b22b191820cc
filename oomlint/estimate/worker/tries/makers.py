"""What in a project makes Keras models: classes that are some, functions that give some back, what keeps some.

Read off the text of the script and its modules, for where the script's own training cannot be followed to its model.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from oomlint.estimate.slicing.arguments import defaults_of
from oomlint.estimate.slicing.functions import statements
from oomlint.estimate.slicing.program import Program, Unit, dotted
from oomlint.estimate.slicing.vocabulary import is_model
from oomlint.estimate.worker.values.named_values import literal, spelled

_MODELS = frozenset(("Model", "Sequential", "Functional"))
_MADE_BY = frozenset(("Model", "Sequential", "model_from_json", "load_model", "clone_model"))
_STEP = ("train_step", "call")
_MOST = 400  # definitions that are looked at


@dataclass(eq=False, slots=True)
class Maker:
    """A definition that makes a model. `given` are the arguments that the project's own call of it tells."""

    unit: Unit
    name: str
    node: ast.stmt
    named: bool = False  # whether the script itself names it
    depth: int = 0  # 0: no other of them uses it
    given: dict[str, Any] = field(default_factory=dict)
    uses: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)  # attributes of the objects that it makes or is made of


def makers(program: Program, known: dict[str, Any]) -> list[Maker]:
    """All of them, those that the script names and nothing else uses first. `known` are values by name."""
    found = {one.name: one for one in _found(program.units)}
    for one in found.values():
        words = _words(one.node)
        one.uses = {name for name in found if words >= set(name.split("."))} - {one.name}
        one.given = _given(one, found, program, known)
    for one in found.values():
        one.kept = _kept(one, found)
    in_script = _words(program.main.tree)
    for one in found.values():
        root = one.name.partition(".")[0]
        one.named = root in in_script if one.unit is not program.main else _is_used(one, root, program)
    _depths(list(found.values()))
    return sorted(found.values(), key=lambda one: (not one.named, one.depth, -len(one.uses)))


def _is_used(one: Maker, root: str, program: Program) -> bool:
    return isinstance(one.node, ast.Assign) or any(
        isinstance(node, ast.Name) and node.id == root and isinstance(node.ctx, ast.Load)
        for node in ast.walk(program.main.tree)
    )


def _found(units: list[Unit]) -> Iterator[Maker]:
    """Again and again, as what makes one may call what was found before."""
    definitions = [(unit, node) for unit in units for node in unit.tree.body if isinstance(node, _DEFINING)][
        :_MOST
    ]
    names: set[str] = set()
    classes: set[str] = set()
    taken: set[int] = set()
    while True:
        new = [
            (unit, name, node)
            for unit, node in definitions
            if id(node) not in taken and (name := _made(node, names, classes))
        ]
        if not new:
            break
        for unit, name, node in new:
            taken.add(id(node))
            names.add(name)
            if isinstance(node, ast.ClassDef) and _is_model(node, classes):
                classes.add(name)
            yield Maker(unit, name, node)
    for unit, node in definitions:  # `LeNet.build(width, height)`
        if isinstance(node, ast.ClassDef) and id(node) not in taken and not _OF_LOSSES.search(node.name):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and _gives(method.body, names):
                    yield Maker(unit, f"{node.name}.{method.name}", method)


_DEFINING = (ast.FunctionDef, ast.ClassDef, ast.Assign)
_NAMED = (ast.FunctionDef, ast.ClassDef)
# What compares outputs may keep a network to do so, the features of VGG16: it is not the one that is trained.
_OF_LOSSES = re.compile(
    r"(?:^|_)loss(?:es)?(?:_|$)|Loss(?:es)?(?![a-z])|(?:^|_)metrics?(?:_|$)|Metrics?(?![a-z])"
)


def _made(node: ast.stmt, names: set[str], classes: set[str]) -> str:
    """The name of what makes a model; empty for anything else."""
    if isinstance(node, _NAMED) and _OF_LOSSES.search(node.name):
        return ""
    match node:
        case ast.ClassDef(name=name):
            return name if _is_model(node, classes) or _keeps(node, names) else ""
        case ast.FunctionDef(name=name, body=body):
            return name if _gives(body, names) else ""
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
            return name if _makes(call, names) or is_model(name) else ""
    return ""


def _is_model(node: ast.ClassDef, classes: set[str]) -> bool:
    bases = {dotted(one).rpartition(".")[2] for one in node.bases}
    return bool(bases & (_MODELS | classes))


def _makes(node: ast.expr, names: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = dotted(node.func)
    last = called.rpartition(".")[2]
    return last in _MADE_BY or last in names or ".applications." in f".{called}"


def _gives(body: list[ast.stmt], names: set[str]) -> bool:
    """Whether a function gives back what one of them, or Keras, makes."""
    inside = list(statements(body))
    made = {
        target.id
        for one in inside
        if isinstance(one, ast.Assign) and _makes(one.value, names)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    for one in inside:
        if isinstance(one, ast.Return) and one.value is not None:
            parts = one.value.elts if isinstance(one.value, ast.Tuple) else [one.value]
            if any(_makes(part, names) or (isinstance(part, ast.Name) and part.id in made) for part in parts):
                return True
    return False


def _keeps(node: ast.ClassDef, names: set[str]) -> bool:
    """Whether an object of the class has models from its beginning: a trainer, an agent."""
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    own = {name for name, one in methods.items() if _gives(one.body, names)}
    own |= {name for name, one in methods.items() if _gives(one.body, names | own)}
    begin = methods.get("__init__")
    begins = [] if begin is None else [begin, *_called_on_itself(begin, methods)]
    for one in (one for method in begins for one in statements(method.body)):
        if isinstance(one, ast.Assign) and any(isinstance(target, ast.Attribute) for target in one.targets):
            if _makes(one.value, names | own):
                return True
    return False


def _called_on_itself(begin: ast.FunctionDef, methods: dict[str, ast.FunctionDef]) -> list[ast.FunctionDef]:
    """`self.build_model()`: methods that an object calls as it begins."""
    names = {
        node.func.attr
        for node in ast.walk(begin)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "self"
    }
    return [one for name, one in methods.items() if name in names]


def _words(node: ast.AST) -> set[str]:
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            found.add(one.id)
        elif isinstance(one, ast.Attribute):
            found.add(one.attr)
        elif isinstance(one, ast.alias):
            found.add(one.name.rpartition(".")[2])
    return found


def _depths(found: list[Maker]) -> None:
    for _ in range(6):
        for one in found:
            above = [other.depth + 1 for other in found if one.name in other.uses and other is not one]
            one.depth = min(max(above, default=0), 6)


def _kept(maker: Maker, found: dict[str, Maker]) -> set[str]:
    """The attributes that objects of its classes have from their beginning: a trainer's networks are among them."""
    waiting, seen = [maker], {maker.name}
    attributes: set[str] = set()
    while waiting:
        one = waiting.pop()
        if isinstance(one.node, ast.ClassDef):
            stored = (node for node in ast.walk(one.node) if isinstance(node, ast.Attribute))
            attributes |= {node.attr for node in stored if isinstance(node.ctx, ast.Store)} | {"__dict__"}
        waiting += [found[name] for name in one.uses - seen]
        seen |= one.uses
    return attributes


def is_named_after(one: Maker, made: Maker) -> bool:
    """Whether a name is only bound to what another maker makes: `net = build(settings)`."""
    return (
        isinstance(one.node, ast.Assign)
        and isinstance(one.node.value, ast.Call)
        and _called(one.node.value) == made.name.rpartition(".")[2]
    )


def is_chosen_by_name(program: Program) -> bool:
    """Whether a script calls what a registry has under a name that it calculates: `NETS.get(settings["net"])()`."""
    nodes = list(ast.walk(program.main.tree))
    called = {one.func.id for one in nodes if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
    taken = [one.func for one in nodes if isinstance(one, ast.Call)]
    for one in nodes:
        if isinstance(one, ast.Assign) and any(
            isinstance(to, ast.Name) and to.id in called for to in one.targets
        ):
            taken.append(one.value)
    return any(map(_is_of_registry, taken))


def _is_of_registry(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr="get" | "build"), args=[key]):
            return not isinstance(key, ast.Constant)
        case ast.Subscript(value=ast.Name(), slice=key):
            return not isinstance(key, ast.Constant | ast.Slice)
    return False


# --- arguments ---------------------------------------------------------------------------------------


def parameters(node: ast.stmt) -> list[ast.arg]:
    """What a function, or a class' `__init__`, takes besides `self`."""
    if isinstance(node, ast.ClassDef):
        begin = _begin(node)
        return (
            [] if begin is None else [*begin.args.posonlyargs, *begin.args.args][1:] + begin.args.kwonlyargs
        )
    if isinstance(node, ast.FunctionDef):
        plain = [*node.args.posonlyargs, *node.args.args]
        return [*plain[bool(plain) and plain[0].arg in ("self", "cls") :], *node.args.kwonlyargs]
    return []


def _begin(node: ast.ClassDef) -> ast.FunctionDef | None:
    return next(
        (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None
    )


def _given(maker: Maker, found: dict[str, Maker], program: Program, known: dict[str, Any]) -> dict[str, Any]:
    """Arguments that the first call tells which is found, the script's own before others."""
    begins: ast.stmt = maker.node
    while isinstance(begins, ast.ClassDef) and not _begin(
        begins
    ):  # it begins as the class does that it inherits
        above = [dotted(one).rpartition(".")[2] for one in begins.bases]
        base = next(
            (found[one].node for one in above if one in found and found[one].node is not begins), None
        )
        if base is None:
            break
        begins = base
    names = [one.arg for one in parameters(begins)]
    single = _single(begins)
    given: dict[str, Any] = {}
    for unit in program.units:
        for call in ast.walk(unit.tree):
            if isinstance(call, ast.Call) and _called(call) == maker.name.rpartition(".")[2]:
                pairs = [
                    *zip(names, call.args, strict=False),
                    *((one.arg, one.value) for one in call.keywords),
                ]
                for name, value in pairs:
                    for told in _value(value, known) if name in names and name not in given else ():
                        if not (name in single and isinstance(told, list | tuple)):
                            given[str(name)] = told
    return given


def _single(node: ast.stmt) -> set[str]:
    """The parameters whose default is one value: a list under such a name has what is tried, one after the other."""
    begins = _begin(node) if isinstance(node, ast.ClassDef) else node
    pairs = defaults_of(begins.args) if isinstance(begins, ast.FunctionDef) else ()
    return {
        name for name, value in pairs if literal(value) and not isinstance(literal(value)[0], list | tuple)
    }


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)


def _value(node: ast.expr, known: dict[str, Any]) -> list[Any]:
    if found := literal(node):
        return found
    match node:
        case (
            ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name)))
        ):
            return [known[spelled(name)]] if spelled(name) in known else []
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if parts:
            values = [_value(one, known) for one in parts]
            return [tuple(one[0] for one in values)] if all(values) else []
    return []
