"""What the user's code may not do in the child process: write elsewhere, use the network, start programs.

An audit hook sees what Python itself does, not what a C library does: it guards against a script's ordinary side
effects, such as a cache folder, a log or a download. TensorFlow's own files (`tf.io.gfile`) are looked at on the way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class RefusedError(PermissionError):
    """The user's code wanted to do something that an estimate does not do."""


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# event -> positions of its arguments that are paths
_CHANGES = {
    "os.mkdir": (0,), "os.remove": (0,), "os.rmdir": (0,), "os.rename": (0, 1), "os.link": (0, 1), "os.symlink": (1,),
    "os.truncate": (0,), "os.chmod": (0,), "os.chown": (0,), "os.utime": (0,), "shutil.rmtree": (0,),
    "shutil.move": (0, 1), "shutil.copyfile": (1,), "shutil.copytree": (1,),
}  # fmt: skip
_REFUSED = {
    "socket.connect": "use the network", "socket.getaddrinfo": "use the network", "socket.bind": "use the network",
    "socket.gethostbyname": "use the network", "urllib.Request": "use the network",
    "socket.sendto": "use the network", "socket.sendmsg": "use the network",
    "subprocess.Popen": "start a program", "os.system": "start a program", "os.exec": "start a program",
    "os.posix_spawn": "start a program", "os.spawn": "start a program", "os.fork": "start a process",
    "os.forkpty": "start a process", "pty.spawn": "start a process", "os.kill": "end a process",
}  # fmt: skip
# functions of TensorFlow's file systems -> positions of their arguments that are paths to be written
_TF_FILES = "tensorflow.python.lib.io.file_io"
_TF_CHANGES = {
    "WritableFile": (0,), "WriteStringToFile": (0,), "CreateDir": (0,), "RecursivelyCreateDir": (0,),
    "DeleteFile": (0,), "DeleteRecursively": (0,), "CopyFile": (1,), "RenameFile": (0, 1),
}  # fmt: skip


class _Guard:
    """The one hook of the process: Python has no way to take a hook back, so it is told when to look."""

    def __init__(self) -> None:
        self.depth = 0
        self.inside = ""
        self.installed = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.depth:
            return
        if event == "open":
            path, mode, flags = arguments
            writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else flags & _WRITING
            if writes:
                self.check(path)
        elif event in _REFUSED:
            raise RefusedError(f"the script wants to {_REFUSED[event]}, which an estimate does not do")
        elif event in _CHANGES:
            for position in _CHANGES[event]:
                self.check(arguments[position])

    def check(self, path: Any) -> None:
        if isinstance(path, int) or path is None or os.fspath(path) in (os.devnull, os.devnull.encode()):
            return
        where = os.path.realpath(os.fsdecode(path))
        if where != self.inside and not where.startswith(self.inside + os.sep):
            raise RefusedError(f"the script wants to write {where}, which an estimate does not do")

    def check_tensorflow(self, name: str, arguments: tuple[Any, ...]) -> None:
        """What TensorFlow's file systems are asked for: of them Python sees nothing."""
        if not self.depth:
            return
        written = _TF_CHANGES.get(name, ())
        for position, argument in enumerate(arguments):
            if not isinstance(argument, (str, bytes)):
                continue
            scheme, found, path = os.fsdecode(argument).partition("://")
            if found and scheme not in ("file", "ram"):
                raise RefusedError("the script wants to use the network, which an estimate does not do")
            if position in written and scheme != "ram":
                self.check(path if found else argument)


class _Files:
    """TensorFlow's module of file systems with a guard before it."""

    def __init__(self, module: Any, guard: _Guard) -> None:
        self._module = module
        self._guard = guard

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if not callable(found):
            return found

        def guarded(*arguments: Any, **options: Any) -> Any:
            self._guard.check_tensorflow(name, arguments)
            return found(*arguments, **options)

        return guarded


_guard = _Guard()


@contextmanager
def confined(folder: Path) -> Iterator[None]:
    """Inside, only `folder` may be written to."""
    if not _guard.installed:
        sys.addaudithook(_guard)
        _guard.installed = True
    files = sys.modules.get(_TF_FILES)
    module = getattr(files, "_pywrap_file_io", None)
    if module is not None and not isinstance(module, _Files):
        files._pywrap_file_io = _Files(module, _guard)  # type: ignore[union-attr]
    _guard.inside = os.path.realpath(folder)
    _guard.depth += 1
    try:
        yield
    finally:
        _guard.depth -= 1
