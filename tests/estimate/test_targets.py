"""The forms of a target, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.targets import read_arguments, read_shape, read_target


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import keras\n")
    (tmp_path / "net.keras").write_bytes(b"")
    (tmp_path / "lab.ipynb").write_text("{}")
    (tmp_path / "exported").mkdir()
    (tmp_path / "exported" / "saved_model.pb").write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "form", "name"),
    [
        ("train.py", "script", ""),
        ("./train.py", "script", ""),
        ("train.py:build", "function", "build"),
        ("train.py:Net.build", "function", "Net.build"),
        ("lab.ipynb", "script", ""),
        ("lab.ipynb:build", "function", "build"),
        ("package.module:fn", "module", "fn"),
        ("net.keras", "saved", ""),
        ("exported", "saved", ""),
        ("keras:ResNet50", "application", "ResNet50"),
        ("keras:efficientnet_b0", "application", "EfficientNetB0"),
    ],
)
def test_forms(folder: Path, text: str, form: str, name: str):
    target = read_target(text)
    assert (target.form, target.name) == (form, name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("trian.py", "train.py"),
        ("trian.py:build", "train.py"),
        ("keras:ResNet5O", "keras:ResNet50"),
        ("net.kears", "net.keras"),
        ("net.keras:build", "no Python file"),
        ("train.py:not a name", "no function's name"),
        (".", "no saved model"),
        ("lba.ipynb:build", "lab.ipynb"),
        ("something", "keras:ResNet50"),
    ],
)
def test_what_is_not_there_is_said_with_the_nearest(folder: Path, text: str, says: str):
    with pytest.raises(EstimateError) as caught:
        read_target(text)
    assert caught.value.kind == "target"
    assert says in str(caught.value)


def test_the_applications_are_those_of_keras():
    keras = pytest.importorskip("keras")
    from oomlint.estimate.targets import APPLICATIONS

    assert set(APPLICATIONS) == {name for name in dir(keras.applications) if name[0].isupper()}


def test_arguments_are_literals_or_text():
    assert read_arguments(["n=3", "shape=(2, 3)", "name=resnet", "flag=True", "empty="]) == {
        "n": 3,
        "shape": (2, 3),
        "name": "resnet",
        "flag": True,
        "empty": "",
    }
    with pytest.raises(EstimateError, match="NAME=VALUE"):
        read_arguments(["units"])


@pytest.mark.parametrize("text", ["224,224,3", "224x224x3", "(224, 224, 3)", "[224,224,3]", "224 224 3"])
def test_shapes(text: str):
    assert read_shape(text) == (224, 224, 3)


def test_shapes_may_leave_a_size_open_and_must_be_sizes():
    assert read_shape("None,40") == (None, 40)
    for wrong in ("", "a,b", "0,3", "-1"):
        with pytest.raises(EstimateError):
            read_shape(wrong)
