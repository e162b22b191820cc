"""A training step takes more memory than the GPU has: the run dies in its first step.

## What it does

With `oomlint check --estimate` only. The step of each script that trains is estimated at the script's own batch
size, as `oomlint estimate` does it: the model is built in a process of its own, without a GPU, and nothing is trained.
Reported at the batch size where even the low end of the estimate's range is more than the memory that can be used; as
a note where the peak is more and the low end is not. Where the step fits, or the batch is not known, nothing is said;
where there is no estimate, one line on standard error says why.

Of a script that trains several models, the largest is estimated. Functions that train for their importers are not, nor
tests.

## Why is this bad?

Weights, the optimizer's slots and the gradients are there whatever the batch. The activations of every layer wait for
the backward pass, and grow with the batch: they are most of what a step of a convolutional network takes. The
allocator gives up where the last of them does not fit: when the data is loaded, the step compiled and everybody gone.

## Example

```python
import numpy as np
from tensorflow import keras

model = keras.applications.MobileNet(weights=None)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(np.load("photos.npy"), np.load("kinds.npy"), batch_size=1024)
```

## Use instead

```python
import numpy as np
from tensorflow import keras

model = keras.applications.MobileNet(weights=None)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(np.load("photos.npy"), np.load("kinds.npy"), batch_size=64)
```

Where a large batch matters, `gradient_accumulation_steps` of Keras' optimizers adds up the gradients of several small
ones. `oomlint estimate train.py --what-if` tries this and other ways out.

## Fix safety

Unsafe: it writes the largest batch that was estimated to fit, where one number decides the batch. Another batch trains
differently: the learning rate may have to follow.

## References

- <https://keras.io/api/optimizers/>
- <https://github.com/tensorflow/tensorflow/issues/36337>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.rules.model_size.amounts import way

from oomlint.dryrun.queries.batch_numbers import batch_number
from oomlint.dryrun.sizes import human
from oomlint.findings.estimates import estimated
from oomlint.findings.model import Evidence, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import AddArgument, Replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.batch_numbers import BatchNumber
    from oomlint.dryrun.trace import Trace
    from oomlint.findings.estimates import Estimated
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM601",
    name="over-budget",
    severity=Severity.ERROR,
    fix=Safety.UNSAFE,
    literals=("fit", "fit_generator", "train_on_batch", "GradientTape"),
    estimated=True,
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """The script's training step, as it was estimated, held against the GPU's memory."""
    found = estimated(trace)
    if found is None or not found.batch_known or found.least_peak <= settings.budget.gpu:
        return
    estimate = found.estimate
    sure = found.least > settings.budget.gpu
    number = batch_number(trace, found.call, estimate.batch_size, estimate.replicas)
    low, high = map(human, estimate.range_bytes)
    takes = "takes" if sure else "may take"
    yield RULE.finding(
        number.place,
        f"a step of {_samples(estimate.batch_size)} {takes} {human(estimate.peak_bytes)} of GPU memory "
        f"({low} to {high}), more than all of the {settings.budget.gpu_label}",
        evidence=(
            *_evidence(found),
            *way("the batch", number.trail),
            Evidence("trained here", found.call.place),
        ),
        help=_help(found),
        fix=_fix(found, number) if sure else None,
        severity=Severity.ERROR if sure else Severity.NOTE,
    )


def _samples(count: int) -> str:
    return f"{count:,} samples" if count > 1 else "one sample"


def _evidence(found: Estimated) -> Iterator[Evidence]:
    estimate = found.estimate
    parts = sorted(estimate.parts.items(), key=lambda part: -part[1])
    words = [f"{name.replace('_', ' ')} {human(size)}" for name, size in parts if size > 0]
    yield Evidence(f"made of {', '.join(words)}")
    layers = sorted(estimate.layers, key=lambda layer: -layer.saved_bytes)[:3]
    kept = [
        f"{layer.name} ({layer.class_name}) {human(layer.saved_bytes)}"
        for layer in layers
        if layer.saved_bytes
    ]
    if kept:
        yield Evidence(f"most is kept for the backward pass by {', '.join(kept)}")
    if estimate.replicas > 1:
        yield Evidence(f"on each of {estimate.replicas} replicas")
    yield Evidence(f"engine {estimate.engine}, program {estimate.program}: {estimate.reason}")


def _help(found: Estimated) -> str:
    others = (
        "`oomlint estimate --what-if` tries mixed precision, recomputation, micro-batches and smaller inputs."
    )
    fits = found.fitting
    if fits is None:
        return others
    if not fits:
        return f"No batch is sure to fit: {others}"
    return f"The largest batch that is sure to fit has {_samples(fits)}; {others}"


def _fix(found: Estimated, number: BatchNumber) -> Fix | None:
    if not found.fitting:
        return None
    words = f"train in batches of {found.fitting * number.share}"
    if number.literal is not None:
        return Fix(words, Safety.UNSAFE, (Replace(number.literal, str(found.fitting * number.share)),))
    if number.without is not None and found.estimate.replicas == 1:
        return Fix(words, Safety.UNSAFE, (AddArgument(number.without, f"batch_size={found.fitting}"),))
    return None
