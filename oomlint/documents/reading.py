"""Reading a file as the kind of document that its name says it is."""

from __future__ import annotations

import os
from pathlib import Path

from oomlint.documents.python_file import Document, DocumentError, document_from_bytes, document_from_text

NOTEBOOK_SUFFIX = ".ipynb"
CODE_BLOCK_SUFFIXES = (".md", ".markdown", ".mdx", ".qmd", ".rmd", ".rst", ".rest")


def read(path: Path, filename: str | None = None) -> Document:
    """Read and decode a file. Raises DocumentError."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"cannot be read: {error.strerror or error}") from None
    return document_of(raw, str(path) if filename is None else filename, path)


def content(path: str | Path) -> bytes:
    """The bytes of a file, in fewer calls of the system than `Path.read_bytes`: most files are read for nothing."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        raw = os.read(handle, os.fstat(handle).st_size + 1)
        while more := os.read(handle, 1 << 20):
            raw += more
    finally:
        os.close(handle)
    return raw


def document_of(raw: bytes, filename: str, path: Path | None = None) -> Document:
    """The document that some bytes are. Raises DocumentError."""
    suffix = Path(filename).suffix.lower()
    if suffix == NOTEBOOK_SUFFIX:
        # Imported here: a run over scripts needs no JSON.
        from oomlint.documents.notebook import notebook_from_bytes

        return notebook_from_bytes(raw, filename, path)
    if suffix in CODE_BLOCK_SUFFIXES:
        from oomlint.documents.code_blocks import code_blocks_from_bytes

        return code_blocks_from_bytes(raw, filename, path)
    return document_from_bytes(raw, filename, path)


def document_of_text(text: str, filename: str) -> Document:
    """The document that a text is, which may never have been a file. Raises DocumentError."""
    suffix = Path(filename).suffix.lower()
    if suffix == NOTEBOOK_SUFFIX or suffix in CODE_BLOCK_SUFFIXES:
        return document_of(text.encode("utf-8", errors="replace"), filename)
    return document_from_text(text, filename)
