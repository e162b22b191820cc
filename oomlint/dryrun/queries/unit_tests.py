"""What belongs to a test of the program: little data, few rounds, and a process that ends soon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.trace import Body

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call
    from oomlint.syntax.source import Source


def in_test(call: Call) -> bool:
    """Whether a call stands in a test module or in a test."""
    if is_test_module(call.source):
        return True
    return any(body.function.name.startswith("test_") for body in call.context.all(Body))


def is_test_module(source: Source) -> bool:
    """By its name, as pytest and `unittest` find them."""
    name = str(source.document.filename).replace("\\", "/").rpartition("/")[2]
    return (
        name.startswith("test_")
        or name.endswith("_test.py")
        or name in ("conftest.py", "test.py", "tests.py")
    )
