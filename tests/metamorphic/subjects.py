"""The scripts that are rewritten, and the few differences that are right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fixture_files import fixtures
from metamorphic.code import Rewriting
from metamorphic.compare import Subject

PROGRAMS = Path(__file__).parent / "programs"


def subjects() -> Iterator[Subject]:
    """The scripts of our own, then the fixtures that are wrong and those that look alike."""
    yield from (Subject(path) for path in sorted(PROGRAMS.glob("*.py")))
    yield from (Subject(fixture.path, fixture) for fixture in fixtures("bad", "like"))


# What differs, and rightly: a part of the rewriting's name, the start of each difference (of either, where there are
# two with a bar between them), and why.
EXCEPTIONS: tuple[tuple[str, str, str], ...] = (
    (
        "imports: ",
        "OOM902",
        "the advice names what the other generation has: keras.RematScope, or tf.recompute_grad",
    ),
    ("imports: ", "OOM204|OOM205", "Keras 2 makes float32 of labels, Keras 3 float64"),
    (
        "function inlined|steps in functions",
        "OOM503",
        "what a function makes is shown where it is called for",
    ),
    (
        "variables renamed|constants inlined",
        "OOM401|OOM402",
        "that a loop goes over batches, or what a factor is for, is told by its name where nothing else tells",
    ),
    ("keywords in a dict", "OOM203", "what a function is given for what it joins is read at the call"),
    (
        "arguments on rows",
        "OOM201|OOM103",
        "the message quotes an expression as it is written, where it is one row",
    ),
    ("chains split", "OOM201|OOM403", "the message quotes the expression, of which a part has a name now"),
    ("chains split", "OOM204", "the float64 array has a name now, which keeps it"),
    ("variables on self", "OOM104", "what is an attribute may be passed to a session from elsewhere"),
    (
        "variables on self",
        "OOM406",
        "an attribute that is tested is a setting more often than the round's number",
    ),
    ("lambdas defined", "OOM407", "the message says whether it is a lambda or a function"),
    (
        "variables renamed|constants inlined",
        "OOM501",
        "a name with `global` in it says that the batch is meant for all replicas",
    ),
    ("variables on self", "OOM405", "a tape that is an attribute outlives the function"),
    ("arguments named", "OOM307", "the message names an array that has a name"),
    ("keywords in a dict", "OOM105", "the message quotes an expression only where it is an argument"),
    (
        "keywords in a dict",
        "OOM407|OOM504",
        "what `args=` of `strategy.run` hands on is read where it is a tuple at the call",
    ),
    (
        "independent swapped",
        "OOM410",
        "a method that stands behind the one that calls it may be a part of building a graph once",
    ),
    (
        "arguments named",
        "OOM410",
        "one finding for a statement, and an operation that has a name stands in one of its own",
    ),
    (
        "constants inlined",
        "OOM601",
        "this finding is at the number to change: where the number moves, it moves along",
    ),
    ("arguments named", "OOM103", "the message quotes what the loop goes over, which has a name now"),
    (
        "values from functions",
        "OOM203|OOM408",
        "what a function without arguments reads of an object, or around it, is not seen to go from round to round",
    ),
    (
        "definitions ",
        "OOM101",
        "a left-over function of the script may be called by who imports it, one of another module is not",
    ),
)


def exception(rewriting: Rewriting, transformation: str, differences: list[str]) -> str | None:
    """Why these differences are right, if they are."""
    if not re.search("keras|tensorflow", rewriting.script.text):
        return "a script that names neither TensorFlow nor Keras any more is not read"
    reasons = [
        next(
            (
                why
                for parts, starts, why in EXCEPTIONS
                if any(part in transformation for part in parts.split("|"))
                and one[2:].startswith(tuple(starts.split("|")))
            ),
            None,
        )
        for one in differences
    ]
    return None if None in reasons else reasons[0]
