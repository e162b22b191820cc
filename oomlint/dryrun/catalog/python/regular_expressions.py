"""`re` on constants: block strings like `r2_k3_s22_e6` are how many networks write down their stages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import tags_of_all
from oomlint.dryrun.catalog.registry import function, method
from oomlint.dryrun.values.base import NONE, Const, Opaque, Sequence, Unknown, Value

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

# A repeated group that repeats something itself can take exponential time; nothing of the kind is computed.
NESTED = re.compile(r"[*+}]\)*[^()]*\)[*+{]")
MAX_PATTERN, MAX_TEXT = 100, 200


def _compiled(call: Call) -> re.Pattern[str] | None:
    """The pattern of a call, if it is a short constant that cannot take long."""
    pattern = call.const("pattern")
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN or call.value("flags") is not None:
        return None
    if NESTED.search(pattern) or len(re.findall(r"[*+]", pattern)) > 3:
        return None
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None


@function("re.split", parameters="pattern string maxsplit flags")
@function("re.findall", parameters="pattern string flags")
def pieces(call: Call, run: Run) -> Value:
    """The parts of a text."""
    pattern, text = _compiled(call), call.value("string")
    limit = call.const("maxsplit", 0)
    if pattern is None or not isinstance(text, Const) or not isinstance(text.value, str):
        return Sequence("list", element=Unknown(type="str", tags=tags_of_all(text)))
    if len(text.value) > MAX_TEXT or not isinstance(limit, int):
        return Sequence("list", element=Unknown(type="str"))
    found = pattern.findall(text.value) if call.name == "re.findall" else pattern.split(text.value, limit)
    return Sequence("list", items=[_piece(item, text) for item in found], context=run.context)


def _piece(item: object, text: Const) -> Value:
    if isinstance(item, tuple):
        return Sequence("tuple", items=[Const(part, text.trail, text.soft) for part in item])
    return Const(item, text.trail, text.soft)


@function("re.match", "re.search", "re.fullmatch", parameters="pattern string flags")
def matched(call: Call, run: Run) -> Value:
    """A match, whose groups are known, or None."""
    pattern, text = _compiled(call), call.value("string")
    if pattern is None or not isinstance(text, Const) or not isinstance(text.value, str):
        return Unknown(tags=tags_of_all(text))
    if len(text.value) > MAX_TEXT:
        return Unknown()
    found = getattr(pattern, call.name.rpartition(".")[2])(text.value)
    if found is None:
        return NONE if not text.soft else Unknown()
    groups: dict[str, Value] = {
        str(index): Const(found[index], text.trail, text.soft) for index in range(len(found.groups()) + 1)
    }
    groups |= {name: groups[str(index)] for name, index in pattern.groupindex.items()}
    return Opaque("re.Match", call, groups)


@method(Opaque, "group", "groups")
def group(call: Call, run: Run) -> Value:
    """What a group of the pattern matched."""
    match = call.receiver
    if not isinstance(match, Opaque) or match.type != "re.Match":
        return Unknown()
    if call.name.endswith("groups"):
        count = sum(name.isdigit() for name in match.attributes)
        return Sequence("tuple", items=[match.attributes[str(index)] for index in range(1, count)])
    wanted = [argument.value for argument in call.arguments] or [Const(0)]
    found = [
        match.attributes.get(str(key.value), Unknown(type="str"))
        if isinstance(key, Const)
        else Unknown(type="str")
        for key in wanted
    ]
    return found[0] if len(found) == 1 else Sequence("tuple", items=found)


@function("re.sub", parameters="pattern repl string count flags")
def substituted(call: Call, run: Run) -> Value:
    """The text with the matches replaced."""
    pattern, text, new = _compiled(call), call.value("string"), call.const("repl")
    known = isinstance(text, Const) and isinstance(text.value, str) and len(text.value) <= MAX_TEXT
    if pattern is None or not known or not isinstance(new, str) or call.value("count") is not None:
        return Unknown(type="str", tags=tags_of_all(text))
    assert isinstance(text, Const)
    try:
        return Const(pattern.sub(new, text.value), text.trail, text.soft)
    except (re.error, IndexError):
        return Unknown(type="str")
