"""Embedding tables in models that are trained: rows times width, and what training keeps beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.apply import config_of, short
from oomlint.dryrun.catalog.keras.dims import NEVER_TRAINED, known
from oomlint.dryrun.queries.tensor_sizes import policy_itemsize
from oomlint.dryrun.queries.trained_models import clearly_trained, layers_in_use
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, deref
from oomlint.dryrun.values.program import Instance, Library
from oomlint.dryrun.values.training import Optimizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.trained_models import Trained
    from oomlint.dryrun.trace import Trace
    from oomlint.dryrun.values.base import Value
    from oomlint.syntax.place import Place

# The gradient of a table comes as the rows that were looked up. These take it as it is; the others compute with all
# of the table in each step, if only to let their averages decay: one more table at the peak, at least
# (benchmarks/embedding_updates.py).
SPARSE = frozenset(["sgd", "adagrad", "ftrl", "lazyadam"])
LOOKUPS = ("tf.gather", "tf.nn.embedding_lookup", "keras.ops.take", "keras.backend.gather")


@dataclass(frozen=True, slots=True)
class Table:
    """The tables made at one place, `tables` of them. `slots` None: trained with an optimizer that is not known."""

    place: Place
    trained: Trained
    rows: Const
    width: Const
    itemsize: int
    slots: int | None
    dense: bool
    tables: int = 1

    @property
    def single(self) -> int:
        """Bytes of one table."""
        return int(self.rows.value) * int(self.width.value) * self.itemsize

    @property
    def copies(self) -> int:
        """The table, the optimizer's slots, and a dense gradient or what takes its place."""
        return 1 + (self.slots or 0) + self.dense

    @property
    def bytes(self) -> int:
        """What a training step holds of them, at least."""
        return self.single * self.copies * self.tables


def embedding_tables(trace: Trace) -> list[list[Table]]:
    """For every trained model its tables that are trained too, those of one place together."""
    found: list[list[Table]] = []
    for trained in clearly_trained(trace):
        groups: dict[int, Table] = {}
        for table in (*_tables(trained), *_own_tables(trained, trace)):
            before = groups.get(id(table.place.node))
            least = table if before is None or table.single < before.single else before
            tables = 1 if before is None else before.tables + 1
            groups[id(table.place.node)] = replace(least, tables=tables)
        if groups:
            found.append(list(groups.values()))
    return found


def _tables(trained: Trained) -> Iterator[Table]:
    for use in layers_in_use(trained.model):
        if short(use.layer) != "Embedding" or id(use.layer) in trained.frozen:
            continue
        config = config_of(use.layer)
        rows, width = config.dim("input_dim"), config.dim("output_dim")
        if rows is None or width is None or known(rows) is None or known(width) is None:
            continue
        if config.get("lora_rank") is not None:
            continue  # the table itself is not trained then
        itemsize = policy_itemsize(use.layer)
        dense = trained.slots is not None and _computes_densely(trained.optimizer)
        yield Table(use.place, trained, rows, width, itemsize, trained.slots, dense)


def _own_tables(trained: Trained, trace: Trace) -> Iterator[Table]:
    """Weights of the program's own layers that rows are looked up in."""
    looked_up = [deref(call.arguments[0].value) for call in trace.calls(*LOOKUPS) if call.arguments]
    tables = [table for table in looked_up if isinstance(table, Array) and table.library == "variable"]
    for use in layers_in_use(trained.model) if tables else ():
        if id(use.layer) in trained.frozen:
            continue
        for name, weight in use.layer.attributes.items():
            if (
                not isinstance(weight, Array)
                or not name.startswith("_weight")
                or name.endswith(NEVER_TRAINED)
            ):
                continue
            if not any(table.producer is use.layer and table.shape == weight.shape for table in tables):
                continue
            rows, width = (
                weight.shape if weight.shape is not None and len(weight.shape) == 2 else (None, None)
            )
            place = weight.origin.place if weight.origin is not None else None
            if rows is None or width is None or place is None or known(rows) is None or known(width) is None:
                continue
            dense = trained.slots is not None and _computes_densely(trained.optimizer)
            yield Table(place, trained, rows, width, 4, trained.slots, dense)


def _computes_densely(optimizer: Value | None) -> bool:
    """Whether an update works on the whole table."""
    value = None if optimizer is None else deref(optimizer)
    if isinstance(value, Instance):
        return False  # the program's own
    if value is None or (isinstance(value, Const) and value.value is None):
        return True  # RMSprop
    if isinstance(value, Const):
        return str(value.value).lower() not in SPARSE
    if isinstance(value, Optimizer) and value.inner is not None:
        return _computes_densely(value.inner)
    if not isinstance(value, Optimizer | Library):
        return False
    name = value.type if isinstance(value, Optimizer) else value.name
    momentum = value.config.get("momentum") if isinstance(value, Optimizer) else None
    moved = isinstance(momentum, Const) and bool(momentum.value)
    return name.rpartition(".")[2].lower() not in SPARSE or moved
