"""What a script makes sure of: what was open is known behind it, what was known stays."""

from __future__ import annotations

import pytest

from oomlint.documents.reading import document_of_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, deref
from oomlint.syntax.parse import parse

KNOWN = "np.zeros((4, 8), 'float32')"
HALF = "np.random.rand(count(), 8)"
OPEN = "np.load('x.npy')"


def behind(made: str, line: str) -> tuple[list[object] | None, str | None]:
    """Shape and dtype of an array behind a line, None for what is not known."""
    text = f"import numpy as np\nx = {made}\n{line}\nresult = x\n"
    trace = dry_run(parse(document_of_text(text, "snippet.py")))
    array = deref(next(one.value for one in trace.assigns() if one.path == "result"))
    assert isinstance(array, Array)
    shape = array.shape
    return None if shape is None else [
        dim.value if isinstance(dim, Const) else None for dim in shape
    ], array.dtype


@pytest.mark.parametrize(
    ("made", "line", "shape", "dtype"),
    [
        (OPEN, "assert x.shape == (4, 9)", [4, 9], None),
        (OPEN, "assert x.shape[1:] == (9, 3)", [None, 9, 3], None),
        (OPEN, "if x.dtype != np.uint8:\n    raise ValueError", None, "uint8"),
        (HALF, "assert len(x) == 5", [5, 8], "float64"),
        (HALF, "assert x.shape == (5, 9)", [5, 8], "float64"),
        (HALF, "assert x.shape[1:] == (9,)", [None, 8], "float64"),
        (HALF, "assert x.shape == (5, 8, 3)", [None, 8], "float64"),
        (KNOWN, "assert x.shape == (4, 9)", [4, 8], "float32"),
        (KNOWN, "assert len(x) == 5", [4, 8], "float32"),
        (KNOWN, "assert x.dtype == np.uint8", [4, 8], "float32"),
    ],
)
def test_behind_a_line(made: str, line: str, shape: list[object] | None, dtype: str | None) -> None:
    assert behind(made, line) == (shape, dtype)
