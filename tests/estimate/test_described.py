"""`--data`: one description of a batch answers for all that a script takes from its data."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from estimate.scripts import build

from oomlint.estimate.descriptions import read_data
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.subject import Spec

pytest.importorskip("keras")

SCRIPT = """
    import numpy as np, pickle
    from tensorflow import keras
    X_train, y_train = pickle.load(open("data.pkl", "rb"))
    words = pickle.load(open("words.pkl", "rb"))
    vocab_size = len(words) + 1
    maxlen = X_train.shape[1]
    inputs = keras.Input((maxlen,), dtype="int32")
    x = keras.layers.Flatten()(keras.layers.Embedding(vocab_size, 3)(inputs))
    model = keras.Model(inputs, keras.layers.Dense(len(np.unique(y_train)), activation="softmax")(x))
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(X_train, y_train, batch_size=16)
"""


def weights(vocabulary, length, classes):
    return vocabulary * 3 + (length * 3 + 1) * classes


def test_what_the_option_may_say():
    found = read_data(["x=32x128 int32 <20_000, y=32 <10; maxlen=7", "names=['a', 'b'] labels=<4 z=? x 3"])
    assert found.arrays == {
        "x": {"shape": [32, 128], "dtype": "int32", "below": 20000},
        "y": {"shape": [32], "dtype": "int32", "below": 10},
        "labels": {"shape": [None], "dtype": "int32", "below": 4},
        "z": {"shape": [None, 3], "dtype": "float32", "below": None},
    }
    assert found.values == {"maxlen": 7, "names": ["a", "b"]}


@pytest.mark.parametrize("text", ["128", "=3", "x=", "no-name=3", "gone.npz"])
def test_what_it_may_not_say(text):
    with pytest.raises(EstimateError, match="--data"):
        read_data([text])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x=32x12 int32 <500, y=32 <7", weights(500, 12, 7)),  # numbers below 500 are 500 rows
        ("X_train=900x12, vocab_size=501, y_train=900 <7", weights(501, 12, 7)),
        ("vocab_size=501, maxlen=12, y=<7", weights(501, 12, 7)),
    ],
)
def test_names_called_after_the_data_get_their_values(tmp_path, monkeypatch, text, expected):
    found = read_data([text])
    subject = build(tmp_path, SCRIPT, monkeypatch, arguments=found.values, data=found.arrays)
    assert subject.model.count_params() == expected
    assert subject.data[0] == Spec((16, 12), "int32")


def test_a_batch_that_was_saved(tmp_path, monkeypatch):
    ids = np.array([[0, 4, 499], [1, 2, 3]])
    np.savez(tmp_path / "batch.npz", ids, np.array([0, 6]))
    found = read_data([str(tmp_path / "batch.npz")])
    assert found.file
    subject = build(tmp_path, SCRIPT, monkeypatch, names={"data_file": found.file})
    assert subject.model.count_params() == weights(500, 3, 7)


def test_a_model_without_input_layers_and_one_with_several(tmp_path, monkeypatch):
    text = """
        from keras import Input, Model, Sequential, layers
        model = Sequential([layers.Embedding(9, 2), layers.GlobalAveragePooling1D(), layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(data, target)
    """
    arrays = read_data(["x=4x6 int64, y=4"]).arrays
    assert build(tmp_path, text, monkeypatch, data=arrays).data[0] == Spec((32, 6), "int64")
    text = """
        from keras import Input, Model, layers
        ids, mask = Input((None,), dtype="int32", name="ids"), Input((None,), name="mask")
        out = layers.Dense(1)(layers.Concatenate()([layers.Embedding(9, 2)(ids), layers.Reshape((-1, 1))(mask)]))
        model = Model({"ids": ids, "mask": mask}, out)
        model.compile("sgd", "mse")
        model.fit(data, target)
    """
    expected = {"ids": Spec((32, 6), "int32"), "mask": Spec((32, 6), "float32")}
    assert build(tmp_path, text, monkeypatch, input_shape=(6,)).data[0] == expected
    arrays = read_data(["ids=2x5, mask=2x5"]).arrays
    assert build(tmp_path, text, monkeypatch, data=arrays).data[0]["mask"] == Spec((32, 5), "float32")


def test_all_that_is_missing_is_said_at_once_in_a_line_to_paste(tmp_path, monkeypatch):
    from oomlint.cli import estimate as command
    from oomlint.cli.main import build_parser
    from oomlint.estimate.request import Request
    from oomlint.estimate.slicing.script import slice_script
    from oomlint.estimate.worker.step import building
    from oomlint.estimate.worker.tries import needed

    with pytest.raises(EstimateError) as caught:
        build(tmp_path, SCRIPT, monkeypatch)
    path = tmp_path / "train.py"
    sliced = slice_script(path)
    request = Request(str(path), source=sliced.text, names=sliced.names)
    error = needed.all_of(caught.value, request, building.build)
    assert set(error.needs) == {"vocab_size=10000", "maxlen=100"}
    assert "vocab_size (line 6)" in error.message
    given = build_parser().parse_args(["estimate", str(path), "--gpu", "8GB", "--max-batch", "--data", "a=1"])
    words = shlex.split(command.command_with(given, error.needs))
    assert words[:6] == ["oomlint", "estimate", str(path), "--gpu", "8GB", "--max-batch"]
    values = read_data(words[7:]).values
    assert values.pop("a") == 1
    assert build(tmp_path, SCRIPT, monkeypatch, arguments=values).model.count_params() == weights(
        10000, 100, 10
    )


def test_what_an_option_is_compared_with_is_an_example_of_it(tmp_path, monkeypatch):
    from oomlint.estimate.request import Request
    from oomlint.estimate.slicing.script import slice_script
    from oomlint.estimate.worker.step import building
    from oomlint.estimate.worker.tries import needed

    text = """
        import argparse
        from tensorflow import keras
        parser = argparse.ArgumentParser()
        parser.add_argument("net")
        parser.add_argument("--size", required=True, choices=[3, 5], type=int)
        args = parser.parse_args()
        if args.net.lower() == "wide":
            model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(args.size * 10)])
        model.compile("sgd", "mse")
        model.fit(x, y)
    """
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    sliced = slice_script(tmp_path / "train.py")
    request = Request("train.py", source=sliced.text, names=sliced.names)
    assert needed.all_of(caught.value, request, building.build).needs == ("net=wide", "size=3")
