"""What the rules of this family share: how much is too much, and where its numbers come from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from oomlint.dryrun.sizes import human
from oomlint.dryrun.trace import Body, Context
from oomlint.dryrun.values.arrays import Array
from oomlint.findings.model import Evidence
from oomlint.project.settings import Budget

_NUMBER = re.compile(r"(?:.*_)?(?:id|idx|index)")
MAX_LINES = 6  # of evidence: the reader wants the numbers, not their biography


def against(count: int, budget: Budget) -> str:
    """The bytes beside the budget, in words."""
    part = "more than all" if count > budget.host else "more than a quarter"
    return f"{human(count)}, {part} of the {budget.host_label}"


def form(array: Array) -> str:
    """Shape and dtype as people write them."""
    dims = ["?" if dim is None else f"{dim.value:,}" for dim in array.shape or ()]
    shape = "unknown shape" if array.shape is None else f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"
    return f"{shape} {array.dtype}" if array.dtype else shape


def dimensions(array: Array) -> Iterator[Evidence]:
    """Where the dimensions come from, each place once."""
    seen: set[int] = set()
    for dim in array.shape or ():
        for step in dim.trail if dim is not None else ():
            if id(step) not in seen and dim is not None and len(seen) < MAX_LINES:
                seen.add(id(step))
                yield Evidence(f"{dim.value:,}: {step.text}", step.place)


def in_generator(context: Context) -> bool:
    """Whether this runs for one batch at a time: in a generator or a `__getitem__`."""
    bodies = [body.function for body in context.all(Body)]
    return any("generator" in function.flags or function.name == "__getitem__" for function in bodies)


def for_one_item(context: Context) -> bool:
    """Whether this runs for one item, that others ask for by its number: `load_mask(self, image_id)`."""
    for body in context.all(Body):
        parameters = body.function.node.params.params
        if not body.called and any(_NUMBER.fullmatch(one.name.value) for one in parameters):
            return True
    return False
