"""Code that nests deeper than Python's recursion limit is checked like any other."""

from __future__ import annotations

from oomlint.documents.python_file import document_from_text
from oomlint.findings.registry import load_rules
from oomlint.testing import run_rules

SCRIPT = """\
import tensorflow as tf

deep = table{subscripts}
ds = tf.data.Dataset.range(100).repeat().cache()
for batch in ds:
    pass
"""


def test_findings_behind_a_deep_expression() -> None:
    def found(depth: int) -> list[tuple[str, int]]:
        document = document_from_text(SCRIPT.format(subscripts="[0]" * depth), "script.py")
        return [(one.code, one.location.row) for one in run_rules(load_rules(), document)]

    assert ("OOM302", 4) in found(1)
    assert found(500) == found(1)
