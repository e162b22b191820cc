"""The text of methods of the user's, which is read and not run."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def source_of(method: Any) -> ast.stmt | None:
    """The definition of a method, without what `tf.function` and decorators put around it; None where nobody has it."""
    function = getattr(method, "python_function", method)
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
