"""Plain Python made at random: what the dry run knows of its variables is what Python computes.

Where two ways meet that the dry run cannot decide between, a container of one of them is kept, and a constant only if
it is the same on both: so behind branches only constants are compared, where no function depends on them.
"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from dryrun.test_interpreter import UNKNOWN, concrete
from robustness.grammar.plain import NAMES, plain_program

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.values.base import Const, deref
from oomlint.syntax.parse import parse

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")


CONTAINERS = (list, tuple, dict, set, range)
BRANCHES = re.compile(r"^ *(?:if|elif|while|match|with|try|for)\b", re.MULTILINE)

MAYBE_DEFINED = re.compile(r"^ +def twice", re.MULTILINE)


def run(text: str) -> list[Any]:
    """What Python gives."""
    seen: list[Any] = []
    exec(compile(text, "plain.py", "exec"), {"probe": seen.append, "__name__": "__main__"})
    return seen


def dry(text: str) -> list[Any]:
    """What the dry run says; a soft constant is what is likely, and decides nothing."""
    trace = dry_run(parse(document_from_text(text, "plain.py")))
    values = [deref(call.arguments[0].value) for call in trace.calls("unresolved") if call.path == "probe"]
    return [UNKNOWN if isinstance(value, Const) and value.soft else concrete(value) for value in values]


def differences(text: str) -> tuple[list[str], int]:
    """Where the dry run says something else than Python, and of how many names it knows the value."""
    real = run(text)
    said = dry(text)
    if len(said) != len(real):
        return [f"{len(said)} probes and not {len(real)}"], 0
    straight = not BRANCHES.search(text)
    wrong, known = [], 0
    for name, ours, theirs in zip(NAMES, said, real, strict=True):
        plain = not isinstance(ours, CONTAINERS) and not isinstance(theirs, CONTAINERS)
        if ours is UNKNOWN or not (straight or (plain and not MAYBE_DEFINED.search(text))):
            continue
        known += 1
        if isinstance(theirs, range):
            theirs = list(theirs)
        if repr(ours) != repr(theirs):
            wrong.append(f"{name} is {theirs!r}, and not {ours!r}")
    return wrong, known


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_what_is_known_is_so(first: int):
    known = 0
    for seed in range(first, first + 50):
        text = plain_program(random.Random(seed))
        wrong, more = differences(text)
        assert not wrong, f"seed {seed}: {wrong}\n{text}"
        known += more
    assert known > 60
