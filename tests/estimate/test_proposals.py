"""What a refusal proposes was tried, and what was tried without use is not proposed again."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.tries.dead_ends import told

ASKED = EstimateError(
    "size comes from outside", "build", "train.py", 4, "Give it: --arg size=VALUE", asked="size"
)


def test_what_every_example_ends_at_is_what_is_said():
    ends = [
        (
            (("size", 10),),
            EstimateError("ValueError: (10, 3) has no axis 2", "build", "net.py", 7, "Mend it."),
        ),
        (
            (("size", 16),),
            EstimateError("ValueError: (16, 3) has no axis 2", "build", "net.py", 7, "Mend it."),
        ),
    ]
    error = told(ASKED, ends)
    assert (error.file, error.line, error.message) == ("net.py", 7, "ValueError: (10, 3) has no axis 2")
    assert "size (train.py:4)" in error.hint and "size=10; size=16" in error.hint
    assert "Mend it." in error.hint and "--arg" not in error.hint


def test_a_library_that_is_not_installed_is_what_is_said():
    """What a number in its place ends at is nothing that the script does."""
    absent = EstimateError(
        "ModuleNotFoundError: No module named 'pooling'",
        "build",
        "net.py",
        2,
        "Install pooling.",
        asked="pooling",
    )
    end = ((("pooling", 10),), EstimateError("TypeError: 'int' object is not callable", "build", "net.py", 7))
    assert told(absent, [end]) == absent


def test_an_array_in_place_of_a_number_is_no_end_of_its_own():
    number = ((("size", 10),), EstimateError("ValueError: no axis 2", "build", "net.py", 7))
    array = (
        (("size", (1000, 16)),),
        EstimateError("ValueError: units must be a number", "build", "net.py", 5),
    )
    error = told(ASKED, [number, array])
    assert error.message == "ValueError: no axis 2" and "1000x16" not in error.hint


def test_of_several_ends_each_is_told():
    ends = [
        ((("size", 10),), EstimateError("ValueError: too small", "build", "net.py", 7)),
        ((("size", 1000),), EstimateError("TypeError: no number", "build", "net.py", 5)),
    ]
    error = told(ASKED, ends)
    assert error.message == ASKED.message
    assert "size=10: net.py:7: ValueError: too small" in error.hint
    assert "size=1000: net.py:5: TypeError: no number" in error.hint


def test_a_second_value_is_asked_for_in_the_same_option():
    second = EstimateError("words is read from words.txt", "build", "net.py", 9, asked="words")
    error = told(ASKED, [((("size", 10),), second)])
    assert error.message == ASKED.message
    assert "words is read from words.txt" in error.hint
    assert error.hint.endswith("Give them together: --data 'size=VALUE, words=VALUE'")


def test_what_is_no_number_is_not_asked_for_as_one():
    end = ((("file", 10),), EstimateError("AttributeError: 'int64' object has no attribute 'read'", "build"))
    words = "Run it where the file is, or give the value: --arg file=VALUE"
    absent = EstimateError(
        "file is read from net.json, which is not there", "build", hint=words, asked="file"
    )
    assert told(absent, [end]).hint == "Run it where the file is"
    assert told(absent, [end]).message == absent.message
    assert (
        "--arg file"
        not in told(EstimateError("x", hint="Give it: --arg file=VALUE", asked="file"), [end]).hint
    )


def test_a_value_is_not_asked_for_again_when_it_was_given():
    end = ((("size", 10),), ASKED)
    assert "--arg size" not in told(ASKED, [end]).hint and "--data" not in told(ASKED, [end]).hint


def test_without_ends_it_is_as_it_was():
    assert told(ASKED, []) is ASKED


def test_a_script_that_no_value_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import pickle
        from tensorflow import keras

        size = pickle.load(open("sizes.pickle", "rb"))

        x = keras.Input((8,))
        y = keras.layers.Dense(size)(x)
        model = keras.Model(x, keras.layers.Reshape((size + 1,))(y))
        model.compile("adam", "mse")
        model.fit(samples, labels, batch_size=8)
    """
    with pytest.raises(EstimateError) as caught:
        answered(tmp_path, text, monkeypatch)
    assert "total size of the tensor must be unchanged" in caught.value.message
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "train.py"), 9)
    assert "size=" in caught.value.hint and "--arg size=VALUE" not in caught.value.hint


def test_a_function_is_named_that_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "nets_that_are_named.py").write_text(
        "from tensorflow import keras\n"
        "def narrow(units, classes=3):\n"
        "    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(units), keras.layers.Dense(classes)])\n"
    )
    text = """
        from tensorflow import keras

        def broken():
            return keras.Model(keras.Input((4,)), keras.layers.Reshape((5,))(keras.Input((4,))))

        model = broken()
        model.compile("adam", "mse")
        model.fit(samples, labels, batch_size=8)
    """
    with pytest.raises(EstimateError) as caught:
        answered(tmp_path, text, monkeypatch)
    assert "FILE.py:function" not in caught.value.hint
    assert "oomlint estimate nets_that_are_named.py:narrow --arg units=256" in caught.value.hint
