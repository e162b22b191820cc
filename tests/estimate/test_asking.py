"""What a project configures holds for its estimates, unless the command line says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from oomlint.cli.main import build_parser
from oomlint.estimate import launch
from oomlint.estimate.asking import request_of
from oomlint.estimate.request import Request
from oomlint.project.configuration import ConfigurationError

SCRIPT = """
import keras
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "nothing"))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "train.py").write_text(SCRIPT)
    return tmp_path


def asked(*words: str) -> Request:
    return request_of(build_parser("estimate").parse_args(["estimate", *words]))


def test_without_a_configuration(project: Path) -> None:
    request = asked("sub/train.py")
    assert (request.gpu, request.names["backend"]) == ("T4", "tensorflow")


@pytest.mark.parametrize("target", ["sub/train.py", "keras:ResNet50"])
def test_the_configured_gpu_and_backend(project: Path, target: str) -> None:
    for folder in (project, project / "sub"):
        (folder / "oomlint.toml").write_text('gpu = "A100-40GB"\nkeras-backend = "jax"\n')
    request = asked(target)
    assert request.gpu == "A100-40GB"
    assert request.usable_bytes == asked(target, "--gpu", "A100-40GB").usable_bytes
    assert launch.backend_environment(request)["KERAS_BACKEND"] == "jax"
    other = asked(target, "--gpu", "16GB", "--backend", "tensorflow")
    assert (other.gpu, other.usable_bytes) == ("16GB", 16 * 10**9)
    assert launch.backend_environment(other)["KERAS_BACKEND"] == "tensorflow"


def test_what_the_job_may_use_of_the_card(project: Path) -> None:
    (project / "oomlint.toml").write_text('gpu = "A100-40GB"\ngpu-memory = "10GiB"\n')
    assert asked("sub/train.py").usable_bytes == 10 * 2**30


@pytest.mark.parametrize("target", ["sub/train.py", "keras:ResNet50"])
def test_the_backend_of_the_environment(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert launch.backend_environment(asked(target))["KERAS_BACKEND"] == "jax"


def test_what_the_script_sets_comes_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    chosen = 'import os\nos.environ["KERAS_BACKEND"] = "tensorflow"\n'
    (project / "sub" / "train.py").write_text(chosen + SCRIPT)
    assert launch.backend_environment(asked("sub/train.py"))["KERAS_BACKEND"] == "tensorflow"


def test_a_broken_configuration_is_said(project: Path) -> None:
    (project / "oomlint.toml").write_text('gpu = "H2O"\n')
    with pytest.raises(ConfigurationError, match="gpu"):
        asked("sub/train.py")
