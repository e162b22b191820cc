"""Environments of Gym and Gymnasium where neither is installed, or makes one no more: the spaces of those they bring.

Sizes are those that Gymnasium 1.4 (with mujoco, box2d and ale-py 0.12) gives, asked one by one; of versions that it
no longer makes, those of its documentation (gymnasium.farama.org/environments, "Version History" of each page). What
an argument makes other than that is not known, unless it is told below.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy

from oomlint.estimate.worker.absent import own_environments
from oomlint.estimate.worker.absent.own_environments import ACTED, OBSERVED, Parts, Size, Space, Spaces
from oomlint.estimate.worker.absent.stand_ins import Data, Missing

# A number is a discrete space, a tuple the shape of a box: (observations, actions).
_SPACES: dict[str, tuple[Size, Size]] = {
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
    "CliffWalkingSlippery": (48, 4),
    "Taxi": (500, 6),
    "HalfCheetah": ((17,), (6,)),
    "Hopper": ((11,), (3,)),
    "Walker2d": ((17,), (6,)),
    "Swimmer": ((8,), (2,)),
    "InvertedPendulum": ((4,), (1,)),
    "Pusher": ((23,), (7,)),
}
# What is observed changed with a version: the one it came with, from the newest, and the actions.
_OBSERVED_SINCE: dict[str, tuple[dict[int, Size], Size]] = {
    "Ant": ({5: (105,), 4: (27,), 2: (111,)}, (8,)),
    "Humanoid": ({5: (348,), 2: (376,)}, (17,)),
    "HumanoidStandup": ({5: (348,), 2: (376,)}, (17,)),
    "InvertedDoublePendulum": ({5: (9,), 2: (11,)}, (1,)),
    "Reacher": ({5: (10,), 2: (11,)}, (2,)),
}
# Robot arms with goals (Gymnasium-Robotics, "Fetch"): how many numbers tell what is observed; three are a place.
_ARMS = {"Reach": 10, "Push": 25, "Slide": 25, "PickAndPlace": 25}
# Atari games, by how many actions mean something in them.
_GAMES = {
    3: "Freeway Skiing",
    4: "Atlantis Breakout Kaboom",
    5: "Frogger Surround Tetris",
    6: "AirRaid Bowling Carnival DemonAttack Galaxian KingKong NameThisGame Pong Pooyan Qbert SpaceInvaders UpNDown",
    7: "Assault",
    8: "Gopher Phoenix Tutankham",
    9: "Asterix BeamRider CrazyClimber Enduro MsPacman VideoPinball",
    10: "Amidar TimePilot WizardOfWor",
    14: "Asteroids KungFuMaster",
    16: "JourneyEscape",
    18: "Adventure Alien BankHeist BattleZone Berzerk Boxing Centipede ChopperCommand Defender DonkeyKong DoubleDunk"
    " ElevatorAction FishingDerby Frostbite Gravitar Hero IceHockey Jamesbond Kangaroo Krull MontezumaRevenge Pitfall"
    " PrivateEye Riverraid RoadRunner Robotank Seaquest Solaris StarGunner Tennis Venture YarsRevenge Zaxxon",
}
_ACTIONS = {game: count for count, games in _GAMES.items() for game in games.split()}
_EVERY_ACTION = 18
# Rows of the screen, 160 points in each, where they are not 210.
_ROWS = {
    "Carnival": 214,
    "Pooyan": 220,
    "JourneyEscape": 230,
    "AirRaid": 250,
    "KingKong": 250,
    "Adventure": 250,
}
_MEMORY = (128,)
_NAME = re.compile(r"(?:ALE/)?(\w+?)(-ram)?(NoFrameskip|Deterministic)?-v(\d+)")
# Arguments that change a space in a way that is not followed here.
_OPEN = re.compile(r"desc|xml_file|exclude_\w+|include_\w+|use_contact_forces")

MODULES = ("gym", "gymnasium")


class Environment(own_environments.Env):
    """What a model is made from: the spaces. What happens in it is not known."""

    def __init__(self, observations: Size | Parts, actions: Size) -> None:
        if isinstance(observations, tuple):
            OBSERVED.append(observations)
        if isinstance(actions, tuple):
            ACTED.append(actions)
        self.observation_space: Space | Spaces = (
            Spaces({name: Space(size) for name, size in observations.items()})
            if isinstance(observations, dict)
            else Space(observations)
        )
        self.action_space = Space(actions)

    def reset(self, *args: Any, **how: Any) -> Any:
        """What is observed at first: of its values nothing is known, its shape is."""
        size = getattr(self.observation_space, "shape", None)
        if not isinstance(size, tuple) or not size or not all(isinstance(one, int) for one in size):
            return Missing("env.reset(...)")
        return Observation(size, "float32")


class Observation(Data):
    """What an environment gives at first. Since Gym 0.26 something else comes with it: `state, info = env.reset()`."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self, Missing("info")))

    def __getitem__(self, key: Any) -> Any:
        return self if key == 0 else super().__getitem__(key)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.zeros(self.sizes, dtype or "float32")


