"""The slice as Python again: what is kept, with the training call replaced and what comes from data filled in."""

from __future__ import annotations

import ast
import copy
import json

from oomlint.estimate.slicing import import_statements, writing
from oomlint.estimate.slicing.arguments import bare, defaulted, hidden, matched, of_base, required
from oomlint.estimate.slicing.missing import missing
from oomlint.estimate.slicing.needs import Needs
from oomlint.estimate.slicing.program import COMPOUND, Scope, Unit, blocks, bound_names
from oomlint.estimate.slicing.rewriting import Rewriter
from oomlint.estimate.slicing.steps import pairs
from oomlint.estimate.slicing.trainings import Training
from oomlint.estimate.slicing.ways import Step
from oomlint.estimate.slicing.whole_steps import written
from oomlint.estimate.slicing.writing import around, at, inside, is_or_holds, lines_of, matters, reference

TRAINED = "oomlint_trained"
_HEADER = (
    "from oomlint.estimate.worker.absent.stand_ins import oomlint_data, oomlint_missing, oomlint_trained"
)
# Decorators that a function on the way keeps: without the others (tf.function, timers) it runs as it stands.
_KEPT_DECORATORS = ("staticmethod", "classmethod", "property")


class Emission:
    """Writes the slice of each unit."""

    def __init__(self, needs: Needs, training: Training | None, given: list[str]) -> None:
        self.needs = needs
        self.training = training
        self.given = given
        self.way: dict[int, Step] = {id(step.scope): step for step in training.way} if training else {}
        self.next: dict[int, Scope] = {}
        if training:
            for step, after in zip(training.way, training.way[1:]):
                self.next[id(step.scope)] = after.scope

    # --- what the way itself needs -------------------------------------------------------------------

    def seed(self) -> None:
        """What the training call and the calls that lead to it use."""
        assert self.training is not None
        last = self.training.way[-1].scope
        for expression in self._criterion_parts():
            self.needs.use(expression, last)
        if self.training.by_hand:  # what is trained may be no model, and hold several
            self.needs.attributes.add("trainable_variables")
        for step in self.training.way[1:]:
            scope = step.scope
            assert not isinstance(scope.node, ast.Module)
            if scope.owner is not None:
                self.needs.require(scope.owner.name, scope.unit.scope)
                self.needs.attributes.add(scope.node.name)
            else:
                self.needs.require(scope.node.name, scope)
        for step in self.training.way:
            for manager in self._managers(step):
                self.needs.use(manager, step.scope)

    def _criterion_parts(self) -> list[ast.expr]:
        assert self.training is not None
        parts = [self.training.receiver, *(one.receiver for one in self.training.others)]
        parts += [one.optimizer for one in self.training.others if one.optimizer is not None]
        if isinstance(self.training.batch, ast.expr):
            parts.append(self.training.batch)
        if self.training.optimizer is not None:
            parts.append(self.training.optimizer)
        return parts

    def settle(self) -> None:
        """The arguments on the way, of the parameters that are needed; again until nothing new is."""
        if self.training is None:
            return
        size = -1
        while size != len(self.needs.kept) + sum(map(len, self.needs.names.values())):
            size = len(self.needs.kept) + sum(map(len, self.needs.names.values()))
            for step in self.training.way[:-1]:
                if step.call is not None:
                    self.needs.use(step.call.func, step.scope)
                    for argument in self._live_arguments(step):
                        for part in self.needs.taint.used_parts(argument, step.scope):
                            self.needs.use(part, step.scope)
            self.needs.settle()

    def _live(self, scope: Scope) -> set[str]:
        """The parameters of a function on the way that are needed."""
        return self.needs.names.get(id(scope), set()) & set(scope.parameters)

    def _live_arguments(self, step: Step) -> list[ast.expr]:
        assert step.call is not None
        callee = self.next[id(step.scope)]
        if not self._enters(step.call, callee, step.scope):
            return []
        live = self._live(callee)
        return [
            value
            for name, value in matched(step.call, callee)
            if name in live or (name is None and hidden(step.call, value, callee) & live)
        ]

    def _managers(self, step: Step) -> list[ast.expr]:
        """Context managers around the way that matter: a strategy's scope, a device."""
        found: list[ast.expr] = []
        for statement in around(step.scope.node.body, step.statement):
            if isinstance(statement, ast.With):
                found += [item.context_expr for item in statement.items if matters(item.context_expr)]
        return found

    # --- writing ---------------------------------------------------------------------------------------

    def text(self, unit: Unit) -> str:
        """A unit's slice."""
        return self._text_and_lines(unit)[0]

    def _text_and_lines(self, unit: Unit) -> tuple[str, list[int]]:
        body = self.block(unit.tree.body, unit.scope)
        future = [one for one in body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
        rest = [one for one in body if one not in future]
        tree = ast.Module([*future, *ast.parse(_HEADER).body, *rest], [])
        ast.fix_missing_locations(tree)
        text = ast.unparse(tree) + "\n"
        return text, lines_of(tree, text)

    def modules(self) -> dict[str, str]:
        """The slices of the project's modules, and for each text which line was where."""
        names: dict[str, str] = {}
        for unit in self.needs.program.units:
            if not unit.name and unit is not self.needs.program.main:
                continue  # the package that the script lies in: it has no name of its own there
            text, lines = self._text_and_lines(unit)
            key = unit.name or "__main__"
            names[f"lines:{key}"] = json.dumps(lines)
            if unit is not self.needs.program.main:
                names[f"module:{key}"] = text
                names[f"file:{key}"] = str(unit.path)
        return names

    def block(self, body: list[ast.stmt], scope: Scope) -> list[ast.stmt]:
        """The kept statements of a block; on the way, it ends with the statement that leads on."""
        step = self.way.get(id(scope))
        out: list[ast.stmt] = []
        for statement in body:
            if step is not None and step.statement is not None:
                if statement is step.statement:
                    return [*out, self._leading(step)]
                if inside(statement, step.statement):
                    return [*out, *self._around_way(statement, step)]
            if id(statement) in self.needs.kept:
                out += self.statement(statement, scope)
        if step is not None and step.statement is None and body is scope.node.body:
            last = id(scope) not in self.next
            out.append(at(ast.Expr(self._criterion(scope)), body[-1]) if last else self._driver(step))
        return out

    def _around_way(self, statement: ast.stmt, step: Step) -> list[ast.stmt]:
        """A compound statement on the way: its other ways are left out, and a loop's rounds after the first."""
        assert step.statement is not None
        block = next(
            one for one in blocks(statement) if any(is_or_holds(inner, step.statement) for inner in one)
        )
        inner = self.block(block, step.scope)
        if isinstance(statement, ast.With):
            items = [
                item
                for item in statement.items
                if matters(item.context_expr)
                or (item.optional_vars is not None and self._needed(item.optional_vars, step.scope))
            ]
            if items:
                return [at(ast.With(copy.deepcopy(items), inner), statement)]
        if isinstance(statement, ast.For) and self._needed(statement.target, step.scope):
            loop = ast.For(
                copy.deepcopy(statement.target), self._rewritten(statement.iter, step.scope), inner, []
            )
            return [at(loop, statement)]
        return inner

    def _needed(self, target: ast.expr, scope: Scope) -> bool:
        return any(
            isinstance(node, ast.Name) and self.needs.requires(node.id, scope) for node in ast.walk(target)
        )

    def _leading(self, step: Step) -> ast.stmt:
        """What stands in place of the statement on the way."""
        assert self.training is not None
        assert step.statement is not None
        if id(step.scope) not in self.next:
            return at(writing.last(self._criterion(step.scope), step.scope), step.statement)
        if step.call is None:
            return self._driver(step)
        callee = self.next[id(step.scope)]
        call = self._call_of(step.call, callee, step.scope)
        if call is None:
            return self._driver(step)
        return at(ast.Expr(call), step.statement)

    def _criterion(self, scope: Scope) -> ast.Call:
        training, keywords = self.training, []
        assert training is not None
        if training.batch is not None:
            value = training.batch if isinstance(training.batch, ast.expr) else ast.Constant(training.batch)
            keywords.append(ast.keyword("batch_size", self._rewritten(value, scope)))
        facts = {"element": training.element, "rest": training.rest}
        facts |= {"arguments": training.arguments or None, "named": training.named or None}
        for name, fact in facts.items():
            if fact is not None:
                keywords.append(ast.keyword(name, ast.parse(repr(fact), mode="eval").body))
        if training.optimizer is not None:
            keywords.append(ast.keyword("optimizer", copy.deepcopy(training.optimizer)))
        if training.others:
            keywords.append(ast.keyword("others", self._rewritten(pairs(training.others), scope)))
        said = {"by_hand": training.by_hand, "batch_named": training.batch_named}
        keywords += [ast.keyword(name, ast.Constant(text)) for name, text in said.items() if text]
        return ast.Call(ast.Name(TRAINED, ast.Load()), [self._rewritten(training.receiver, scope)], keywords)

    def _call_of(self, call: ast.Call, callee: Scope, scope: Scope) -> ast.Call | None:
        """The call that leads on, without the arguments that nothing needs."""
        if not self._enters(call, callee, scope):
            return None
        live = self._live(callee)
        args: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        for name_, value in matched(call, callee):
            behind = hidden(call, value, callee) if name_ is None else set()
            if name_ is None and not behind & live:
                keywords += [ast.keyword(one, ast.Constant(None)) for one in behind & required(callee)]
                continue
            keep = name_ is None or name_ in live
            new = self._rewritten(value, scope) if keep else ast.Constant(None)
            keyword = next((one for one in call.keywords if one.value is value), None)
            if keyword is not None:
                keywords.append(ast.keyword(keyword.arg, new))
            else:
                args.append(new)
        named = reference(callee, scope) if isinstance(call.func, ast.Subscript) else copy.deepcopy(call.func)
        return ast.Call(named, args, keywords)

    def _enters(self, call: ast.Call, callee: Scope, scope: Scope) -> bool:
        """Whether a call is of the function itself, and not of a library that is handed it."""
        assert not isinstance(callee.node, ast.Module)
        name = (
            callee.owner.name
            if callee.owner is not None and callee.node.name == "__init__"
            else callee.node.name
        )
        lacks = required(callee) - {one for one, _ in matched(call, callee)}  # a decorator hands that to it
        if isinstance(call.func, ast.Subscript):  # `ALGORITHMS[args.algorithm](environment)`
            return callee.owner is None and not lacks
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        called = name if of_base(call) and callee.node.name == "__init__" else called
        aliased = isinstance(call.func, ast.Name) and scope.of(called) is not None
        if called != name and not aliased:
            return False
        if called != name and any(isinstance(one, ast.Name) and one.id == name for one in call.args):
            return False
        starred = any(isinstance(one, ast.Starred) for one in call.args)
        return not lacks or starred or any(one.arg is None for one in call.keywords)  # `train(**vars(args))`

    def _driver(self, step: Step) -> ast.stmt:
        """A call of a function that the program does not call itself: what it needs is asked for."""
        callee = self.next[id(step.scope)]
        node = callee.node
        assert not isinstance(node, ast.Module)
        live = self._live(callee)
        defaults = defaulted(node)
        skip = 0
        function = made = reference(callee, step.scope)
        if callee.owner is not None:
            statics = {getattr(one, "id", "") for one in node.decorator_list}
            skip = 0 if "staticmethod" in statics else 1
            if node.name != "__init__":
                if not statics & {"staticmethod", "classmethod"}:
                    made = ast.Call(made, self._of_constructor(callee), [])
                function = ast.Attribute(made, node.name, ast.Load())
        keywords = []
        plain = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)][skip:]
        for name in plain:
            if name in defaults and name not in self.needs.taint.given:
                continue
            value: ast.expr = missing(name, node) if name in live else ast.Constant(None)
            if name in self.needs.taint.given:
                value = missing(name, node)
            keywords.append(ast.keyword(name, value))
        return at(ast.Expr(ast.Call(function, [], keywords)), step.statement or node)

    def _of_constructor(self, callee: Scope) -> list[ast.expr]:
        """Arguments for the object whose method is called: what its constructor asks for."""
        assert callee.owner is not None
        for one in callee.owner.body:
            if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                defaults = defaulted(one)
                names = [arg.arg for arg in (*one.args.posonlyargs, *one.args.args)][1:]
                return [missing(name, one) for name in names if name not in defaults]
        return []

    def statement(self, statement: ast.stmt, scope: Scope) -> list[ast.stmt]:
        """A kept statement."""
        replaced = self.needs.taint.replaced(statement, scope)
        if replaced is not None:
            return [one for one in replaced if self._is_wanted(one, scope)] or []
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return [self._function(statement, scope)]
            case ast.ClassDef():
                return [self._class(statement, scope)]
            case ast.Import() | ast.ImportFrom():
                return import_statements.written(statement, scope, self.needs)
        if isinstance(statement, COMPOUND):
            return [self._compound(statement, scope)]
        return [self._simple(statement, scope)]

    def _is_wanted(self, bound: ast.stmt, scope: Scope) -> bool:
        names = bound_names(bound)
        return not names or any(self.needs.requires(name, scope) for name in names)

    def _simple(self, statement: ast.stmt, scope: Scope) -> ast.stmt:
        new = copy.copy(statement)
        for name, value in ast.iter_fields(statement):
            if isinstance(value, ast.expr):
                setattr(new, name, self._rewritten(value, scope))
        return new

    def _rewritten(self, node: ast.expr, scope: Scope) -> ast.expr:
        rewritten = Rewriter(self.needs.taint, scope).visit(copy.deepcopy(node))
        assert isinstance(rewritten, ast.expr)
        return rewritten

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> ast.stmt:
        inner = scope.unit.scopes[id(node)]
        body = node.body if id(node) in self.needs.verbatim else self.block(node.body, inner)
        if self.training is not None and self.training.step is node:
            body = written(self.training, inner, self._criterion(inner))
        new = copy.copy(node)
        new.body = body or [ast.Pass()]
        new.returns = None
        new.args = bare(node.args, self.needs.taint.given if id(inner) in self.way else ())
        if id(inner) in self.way:
            new.decorator_list = [
                one for one in node.decorator_list if getattr(one, "id", "") in _KEPT_DECORATORS
            ]
        return new

    def _class(self, node: ast.ClassDef, scope: Scope) -> ast.stmt:
        new = copy.copy(node)
        kept = [one for one in node.body if id(one) in self.needs.kept]
        # What a class binds is found through attributes: no name of a scope is needed for it.
        lines = ((self.needs.taint.replaced(one, scope) or self.statement(one, scope)) for one in kept)
        new.body = [line for some in lines for line in some] or [ast.Pass()]
        return new

    def _compound(self, statement: ast.stmt, scope: Scope) -> ast.stmt:
        new = copy.copy(statement)
        for name, value in ast.iter_fields(statement):
            if isinstance(value, ast.expr):
                setattr(new, name, self._rewritten(value, scope))
        for name in ("body", "orelse", "finalbody"):
            block = getattr(statement, name, None)
            if isinstance(block, list):
                kept = self.block(block, scope)
                setattr(new, name, kept or ([ast.Pass()] if name == "body" else []))
        if isinstance(statement, ast.Try):
            assert isinstance(new, ast.Try)
            if statement.finalbody and not statement.handlers and not new.finalbody:
                new.finalbody = [ast.Pass()]  # what was there to be done at the end builds nothing
            new.handlers = []
            for handler in statement.handlers:
                other = copy.copy(handler)
                other.body = self.block(handler.body, scope) or [ast.Pass()]
                new.handlers.append(other)
        if isinstance(statement, ast.With | ast.AsyncWith):
            items = []
            for item in statement.items:
                items.append(ast.withitem(self._rewritten(item.context_expr, scope), item.optional_vars))
            new.items = items  # type: ignore[attr-defined]
        return new
