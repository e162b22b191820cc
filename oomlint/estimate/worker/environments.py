"""Environments of Gym and Gymnasium where neither is installed: the spaces of those that they bring.

Sizes are those of Gymnasium's documentation (gymnasium.farama.org/environments, "Observation Space" and "Action
Space" of each page); environments whose spaces differ between versions are left out. A wrapped one is not known.
"""

from __future__ import annotations

import re
from typing import Any

from oomlint.estimate.worker.stand_ins import Missing

# A number is a discrete space, a tuple the shape of a box: (observations, actions).
_SPACES: dict[str, tuple[int | tuple[int, ...], int | tuple[int, ...]]] = {
    "CartPole": ((4,), 2),
    "MountainCar": ((2,), 3),
    "MountainCarContinuous": ((2,), (1,)),
    "Pendulum": ((3,), (1,)),
    "Acrobot": ((6,), 3),
    "LunarLander": ((8,), 4),
    "LunarLanderContinuous": ((8,), (2,)),
    "BipedalWalker": ((24,), (4,)),
    "BipedalWalkerHardcore": ((24,), (4,)),
    "CarRacing": ((96, 96, 3), (3,)),
    "FrozenLake": (16, 4),
    "FrozenLake8x8": (64, 4),
    "CliffWalking": (48, 4),
    "Taxi": (500, 6),
    "HalfCheetah": ((17,), (6,)),
    "Hopper": ((11,), (3,)),
    "Walker2d": ((17,), (6,)),
    "Swimmer": ((8,), (2,)),
    "InvertedPendulum": ((4,), (1,)),
}
# Atari games as pictures, with the actions that mean something in them.
_ACTIONS = {
    "Pong": 6,
    "Breakout": 4,
    "SpaceInvaders": 6,
    "Qbert": 6,
    "MsPacman": 9,
    "Seaquest": 18,
    "Freeway": 3,
}
_SCREEN = (210, 160, 3)
_NAME = re.compile(r"(?:ALE/)?(\w+?)(NoFrameskip|Deterministic)?-v\d+")

MODULES = ("gym", "gymnasium")


class Space:
    """A space of an environment: a shape, and how many values it has where they are counted."""

    def __init__(self, size: int | tuple[int, ...], both: bool = False) -> None:
        counted = isinstance(size, int)
        self.shape = size if isinstance(size, tuple) else (size,) if both else ()
        if counted:
            self.n = size

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "n":
            raise AttributeError(name)
        return Missing(f"a space's {name}")


class Environment:
    """What a model is made from: the spaces. What happens in it is not known."""

    def __init__(self, observations: int | tuple[int, ...], actions: int | tuple[int, ...]) -> None:
        self.observation_space = Space(observations)
        self.action_space = Space(actions)

    @property
    def unwrapped(self) -> Environment:
        """Itself."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"env.{name}")


class Gym(Missing):
    """The library that is not installed."""

    def make(self, name: Any = "", *args: Any, **kwargs: Any) -> Any:
        """An environment by its name."""
        found = _NAME.fullmatch(name) if isinstance(name, str) else None
        game = "" if found is None else found[1]
        if game in _SPACES and found is not None and not found[2]:
            return Environment(*_SPACES[game])
        if game in _ACTIONS:
            return Environment(_SCREEN, _ACTIONS[game])
        return self._derived(f"{self.oomlint_name}.make(...)")


def instead_of(error: BaseException, name: str, line: int) -> Missing | None:
    """For an import that failed: what stands for Gym, if it is that."""
    if isinstance(error, ModuleNotFoundError) and error.name in MODULES and name:
        return Gym(name, line, error)
    return None
