"""When an expression needs parentheses: how tightly each kind binds, and what each place asks for.

The levels are those of the grammar's expression chapter, from the loosest to the tightest.
"""

from __future__ import annotations

import libcst as cst

RAW = -1  # no expression is expected there (a name after a dot, a target): nothing is ever added
LOOSE = 0  # a bare tuple, a yield
NAMED = 1
LAMBDA = 2
TERNARY = 3
OR = 4
AND = 5
NOT = 6
COMPARISON = 7
BIT_OR = 8
BIT_XOR = 9
BIT_AND = 10
SHIFT = 11
SUM = 12
PRODUCT = 13
UNARY = 14
POWER = 15
AWAIT = 16
PRIMARY = 17
ATOM = 18

_BINARY: dict[type[cst.BaseBinaryOp], int] = {
    cst.BitOr: BIT_OR,
    cst.BitXor: BIT_XOR,
    cst.BitAnd: BIT_AND,
    cst.LeftShift: SHIFT,
    cst.RightShift: SHIFT,
    cst.Add: SUM,
    cst.Subtract: SUM,
    cst.Multiply: PRODUCT,
    cst.MatrixMultiply: PRODUCT,
    cst.Divide: PRODUCT,
    cst.FloorDivide: PRODUCT,
    cst.Modulo: PRODUCT,
    cst.Power: POWER,
}


def level(node: cst.BaseExpression) -> int:
    """How tightly an expression binds as it is written."""
    if node.lpar:
        return ATOM
    match node:
        case cst.Tuple() | cst.Yield() | cst.GeneratorExp():
            return LOOSE
        case cst.NamedExpr():
            return NAMED
        case cst.Lambda():
            return LAMBDA
        case cst.IfExp():
            return TERNARY
        case cst.BooleanOperation(operator=operator):
            return OR if isinstance(operator, cst.Or) else AND
        case cst.UnaryOperation(operator=operator):
            return NOT if isinstance(operator, cst.Not) else UNARY
        case cst.Comparison():
            return COMPARISON
        case cst.BinaryOperation(operator=operator):
            return _BINARY.get(type(operator), LOOSE)
        case cst.Await():
            return AWAIT
        case cst.Attribute() | cst.Call() | cst.Subscript():
            return PRIMARY
        case _:
            return ATOM


def fits(node: cst.BaseExpression, parent: cst.CSTNode, place: cst.CSTNode) -> bool:
    """Whether `node`, as written, may stand in `parent` where `place` stands now."""
    asked = _asked(parent, place)
    match node:
        case cst.GeneratorExp(lpar=()) if isinstance(parent, cst.Arg):
            # A call's own parentheses serve its only argument; the caller knows how many there are.
            return False
        case cst.NamedExpr(lpar=()):
            return isinstance(parent, (cst.If, cst.While)) or asked == RAW
        case cst.Integer(lpar=()) if isinstance(parent, cst.Attribute):
            return asked == RAW
    return level(node) >= asked


def _asked(parent: cst.CSTNode, place: cst.CSTNode) -> int:
    match parent:
        case cst.Attribute(value=value) | cst.Subscript(value=value):
            return PRIMARY if value is place else RAW
        case cst.Call(func=func):
            return PRIMARY if func is place else RAW
        case cst.BinaryOperation(left=left, operator=operator):
            return _operand(_BINARY.get(type(operator), ATOM), is_left=left is place)
        case cst.UnaryOperation(operator=operator):
            return NOT if isinstance(operator, cst.Not) else UNARY
        case cst.BooleanOperation(left=left, operator=operator):
            own = OR if isinstance(operator, cst.Or) else AND
            return own if left is place else own + 1
        case cst.IfExp(orelse=orelse):
            return LAMBDA if orelse is place else OR
        case cst.Comparison() | cst.ComparisonTarget() | cst.StarredElement() | cst.StarredDictElement():
            return BIT_OR
        case cst.Await():
            return PRIMARY
        case cst.Arg(keyword=keyword):
            return RAW if keyword is place else LAMBDA
        case cst.CompFor(iter=iterated):
            return OR if iterated is place else RAW
        case cst.CompIf():
            return OR
        case cst.FormattedStringExpression():
            return TERNARY
        case _:
            return _asked_by_other(parent, place)


def _asked_by_other(parent: cst.CSTNode, place: cst.CSTNode) -> int:
    match parent:
        case cst.Assign() | cst.AugAssign() | cst.AnnAssign() | cst.Return() | cst.Expr():
            target = getattr(parent, "target", None)
            return RAW if target is place else LOOSE
        case cst.Yield() | cst.Match() | cst.Del():
            return LOOSE
        case cst.For(iter=iterated):
            return LOOSE if iterated is place else RAW
        case cst.If() | cst.While():
            return NAMED
        case cst.AssignTarget() | cst.AsName() | cst.ImportAlias() | cst.ImportFrom() | cst.FunctionDef():
            return RAW
        case cst.ClassDef() | cst.NameItem() | cst.MatchAs() | cst.MatchKeywordElement():
            return RAW
        case cst.Param(name=name):
            return RAW if name is place else LAMBDA
        case cst.NamedExpr(target=name):
            return RAW if name is place else LAMBDA
        case (
            cst.Lambda()
            | cst.Element()
            | cst.DictElement()
            | cst.Index()
            | cst.Slice()
            | cst.ListComp()
            | cst.SetComp()
            | cst.GeneratorExp()
            | cst.DictComp()
            | cst.From()
            | cst.Assert()
            | cst.Raise()
            | cst.WithItem()
            | cst.Decorator()
            | cst.Annotation()
            | cst.ExceptHandler()
        ):
            return LAMBDA
        case _:
            return ATOM


def _operand(own: int, *, is_left: bool) -> int:
    if own == POWER:  # groups from the right, and takes a sign there
        return AWAIT if is_left else UNARY
    return own if is_left else own + 1
