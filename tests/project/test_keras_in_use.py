"""Which Keras a project gets: the newest that its pins allow, else what is installed; and on which backend."""

from __future__ import annotations

import pytest

from oomlint.project import keras_in_use
from oomlint.project.configuration import Configurations
from oomlint.project.keras_in_use import KerasInUse


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch, tmp_path):
    """Neither this machine's installation nor its environment."""
    monkeypatch.setattr(keras_in_use, "_environments", lambda root: sorted(root.glob("site-packages")))
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "no-home"))
    monkeypatch.delenv("KERAS_BACKEND", raising=False)


@pytest.mark.parametrize(
    ("requirement", "version"),
    [
        # Keras' own pins: the newest release that pip could install.
        ("keras==2.3.1", (2, 3)),
        ("keras==3.8.0", (3, 8)),
        ("keras<3", (2, 15)),
        ("keras>=3,<3.5", (3, 4)),
        ("keras~=3.6.0", (3, 6)),
        ("keras<=3.4.1", (3, 4)),
        ("keras==3.*", None),
        ("keras>=3.0", None),
        ("keras", None),
        ("keras<4", None),
        # Within 2.0 the patch release counts; Keras 1 is older than any of them.
        ("keras==2.0.4", (2, 0, 4)),
        ("keras>=2.0,<2.0.5", (2, 0, 4)),
        ("keras==2.0.*", (2, 0)),
        ("keras==1.2.2", (2, 0, 0)),
        # tf.keras.__version__ is 2.2.4-tf in TensorFlow 2.0 and 2.1, 2.3.0-tf in 2.2, 2.4.0 in 2.3 and 2.4.
        ("tensorflow==2.1.0", (2, 2)),
        ("tensorflow-gpu==2.2", (2, 3)),
        ("tensorflow==2.3.4", (2, 4)),
        ("tensorflow==2.10.1", (2, 10)),
        ("tensorflow<2.16", (2, 15)),
        ("tensorflow==1.15", (2, 2)),
        ("tensorflow<2", (2, 2)),
        # From 2.16 on TensorFlow brings Keras 3, and does not say which.
        ("tensorflow==2.16.1", (3,)),
        ("tensorflow>=2.4,<2.19", (3,)),
        ("tensorflow>=2.4", None),
        ("tensorflow>=1.13", None),
        ("tensorflow==nightly", None),
    ],
)
def test_the_newest_that_a_pin_allows(tmp_path, requirement, version):
    (tmp_path / "requirements.txt").write_text(requirement + "\n")
    found = KerasInUse().version(tmp_path, tmp_path)
    assert found == (None if version is None else (version, f"requirements.txt: {requirement}"))


def test_the_pin_of_keras_comes_before_that_of_tensorflow(tmp_path):
    (tmp_path / "requirements.txt").write_text("tensorflow==2.18.0\nkeras==3.7.0\n")
    assert KerasInUse().version(tmp_path, tmp_path)[0] == (3, 7)


def test_the_nearest_folder_decides_and_the_root_is_the_last(tmp_path):
    example = tmp_path / "project" / "examples" / "old"
    example.mkdir(parents=True)
    (tmp_path / "requirements.txt").write_text("keras==2.0.0\n")
    (tmp_path / "project" / "requirements.txt").write_text("keras==3.1.0\n")
    (example / "requirements.txt").write_text("tensorflow==2.8.0\n")
    known = KerasInUse()
    root = tmp_path / "project"
    assert known.version(example, root)[0] == (2, 8)
    assert known.version(example.parent, root)[0] == (3, 1)
    (root / "requirements.txt").unlink()
    assert KerasInUse().version(example.parent, root) is None


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (["keras-3.5.0.dist-info", "tensorflow-2.17.0.dist-info"], ((3, 5), "installed: keras 3.5")),
        (
            ["tensorflow_cpu-2.9.1.dist-info", "keras_tuner-1.0.dist-info"],
            ((2, 9), "installed: tensorflow_cpu 2.9"),
        ),
        (["numpy-2.0.0.dist-info"], None),
    ],
)
def test_what_is_installed_counts_where_nothing_is_pinned(tmp_path, folders, expected):
    for name in folders:
        (tmp_path / "site-packages" / name).mkdir(parents=True)
    (tmp_path / "requirements.txt").write_text("keras\n")
    assert KerasInUse().version(tmp_path, tmp_path) == expected


def test_configuration_wins_and_the_origin_is_told(tmp_path):
    (tmp_path / "requirements.txt").write_text("tensorflow==2.10.0\n")
    found = Configurations().for_document(tmp_path)
    assert found.settings.target_keras == (2, 10)
    assert found.origins["target-keras"] == "requirements.txt: tensorflow==2.10.0"
    assert not found.settings.keras_at_least(3)
    (tmp_path / "oomlint.toml").write_text('target-keras = "3.6"\n')
    assert Configurations().for_document(tmp_path).settings.target_keras == (3, 6)


def test_an_isolated_run_asks_nobody(tmp_path, monkeypatch):
    (tmp_path / "requirements.txt").write_text("tensorflow==2.10.0\n")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    settings = Configurations(isolated=True).for_document(tmp_path).settings
    assert (settings.target_keras, settings.keras_backend) == (None, None)


def test_the_backend_of_the_environment_comes_before_keras_json(tmp_path, monkeypatch):
    assert KerasInUse().backend() is None
    (tmp_path / "no-home").mkdir()
    file = tmp_path / "no-home" / "keras.json"
    file.write_text('{"backend": "torch", "floatx": "float32"}')
    assert KerasInUse().backend() == ("torch", str(file))
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert KerasInUse().backend() == ("jax", "KERAS_BACKEND")
    (tmp_path / "oomlint.toml").write_text('keras-backend = "tensorflow"\n')
    assert Configurations().for_document(tmp_path).settings.keras_backend == "tensorflow"


@pytest.mark.parametrize("text", ['{"backend": "tensorflow"}', '{"backend": "theano"}', "{", '["jax"]'])
def test_a_keras_json_that_says_nothing(tmp_path, text):
    (tmp_path / "no-home").mkdir()
    (tmp_path / "no-home" / "keras.json").write_text(text)
    assert KerasInUse().backend() is None


def test_what_is_installed_is_looked_up_once_for_a_project(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(keras_in_use, "_environments", lambda root: asked.append(root) or [])
    found = Configurations()
    (tmp_path / "pyproject.toml").touch()
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        assert found.for_document(tmp_path / name).settings.target_keras is None
    assert asked == [tmp_path]
