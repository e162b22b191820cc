"""The words of a command line that nobody gave."""

from __future__ import annotations

from typing import Any

from oomlint.estimate.worker.absent.stand_ins import Missing


class Words(list[Any]):
    """`sys.argv` of a script that was given nothing: what it takes from there is not known."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int) and key >= len(self):
            return Missing(f"sys.argv[{key}]")
        return super().__getitem__(key)
