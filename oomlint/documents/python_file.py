"""A Python file as bytes and as text, and back without changing a byte that was not edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path

from oomlint.documents import replacing
from oomlint.documents.encodings import UTF8_BOM, UnknownEncoding, encoding_of, wide_encoding
from oomlint.documents.lines import LineIndex, Location
from oomlint.documents.text_edits import TextEdit, apply_edits


class DocumentError(Exception):
    """A file that cannot be read as a Python file, or not be written back."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Document:
    """One Python file. `text` has no mark (BOM), and newlines as they are in the file."""

    __slots__ = ("__weakref__", "_lines", "_raw", "bom", "encoding", "filename", "path", "text")

    def __init__(
        self, path: Path | None, filename: str, raw: bytes, text: str, encoding: str, bom: bytes = b""
    ) -> None:
        self.path = path
        self.filename = filename
        self.text = text
        self.encoding = encoding
        self.bom = bom
        # A run keeps all of its documents: bytes that the text gives back are not held beside it.
        given_back = encoding == "utf-8" and raw == bom + text.encode("utf-8", "surrogatepass")
        self._raw = None if given_back else raw
        self._lines: LineIndex | None = None

    def __repr__(self) -> str:
        return f"Document({self.filename!r}, {len(self.raw)} bytes, {self.encoding})"

    @property
    def raw(self) -> bytes:
        """The file's bytes."""
        return self.bom + self.text.encode("utf-8") if self._raw is None else self._raw

    @property
    def lines(self) -> LineIndex:
        """The rows of the text, found when first asked for."""
        if self._lines is None:
            self._lines = LineIndex(self.text)
        return self._lines

    def forget_lines(self) -> None:
        """Let the rows go, which take twice the text's memory, until somebody asks for them again."""
        self._lines = None

    @property
    def is_whole(self) -> bool:
        """Whether the text is all of the file, and not the program in a notebook or document."""
        return True

    @property
    def runs(self) -> bool:
        """Whether somebody runs it as it is; the examples of a text are copied into a program of one's own."""
        return True

    @property
    def keeps_process(self) -> bool:
        """Whether the process that runs it stays when it is done, on a machine that others use too."""
        return False

    @property
    def requirements(self) -> tuple[str, ...]:
        """What it installs itself, as pip takes it, the last first."""
        return ()

    def location(self, offset: int) -> Location:
        """The place of an offset of the text, as a report names it."""
        return self.lines.location(offset)

    def offset(self, location: Location) -> int:
        """The offset in the text of a place that :meth:`location` gave."""
        return self.lines.offset(location.row, location.column)

    def shown(self, start: int, end: int) -> tuple[str, ...]:
        """The rows of a span of the text as they stand in the file, without their newlines."""
        lines = self.lines
        return tuple(lines.text_of(row) for row in range(lines.row(start), lines.row(end) + 1))

    def readable(self) -> Iterator[tuple[str, str]]:
        """What a person reads of the file: all of it, or cell by cell, each with what its name ends in."""
        yield "", self.text

    def encode(self, new_text: str) -> bytes:
        """`new_text` in this file's encoding; rows that did not change keep their very bytes."""
        if new_text == self.text:
            return self.raw
        try:
            body = new_text.encode(self.encoding)
            if self.text.encode(self.encoding) == self.raw[len(self.bom) :]:
                return self.bom + body
            return self.bom + self._encode_by_rows(new_text)
        except UnicodeEncodeError as error:
            raise self._not_encodable(new_text, error.start) from None
        except UnicodeError as error:
            raise DocumentError(f"the change cannot be written as {self.encoding}: {error}") from None

    def with_edits(self, edits: Iterable[TextEdit]) -> Document:
        """The same file after edits of its text, not written yet. Raises DocumentError or ValueError."""
        return self.with_text(apply_edits(self.text, edits))

    def with_text(self, new_text: str) -> Document:
        """The same file with another text, not written yet."""
        return Document(self.path, self.filename, self.encode(new_text), new_text, self.encoding, self.bom)

    def _encode_by_rows(self, new_text: str) -> bytes:
        # Some encodings have two spellings of one character (cp932's NEC row), so that encoding the
        # whole text would change bytes far from the edit: only the rows that changed are encoded.
        rows = self.raw[len(self.bom) :].splitlines(keepends=True)
        texts = [row.decode(self.encoding) for row in rows]
        if "".join(texts) != self.text:
            raise DocumentError(f"{self.encoding} text cannot be changed row by row; save the file as UTF-8")
        new_rows = _split_like(new_text)
        parts: list[bytes] = []
        for tag, low, high, new_low, new_high in SequenceMatcher(None, texts, new_rows, False).get_opcodes():
            if tag == "equal":
                parts += rows[low:high]
            else:
                parts.append("".join(new_rows[new_low:new_high]).encode(self.encoding))
        body = b"".join(parts)
        if body.decode(self.encoding) != new_text:
            raise DocumentError(f"the change cannot be written as {self.encoding}; save the file as UTF-8")
        return body

    def _not_encodable(self, new_text: str, offset: int) -> DocumentError:
        line = LineIndex(new_text).row(offset)
        return DocumentError(
            f"{new_text[offset]!r} cannot be written in the file's encoding, {self.encoding}", line
        )


