"""Deep trees written out by LibCST on early Python 3.12.

There C calls are counted apart and end at a depth of their own, whatever the recursion limit is, and a method that is
called with `**` takes two of them: on Python 3.12.1 such a recursion ended at 750 calls, on 3.13.0 between 3,000 and
9,000. LibCST calls each node's generator of code so, with a `**` that is mostly empty. Called without it, Python
runs the whole descent in its own frames, for which `recursion.with_room` makes room.
"""

from __future__ import annotations

import sys
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState


def make_room() -> None:
    """Have nodes write themselves without C calls, where Python ends those early. What they write stays the same."""
    if sys.version_info[:2] == (3, 12):
        cst.CSTNode._codegen = _codegen  # type: ignore[method-assign]


def _codegen(self: cst.CSTNode, state: CodegenState, **options: Any) -> None:
    """LibCST's `CSTNode._codegen`, but for the empty `**`."""
    state.before_codegen(self)
    if options:
        self._codegen_impl(state, **options)
    else:
        self._codegen_impl(state)
    state.after_codegen(self)
