"""Builds the model of a script that a test writes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from oomlint.estimate.slicing.script import slice_script
from oomlint.estimate.worker.subject import Subject


def build(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Subject:
    from oomlint.estimate.request import Request
    from oomlint.estimate.worker.building import build

    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    monkeypatch.setenv("OOMLINT_WORK", str(work))
    monkeypatch.setenv("OOMLINT_FOLDERS", str(tmp_path))
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(text))
    (tmp_path / "pyproject.toml").write_text("")
    function = options.pop("function", "")
    found = slice_script(
        path, function=function, values=options.get("arguments", {}) | options.get("data", {})
    )
    names = found.names | options.pop("names", {})
    return build(Request(str(path), source=found.text, names=names, **options))
