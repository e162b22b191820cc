"""Names that NumPy had: `np.float` before 1.24, `np.float_` and `np.Inf` before 2.0 (numpy/_expired_attrs_2_0.py)."""

from __future__ import annotations

import warnings
from importlib import import_module

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
