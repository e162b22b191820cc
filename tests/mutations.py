"""Scripts changed at random, one small place at a time, and what must hold for whatever comes out."""

from __future__ import annotations

import ast
import random
import signal
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType

from oomlint.documents.python_file import Document, document_from_text
from oomlint.findings.applying import fix_document
from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.model import Safety
from oomlint.findings.registry import RegisteredRule
from oomlint.project.settings import Settings
from oomlint.testing import run_rules

ALL = {Safety.SAFE, Safety.UNSAFE}
LITERALS = ("0", "-1", "10**30", "None", "'a text'")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "<<", "&", "<", "is", "in", "and", "or")
WRAPPERS = (
    "try:\n{}\nexcept MemoryError:\n    pass",
    "while True:\n{}",
    "for _ in range(3):\n{}",
    "def wrapped():\n{}",
    "class Wrapped:\n{}",
    "with open('x') as wrapped:\n{}",
)
AROUND = ("(lambda: {})", "(lambda: {})()", "[{} for _ in range(3)]", "{{_: {} for _ in 'ab'}}", "({})[0]")


class TooLong(BaseException):
    """No Exception, which the engine would take for a rule's."""


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Raise TooLong in the block after so many seconds of the processor."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise TooLong(f"{seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Spans:
    """A text with the spans of its nodes, in bytes as `ast` counts them."""

    def __init__(self, text: str) -> None:
        self.raw = text.encode()
        self.starts = [0]
        for line in self.raw.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.nodes = list(ast.walk(ast.parse(text)))

    def of(self, *types: type[ast.AST]) -> list[ast.AST]:
        return [node for node in self.nodes if isinstance(node, types) and hasattr(node, "lineno")]

    def span(self, node: ast.AST) -> tuple[int, int]:
        start, end = self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1]
        return start, end + node.end_col_offset

    def at(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def put(self, *changes: tuple[ast.AST, str]) -> str:
        raw = self.raw
        for (start, end), new in sorted(((self.span(node), new) for node, new in changes), reverse=True):
            raw = raw[:start] + new.encode() + raw[end:]
        return raw.decode()


def _delete(text: Spans, chance: random.Random) -> str:
    return text.put((chance.choice(text.of(ast.stmt)), "pass"))


def _duplicate(text: Spans, chance: random.Random) -> str:
    node = chance.choice(text.of(ast.stmt))
    return text.put((node, f"{text.at(node)}\n{' ' * node.col_offset}{text.at(node)}"))


def _swap(text: Spans, chance: random.Random) -> str:
    blocks = [getattr(node, "body", None) for node in text.nodes]
    pairs = [pair for block in blocks if isinstance(block, list) for pair in pairwise(block)]
    one, other = chance.choice(pairs)
    return text.put((one, text.at(other)), (other, text.at(one)))


def _rename(text: Spans, chance: random.Random) -> str:
    names = text.of(ast.Name)
    return text.put((chance.choice(names), chance.choice(names).id))


def _literal(text: Spans, chance: random.Random) -> str:
    return text.put((chance.choice(text.of(ast.Constant)), chance.choice(LITERALS)))


def _drop_argument(text: Spans, chance: random.Random) -> str:
    call = chance.choice([node for node in text.of(ast.Call) if node.args or node.keywords])
    arguments = [*call.args, *call.keywords]
    arguments.remove(chance.choice(arguments))
    return text.put((call, f"{text.at(call.func)}({', '.join(map(text.at, arguments))})"))


def _no_call(text: Spans, chance: random.Random) -> str:
    call = chance.choice(text.of(ast.Call))
    return text.put((call, text.at(call.func)))


def _cut(text: Spans, chance: random.Random) -> str:
    return text.raw[: chance.randrange(len(text.raw))].decode(errors="ignore")


def _operator(text: Spans, chance: random.Random) -> str:
    node = chance.choice(text.of(ast.BinOp, ast.Compare))
    left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.left, node.comparators[0])
    return text.put((node, f"({text.at(left)} {chance.choice(OPERATORS)} {text.at(right)})"))


def _wrap(text: Spans, chance: random.Random) -> str:
    node = chance.choice(text.of(ast.stmt))
    inner = textwrap.indent(" " * node.col_offset + text.at(node), "    ")
    wrapped = chance.choice(WRAPPERS).format(inner).splitlines()
    blank = " " * node.col_offset
    rows = [row if row.startswith(blank + "    ") else blank + row for row in wrapped]
    return text.put((node, "\n".join(rows).lstrip()))


def _around(text: Spans, chance: random.Random) -> str:
    node = chance.choice(text.of(ast.Call, ast.Name, ast.Constant))
    return text.put((node, chance.choice(AROUND).format(text.at(node))))


MUTATIONS: tuple[Callable[[Spans, random.Random], str], ...] = (
    _delete,
    _duplicate,
    _swap,
    _rename,
    _literal,
    _drop_argument,
    _no_call,
    _cut,
    _operator,
    _wrap,
    _around,
)


def mutated(text: str, seed: int) -> tuple[str, str]:
    """The text with one change (each third time with two), and the names of the changes."""
    chance = random.Random(seed)
    done = []
    for _ in range(2 if seed % 3 == 0 else 1):
        change = chance.choice(MUTATIONS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                text = change(Spans(text), chance)
        except (IndexError, SyntaxError, ValueError):  # no such place in this text, or no Python any more
            continue
        done.append(change.__name__.strip("_"))
    return text, "+".join(done)


def complaints(rules: Sequence[RegisteredRule], text: str, seconds: int = 20) -> tuple[list[str], bool]:
    """What is wrong with how a text was checked and mended, and whether a fix changed it."""
    try:
        with limit(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _complaints(rules, text)
    except TooLong as error:
        return [f"took longer than {error}"], False
    except AssertionError as error:
        return [f"internal error: {error}"], False
    except Exception as error:
        return [f"{type(error).__name__}: {error}"], False


def _complaints(rules: Sequence[RegisteredRule], text: str) -> tuple[list[str], bool]:
    def check(changed: Document) -> list[Diagnostic]:
        return before if changed is document else run_rules(rules, changed, settings=settings)

    # By each rule, previews among them, and no unused comments.
    codes = (*(entry.code for entry in rules), "OOM001")
    settings = Settings(root=Path("/"), select=codes, preview=True)
    document = document_from_text(text, "script.py")
    before = run_rules(rules, document, settings=settings)
    if not any(found.fixable for found in before):
        return [], False
    outcome = fix_document(document, check, ALL)
    if not outcome.changed:
        return [], False
    wrong = []
    try:
        ast.parse(outcome.document.text)
    except SyntaxError as error:
        wrong.append(f"the fixed text does not parse: {error}")
    again = fix_document(outcome.document, check, ALL)
    if again.changed:
        wrong.append("fixing again changes it again")
    counts = Counter(found.code for found in before)
    after = Counter(found.code for found in again.remaining)
    wrong += [f"more of {code} after fixing" for code in after if after[code] > counts[code]]
    return wrong, True
