"""Sparse matrices, encoders, tokenizers, environments: widths and dtypes, from the libraries' documentation.

The Tokenizer and `to_categorical` are asked themselves; scikit-learn, SciPy and Gym need not be installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.catalog.arrays.making import dense_by, one_hot_by
from oomlint.dryrun.catalog.keras.text import is_vocabulary
from oomlint.dryrun.values.arrays import Array, shape_text
from oomlint.dryrun.values.base import Sequence, Value
from oomlint.syntax.parse import parse

PRELUDE = """\
import gym, gymnasium
import numpy as np
import pandas as pd
import tensorflow as tf
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.preprocessing import LabelBinarizer, OneHotEncoder
from tensorflow import keras

texts = ["a b", "b c", "c d e"]
Tokenizer = tf.keras.preprocessing.text.Tokenizer
"""


def value_of(text: str) -> Value:
    """The value of `result` after a snippet (or of the snippet, if it is one expression)."""
    source = text if "result =" in text else f"result = {text}"
    trace = dry_run(parse(document_from_text(f"{PRELUDE}{source}\n", "snippet.py")))
    return [assign.value for assign in trace.assigns() if assign.path == "result"][-1]


DENSE = {
    "TfidfVectorizer(max_features=70).fit_transform(texts).toarray()": ("(3, 70)", "float64"),
    "TfidfVectorizer(max_features=70, dtype=np.float32).fit_transform(texts).todense()": ("(3, 70)", "float32"),
    "CountVectorizer(max_features=9).fit_transform(texts).A": ("(3, 9)", "int64"),
    "CountVectorizer(vocabulary=['a', 'b']).fit_transform(texts).toarray()": ("(3, 2)", "int64"),
    "CountVectorizer().fit_transform(texts).toarray()": ("(3, None)", "int64"),
    "HashingVectorizer().transform(texts).toarray()": ("(3, 1048576)", "float64"),
    "HashingVectorizer(n_features=512).transform(texts)[:2].toarray()": ("(2, 512)", "float64"),
    "OneHotEncoder(sparse_output=False).fit_transform(np.zeros((40, 2)))": ("(40, None)", "float64"),
    "OneHotEncoder(categories=[[1, 2], [3, 4, 5]], sparse=False).fit_transform(np.zeros((40, 2)))": (
        "(40, 5)", "float64",
    ),
    "sparse.csr_matrix((4, 6)).toarray()": ("(4, 6)", "float64"),
    "sparse.csr_matrix(([1.0], ([0], [0])), shape=(4, 6)).toarray()": ("(4, 6)", "float64"),
    "sparse.lil_matrix(([1], ([0], [0])), shape=(4, 6), dtype='uint8').tocsr().todense()": ("(4, 6)", "uint8"),
    "sparse.hstack([sparse.random(5, 3), sparse.random(5, 4)]).toarray()": ("(5, 7)", "float64"),
    "sparse.vstack([sparse.random(5, 3), sparse.random(2, 3)]).toarray()": ("(7, 3)", "float64"),
    "Tokenizer(num_words=30).texts_to_matrix(texts)": ("(3, 30)", "float64"),
    "Tokenizer().sequences_to_matrix(texts)": ("(3, None)", "float64"),
}  # fmt: skip


@pytest.mark.parametrize("text", DENSE)
def test_what_becomes_dense(text: str) -> None:
    value = value_of(text)
    assert isinstance(value, Array)
    assert (shape_text(value.shape), value.dtype) == DENSE[text]
    assert value.library == "numpy"
    assert dense_by(value)


@pytest.mark.parametrize(
    "text",
    [
        "TfidfVectorizer(max_features=70).fit_transform(texts)",
        "OneHotEncoder(categories=[[1, 2]]).fit_transform(np.zeros((40, 1)))",
        "sparse.random(1000, 1000)",
        "pd.get_dummies(pd.read_csv('x.csv'), sparse=True)",
    ],
)
def test_what_stays_sparse_has_no_size(text: str) -> None:
    value = value_of(text)
    assert isinstance(value, Array)
    assert value.size is None
    assert not dense_by(value)


def test_an_unknown_that_is_made_dense_was_sparse() -> None:
    value = value_of("from elsewhere import load\nresult = load().toarray()")
    assert isinstance(value, Array)
    assert dense_by(value)


ONE_HOT = {
    "keras.utils.to_categorical(np.zeros(7, 'int64'), 5)": ("(7, 5)", "float64"),
    "np.eye(5)[np.zeros(7, 'int64')]": ("(7, 5)", "float64"),
    "tf.one_hot(np.zeros(7, 'int64'), 5)": ("(7, 5)", "float32"),
    "keras.ops.one_hot(np.zeros(7, 'int64'), 5)": ("(7, 5)", "float32"),
    "LabelBinarizer().fit_transform(np.zeros(7))": ("(7, None)", "int64"),
}


@pytest.mark.parametrize("text", ONE_HOT)
def test_one_column_per_class(text: str) -> None:
    value = value_of(text)
    assert isinstance(value, Array)
    assert (shape_text(value.shape), value.dtype) == ONE_HOT[text]
    assert one_hot_by(value)


@pytest.mark.parametrize("text", [text for text in ONE_HOT if "Binarizer" not in text])
def test_the_libraries_agree(text: str) -> None:
    names: dict[str, Any] = {"np": np}
    names["tf"] = pytest.importorskip("tensorflow")
    names["keras"] = names["tf"].keras
    value = eval(text, names)
    assert (tuple(value.shape), getattr(value.dtype, "name", value.dtype)) == ((7, 5), ONE_HOT[text][1])


def test_one_row_of_a_table_is_no_encoding() -> None:
    assert not one_hot_by(value_of("np.eye(5)[2]"))
    assert not one_hot_by(value_of("np.eye(5)[:3]"))


def test_the_tokenizer_agrees() -> None:
    tensorflow = pytest.importorskip("tensorflow")
    tokenizer = tensorflow.keras.preprocessing.text.Tokenizer(num_words=30)
    tokenizer.fit_on_texts(["a b", "b c", "c d e"])
    matrix = tokenizer.texts_to_matrix(["a b", "b c", "c d e"], mode="tfidf")
    assert (matrix.shape, matrix.dtype) == ((3, 30), np.float64)
    assert len(tokenizer.word_index) == 5  # all words, whatever num_words says


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("len(Tokenizer().word_index) + 1", True),
        ("len(Tokenizer(num_words=100).word_index)", True),
        ("len(Tokenizer(char_level=True).word_index) + 1", False),
        ("len(keras.layers.TextVectorization().get_vocabulary())", True),
        ("keras.layers.StringLookup().vocabulary_size()", True),
        ("keras.layers.TextVectorization(max_tokens=500).vocabulary_size()", False),
        ("len(sorted(set(open('a.txt').read().split())))", True),
        ("len(sorted(set(open('a.txt').read())))", False),
        ("len(open('a.txt').read().split())", False),
        ("len(set(open('a.txt').read().split(',')))", False),
    ],
)
def test_vocabularies(text: str, expected: bool) -> None:
    assert is_vocabulary(value_of(text)) is expected


OBSERVATIONS = {
    'gym.make("CartPole-v1").reset()': ("(4,)", "float32"),
    'gym.make("PongNoFrameskip-v4").reset()': ("(210, 160, 3)", "uint8"),
    'gym.make("Pong-ramNoFrameskip-v4").reset()': ("(128,)", "uint8"),
    'gymnasium.make("ALE/Breakout-v5").reset()': ("(210, 160, 3)", "uint8"),
    'gym.make("CarRacing-v0").step(0)[0]': ("(96, 96, 3)", "uint8"),
    'gym.wrappers.AtariPreprocessing(gym.make("PongNoFrameskip-v4")).reset()': ("(84, 84)", "uint8"),
    'gym.wrappers.AtariPreprocessing(gym.make("PongNoFrameskip-v4"), scale_obs=True).reset()': ("(84, 84)", "float32"),
    'gym.wrappers.FrameStack(gym.wrappers.AtariPreprocessing(gym.make("Pong-v4")), 4).reset()': (
        "(4, 84, 84)", "uint8",
    ),
    'gym.wrappers.ResizeObservation(gym.make("Pong-v4"), (64, 32)).reset()': ("(64, 32, 3)", "uint8"),
    'gym.wrappers.GrayScaleObservation(gym.make("Pong-v4"), keep_dim=True).reset()': ("(210, 160, 1)", "uint8"),
    'np.zeros(gym.make("LunarLander-v2").observation_space.shape)': ("(8,)", "float64"),
    "np.zeros(gym.spaces.Box(low=0.0, high=1.0, shape=(3, 5)).shape)": ("(3, 5)", "float64"),
}  # fmt: skip


@pytest.mark.parametrize("text", OBSERVATIONS)
def test_what_an_environment_shows(text: str) -> None:
    value = value_of(text)
    assert isinstance(value, Array)
    assert (shape_text(value.shape), value.dtype) == OBSERVATIONS[text]


def test_old_and_new_ways_to_take_a_step() -> None:
    for targets in (
        "result, r, d, i = env.step(0)",
        "result, r, d, t, i = env.step(0)",
        "result, i = env.reset()",
        "result = env.reset()[0]",
        "result, i = env.reset()[0], 0",
    ):
        seen = value_of(f'env = gym.make("CartPole-v1")\n{targets}\nresult = result')
        assert isinstance(seen, Array)
        assert shape_text(seen.shape) == "(4,)"
    whole = value_of('result = gym.make("CartPole-v1").step(0)')
    assert isinstance(whole, Sequence)
    assert whole.items is not None
    assert len(whole.items) == 4


def test_an_environment_of_another_name_is_not_guessed() -> None:
    assert not isinstance(value_of('gym.make("MyFactory-v0").reset()'), Array)
