"""What the user says of the data in one option: `--data "x=32x128 int32 <20000, y=32 <10, maxlen=100"`, or a file."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oomlint.estimate.errors import EstimateError

FILES = (".npz", ".npy")

_SHAPE = re.compile(r"(?:\d+|\?)(?:\s*[x×]\s*(?:\d+|\?))*")
_BELOW = re.compile(r"<\s*([\d_]+)")
_DTYPE = re.compile(r"(?:u?int|float|bfloat|complex)\d+|bool|string")
_HELP = (
    "Write NAME=SIZES [DTYPE] [<LIMIT] for an array and NAME=VALUE for anything else, with commas between: "
    '--data "x=32x128 int32 <20000, y=32 <10, maxlen=100"; or name a file with a batch, .npz or .npy.'
)


@dataclass(slots=True)
class Description:
    """`values` are single values of the script, `arrays` those with a shape, `file` a batch that was saved."""

    values: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, dict[str, Any]] = field(default_factory=dict)
    file: str = ""

    def add(self, other: Description) -> None:
        """Take over what another option says."""
        self.values |= other.values
        self.arrays |= other.arrays
        self.file = other.file or self.file


def read_data(texts: list[str]) -> Description:
    """All `--data` options together. Raises EstimateError."""
    whole = Description()
    for text in texts:
        whole.add(_read(text))
    return whole


def _read(text: str) -> Description:
    if "=" not in text and text.lower().endswith(FILES):
        path = Path(text)
        if not path.is_file():
            raise EstimateError(f"--data: there is no file {text}", "target", hint=_HELP)
        return Description(file=str(path.resolve()))
    found = Description()
    for part in re.split(r"[,;\s]+(?=[A-Za-z_]\w*\s*=)", text.strip().rstrip(",;")):
        name, equals, value = part.partition("=")
        if not equals or not name.strip().isidentifier() or not value.strip():
            raise EstimateError(f"--data {part!r} is no description of data", "target", hint=_HELP)
        _take(name.strip(), value.strip(), found)
    return found


def _take(name: str, text: str, found: Description) -> None:
    array = _array(text)
    if array is not None:
        found.arrays[name] = array
        return
    try:
        found.values[name] = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found.values[name] = text


def _array(text: str) -> dict[str, Any] | None:
    """`32x128 int32 <20000`: sizes, then what else is said; None for a single value."""
    shape = _SHAPE.match(text)
    rest = text[shape.end() :] if shape else text
    below, dtype = _BELOW.search(rest), _DTYPE.search(rest)
    left = _DTYPE.sub("", _BELOW.sub("", rest)).strip()
    if left or (shape and "x" not in shape[0] and "×" not in shape[0] and not rest.strip()):
        return None
    if not shape and not below and not dtype:
        return None
    sizes = (
        [None if one == "?" else int(one) for one in re.split(r"\s*[x×]\s*", shape[0])] if shape else [None]
    )
    limit = int(below[1].replace("_", "")) if below else None
    return {
        "shape": sizes,
        "dtype": dtype[0] if dtype else "int32" if below else "float32",
        "below": limit,
    }
