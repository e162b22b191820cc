"""Sizes in findings: how bad they are beside a budget, and their factors as evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.sizes import human
from oomlint.findings.model import Evidence, Severity

if TYPE_CHECKING:
    from oomlint.dryrun.sizes import Factor, Size


def over(size: Size, budget: int) -> Severity | None:
    """One buffer beside a budget: above a quarter a warning, above all of it an error, below nothing."""
    if size.bytes > budget:
        return Severity.ERROR
    return Severity.WARNING if size.bytes > budget // 4 else None


def factors(size: Size) -> tuple[Evidence, ...]:
    """The factors of a size, each where it comes from, and the stops it passed on its way."""
    return tuple(line for factor in size.factors for line in _factor(factor))


def _factor(factor: Factor) -> list[Evidence]:
    amount = f"{factor.value:,} {factor.unit}".rstrip()
    if factor.unit and factor.value >= 2**20:
        amount = f"{amount} ({human(factor.value)})"
    if "{}" in factor.text:
        text = factor.text.format(amount)
    else:
        text = f"{factor.text} {amount}" if not factor.unit else f"{amount}: {factor.text}"
    if not factor.trail:
        return [Evidence(text)]
    first, *rest = factor.trail
    named = first.text and f"from {first.text}" not in text
    lines = [Evidence(f"{text}, from {first.text}" if named else text, first.place)]
    lines.extend(Evidence(f"by way of {step.text}", step.place) for step in rest if step.place is not None)
    return lines
