"""What docs/estimate.md shows of the estimate can be run; its commands: tests/docs/test_pages.py."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from estimate.estimates import estimate
from page_examples import blocks

from oomlint.estimate.result import Estimate
from oomlint.report.estimate_json import record

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "estimate.md").read_text("utf-8")


def test_the_page_names_every_key_of_the_json():
    section = PAGE.split("## JSON")[1]
    for key in record(estimate()):
        assert f"`{key}`" in section, key
    assert {field.name for field in dataclasses.fields(Estimate)} - {"extra"} == set(record(estimate()))


def test_the_python_examples(monkeypatch, capsys):
    keras = pytest.importorskip("keras")
    import numpy

    from oomlint.estimate import launch

    monkeypatch.setattr(
        launch, "estimate", lambda request, **options: estimate(batch_size=request.batch_size)
    )
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
    model.compile("adam", "mse")
    names = {"model": model, "x": numpy.zeros((64, 8)), "y": numpy.zeros((64, 4))}
    examples = [block.text for block in blocks(PAGE) if block.language == "python"]
    assert len(examples) == 2
    for example in examples:
        exec(example, names)
    assert names["answer"].batch_size == 64
    assert "Where it goes at the peak" in capsys.readouterr().out
