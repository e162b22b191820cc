"""Tensor lists: values that hold other values, element by element.

A list is a vector of references (tensorflow/core/kernels/tensor_list.h): pushing takes no memory, and an
element lives for as long as a list that holds it. A list that nobody else needs is changed in place, any other is
copied first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oomlint.estimate.worker.graph.operations import Operation

if TYPE_CHECKING:
    from oomlint.estimate.worker.graph.lives import Buffer


@dataclass(slots=True, eq=False)
class Elements:
    """A list's value. `written` and `read` count what went in and out by index: rounds go from one to the next."""

    items: list[Buffer | None] = field(default_factory=list)
    uses: int = 0
    written: int = 0
    read: int = 0
    kept: bool = False


Held = list["Buffer | Elements | None"]
_NEW = ("EmptyTensorList", "TensorListReserve")
_SUMS = ("AddN", "Add", "AddV2")


class Lists:
    """What operations on lists give, by an allocator and what is to be done when a buffer may leave."""

    def __init__(
        self,
        allocate: Callable[[int, int], Buffer | None],
        leave: Callable[[Buffer], None],
    ) -> None:
        self._allocate, self._leave = allocate, leave

    def outputs(self, number: int, operation: Operation, given: Held, size: int, length: int) -> Held | None:
        """The values that the operation gives; None if it has nothing to do with lists.

        `size` and `length` are those of its first input.
        """
        kind = operation.type
        if kind in _NEW:
            return [Elements()]
        if kind == "TensorListFromTensor":
            return [self._of([self._allocate(size // length, number) for _ in range(length)])]
        held = next((value for value in given if isinstance(value, Elements)), None)
        if held is None:
            return None
        if kind == "TensorListPushBack":
            return [self._changed(held, given, len(held.items), given[1])]
        if kind == "TensorListSetItem":
            return [self._changed(held, given, held.written, given[2])]
        if kind == "TensorListPopBack":
            mine = self._own(held, given)
            element = mine.items.pop() if mine.items else None
            if element is None:
                element = self._allocate(operation.outputs[1], number)
            else:
                element.uses -= 1
            return [mine, element]
        if kind == "TensorListGetItem":
            element = held.items[held.read % len(held.items)] if held.items else None
            held.read += 1
            return [element or self._allocate(operation.outputs[0], number)]
        if kind == "ZerosLike":
            sizes = [0 if item is None else item.size for item in held.items]
            return [self._of([self._allocate(size, number) for size in sizes])]
        if kind in _SUMS:
            return [self._sum(number, [value for value in given if isinstance(value, Elements)])]
        if operation.dtypes[:1] == ("variant",):
            return [held, *(self._allocate(size, number) for size in operation.outputs[1:])]
        return None

    def drop(self, held: Elements) -> None:
        """Nobody needs the list any more."""
        items, held.items = held.items, []
        for item in items:
            if item is not None:
                item.uses -= 1
                self._leave(item)

    def _of(self, items: list[Buffer | None]) -> Elements:
        for item in items:
            if item is not None:
                item.uses += 1
        return Elements(items)

    def _own(self, held: Elements, given: Held) -> Elements:
        """The list itself where only this operation needs it, else a copy."""
        if held.uses == sum(value is held for value in given) and not held.kept:
            return held
        copy = self._of(list(held.items))
        copy.written, copy.read = held.written, held.read
        return copy

    def _changed(self, held: Elements, given: Held, place: int, value: Buffer | Elements | None) -> Elements:
        mine = self._own(held, given)
        element = None if isinstance(value, Elements) else value
        if element is not None:
            element.uses += 1
        if place < len(mine.items):
            old, mine.items[place] = mine.items[place], element
            if old is not None:
                old.uses -= 1
                self._leave(old)
        else:
            mine.items.append(element)
        mine.written = place + 1
        return mine

    def _sum(self, number: int, lists: list[Elements]) -> Elements:
        items: list[Buffer | None] = []
        for place in range(max(len(one.items) for one in lists)):
            there = [
                item for one in lists if place < len(one.items) and (item := one.items[place]) is not None
            ]
            new = there[0] if there else None
            for other in there[1:]:
                new = self._allocate(other.size, number)
            items.append(new)
        return self._of(items)
