"""A score for each word at each position of each sample: the output alone fills much of the GPU.

## What it does

Reports outputs of a trained model that have 1,000 classes or more (words, items), of a layer or a product with the
embedding's own table, where the tensors of that size that a training step holds take more than a quarter of the GPU's
memory; as an error if they take more than all of it. Where the batch, the length or the vocabulary is not known,
nothing is said.

## Why is this bad?

The output of a language model or translator is batch x positions x words, however small its layers are. Training
holds at least the logits and their gradient. Where a metric looks at a softmax, that is one more of them, and
one-hot labels are another. Integer labels (`sparse_categorical_crossentropy`) save the labels, not the logits.

## Example

```python
from tensorflow import keras

words = keras.Input((256,), dtype="int32")
x = keras.layers.Embedding(50_000, 128)(words)
x = keras.layers.GRU(256, return_sequences=True)(x)
model = keras.Model(words, keras.layers.Dense(50_000, activation="softmax")(x))
model.compile("adam", "categorical_crossentropy")
model.fit(load_words(), load_next_words(), batch_size=64)
```

## Use instead

```python
from tensorflow import keras

words = keras.Input((256,), dtype="int32")
x = keras.layers.Embedding(8_000, 128)(words)
x = keras.layers.GRU(256, return_sequences=True)(x)
model = keras.Model(words, keras.layers.Dense(8_000)(x))
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(load_words(), load_next_words(), batch_size=64)
```

Pieces of words need a tenth of the vocabulary. A sampled softmax (`tf.nn.sampled_softmax_loss`) compares with some of
the words only; where one position is to be predicted, `return_sequences=False` before the last layer leaves one.

## Fix safety

Display only: another vocabulary or loss is another model.

## References

- <https://github.com/keras-team/keras/issues/9150>
- <https://keras.io/api/losses/probabilistic_losses/#sparsecategoricalcrossentropy-class>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.rules.model_size.amounts import against, given, origins, severity_of

from oomlint.dryrun.queries.tensor_sizes import formula
from oomlint.dryrun.queries.vocabulary_outputs import vocabulary_outputs
from oomlint.dryrun.sizes import human
from oomlint.findings.model import Evidence, Rule, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.vocabulary_outputs import Output
    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM605",
    name="vocabulary-logits",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=("Dense", "EinsumDense", "Conv1D", "matmul", "einsum"),
    estimated=True,
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Outputs in training, held against the GPU's memory."""
    budget = settings.budget
    for output in vocabulary_outputs(trace):
        severity = severity_of(output.bytes, budget)
        if severity is None:
            continue
        before = given(output.layer) if output.layer is not None else ()
        yield RULE.finding(
            output.place,
            f"an output of {formula(output.factors, output.itemsize)} = {human(output.single)} is held "
            f"{len(output.parts)} times in training: {human(output.bytes)}, {against(output.bytes, budget)}",
            evidence=(
                *before,
                *origins(output.factors),
                *_held(output),
            ),
            help=_help(output),
            severity=severity,
        )


def _held(output: Output) -> Iterator[Evidence]:
    call = output.trained.compiled
    place = output.trained.place if call is None else call.place
    yield Evidence(f"of that size: {', '.join(output.parts)}", place)


def _help(output: Output) -> str:
    fewer = (
        "Use fewer words (pieces of words, the most frequent ones), predict fewer positions at a time, or sample "
        "the softmax"
    )
    if "the one-hot labels" not in output.parts:
        return f"{fewer}."
    return f"{fewer}; integer labels with the sparse loss save one of the {len(output.parts)}."
