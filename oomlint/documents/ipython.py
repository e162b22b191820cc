"""What IPython adds to Python in a notebook's cells: magics, shell lines, questions.

They are overwritten by Python of the same length that does nothing, so that every other row and column of
the cell stays where it is. What runs Python itself (`%time f(x)`, `%%capture`) is looked through.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from oomlint.documents.python_syntax import SyntaxFault, fault_of, parses


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's program: as long as its source, and the same but for the `neutral` spans.

    `fault` says why it is none. `prelude` is Python for what some magics do that has no room in their place.
    """

    text: str
    neutral: tuple[tuple[int, int], ...] = ()
    fault: SyntaxFault | None = None
    prelude: str = ""


# Cell magics whose body is Python that runs in the notebook's own process.
_PYTHON_BODIES = frozenset(
    "time timeit capture prun memit mprun lprun snakeviz scalene heat debug wandb notify".split()
)
_CELL_MAGIC = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n))*[ \t]*(?P<all>%%(?P<name>\w+)[^\r\n]*)")

# No line of Python starts with one of these, but for the rest of an expression in brackets.
_ESCAPED = re.compile(r"[ \t]*(?P<magic>[%!?/,;])")
# `%time model.fit(x)`; options such as `-n 10` stand before the code.
_MEASURED = re.compile(
    r"[ \t]*(?P<magic>%(?:time|timeit|prun|memit|lprun|mprun)[ \t]+"
    r"(?:-(?:[fsmTD][ \t]+[\w./]+|\w+(?:[ \t]+\d+)?)[ \t]+)*)"
    r"(?!for\b|while\b|with\b|if\b|def\b|class\b|try\b|async\b|@|-)(?=\S)"
)
_TARGET = r"\*?[^\W\d][\w.]*(?:\[[^\]=\r\n]*\])*"
_ASSIGNED = re.compile(rf"[ \t]*{_TARGET}(?:[ \t]*,[ \t]*{_TARGET})*[ \t]*=[ \t]*(?P<magic>[!%])")
# `%env KERAS_BACKEND=jax`; `{}` and `$` are filled in by IPython
_SET = re.compile(r"%(?:set_)?env[ \t]+(?P<name>\w+)(?:[ \t]*=[ \t]*|[ \t]+)(?P<value>[^\r\n{}$]+)$")
_RUN = re.compile(r"%run[ \t]+(?:-i[ \t]+)?(?:\./)?(?P<module>[^\W\d]\w*(?:/[^\W\d]\w*)*)\.py\b")
_QUESTION = re.compile(
    r"[ \t]*(?P<magic>[\w.*%]+(?:\[[^\]\r\n]*\])*\?\??)[ \t]*;?[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|$)"
)
# Line magics that IPython also takes without their `%`.
_AUTOMAGIC = re.compile(
    r"(?P<magic>(?:cat|cd|clear|conda|config|cp|env|history|ldir|less|lf|lk|ll|load_ext|ls|lx|man|mamba|matplotlib"
    r"|mkdir|more|mv|pip|pwd|pylab|reset|rm|rmdir|run|store|time|timeit|who|whos)(?=[ \t]+[^\s=])[^\r\n]*)"
)
_TOKEN = re.compile(
    r"""(?P<triple>\"\"\"|''')
      | (?P<string>"(?:\\(?:\r\n|.)|[^"\\\r\n])*"? | '(?:\\(?:\r\n|.)|[^'\\\r\n])*'?)
      | (?P<comment>\#[^\r\n]*)
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<joined>\\(?:\r\n?|\n))
      | (?P<row>\r\n?|\n)""",
    re.VERBOSE | re.DOTALL,
)
_ROW_END = re.compile(r"\r\n?|\n|$")
_NOT_NEWLINE = re.compile(r"[^\r\n]")


def cell_of(source: str) -> Cell | None:
    """The program of a cell; None where it is another language's, or a program of its own."""
    neutral: list[tuple[int, int]] = []
    start = 0
    found = _CELL_MAGIC.match(source)
    if found is not None:
        if found["name"] not in _PYTHON_BODIES:
            return None
        neutral.append(found.span("all"))
        start = found.end()
    first = tuple(neutral)
    neutral += _neutral(source, start)
    text = _overwritten(source, neutral)
    fault = fault_of(text)
    if fault is not None and _MEASURED.search(source):
        # `%time` before what cannot stand behind a semicolon
        whole = [*first, *_neutral(source, start, measured=False)]
        if (other := fault_of(_overwritten(source, whole))) is None:
            neutral, text, fault = whole, _overwritten(source, whole), other
    if fault is not None:
        # Automagic words may be names as well, so that only what is no Python can be one.
        more = [*neutral, *_automagic(text)]
        if len(more) > len(neutral) and parses(lenient := _overwritten(source, more)):
            return Cell(lenient, tuple(sorted(more)), prelude=_prelude(source, more))
    return Cell(text, tuple(neutral), fault, _prelude(source, neutral))


