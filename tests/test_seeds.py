"""The examples the project grew from: with every rule on, each gets its verdict and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from oomlint.findings.registry import load_rules
from oomlint.testing import expectations, mismatches, run_rules

SEEDS = sorted((Path(__file__).parent.parent / "fixtures" / "seeds").glob("*.py"))

# Three examples in each of five articles.
ARTICLES = ("gpu_memory", "multi_gpu_oom", "resource_exhausted", "training_oom", "two_models")

# The articles' right advice. Nothing may be said about these.
CLEAN = {
    "training_oom_1": "growth before anything touches a GPU",
    "training_oom_3": "small networks",
    "gpu_memory_1": "a pipeline that starts from paths",
    "gpu_memory_2": "small networks",
    "two_models_3": "growth before anything touches a GPU",
}

# What each other example is there for; its markers may say more.
POINT = {
    "multi_gpu_oom_1": {("OOM501", "note")},
    "multi_gpu_oom_2": {("OOM302", "note"), ("OOM501", "note")},
    "multi_gpu_oom_3": {("OOM401", "error"), ("OOM504", "error")},
    "gpu_memory_3": {("OOM401", "error")},
    "resource_exhausted_1": {("OOM412", "note")},
    "resource_exhausted_2": {("OOM304", "note")},
    "resource_exhausted_3": {("OOM504", "note")},
    "training_oom_2": {("OOM311", "error")},  # right about memory, and its pictures stay 0 to 255
    "two_models_1": {("OOM304", "note")},
    "two_models_2": {("OOM506", "note")},
}


def test_every_example_of_every_article_is_here() -> None:
    expected = {f"{article}_{number}" for article in ARTICLES for number in (1, 2, 3)}
    assert {path.stem for path in SEEDS} == expected == CLEAN.keys() | POINT.keys()


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_markers_hold_the_verdict(path: Path) -> None:
    marked = {(marker.code, marker.severity) for marker in expectations(path.read_text("utf-8"))}
    assert marked >= POINT.get(path.stem, set())
    assert not (path.stem in CLEAN and marked)


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_all_rules_together_say_what_is_marked(path: Path) -> None:
    text = path.read_text("utf-8")
    assert mismatches(text, run_rules(load_rules(), text, filename=path.name)) == []
