"""Environments of a script's own, of a class that inherits Gym's: the spaces that it sets are what networks take."""

from __future__ import annotations

from collections.abc import Mapping as Keyed
from typing import Any

import numpy

from oomlint.estimate.worker.absent.stand_ins import Missing

Size = int | tuple[int, ...]
Parts = dict[str, Size]


class Space:
    """A space of an environment: a shape, and how many values it has where they are counted."""

    def __init__(self, size: Size, both: bool = False) -> None:
        counted = isinstance(size, int)
        self.shape = size if isinstance(size, tuple) else (size,) if both else ()
        if counted:
            self.n = size
        elif all(isinstance(one, int) for one in self.shape):  # how far it reaches takes no memory
            self.high: Any = numpy.ones(size, "float32")
            self.low: Any = -self.high

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "n":
            raise AttributeError(name)
        return Missing(f"a space's {name}")


class Spaces(dict[str, Space]):
    """What is observed in parts: the robot, where a thing is and where it should be."""

    @property
    def spaces(self) -> Spaces:
        """Itself."""
        return self


# Shapes of what is observed in the environments that the script made.
OBSERVED: list[tuple[int, ...]] = []
# And of what is done in them, where that is not counted.
ACTED: list[tuple[int, ...]] = []


class Env:
    """What an environment inherits: what it sets is its own, and what happens in it is not known."""

    def __init__(self, *args: Any, **how: Any) -> None:
        pass

    def __setattr__(self, name: str, value: Any) -> None:
        seen = {"observation_space": OBSERVED, "action_space": ACTED}.get(name)
        if seen is not None and isinstance(value, Box) and all(isinstance(one, int) for one in value.shape):
            seen.append(value.shape)
        object.__setattr__(self, name, value)

    def __class_getitem__(cls, kinds: Any) -> Any:
        """`gym.Env[Observation, Action]`."""
        return cls

    @property
    def unwrapped(self) -> Any:
        """Itself."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"env.{name}")


class Box(Space):
    """Arrays between two bounds; of one shape with them, where none is given."""

    def __init__(self, low: Any = None, high: Any = None, shape: Any = None, dtype: Any = None) -> None:
        sizes = numpy.shape(low) or numpy.shape(high) if shape is None else shape
        super().__init__(tuple(sizes) if isinstance(sizes, list | tuple) else (sizes,))
        self.dtype = dtype
        if all(isinstance(one, int) for one in self.shape):
            self.low, self.high = (_filled(bound, self.shape) for bound in (low, high))


def _filled(bound: Any, shape: tuple[int, ...]) -> Any:
    try:
        return numpy.broadcast_to(numpy.asarray(bound, "float32"), shape)
    except Exception:  # a bound that is not known: how far it reaches takes no memory
        return numpy.ones(shape, "float32")


class Discrete(Space):
    """So many values, counted."""

    def __init__(self, n: Any, *args: Any, **how: Any) -> None:
        super().__init__(n)
        self.n = n


class MultiBinary(Space):
    """So many switches."""

    def __init__(self, n: Any, *args: Any, **how: Any) -> None:
        super().__init__(tuple(n) if isinstance(n, list | tuple) else (n,))
        self.n = n


class MultiDiscrete(Space):
    """Several counted values, each with its own count."""

    def __init__(self, nvec: Any, *args: Any, **how: Any) -> None:
        super().__init__((len(nvec),))
        self.nvec = nvec


class Dict(Spaces):
    """Several spaces by name."""

    def __init__(self, spaces: Any = None, *args: Any, **named: Any) -> None:
        super().__init__({**(spaces if isinstance(spaces, Keyed) else dict(spaces or ())), **named})


class Tuple(tuple[Any, ...]):
    """Several spaces in order."""

    @property
    def spaces(self) -> Any:
        """Themselves."""
        return self
