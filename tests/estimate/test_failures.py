"""A step that cannot be followed: what is said is the user's line or the training call, and no bug of oomlint."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.slicing.script import slice_script
from oomlint.estimate.worker.main import answer
from oomlint.estimate.worker.script.failures import said


def failure(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> EstimateError:
    """What the user is told of a script."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("OOMLINT_WORK", str(work))
    monkeypatch.setenv("OOMLINT_FOLDERS", str(tmp_path))
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(text).lstrip())
    found = slice_script(path)
    with pytest.raises(EstimateError) as caught:
        answer(Request(str(path), source=found.text, names=found.names, engine="graph"))
    return caught.value


def test_code_of_the_user_that_fails_in_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
    import keras

    class Doubled(keras.layers.Layer):
        def call(self, x, training=None):
            if training:
                return keras.ops.matmul(x, other=x)
            return x

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), Doubled()])
    model.compile("sgd", "mse")
    model.fit(x, y)
    """
    error = failure(tmp_path, text, monkeypatch)
    assert (error.kind, Path(error.file or "").name, error.line) == ("build", "train.py", 6)
    assert "unexpected keyword argument" in error.message


def test_a_library_that_refuses_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
    import keras

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.add(keras.layers.Lambda(keras.ops.stop_gradient))
    model.compile("sgd", "mse")
    model.fit(x, y)
    """
    error = failure(tmp_path, text, monkeypatch)
    assert (error.kind, error.line) == ("build", 6)
    assert error.message.startswith("the step fails: ValueError: No gradients")


def test_a_value_that_is_needed_first_in_the_step_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
    import keras
    from settings_that_are_not_here import rate

    class Scaled(keras.layers.Layer):
        def call(self, x, training=None):
            return x * float(rate) if training else x

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), Scaled()])
    model.compile("sgd", "mse")
    model.fit(x, y)
    """
    error = failure(tmp_path, text, monkeypatch)
    assert (error.kind, error.line, error.needs) == ("build", 2, ("rate=0.1",))


def test_what_goes_wrong_in_oomlint_itself_is_not_the_users():
    text = "with said(Request('train.py')):\n    1 / 0\n"
    with pytest.raises(ZeroDivisionError):
        exec(compile(text, "<oomlint>", "exec"), {"said": said, "Request": Request})
