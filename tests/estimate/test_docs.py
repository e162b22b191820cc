"""What README and docs/estimate.md show of the estimate can be run."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path

import pytest
from estimate.estimates import estimate

from oomlint.estimate.result import Estimate
from oomlint.report.estimate_json import record

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "estimate.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


def commands():
    section = README.split("\n## Estimating\n")[1].split("\n## ")[0]
    lines = section.splitlines() + PAGE.splitlines()
    return [
        line.partition("  #")[0].strip() for line in lines if re.match(r"\s*oomlint (estimate|gpus)\b", line)
    ]


@pytest.mark.parametrize("line", commands())
def test_the_commands_are_ones(line):
    from oomlint.cli.main import build_parser

    program, *arguments = shlex.split(line)
    assert program == "oomlint"
    parsed = build_parser().parse_args(arguments)
    assert callable(parsed.run)


def test_there_are_commands():
    assert len(commands()) >= 6


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
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        exec(example, names)
    assert names["answer"].batch_size == 64
    assert "Where it goes at the peak" in capsys.readouterr().out
