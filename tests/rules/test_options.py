"""The options of rules: how they are called, what they are without a word, and the least that makes sense."""

from __future__ import annotations

from oomlint.findings.registry import load_rules


def test_all_options_of_rules():
    assert {
        (entry.code, one.name, one.default, one.minimum)
        for entry in load_rules()
        for one in entry.rule.options
    } == {
        ("OOM303", "batches", 8, 1),
        # A loop of one round is none.
        ("OOM409", "rounds", 50, 2),
        ("OOM409", "updates", 20, 2),
    }
