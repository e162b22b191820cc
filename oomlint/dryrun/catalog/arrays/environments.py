"""Gym and Gymnasium: what an environment shows, where its name or a wrapper tells."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from oomlint.dryrun.catalog.registry import attribute, function, method, prefix
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import NONE, Const, Mapping, Namespace, Sequence, Step, Unknown, Value, deref
from oomlint.dryrun.values.dtypes import dtype_of
from oomlint.dryrun.values.shapes import dim_of, shape_of
from oomlint.syntax.children import code_children

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@dataclass(frozen=True, slots=True, eq=False)
class Environment(Value):
    """An environment and one observation of it, where that is known."""

    api: ClassVar[str] = "gym.Env"
    observation: Array | None = None


# Observations by environment, without the version: shape and dtype as the libraries' documentation has them.
VECTORS = {
    "CartPole": 4, "MountainCar": 2, "MountainCarContinuous": 2, "Acrobot": 6, "Pendulum": 3, "LunarLander": 8,
    "LunarLanderContinuous": 8, "BipedalWalker": 24, "BipedalWalkerHardcore": 24,
}  # fmt: skip
PICTURES = {"CarRacing": (96, 96, 3), "SuperMarioBros": (240, 256, 3)}
ATARI = frozenset(
    """Adventure AirRaid Alien Amidar Assault Asterix Asteroids Atlantis BankHeist BattleZone BeamRider Berzerk Bowling
    Boxing Breakout Carnival Centipede ChopperCommand CrazyClimber Defender DemonAttack DoubleDunk ElevatorAction Enduro
    FishingDerby Freeway Frostbite Gopher Gravitar Hero IceHockey Jamesbond JourneyEscape Kangaroo Krull KungFuMaster
    MontezumaRevenge MsPacman NameThisGame Phoenix Pitfall Pong Pooyan PrivateEye Qbert Riverraid RoadRunner Robotank
    Seaquest Skiing Solaris SpaceInvaders StarGunner Tennis TimePilot Tutankham UpNDown Venture VideoPinball WizardOfWor
    YarsRevenge Zaxxon""".split()
)
_ID = re.compile(
    r"(?:ALE/)?([A-Za-z]+?)(-ram|-ramNoFrameskip|-ramDeterministic|NoFrameskip|Deterministic)?-v\d+"
)


@function("gym.make", "gymnasium.make", "gym_super_mario_bros.make", parameters="id")
def make(call: Call, run: Run) -> Value:
    """An environment by its name."""
    name = call.const("id")
    found = _ID.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        return Environment()
    kind = found[1]
    if kind in VECTORS:
        return _showing(call, (VECTORS[kind],), "float32")
    if kind in PICTURES:
        return _showing(call, PICTURES[kind], "uint8")
    if kind in ATARI:
        return _showing(call, (128,) if (found[2] or "").startswith("-ram") else (210, 160, 3), "uint8")
    return Environment()


def _showing(call: Call, sizes: tuple[int, ...], dtype: str) -> Environment:
    step = Step(f"observations of {call.const('id')}", call.place)
    return Environment(Array("numpy", tuple(Const(size, (step,)) for size in sizes), dtype, step))


# --- wrappers -----------------------------------------------------------------------------------------


@prefix("gym.wrappers.", "gymnasium.wrappers.")
def wrapped(call: Call, run: Run) -> Value:
    """Most wrappers leave observations as they are; some make them smaller or stack them."""
    env = call.value("env") or (deref(call.arguments[0].value) if call.arguments else None)
    if not isinstance(env, Environment):
        return Environment()
    name, seen = call.name.rpartition(".")[2], env.observation
    step = Step(name, call.place)
    if name == "AtariPreprocessing":
        return _preprocessed(call, step)
    if seen is None or seen.shape is None:
        return env
    if name in ("FrameStack", "FrameStackObservation"):
        given = call.argument("num_stack") or call.argument("stack_size")
        count = (
            given.value if given is not None else call.arguments[1].value if len(call.arguments) > 1 else None
        )
        return Environment(replace(seen, shape=(dim_of(count), *seen.shape), origin=step))
    if name == "ResizeObservation":
        given = call.argument("shape")
        sides = shape_of(given.value if given is not None else call.arguments[-1].value)
        sides = (*sides, *sides) if sides is not None and len(sides) == 1 else sides
        return Environment(
            None if sides is None else replace(seen, shape=(*sides, *seen.shape[2:]), origin=step)
        )
    if name in ("GrayScaleObservation", "GrayscaleObservation"):
        keep = call.const("keep_dim", False) is True
        return Environment(replace(seen, shape=(*seen.shape[:2], *((Const(1),) if keep else ()))))
    if "Observation" in name and name not in ("TimeAwareObservation", "RecordEpisodeStatistics"):
        return Environment()
    return env


def _preprocessed(call: Call, step: Step) -> Environment:
    """Atari as the DQN paper has it: 84 by 84, grey, bytes unless scaled."""
    side: Dim = (
        dim_of(call.value("screen_size")) if call.argument("screen_size") is not None else Const(84, (step,))
    )
    grey = call.const("grayscale_obs", True) is not False
    scaled = call.const("scale_obs", False) is True
    shape = (side, side) if grey else (side, side, Const(3))
    return Environment(Array("numpy", shape, "float32" if scaled else "uint8", step))


# --- using them ---------------------------------------------------------------------------------------


def _seen(call: Call) -> Value:
    env = call.receiver
    return env.observation if isinstance(env, Environment) and env.observation is not None else Unknown()


def _unpacked(call: Call) -> int:
    """Into how many targets the statement takes the result apart."""
    line = call.statement.node if call.statement is not None else None
    match line.body[0] if isinstance(line, cst.SimpleStatementLine) else None:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(elements=elements))], value=value):
            return len(elements) if value is call.node else 0
    return 0


@method(Environment, "reset")
def reset(call: Call, run: Run) -> Value:
    """The first observation; with `state, info = ...` or `...[0]` in newer versions, which tells them from old ones."""
    return (
        Sequence("tuple", items=[_seen(call), Mapping(complete=False)])
        if _unpacked(call) == 2 or _first_taken(call)
        else _seen(call)
    )


def _first_taken(call: Call) -> bool:
    """`env.reset()[0]`: nobody wants the first number of an observation."""
    stack = [call.statement.node] if call.statement is not None else []
    while stack:
        node = stack.pop()
        match node:
            case cst.Subscript(
                value=value, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer(value="0")))]
            ) if value is call.node:
                return True
        if not isinstance(node, cst.BaseSuite):
            stack.extend(code_children(node))
    return False


@method(Environment, "step", parameters="action")
def advance(call: Call, run: Run) -> Value:
    """Observation, reward, done (in newer versions terminated and truncated), and more."""
    ends: list[Value] = [Unknown(type="bool") for _ in range(2 if _unpacked(call) == 5 else 1)]
    return Sequence("tuple", items=[_seen(call), Unknown(type="float"), *ends, Mapping(complete=False)])


@method(Environment, "render", "close", "seed")
def nothing(call: Call, run: Run) -> Value:
    """Nothing that is followed."""
    return NONE


@attribute(Environment, "observation_space")
def observation_space(value: Value, run: Run) -> Value:
    """Its shape is that of an observation."""
    assert isinstance(value, Environment)
    seen = value.observation
    if seen is None or seen.shape is None:
        return Unknown()
    return _space(seen)


@function("gym.spaces.Box", "gymnasium.spaces.Box", parameters="low high shape dtype")
def box(call: Call, run: Run) -> Value:
    """A space of arrays, as wrappers declare what they show."""
    low, shape = call.value("low"), call.argument("shape")
    dims = shape_of(shape.value) if shape is not None else low.shape if isinstance(low, Array) else None
    if dims is None:
        return Unknown()
    dtype = call.argument("dtype")
    return _space(
        Array("numpy", dims, "float32" if dtype is None else dtype_of(dtype.value), Step("Box", call.place))
    )


def _space(seen: Array) -> Namespace:
    dims: list[Value] = [dim if dim is not None else Unknown(type="int") for dim in seen.shape or ()]
    return Namespace({"shape": Sequence("tuple", items=dims), "low": seen, "high": seen})


@attribute(Environment, "action_space", "spec", "reward_range")
def other(value: Value, run: Run) -> Value:
    """Not followed."""
    return Unknown()


@attribute(Environment, "unwrapped", "env")
def inner(value: Value, run: Run) -> Value:
    """What is inside shows the same, as far as this goes."""
    return value
