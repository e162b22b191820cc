"""Texts of which no data say how long they are: the length that the script's own names give them."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build
from estimate.test_scripts_of_many import answered

from oomlint.estimate.errors import EstimateError

_READER = """
import argparse
import tensorflow as tf
from reading_of_lengths import pairs
{settings}

class Reader(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.table = tf.keras.layers.Embedding(50, 4)
        self.places = tf.keras.layers.Embedding({longest}, 4)
        self.head = tf.keras.layers.Dense(50)

    def call(self, {taken}):
        {parts}
        x = self.table(first) + self.places(tf.range({longest}))
        return self.head(x + tf.reduce_mean(self.table(second), axis=1, keepdims=True))

reader = Reader()
reader.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
reader.fit(pairs, epochs=3)
"""
_PAIR = {"taken": "inputs", "parts": 'first, second = inputs["question"], inputs["answer"]'}
_ONE = {"taken": "first", "parts": "second = first"}


@pytest.mark.parametrize(
    ("settings", "longest", "named"),
    [
        ("MAX_LEN = 12", "12", "MAX_LEN"),
        (
            "class Config:\n    def __init__(self):\n        self.sequence_length = 9\nconfig = Config()",
            "config.sequence_length",
            "sequence_length",
        ),
        (
            "parser = argparse.ArgumentParser()\nparser.add_argument('-m', '--max-seq-length', type=int, default=14)\n"
            "args = parser.parse_args()",
            "args.max_seq_length",
            "max_seq_length",
        ),
    ],
)
@pytest.mark.parametrize("how", [_PAIR, _ONE])
def test_a_length_that_names_agree_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: str,
    longest: str,
    named: str,
    how: dict[str, str],
):
    found = answered(tmp_path, _READER.format(settings=settings, longest=longest, **how), monkeypatch)
    length = {"MAX_LEN": 12, "sequence_length": 9, "max_seq_length": 14}[named]
    assert sum(layer.parameters for layer in found.layers) == 50 * 4 + length * 4 + 4 * 50 + 50
    assert any(f"{length} numbers of words, as {named} says" in one for one in found.assumptions)


@pytest.mark.parametrize(
    "settings",
    [
        "MAX_LEN = 12\nSEQ_LENGTH = 14",  # two that do not agree
        "TEST_MAX_LEN = 12",
        "line_length = 12",
    ],
)
def test_names_that_do_not_say_the_length_of_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str
):
    with pytest.raises(EstimateError) as caught:
        answered(tmp_path, _READER.format(settings=settings, longest="100", **_PAIR), monkeypatch)
    assert caught.value.needs == ("question=32x100 int32", "answer=32x100 int32")


def test_an_example_that_names_agree_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = _READER.format(settings="MAX_LEN = 12", longest="12", **_PAIR)
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.parts == ("question=32x12 int32", "answer=32x12 int32")
