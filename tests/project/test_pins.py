"""Pins: each kind of file that a project writes its versions in."""

from __future__ import annotations

from pathlib import Path

import pytest

from oomlint.project.pins import pins


def _found(folder: Path) -> list[list[str]]:
    return [[pin.text for pin in group] for group in pins(folder)]


UV = """
[[package]]
name = "keras"
version = "3.6.0"
source = { registry = "https://pypi.org/simple" }

[[package]]
name = "keras-tuner"
version = "1.4.7"
"""
POETRY = """
[tool.poetry.dependencies]
python = "^3.9"
tensorflow = {version = "^2.8", extras = ["and-cuda"]}
keras-tuner = "^1.1"

[tool.poetry.group.dev.dependencies]
keras = "~2.8"
"""
PROJECT = """
[project]
name = "keras-trainer"
dependencies = ["numpy", "tensorflow[and-cuda] >=2.13, <2.16 ; platform_system == 'Linux'"]

[project.optional-dependencies]
gpu = ["tensorflow-gpu==2.4.*"]

[dependency-groups]
dev = ["keras<3", {include-group = "lint"}]
"""
CONDA = """
name: train
channels: [conda-forge]
dependencies:
  - python=3.8
  - tensorflow-gpu=2.4.1=h30adc30_0
  - conda-forge::keras=2.4
  - pip:
    - tensorflow==2.4.1
"""
SETUP_PY = """
from setuptools import setup
REQUIRED = ["numpy>=1.18", "tensorflow>=2.2,<2.5"]
setup(name="x", description="keras models for everyone", install_requires=REQUIRED, extras_require={"k": ["keras"]})
"""
SETUP_CFG = """
[options]
install_requires =
    numpy
    tensorflow>=2.4,<2.11
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("uv.lock", UV, ["keras==3.6.0"]),
        ("poetry.lock", '[[package]]\nname = "tensorflow"\nversion = "2.10.1"\n', ["tensorflow==2.10.1"]),
        (
            "Pipfile.lock",
            '{"default": {"keras": {"hashes": [], "version": "==2.3.1"}}, "develop": {}}',
            ["keras==2.3.1"],
        ),
        (
            "requirements.txt",
            "# tensorflow==1.0\nnumpy\nTensorFlow-GPU == 2.3.1 ; python_version < '3.9'  # old\nkeras_cv\n"
            "keras==2.4.3 \\\n    --hash=sha256:abc\ntensorflow-addons==0.13\nkeras\n",
            ["tensorflow-gpu==2.3.1", "keras==2.4.3", "keras"],
        ),
        ("requirements-gpu.txt", "tensorflow~=2.9.0\n", ["tensorflow~=2.9.0"]),
        ("requirements/base.txt", "tensorflow>=2.4,!=2.5.0,<2.7\n", ["tensorflow>=2.4,!=2.5.0,<2.7"]),
        ("pyproject.toml", PROJECT, ["tensorflow>=2.13,<2.16", "tensorflow-gpu==2.4.*", "keras<3"]),
        ("pyproject.toml", POETRY, ["tensorflow>=2.8,<3", "keras>=2.8,<2.9"]),
        ("Pipfile", '[packages]\nkeras = "==2.3.1"\ntensorflow = "*"\n', ["keras==2.3.1", "tensorflow"]),
        ("setup.cfg", SETUP_CFG, ["tensorflow>=2.4,<2.11"]),
        ("setup.py", SETUP_PY, ["tensorflow>=2.2,<2.5", "keras"]),
        (
            "environment.yml",
            CONDA,
            ["tensorflow-gpu==2.4.1.*", "keras==2.4.*", "tensorflow==2.4.1"],
        ),
    ],
)
def test_each_file_is_read(tmp_path, name, text, expected):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    assert _found(tmp_path) == [[f"{path.name}: {pin}" for pin in expected]]


def test_lock_files_come_before_requirements(tmp_path):
    (tmp_path / "requirements.txt").write_text("keras>=3\n")
    (tmp_path / "uv.lock").write_text(UV)
    assert _found(tmp_path) == [["uv.lock: keras==3.6.0"], ["requirements.txt: keras>=3"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[project\ndependencies = ['keras<3']"),
        ("Pipfile.lock", '{"default": {"keras"'),
        ("Pipfile.lock", '["keras"]'),
        ("setup.py", "from setuptools import setup\nsetup(install_requires=['keras<3'"),
        ("pyproject.toml", "[tool.poetry.dependencies]\nkeras = '^x'"),
        ("requirements.txt", "keras-tuner==1.0\ntensorflow-datasets\nmykeras==1\n"),
    ],
)
def test_a_file_that_makes_no_sense_pins_nothing(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert _found(tmp_path) == []


def test_a_file_in_another_encoding_pins_nothing_and_costs_no_other(tmp_path):
    (tmp_path / "requirements.txt").write_bytes("keras==2.3.1 # \xe9".encode("latin-1"))
    (tmp_path / "setup.cfg").write_text(SETUP_CFG)
    assert _found(tmp_path) == [["setup.cfg: tensorflow>=2.4,<2.11"]]
