"""Reading and writing Python files: no byte changes but the edited ones."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomlint.documents.python_file import (
    Document,
    DocumentError,
    document_from_bytes,
    document_from_text,
    read_document,
    write,
)

# Encodings that scripts are found in, and some odd ones.
ENCODINGS = [
    "utf-8", "ascii", "latin-1", "iso8859-15", "cp1252", "cp1251", "koi8-r", "mac-roman", "gbk", "gb18030", "big5",
    "euc-jp", "shift_jis", "cp932", "iso2022_jp", "euc-kr", "cp949", "utf-7",
]  # fmt: skip

newlines = st.sampled_from(["\n", "\r\n", "\r"])
lines = st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"]), max_size=20)


def rows(encoding: str) -> st.SearchStrategy[str]:
    def writable(line: str) -> bool:
        try:
            return line.encode(encoding).decode(encoding) == line
        except UnicodeError:
            return False

    return st.lists(st.tuples(lines.filter(writable), newlines).map("".join), max_size=5).map("".join)


@given(
    st.sampled_from(ENCODINGS).flatmap(lambda name: st.tuples(st.just(name), newlines, rows(name))),
    st.booleans(),
)
def test_decoding_and_encoding_is_the_identity(case: tuple[str, str, str], marked: bool) -> None:
    encoding, newline, text = case
    body = f"# -*- coding: {encoding} -*-{newline}{text}"
    raw = body.encode(encoding)
    if marked and encoding == "utf-8":
        raw = b"\xef\xbb\xbf" + raw
    document = document_from_bytes(raw, "script.py")
    assert document.text == body
    assert document.encode(document.text) == raw
    assert document.encode(f"{document.text}x = 1\n") == raw + "x = 1\n".encode(encoding)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_unchanged_or_refused(raw: bytes) -> None:
    try:
        document = document_from_bytes(raw, "script.py")
    except DocumentError:
        return
    assert document.encode(document.text) == raw


@given(st.sampled_from(["cp932", "latin-1", "koi8-r", "big5", "iso2022_jp"]), st.binary(max_size=60))
def test_any_bytes_behind_a_cookie_are_read_unchanged_or_refused(encoding: str, noise: bytes) -> None:
    raw = f"# coding: {encoding}\n".encode() + noise
    try:
        document = document_from_bytes(raw, "script.py")
    except DocumentError:
        return
    assert document.encode(document.text) == raw
    try:
        longer = document.encode("# first\n" + document.text)
    except DocumentError:  # ISO-2022-JP's decoder takes bytes (an escape before 0x80) that it never writes
        return
    assert longer.endswith(raw)


def test_a_character_with_two_spellings_keeps_the_one_it_has() -> None:
    """In cp932 both 0x8790 and 0x81e0 are U+2252, and Python writes the latter."""
    raw = b"# coding: cp932\nx = '\x87\x90'\ny = 1\n"
    document = document_from_bytes(raw, "script.py")
    assert document.text == "# coding: cp932\nx = '\u2252'\ny = 1\n"
    assert document.encode(document.text.replace("y = 1", "y = 2")) == raw.replace(b"y = 1", b"y = 2")


@pytest.mark.parametrize(
    ("raw", "text", "encoding"),
    [
        (b"x = 1\r\ny\rz\n", "x = 1\r\ny\rz\n", "utf-8"),
        (b"\xef\xbb\xbfx\n", "x\n", "utf-8"),
        (b"\xef\xbb\xbf# coding: utf-8\n", "# coding: utf-8\n", "utf-8"),
        (b"# coding: utf-8-sig\nx", "# coding: utf-8-sig\nx", "utf-8"),
        (b"#!/usr/bin/python\r# vim: set fileencoding=latin-1 :\r'\xe9'", "'\xe9'", "iso8859-1"),
        (b"\n# coding=cp1252\n'\x80'\n", "'\u20ac'\n", "cp1252"),
        (b"x = 1\n# coding: cp1252\n", "# coding: cp1252\n", "utf-8"),
        (b"#\n#\n# coding: cp1252\n", "# coding: cp1252\n", "utf-8"),
        (b"x\x0cy\n", "x\x0cy\n", "utf-8"),
        (b"", "", "utf-8"),
    ],
)
def test_decoding_is_pythons(raw: bytes, text: str, encoding: str) -> None:
    document = document_from_bytes(raw, "script.py")
    assert document.text.endswith(text)
    assert document.encoding == encoding
    assert len(document.text.encode(encoding)) + len(document.bom) == len(raw)


@pytest.mark.parametrize(
    ("raw", "words", "line"),
    [
        (b"x\ny = '\xe9'\n", "0xe9", 2),
        (b"x\r\ny\r'\xff'\r", "0xff", 3),
        (b"# coding: ascii\n'\xe9'\n", "ascii", 2),
        (b"# coding: nonsense\n", "nonsense", 1),
        (b"\n# coding: rot13\n", "rot13", 2),
        (b"# coding: hex\n", "hex", 1),
        (b"\xef\xbb\xbf# coding: latin-1\n", "latin-1", 1),
        (b"x\n\0\n", "NUL", 2),
        ("import keras\n".encode("utf-16"), "UTF-16", 1),
        ("import keras\n".encode("utf-16-be"), "UTF-16", 1),
        ("import keras\n".encode("utf-32"), "UTF-32", 1),
    ],
)
def test_what_is_no_python_text_is_refused_with_its_line(raw: bytes, words: str, line: int) -> None:
    with pytest.raises(DocumentError, match=words) as caught:
        document_from_bytes(raw, "script.py")
    assert caught.value.line == line


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="No such file"):
        read_document(tmp_path / "gone.py")


def test_texts_that_never_were_files() -> None:
    document = document_from_text("\ufeffx = '\xe9'\r\n", "stdin.py")
    assert (document.path, document.filename, document.text) == (None, "stdin.py", "x = '\xe9'\r\n")
    assert document.raw == b"\xef\xbb\xbfx = '\xc3\xa9'\r\n"
    with pytest.raises(DocumentError, match="NUL"):
        document_from_text("a\0b", "stdin.py")
    with pytest.raises(DocumentError, match="surrogate"):
        document_from_text("a\ud800b", "stdin.py")
    with pytest.raises(ValueError, match="without a file"):
        write(document, document.with_text("y"))


def _file(folder: Path, raw: bytes = b"x = 1\n", name: str = "script.py") -> Document:
    path = folder / name
    path.write_bytes(raw)
    return read_document(path)


def test_writing_keeps_the_mode_and_leaves_nothing_behind(tmp_path: Path) -> None:
    document = _file(tmp_path, b"\xef\xbb\xbfx = 1\r\n")
    assert document.path is not None
    document.path.chmod(0o751)
    changed = document.with_text("x = 2\r\n")
    write(document, changed)
    assert changed.raw == document.path.read_bytes() == b"\xef\xbb\xbfx = 2\r\n"
    assert stat.S_IMODE(document.path.stat().st_mode) == 0o751
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_a_symlink_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    _file(real)
    link = tmp_path / "link.py"
    link.symlink_to(Path("real") / "script.py")
    document = read_document(link)
    write(document, document.with_text("x = 2\n"))
    assert link.is_symlink()
    assert (real / "script.py").read_text() == "x = 2\n"
    assert [path.name for path in real.iterdir()] == ["script.py"]


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    document = _file(tmp_path)
    assert document.path is not None
    document.path.write_bytes(b"x = 3\n")
    with pytest.raises(DocumentError, match="meanwhile"):
        write(document, document.with_text("x = 2\n"))
    assert document.path.read_bytes() == b"x = 3\n"


def test_what_the_encoding_lacks_is_not_written(tmp_path: Path) -> None:
    document = _file(tmp_path, b"# coding: latin-1\nx = 1\n")
    with pytest.raises(DocumentError, match="iso8859-1") as caught:
        write(document, document.with_text("# coding: latin-1\nx = '\u20ac'\n"))
    assert caught.value.line == 2
    assert document.path is not None
    assert document.path.read_bytes() == document.raw


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    document = _file(tmp_path)
    assert document.path is not None
    document.path.chmod(0o444)
    with pytest.raises(DocumentError, match="read-only"):
        write(document, document.with_text("x = 2\n"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_stays(tmp_path: Path) -> None:
    document = _file(tmp_path)
    assert document.path is not None
    os.chown(document.path, 1234, 4321)
    write(document, document.with_text("x = 2\n"))
    assert (document.path.stat().st_uid, document.path.stat().st_gid) == (1234, 4321)


def test_where_the_owner_cannot_be_kept_the_file_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = _file(tmp_path)
    assert document.path is not None
    number = document.path.stat().st_ino
    monkeypatch.setattr("oomlint.documents.replacing._take_over", lambda *_: False)
    write(document, document.with_text("x = 2\n"))
    assert document.path.read_bytes() == b"x = 2\n"
    assert document.path.stat().st_ino == number
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


@pytest.mark.parametrize(
    ("raw", "held"),
    [
        (b"x = 1\r\n\xef\xbb\xbf = 2\n", False),
        (b"\xef\xbb\xbfx = '\xc3\xa9'\n", False),
        (b"# coding: latin-1\nx = '\xe9'\n", True),
        (b"# coding: cp932\nx = '\x87\x90'\n", True),
    ],
)
def test_bytes_that_the_text_gives_back_are_not_kept_beside_it(raw: bytes, held: bool) -> None:
    document = document_from_bytes(raw, "x.py")
    assert document.raw == raw
    assert (document._raw is not None) == held


def test_rows_that_were_let_go_are_found_again() -> None:
    document = document_from_bytes(b"a\nbb\nc", "x.py")
    before = document.lines
    document.forget_lines()
    assert document.lines is not before
    assert (document.lines.count, document.lines.text_of(2)) == (3, "bb")