def _prelude(source: str, spans: Iterable[tuple[int, int]]) -> str:
    """`%env` and `%run script.py` as Python, a row for each."""
    rows = []
    for start, end in spans:
        if variable := _SET.match(source, start, end):
            name, value = variable["name"], variable["value"].strip()
            rows.append(f"import os as _os; _os.environ[{name!r}] = {value!r}\n")
        elif script := _RUN.match(source, start, end):
            # the `pass` keeps it from being one of the imports that others are put behind
            rows.append(f"from {script['module'].replace('/', '.')} import *; pass\n")
    return "".join(rows)


def _neutral(source: str, start: int, *, measured: bool = True) -> Iterator[tuple[int, int]]:
    """The spans that are IPython's, found at the starts of logical lines; of `%time f(x)` not the code."""
    at = start
    while at < len(source):
        if measured and (prefix := _MEASURED.match(source, at)):
            yield prefix.span("magic")
            at = _logical_end(source, prefix.end())
            continue
        magic = _ASSIGNED.match(source, at) or _ESCAPED.match(source, at)
        if magic is not None:
            at = _continued_end(source, magic.end())
            yield magic.start("magic"), at
            at = _next_row(source, at)
        elif question := _QUESTION.match(source, at):
            yield question.span("magic")
            at = _next_row(source, question.end())
        else:
            at = _logical_end(source, at)


def _automagic(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(text):
        found = _AUTOMAGIC.match(text, at)
        if found is not None and not parses(found["magic"]):
            yield found.span("magic")
            at = _next_row(text, found.end())
        else:
            at = _logical_end(text, at)


def _next_row(source: str, at: int) -> int:
    found = _ROW_END.search(source, at)
    return len(source) if found is None else found.end()


def _continued_end(source: str, at: int) -> int:
    """Where a shell line or magic ends: at the end of its row, unless a backslash joins the next one."""
    while True:
        found = _ROW_END.search(source, at)
        assert found is not None  # the pattern matches at the end
        if found.start() == len(source) or source[found.start() - 1] != "\\":
            return found.start()
        at = found.end()


def _logical_end(source: str, at: int) -> int:
    """The start of the row after a logical line of Python."""
    depth = 0
    while True:
        found = _TOKEN.search(source, at)
        if found is None:
            return len(source)
        at = found.end()
        match found.lastgroup:
            case "triple":
                at = _string_end(source, at, found.group())
            case "open":
                depth += 1
            case "close":
                depth = max(0, depth - 1)
            case "row" if not depth:
                return at


def _string_end(source: str, at: int, quotes: str) -> int:
    while True:
        end = source.find(quotes, at)
        if end < 0:
            return len(source)
        backslashes = end - len(source[:end].rstrip("\\"))
        if backslashes % 2 == 0 or end - backslashes < at:
            return end + 3
        at = end + 1


def _overwritten(source: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in sorted(spans):
        parts += (source[done:start], _filler(source, start, end))
        done = end
    return "".join((*parts, source[done:]))


def _filler(source: str, start: int, end: int) -> str:
    """Python as long as the span, with its newlines where they are."""
    before = source[max(source.rfind("\n", 0, start), source.rfind("\r", 0, start)) + 1 : start]
    if (
        before.strip()
    ):  # `x = !ls`: nobody knows what x is. IPython's own name for an older output stands for that
        word = "__"
    elif source[end : end + 1] not in ("", "\r", "\n", " ", "\t", ";"):
        word = "0;"  # the code behind `%time` is a statement of the same line
    else:
        word = "pass"
    blank = _NOT_NEWLINE.sub(" ", source[start:end])
    room = len(blank.split("\n", 1)[0].split("\r", 1)[0])
    if len(word) > room:
        word = "_" if before.strip() else "0"
    return word + blank[len(word) :]
