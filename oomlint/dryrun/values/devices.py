"""Physical devices: lists of them, single ones, how many there are; and the number of replicas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from oomlint.dryrun.values.base import Const, Value
from oomlint.syntax.place import Place


@dataclass(frozen=True, slots=True)
class DeviceList(Value):
    """What `tf.config.list_physical_devices` gives, or a part of it.

    `kind` is GPU, CPU or `` (every kind). Of a part (`gpus[1:]`), `first` and `last` are its bounds as
    in a slice; `partial` says that it may leave devices out.
    """

    api: ClassVar[str] = "builtins.list"
    kind: str = ""
    logical: bool = False
    partial: bool = False
    first: int | None = None
    last: int | None = None
    tags: frozenset[str] = frozenset({"devices"})

    @property
    def single(self) -> bool:
        """A slice that holds one device (`gpus[:1]`, `gpus[2:3]`)."""
        return self.last is not None and self.last - (self.first or 0) == 1


@dataclass(frozen=True, slots=True)
class Device(Value):
    """One device of a list: the one at `index`, or (`each`) every one in turn."""

    api: ClassVar[str] = "tf.config.PhysicalDevice"
    of: DeviceList
    index: int | None = None
    each: bool = False


@dataclass(frozen=True, slots=True)
class DeviceCount(Value):
    """How many devices a list has."""

    api: ClassVar[str] = "builtins.int"
    of: DeviceList
    tags: frozenset[str] = frozenset({"devices"})


@dataclass(frozen=True, slots=True)
class ReplicaCount(Value):
    """`strategy.num_replicas_in_sync`. `known` is the number where the script says it."""

    api: ClassVar[str] = "builtins.int"
    known: Const | None = None
    place: Place | None = None
    tags: frozenset[str] = frozenset({"replicas"})
