"""Expressions: one function per node type, each giving an abstract value."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun import calls, generators, imports, loops, objects, operators, subscripts
from oomlint.dryrun.state import Scope
from oomlint.dryrun.trace import Argument, Branch, Call
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import (
    NONE,
    Const,
    Mapping,
    Sequence,
    Slice,
    Unknown,
    Value,
    deref,
    join,
    tags_of,
)
from oomlint.dryrun.values.program import Function, Library

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run

CONSTANTS = {"True": Const(True), "False": Const(False), "None": NONE}
BUILTINS = frozenset(dir(builtins))


def evaluate(run: Run, node: cst.CSTNode) -> Value:
    """The abstract value of an expression; unknown for what is not followed."""
    handler = DISPATCH.get(type(node))
    if handler is None:
        return Unknown()
    value = handler(run, node)
    return deref(value) if type(value) is Unknown and value.role is not None else value


def lookup(run: Run, name: str) -> Value:
    """The value bound to a name: inner scopes first; class bodies are not searched from functions in them."""
    layers = run.state.layers
    scope: Scope | None = run.scope.outermost if name in run.scope.globals else run.scope
    first = True
    while scope is not None:
        if name in scope.names and (first or scope.kind != "class"):
            key = scope, name
            for layer in reversed(layers):  # `State.get`, which would be a tenth of all calls of a check
                value = layer.get(key)
                if value is not None:
                    return imports.resolve(run, value) if isinstance(value, imports.Deferred) else value
        first = False
        scope = scope.parent
    module = run.scope.outermost
    starred = imports.star_member(run, module, name) or CONSTANTS.get(name)
    if starred is not None:
        return starred
    if name in BUILTINS:
        return Library(f"builtins.{name}")
    # Nobody binds it: one unknown for all its uses, so that what they show comes together.
    value = Unknown(name=name)
    module.names.setdefault(name, False)
    return layers[0].setdefault((module, name), value)


def _name(run: Run, node: cst.Name) -> Value:
    if node.value == "__name__":
        run.trace.guarded_main = run.trace.guarded_main or run.source is run.trace.source
    return lookup(run, node.value)


def _attribute(run: Run, node: cst.Attribute) -> Value:
    return objects.get_attribute(run, evaluate(run, node.value), node.attr.value, node)


def _number(run: Run, node: Any) -> Value:
    try:  # LibCST's own `evaluated_value` compiles the text: forty times the cost
        if type(node) is cst.Integer:
            return Const(int(node.value, 0))
        return Const(float(node.value) if type(node) is cst.Float else node.evaluated_value)
    except ValueError:
        return Unknown(type="float" if type(node) is cst.Float else "int")


def _string(run: Run, node: cst.SimpleString) -> Value:
    text = node.value  # LibCST's own properties look through it several times
    if text[0] in "'\"" and "\\" not in text:
        return Const(text[3:-3] if text[:3] in ("'''", '"""') else text[1:-1])
    try:
        return Const(node.evaluated_value)
    except Exception:
        return Unknown(type="str")


def _concatenated(run: Run, node: cst.ConcatenatedString) -> Value:
    parts: list[Value] = []
    current: cst.CSTNode = node
    while isinstance(current, cst.ConcatenatedString):
        parts.append(evaluate(run, current.left))
        current = current.right
    parts.append(evaluate(run, current))
    if all(isinstance(part, Const) for part in parts):
        try:
            joined = parts[0].value  # type: ignore[attr-defined]
            for part in parts[1:]:
                joined = joined + part.value  # type: ignore[attr-defined]
            return Const(joined)
        except TypeError:
            return Unknown(type="str")
    return Unknown(type="str")


def _formatted(run: Run, node: cst.FormattedString) -> Value:
    pieces: list[str] = []
    known, soft = True, False
    for part in node.parts:
        if type(part) is cst.FormattedStringText:
            pieces.append(part.value)
            continue
        if not isinstance(part, cst.FormattedStringExpression):
            continue
        value = evaluate(run, part.expression)
        plain = part.format_spec is None and part.conversion is None and part.equal is None
        if isinstance(value, Const) and isinstance(value.value, str | int) and plain:
            pieces.append(str(value.value))
            soft = soft or value.soft
        else:
            known = False
    return Const("".join(pieces), (), soft) if known else Unknown(type="str")