class Wrapping:
    """What wrappers of environments inherit: they have the spaces of what they wrap, if they set no others."""

    def __init__(self, env: Any = None, *args: Any, **how: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)


class Gym(Missing):
    """The library that is not installed, or its module of spaces."""

    @property
    def spaces(self) -> Gym:
        """`gym.spaces.Box`: everything is found here."""
        return self

    def make(self, name: Any = "", *args: Any, **how: Any) -> Any:
        """An environment by its name."""
        name = how.pop("id", name)
        found = _NAME.fullmatch(name) if isinstance(name, str) else None
        spaces = None if found is None or any(map(_OPEN.fullmatch, how)) else _spaces(found, how)
        if spaces is None:
            return self._derived(f"{self.oomlint_name}.make(...)")
        return Environment(*spaces)

    Wrapper = ObservationWrapper = ActionWrapper = RewardWrapper = Wrapping
    Env, GoalEnv = own_environments.Env, own_environments.Env
    Box, Discrete, MultiBinary = own_environments.Box, own_environments.Discrete, own_environments.MultiBinary
    MultiDiscrete, Dict, Tuple = own_environments.MultiDiscrete, own_environments.Dict, own_environments.Tuple


def _spaces(found: re.Match[str], how: dict[str, Any]) -> tuple[Size | Parts, Size] | None:
    """Observations and actions of an environment whose name was read, made with those arguments."""
    name, version = found[1], int(found[4])
    if name in _ACTIONS:
        return _of_game(name, found[2] is not None, how)
    if found[2] or found[3]:
        return None
    if name in _OBSERVED_SINCE:
        observed, actions = _OBSERVED_SINCE[name]
        size = next((size for since, size in observed.items() if version >= since), None)
        return None if size is None else (size, actions)
    task = name.removeprefix("Fetch").removesuffix("Dense")
    if name.startswith("Fetch") and task in _ARMS:
        return {"observation": (_ARMS[task],), "achieved_goal": (3,), "desired_goal": (3,)}, (4,)
    if name == "LunarLander" and how.get("continuous") is True:
        return _SPACES["LunarLanderContinuous"]
    if name == "CarRacing" and how.get("continuous") is False:
        return _SPACES[name][0], 5
    if name == "FrozenLake" and how.get("map_name", "4x4") != "4x4":
        return _SPACES["FrozenLake8x8"] if how["map_name"] == "8x8" else None
    return _SPACES.get(name)


def _of_game(name: str, memory: bool, how: dict[str, Any]) -> tuple[Size, Size] | None:
    """Those of an Atari game: its screen, in colours or shades, or its memory."""
    rows = _ROWS.get(name, 210)
    seen = how.get("obs_type", "ram" if memory else "rgb")
    screens: dict[Any, Size] = {
        "rgb": (rows, 160, 3),
        "grayscale": (rows, 160),
        "ram": _MEMORY,
        "image": (rows, 160, 3),
    }
    if not isinstance(seen, str) or seen not in screens:
        return None
    return screens[seen], _EVERY_ACTION if how.get("full_action_space") is True else _ACTIONS[name]


def instead_of(error: BaseException, name: str, line: int) -> Any:
    """For an import that failed: what stands for Gym, or for a class of it, if it is that."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in MODULES and name:
        kind = vars(Gym).get(name)
        return kind if isinstance(kind, type) else Gym(name, line, error)
    return None


@contextmanager
def replaced_where_they_fail(text: str) -> Iterator[None]:
    """Inside, what an installed library no longer makes (`Pendulum-v0`), or makes only with others, has its spaces."""
    with ExitStack() as stack:
        for name in MODULES:
            if re.search(rf"\b{name}\b", text) is None or (
                name not in sys.modules and find_spec(name) is None
            ):
                continue
            try:
                library = import_module(name)
                made = _or_its_spaces(library.make)
            except Exception:  # one that does not go with the NumPy that is installed, say
                continue
            stack.enter_context(patch.object(library, "make", made))
        yield


def _or_its_spaces(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def make(*args: Any, **how: Any) -> Any:
        try:
            found = original(*args, **how)
        except Exception:
            spaces = Gym("gym").make(*args, **how)
            if isinstance(spaces, Environment):
                return spaces
            raise
        for space, shapes in (("observation_space", OBSERVED), ("action_space", ACTED)):
            shape = getattr(getattr(found, space, None), "shape", None)
            if isinstance(shape, tuple) and shape:
                shapes.append(tuple(map(int, shape)))
        return found

    return make
