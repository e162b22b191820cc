"""Which encoding a Python file says it has (PEP 263), and decoding by it without losing a byte."""

from __future__ import annotations

import codecs
import re

UTF8_BOM = codecs.BOM_UTF8
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$", re.ASCII | re.DOTALL)
_ROW = re.compile(rb"[^\r\n]*(?:\r\n?|\n|$)")
# UTF-32's little-endian mark starts with UTF-16's, so it comes first.
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ASCII = bytes(range(0x20, 0x7F))


class UnknownEncoding(Exception):
    """The cookie names something that is no text encoding."""

    def __init__(self, name: str, line: int, reason: str) -> None:
        super().__init__(name)
        self.name = name
        self.line = line
        self.reason = reason


def cookie(raw: bytes) -> tuple[str, int] | None:
    """The encoding named in the first two lines and the line it stands on."""
    second = raw.find(b"\n", raw.find(b"\n") + 1)
    if raw.find(b"coding", 0, second if second >= 0 else len(raw)) < 0:
        return None  # almost every file
    body = raw.removeprefix(UTF8_BOM)
    start = 0
    for line in (1, 2):
        row = _ROW.match(body, start)
        if row is None:
            return None
        content = row.group().rstrip(b"\r\n")
        found = _COOKIE.match(content)
        if found is not None:
            return found.group(1).decode("ascii"), line
        if not _BLANK.match(content):
            return None
        start = row.end()
    return None


def wide_encoding(raw: bytes) -> str | None:
    """UTF-16 or UTF-32, which Python does not run but editors and shells write."""
    if raw.find(b"\0", 0, 256) < 0 and raw[:1] not in (b"\xff", b"\xfe"):
        return None  # almost every file
    for mark, name in _WIDE_MARKS:
        if raw.startswith(mark):
            return name
    head = raw[:256]
    if len(head) >= 4 and b"\0" in head:
        # Plain code in UTF-16 without a mark has a zero in every other byte.
        if not any(head[1::2]) and all(head[0::2]):
            return "utf-16-le"
        if not any(head[0::2]) and all(head[1::2]):
            return "utf-16-be"
    return None


def encoding_of(raw: bytes) -> str:
    """The codec to decode with, as Python would choose it."""
    found = cookie(raw)
    if found is None:
        return "utf-8"
    name, line = found
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        raise UnknownEncoding(name, line, f"unknown encoding {name!r}") from None
    # codecs such as rot13 or hex do not turn bytes into text
    if not getattr(info, "_is_text_encoding", True):
        raise UnknownEncoding(name, line, f"{name!r} is not a text encoding")
    # The mark is kept apart, so that this codec must neither eat nor write one.
    plain = "utf-8" if info.name in ("utf-8", "utf-8-sig") else info.name
    if raw.startswith(UTF8_BOM) and plain != "utf-8":
        raise UnknownEncoding(name, line, f"the file starts with a UTF-8 mark but declares {name!r}")
    return plain


def keeps_ascii(encoding: str) -> bool:
    """Whether plain ASCII text is the same bytes in this encoding."""
    if encoding in ("utf-8", "ascii", "iso8859-1", "cp1252"):
        return True
    try:
        return _ASCII.decode("ascii").encode(encoding) == _ASCII
    except (UnicodeError, LookupError):
        return False