def _elements(run: Run, elements: Any) -> list[Value] | None:
    """The values of a display; None once something starred has unknown length."""
    items: list[Value] | None = []
    for element in elements:
        value = evaluate(run, element.value)
        if items is None:
            continue
        if type(element) is cst.StarredElement:
            inner = run.iterate(value)
            if inner.items is None:
                items = None
            else:
                items.extend(inner.items)
        else:
            items.append(value)
    return items


def _display(kind: str) -> Callable[[Run, Any], Value]:
    def build(run: Run, node: Any) -> Value:
        items = _elements(run, node.elements)
        if items is None:
            return Sequence(kind, context=run.context)
        return Sequence(kind, items=items, context=run.context)

    return build


def _dict(run: Run, node: cst.Dict) -> Value:
    mapping = Mapping(context=run.context)
    for element in node.elements:
        value = evaluate(run, element.value)
        if type(element) is cst.StarredDictElement:
            if isinstance(value, Mapping):
                mapping.entries.update(value.entries)
                mapping.complete = mapping.complete and value.complete
            else:
                mapping.complete = False
            continue
        assert isinstance(element, cst.DictElement)
        key = evaluate(run, element.key)
        if isinstance(key, Const):
            mapping.entries[key.value] = value.bound(repr(key.value), run.place(element.value))
        else:
            mapping.complete = False
            mapping.other = value if mapping.other is None else join(mapping.other, value)
    return mapping


def _binary(run: Run, node: cst.BinaryOperation) -> Value:
    # `a + b + c + ...` nests to the left, thousands deep in generated code: go down without recursion.
    spine: list[cst.BinaryOperation] = []
    current: cst.BaseExpression = node
    while type(current) is cst.BinaryOperation:
        spine.append(current)
        current = current.left
    left = evaluate(run, current)
    for operation in reversed(spine):
        right = evaluate(run, operation.right)
        name = operators.BINARY.get(type(operation.operator), "")
        paths = (imports.path_of(operation.left), imports.path_of(operation.right))
        left = operators.binary(run, name, left, right, operation, paths) if name else Unknown()
    return left


def _boolean(run: Run, node: cst.BooleanOperation) -> Value:
    spine: list[cst.BooleanOperation] = []
    current: cst.BaseExpression = node
    while isinstance(current, cst.BooleanOperation):
        spine.append(current)
        current = current.left
    left = evaluate(run, current)
    for operation in reversed(spine):
        decided = operators.truth(left)
        is_and = isinstance(operation.operator, cst.And)
        if decided is not None and decided != is_and:
            return left  # short circuit
        right = evaluate(run, operation.right)
        if decided is not None:
            left = right
        elif is_and:
            left = (
                Unknown(type="bool", tags=tags_of(left) | tags_of(right))
                if isinstance(left, Unknown)
                else right
            )
        else:
            left = join(left, right)
    return left


def _unary(run: Run, node: cst.UnaryOperation) -> Value:
    value = evaluate(run, node.expression)
    name = operators.UNARY[type(node.operator)]
    if name == "not_":
        decided = value.value if isinstance(value, Const) else None
        if isinstance(value, Const):
            return Const(not decided, value.trail, value.soft)
        return _from(run, "not_", Unknown(type="bool", tags=tags_of(value)), node, value)
    if isinstance(value, Const):
        try:
            return Const(getattr(operator, name)(value.value), value.trail, value.soft)
        except Exception:
            return Unknown()
    if type(value) in run.catalog.operators:
        return operators.binary(run, name, value, NONE, node, (imports.path_of(node.expression), None))
    return Unknown(type=value.type if isinstance(value, Unknown) else None, tags=tags_of(value))


def _from(run: Run, name: str, result: Value, node: cst.CSTNode, *operands: Value) -> Value:
    """The result of a test that is not known, with what was tested."""
    if isinstance(result, Unknown):
        place = run.place(node)
        tested = tuple(Argument(operand, place) for operand in operands)
        result.operation = Call(f"operator.{name}", place, run.context, operands[0], tested, (), result)
        run.trace.operations.append(result.operation)
    return result


