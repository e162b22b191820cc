"""Reading a file as the kind of document that its name says it is."""

from __future__ import annotations

from pathlib import Path

from oomlint.documents.python_file import Document, DocumentError, document_from_bytes

NOTEBOOK_SUFFIX = ".ipynb"


def read(path: Path, filename: str | None = None) -> Document:
    """Read and decode a file. Raises DocumentError."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"cannot be read: {error.strerror or error}") from None
    return document_of(raw, str(path) if filename is None else filename, path)


def document_of(raw: bytes, filename: str, path: Path | None = None) -> Document:
    """The document that some bytes are. Raises DocumentError."""
    return document_from_bytes(raw, filename, path)
