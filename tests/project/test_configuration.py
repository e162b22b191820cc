"""Configuration: which file counts, what it may say, and where each value came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from oomlint.project.configuration import ConfigurationError, Configurations
from oomlint.project.settings import DEFAULT_SELECT, Settings

GIB = 2**30


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_are_a_t4_and_16_gib():
    settings = Settings()
    assert settings.select == DEFAULT_SELECT
    assert settings.fail_on == "warning"
    # 13,584 MiB: the smaller of the pools that TensorFlow's logs show for a T4.
    assert settings.budget.gpu == 13_584 * 2**20
    assert settings.budget.host == 16 * GIB
    assert settings.budget.warn_host == 4 * GIB


def test_nearest_file_wins_and_pyproject_without_our_table_is_passed_over(tmp_path):
    _write(tmp_path / "oomlint.toml", 'fail-on = "note"\n')
    _write(tmp_path / "a" / "pyproject.toml", "[tool.other]\nx = 1\n")
    inner = tmp_path / "a" / "b"
    _write(inner / "pyproject.toml", '[tool.oomlint]\nfail-on = "error"\n')
    found = Configurations()
    assert found.for_folder(tmp_path / "a").settings.fail_on == "note"
    assert found.for_folder(tmp_path / "a").file == tmp_path / "oomlint.toml"
    assert found.for_folder(inner).settings.fail_on == "error"
    assert found.for_folder(inner).settings.root == inner


def test_dot_file_wins_over_oomlint_toml_over_pyproject(tmp_path):
    _write(tmp_path / "pyproject.toml", '[tool.oomlint]\nfail-on = "never"\n')
    assert Configurations().for_folder(tmp_path).settings.fail_on == "never"
    _write(tmp_path / "oomlint.toml", 'fail-on = "note"\n')
    assert Configurations().for_folder(tmp_path).settings.fail_on == "note"
    _write(tmp_path / ".oomlint.toml", 'fail-on = "error"\n')
    assert Configurations().for_folder(tmp_path).settings.fail_on == "error"


def test_every_key_is_read(tmp_path):
    _write(
        tmp_path / "oomlint.toml",
        """
        select = ["OOM3", "OOM401"]
        ignore = ["OOM303"]
        extend-select = ["OOM9"]
        exclude = ["old"]
        extend-exclude = ["gen/*"]
        gpu = "A100-80GB"
        host-memory = "64GiB"
        fail-on = "error"
        extend-safe-fixes = ["OOM301"]
        extend-unsafe-fixes = ["OOM303"]
        target-keras = "3.8"
        keras-backend = "jax"
        preview = true
        cache-dir = ".cache/oomlint"
        [per-file-ignores]
        "notebooks/*" = ["OOM1"]
        [severity]
        OOM405 = "error"
        """,
    )
    settings = Configurations().for_folder(tmp_path).settings
    assert settings == Settings(
        root=tmp_path,
        select=("OOM3", "OOM401"),
        ignore=("OOM303",),
        extend_select=("OOM9",),
        per_file_ignores={"notebooks/*": ("OOM1",)},
        exclude=("old",),
        extend_exclude=("gen/*",),
        budget=settings.budget,
        severity={"OOM405": "error"},
        fail_on="error",
        extend_safe_fixes=("OOM301",),
        extend_unsafe_fixes=("OOM303",),
        target_keras=(3, 8),
        keras_backend="jax",
        preview=True,
        cache_dir=tmp_path / ".cache/oomlint",
    )
    assert settings.budget.gpu == 78_945 * 2**20
    assert settings.budget.gpu_label == "77.1 GiB that TensorFlow can use on a A100-80GB"
    assert settings.budget.host == 64 * GIB


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('selct = ["OOM301"]', "unknown key 'selct': did you mean 'select'?"),
        ('gpu_memory = "16GB"', "unknown key 'gpu_memory': did you mean 'gpu-memory'?"),
        ('select = "OOM301"', "select: expected a list of strings, got a string"),
        ("select = [301]", "select: expected a list of strings, got a number in it"),
        ('preview = "yes"', "preview: expected true or false, got a string"),
        ('fail-on = "warn"', "did you mean 'warning'?"),
        ('gpu = "T5"', "did you mean 'T4'"),
        ('host-memory = "16"', "'16' lacks a unit"),
        ("host-memory = 0", "not an amount of memory"),
        ('target-keras = "4"', "there are rules for Keras 2 and 3"),
        ('severity = "error"', "severity: expected a table, got a string"),
        ("extend = 3", "extend: expected the path of a file"),
        ('extend = "/nowhere/oomlint.toml"', "extend: /nowhere/oomlint.toml: No such file"),
        ('extend = "~nobody-of-this-name/x.toml"', "extend: Could not determine home directory"),
        ('extend = "a\\u0000b"', "extend: "),
        ('cache-dir = "~nobody-of-this-name/x"', "cache-dir: Could not determine home directory"),
        ('cache-dir = "a\\u0000b"', "cache-dir: no folder has a NUL in its name"),
        ("select = [", "oomlint.toml"),
    ],
)
def test_what_is_wrong_is_said_with_the_file_and_the_nearest_right_word(tmp_path, text, message):
    path = _write(tmp_path / "oomlint.toml", text + "\n")
    with pytest.raises(ConfigurationError) as caught:
        Configurations().for_folder(tmp_path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_extend_takes_what_is_not_said_and_adds_to_lists_that_extend(tmp_path):
    _write(
        tmp_path / "base.toml",
        'fail-on = "error"\nextend-select = ["OOM901"]\nhost-memory = "8GB"\n[per-file-ignores]\n"a/*" = ["OOM1"]\n',
    )
    _write(
        tmp_path / "p" / "oomlint.toml",
        'extend = "../base.toml"\nextend-select = ["OOM902"]\nhost-memory = "4GB"\n'
        '[per-file-ignores]\n"b/*" = ["OOM2"]\n',
    )
    configuration = Configurations().for_folder(tmp_path / "p")
    settings = configuration.settings
    assert settings.fail_on == "error"
    assert settings.budget.host == 4_000_000_000
    assert settings.extend_select == ("OOM901", "OOM902")
    assert settings.per_file_ignores == {"a/*": ("OOM1",), "b/*": ("OOM2",)}
    assert configuration.origins["fail-on"] == str(tmp_path / "base.toml")
    assert configuration.origins["host-memory"] == str(tmp_path / "p" / "oomlint.toml")


def test_extend_in_a_circle_is_an_error(tmp_path):
    _write(tmp_path / "a.toml", 'extend = "oomlint.toml"\n')
    _write(tmp_path / "oomlint.toml", 'extend = "a.toml"\n')
    with pytest.raises(ConfigurationError, match="comes back"):
        Configurations().for_folder(tmp_path)


def test_command_line_wins_and_says_so(tmp_path):
    _write(tmp_path / "oomlint.toml", 'fail-on = "error"\ngpu-memory = "80GB"\n')
    found = Configurations({"gpu": ("L4", "--gpu"), "fail-on": ("note", "--fail-on")})
    configuration = found.for_folder(tmp_path)
    assert configuration.settings.fail_on == "note"
    assert configuration.origins["fail-on"] == "--fail-on"
    # A card named on the command line is not overruled by an amount in a file.
    assert configuration.settings.budget.gpu == 20_549 * 2**20
    assert "gpu-memory" not in configuration.origins


def test_gpu_memory_wins_over_gpu_of_the_same_place(tmp_path):
    _write(tmp_path / "oomlint.toml", 'gpu = "A100"\ngpu-memory = "10GB"\n')
    assert Configurations().for_folder(tmp_path).settings.budget.gpu == 10_000_000_000


def test_isolated_reads_no_file(tmp_path):
    _write(tmp_path / "oomlint.toml", "this is not TOML")
    assert Configurations(isolated=True).for_folder(tmp_path).settings.fail_on == "warning"


def test_a_named_file_counts_for_all(tmp_path):
    _write(tmp_path / "oomlint.toml", 'fail-on = "error"\n')
    other = _write(tmp_path / "ci.toml", 'fail-on = "never"\n')
    assert Configurations(file=other).for_folder(tmp_path).settings.fail_on == "never"
    with pytest.raises(ConfigurationError, match="no such configuration file"):
        Configurations(file=tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("here", "folder", "marks", "root"),
    [
        (".", "a/b", [], "."),
        ("a", "c", [], "c"),
        ("a", "p/q/r", ["p/q/__init__.py", "p/q/r/__init__.py"], "p"),
        ("p/q", "p/q/r", ["p/q/__init__.py", "p/q/r/__init__.py"], "p"),
        (".", "p/q", ["p/.git", "p/q/__init__.py"], "p"),
        (".", "p/q", ["p/pyproject.toml", "p/q/setup.py"], "p/q"),
    ],
)
def test_where_a_project_begins_that_configures_nothing(tmp_path, monkeypatch, here, folder, marks, root):
    for name in (here, folder):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    for mark in marks:
        _write(tmp_path / mark, "")
    monkeypatch.chdir(tmp_path / here)
    assert Configurations().for_folder(tmp_path / folder).settings.root == tmp_path / root


@pytest.mark.parametrize(
    ("target", "version", "expected"),
    [
        (None, (3, 8), True),
        ((3,), (3, 8), True),
        ((3, 7), (3, 8), False),
        ((3, 8), (3, 8), True),
        ((3, 10), (3, 8), True),
        ((2,), (3,), False),
        ((2, 15), (3, 0), False),
        ((2, 15), (2, 4), True),
    ],
)
def test_keras_at_least(target, version, expected):
    assert Settings(target_keras=target).keras_at_least(*version) is expected
