"""Methods of strings, computed where everything is a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oomlint.dryrun.catalog.arrays.making import NumpyFloat, tags_of_all
from oomlint.dryrun.catalog.python.builtin_functions import computed
from oomlint.dryrun.catalog.registry import method
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

MAX_TEXT = 10_000  # of a string or number given to a method: `"0".zfill(10**12)` must stay harmless

_TEXT = (
    "split", "rsplit", "strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "replace", "format",
    "startswith", "endswith", "join", "zfill", "find", "rfind", "count", "partition", "rpartition", "splitlines",
    "isdigit", "removeprefix", "removesuffix", "encode", "index",
)  # fmt: skip
_RESULTS = {
    "startswith": "bool", "endswith": "bool", "isdigit": "bool", "find": "int", "rfind": "int", "count": "int",
    "index": "int",
}  # fmt: skip


@method(Const, *_TEXT)
def text_method(call: Call, run: Run) -> Value:
    """A string's method on constants is computed."""
    name = call.name.rpartition(".")[2]
    receiver = call.receiver
    assert isinstance(receiver, Const)
    if not isinstance(receiver.value, str) or len(receiver.value) > MAX_TEXT:
        return Unknown()
    values = [_plain(deref(argument.value)) for argument in call.arguments]
    if ... not in values and not call.opaque_arguments and (name != "format" or _harmless(receiver.value)):
        keywords = {argument.name: value for argument, value in zip(call.arguments, values) if argument.name}
        plain = [value for argument, value in zip(call.arguments, values) if not argument.name]
        try:
            result = getattr(receiver.value, name)(*plain, **keywords)
        except Exception:  # whatever Python raises on these constants, the value is not known
            return Unknown()
        if isinstance(result, list | tuple):
            kind = "list" if isinstance(result, list) else "tuple"
            return Sequence(kind, items=[computed(part, receiver) for part in result])
        return computed(result, receiver)
    tags = tags_of_all(*(argument.value for argument in call.arguments))
    if name in ("split", "rsplit", "splitlines"):
        return Sequence("list", element=Unknown(type="str", tags=tags))
    return Unknown(type=_RESULTS.get(name, "str"), tags=tags)


def _harmless(template: str) -> bool:
    """A format string without widths (they can ask for gigabytes) and attribute look-ups."""
    return (
        ":" not in template
        and "." not in template.partition("{")[2].partition("}")[0]
        and len(template) < 1_000
    )


def _plain(value: Value) -> Any:
    """The Python object of a constant or of a list of constants; an ellipsis for anything else."""
    if isinstance(value, Const):
        if isinstance(value.value, int) and abs(value.value) > MAX_TEXT:
            return ...
        if isinstance(value.value, str) and len(value.value) > 1_000:
            return ...
        return float(value.value) if isinstance(value.value, NumpyFloat) else value.value
    if isinstance(value, Sequence) and value.items is not None and len(value.items) < 1_000:
        items = [_plain(deref(item)) for item in value.items]
        return ... if ... in items else tuple(items) if value.kind == "tuple" else items
    return ...
