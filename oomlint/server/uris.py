"""Addresses as editors write them, and the files that they mean."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

_DRIVE = re.compile(r"/[A-Za-z]:(?:/|$)")


def path_of(uri: str, windows: bool = os.name == "nt") -> str | None:
    """The path of a `file:` address as text; None where it means no file (`untitled:` and others).

    Editors write one drive in two ways, `file:///c%3A/x` and `file:///C:/x`: it comes out in lower case.
    """
    parts = urlsplit(uri)
    if parts.scheme.lower() != "file":
        return None
    path = unquote(parts.path)
    if parts.netloc and parts.netloc.lower() != "localhost":
        path = f"//{unquote(parts.netloc)}{path}"
    elif _DRIVE.match(path):
        path = path[1].lower() + path[2:]
    return path.replace("/", "\\") if windows else path


def uri_of(path: str) -> str:
    """The address of a file."""
    slashed = path.replace("\\", "/") if re.match(r"[A-Za-z]:[\\/]|\\\\", path) else path
    if slashed.startswith("//"):
        return f"file:{quote(slashed)}"
    if slashed[1:2] == ":":
        return f"file:///{slashed[0]}%3A{quote(slashed[2:])}"
    return f"file://{quote(slashed)}"


def filename_of(uri: str, folder: Path) -> tuple[str, Path | None]:
    """The name that a document has in a run, and its file if it is to have one.

    What is in no file is taken for one in `folder`, so that the project's configuration and modules count for it.
    """
    path = path_of(uri)
    if path is not None:
        normal = os.path.normpath(path)
        return normal, Path(normal)
    scheme, _, rest = uri.partition(":")
    name = re.sub(r"[^\w.-]+", "-", unquote(rest)).strip("-") or "document"
    return str(folder / f"{scheme}-{name}"), None
