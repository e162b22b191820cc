"""Large arrays are collected in a list and then joined into one.

## What it does

Reports `np.concatenate`, `np.vstack`, `np.stack` or `np.array` of a list that a loop has filled with arrays, where the
list and what is made of it take more than a quarter of the host's memory together: features or masks that a model
predicts batch by batch, recordings that are scaled one by one. Of windows that are only cut out of a series the list
holds none, so what is made of them counts once: as many copies of the series as a window is long.

Silent where the number or the shape of the arrays is not known; decoded files are the subject of OOM202.

## Why is this bad?

While the list is copied into the array both are held, so the peak is twice the data, at the very end of the loop: hours
of prediction are lost with it. (`np.concatenate` of a list of 100 float32 arrays of 4 MB each peaks at 800 MB.)

## Example

```python
import numpy as np
from tensorflow import keras

base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(224, 224, 3))
photos = np.load("photos.npy", mmap_mode="r")
features = []
for number in range(1000):
    features.append(base.predict_on_batch(np.zeros((32, 224, 224, 3), "float32")))
np.save("features.npy", np.concatenate(features))
```

## Use instead

```python
import numpy as np
from tensorflow import keras

base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(224, 224, 3))
photos = np.load("photos.npy", mmap_mode="r")
features = np.lib.format.open_memmap("features.npy", mode="w+", dtype="float32", shape=(32_000, 7, 7, 2048))
for number in range(1000):
    features[32 * number : 32 * (number + 1)] = base.predict_on_batch(np.zeros((32, 224, 224, 3), "float32"))
```

## Fix safety

Shown only: how many rows there will be has to be known before the loop.

## References

- <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.open_memmap.html>
- <https://github.com/keras-team/keras/issues/2202>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.rules.host_data.amounts import against, dimensions, form

from oomlint.dryrun.catalog.arrays.making import DECODED
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.trace import Call, Loop
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Slice, Unknown, Value, deref
from oomlint.dryrun.values.indexing import keys_of
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Fix, Rule, Safety, Severity

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM210",
    name="list-stacked",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=("concatenate", "vstack", "hstack", "stack", "array", "asarray"),
    preview=True,
)

JOINING = (
    "numpy.concatenate", "numpy.vstack", "numpy.hstack", "numpy.stack", "numpy.array", "numpy.asarray",
)  # fmt: skip
HELP = (
    "write each part into its rows of one array made before the loop (np.empty, or np.lib.format.open_memmap for one "
    "that lies on disk), or keep of each part only what is needed"
)

HELP_VIEWS = (
    "cut them batch by batch: keras.utils.timeseries_dataset_from_array, or a keras.utils.PyDataset that slices "
    "(np.lib.stride_tricks.sliding_window_view gives all windows without a copy)"
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """One finding per place that joins such a list."""
    seen: set[int] = set()
    for call in trace.calls(*JOINING):
        given = deref(call.arguments[0].value) if call.arguments else None
        if id(call.node) in seen or not isinstance(given, Sequence) or in_test(call):
            continue
        part, parts = _part(given)
        if not isinstance(part, Array) or part.library != "numpy" or not part.shape or part.tags >= DECODED:
            continue
        if parts is None or part.size is None or _per_step(given, call):
            continue
        held = part.size.times(parts, "arrays in the list")
        views = _is_view(trace, part)
        held = held if views else held.times(Const(2), "{} times: the list and the array")
        severity = over(held, settings.budget.host)
        if severity is None:
            continue
        seen.add(id(call.node))
        made, count = part.origin, f"{parts.value:,}"
        what = (
            f"an array is made of {count} pieces of another one, each a copy"
            if views
            else f"a list of {count} arrays and the one made of it are held together"
        )
        help = HELP_VIEWS if views else HELP
        text = f"one is {form(part)}, {part.size.bytes:,} B"
        yield RULE.finding(
            call.place,
            f"{what}: {against(held.bytes, settings.budget)}",
            severity=severity,
            evidence=[
                Evidence(
                    text if made is None else f"{text}, from {made.text}",
                    None if made is None else made.place,
                ),
                *dimensions(part),
            ],
            help=help,
            fix=Fix(help, Safety.DISPLAY),
        )


def _part(given: Sequence) -> tuple[Value | None, Const | None]:
    """One of the arrays in a list, and how many there are: all from one place, so that one stands for every one."""
    if given.items is None:
        return (None if given.element is None else deref(given.element)), given.count
    parts = [part for part in map(deref, given.items) if isinstance(part, Array)]
    if len(parts) != len(given.items) or len(parts) < 2:
        return None, None
    places = {id(part.origin.place.node) if part.origin and part.origin.place else None for part in parts}
    alike = len(places) == 1 and None not in places and len({part.shape for part in parts}) == 1
    return (parts[0], Const(len(parts))) if alike else (None, None)


def _is_view(trace: Trace, part: Array) -> bool:
    """Whether a piece is cut out of an array by slices and numbers: the list holds no data of its own then."""
    item = trace.subscript(part)
    whole = deref(item.receiver) if item is not None and item.receiver is not None else None
    if item is None or not isinstance(whole, Array) or whole.library not in ("numpy", "memmap"):
        return False
    return all(
        isinstance(key, Slice | Const) or (isinstance(key, Unknown) and key.type == "int")
        for key in keys_of(deref(item.arguments[1].value))
    )


def _per_step(given: Sequence, call: Call) -> bool:
    """Whether the list is filled and joined anew inside a loop."""
    return given.context is not None and any(loop in call.context.loops() for loop in given.context.all(Loop))
