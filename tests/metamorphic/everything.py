"""All transformations, in the order in which they are told of."""

from metamorphic import expressions, files, functions, layout, naming, notebook, order, wrapping
from metamorphic.code import TRANSFORMATIONS

__all__ = [
    "TRANSFORMATIONS",
    "expressions",
    "files",
    "functions",
    "layout",
    "naming",
    "notebook",
    "order",
    "wrapping",
]
