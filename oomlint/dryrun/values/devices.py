"""Physical devices: lists of them, single ones, how many there are; and the number of replicas."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from oomlint.dryrun.values.base import Const, Value
from oomlint.syntax.place import Place
from oomlint.syntax.records import plain_record

# The tag of a number that counts some of the devices only (`range(min(2, len(gpus)))`).
SOME_OF_THEM = "some-of-the-devices"


@plain_record
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


@plain_record
class Device(Value):
    """One device of a list: the one at `index`, or (`each`) every one in turn."""

    api: ClassVar[str] = "tf.config.PhysicalDevice"
    of: DeviceList
    index: int | None = None
    each: bool = False


@plain_record
class DeviceCount(Value):
    """How many devices a list has."""

    api: ClassVar[str] = "builtins.int"
    of: DeviceList
    tags: frozenset[str] = frozenset({"devices"})

    def at_most(self, limit: int) -> DeviceCount:
        """`min(limit, len(gpus))`: the number of the first ones."""
        some = replace(self.of, partial=True, last=(self.of.first or 0) + limit)
        return DeviceCount(some, self.tags | {SOME_OF_THEM})


@plain_record
class ReplicaCount(Value):
    """`strategy.num_replicas_in_sync`. `known` is the number where the script says it."""

    api: ClassVar[str] = "builtins.int"
    known: Const | None = None
    place: Place | None = None
    tags: frozenset[str] = frozenset({"replicas"})
