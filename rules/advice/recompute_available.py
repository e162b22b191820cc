"""Most of a training step's memory is activations, and none of them are recomputed.

## What it does

Reports, when it is selected (`--extend-select OOM902`), a trained model all of whose shapes are known and whose
activations for a batch take more than a quarter of the GPU's memory and more than weights, gradients and optimizer
together, in a script that uses neither `keras.RematScope`, `keras.remat` nor `tf.recompute_grad`.

## Why is this bad?

It is not: it is a way out that few know. Under a remat scope a layer's inner tensors are thrown away and made again
when the backward pass comes to them: memory for time, about one more forward pass. It works on whole blocks. A
single convolution with its ReLU keeps as much with it as without, the input and the output of each scope stay, and
gains that people measured range from nothing to a half; the figure of Keras' own change is 10 %. Measure before you
believe it.

## Example

```python
from tensorflow import keras

inputs = keras.Input((512, 512, 3))
x = inputs
for _ in range(12):
    x = keras.layers.Conv2D(64, 3, padding="same", activation="gelu")(x)
model = keras.Model(inputs, keras.layers.Conv2D(3, 1)(x))
model.compile("adam", "mse")
model.fit(load_pictures(), load_targets(), batch_size=8)
```

## Use instead

```python
from tensorflow import keras

with keras.RematScope(mode="full"):
    inputs = keras.Input((512, 512, 3))
    x = inputs
    for _ in range(12):
        x = keras.layers.Conv2D(64, 3, padding="same", activation="gelu")(x)
    model = keras.Model(inputs, keras.layers.Conv2D(3, 1)(x))
model.compile("adam", "mse")
model.fit(load_pictures(), load_targets(), batch_size=8)
```

Layers have to be made inside of the scope. `mode="larger_than"` and `"list_of_layers"` choose which of them.

## Fix safety

Display only: what to recompute is a matter of measuring.

## References

- <https://keras.io/api/utils/> (`keras.RematScope`)
- <https://www.tensorflow.org/api_docs/python/tf/recompute_grad>
- <https://github.com/keras-team/keras/pull/20743>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.rules.model_size.amounts import largest, largest_tensors

from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.queries.saved_activations import certain, complete, recomputes, saved_activations
from oomlint.dryrun.queries.trained_models import clearly_trained
from oomlint.dryrun.sizes import human
from oomlint.findings.model import Evidence, Rule, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM902",
    name="recompute-available",
    severity=Severity.NOTE,
    fix=Safety.DISPLAY,
    literals=("fit", "fit_generator", "train_on_batch", "GradientTape"),
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Models whose activations are most of what training holds."""
    if not recomputes(trace):
        yield from largest(_found(trace, settings))


def _found(trace: Trace, settings: Settings) -> Iterator[tuple[int, Finding]]:
    budget = settings.budget
    for trained in clearly_trained(trace):
        count = trained.model.parameters
        saved = saved_activations(trained)
        if (
            not saved
            or trained.step is None
            or count is None
            or known(count) is None
            or not complete(trained)
        ):
            continue
        held, weights = certain(saved), (known(count) or 0) * 4 * (2 + (trained.slots or 0))
        if held <= budget.warn_gpu or held <= weights:
            continue
        way = "keras.RematScope" if keras_at_least(trace, settings, 3, 9) else "tf.recompute_grad"
        finding = RULE.finding(
            trained.step,
            f"activations of a batch take at least {human(held)}, weights with gradient and optimizer "
            f"{human(weights)}: recomputing some could make room ({way})",
            evidence=(*largest_tensors(saved), Evidence(f"{count.value:,} parameters", trained.place)),
            help=f"Make the blocks with the largest activations under {way}, whole blocks and not single layers, "
            "and measure: input and output of each block stay, and the step takes about a third longer.",
        )
        yield held, finding
