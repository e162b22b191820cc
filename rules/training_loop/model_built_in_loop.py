"""A model is built, loaded, copied or compiled again on every pass of a loop, and trained there.

## What it does

Reports a Keras model that is made and then trained on each pass of a loop: folds of a cross-validation, points of a
grid, trials of a search, clients, episodes; and a model that is compiled anew on each pass. The loop may be a `for`, a
`while`, a comprehension, or the one that Optuna, keras_tuner or scikit-learn runs. Up to three passes known from
the text are a note, and so are tests, and a model that is compiled anew where a test holds that changes from pass to
pass (layers unfrozen at some epochs).

For a project on a version before Keras 2.4 also a model that is loaded or built on each pass, or for each request of a
web server, and only predicts: until then the operations of all models went into one graph.

## Why is this bad?

On TensorFlow every build, compile and `fit` leaves its weights, the optimizer's state and the traced graph behind for
the life of the process: about 50 MB per pass for four million parameters under Adam, whatever is deleted. `del`,
`gc.collect()` and `clear_session()` do not free it: the gradient registry keeps the graph alive. What is built and
only used for prediction or evaluation is freed (since Keras 2.4), and so is a model that runs eagerly. What is freed
goes back to TensorFlow's own pool; only the end of the process gives the GPU's memory back to the system.

## Example

```python
import numpy as np
from tensorflow import keras

x, y = np.load("x.npy"), np.load("y.npy")
for fold in range(10):
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(x[fold::10], y[fold::10], epochs=20)
```

## Use instead

```python
import multiprocessing
import numpy as np
from tensorflow import keras


def train(fold):
    x, y = np.load("x.npy"), np.load("y.npy")
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(x[fold::10], y[fold::10], epochs=20)


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    for fold in range(10):
        worker = multiprocessing.Process(target=train, args=(fold,))
        worker.start()
        worker.join()
```

Or build and compile once, and before each pass put back the first weights and a saved copy of
`model.optimizer.variables` (setting them to zero would also set the learning rate to zero).

## Fix safety

Display only: what belongs to a trial and how its results come back is for the author to say.

## References

- <https://github.com/tensorflow/tensorflow/issues/97697>
- <https://github.com/keras-team/tf-keras/issues/286>
- <https://github.com/keras-team/keras/issues/2102>
- <https://github.com/keras-team/keras/issues/13337>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.queries.asked_models import Asked, asked_models
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.queries.model_rounds import Repeated, repeated_models
from oomlint.dryrun.sizes import human
from oomlint.findings.model import TENSORFLOW_BACKEND, Evidence, Rule, Safety, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM406",
    name="model-built-in-loop",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=(
        "fit",
        "fit_generator",
        "train_on_batch",
        "apply_gradients",
        "search",
        "cross_val_score",
        "cross_validate",
        "predict",
        "evaluate",
    ),
    backends=TENSORFLOW_BACKEND,
)

FEW = 3  # passes that the text itself counts out: it grows, and ends soon, as in a test

HELP = (
    "Run each pass in a fresh process (multiprocessing with spawn, one task per process), or build and compile one "
    "model before the loop and put back its first weights and optimizer state. clear_session() does not free it."
)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Models made or compiled on the passes on which they are trained."""
    if not keras_at_least(trace, settings, 2, 4):
        yield from (_asked(asked) for asked in asked_models(trace))
    for found in repeated_models(trace):
        passes = found.passes
        few = passes is not None and passes.value <= FEW and not passes.soft
        few = few or found.tested or found.sometimes
        yield RULE.finding(
            found.place,
            f"a model is {found.verb} and trained on {_passes(found)}: each leaves its graph, weights and "
            "optimizer state behind",
            evidence=[*_evidence(found), *_tuned(trace, found)],
            help=HELP,
            severity=Severity.NOTE if few else Severity.WARNING,
        )


def _asked(found: Asked) -> Finding:
    few = found.passes is not None and found.passes <= FEW
    often = "for every request" if found.by_request else "on every pass of a loop"
    if found.passes is not None:
        often = f"on each of {found.passes:,} passes of a loop"
    return RULE.finding(
        found.place,
        f"a model is {found.verb} {often}: before Keras 2.4 the operations of every model stay in one graph",
        evidence=[
            Evidence("the function that answers it" if found.by_request else "the loop", found.around),
            Evidence("here it predicts", found.asked),
        ],
        help=f"make the model once, before {'the first request' if found.by_request else 'the loop'}; where there are "
        "many models, call keras.backend.clear_session() before each",
        severity=Severity.NOTE if few else Severity.WARNING,
    )


def _passes(found: Repeated) -> str:
    if found.sometimes:
        return "some passes of a loop"
    if found.passes is None:
        return "every pass of a loop"
    return f"each of {found.passes.value:,} passes of a loop"


def _tuned(trace: Trace, found: Repeated) -> Iterator[Evidence]:
    """keras_tuner clears the session by itself: nothing is gained by doing it once more."""
    for call in trace.calls("keras_tuner.Tuner.search"):
        if call.node is found.loop.node:
            yield Evidence(
                "the tuner clears the session before each trial, which frees nothing that was trained"
            )
            return


def _evidence(found: Repeated) -> Iterator[Evidence]:
    yield Evidence("the loop", found.loop)
    if found.made is not None and found.made.node is not found.place.node:
        yield Evidence(f"here it is {found.verb}", found.made)
    yield Evidence("here it is trained", found.trained)
    kept = found.kept
    if kept is not None and kept.bytes >= 1 << 20:  # below that, the graph is what grows
        after = "" if found.passes is None else f", {human(kept.bytes * found.passes.value)} after the last"
        weights = f"{kept.parameters:,} weights of 4 B and {kept.slots} more for each in the optimizer"
        yield Evidence(f"{weights}: {human(kept.bytes)} a pass{after}")
    if found.cleared is not None:
        yield Evidence("clear_session() does not free what fit has traced", found.cleared)
