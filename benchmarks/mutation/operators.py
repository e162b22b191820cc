"""The mutants of a module: small changes of its meaning, each at one node of its tree.

What no run of a rule can tell from the original is left alone: docstrings, annotations, imports, decorators,
assertions and the messages of exceptions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

# The way from a node to one below it: a field, and an index where the field is a list.
Step = tuple[str, "int | None"]
Path = tuple[Step, ...]

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
OTHER_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
OTHER_MEMBERS = {
    ("Severity", "NOTE"): ("WARNING",),
    ("Severity", "WARNING"): ("ERROR", "NOTE"),
    ("Severity", "ERROR"): ("WARNING",),
    ("Safety", "SAFE"): ("UNSAFE",),
    ("Safety", "UNSAFE"): ("SAFE",),
    ("Safety", "DISPLAY"): ("UNSAFE",),
}
EMPTY = {"list": "[]", "tuple": "()", "dict": "{}", "set": "set()", "frozenset": "frozenset()", "str": "''"}

# A number in a sentence: not the digits of a name such as float32, TF1 or OOM301.
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?![\w])")


@dataclass(frozen=True)
class Mutant:
    """One change. `path` leads from the module to the node that `make` replaces."""

    module: str
    scope: str  # the function or class around it, dotted; empty at the module's level
    operator: str
    row: int
    before: str
    after: str
    rows: tuple[int, int]  # of the statement, or of a compound statement's head
    path: Path
    make: Callable[[ast.AST], ast.AST | None] = field(repr=False, compare=False)
    number: int = 1  # of several that would read the same

    @property
    def key(self) -> str:
        """What it is called, whatever rows the module has above it."""
        again = f" #{self.number}" if self.number > 1 else ""
        return f"{self.module}:{self.scope}: {self.before} -> {self.after}{again}"


def mutants(module: str, text: str) -> list[Mutant]:
    """All mutants of a module, in the order of its text."""
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    for mutant in _Walk(module, ast.parse(text)).run():
        number = seen[mutant.key] = seen.get(mutant.key, 0) + 1
        found.append(replace(mutant, number=number))
    return found


def applied(tree: ast.Module, mutant: Mutant) -> ast.Module:
    """The tree with the mutant in it; the tree itself is changed."""
    parent: ast.AST = tree
    for name, index in mutant.path[:-1]:
        parent = getattr(parent, name) if index is None else getattr(parent, name)[index]
    name, index = mutant.path[-1]
    node = getattr(parent, name) if index is None else getattr(parent, name)[index]
    new = mutant.make(node)
    if new is not None and isinstance(node, (ast.expr, ast.stmt)):
        ast.copy_location(new, node)
    if index is None:
        setattr(parent, name, new)
    elif new is None:
        del getattr(parent, name)[index]
    else:
        getattr(parent, name)[index] = new
    ast.fix_missing_locations(parent)
    return tree


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 160 else f"{text[:150]}...{len(text)}"


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class _Walk:
    def __init__(self, module: str, tree: ast.Module) -> None:
        self.module = module
        self.tree = tree
        self.returns: ast.expr | None = None  # what the function around says that it returns
        self.rows = (0, 0)

    def run(self) -> Iterator[Mutant]:
        yield from self._statements(self.tree, "body", (), "")

    # Where things are.

    def _statements(self, parent: ast.AST, name: str, path: Path, scope: str) -> Iterator[Mutant]:
        for index, statement in enumerate(getattr(parent, name)):
            yield from self._statement(statement, (*path, (name, index)), scope)

    def _statement(self, node: ast.stmt, path: Path, scope: str) -> Iterator[Mutant]:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Global() | ast.Nonlocal() | ast.Pass():
                return
            case ast.Expr(value=ast.Constant()):  # a docstring, or `...`
                return
            case ast.Raise():
                self.rows = (node.lineno, node.end_lineno or node.lineno)
                if scope:
                    yield self._mutant("statement", node, path, scope, "pass", lambda _: ast.Pass())
                return
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner = f"{scope}.{node.name}" if scope else node.name
                for kind in ("defaults", "kw_defaults"):
                    for index, default in enumerate(getattr(node.args, kind)):
                        if default is not None:
                            yield from self._inside(
                                default, (*path, ("args", None), (kind, index)), f"{inner}()"
                            )
                outer, self.returns = self.returns, node.returns
                yield from self._statements(node, "body", path, inner)
                self.returns = outer
                return
            case ast.ClassDef():
                yield from self._statements(
                    node, "body", path, f"{scope}.{node.name}" if scope else node.name
                )
                return
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                return
            case ast.AnnAssign():
                if node.value is not None:
                    yield from self._inside(node.value, (*path, ("value", None)), scope)
                return
        self.rows = (node.lineno, node.end_lineno or node.lineno)
        if isinstance(node, (ast.If, ast.While)):
            for value in (True, False) if isinstance(node, ast.If) else (False,):
                self.rows = (node.test.lineno, node.test.end_lineno or 0)
                new = ast.Constant(value)
                yield self._swap("condition", node.test, (*path, ("test", None)), scope, new)
        if scope and isinstance(node, (ast.Expr, ast.AugAssign, ast.Continue, ast.Break, ast.Delete)):
            yield self._mutant("statement", node, path, scope, "pass", lambda _: ast.Pass())
        if isinstance(node, ast.Return) and node.value is not None and scope:
            yield from self._returned(node, path, scope)
        yield from self._children(node, path, scope)

    def _children(self, node: ast.AST, path: Path, scope: str) -> Iterator[Mutant]:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_comment", "ctx"):
                continue
            if isinstance(value, list):
                for index, child in enumerate(value):
                    if isinstance(child, ast.stmt):
                        yield from self._statement(child, (*path, (name, index)), scope)
                    elif isinstance(child, ast.AST):
                        self._enter(node, child)
                        yield from self._inside(child, (*path, (name, index)), scope)
            elif isinstance(value, ast.AST):
                self._enter(node, value)
                yield from self._inside(value, (*path, (name, None)), scope)

    def _enter(self, parent: ast.AST, child: ast.AST) -> None:
        """Of a compound statement only the head is run where a part of the head is."""
        if isinstance(child, ast.match_case):
            end = child.guard or child.pattern
            self.rows = (child.pattern.lineno, end.end_lineno or end.lineno)
        elif hasattr(parent, "body") and isinstance(parent, ast.stmt) and hasattr(child, "lineno"):
            self.rows = (child.lineno, getattr(child, "end_lineno", None) or child.lineno)

    def _inside(self, node: ast.AST, path: Path, scope: str) -> Iterator[Mutant]:
        yield from self._node(node, path, scope)
        yield from self._conditions(node, path, scope)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("cast", "TypeVar")
        ):
            return
        yield from self._children(node, path, scope)

    def _mutant(
        self,
        operator: str,
        node: ast.AST,
        path: Path,
        scope: str,
        after: str,
        make: Callable[[ast.AST], ast.AST | None],
        before: str | None = None,
    ) -> Mutant:
        row = getattr(node, "lineno", 0) or getattr(getattr(node, "target", None), "lineno", 0)
        said = _short(node) if before is None else before
        return Mutant(self.module, scope, operator, row, said, after, self.rows, path, make)

    # What is changed.

    def _swap(self, operator: str, node: ast.AST, path: Path, scope: str, text: ast.expr) -> Mutant:
        return self._mutant(operator, node, path, scope, _short(text), lambda _: text)

    def _returned(self, node: ast.Return, path: Path, scope: str) -> Iterator[Mutant]:
        value = node.value
        assert value is not None
        said = ast.unparse(self.returns) if getattr(self, "returns", None) is not None else ""
        inner = (*path, ("value", None))
        if said == "bool":
            if not isinstance(value, (ast.Constant, ast.Compare)):
                yield self._swap("return", value, inner, scope, ast.UnaryOp(ast.Not(), value))
            return
        empty = _expression(EMPTY.get(said.partition("[")[0], "None"))
        if ast.dump(value) != ast.dump(empty):
            yield self._mutant("return", node, inner, scope, f"return {_short(empty)}", lambda _: empty)

    def _conditions(self, node: ast.AST, path: Path, scope: str) -> Iterator[Mutant]:
        always = ast.Constant(True)
        never = ast.Constant(False)
        match node:
            case ast.IfExp():
                for new in (always, never):
                    yield self._swap("condition", node.test, (*path, ("test", None)), scope, new)
            case ast.comprehension():
                for index, test in enumerate(node.ifs):
                    yield self._swap("condition", test, (*path, ("ifs", index)), scope, always)
            case ast.match_case() if node.guard is not None:
                for new in (always, never):
                    yield self._swap("condition", node.guard, (*path, ("guard", None)), scope, new)

    def _node(self, node: ast.AST, path: Path, scope: str) -> Iterator[Mutant]:
        match node:
            case ast.Compare():
                for index, op in enumerate(node.ops):
                    for other in COMPARISONS[type(op)]:
                        ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
                        yield self._swap(
                            "comparison", node, path, scope, ast.Compare(node.left, ops, node.comparators)
                        )
            case ast.BinOp() if type(node.op) in ARITHMETIC and not _textual(node):
                yield self._swap(
                    "arithmetic",
                    node,
                    path,
                    scope,
                    ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right),
                )
            case ast.BoolOp():
                other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
                yield self._swap("and/or", node, path, scope, ast.BoolOp(other, node.values))
                for index in range(len(node.values)):
                    left = [*node.values[:index], *node.values[index + 1 :]]
                    new = left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
                    yield self._swap("condition", node, path, scope, new)
            case ast.UnaryOp(op=ast.Not()):
                yield self._swap("not", node, path, scope, node.operand)
            case ast.Constant(value=bool(value)):
                yield self._swap("constant", node, path, scope, ast.Constant(not value))
            case ast.Constant(value=int(value)):
                for new in [value + 1, value - 1, *([value * 2] if value > 2 else [])]:
                    yield self._swap("constant", node, path, scope, ast.Constant(new))
            case ast.Constant(value=float(value)):
                yield self._swap("constant", node, path, scope, ast.Constant(value * 2 if value else 1.0))
            case ast.Constant(value=str(value)) if " " in value:
                if found := _NUMBER.search(value):
                    new_text = f"{value[: found.start()]}{_next(found[0])}{value[found.end() :]}"
                    yield self._swap("number in a text", node, path, scope, ast.Constant(new_text))
            case ast.Call():
                for index, keyword in enumerate(node.keywords):
                    if keyword.arg is not None:
                        yield self._mutant(
                            "keyword",
                            node,
                            (*path, ("keywords", index)),
                            scope,
                            f"without {_short(keyword)}",
                            lambda _: None,
                        )
            case ast.Name(id=name) if name in OTHER_NAMES:
                yield self._swap(
                    "min/max, any/all", node, path, scope, ast.Name(OTHER_NAMES[name], ast.Load())
                )
            case ast.Attribute(value=ast.Name(id=owner), attr=member) if (owner, member) in OTHER_MEMBERS:
                for other_member in OTHER_MEMBERS[owner, member]:
                    new_member = ast.Attribute(ast.Name(owner, ast.Load()), other_member, ast.Load())
                    yield self._swap("severity or safety", node, path, scope, new_member)
            case ast.Slice():
                for part in ("lower", "upper", "step"):
                    if getattr(node, part) is not None:
                        fields = {"lower": node.lower, "upper": node.upper, "step": node.step, part: None}
                        yield self._swap("slice", node, path, scope, ast.Slice(**fields))


def _textual(node: ast.BinOp) -> bool:
    """Whether `+`, `*`, `%` put texts or lists together: the swap could only raise."""
    kinds = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
    return any(
        isinstance(side, kinds) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _next(number: str) -> str:
    return f"{int(number.replace(',', '')) + 1:,}" if "," in number else str(int(number.rstrip(",")) + 1)
