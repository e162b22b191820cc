"""Expressions of a light tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from oomlint.syntax.light.nodes import Unlike, made, name_of

_BINARY: dict[type[ast.operator], cst.BaseBinaryOp] = {
    ast.Add: cst.Add(),
    ast.Sub: cst.Subtract(),
    ast.Mult: cst.Multiply(),
    ast.MatMult: cst.MatrixMultiply(),
    ast.Div: cst.Divide(),
    ast.Mod: cst.Modulo(),
    ast.Pow: cst.Power(),
    ast.LShift: cst.LeftShift(),
    ast.RShift: cst.RightShift(),
    ast.BitOr: cst.BitOr(),
    ast.BitXor: cst.BitXor(),
    ast.BitAnd: cst.BitAnd(),
    ast.FloorDiv: cst.FloorDivide(),
}
_UNARY: dict[type[ast.unaryop], cst.BaseUnaryOp] = {
    ast.Invert: cst.BitInvert(),
    ast.Not: cst.Not(),
    ast.UAdd: cst.Plus(),
    ast.USub: cst.Minus(),
}
_BOOLEAN: dict[type[ast.boolop], cst.BaseBooleanOp] = {ast.And: cst.And(), ast.Or: cst.Or()}
_COMPARED: dict[type[ast.cmpop], cst.BaseCompOp] = {
    ast.Eq: cst.Equal(),
    ast.NotEq: cst.NotEqual(),
    ast.Lt: cst.LessThan(),
    ast.LtE: cst.LessThanEqual(),
    ast.Gt: cst.GreaterThan(),
    ast.GtE: cst.GreaterThanEqual(),
    ast.Is: cst.Is(),
    ast.IsNot: cst.IsNot(),
    ast.In: cst.In(),
    ast.NotIn: cst.NotIn(),
}
ASYNCHRONOUS = cst.Asynchronous()


class Expressions:
    """Makes the expressions of one text. `rows` are its rows as UTF-8, which is what `ast` counts columns in."""

    def __init__(self, rows: Sequence[bytes]) -> None:
        self.rows = rows

    def expression(self, node: ast.expr) -> cst.BaseExpression:
        """The light node of an expression. Raises Unlike."""
        make = _MAKERS.get(type(node))
        if make is None:
            raise Unlike(type(node).__name__)
        return make(self, node)

    def optional(self, node: ast.expr | None) -> cst.BaseExpression | None:
        """The light node, if there is one."""
        return None if node is None else self.expression(node)

    def _plain_name(self, node: ast.Name) -> cst.BaseExpression:
        return name_of(node.id)

    def _attribute(self, node: ast.Attribute) -> cst.BaseExpression:
        return made(cst.Attribute, value=self.expression(node.value), attr=name_of(node.attr))

    def _constant(self, node: ast.Constant) -> cst.BaseExpression:
        value = node.value
        kind = type(value)
        if isinstance(value, str):
            return made(cst.SimpleString, value=_literal(value))
        if kind is bytes:
            return made(cst.SimpleString, value=repr(value))
        if kind is int:
            return made(cst.Integer, value=repr(value))
        if kind is float:
            return made(cst.Float, value=repr(value))
        if value is ...:
            return made(cst.Ellipsis)
        if kind is complex:
            return made(cst.Imaginary, value=repr(value))
        return name_of(repr(value))

    def _call(self, node: ast.Call) -> cst.BaseExpression:
        return made(cst.Call, func=self.expression(node.func), args=self.arguments(node.args, node.keywords))

    def arguments(self, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> list[cst.Arg]:
        """Arguments in the order of the text: a starred one may stand behind a keyword."""
        if keywords and args and type(args[-1]) is ast.Starred:
            both: list[ast.expr | ast.keyword] = [*args, *keywords]
            return [self._argument(one) for one in sorted(both, key=_position)]
        found = [self._argument(one) for one in args]
        return found + [self._argument(one) for one in keywords] if keywords else found

    def _argument(self, node: ast.expr | ast.keyword) -> cst.Arg:
        if type(node) is ast.keyword:
            if node.arg is None:
                return made(cst.Arg, value=self.expression(node.value), star="**")
            return made(cst.Arg, value=self.expression(node.value), keyword=name_of(node.arg))
        if type(node) is ast.Starred:
            return made(cst.Arg, value=self.expression(node.value), star="*")
        assert isinstance(node, ast.expr)
        return made(cst.Arg, value=self.expression(node))

    def _subscript(self, node: ast.Subscript) -> cst.BaseExpression:
        value = self.expression(node.value)
        index = node.slice
        if type(index) is ast.Tuple and index.elts and not self._in_brackets(index):
            parts = [self._index(one) for one in index.elts]
        else:
            parts = [self._index(index)]
        return made(cst.Subscript, value=value, slice=parts)

    def _index(self, node: ast.expr) -> cst.SubscriptElement:
        part: cst.BaseSlice
        if type(node) is ast.Slice:
            lower, upper = self.optional(node.lower), self.optional(node.upper)
            part = made(cst.Slice, lower=lower, upper=upper, step=self.optional(node.step))
        elif type(node) is ast.Starred:
            part = made(cst.Index, value=self.expression(node.value), star="*")
        else:
            part = made(cst.Index, value=self.expression(node))
        return made(cst.SubscriptElement, slice=part)

    def _in_brackets(self, node: ast.Tuple) -> bool:
        """Whether the brackets at both ends of a tuple are its own: `a[(1, 2)]`, not `a[(1), (2)]`."""
        first = node.elts[0]
        if (node.lineno, node.col_offset) == (first.lineno, first.col_offset):
            return False
        row = self.rows[node.lineno - 1]
        if row[node.col_offset : node.col_offset + 1] != b"(":
            return False
        # A bracket that is the first element's own closes before the first comma.
        last_row = self.rows[(first.end_lineno or first.lineno) - 1]
        behind = last_row[first.end_col_offset or 0 :].lstrip()
        return behind[:1] != b")"

    def _tuple_display(self, node: ast.Tuple) -> cst.BaseExpression:
        return made(cst.Tuple, elements=self._elements(node.elts))

    def _list_display(self, node: ast.List) -> cst.BaseExpression:
        return made(cst.List, elements=self._elements(node.elts))

    def _set_display(self, node: ast.Set) -> cst.BaseExpression:
        return made(cst.Set, elements=self._elements(node.elts))

    def _elements(self, nodes: Sequence[ast.expr]) -> list[cst.BaseElement]:
        return [
            self._starred(one) if type(one) is ast.Starred else made(cst.Element, value=self.expression(one))
            for one in nodes
        ]

    def _starred(self, node: ast.Starred) -> Any:
        return made(cst.StarredElement, value=self.expression(node.value))

    def _dict_display(self, node: ast.Dict) -> cst.BaseExpression:
        elements: list[cst.BaseDictElement] = []
        for key, value in zip(node.keys, node.values):
            if key is None:
                elements.append(made(cst.StarredDictElement, value=self.expression(value)))
            else:
                pair = {"key": self.expression(key), "value": self.expression(value)}
                elements.append(made(cst.DictElement, **pair))
        return made(cst.Dict, elements=elements)

    def _list_comp(self, node: ast.ListComp) -> cst.BaseExpression:
        return made(cst.ListComp, elt=self.expression(node.elt), for_in=self._loops(node.generators))

    def _set_comp(self, node: ast.SetComp) -> cst.BaseExpression:
        return made(cst.SetComp, elt=self.expression(node.elt), for_in=self._loops(node.generators))

    def _generator(self, node: ast.GeneratorExp) -> cst.BaseExpression:
        return made(cst.GeneratorExp, elt=self.expression(node.elt), for_in=self._loops(node.generators))

    def _dict_comp(self, node: ast.DictComp) -> cst.BaseExpression:
        key, value = self.expression(node.key), self.expression(node.value)
        return made(cst.DictComp, key=key, value=value, for_in=self._loops(node.generators))

    def _loops(self, generators: Sequence[ast.comprehension]) -> cst.CompFor | None:
        inner: cst.CompFor | None = None
        for one in reversed(generators):
            inner = made(
                cst.CompFor,
                target=self.expression(one.target),
                iter=self.expression(one.iter),
                ifs=[made(cst.CompIf, test=self.expression(test)) for test in one.ifs],
                inner_for_in=inner,
                asynchronous=ASYNCHRONOUS if one.is_async else None,
            )
        return inner

    def _conditional(self, node: ast.IfExp) -> cst.BaseExpression:
        test, body = self.expression(node.test), self.expression(node.body)
        return made(cst.IfExp, test=test, body=body, orelse=self.expression(node.orelse))

    def _named(self, node: ast.NamedExpr) -> cst.BaseExpression:
        return made(cst.NamedExpr, target=self.expression(node.target), value=self.expression(node.value))

    def _awaited(self, node: ast.Await) -> cst.BaseExpression:
        return made(cst.Await, expression=self.expression(node.value))

    def _yielded(self, node: ast.Yield) -> cst.BaseExpression:
        return made(cst.Yield, value=self.optional(node.value))

    def _yielded_from(self, node: ast.YieldFrom) -> cst.BaseExpression:
        return made(cst.Yield, value=made(cst.From, item=self.expression(node.value)))

    def _function(self, node: ast.Lambda) -> cst.BaseExpression:
        return made(cst.Lambda, params=self.parameters(node.args), body=self.expression(node.body))

    def _comparison(self, node: ast.Compare) -> cst.BaseExpression:
        targets = [
            made(cst.ComparisonTarget, operator=_COMPARED[type(operator)], comparator=self.expression(other))
            for operator, other in zip(node.ops, node.comparators)
        ]
        return made(cst.Comparison, left=self.expression(node.left), comparisons=targets)

    def _boolean(self, node: ast.BoolOp) -> cst.BaseExpression:
        operator = _BOOLEAN[type(node.op)]
        left = self.expression(node.values[0])
        for one in node.values[1:]:
            left = made(cst.BooleanOperation, left=left, operator=operator, right=self.expression(one))
        return left

    def _binary(self, node: ast.BinOp) -> cst.BaseExpression:
        left, right = self.expression(node.left), self.expression(node.right)
        return made(cst.BinaryOperation, left=left, operator=_BINARY[type(node.op)], right=right)

    def _unary(self, node: ast.UnaryOp) -> cst.BaseExpression:
        operand = self.expression(node.operand)
        return made(cst.UnaryOperation, operator=_UNARY[type(node.op)], expression=operand)

    def _formatted(self, node: ast.JoinedStr) -> cst.BaseExpression:
        return made(cst.FormattedString, parts=self._parts(node), start='f"', end='"')

    def _parts(self, node: ast.JoinedStr) -> list[cst.BaseFormattedStringContent]:
        parts: list[cst.BaseFormattedStringContent] = []
        for one in node.values:
            if isinstance(one, ast.FormattedValue):
                parts.append(self._formatted_value(one))
            elif isinstance(one, ast.Constant) and one.value:  # early Python 3.12 has empty ones, too
                parts.append(made(cst.FormattedStringText, value=one.value))
        return parts

    def _formatted_value(self, node: ast.FormattedValue) -> cst.FormattedStringExpression:
        spec = node.format_spec
        return made(
            cst.FormattedStringExpression,
            expression=self.expression(node.value),
            conversion=None if node.conversion < 0 else chr(node.conversion),
            format_spec=self._parts(spec) if isinstance(spec, ast.JoinedStr) else None,
        )

    def parameters(self, node: ast.arguments) -> cst.Parameters:
        """The parameters of a function; defaults stand with theirs."""
        positional = [*node.posonlyargs, *node.args]
        without = len(positional) - len(node.defaults)
        both = [
            self._parameter(one, node.defaults[number - without] if number >= without else None)
            for number, one in enumerate(positional)
        ]
        first = len(node.posonlyargs)
        fields: dict[str, object] = {"posonly_params": both[:first], "params": both[first:]}
        if node.vararg is not None:
            fields["star_arg"] = self._parameter(node.vararg, None, "*")
        elif node.kwonlyargs:
            fields["star_arg"] = made(cst.ParamStar)
        fields["kwonly_params"] = [
            self._parameter(one, default) for one, default in zip(node.kwonlyargs, node.kw_defaults)
        ]
        if node.kwarg is not None:
            fields["star_kwarg"] = self._parameter(node.kwarg, None, "**")
        return made(cst.Parameters, **fields)

    def _parameter(self, node: ast.arg, default: ast.expr | None, star: str = "") -> cst.Param:
        return made(
            cst.Param,
            name=name_of(node.arg),
            annotation=self.annotation(node.annotation),
            default=self.optional(default),
            star=star,
        )

    def annotation(self, node: ast.expr | None) -> cst.Annotation | None:
        """The annotation of a parameter, a variable or a result."""
        return None if node is None else made(cst.Annotation, annotation=self.expression(node))

    def augmented(self, operator: ast.operator) -> cst.BaseAugOp:
        """The operator of `+=` and its like."""
        return _AUGMENTED[type(operator)]


_AUGMENTED: dict[type[ast.operator], cst.BaseAugOp] = {
    kind: getattr(cst, f"{type(operator).__name__}Assign")() for kind, operator in _BINARY.items()
}


def _literal(text: str) -> str:
    """A text between quotes; without escapes where that can be, because those are dear to read."""
    if "\\" not in text and "\r" not in text and "\0" not in text:
        for quote in ("'''", '"""') if "\n" in text else ("'", '"'):
            if quote not in text and text[-1:] != quote[0]:
                return f"{quote}{text}{quote}"
    return repr(text)


