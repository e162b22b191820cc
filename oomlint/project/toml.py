"""TOML on every Python that runs this: the standard library has it from 3.11 on."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def parse_toml(text: str) -> dict[str, Any]:
    """The content of a TOML file. Raises ValueError for what is none."""
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    return content
