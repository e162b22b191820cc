"""Every pass of a loop trains from a new object that holds data, and all of them stay for good.

## What it does

Reports a `PyDataset` (`Sequence` in Keras 2), a generator, an `ImageDataGenerator.flow`, a `Dataset.from_generator` or
a `py_function` that is made anew on each pass of a loop and holds arrays which that pass made. A note where the size of
the arrays is not known. Not reported: up to three passes that the text counts out, data that all passes share, and less
than 64 MiB in all.

## Why is this bad?

tf.data calls such objects from its own threads and keeps every one that it was given until the process ends, with all
that it refers to: a fold's arrays of 500 MB are 5 GB after ten folds. It makes no difference whether the object goes
to `fit`, `evaluate`, `predict` or `validation_data`, and `del` and `gc.collect()` do not help. `clear_session()` does,
as long as the model is the same on every pass: a model that is compiled on the pass keeps what it was first fitted on.
Arrays given to `fit` directly, and `from_tensor_slices`, are freed.

## Example

```python
import numpy as np
from tensorflow import keras


class Batches(keras.utils.PyDataset):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x) // 32

    def __getitem__(self, number):
        return self.x[number * 32 : number * 32 + 32], self.y[number * 32 : number * 32 + 32]


model = keras.models.load_model("model.keras")
for month in range(120):
    x, y = np.zeros((20_000, 64, 64), "float32"), np.zeros((20_000,))
    model.fit(Batches(x, y))
```

## Use instead

```python
import numpy as np
from tensorflow import keras

model = keras.models.load_model("model.keras")
for month in range(120):
    x, y = np.zeros((20_000, 64, 64), "float32"), np.zeros((20_000,))
    model.fit(x, y, batch_size=32)
```

Or make one object before the loop and give it new data (`batches.x = x`), read the rows from disk in
`__getitem__`, or run each pass in a process of its own.

## Fix safety

Display only: which of these is right depends on what the data is.

## References

- <https://github.com/tensorflow/tensorflow/issues/37653>
- <https://www.tensorflow.org/api_docs/python/tf/data/Dataset#from_generator>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.pinned_data import Held, Pinned, pinned_data
from oomlint.dryrun.sizes import human
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Finding, Rule, Safety, Severity

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Loop, Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM413",
    name="fit-in-loop-new-data",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=(
        "fit",
        "fit_generator",
        "evaluate",
        "predict",
        "from_generator",
        "py_function",
        "numpy_function",
    ),
    backends=TENSORFLOW_BACKEND,
)

FEW = 3  # stages of a curriculum
LITTLE = 64 << 20  # bytes in all
MANY = 1_000  # passes that nobody has counted: as many trainings are days
CLEARING = ("keras.backend.clear_session", "keras.utils.clear_session", "tf.reset_default_graph")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Each object once, by what it holds."""
    for found in pinned_data(trace):
        loops = max((held.loops for held in found.held), key=len)
        passes = _passes(loops)
        if (passes is not None and passes <= FEW) or _is_let_go(trace, loops[0]):
            continue
        sizes = [held.size for held in found.held if held.size is not None]
        each = sum(size.bytes for size in sizes) if sizes else None
        if each is not None and each * (MANY if passes is None else passes) < LITTLE:
            if len(sizes) == len(found.held):
                continue
            each = None  # what is known is not what matters
        yield _finding(found, loops[0], each, passes)


def _is_let_go(trace: Trace, loop: Loop) -> bool:
    """Whether the passes reset what TensorFlow keeps, and compile no model that keeps it all the same."""
    cleared = any(loop in call.context.loops() for call in trace.calls(*CLEARING))
    return cleared and not any(loop in call.context.loops() for call in trace.calls("keras.Model.compile"))


def _passes(loops: tuple[Loop, ...]) -> int | None:
    count = 1
    for loop in loops:
        if loop.trip is None or not isinstance(loop.trip.value, int):
            return None
        count *= loop.trip.value
    return count


def _finding(found: Pinned, loop: Loop, each: int | None, passes: int | None) -> Finding:
    how_often = "every pass of a loop" if passes is None else f"each of {passes:,} passes of a loop"
    most = "up to " if any(held.most for held in found.held) else ""
    amount = "data made for it" if each is None else f"{most}{human(each)}"
    evidence = [Evidence("the loop", loop.place)]
    if found.used.place.node is not found.place.node:
        evidence.append(Evidence("it is used here", found.used.place))
    lines = {(id(held.made.node) if held.made else 0, str(held.size)): _line(held) for held in found.held}
    evidence.extend(list(lines.values())[:4])
    if each is not None and passes is not None:
        evidence.append(
            Evidence(f"after the last pass: {passes:,} x {human(each)} = {most}{human(each * passes)}")
        )
    return RULE.finding(
        found.place,
        f"{how_often} makes a new {found.text} that holds {amount}, and TensorFlow keeps all of them "
        "until the process ends",
        evidence=evidence,
        help="give `fit` the arrays or a `from_tensor_slices` of them, which are freed; or make one object before the "
        "loop and give it new data; or run each pass in a process of its own",
        severity=Severity.NOTE if each is None else Severity.WARNING,
    )


def _line(held: Held) -> Evidence:
    text = "data made on each pass"
    if held.size is not None:
        text = f"{text}: {'a part of ' if held.most else ''}{held.size}"
    return Evidence(text, held.made)
