"""What methods and functions that a loop calls count on or switch: `self.step += 1`, `self.warm = True`, `global step`.

A loop is taken once. What its own body replaces, `loops` softens; this finds what is replaced out of sight of it, so
that `if self.step % 4 == 0` in a method is no condition that the first round decides for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun import imports
from oomlint.dryrun.state import Key
from oomlint.dryrun.values.base import Const, Value, deref
from oomlint.dryrun.values.program import Class, Function, Instance
from oomlint.syntax.children import code_children
from oomlint.syntax.uses import names_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.interpreter import Run
    from oomlint.syntax.source import Source

# An agent has a memory that has a counter; what lies deeper, or is called further down, is not looked for.
DEPTH = 3

# What Keras calls of a class of the program's, where the program calls what the class does not define: an object
# itself, or `fit`.
BY_THE_LIBRARY = frozenset(("__call__", "call", "train_step", "test_step"))


def soften_counted(run: Run, called: set[str]) -> None:
    """Numbers and flags that what a loop calls replaces, so that they decide no branch in it."""
    methods: dict[str, set[str]] = {}
    for path in called:
        root, _, rest = path.partition(".")
        methods.setdefault(root, set()).add(rest.rpartition(".")[2])
    seen: set[int] = set()
    for root, names in methods.items():
        value = _looked_up(run, root)
        if isinstance(value, Instance):
            _soften_objects(run, _held(run, value), names)
        elif isinstance(value, Function) and "" in names:
            _soften_globals(run, value, seen, 0)


def _looked_up(run: Run, name: str) -> Value | None:
    value = run.state.get((run.state.binder(run.scope, name), name))
    return None if value is None else deref(imports.resolve(run, value))


def _held(run: Run, root: Instance) -> list[Instance]:
    """An object, and the objects that it holds."""
    found, edge = {id(root): root}, [root]
    for _ in range(DEPTH):
        inner = [deref(value) for owner in edge for value in run.state.attributes(owner)]
        edge = [one for one in inner if isinstance(one, Instance) and id(one) not in found]
        found.update((id(one), one) for one in edge)
    return list(found.values())


def _soften_objects(run: Run, objects: list[Instance], called: set[str]) -> None:
    """What methods of these names count on, and the methods that they call: the others are not looked at."""
    waiting, looked = list(called), set(called)
    while waiting:
        name = waiting.pop()
        found = [(owner, source, method) for owner in objects for source, method in _methods(owner.cls, name)]
        further = set() if found else set(BY_THE_LIBRARY)
        for owner, source, method in found:
            facts = _facts(source, method)
            further |= facts.methods
            for path in facts.counted:
                if path.startswith("self.") and path.count(".") == 1:
                    _soften(run, (owner, path.removeprefix("self.")))
        waiting += further - looked
        looked |= further


def _methods(cls: Class, name: str) -> Iterator[tuple[Source, cst.FunctionDef]]:
    """The methods of a name, of a class and those that it derives from; `__init__` counts nothing."""
    for ancestor in cls.ancestry():
        for node in ancestor.node.body.body:
            if type(node) is cst.FunctionDef and node.name.value == name != "__init__":
                yield ancestor.source, node


def _soften_globals(run: Run, function: Function, seen: set[int], depth: int) -> None:
    if id(function) in seen or depth > DEPTH or not isinstance(function.node, cst.FunctionDef):
        return
    seen.add(id(function))
    facts = _facts(function.source, function.node)
    for name in facts.shared & facts.counted:
        _soften(run, (run.state.binder(function.scope, name), name))
    for name in facts.called:
        value = run.state.get((function.scope, name))
        callee = deref(imports.resolve(run, value)) if value is not None else None
        if isinstance(callee, Function):
            _soften_globals(run, callee, seen, depth + 1)


def _soften(run: Run, key: Key) -> None:
    held = run.state.get(key)
    value = deref(imports.resolve(run, held)) if held is not None else None
    if (
        isinstance(value, Const)
        and not value.soft
        and type(value.value) in (int, float, bool, str, type(None))
    ):
        run.state.set(key, value.softened())


class Facts:
    """What a look over a function tells: names it counts on or switches, shares with a module or closure, calls.

    `called` are functions, `methods` the last names of what is called with a dot.
    """

    __slots__ = ("called", "counted", "methods", "shared")

    def __init__(self) -> None:
        self.counted: set[str] = set()
        self.shared: set[str] = set()
        self.called: set[str] = set()
        self.methods: set[str] = set()


_TELLING = frozenset((cst.AugAssign, cst.Assign, cst.Global, cst.Nonlocal, cst.Call))
# What a statement does not run: it is not gone into.
RUN_LATER = frozenset((cst.FunctionDef, cst.ClassDef, cst.Lambda))


def _facts(source: Source, node: cst.FunctionDef) -> Facts:
    known: Facts | None = source.facts.get(id(node))
    if known is not None:
        return known
    facts = source.facts[id(node)] = Facts()
    stack: list[Any] = [node.body]
    while stack:
        current = stack.pop()
        kind = type(current)
        if kind in _TELLING:
            _tell(current, facts)
        if kind not in RUN_LATER:
            stack.extend(code_children(current))
    return facts


def _is_state(value: cst.BaseExpression) -> bool:
    """Whether an object changes its state: `self.warm = True`, `self.phase = "train"`, `self.step = 0`."""
    flag = isinstance(value, cst.Name) and value.value in ("True", "False")
    return flag or isinstance(value, cst.SimpleString | cst.Integer)


_JOINING = frozenset(("append", "concatenate", "concat", "vstack", "hstack"))


def _joins(call: cst.Call) -> bool:
    """Whether it puts a piece behind what is there: `self.rows = np.vstack((self.rows, new))`."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _JOINING


def _carries(call: cst.Call, path: str) -> bool:
    """Whether it is given what it replaces: `self.rows = self.joined(self.rows, new)`."""
    return any(path == imports.dotted(argument.value) for argument in call.args)


def _tell(node: Any, facts: Facts) -> None:
    match node:
        case cst.AugAssign(target=target):
            facts.counted.add(imports.dotted(target))
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if path := imports.dotted(
            target
        ):
            known = not isinstance(value, cst.Call) or _joins(value) or _carries(value, path)
            if known and (_is_state(value) or path in names_in(value)):
                facts.counted.add(path)  # `self.step = (self.step + 1) % 4`
        case cst.Global(names=names) | cst.Nonlocal(names=names):
            facts.shared.update(item.name.value for item in names)
        case cst.Call(func=cst.Name(value=name)):
            facts.called.add(name)
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=name))):
            facts.methods.add(name)
