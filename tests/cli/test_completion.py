"""`oomlint completion`, in a real bash: sourced, and with Tab on a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest
from command import oomlint

from oomlint.findings.registry import load_rules
from oomlint.project.gpus import GPUS


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "oomlint.bash"
    path.write_text(oomlint("completion", "bash").stdout, encoding="utf-8")
    return path


def _offers(script: Path, *words: str) -> list[str]:
    """What bash would offer for the last word."""
    code = f'source {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _oomlint; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", code, "bash", *words], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_flags_values_and_codes(script):
    assert _offers(script, "oomlint", "che") == ["check"]
    assert {"check", "estimate", "rule", "config", "--version"} <= set(_offers(script, "oomlint", ""))
    assert _offers(script, "oomlint", "check", "--stat") == ["--statistics"]
    assert _offers(script, "oomlint", "check", "src", "--fix-") == ["--fix-only"]
    assert _offers(script, "oomlint", "check", "--color", "a") == ["auto", "always"]
    # bash hands over "=" as a word of its own.
    assert _offers(script, "oomlint", "check", "--color", "=") == ["auto", "always", "never"]
    assert _offers(script, "oomlint", "check", "--color", "=", "ne") == ["never"]
    assert _offers(script, "oomlint", "check", "--gpu", "A100-") == [
        name for name in GPUS if name.startswith("A100-")
    ]
    codes = [entry.code for entry in load_rules() if entry.code.startswith("OOM30")]
    assert _offers(script, "oomlint", "rule", "OOM30") == codes
    assert _offers(script, "oomlint", "check", "--select", "OOM1,OOM30") == [f"OOM1,{code}" for code in codes]
    assert _offers(script, "oomlint", "completion", "") == ["bash", "zsh", "fish"]
    assert _offers(script, "oomlint", "check", "trai") == []  # files, which bash finds itself


def test_tab_on_a_terminal(script, tmp_path):
    (tmp_path / "training.py").touch()
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        os.environ["PS1"] = "> "
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    try:
        os.write(terminal, f"source {script}; bind 'set enable-bracketed-paste off'\n".encode())
        # What is typed, Tab, and what must stand there then; Ctrl-U takes it away.
        for typed, completed in [
            ("oomlint che", "oomlint check "),
            ("oomlint check --output-fo", "oomlint check --output-format "),
            ("oomlint check --output-format=conc", "oomlint check --output-format=concise "),
            ("oomlint check trai", "oomlint check training.py "),
        ]:
            os.write(terminal, f"{typed}\t".encode())
            seen = _until(terminal, completed)
            assert completed in seen
            os.write(terminal, b"\x15")
        os.write(terminal, b"exit\n")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def _until(terminal: int, text: str) -> str:
    seen, end = "", time.monotonic() + 60
    while text not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(terminal, 4096).decode()).replace(
                "\x07", ""
            )
    return seen


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_others_have_every_command_flag_and_code(shell):
    written = oomlint("completion", shell).stdout
    for word in ("check", "estimate", "changed-since", "write-baseline", "max-batch", "concise"):
        assert re.search(rf"\b{word}\b", written), word
    assert all(entry.code in written for entry in load_rules())


def test_an_unknown_shell_names_the_nearest():
    done = oomlint("completion", "bsh")
    assert done.returncode == 2
    assert "did you mean 'bash'?" in done.stderr
