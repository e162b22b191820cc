"""tf.data pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref
from oomlint.syntax.records import plain_record

if TYPE_CHECKING:
    from oomlint.dryrun.sizes import Size
    from oomlint.dryrun.trace import Call


@plain_record
class Dataset(Value):
    """A tf.data.Dataset: what one element is, how many there are, and the stages that led here.

    `element` is the element spec as values (Array, Sequence or Mapping of them). `count` is None where
    not known; `infinite` after an unbounded repeat. `stages` are the calls, source first.
    `distributed` holds the strategy's handling (`experimental_distribute_dataset`). `at_most` is the most that
    its source gives, where TensorFlow does not know but the script's own generator says.
    """

    api: ClassVar[str] = "tf.data.Dataset"
    element: Value | None = None
    count: Const | None = None
    infinite: bool = False
    stages: tuple[Call, ...] = ()
    distributed: bool = False
    tags: frozenset[str] = frozenset()
    at_most: Const | None = None

    def joined(self, other: Dataset) -> Dataset:
        """Both ways meet: what they agree on, with the stages of the longer one."""
        from oomlint.dryrun.values.base import join

        element = None
        if self.element is not None and other.element is not None:
            element = join(self.element, other.element)
        longer = self if len(self.stages) >= len(other.stages) else other
        return Dataset(
            element=element,
            count=self.count if self.count == other.count else None,
            infinite=self.infinite or other.infinite,
            stages=longer.stages,
            distributed=self.distributed or other.distributed,
            tags=self.tags | other.tags,
        )

    def stage(self, name: str) -> Call | None:
        """The last stage of that method or source name (`shuffle`, `from_tensor_slices`)."""
        return next((call for call in reversed(self.stages) if call.name.rpartition(".")[2] == name), None)

    @property
    def element_size(self) -> Size | None:
        """Bytes of one element (strings and unknown parts make it a lower bound, or None)."""
        return structure_size(self.element)


def leaves(value: Value | None) -> list[Value]:
    """The arrays of a nested element, in order."""
    value = deref(value) if value is not None else None
    match value:
        case Sequence(items=list(items)):
            return [leaf for item in items for leaf in leaves(item)]
        case Mapping(entries=entries):
            return [leaf for item in entries.values() for leaf in leaves(item)]
        case None:
            return [Unknown()]
        case _:
            return [value]


def structure_size(value: Value | None) -> Size | None:
    """Bytes of a nested element: the sum of its arrays; None if none of them is known."""
    total: Size | None = None
    exact = True
    for leaf in leaves(value):
        size = leaf.size if isinstance(leaf, Array) else None
        if size is None:
            exact = False
        else:
            total = size if total is None else total.plus(size)
    if total is None or exact:
        return total
    return total.plus(None)
