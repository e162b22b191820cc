"""By which name `--arg` takes a value that is not known, and which names it does not."""

from __future__ import annotations

import re


def plain_name(name: str) -> str:
    """The name that `--arg` takes for a value: `classes` of `data.classes`, `y` of `y.shape[1]` and `self.y.shape`."""
    before, called, _ = name.partition("[")[0].partition("(")
    parts: list[str] = re.findall(r"\w+", before) or [name]
    if called and len(parts) > 1 and (hasattr(str, parts[-1]) or parts[-1] == "read"):  # `args.model.lower()`
        parts.pop()
    if len(parts) > 1 and parts[-1] in ("shape", "pop", "get"):
        parts.pop()
    return parts[-1]
