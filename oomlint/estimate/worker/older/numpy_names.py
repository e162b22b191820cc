"""What NumPy had: `np.float` before 1.24, `np.float_` and `np.Inf` before 2.0 (numpy/_expired_attrs_2_0.py).

Before 1.24 rows of several lengths made an array of objects, too (NEP 34).
"""

from __future__ import annotations

import functools
import warnings
from importlib import import_module
from typing import Any

_KINDS = {"bool": bool, "int": int, "float": float, "complex": complex, "object": object, "str": str}
_TODAY = {
    "float_": "float64", "complex_": "complex128", "unicode_": "str_", "string_": "bytes_", "Inf": "inf",
    "Infinity": "inf", "infty": "inf", "NaN": "nan", "PINF": "inf", "product": "prod", "cumproduct": "cumprod",
    "sometrue": "any", "alltrue": "all", "row_stack": "vstack", "in1d": "isin", "trapz": "trapezoid",
    "asfarray": "asarray",
}  # fmt: skip


def understand_old_numpy() -> None:
    """They work from now on: layers and losses are called when the step is traced, long after the script has run."""
    numpy = import_module("numpy")
    today = {name: getattr(numpy, new) for name, new in _TODAY.items() if new in vars(numpy)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the names that only warn so far
        for name, value in (_KINDS | today).items():
            if not hasattr(numpy, name):
                setattr(numpy, name, value)
    for name in ("array", "asarray"):
        if not hasattr(getattr(numpy, name), "__wrapped__"):
            setattr(numpy, name, _of_rows(getattr(numpy, name)))


def _of_rows(make: Any) -> Any:
    """`np.array`, which takes rows of several lengths where no dtype is asked for."""

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        try:
            with warnings.catch_warnings():
                # What NumPy says of its caller would be said of this module.
                warnings.simplefilter("ignore", DeprecationWarning)
                return make(*args, **kwargs)
        except ValueError as error:
            if "inhomogeneous" not in str(error) or len(args) != 1 or "dtype" in kwargs:
                raise
            return make(args[0], dtype=object, **kwargs)

    return made
