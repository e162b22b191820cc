"""What the text of a function says of its names: which are its parameters, and which it shares with its module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Body


def is_global(path: str, body: Body) -> bool:
    """Whether a function says that a name is its module's (`global step`), and lives longer than the function runs."""
    block = body.function.node.body
    lines = block.body if isinstance(block, cst.IndentedBlock) else ()
    return any(
        isinstance(small, cst.Global) and any(item.name.value == path for item in small.names)
        for line in lines
        if isinstance(line, cst.SimpleStatementLine)
        for small in line.body
    )


def parameters(body: Body) -> list[str]:
    """The parameters that a function names, in order."""
    given = body.function.node.params
    named = [*given.posonly_params, *given.params, *given.kwonly_params]
    return [parameter.name.value for parameter in named]
