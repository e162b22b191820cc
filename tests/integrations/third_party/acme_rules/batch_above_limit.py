"""A batch is larger than our cluster's guide allows.

## What it does

Compares the `batch_size` of `fit` with the option `largest`.

## Why is this bad?

Jobs share a GPU. A batch above the limit takes the memory that the neighbour was promised, and he is the one who is
killed.

## Example

```python
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.fit(x_train, y_train, batch_size=4096)
```

## Use instead

```python
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.fit(x_train, y_train, batch_size=256)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from oomlint.dryrun.trace import Trace
from oomlint.dryrun.values.base import Const
from oomlint.findings.model import Evidence, Finding, Rule, Severity
from oomlint.findings.rule_options import RuleOption
from oomlint.project.settings import Settings

LARGEST = RuleOption("largest", 256, "the largest batch that is fine", minimum=1)

RULE = Rule(
    code="ACM101",
    name="batch-above-limit",
    severity=Severity.WARNING,
    fix=None,
    literals=("fit",),
    options=(LARGEST,),
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Batches of a known size, wherever the number comes from."""
    largest = RULE.value(LARGEST, settings)
    for call in trace.calls("keras.Model.fit"):
        argument, batch = call.argument("batch_size"), call.value("batch_size")
        if argument is None or not isinstance(batch, Const) or not isinstance(batch.value, int):
            continue
        if batch.value > largest:
            yield RULE.finding(
                argument.place,
                f"batches of {batch.value:,} are above the {largest:,} of the cluster's guide",
                evidence=[Evidence(f"{batch.value:,}, from {step.text}", step.place) for step in batch.trail],
                help="use a smaller batch, or accumulate gradients",
            )
