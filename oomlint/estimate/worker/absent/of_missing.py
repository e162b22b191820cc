"""What a class of the script's inherits from one of a library that is not installed."""

from __future__ import annotations

from typing import Any

from oomlint.estimate.worker.absent.stand_ins import Missing


class OfMissing:
    """What a class inherits from one that is not there: it takes any arguments, and its attributes are not known."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Missing(f"self.{name}")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and key.isidentifier():  # `settings["units"]` is asked for as `units`
            return Missing(f"self.{key}")
        raise KeyError(key)
