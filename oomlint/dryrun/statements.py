"""Statements: one function per node type. Branches are taken on overlays of the state and joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun import asserted, classes, imports, loops, objects, operators, subscripts, whiles
from oomlint.dryrun.flow import Flow, Ways
from oomlint.dryrun.trace import Argument, Assign, Branch, Call, Handler, HandlerFacts, Try, Within
from oomlint.dryrun.values.base import NONE, Const, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Function
from oomlint.syntax.place import Place

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run


def execute_suite(run: Run, suite: cst.BaseSuite) -> Flow:
    """The body of a compound statement or function."""
    return execute_block(run, suite.body)


def execute_block(run: Run, block: Iterable[cst.CSTNode]) -> Flow:
    """Statements in order, until one leaves the block."""
    for statement in block:
        if type(statement) is cst.SimpleStatementLine:
            for small in statement.body:
                flow = execute(run, small, statement)
                if flow is not Flow.ON:
                    return flow
        else:
            flow = execute(run, statement, statement)
            if flow is not Flow.ON:
                return flow
    return Flow.ON


def execute(run: Run, node: cst.CSTNode, statement: cst.CSTNode) -> Flow:
    """One statement."""
    handler = DISPATCH.get(type(node))
    if handler is None:
        return Flow.ON
    run.fuel -= 1  # as `burn` does
    run.trace.steps += 1
    run.statement = Place(run.source, statement)
    return handler(run, node) or Flow.ON


# --- bindings ---------------------------------------------------------------------------------------


def assign(run: Run, target: Any, value: Value, origin: cst.CSTNode, augmented: str = "") -> None:
    """Bind a value to a target: a name, an attribute, an item, or a tuple of them."""
    value = deref(value)
    # By its type: `isinstance`, and `case` with it, is slow where a node of LibCST is of another kind.
    kind = type(target)
    if kind is cst.Name:
        _assign_name(run, target.value, target, value, origin, augmented)
    elif kind is cst.Attribute:
        owner = run.evaluate(target.value)
        name = target.attr.value
        value = value.bound(name, run.place(origin))
        objects.set_attribute(run, owner, name, value)
        path = imports.dotted(target) or f"?.{name}"
        made = Assign(path, value, run.place(target), run.context, augmented=augmented, target=owner)
        made.statement = run.statement
        run.trace.add(made)
    elif kind is cst.Subscript:
        owner = run.evaluate(target.value)
        keys = [run.evaluate_index(element.slice) for element in target.slice]
        index = keys[0] if len(keys) == 1 else Sequence("tuple", items=keys)
        if isinstance(index, Const) and type(index.value) is str:
            value = value.bound(repr(index.value), run.place(origin))  # as in `{"batch_size": 64}`
        subscripts.set_item(run, owner, index, value, target)
    elif kind is cst.Tuple or kind is cst.List:
        unpack(run, list(target.elements), value, origin)
    elif kind is cst.StarredElement:
        assign(run, target.value, value, origin)


def _assign_name(
    run: Run, name: str, target: cst.CSTNode, value: Value, origin: cst.CSTNode, augmented: str
) -> None:
    if type(value).bound is not Value.bound:
        value = value.bound(name, Place(run.source, origin))
    scope = run.scope
    if name in scope.globals:
        scope = scope.outermost
    elif name in scope.nonlocals:
        scope = run.state.binder(scope.parent, name) or scope
    run.state.bind(scope, name, value)
    made = Assign(name, value, Place(run.source, target), run.context, augmented=augmented)
    made.statement = run.statement
    run.trace.add(made)


def unpack(run: Run, elements: list[Any], value: Value, origin: cst.CSTNode) -> None:
    """Tuple unpacking, with at most one starred target."""
    inner = run.iterate(value)
    starred = next(
        (index for index, element in enumerate(elements) if type(element) is cst.StarredElement), None
    )
    if inner.items is not None and (len(inner.items) == len(elements) or starred is not None):
        items = list(inner.items)
        if starred is not None:
            after = len(elements) - starred - 1
            middle = Sequence("list", items=items[starred : len(items) - after])
            items = (
                [*items[:starred], middle, *items[len(items) - after :]]
                if after
                else [*items[:starred], middle]
            )
        for element, item in zip(elements, items, strict=False):
            assign(run, element.value, item, origin)
        return
    for position, element in enumerate(elements):
        if inner.element is not None and type(value) not in run.catalog.items:
            part = inner.element
        else:
            part = subscripts.get_item(run, value, Const(position), origin)
        assign(run, element.value, Sequence("list", element=part) if position == starred else part, origin)


def _assign(run: Run, node: cst.Assign) -> None:
    targets = [target.target for target in node.targets]
    run.targets = (node.value, tuple(map(imports.dotted, targets)))
    value = run.evaluate(node.value)
    run.targets = (None, ())
    for target in targets:
        assign(run, target, value, node.value)


def _annotated(run: Run, node: cst.AnnAssign) -> None:
    if node.value is None:
        return
    run.targets = (node.value, (imports.dotted(node.target),))
    value = run.evaluate(node.value)
    run.targets = (None, ())
    if isinstance(value, Unknown) and value.made_by is None and value.name is None:
        value = classes.of_annotation(run, node.annotation) or value
    assign(run, node.target, value, node.value)


def _augmented(run: Run, node: cst.AugAssign) -> None:
    old = run.evaluate(node.target)
    new = run.evaluate(node.value)
    name = operators.BINARY[type(node.operator)]
    if isinstance(old, Sequence) and old.kind == "list" and name == "add":
        subscripts.extend(run, old, new)
        added = Argument(new, run.place(node.value), path=imports.dotted(node.value) or None)
        grown = Call("builtins.list.extend", run.place(node), run.context, old, (added,))
        grown.path, grown.statement = imports.dotted(node.target) or None, run.statement
        run.record(grown)
        run.trace.add(
            Assign(imports.dotted(node.target), old, run.place(node.target), run.context, augmented=name)
        )
        return
    run.targets = (node, (imports.dotted(node.target),))
    paths = (imports.dotted(node.target) or None, imports.dotted(node.value) or None)
    value = operators.binary(run, name, old, new, node, paths)
    run.targets = (None, ())
    assign(run, node.target, value, node.value, augmented=name)


def _delete(run: Run, node: cst.Del) -> None:
    targets = node.target.elements if isinstance(node.target, cst.Tuple) else [node.target]
    for target in targets:
        inner = target.value if isinstance(target, cst.Element) else target
        if isinstance(inner, cst.Subscript):
            subscripts.delete_item(run.evaluate(inner.value))
        run.trace.add(Assign(imports.dotted(inner), NONE, run.place(inner), run.context, augmented="del"))


def _expression(run: Run, node: cst.Expr) -> None:
    if type(node.value) is not cst.SimpleString:  # a docstring
        run.evaluate(node.value)


def _return(run: Run, node: cst.Return) -> Flow:
    value = NONE if node.value is None else run.evaluate(node.value)
    activation = run.activations[-1]
    activation.returned.append(value)
    return Flow.LEAVE


def _raise(run: Run, node: cst.Raise) -> Flow:
    if node.exc is not None:
        run.evaluate(node.exc)
    return Flow.RAISE


def _assert(run: Run, node: cst.Assert) -> None:
    run.evaluate(node.test)
    asserted.learn(run, node.test)


def _global(run: Run, node: cst.Global) -> None:
    run.scope.globals |= {item.name.value for item in node.names}


def _nonlocal(run: Run, node: cst.Nonlocal) -> None:
    run.scope.nonlocals |= {item.name.value for item in node.names}


def _function(run: Run, node: cst.FunctionDef) -> None:
    function = Function(node.name.value, node, run.source, run.scope)
    parameters = node.params
    for parameter in (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params):
        if parameter.default is not None:
            default = run.evaluate(parameter.default)
            function.defaults[parameter.name.value] = default
    run.functions.append(function)
    value = classes.decorate(run, function, node.decorators)
    run.state.bind(run.scope, function.name, value)


def _class(run: Run, node: cst.ClassDef) -> None:
    run.state.bind(run.scope, node.name.value, classes.define_class(run, node))


# --- branches ---------------------------------------------------------------------------------------


def _if(run: Run, node: cst.If) -> Flow:
    ways = Ways(run)
    base = run.context
    current: cst.If | cst.Else | None = node
    left = False
    while current is not None:
        if not isinstance(current, cst.If):
            suite = current.body
            ways.take(lambda suite=suite: execute_suite(run, suite))  # type: ignore[misc]
            break
        test = run.evaluate(current.test)
        decided = operators.truth(test)
        if decided is not False:
            suite, before = current.body, run.context
            if decided and not ways.flows:
                run.context = base
                return execute_suite(run, suite)
            if not decided:
                run.context = before.inside(Branch(run.place(current), test, True, current.test))
            ways.take(lambda suite=suite: execute_suite(run, suite))  # type: ignore[misc]
            run.context = before
            if decided:
                break
            run.context = before.inside(Branch(run.place(current), test, False, current.test))
        if current.orelse is None:
            left = current is node and ways.flows in ([Flow.RAISE], [Flow.LEAVE])
            ways.skip()
        current = current.orelse
    run.context = base
    flow = ways.meet() if ways.flows else Flow.ON
    if left:
        asserted.learn(run, node.test, holds=False)
    return flow


def _try(run: Run, node: cst.Try | cst.TryStar) -> Flow:
    handlers: list[Any] = list(node.handlers)
    facts = tuple(_handler_facts(run, handler) for handler in handlers)
    attempt = Try(run.place(node), facts)
    ways = Ways(run)
    run.state.push()
    with run.inside(run.context.inside(attempt)):
        flow = execute_suite(run, node.body)
    body = run.state.pop()
    run.state.meet([{}, body] if facts else [body])  # a handler sees the body half done
    if flow is Flow.ON and node.orelse is not None:
        flow = ways.take(lambda: execute_suite(run, node.orelse.body))  # type: ignore[union-attr]
    else:
        ways.flows.append(flow)
        if flow in (Flow.ON, Flow.BREAK):
            ways.on.append(dict(body))
    for handler, fact in zip(handlers, facts, strict=True):
        with run.inside(run.context.inside(Handler(run.place(handler), fact, attempt))):
            if handler.name is not None:
                assign(run, handler.name.name, Unknown(type="exception"), handler)
            ended = ways.take(lambda handler=handler: execute_suite(run, handler.body))  # type: ignore[misc]
        fact.leaves = ended is not Flow.ON
        fact.raises = ended is Flow.RAISE
    flow = ways.meet()
    if node.finalbody is not None:
        final = execute_suite(run, node.finalbody.body)
        flow = flow if final is Flow.ON else final
    return flow


def _handler_facts(run: Run, handler: Any) -> HandlerFacts:
    if handler.type is None:
        return HandlerFacts(run.place(handler), (), bare=True)
    value = run.evaluate(handler.type)
    types = tuple(value.items) if isinstance(value, Sequence) and value.items is not None else (value,)
    return HandlerFacts(run.place(handler), types)


def _match(run: Run, node: cst.Match) -> Flow:
    subject = run.evaluate(node.subject)
    ways = Ways(run)
    exhaustive = False
    for case in node.cases:
        with run.inside(run.context.inside(Branch(run.place(case), subject, True, case.pattern))):

            def way(case: cst.MatchCase = case) -> Flow:
                _bind_pattern(run, case.pattern, subject)
                if case.guard is not None:
                    run.evaluate(case.guard)
                return execute_suite(run, case.body)

            ways.take(way)
        exhaustive = exhaustive or (
            case.guard is None and isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None
        )
    if not exhaustive:
        ways.skip()
    return ways.meet()


def _bind_pattern(run: Run, pattern: cst.CSTNode, subject: Value) -> None:
    """Names that a pattern captures: the subject itself for a bare name, unknown parts below."""
    if isinstance(pattern, cst.MatchAs) and pattern.name is not None:
        run.state.bind(run.scope, pattern.name.value, subject)
    for child in pattern.children:
        if isinstance(
            child,
            cst.MatchPattern | cst.MatchSequenceElement | cst.MatchKeywordElement | cst.MatchMappingElement,
        ):
            _bind_pattern(run, child, Unknown())
        elif isinstance(child, cst.Name) and isinstance(pattern, cst.MatchStar):
            run.state.bind(run.scope, child.value, Unknown())


def _with(run: Run, node: cst.With) -> Flow:
    before = run.context
    try:
        for item in node.items:
            manager = run.evaluate(item.item)
            entry = run.catalog.entries.get(type(manager))
            name = None
            bound = entry(manager, run) if entry is not None else manager
            if item.asname is not None:
                name = imports.dotted(item.asname.name) or None
                assign(run, item.asname.name, bound, item.item)
            run.context = run.context.inside(Within(run.place(node), manager, name))
        return execute_suite(run, node.body)
    finally:
        run.context = before


DISPATCH: dict[type[cst.CSTNode], Callable[[Run, Any], Flow | None]] = {
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Del: _delete,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Assert: _assert,
    cst.Global: _global,
    cst.Nonlocal: _nonlocal,
    cst.Import: imports.execute_import,
    cst.ImportFrom: imports.execute_from,
    cst.Break: lambda run, node: Flow.BREAK,
    cst.Continue: lambda run, node: Flow.BREAK,
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
    cst.If: _if,
    cst.For: loops.execute_for,
    cst.While: whiles.execute_while,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.Match: _match,
    cst.With: _with,
}
