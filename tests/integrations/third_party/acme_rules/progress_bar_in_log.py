"""`fit` draws its progress bar into the job's log.

## What it does

Reports `verbose=1`.

## Why is this bad?

A bar is a line for each batch in a file that nobody watches.

## Example

```python
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.fit(x_train, y_train, verbose=1)
```

## Use instead

```python
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.fit(x_train, y_train, verbose=2)
```

## Fix safety

Safe: what is trained does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from oomlint.dryrun.trace import Trace
from oomlint.findings.model import Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.edits import Replace

RULE = Rule(
    code="ACM102",
    name="progress-bar-in-log",
    severity=Severity.NOTE,
    fix=Safety.SAFE,
    literals=("fit",),
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Where the argument is written out in the call itself."""
    for call in trace.calls("keras.Model.fit"):
        argument = call.argument("verbose")
        if argument is not None and argument.const() == 1:
            fix = Fix("a line for each epoch", Safety.SAFE, (Replace(argument.place, "2"),))
            yield RULE.finding(argument.place, "a progress bar in the job's log", fix=fix)
