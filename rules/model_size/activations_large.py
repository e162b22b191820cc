"""The activations of one batch that wait for the backward pass do not fit into the GPU.

## What it does

Adds up, layer by layer, the tensors that the backward pass of a trained model needs, for the batch that it is
trained with, and reports a sum that passes the GPU's memory together with the weights and what the optimizer keeps.
It is a lower bound: each tensor counts once, at 75 %, for XLA makes some of them again; masks, copies, gradients and
workspaces do not count. Where the batch or the layers are not known, nothing is said; scripts that recompute
activations (`keras.RematScope`, `tf.recompute_grad`) are left alone.

## Why is this bad?

Most of the memory of a convolutional network is not its weights but what its layers hand on, and that grows with the
batch and with the area of the picture: twice the side is four times the memory. Few parameters do not mean little
memory. Memory growth, `clear_session()` and `del` change nothing here: the step needs these tensors at the same
time.

## Example

```python
from tensorflow import keras

inputs = keras.Input((256, 256, 256, 1))
x = inputs
for _ in range(4):
    x = keras.layers.Conv3D(32, 3, padding="same", activation="relu")(x)
model = keras.Model(inputs, keras.layers.Conv3D(1, 1)(x))
model.compile("adam", "mse")
model.fit(load_volumes(), load_masks(), batch_size=4)
```

## Use instead

```python
from tensorflow import keras

inputs = keras.Input((96, 96, 96, 1))
x = inputs
for _ in range(4):
    x = keras.layers.Conv3D(32, 3, padding="same", activation="relu")(x)
model = keras.Model(inputs, keras.layers.Conv3D(1, 1)(x))
model.compile("adam", "mse")
model.fit(load_patches(), load_masks(), batch_size=4)
```

A smaller batch helps in proportion; `gradient_accumulation_steps` on the optimizer keeps the larger batch's
gradient. A policy of `mixed_float16` halves activations, not weights and slots. Pictures can be made smaller or cut
into patches, and `keras.RematScope` trades memory for time.

## Fix safety

Display only: a smaller batch trains differently.

## References

- <https://github.com/keras-team/keras/issues/13376>
- <https://github.com/tootouch/3D_CoordConv_Segmentation/issues/5>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.rules.model_size.amounts import given, largest, largest_tensors, origins

from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.queries.saved_activations import (
    certain,
    in_sequences,
    recomputes,
    saved_activations,
    trains_all,
)
from oomlint.dryrun.queries.trained_models import clearly_trained
from oomlint.dryrun.sizes import human
from oomlint.findings.estimates import estimated
from oomlint.findings.model import Evidence, Rule, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.trained_models import Trained
    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Budget, Settings

RULE = Rule(
    code="OOM607",
    name="activations-large",
    severity=Severity.ERROR,
    fix=Safety.DISPLAY,
    literals=("fit", "fit_generator", "train_on_batch", "GradientTape"),
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Models whose activations alone pass the GPU's memory."""
    if not recomputes(trace):
        yield from largest(_found(trace, settings.budget))


def _found(trace: Trace, budget: Budget) -> Iterator[tuple[int, Finding]]:
    told = estimated(trace)
    for trained in clearly_trained(trace):
        if told is not None and told.is_of(trained.model, trained.step):
            continue  # OOM601 has what it really takes
        saved = saved_activations(trained)
        if not saved or trained.step is None or certain(list(in_sequences(trained))) > budget.warn_gpu:
            continue  # of sequences OOM606 speaks
        held, weights = certain(saved), _weights(trained)
        if held + weights <= budget.gpu or held <= budget.warn_gpu:
            continue
        most = max(saved, key=lambda one: one.bytes)
        batch = most.factors[0]
        beside = f" beside {human(weights)} of weights and optimizer" if weights else ""
        evidence = [*origins(most.factors), *largest_tensors(saved)]
        if most.use is not None:
            evidence[:0] = given(most.use.layer)
        if weights:
            text = f"weights, and {trained.slots or 0} numbers in the optimizer for each of them"
            evidence.append(Evidence(f"{text}: {human(weights)}", trained.place))
        finding = RULE.finding(
            trained.step,
            f"a batch of {batch.value:,} keeps at least {human(held)} of activations for the backward pass{beside}, "
            f"more than all of the {budget.gpu_label}",
            evidence=evidence,
            help="Train on fewer samples at a time (gradient_accumulation_steps keeps the larger batch's gradient), on "
            "smaller inputs or patches, under mixed precision, or recompute activations (keras.RematScope).",
        )
        yield held, finding


def _weights(trained: Trained) -> int:
    """Weights and slots, where they are known: both are there while the activations wait."""
    parameters = trained.model.parameters
    count = None if parameters is None else known(parameters)
    return 0 if count is None or not trains_all(trained) else count * 4 * (1 + (trained.slots or 0))
