"""A flattened feature map goes into a Dense layer whose kernel alone fills much of the GPU.

## What it does

Reports a trained `Dense` behind a `Flatten` (or a reshape to one axis) whose kernel, with its gradient and what
the optimizer keeps for each weight, takes more than a quarter of the GPU memory; as an error if it takes more than
all of it. Shapes are worked out from the script; where one factor is not known, nothing is said.

## Why is this bad?

The kernel has as many weights as the map has elements, times the units: it grows with the square of the image side,
while convolutions do not grow at all. Training holds it once for the weights, once for the gradient and once for
each slot of the optimizer, four times under Adam, however small the batch is. A policy of mixed precision
does not help: weights, gradients and slots stay in float32.

## Example

```python
from tensorflow import keras

model = keras.Sequential([
    keras.Input((512, 512, 3)),
    keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Flatten(),
    keras.layers.Dense(1024, activation="relu"),
    keras.layers.Dense(10),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
```

## Use instead

```python
from tensorflow import keras

model = keras.Sequential([
    keras.Input((512, 512, 3)),
    keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(1024, activation="relu"),
    keras.layers.Dense(10),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
```

Where the position matters, bring the map down to a few pixels with strided convolutions or pooling before it is
flattened.

## Fix safety

Display only: pooling instead of flattening is another model.

## References

- <https://github.com/PacktPublishing/Mastering-Computer-Vision-with-TensorFlow-2.0/issues/6>
- <https://github.com/keras-team/keras/issues/5326>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.rules.model_size.amounts import way

from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.queries.dense_kernels import Kernel, flattened_kernels
from oomlint.dryrun.sizes import human
from oomlint.dryrun.values.arrays import shape_text
from oomlint.dryrun.values.base import merge
from oomlint.findings.model import Evidence, Rule, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM602",
    name="flatten-dense",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=("Dense", "VGG16", "VGG19"),
    estimated=True,
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Kernels behind a flattened map, held against the GPU's memory."""
    budget = settings.budget
    for kernel in flattened_kernels(trace):
        if kernel.bytes <= budget.warn_gpu:
            continue
        over = kernel.bytes > budget.gpu
        part = "more than all" if over else "more than a quarter"
        inputs, units = known(kernel.inputs) or 0, known(kernel.units) or 0
        yield RULE.finding(
            kernel.place,
            f"a kernel of {inputs:,} x {units:,} takes {_held(kernel)} in training, {part} of the {budget.gpu_label}",
            evidence=_evidence(kernel),
            help=f"Pool before the dense layers (GlobalAveragePooling leaves {_channels(kernel)} inputs), or bring the "
            "map down with strided convolutions before it is flattened.",
            severity=Severity.ERROR if over else Severity.WARNING,
        )


def _held(kernel: Kernel) -> str:
    return human(kernel.bytes) if kernel.slots is not None else f"at least {human(kernel.bytes)}"


def _channels(kernel: Kernel) -> str:
    last = known(kernel.flattened[-1])
    return "one per channel" if last is None else f"{last:,}"


def _evidence(kernel: Kernel) -> Iterator[Evidence]:
    inputs, units = known(kernel.inputs) or 0, known(kernel.units) or 0
    if kernel.source is not None:
        yield Evidence(f"the input is {shape_text(kernel.source[0])}", kernel.source[1])
    yield Evidence(f"flattened: {shape_text(kernel.flattened)} gives {inputs:,} inputs", kernel.flatten)
    yield from way("the map's size", merge(*(dim.trail for dim in kernel.flattened if dim is not None)))
    yield Evidence(f"{units:,} units: {kernel.weights:,} weights of {kernel.itemsize} B", kernel.place)
    yield from way("the units", kernel.units.trail if kernel.units is not None else ())
    slots = (
        "the optimizer's state is not known" if kernel.slots is None else f"{kernel.slots} in the optimizer"
    )
    yield Evidence(f"held {kernel.copies} times: weights, gradient, {slots}", kernel.optimizer)
