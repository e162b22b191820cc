"""Odd ways of laying out a program that change nothing of what it says."""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise

Changes = list[tuple[int, int, str]]
_COMMENTS = (
    "# a note",
    "#",
    "#: shape (n,)",
    "# é 模型",
    "# TODO: keras",
    "#!x",
    "# type: ignore",
    "# noqa: E501",
)


def laid_out(text: str, chance: random.Random) -> str:
    """The program in up to four odd layouts; each is kept only where the tree stays as it was."""
    wanted = _tree(text)
    for _ in range(chance.choice((0, 1, 1, 2, 3, 4))):
        changed = chance.choice(LAYOUTS)(text, chance)
        try:
            same = _tree(changed) == wanted
        except SyntaxError:
            same = False
        text = changed if same else text
    return chance.choice(ENDS)(text)


def _tree(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.dump(ast.parse(text))


def _tokens(text: str) -> tuple[list[tokenize.TokenInfo], list[int]]:
    starts = [0]
    for line in io.StringIO(text, newline=""):
        starts.append(starts[-1] + len(line))
    return list(tokenize.generate_tokens(io.StringIO(text, newline="").readline)), starts


def _between(text: str) -> list[tuple[int, int, int]]:
    """The gaps between two tokens of a row: where they start and end, and how deep in brackets they are."""
    tokens, starts = _tokens(text)
    gaps, deep = [], 0
    for one, other in pairwise(tokens):
        if one.string in "([{" and one.type == tokenize.OP:
            deep += 1
        elif one.string in ")]}" and one.type == tokenize.OP:
            deep -= 1
        quiet = {
            tokenize.NEWLINE,
            tokenize.NL,
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.COMMENT,
            tokenize.ENDMARKER,
        }
        if one.type not in quiet and other.type not in quiet and one.end[0] == other.start[0]:
            row = starts[one.end[0] - 1]
            gaps.append((row + one.end[1], row + other.start[1], deep))
    return gaps


def _put(text: str, changes: Changes) -> str:
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _some(
    chance: random.Random, among: Sequence[tuple[int, int, int]], most: int
) -> list[tuple[int, int, int]]:
    return chance.sample(among, min(len(among), chance.randint(1, most)))


def _backslashes(text: str, chance: random.Random) -> str:
    gaps = [gap for gap in _between(text) if gap[2] == 0]
    return _put(
        text,
        [(start, end, " \\\n" + chance.choice((" ", "\t", ""))) for start, end, _ in _some(chance, gaps, 4)],
    )


def _broken_rows(text: str, chance: random.Random) -> str:
    gaps = [gap for gap in _between(text) if gap[2] > 0]
    ends = ("\n", "\n\n  ", "\n\t", f"  {chance.choice(_COMMENTS)}\n", "\n# alone\n    ", " \n\x0c\n")
    return _put(text, [(start, end, chance.choice(ends)) for start, end, _ in _some(chance, gaps, 8)])


def _spaces(text: str, chance: random.Random) -> str:
    return _put(
        text,
        [
            (start, end, chance.choice(("  ", "\t", " \x0c")))
            for start, end, _ in _some(chance, _between(text), 12)
        ],
    )


def _tight(text: str, chance: random.Random) -> str:
    return _put(text, [(start, end, "") for start, end, _ in _some(chance, _between(text), 30)])


def _comments(text: str, chance: random.Random) -> str:
    rows = text.split("\n")
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(rows))
        if chance.random() < 0.5:
            rows[at] += f"  {chance.choice(_COMMENTS)}"
        else:
            rows.insert(at, " " * chance.randint(0, 9) + chance.choice(_COMMENTS))
    return "\n".join(rows)


def _semicolons(text: str, chance: random.Random) -> str:
    rows = text.split("\n")
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(rows))
        if at + 1 < len(rows) and rows[at].strip() and rows[at + 1].strip():
            rows[at : at + 2] = [rows[at] + chance.choice(("; ", ";", " ;\t")) + rows[at + 1].lstrip()]
        elif rows[at].strip():
            rows[at] += ";"
    return "\n".join(rows)


def _indents(text: str, chance: random.Random) -> str:
    new = chance.choice(("\t", "  ", " ", "        ", "   "))
    return re.sub(r"^(?:    )+", lambda found: new * (len(found[0]) // 4), text, flags=re.MULTILINE)


def _one_liners(text: str, chance: random.Random) -> str:
    return re.sub(r":\n[ \t]+(?=[\w$].*\n(?![ \t]))", ": " if chance.random() < 0.7 else ":", text)


def _blank_rows(text: str, chance: random.Random) -> str:
    rows = text.split("\n")
    for _ in range(chance.randint(1, 6)):
        rows.insert(chance.randrange(len(rows)), chance.choice(("", "   ", "\x0c", "\t", "", "\x0c  ")))
    return "\n".join(rows)


def _form_feeds(text: str, chance: random.Random) -> str:
    rows = text.split("\n")
    at = chance.randrange(len(rows))
    rows[at] = "\x0c" + rows[at]
    return "\n".join(rows)


LAYOUTS: tuple[Callable[[str, random.Random], str], ...] = (
    _backslashes,
    _broken_rows,
    _spaces,
    _tight,
    _comments,
    _semicolons,
    _indents,
    _one_liners,
    _blank_rows,
    _form_feeds,
)
ENDS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: text,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.rstrip("\n"),
    lambda text: text.rstrip("\n") + "  # the end",
    lambda text: "\ufeff" + text,
    lambda text: text.replace("\n", "\r"),
    lambda text: text + "\n\n\x0c\n   \n",
    lambda text: "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n'''Doc\nstring.'''\n" + text,
    lambda text: text.replace("\n", "\r\n", text.count("\n") // 2),
)
