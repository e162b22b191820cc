"""Bytes that are taken for a document or a configuration: a clear word or a reading, and nothing lost."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from robustness.grammar.program import seeded
from robustness.inputs import configuration_problems, document_problems

from oomlint.testing import rules_named

RULES = rules_named(["OOM101", "OOM301"])
COMMENTS = (
    "# noqa",
    "# noqa: OOM301,E501",
    "# oomlint: ignore[OOM301]",
    "# oomlint: disable",
    "# oomlint: enable[OOM3]",
)
PIECES = (
    b"",
    b"\0",
    b"\xff",
    b"\r",
    b"\\",
    b'"',
    b"```",
    b"[",
    b"{",
    b"\xef\xbb\xbf",
    b"%%time\n",
    b"!ls\n",
    b"\\u",
)


def _document(chance: random.Random) -> tuple[str, bytes]:
    cells = [seeded(chance.randrange(400)) for _ in range(2)]
    cells = [
        "\n".join(
            f"{row}  {chance.choice(COMMENTS)}" if chance.random() < 0.1 else row for row in cell.split("\n")
        )
        for cell in cells
    ]
    kind = chance.randrange(4)
    if kind == 0:
        return "script.py", cells[0].encode()
    if kind == 1:
        return "text.md", "\n".join(f"text\n```python\n{cell}\n```" for cell in cells).encode()
    if kind == 2:
        rows = "\n".join(f"    {row}" for row in cells[0].split("\n"))
        return "text.rst", f"text\n\n.. code-block:: python\n\n{rows}\n\nmore\n".encode()
    content = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    return "notebook.ipynb", json.dumps({"cells": content}, indent=chance.choice((None, 1))).encode()


def _broken(raw: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(0, 3)):
        at = chance.randrange(len(raw) + 1)
        raw = raw[:at] + chance.choice(PIECES) + raw[at + chance.choice((0, 0, 1, 5)) :]
    return raw


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_documents(first: int):
    for seed in range(first, first + 40):
        chance = random.Random(seed)
        name, raw = _document(chance)
        raw = _broken(raw, chance)
        assert not document_problems(raw, name, RULES, chance), f"{name} {raw!r}"


def test_configurations(tmp_path: Path):
    lines = [b'select = ["ALL"]', b'per-file-ignores = { "*" = ["OOM1"] }', b'gpu = "T4"', b'host-memory = "8 GB"',
        b"[rules.OOM301]", b'extend = "oomlint.toml"', b'severity = { OOM301 = "note" }', b"[tool.oomlint]", b"exclude = 3"]  # fmt: skip
    for seed in range(300):
        chance = random.Random(seed)
        raw = _broken(b"\n".join(chance.sample(lines, chance.randint(1, 4))), chance)
        name = chance.choice(("oomlint.toml", ".oomlint.toml", "pyproject.toml"))
        assert not configuration_problems(raw, name, tmp_path), f"{name} {raw!r}"
