"""The thread that checks: what a broken rule takes down with it, and what happens to work that is given up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from oomlint.dryrun import Trace
from oomlint.findings.model import Finding
from oomlint.findings.registry import RegisteredRule, load_rules
from oomlint.project.settings import Settings
from oomlint.server.checking import Checked, Checker, Stop, Superseded
from oomlint.server.opened import Desk, Opened
from oomlint.server.options import Options

TEXT = """\
import tensorflow as tf

images = tf.data.Dataset.list_files("train/*.jpg").map(lambda path: tf.image.resize(
    tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (224, 224))).shuffle(1_281_167).batch(32).prefetch(1_000)
"""


def _opened(path: Path, text: str) -> Opened:
    desk = Desk()
    desk.open(lsp.TextDocumentItem(path.as_uri(), "python", 1, text))
    opened = desk.look(path.as_uri(), str(path), path)
    assert opened is not None
    return opened


def _rule(code: str) -> RegisteredRule:
    return next(entry for entry in load_rules() if entry.code == code)


def _work(checker: Checker, stop: Stop) -> dict[str, Checked]:
    found: dict[str, Checked] = {}

    def deliver(known: Mapping[str, Checked], modules: object, complete: bool) -> None:
        found.update(known)

    checker.work(stop, deliver)
    return found


def test_a_rule_that_fails_loses_its_own_findings_only(tmp_path: Path):
    def broken(trace: Trace, settings: Settings) -> Iterator[Finding]:
        raise KeyError("shape")

    checker = Checker(pytest.fail)
    checker._rules = (replace(_rule("OOM301"), check=broken), _rule("OOM303"))
    checker.configure([(None, Options())])
    path = tmp_path / "a.py"
    checker.put(_opened(path, TEXT))
    (checked,) = _work(checker, Stop()).values()
    assert [one.code for one in checked.diagnostics] == ["OOM002", "OOM303"]
    assert "rule OOM301 failed: KeyError: 'shape'" in checked.diagnostics[0].message


def test_work_that_is_given_up_is_done_later(tmp_path: Path):
    stops: list[Stop] = []
    rounds: list[str] = []

    def stopping(trace: Trace, settings: Settings) -> Iterator[Finding]:
        rounds.append("first")
        if stops:
            stops.pop().set()
        return iter(())

    def last(trace: Trace, settings: Settings) -> Iterator[Finding]:
        rounds.append("last")
        yield from _rule("OOM303").check(trace, settings)

    checker = Checker(pytest.fail)
    checker._rules = tuple(
        checker._stoppable(replace(_rule(code), check=check))
        for code, check in (("OOM301", stopping), ("OOM303", last))
    )
    checker.configure([(None, Options())])
    checker.put(_opened(tmp_path / "a.py", TEXT))
    stop = Stop()
    stops.append(stop)
    with pytest.raises(Superseded):
        _work(checker, stop)
    assert rounds == ["first"]
    (checked,) = _work(checker, Stop()).values()
    assert [one.code for one in checked.diagnostics] == ["OOM303"]
    assert rounds == ["first", "first", "last"]
    # Nothing changed: nothing is checked.
    _work(checker, Stop())
    assert len(rounds) == 3
