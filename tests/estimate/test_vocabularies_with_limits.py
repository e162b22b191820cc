"""A vocabulary that only `adapt` would fill is as large as `max_tokens` allows, where the script gives that."""

from __future__ import annotations

import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError

pytest.importorskip("keras")

_SCRIPT = """
    import tensorflow as tf
    from tensorflow.keras import Input, Model, Sequential, layers
    MOST = 7000
    lines = tf.data.TextLineDataset("texts.txt")
    words = layers.TextVectorization({limit}, output_sequence_length=120)
    words.adapt(lines)
    model = Sequential([
        Input((120,), dtype="int32"), layers.Embedding({size}, 64), layers.GlobalAveragePooling1D(), layers.Dense(1)
    ])
    model.compile("adam", "mse")
    model.fit(lines.map(lambda line: (words(line), 1)).batch(16))
    """


@pytest.mark.parametrize("size", ["words.vocabulary_size()", "len(words.get_vocabulary())"])
def test_the_limit_is_the_size(tmp_path, monkeypatch, size):
    text = _SCRIPT.format(limit="max_tokens=MOST", size=size)
    subject = build(tmp_path, text, monkeypatch)
    # 7,000 words in all: TensorFlow's own table has no more, whatever the texts are.
    assert subject.model.count_params() == 7000 * 64 + 64 + 1
    assert any("max_tokens allows: 7,000" in one for one in subject.assumptions)


def test_words_that_are_left_out_of_the_list_count_for_the_limit(tmp_path, monkeypatch):
    text = _SCRIPT.format(
        limit="max_tokens=MOST", size="len(words.get_vocabulary(include_special_tokens=False))"
    )
    # Without the mask and the word for unknown ones.
    assert build(tmp_path, text, monkeypatch).model.count_params() == 6998 * 64 + 64 + 1


def test_in_a_class_it_is_the_same(tmp_path, monkeypatch):
    text = """
        from tensorflow.keras import Input, Sequential, layers
        class Reader:
            def __init__(self):
                self.words = layers.StringLookup(max_tokens=500)
                self.words.adapt(open("words.txt").read().split())
            def model(self):
                return Sequential([Input((20,), dtype="int32"), layers.Embedding(self.words.vocabulary_size(), 8)])
        model = Reader().model()
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=4)
        """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 500 * 8


@pytest.mark.parametrize("limit", ["max_tokens=None", "standardize='lower'"])
def test_without_a_limit_it_is_asked_for(tmp_path, monkeypatch, limit):
    text = _SCRIPT.format(limit=limit, size="words.vocabulary_size()")
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "vocabulary_size"


def test_without_a_limit_in_a_class_it_is_asked_for_too(tmp_path, monkeypatch):
    text = """
        from tensorflow.keras import Input, Sequential, layers
        class Reader:
            def __init__(self):
                self.words = layers.StringLookup()
                self.words.adapt(open("words.txt").read().split())
            def model(self):
                return Sequential([Input((20,), dtype="int32"), layers.Embedding(self.words.vocabulary_size(), 8)])
        model = Reader().model()
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=4)
        """
    with pytest.raises(EstimateError) as caught:  # and not one word, as many as a table that is empty has
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "vocabulary_size"


def test_a_vocabulary_that_is_written_down_has_its_own_size(tmp_path, monkeypatch):
    text = """
        from tensorflow.keras import Input, Sequential, layers
        words = layers.StringLookup(max_tokens=500, vocabulary=["a", "b", "c"])
        model = Sequential([Input((20,), dtype="int32"), layers.Embedding(words.vocabulary_size(), 8)])
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=4)
        """
    assert build(tmp_path, text, monkeypatch).model.count_params() == (3 + 1) * 8  # and what is none of these
