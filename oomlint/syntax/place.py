"""Where something stands: a node of a parsed document.

A place is cheap (two references). Its line and column are computed only when a finding is
reported, by :mod:`oomlint.syntax.positions`, because positions for a whole file cost twice the
parse (see benchmarks/positions.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.syntax.records import record

if TYPE_CHECKING:
    import libcst as cst

    from oomlint.syntax.source import Source


@record
class Place:
    """A node and the parsed document that it belongs to."""

    source: Source
    node: cst.CSTNode

    def __repr__(self) -> str:
        return f"<{type(self.node).__name__}>"


@record
class Several(Place):
    """The `items` of `*items`: several arguments at once, so that no edit may put one in their place."""
