"""Every step of a long sequence leaves its states behind for the backward pass, and they fill much of the GPU.

## What it does

Reports two shapes of trained models, with the memory held against the GPU's: a warning above a quarter of it, an
error above all of it.

- Recurrent layers that cuDNN cannot run (`SimpleRNN`, `RNN` with cells, `ConvLSTM2D`, LSTM and GRU with another
  activation, `recurrent_dropout`, `unroll`, no bias, or `reset_after=False`), where the gates and states kept of all
  steps are that large.
- A network on each frame of a sequence (`TimeDistributed`), where its activations for batch x frames pictures are
  that large.

Where the batch, the length or a shape is not known, nothing is said.

## Why is this bad?

Through time is deep: a sequence of 5,000 steps is a network of 5,000 layers, and each keeps what its gradient needs.
Off cuDNN an LSTM holds about 8 tensors of batch x steps x units, a GRU 7, a `SimpleRNN` 1.3 (measured). With its
default arguments, on a GPU, cuDNN runs an LSTM or GRU and keeps less; one argument loses that. A `TimeDistributed`
network sees batch x frames pictures at once, so a batch of 8 clips of 32 frames is a batch of 256.

## Example

```python
from tensorflow import keras

model = keras.Sequential([
    keras.Input((5000, 12)),
    keras.layers.LSTM(256, return_sequences=True, recurrent_dropout=0.2),
    keras.layers.LSTM(256, recurrent_dropout=0.2),
    keras.layers.Dense(1),
])
model.compile("adam", "mse")
model.fit(load_signals(), load_targets(), batch_size=64)
```

## Use instead

```python
from tensorflow import keras

model = keras.Sequential([
    keras.Input((5000, 12)),
    keras.layers.Conv1D(64, 10, strides=10, activation="relu"),
    keras.layers.LSTM(256, return_sequences=True),
    keras.layers.LSTM(256),
    keras.layers.Dense(1),
])
model.compile("adam", "mse")
model.fit(load_signals(), load_targets(), batch_size=64)
```

Strided convolutions or pooling in front shorten the sequence; `stateful=True` with pieces of it in order trains on
all of it a piece at a time. For frames: fewer of them, or features computed once by a frozen network.

## Fix safety

Display only: every way out changes the model or how it is trained.

## References

- <https://github.com/keras-team/keras/issues/1882>
- <https://github.com/broadinstitute/keras-resnet/issues/38>
- <https://keras.io/api/layers/recurrent_layers/lstm/>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.rules.model_size.amounts import (
    against,
    given,
    largest,
    largest_tensors,
    origins,
    severity_of,
    times,
)

from oomlint.dryrun.queries.recurrent_states import recurrent_states
from oomlint.dryrun.queries.saved_activations import certain, in_sequences, recomputes
from oomlint.dryrun.queries.tensor_sizes import formula
from oomlint.dryrun.queries.trained_models import clearly_trained
from oomlint.dryrun.sizes import human
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Rule, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.recurrent_states import States
    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Budget, Settings

RULE = Rule(
    code="OOM606",
    name="long-recurrence",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=("LSTM", "GRU", "SimpleRNN", "RNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "TimeDistributed"),
    backends=TENSORFLOW_BACKEND,
    estimated=True,
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """States and activations of sequences, held against the GPU's memory."""
    yield from largest(_recurrent(trace, settings.budget))
    if not recomputes(trace):
        yield from largest(_distributed(trace, settings.budget))


def _recurrent(trace: Trace, budget: Budget) -> Iterator[tuple[int, Finding]]:
    for trained in clearly_trained(trace):
        states = list(recurrent_states(trained))
        held = sum(layer.bytes for layer in states)
        severity = severity_of(held, budget)
        if severity is None:
            continue
        most = max(states, key=lambda layer: layer.bytes)
        layers = f"{len(states)} recurrent layers keep" if len(states) > 1 else "a recurrent layer keeps"
        finding = RULE.finding(
            most.place,
            f"off cuDNN, {layers} {human(held)} of states for the backward pass, {against(held, budget)}",
            evidence=(*given(most.layer), *origins(most.factors), *_kept(states)),
            help="Shorten the sequences in front of the layer (strided convolution, pooling), train on pieces of them "
            "or on fewer at a time, or leave the default arguments, with which cuDNN runs LSTM and GRU on a GPU.",
            severity=severity,
        )
        yield held, finding


def _kept(states: list[States]) -> Iterator[Evidence]:
    for layer in states[:4]:
        tensors = f"{times(layer.units)} x {formula(layer.factors, layer.itemsize)} = {human(layer.bytes)}"
        yield Evidence(f"{layer.kind}, not by cuDNN ({layer.why}): {tensors}", layer.place)


def _distributed(trace: Trace, budget: Budget) -> Iterator[tuple[int, Finding]]:
    for trained in clearly_trained(trace):
        saved = list(in_sequences(trained))
        held = certain(saved)
        severity = severity_of(held, budget)
        if severity is None:
            continue
        most = max(saved, key=lambda one: one.bytes)
        use = most.use
        assert use is not None
        finding = RULE.finding(
            use.wrapped or use.place,
            f"on each step of the sequences, TimeDistributed layers keep at least {human(held)} of activations for the "
            f"backward pass, {against(held, budget)}",
            evidence=(*given(use.wrapper or use.layer), *origins(most.factors), *largest_tensors(saved)),
            help="Train on fewer frames or fewer sequences at a time, on smaller pictures, or on features that a "
            "frozen network computed once.",
            severity=severity,
        )
        yield held, finding
