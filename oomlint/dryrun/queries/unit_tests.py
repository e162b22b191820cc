"""What belongs to a test of the program: little data, few rounds, and a process that ends soon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.trace import Body

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call


def in_test(call: Call) -> bool:
    """Whether a call stands in a test module or in a test."""
    name = str(call.source.document.filename).replace("\\", "/").rpartition("/")[2]
    if name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py":
        return True
    return any(body.function.name.startswith("test_") for body in call.context.all(Body))
