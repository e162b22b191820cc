"""The spellings of older Keras, TensorFlow and Python in a slice, as those of today.

Only what the tree shows is respelled here; names that are gone are put back in `older/`.
"""

from __future__ import annotations

import ast
from typing import Any

from oomlint.estimate.worker.absent.stand_ins import NeededError

FAILED = "oomlint_failed"

# Where Keras could be imported from that nobody should have; longer names first.
_PRIVATE = (
    ("tensorflow_core", "tensorflow"),
    ("tensorflow.python.keras.api._v1", "tensorflow"),
    ("tensorflow.python.keras.api._v2", "tensorflow"),
    ("tensorflow.python.keras.api", "tensorflow"),
    ("tensorflow.python.keras", "tensorflow.keras"),
    ("tensorflow._api.v2.v2", "tensorflow"),
    ("tensorflow._api.v2", "tensorflow"),
    ("keras.api._v2", "tensorflow"),
    ("keras.api", "keras"),
)


def _public(module: str) -> str:
    for private, public in _PRIVATE:
        if f"{module}.".startswith(f"{private}."):
            return _public(public + module[len(private) :])
    return module


def today(tree: ast.Module) -> None:
    """Respell a slice, in place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            if _public(node.module) == "tensorflow.python" and any(one.name == "keras" for one in node.names):
                node.module = "tensorflow"
            else:
                node.module = _public(node.module)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    alias.name = _public(alias.name)
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                value[:] = [_respelled(one) for one in value]
            elif isinstance(value, ast.expr):
                setattr(node, name, _respelled(value))


def _respelled(node: Any) -> Any:
    """Shapes had methods, of which the tuples of Keras 3 have none; `str` of what is not known is not known.

    Keras 2 took no notice of the object itself in `super().__init__(self)`, Keras 3 refuses it.
    """
    match node:
        case ast.Call(
            func=ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"))),
            args=[ast.Name(id="self"), *others],
        ):
            return ast.copy_location(ast.Call(node.func, others, node.keywords), node)
        case ast.Call(
            func=ast.Attribute(attr="as_list", value=ast.Attribute(attr="shape") as shape), args=[]
        ):
            return ast.copy_location(helper("as_list", shape), node)
        case ast.Attribute(attr="ndims" | "rank", value=ast.Attribute(attr="shape") as shape, ctx=ast.Load()):
            return ast.copy_location(helper("rank", shape), node)
        case ast.Attribute(attr="value", value=ast.Subscript(value=value) as size, ctx=ast.Load()):
            if ast.unparse(value).endswith((".shape", ".get_shape()")):
                return ast.copy_location(helper("size", size), node)
        case ast.Call(func=ast.Name(id="str"), args=[value], keywords=[]) if not isinstance(
            value, ast.Starred
        ):
            return ast.copy_location(helper("text", value), node)
        case ast.Call(func=ast.Name(id="min"), args=[one, other], keywords=[]) if _is_count(one) != _is_count(
            other
        ):
            return ast.copy_location(_least(*((one, other) if _is_count(one) else (other, one))), node)
    return node


def _is_count(value: ast.expr) -> bool:
    """`len(tokenizer.word_index) + 1`."""
    calls = [one for one in ast.walk(value) if isinstance(one, ast.Call)]
    return any(isinstance(one.func, ast.Name) and one.func.id == "len" for one in calls)


def _least(count: ast.expr, most: ast.expr) -> ast.Call:
    """`min(len(words), MAX_WORDS)`: no more than the second, if the first is not known."""
    none = ast.arguments([], [], None, [], [], None, [])
    function = ast.Attribute(ast.Name(FAILED, ast.Load()), "least", ast.Load())
    return ast.Call(function, [ast.Lambda(none, count), most, ast.Constant(ast.unparse(count))], [])


def helper(name: str, value: ast.expr, *more: str | int) -> ast.Call:
    """`oomlint_failed.name(value, ...)`: what running.py keeps there."""
    function = ast.Attribute(ast.Name(FAILED, ast.Load()), name, ast.Load())
    return ast.Call(function, [value, *map(ast.Constant, more)], [])


def as_list(shape: Any) -> list[Any]:
    """A shape as a list."""
    return list(shape.as_list() if hasattr(shape, "as_list") else shape)


def rank(shape: Any) -> Any:
    """How many sizes a shape has: `x.shape.ndims`."""
    return shape.ndims if hasattr(shape, "ndims") else len(shape)


# What was taken to be as many as the script takes at most, and how many that is.
CAPPED: dict[str, int] = {}


def least(count: Any, most: Any, written: str) -> Any:
    """The lesser of a count and of another number; that number, where the count is one of data that are not there."""
    try:
        return min(count(), most)
    except NeededError:
        if type(most) is not int:
            raise
        CAPPED[written] = most
        return most


def said() -> list[str]:
    """What was taken for a count that is not known."""
    return [f"{one} is taken to be {most} or more: the script takes no more" for one, most in CAPPED.items()]


def size(value: Any) -> Any:
    """A size of a shape, which was an object with the number in it."""
    return getattr(value, "value", value)