def _comparison(run: Run, node: cst.Comparison) -> Value:
    left = evaluate(run, node.left)
    results: list[Value] = []
    for target in node.comparisons:
        right = evaluate(run, target.comparator)
        name = operators.COMPARE.get(type(target.operator))
        if name is not None:
            handled = type(left) in run.catalog.operators or type(right) in run.catalog.operators
            if handled and name not in ("is_", "is_not"):
                results.append(
                    operators.binary(run, name, left, right, node, (imports.path_of(node.left), None))
                )
            else:
                results.append(_from(run, name, operators.compare(name, left, right), node, left, right))
        else:
            inside = operators.contains(left, right)
            if type(target.operator) is cst.NotIn and isinstance(inside, Const):
                inside = Const(not inside.value, inside.trail, inside.soft)
            results.append(inside)
        left = right
    if len(results) == 1:
        return results[0]
    if all(isinstance(result, Const) for result in results):
        soft = any(result.soft for result in results if isinstance(result, Const))
        return Const(all(result.value for result in results if isinstance(result, Const)), (), soft)
    return Unknown(type="bool", tags=frozenset().union(*(tags_of(result) for result in results)))


def _conditional(run: Run, node: cst.IfExp) -> Value:
    test = evaluate(run, node.test)
    decided = operators.truth(test)
    if decided is not None:
        return evaluate(run, node.body if decided else node.orelse)
    values = []
    for taken, branch in ((True, node.body), (False, node.orelse)):
        with run.inside(run.context.inside(Branch(run.place(node), test, taken, node.test))):
            values.append(evaluate(run, branch))
    return join(values[0], values[1])


def _subscript(run: Run, node: cst.Subscript) -> Value:
    value = evaluate(run, node.value)
    indices = [evaluate_index(run, element.slice) for element in node.slice]
    index = indices[0] if len(indices) == 1 else Sequence("tuple", items=indices)
    return subscripts.get_item(run, value, index, node)


def evaluate_index(run: Run, node: cst.BaseSlice) -> Value:
    """The value of an index or slice."""
    if type(node) is cst.Index:
        return evaluate(run, node.value)
    assert isinstance(node, cst.Slice)
    lower, upper, step = (
        NONE if part is None else _bound(run, evaluate(run, part))
        for part in (node.lower, node.upper, node.step)
    )
    return Slice(lower, upper, step)


def _bound(run: Run, value: Value, depth: int = 4) -> Value:
    """A bound with what it was computed from: of `data[i : i + n]` i may be one of an array's numbers."""
    made = run.trace.maker(value) if isinstance(value, Array) and value.shape == () else None
    if made is None or not made.name.startswith("operator.") or not depth:
        return value
    operands = tuple(replace(one, value=_bound(run, deref(one.value), depth - 1)) for one in made.arguments)
    return Unknown("int", tags_of(value), operation=replace(made, arguments=operands))


def _lambda(run: Run, node: cst.Lambda) -> Value:
    function = Function("<lambda>", node, run.source, run.scope)
    for parameter in (*node.params.params, *node.params.kwonly_params):
        if parameter.default is not None:
            function.defaults[parameter.name.value] = evaluate(run, parameter.default)
    return function


def _named(run: Run, node: cst.NamedExpr) -> Value:
    value = evaluate(run, node.value)
    scope = run.scope
    while scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    if isinstance(node.target, cst.Name):
        value = value.bound(node.target.value, run.place(node.value))
        run.state.bind(scope, node.target.value, value)
    return value


def _await(run: Run, node: cst.Await) -> Value:
    return evaluate(run, node.expression)


def _starred(run: Run, node: Any) -> Value:
    return evaluate(run, node.value)


DISPATCH: dict[type[cst.CSTNode], Callable[[Run, Any], Value]] = {
    cst.Name: _name,
    cst.Attribute: _attribute,
    cst.Integer: _number,
    cst.Float: _number,
    cst.Imaginary: _number,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _concatenated,
    cst.FormattedString: _formatted,
    cst.Ellipsis: lambda run, node: Const(...),
    cst.Tuple: _display("tuple"),
    cst.List: _display("list"),
    cst.Set: _display("set"),
    cst.Dict: _dict,
    cst.BinaryOperation: _binary,
    cst.BooleanOperation: _boolean,
    cst.UnaryOperation: _unary,
    cst.Comparison: _comparison,
    cst.IfExp: _conditional,
    cst.Subscript: _subscript,
    cst.Call: calls.evaluate_call,
    cst.Lambda: _lambda,
    cst.NamedExpr: _named,
    cst.Yield: generators.evaluate_yield,
    cst.Await: _await,
    cst.StarredElement: _starred,
    cst.ListComp: loops.comprehension,
    cst.SetComp: loops.comprehension,
    cst.GeneratorExp: loops.comprehension,
    cst.DictComp: loops.dict_comprehension,
}
