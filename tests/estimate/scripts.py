"""Builds the model of a script that a test writes, or estimates its step."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate
from oomlint.estimate.slicing.script import slice_script
from oomlint.estimate.worker.subject import Subject


def put(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a script, in a project of its own, where the child's part of an estimate works in this process."""
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    monkeypatch.setenv("OOMLINT_WORK", str(work))
    monkeypatch.setenv("OOMLINT_FOLDERS", str(tmp_path))
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(text))
    (tmp_path / "pyproject.toml").write_text("")
    return path


def build(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Subject:
    from oomlint.estimate.worker.step.building import build

    path = put(tmp_path, text, monkeypatch)
    function = options.pop("function", "")
    found = slice_script(
        path, function=function, values=options.get("arguments", {}) | options.get("data", {})
    )
    names = found.names | options.pop("names", {})
    return build(Request(str(path), source=found.text, names=names, **options))


def answered(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch, fallback: bool = True, **options: Any
) -> Estimate:
    """What engine graph says of a script, for a card of 13 GiB if `usable` is not given."""
    pytest.importorskip("tensorflow")
    from oomlint.estimate.worker.main import answer

    path = put(tmp_path, text, monkeypatch)
    found = slice_script(path, fallback=fallback)
    usable = options.pop("usable", 13 << 30)
    request = Request(
        str(path),
        source=found.text,
        names=found.names,
        usable_bytes=usable,
        engine="graph",
        fallback=fallback,
        **options,
    )
    return answer(request)
