"""The comments that speak to linters, read from the tokens of a file.

A ``#`` inside a string is no comment; only the tokenizer knows, so no regular expression looks at lines here.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from oomlint.documents.python_file import Document


class Kind(Enum):
    """What a comment asks for."""

    NOQA = "noqa"
    IGNORE = "ignore"
    DISABLE = "disable"
    ENABLE = "enable"
    SKIP_FILE = "skip-file"


@dataclass(frozen=True, slots=True)
class Selector:
    """One code, prefix or rule name of a list, and where it stands in the text."""

    text: str
    start: int
    end: int


@dataclass(slots=True, eq=False)
class Directive:
    """One request. `selectors` is None where it names nothing and so means everything."""

    kind: Kind
    selectors: tuple[Selector, ...] | None
    row: int
    start: int  # may be a part of a longer comment
    end: int
    alone: bool  # whether the comment has its row for itself


@dataclass(frozen=True, slots=True)
class Statement:
    """The rows of one logical line; decorators count with what they decorate."""

    first: int
    last: int


@dataclass(slots=True)
class Comments:
    """What the tokens of a file tell: the directives, and the rows of its statements."""

    directives: list[Directive]
    statements: list[Statement]


_WORTH_A_LOOK = re.compile(r"noqa|oomlint\s*:", re.IGNORECASE)

_CODE = r"[A-Za-z]+[0-9]+"
# The bare prefix needs a colon or comma before it: "OOM" after a blank is the reason's first word.
_FIRST = rf"(?:{_CODE}|OOM)\b"
_NOQA = re.compile(
    rf"#\s*noqa\b(?:\s*:\s*(?P<codes>{_FIRST}(?:\s*,\s*{_FIRST}|\s+{_CODE}\b)*))?", re.IGNORECASE
)
_OWN = re.compile(
    r"#\s*oomlint\s*:\s*(?P<kind>ignore|disable|enable|skip-file)\b(?:\s*\[(?P<list>[^\]]*)\])?",
    re.IGNORECASE,
)
# "#12" in a reason is an issue's number, not another comment
_NEXT_DIRECTIVE = re.compile(r"\s*#\s*(?=[A-Za-z])")
_SELECTOR = re.compile(r"[^\s,]+")


def read_comments(document: Document, *, always: bool = False) -> Comments:
    """Tokenize a document, if it has anything to say to a linter; or always, for its statements."""
    if not always and not _WORTH_A_LOOK.search(document.text):
        return Comments([], [])
    directives: list[Directive] = []
    statements: list[Statement] = []
    first = decorators = 0  # rows where the current statement, and the decorators above it, started
    is_decorator = False
    for token in tokens(document):
        row = token.start[0]
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            directives += _directives(token.string, row, document.lines.start(row) + token.start[1], alone)
        elif token.type == tokenize.NEWLINE and first:
            if is_decorator:
                decorators = decorators or first
            else:
                statements.append(Statement(decorators or first, row))
                decorators = 0
            first = 0
        elif not first and token.type not in _BETWEEN:
            first = row
            is_decorator = token.string == "@"
    return Comments(directives, statements)


_BETWEEN = frozenset((tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING))


def tokens(document: Document) -> Iterator[tokenize.TokenInfo]:
    """The tokens as far as they can be had."""
    lines = document.lines
    # The tokenizer knows no lone \r; every row is given to it with the newline it knows. The last row has one only
    # if there is one.
    rows = (lines.text_of(row) + ("\n" if row < lines.count else "") for row in range(1, lines.count + 1))
    try:
        yield from tokenize.generate_tokens(lambda: next(rows, ""))
    except (tokenize.TokenError, SyntaxError, RecursionError):
        return  # what was read until here counts; such a file has a syntax error to report anyway


def _directives(comment: str, row: int, offset: int, alone: bool) -> Iterator[Directive]:
    for pattern in (_NOQA, _OWN):
        for found in pattern.finditer(comment):
            # A reason goes with its directive, until another comment starts.
            following = _NEXT_DIRECTIVE.search(comment, found.end())
            end = len(comment.rstrip()) if following is None else following.start()
            groups = found.groupdict()
            kind = Kind(groups["kind"].lower()) if groups.get("kind") else Kind.NOQA
            field = "list" if "list" in groups else "codes"
            selectors = None
            if groups[field] is not None:
                base = offset + found.start(field)
                selectors = tuple(
                    Selector(item.group(), base + item.start(), base + item.end())
                    for item in _SELECTOR.finditer(groups[field])
                )
            yield Directive(kind, selectors, row, offset + found.start(), offset + end, alone)
