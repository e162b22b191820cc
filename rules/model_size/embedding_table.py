"""An embedding table, with what the optimizer keeps for it, fills much of the GPU.

## What it does

Reports `Embedding` layers of a trained model, and weights of its own layers that rows are looked up in, whose table
takes more than a quarter of the GPU's memory with what training keeps beside it; as an error if one place's tables, or
all tables of the model together, take more than all of it. Frozen tables are not reported, nor those whose number of
rows or width is not known.

## Why is this bad?

A table has a row for each word, and a batch looks up a handful of them. Its gradient is as short as that, but Adam
and its kin keep two slots for each of the rows and go through all of them in every step, to let their averages decay:
four tables in place of one. Plain SGD keeps nothing beside the table between its steps.
A policy of mixed precision changes nothing, for table and slots stay in float32; a mirrored strategy puts all of it
on each GPU.

## Example

```python
from tensorflow import keras

model = keras.Sequential([
    keras.Input((200,), dtype="int32"),
    keras.layers.Embedding(1_500_000, 300),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(20, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(load_tokens(), load_labels())
```

## Use instead

```python
from tensorflow import keras

model = keras.Sequential([
    keras.Input((200,), dtype="int32"),
    keras.layers.Embedding(50_000, 300),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(20, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(load_tokens(), load_labels())
```

Rare words tell a model next to nothing: keep the most frequent ones (`max_tokens` of `TextVectorization`,
`num_words` of a `Tokenizer`), split words into pieces, or hash them into fewer rows. Vectors that come from a file
can stay frozen (`trainable=False`): then there is the table and no more.

## Fix safety

Display only: fewer rows, another width or another optimizer is another model.

## References

- <https://github.com/keras-team/keras/issues/2948>
- <https://github.com/tensorflow/tensorflow/issues/31162>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.rules.model_size.amounts import against, origins, severity_of

from oomlint.dryrun.queries.embedding_tables import embedding_tables
from oomlint.dryrun.queries.tensor_sizes import Factor
from oomlint.dryrun.sizes import human
from oomlint.findings.model import Evidence, Rule, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.embedding_tables import Table
    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM604",
    name="embedding-table",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=("Embedding", "embedding_lookup", "add_weight"),
    estimated=True,
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Tables in training, held against the GPU's memory."""
    budget = settings.budget
    largest: dict[int, tuple[Table, int]] = {}
    for tables in embedding_tables(trace):
        whole = sum(table.bytes for table in tables)
        for table in tables:
            total = 0
            if whole > budget.gpu >= table.bytes and table is max(tables, key=lambda other: other.bytes):
                total = whole
            before = largest.get(id(table.place.node))
            if before is None or max(before[1], before[0].bytes) < max(total, table.bytes):
                largest[id(table.place.node)] = table, total
    for table, total in largest.values():
        count = max(total, table.bytes)
        severity = severity_of(count, budget)
        if severity is None:
            continue
        held = human(table.bytes) if table.slots is not None else f"at least {human(table.bytes)}"
        text = (
            f"{_named(table)} of {table.rows.value:,} x {table.width.value:,} "
            f"{'takes' if table.tables == 1 else 'take'} {held} in training"
        )
        if total:
            text += f", with the model's other tables {human(total)}"
        yield RULE.finding(
            table.place,
            f"{text}, {against(count, budget)}",
            evidence=_evidence(table),
            help="Keep fewer rows (the most frequent words, pieces of words, hashed ones) or a smaller width; vectors "
            "from a file can stay frozen.",
            severity=severity,
        )


def _named(table: Table) -> str:
    return "an embedding table" if table.tables == 1 else f"{table.tables} embedding tables"


def _evidence(table: Table) -> Iterator[Evidence]:
    yield from origins((Factor("rows", table.rows), Factor("numbers in a row", table.width)))
    rows, width = int(table.rows.value), int(table.width.value)
    yield Evidence(
        f"{rows:,} x {width:,} x {table.itemsize} B = {human(table.single)} of weights", table.place
    )
    if table.slots is None:
        parts = "the table; what the optimizer keeps is not known"
    else:
        parts = f"the table, {table.slots} in the optimizer"
        parts += ", 1 while it goes through all rows" if table.dense else ", no dense gradient"
    yield Evidence(f"held {table.copies} times: {parts}", table.trained.place)
