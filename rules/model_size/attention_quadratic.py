"""The scores of attention layers, one for each pair of positions, fill much of the GPU.

## What it does

Reports `MultiHeadAttention`, `GroupQueryAttention`, `Attention` and `AdditiveAttention` layers of a trained model
whose scores take more than a quarter of the GPU's memory in a training step; as an error if they take more than all
of it. Layers made at one place (a block in a loop) count together. Where the batch, a length or the number of heads
is not known, nothing is said.

## Why is this bad?

Attention compares each position with each other one: batch x heads x length x length scores. Twice the length takes
four times the memory, and few parameters say nothing about it. On TensorFlow the scores are really made (Keras has
no flash attention on this backend). The softmax of every layer is kept until the backward pass reaches it, with
dropout 2.25 times the scores; at the peak a single layer holds about four times its scores (measured).
`AdditiveAttention` is worse by the width of its vectors: it keeps a vector, not a number, for each pair.

## Example

```python
from tensorflow import keras

tokens = keras.Input((4096,), dtype="int32")
x = keras.layers.Embedding(30_000, 512)(tokens)
for _ in range(6):
    x = x + keras.layers.MultiHeadAttention(num_heads=8, key_dim=64)(x, x)
model = keras.Model(tokens, keras.layers.Dense(2)(x[:, 0]))
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(load_tokens(), load_labels(), batch_size=16)
```

## Use instead

```python
from tensorflow import keras

tokens = keras.Input((512,), dtype="int32")
x = keras.layers.Embedding(30_000, 512)(tokens)
for _ in range(6):
    x = x + keras.layers.MultiHeadAttention(num_heads=8, key_dim=64)(x, x)
model = keras.Model(tokens, keras.layers.Dense(2)(x[:, 0]))
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(load_tokens(), load_labels(), batch_size=16)
```

Shorter sequences help by their square, a smaller batch (with `gradient_accumulation_steps` on the optimizer, if the
larger one is wanted) in proportion. A policy of `mixed_float16` halves scores, but not weights and what the
optimizer keeps. Long inputs can be cut into windows, pooled or strided before they attend.

## Fix safety

Display only: every way out changes the model or how it is trained.

## References

- <https://github.com/OpenNMT/OpenNMT-tf/issues/720>
- <https://keras.io/api/layers/attention_layers/multi_head_attention/>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.rules.model_size.amounts import against, given, origins, severity_of, times

from oomlint.dryrun.queries.attention_scores import attention_scores
from oomlint.dryrun.queries.tensor_sizes import formula
from oomlint.dryrun.sizes import human
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Rule, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.attention_scores import Scores
    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM603",
    name="attention-quadratic",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=(
        "MultiHeadAttention",
        "GroupQueryAttention",
        "GroupedQueryAttention",
        "Attention",
        "AdditiveAttention",
        "softmax",
        "Softmax",
    ),
    backends=TENSORFLOW_BACKEND,
    estimated=True,
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Scores in training, held against the GPU's memory."""
    budget = settings.budget
    for scores in attention_scores(trace):
        severity = severity_of(scores.bytes, budget)
        if severity is None:
            continue
        layers = f"{scores.layers} layers of attention" if scores.layers > 1 else "attention"
        yield RULE.finding(
            scores.place,
            f"{layers} with scores of {formula(scores.factors, scores.itemsize)} = {human(scores.single)}"
            f"{' each' if scores.layers > 1 else ''} hold about {human(scores.bytes)} in training, "
            f"{against(scores.bytes, budget)}",
            evidence=(*given(scores.layer), *origins(scores.factors), *_held(scores)),
            help="Shorten the sequences (the scores grow with the square of their length), pool or window them "
            "before they attend, or train on fewer at a time.",
            severity=severity,
        )


def _held(scores: Scores) -> Iterator[Evidence]:
    each = f" in each of the {scores.layers} layers" if scores.layers > 1 else ""
    text = f"{times(scores.kept)} x the scores wait for the backward pass{each}"
    yield Evidence(f"{text}; at its peak {times(scores.working)} x more live", scores.place)
