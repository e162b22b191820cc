"""What the rules of this family share: how much is too much, and where the numbers come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.queries.saved_activations import CERTAIN
from oomlint.dryrun.queries.tensor_sizes import formula, source_of
from oomlint.dryrun.sizes import human
from oomlint.dryrun.values.arrays import shape_text
from oomlint.dryrun.values.base import Const
from oomlint.dryrun.values.training import Model
from oomlint.findings.model import Evidence, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oomlint.dryrun.queries.saved_activations import Saved
    from oomlint.dryrun.queries.tensor_sizes import Factor
    from oomlint.dryrun.values.base import Trail
    from oomlint.dryrun.values.training import Layer
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Budget

MAX_LINES = 8  # of evidence: the reader wants the numbers, not their biography


def severity_of(count: int, budget: Budget) -> Severity | None:
    """How bad that many bytes on the GPU are; None where they are not worth a word."""
    if count <= budget.warn_gpu:
        return None
    return Severity.ERROR if count > budget.gpu else Severity.WARNING


def against(count: int, budget: Budget) -> str:
    """Which part of the GPU's memory that is, in words."""
    part = "more than all" if count > budget.gpu else "more than a quarter"
    return f"{part} of the {budget.gpu_label}"


def way(what: str, trail: Trail) -> Iterator[Evidence]:
    """The stops of a number on its way, as evidence."""
    for step in trail:
        if step.place is not None:
            yield Evidence(f"{what} from {step.text}", step.place)


def origins(factors: Iterable[Factor]) -> Iterator[Evidence]:
    """Where each factor of a size comes from, each stop once."""
    seen: set[tuple[int, str]] = set()
    for factor in factors:
        for step in factor.dim.trail:
            key = factor.value, step.text
            if step.place is not None and key not in seen and len(seen) < MAX_LINES:
                seen.add(key)
                yield Evidence(f"{factor.value:,} {factor.text}: {step.text}", step.place)


def given(layer: Layer) -> Iterator[Evidence]:
    """The symbolic input that leads to a layer, where the text makes one."""
    source = source_of(layer.attributes.get("_node"))
    if source is not None:
        yield Evidence(f"the input is {shape_text(source[0])}", source[1])


def times(units: float) -> str:
    """A factor as people write it: `4`, `2.25`."""
    return f"{units:.2f}".rstrip("0").rstrip(".")


def largest_tensors(saved: list[Saved]) -> Iterator[Evidence]:
    """The largest of the tensors that wait for the backward pass, and how many more there are."""
    total = sum(one.bytes for one in saved)
    for one in sorted(saved, key=lambda one: -one.bytes)[:3]:
        if one.bytes > total // 100:
            text = f"{formula(one.factors, one.itemsize)} = {human(one.bytes)}"
            name = one.layer.attributes.get("_name") if isinstance(one.layer, Model) else None
            yield Evidence(f"{name.value}: {text}" if isinstance(name, Const) else text, one.place)
    text = f"{len(saved)} such tensors, {human(total)}" if len(saved) > 1 else human(total)
    yield Evidence(f"{text}; counted at {CERTAIN:.0%}, for XLA makes some of them again")


def largest(found: Iterable[tuple[int, Finding]]) -> Iterator[Finding]:
    """Of the findings at one place the one with the most bytes: a model may be trained in several ways."""
    best: dict[int, tuple[int, Finding]] = {}
    for size, finding in found:
        before = best.get(id(finding.place.node))
        if before is None or before[0] < size:
            best[id(finding.place.node)] = size, finding
    for _, finding in best.values():
        yield finding
