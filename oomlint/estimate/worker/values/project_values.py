"""The project's own values by name, while its models are made without the script: what settings nobody knows have."""

from __future__ import annotations

from typing import Any

from oomlint.estimate.worker.values.classes import given
from oomlint.estimate.worker.values.named_values import spelled

PROJECT: dict[str, Any] = {}  # what `named_values` found, for as long as a model is made with them
SAID = "settings that are not known have the values that the project gives these names"
TAKEN: dict[str, Any] = {}  # of these, what was asked for
USUAL: dict[str, Any] = {}  # what no place says, and settings were asked for


def of(name: str) -> Any:
    """The value of that name; None where the project says none, or several."""
    value = PROJECT.get(spelled(name)) if PROJECT else None
    if value is None:
        return None
    TAKEN[name] = value
    return given(value)


def said() -> list[str]:
    """What is to be said of those that were taken."""
    words = []
    for found, what in ((TAKEN, SAID), (USUAL, "settings that nothing tells have usual sizes")):
        if found:
            words.append(
                f"{what}: {', '.join(f'{name}={value}' for name, value in list(found.items())[:12])}"
            )
    return words
