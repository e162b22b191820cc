"""Replace a file's content in one step, so that a crash leaves the old file or the new one."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from io import FileIO
from pathlib import Path


class ChangedMeanwhile(Exception):
    """The file no longer holds what was read."""


def replace_file(target: Path, expected: bytes, content: bytes) -> None:
    """Put `content` in the file `target` (no symlink), if it still holds `expected`.

    Mode and owner stay. Where a new file could not have the same owner, or the folder takes no
    new file, the old one is written in place.
    """
    if target.read_bytes() != expected:
        raise ChangedMeanwhile
    _replace(target, expected, content)


def write_file(target: Path, content: bytes) -> None:
    """Put `content` in a file, whether it is there or not: whole or not at all, but for pipes and devices."""
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    target = target.resolve()
    if target.exists():
        _replace(target, target.read_bytes(), content)
    else:
        create_file(target, content)


def _replace(target: Path, expected: bytes, content: bytes) -> None:
    if not os.access(target, os.W_OK):
        # Renaming over a read-only file would work; but somebody said hands off.
        raise PermissionError(errno.EACCES, "the file is read-only", str(target))
    before = target.stat()
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent)
    except PermissionError:
        _overwrite(target, expected, content)
        return
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as new:
            new.write(content)
            new.flush()
            os.fsync(new.fileno())
        if _take_over(temporary, before):
            temporary.replace(target)
        else:
            _overwrite(target, expected, content)
    finally:
        temporary.unlink(missing_ok=True)


def create_file(target: Path, content: bytes) -> None:
    """Make a file that was not there, whole or not at all."""
    temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _overwrite(target: Path, before: bytes, content: bytes) -> None:
    # Not emptied first: where there is no room for the rest, what was there still has its place on the disk.
    with target.open("r+b", buffering=0) as file:
        try:
            _write_all(file, content)
            file.truncate()
        except OSError:
            with suppress(OSError):
                file.seek(0)
                _write_all(file, before)
                file.truncate()
            raise


def _write_all(file: FileIO, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def _take_over(temporary: Path, before: os.stat_result) -> bool:
    now = temporary.stat()
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.chown(temporary, before.st_uid, before.st_gid)
        except (OSError, AttributeError):
            return False
    # after chown, which clears the set-user-id bits
    temporary.chmod(stat.S_IMODE(before.st_mode))
    return True
