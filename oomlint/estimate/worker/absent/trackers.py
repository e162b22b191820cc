"""A stand-in for Weights & Biases: scripts keep their sizes in `wandb.config`, and nothing of it may run here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.absent.stand_ins import Missing


class Config(dict[str, Any]):
    """`wandb.config`: what `init` was given and what the script sets, as keys and as attributes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name] if name in self else Missing(f"wandb.config.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def setdefaults(self, values: Mapping[str, Any]) -> None:
        """Keep what is there."""
        for name, value in values.items():
            self.setdefault(name, value)


@contextmanager
def wandb() -> Iterator[None]:
    """Inside, `wandb` is a module that only remembers its configuration."""
    module = ModuleType("wandb")
    config = Config()
    run = Missing("wandb.run")

    def init(*args: Any, config: Any = None, **kwargs: Any) -> Any:
        if isinstance(config, Mapping):
            module.config.update(config)
        return run

    def unknown(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"wandb.{name}")

    run.__dict__["config"] = config
    module.__dict__.update(config=config, init=init, run=run, __path__=[], __getattr__=unknown)
    keras = ModuleType("wandb.keras")
    keras.__dict__.update(__getattr__=unknown)
    with patch.dict(sys.modules, {"wandb": module, "wandb.keras": keras, "wandb.integration.keras": keras}):
        yield
