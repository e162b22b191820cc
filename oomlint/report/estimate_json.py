"""The estimate for scripts: one JSON object, bytes as integers, with the keys that docs/estimate.md promises."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from oomlint.estimate.result import Estimate

# What the record holds for other reports.
_NOT_PROMISED = ("timeline", "extra", "certainty", "mode")


def record(estimate: Estimate) -> dict[str, Any]:
    """The promised keys, in their order, and after them what else is known."""
    content = dataclasses.asdict(estimate)
    rest = {key: content.pop(key) for key in _NOT_PROMISED}
    content["layers"] = [_layer(row) for row in content["layers"]]
    return {
        **content,
        "mode": rest["mode"],
        "certainty": rest["certainty"],
        "timeline": [{"at": at, "bytes": size} for at, size in rest["timeline"]],
        **({"extra": rest["extra"]} if rest["extra"] else {}),
    }


def _layer(row: dict[str, Any]) -> dict[str, Any]:
    return {"class" if key == "class_name" else key: value for key, value in row.items()}


def render(estimate: Estimate) -> str:
    """As text."""
    return json.dumps(record(estimate), indent=2, ensure_ascii=False, default=str) + "\n"
