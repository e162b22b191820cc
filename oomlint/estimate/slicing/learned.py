"""What an object learned from data, and what the script's text told it: a vocabulary that is written down."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from oomlint.estimate.slicing.functions import statements
from oomlint.estimate.slicing.program import Scope, bound_names, dotted, root_name

if TYPE_CHECKING:
    from oomlint.estimate.slicing.known import Known


def is_learned(node: ast.Attribute, scope: Scope, known: Known) -> bool:
    """Whether what an attribute says was learned from data: not of `StringLookup(vocabulary=list("abc"))`."""
    if root_name(node) == "self":
        return False
    where = scope.of(node.value.id) if isinstance(node.value, ast.Name) else None
    for statement in statements(where.node.body) if where is not None else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(keywords=keywords) as made) if (
                name == root_name(node) and dotted(made.func).endswith(("Lookup", "TextVectorization"))
            ):
                if _has_limit(keywords) and node.attr in _OF_VOCABULARY:
                    return False  # how large it may become is asked of the layer itself
                told = [one.value for one in keywords if one.arg == "vocabulary"]
                return not any(_is_written(one, where or scope, known) for one in told)
    return True


_OF_VOCABULARY = ("vocabulary_size", "get_vocabulary")


def _has_limit(keywords: list[ast.keyword]) -> bool:
    given = [one.value for one in keywords if one.arg == "max_tokens"]
    return bool(given) and not (isinstance(given[0], ast.Constant) and given[0].value is None)


def _is_written(value: ast.expr, scope: Scope, known: Known) -> bool:
    """Whether a list is in the script's text, or known from it: `[x for x in "abc"]`."""
    if not isinstance(value, ast.Name):
        return isinstance(value, ast.List) and all(isinstance(one, ast.Constant) for one in value.elts)
    bound = [one for one in statements(scope.node.body) if value.id in bound_names(one)]
    found = [known.literal(scope.unit, one, value.id) for one in bound]
    return bool(found) and all(isinstance(one, ast.List | ast.Tuple) for one in found)