def _position(node: ast.expr | ast.keyword) -> tuple[int, int]:
    return node.lineno, node.col_offset


_MAKERS: dict[type[ast.expr], Callable[[Expressions, Any], cst.BaseExpression]] = {
    ast.Name: Expressions._plain_name,
    ast.Attribute: Expressions._attribute,
    ast.Constant: Expressions._constant,
    ast.Call: Expressions._call,
    ast.Subscript: Expressions._subscript,
    ast.Tuple: Expressions._tuple_display,
    ast.List: Expressions._list_display,
    ast.Set: Expressions._set_display,
    ast.Starred: Expressions._starred,
    ast.Dict: Expressions._dict_display,
    ast.ListComp: Expressions._list_comp,
    ast.SetComp: Expressions._set_comp,
    ast.GeneratorExp: Expressions._generator,
    ast.DictComp: Expressions._dict_comp,
    ast.IfExp: Expressions._conditional,
    ast.NamedExpr: Expressions._named,
    ast.Await: Expressions._awaited,
    ast.Yield: Expressions._yielded,
    ast.YieldFrom: Expressions._yielded_from,
    ast.Lambda: Expressions._function,
    ast.Compare: Expressions._comparison,
    ast.BoolOp: Expressions._boolean,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.JoinedStr: Expressions._formatted,
}
