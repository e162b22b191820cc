"""Replacing and wrapping expressions, with the parentheses and blanks that the place asks for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from oomlint.documents.text_edits import TextEdit
from oomlint.syntax.edits import Replace, Wrap
from oomlint.syntax.layout import NEWLINE, EditError, Layout
from oomlint.syntax.precedence import LOOSE, fits, level

_HOLE = "oomlint_wrapped_expression"


def replace(layout: Layout, edit: Replace) -> list[TextEdit]:
    """The edit of a :class:`Replace`."""
    node = edit.place.node
    start, end = layout.span(node)
    if "#" in layout.text[start:end] and any(comment not in edit.text for comment in _comments(node)):
        raise EditError("a comment would be lost")
    if not isinstance(node, cst.BaseExpression):
        return [TextEdit(start, end, _as_rows(layout, node, start, edit.text))]
    text = layout.rows(node, edit.text)
    if node.lpar:
        if "#" in _blanks_inside(layout, node) or _has_rows(edit.text):
            return [TextEdit(start, end, text)]  # the parentheses hold comments or the rows together
        start, end = layout.outer(node)
    _check_quotes(layout, node, edit.text)
    parsed = _parsed(edit.text)
    if parsed is None:  # several rows, which something must hold together
        inner = _parsed(f"({edit.text})")
        held = _in_brackets(layout, node) and inner is not None
        if inner is not None and not (held and _stands(layout, inner.with_changes(lpar=(), rpar=()), node)):
            text = f"({text})"
    elif not _stands(layout, parsed, node):
        text = f"({text})"
    return [TextEdit(start, end, _apart(layout.text, start, end, text))]


def _comments(node: cst.CSTNode) -> Iterator[str]:
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Comment):
            yield current.value
        stack.extend(current.children)


def wrap(layout: Layout, edit: Wrap) -> list[TextEdit]:
    """The two insertions of a :class:`Wrap`."""
    node = edit.place.node
    if isinstance(node, cst.Arg) and not node.star:
        node = node.value
        layout.look_up([node])
    if not isinstance(node, cst.BaseExpression):
        raise EditError("only an expression can be wrapped")
    before, after = layout.rows(node, edit.before), layout.rows(node, edit.after)
    _check_quotes(layout, node, before + after)
    start, end = layout.outer(node)
    if node.lpar and before.endswith("(") and after == ")" and not isinstance(node, cst.Tuple):
        before, after = before[:-1], ""  # the expression's own parentheses will do for the call
        end = start
    whole = _parsed(f"{edit.before}{_HOLE}{edit.after}")
    if whole is not None:
        if after and not _fits_hole(node, whole):
            before, after = f"{before}(", f"){after}"
        if not _stands(layout, whole, node):
            before, after = f"({before}", f"{after})"
            end = layout.outer(node)[1]
    return [
        TextEdit(start, start, _apart(layout.text, start, None, before)),
        *([TextEdit(end, end, _apart(layout.text, None, end, after))] if after else []),
    ]


def _has_rows(text: str) -> bool:
    """Whether there are line ends in it, of whatever system: those of the file, where it is a part of that."""
    return "\n" in text or "\r" in text


def _parsed(text: str) -> cst.BaseExpression | None:
    """An expression as written, or None where it is none or where its rows need something to hold them."""
    text = text.strip()
    try:
        return cst.parse_expression(text)
    except (cst.ParserSyntaxError, ValueError):
        pass
    if _has_rows(text):
        return None
    try:  # a walrus, or a generator, does not parse without parentheses
        parsed = cst.parse_expression(f"({text})")
    except (cst.ParserSyntaxError, ValueError):
        return None
    return parsed.with_changes(lpar=parsed.lpar[1:], rpar=parsed.rpar[1:])


def _stands(layout: Layout, written: cst.BaseExpression, node: cst.CSTNode) -> bool:
    """Whether an expression as written may take a node's place."""
    path = layout.path(node)
    parent = path[-2]
    if isinstance(written, cst.GeneratorExp) and not written.lpar and isinstance(parent, cst.Arg):
        call = path[-3]
        alone = isinstance(call, cst.Call) and len(call.args) == 1
        return alone and parent.keyword is None and parent.comma == cst.MaybeSentinel.DEFAULT
    return fits(written, parent, node)


def _in_brackets(layout: Layout, node: cst.CSTNode) -> bool:
    """Whether rows may break here because brackets around the node are open."""
    above = layout.path(node)[-2::-1]
    for inner, outer in pairwise(above):
        if isinstance(inner, cst.BaseExpression) and inner.lpar:
            return True
        if isinstance(inner, cst.BaseElement) and isinstance(outer, cst.Tuple):
            continue
        if isinstance(inner, cst.Arg | cst.BaseElement | cst.BaseDictElement | cst.SubscriptElement):
            return True
        if isinstance(inner, cst.BaseStatement | cst.BaseSmallStatement | cst.FormattedString):
            return False
    return False


def _fits_hole(node: cst.BaseExpression, whole: cst.BaseExpression) -> bool:
    """Whether an expression may stand in the hole of the code that is wrapped around it."""
    stack: list[tuple[cst.CSTNode, cst.CSTNode, cst.CSTNode | None]] = [
        (child, whole, None) for child in whole.children
    ]
    while stack:
        child, parent, above = stack.pop()
        if isinstance(child, cst.Name) and child.value == _HOLE:
            if isinstance(node, cst.GeneratorExp) and not node.lpar and isinstance(parent, cst.Arg):
                return isinstance(above, cst.Call) and len(above.args) == 1
            return fits(node, parent, child)
        stack += ((below, child, parent) for below in child.children)
    return level(node) > LOOSE


def _apart(text: str, start: int | None, end: int | None, new: str) -> str:
    """`new` with a blank where it would run into the word beside it (`return(x)` becoming `return y`)."""
    if new and start and _is_word(text[start - 1]) and (_is_word(new[0]) or new[0] in "\"'"):
        new = f" {new}"
    if new and end is not None and end < len(text) and _is_word(text[end]) and _is_word(new[-1]):
        new = f"{new} "
    return new


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _blanks_inside(layout: Layout, node: cst.BaseExpression) -> str:
    (outer_start, outer_end), (start, end) = layout.outer(node), layout.span(node)
    return layout.text[outer_start:start] + layout.text[end:outer_end]


def _check_quotes(layout: Layout, node: cst.CSTNode, text: str) -> None:
    """Before Python 3.12 the quotes of an f-string cannot be used inside of it."""
    for above in layout.path(node)[:-1]:
        if isinstance(above, cst.FormattedString) and (
            above.end[0] in text or "\\" in text or _has_rows(text)
        ):
            raise EditError("the expression stands in an f-string whose quotes the new code would end")


def _as_rows(layout: Layout, node: cst.CSTNode, start: int, text: str) -> str:
    """Several rows in place of a statement get its indentation."""
    first, *others = NEWLINE.split(text.rstrip("\r\n"))
    if not others:
        return first
    if isinstance(node, (cst.BaseSmallStatement, cst.BaseStatement)):
        if not layout.begins_row(start):
            raise EditError("several lines do not fit in place of a statement that shares its line")
        if isinstance(node, cst.BaseSmallStatement) and node.semicolon != cst.MaybeSentinel.DEFAULT:
            raise EditError("several lines do not fit in place of a statement that shares its line")
        indent = layout.indent(start)
        return first + "".join(
            layout.newline + (indent + layout.in_own_unit(row) if row.strip() else "") for row in others
        )
    return layout.rows(node, text)