def _split_like(text: str) -> list[str]:
    # bytes.splitlines ends a row at \n, \r\n and \r only; str.splitlines at much more
    lines = LineIndex(text)
    return [text[lines.start(row) : lines.next_start(row)] for row in range(1, lines.count + 1)]


def read_document(path: Path, filename: str | None = None) -> Document:
    """Read and decode a file."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"cannot be read: {error.strerror or error}") from None
    return document_from_bytes(raw, str(path) if filename is None else filename, path)


def document_from_bytes(raw: bytes, filename: str, path: Path | None = None) -> Document:
    """Decode the bytes of a Python file as Python would."""
    wide = wide_encoding(raw)
    if wide is not None:
        raise DocumentError(f"is {wide.upper()} text, which Python does not run; save it as UTF-8", 1)
    if b"\0" in raw:
        raise DocumentError("contains NUL bytes, so it is not Python source", _row(raw, raw.index(b"\0")))
    try:
        encoding = encoding_of(raw)
    except UnknownEncoding as error:
        raise DocumentError(error.reason, error.line) from None
    bom = UTF8_BOM if raw.startswith(UTF8_BOM) else b""
    body = raw[len(bom) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        # error.object is what the codec worked on, which for stateful codecs need not be `body`
        bad = body[error.start] if error.start < len(body) else 0
        declare = "; declare its encoding or save it as UTF-8" if encoding == "utf-8" else ""
        raise DocumentError(
            f"byte 0x{bad:02x} is not valid {encoding}{declare}", _row(body, error.start)
        ) from None
    except UnicodeError as error:
        raise DocumentError(f"is not valid {encoding}: {error}") from None
    if "\0" in text:
        raise DocumentError("contains NUL characters, so it is not Python source")
    return Document(path, filename, raw, text, encoding, bom)


def document_from_text(text: str, filename: str) -> Document:
    """A document that never was a file: an editor's buffer, a test, an example."""
    if "\0" in text:
        raise DocumentError("contains NUL characters, so it is not Python source")
    bom = UTF8_BOM if text.startswith("\ufeff") else b""
    body = text.removeprefix("\ufeff")
    try:
        raw = bom + body.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DocumentError("contains half a surrogate pair", LineIndex(body).row(error.start)) from None
    return Document(None, filename, raw, body, "utf-8", bom)


def write(document: Document, changed: Document) -> None:
    """Write what has become of a document to its file, if the file still holds the document."""
    if document.path is None:
        raise ValueError("a document without a file cannot be written")
    try:
        replacing.replace_file(document.path.resolve(), document.raw, changed.raw)
    except replacing.ChangedMeanwhile:
        raise DocumentError("was changed by somebody else meanwhile, so it was left alone") from None
    except OSError as error:
        raise DocumentError(f"cannot be written: {error.strerror or error}") from None


def _row(raw: bytes, offset: int) -> int:
    head = raw[:offset]
    return 1 + head.count(b"\n") + head.replace(b"\r\n", b"\n").count(b"\r")
