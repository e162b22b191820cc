"""How long a text is, as names of the script's say it that have their value by the time the model is made.

The dry run tells it of the script's text (`slicing/samples.py`); what a file of settings says only a run tells.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from oomlint.estimate.slicing.samples import is_length


def named(names: Mapping[str, Any]) -> dict[str, str]:
    """For a request: the one length that a module's names agree on, and which that is; nothing where they do not."""
    found: dict[int, str] = {}
    for name, value in [*names.items(), *_settings(names)]:
        if type(value) is int and value > 1 and is_length(name):
            found.setdefault(value, name)
    if len(found) != 1:
        return {}
    ((length, name),) = found.items()
    return {"length": str(length), "length_named": name}


def _settings(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What options and tables of settings hold, those in tables included."""
    tables = [vars(one) if isinstance(one, argparse.Namespace) else one for one in names.values()]
    for table in tables:
        for name, value in table.items() if isinstance(table, dict) else ():
            if isinstance(name, str):
                yield name, value
            for inner, deeper in value.items() if isinstance(value, dict) else ():
                if isinstance(inner, str):
                    yield inner, deeper
