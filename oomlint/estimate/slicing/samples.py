"""The shape of a picture, or the length of a text, where neither the model nor its data says it: what names say.

As with the batch size (`batch.py`): only where all names that say it agree, and it is said where that was found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oomlint.dryrun.values.base import Const, Mapping, Sequence, Value, deref

if TYPE_CHECKING:
    from oomlint.dryrun import Trace

# `INCEPTION_IMAGE_SIZE` is what another network takes.
_BEFORE = r"(?:(?:train|training|default|model|net|network|data|dataset|our|my)_)?"
_WHAT = r"(?:im|img|imgs|image|images|pic|picture|input|inputs|frame|patch|target)"
_WHOLE = re.compile(rf"(?i){_BEFORE}{_WHAT}_?(?:shape|dims?|size|sz|resolution)")
_SIDES = (
    re.compile(rf"(?i){_BEFORE}{_WHAT}_?(?:h|height|rows)|height"),
    re.compile(rf"(?i){_BEFORE}{_WHAT}_?(?:w|width|cols|columns)|width"),
)
_CHANNELS = re.compile(r"(?i)(?:\w+_)?channels?")
_OF_OTHERS = re.compile(r"(?i)test|val|eval|pred|infer|crop|load|kernel|latent|num|count")
_PLAIN = 3  # channels where nothing says them
_LEAST, _MOST = 8, 4096  # sides of a picture: a `size` of 4 is something else

_OF_TEXT = (
    r"(?:seq|sequence|sent|sentence|input|text|pad|padded|document|doc|context|review|token|question|title)s?"
)
_LENGTH = re.compile(
    rf"(?i)(?:(?:max|maximum|fixed|the|my|model|train)_?)?{_OF_TEXT}(?:_?{_OF_TEXT})*_?(?:max_?)?(?:len|length|length_max)"
    r"|(?i:(?:max|maximum|fixed)_?(?:len|length)|context_?(?:size|window)|block_size|n_?ctx)"
)


# What brings pictures to one size, and the argument that says which.
_RESIZING = {
    "tf.image.resize": "size",
    "tf.image.resize_with_pad": "target_height target_width",
    "tf.image.resize_with_crop_or_pad": "target_height target_width",
    "keras.ops.image.resize": "size",
    "keras.utils.load_img": "target_size",
    "cv2.resize": "dsize",
}


def sample_named(trace: Trace) -> tuple[tuple[int, ...], str] | None:
    """Height, width and channels as the script's names say them, or its calls that bring pictures to one size.

    With them comes which those are; None where they do not agree.
    """
    return _of_names(trace) or _of_calls(trace)


def _of_calls(trace: Trace) -> tuple[tuple[int, ...], str] | None:
    """The one size to which every picture is brought, with three channels."""
    found: dict[tuple[int, ...], str] = {}
    for call in trace.calls(*_RESIZING):
        told = [call.value(name) for name in _RESIZING[call.name].split()]
        parts = [_sizes(deref(one)) for one in told if one is not None]
        sizes = tuple(size for part in parts for size in part or ())
        if len(sizes) != 2 or not all(_LEAST <= one <= _MOST for one in sizes):
            return None
        found.setdefault(sizes[::-1] if call.name == "cv2.resize" else sizes, call.name)
    if len(found) != 1:
        return None
    ((size, name),) = found.items()
    return (*size, _PLAIN), f"the size given to {name}"


def _of_names(trace: Trace) -> tuple[tuple[int, ...], str] | None:
    found = [(name, sizes) for name, sizes in _said(trace) if not _OF_OTHERS.search(name)]
    channels = {sizes[0] for name, sizes in found if _CHANNELS.fullmatch(name) and len(sizes) == 1}
    depth = channels.pop() if len(channels) == 1 else None if channels else _PLAIN
    wholes: dict[tuple[int, ...], str] = {}
    for name, sizes in found:
        if not _WHOLE.fullmatch(name) or not all(_LEAST <= one <= _MOST for one in sizes[:2]):
            continue
        if len(sizes) == 3:
            wholes.setdefault(sizes, name)
        elif depth is not None:
            wholes.setdefault((*sizes, *sizes, depth) if len(sizes) == 1 else (*sizes, depth), name)
    if len(wholes) == 1:
        return next(iter(wholes.items()))
    sides = [{(sizes, name) for name, sizes in found if side.fullmatch(name)} for side in _SIDES]
    if wholes or depth is None or any(len({sizes for sizes, _ in side}) != 1 for side in sides):
        return None
    (height, first), (width, second) = (min(side) for side in sides)
    if len(height) != 1 or len(width) != 1 or not all(_LEAST <= one <= _MOST for one in (*height, *width)):
        return None
    return (*height, *width, depth), f"{first} and {second}"


def length_named(trace: Trace) -> tuple[int, str] | None:
    """How many words or characters a text is cut to, as the script's names say it; None where they do not agree."""
    found: dict[int, str] = {}
    for name, sizes in [*_said(trace), *_entries(trace), *_options(trace)]:
        if is_length(name) and len(sizes) == 1 and sizes[0] > 1:
            found.setdefault(sizes[0], name)
    return next(iter(found.items())) if len(found) == 1 else None


def is_length(name: str) -> bool:
    """Whether a name is what people call the length of a text."""
    return _LENGTH.fullmatch(name) is not None and _OF_OTHERS.search(name) is None


def _entries(trace: Trace) -> list[tuple[str, tuple[int, ...]]]:
    """Settings in tables: `{"max_length": 64}`."""
    tables = [table for one in trace.assigns() if isinstance(table := deref(one.value), Mapping)]
    pairs = [(name, _sizes(deref(item))) for table in tables for name, item in table.entries.items()]
    return [(name, sizes) for name, sizes in pairs if isinstance(name, str) and sizes is not None]


def _options(trace: Trace) -> list[tuple[str, tuple[int, ...]]]:
    """Options of the command line whose default is a whole number."""
    found = []
    for call in trace.calls_where(lambda name: name.endswith((".add_argument", ".DEFINE_integer"))):
        words = [one for item in call.arguments[:2] if isinstance(one := item.const(), str)]
        default = call.value("default") or (call.arguments[1].value if len(call.arguments) > 1 else None)
        sizes = None if default is None else _sizes(deref(default))
        if words and sizes is not None:
            found.append((words[-1].lstrip("-").replace("-", "_"), sizes))
    return found


def _said(trace: Trace) -> list[tuple[str, tuple[int, ...]]]:
    """Names that are bound to one, two or three whole numbers."""
    found = []
    for assign in trace.assigns():
        sizes = _sizes(deref(assign.value))
        if sizes is not None:
            found.append((assign.path.rpartition(".")[2], sizes))
    return found


def _sizes(value: Value) -> tuple[int, ...] | None:
    items = value.items if isinstance(value, Sequence) and value.kind in ("tuple", "list") else [value]
    plain = [one.value for item in items or () if isinstance(one := deref(item), Const)]
    if len(plain) != len(items or ()) or not 1 <= len(plain) <= 3:
        return None
    return tuple(plain) if all(type(one) is int for one in plain) else None
