"""Whether bytes hold a word, by the C library where it can tell: most files of a large project cost only that.

Over 79 MB of files that hold neither of two words Python's own `in` takes 102 ms, `memmem` 52, and to read them 70
(`benchmarks/speed/without_keras.py`: a check of them took 2.7 times the reading with the one, 2.0 with the other).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

Search = Callable[[bytes, bytes], bool]


def by_python(raw: bytes, word: bytes) -> bool:
    """Whether `raw` holds `word`."""
    return word in raw


def _by_c() -> Search:
    """The same by `memmem`, which GNU's, musl's and Apple's libraries have and Microsoft's has not."""
    try:
        memmem = ctypes.PyDLL(None).memmem
    except (AttributeError, OSError, TypeError):
        return by_python
    memmem.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
    memmem.restype = ctypes.c_void_p
    return lambda raw, word: memmem(raw, len(raw), word, len(word)) is not None


contains = _by_c()
