"""`oomlint rule`, `oomlint config`, `oomlint --version`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from command import oomlint, process

import oomlint as package


def test_version():
    assert process("--version").stdout == f"oomlint {package.__version__}\n"


def test_it_runs_in_a_checkout_too():
    root = Path(__file__).parents[2]
    # Without its site-packages' finders, as in a checkout beside a plain install.
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.meta_path[:] = [f for f in sys.meta_path if isinstance(f, type)];"
         "from oomlint.cli import main; sys.exit(main(['rule', 'OOM301']))"],
        cwd=root, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# OOM301 ")


def test_no_command_is_usage():
    done = oomlint()
    assert done.returncode == 2
    assert "usage: oomlint" in done.stderr


def test_rule_shows_the_page_by_code_or_name():
    by_code = oomlint("rule", "OOM301")
    assert by_code.returncode == 0
    assert by_code.stdout.startswith("# OOM301 shuffle-buffer-large\n\n(warning, unsafe fix)\n")
    assert "## Why is this bad?" in by_code.stdout
    assert oomlint("rule", "oom301").stdout == by_code.stdout
    assert oomlint("rule", "shuffle-buffer-large").stdout == by_code.stdout


def test_rule_as_data():
    one = json.loads(oomlint("rule", "OOM303", "--output-format", "json").stdout)
    assert (one["code"], one["name"], one["severity"], one["fix"]) == (
        "OOM303",
        "prefetch-many-batches",
        "warning",
        "safe",
    )
    every = json.loads(oomlint("rule", "--all", "--output-format", "json").stdout)
    codes = [rule["code"] for rule in every]
    assert codes == sorted(codes)
    assert {"OOM000", "OOM001", "OOM002", "OOM301"} <= set(codes)
    assert all(rule["summary"] and rule["explanation"].startswith(rule["summary"]) for rule in every)


def test_an_unknown_rule_is_status_2_with_the_nearest():
    done = oomlint("rule", "OOM3031")
    assert done.returncode == 2
    assert "did you mean 'OOM303'?" in done.stderr


def test_config_shows_values_and_where_they_come_from(tmp_path):
    (tmp_path / "oomlint.toml").write_text('gpu = "L4"\nfail-on = "error"\n', encoding="utf-8")
    (tmp_path / "pkg").mkdir()
    lines = oomlint("config", "pkg", "--fail-on", "note", cwd=tmp_path).stdout.splitlines()
    assert f"# file: {tmp_path / 'oomlint.toml'}" in lines
    assert f'gpu = "L4"  # {tmp_path / "oomlint.toml"}' in lines
    assert 'fail-on = "note"  # --fail-on' in lines
    assert "preview = false  # default" in lines
    assert "preview = true  # --preview" in oomlint("config", "--preview", cwd=tmp_path).stdout
    data = json.loads(oomlint("config", "--output-format", "json", cwd=tmp_path).stdout)
    assert data["host-memory"] == {"value": 17179869184, "origin": "default"}
    assert data["fail-on"]["value"] == "error"


def test_config_that_is_wrong_is_status_2(tmp_path):
    (tmp_path / "oomlint.toml").write_text('ignore = ["OOM3031"]\n', encoding="utf-8")
    done = oomlint("config", cwd=tmp_path)
    assert done.returncode == 2
    assert str(tmp_path / "oomlint.toml") in done.stderr
    assert "unknown code 'OOM3031': did you mean 'OOM303'?" in done.stderr


def test_gpus_lists_what_gpu_options_accept():
    text = oomlint("gpus").stdout
    (line,) = [line for line in text.splitlines() if line.startswith("T4 ")]
    # 15,360 MiB on the card; the logs show pools of 13,584 to 13,840 MiB.
    assert line.split() == "T4 15.0 13.3 7.5 seen, 13.3 to 13.5".split()
    assert "GB200" in text and "worked out" in text
    cards = json.loads(oomlint("gpus", "--format", "json").stdout)
    (t4,) = [card for card in cards if card["name"] == "T4"]
    assert t4["usable_bytes"] == 13_584 * 2**20
    assert t4["memory_bytes"] == 15_360 * 2**20
    assert (t4["compute_capability"], t4["kind"]) == ("7.5", "data centre")
    assert len({card["name"] for card in cards}) == len(cards) > 50
