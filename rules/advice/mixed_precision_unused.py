"""A large model is trained in float32 on a GPU that computes in half precision several times as fast.

## What it does

Reports, when it is selected (`--extend-select OOM901`), a script that trains a large model on a GPU with tensor
cores and says nothing about precision anywhere. Large is a model of 20 million parameters (ResNet50 has 25.6
million), or one whose activations take more than a quarter of the GPU's memory. The GPU is the one of the
configuration (`gpu`); for an amount of memory without a name, and for cards without tensor cores (P100, GTX
1080 Ti), nothing is said.

## Why is this bad?

Under `mixed_float16` activations and their gradients have half the bytes, and matrix products and convolutions run on
the tensor cores. It does not halve everything: weights, their gradients and what the optimizer keeps stay in
float32, each layer casts its weights for as long as it needs them, and layers that are called many times may keep
several such copies. So it helps where activations are most of the memory, and little where weights are.

## Example

```python
from tensorflow import keras

model = keras.applications.ResNet50(weights=None, input_shape=(224, 224, 3), classes=1000)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(load_pictures(), load_labels(), batch_size=64)
```

## Use instead

```python
from tensorflow import keras

keras.mixed_precision.set_global_policy("mixed_float16")

model = keras.applications.ResNet50(weights=None, input_shape=(224, 224, 3), classes=1000)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(load_pictures(), load_labels(), batch_size=64)
```

A softmax at the end should compute in float32 (`Activation("softmax", dtype="float32")`). Training loops with a tape
have to scale the loss themselves (`LossScaleOptimizer`), `compile` does it. On an A100 or newer `mixed_bfloat16`
needs no scaling.

## Fix safety

Unsafe: results differ, and a model that is at the edge of float16's range may not train. Offered where all models are
compiled.

## References

- <https://keras.io/api/mixed_precision/>
- <https://www.tensorflow.org/guide/mixed_precision>
- <https://github.com/keras-team/keras/issues/15474>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.queries.precision import chooses_precision
from oomlint.dryrun.queries.saved_activations import certain, saved_activations, trains_all
from oomlint.dryrun.queries.trained_models import clearly_trained
from oomlint.dryrun.sizes import human
from oomlint.findings.model import Evidence, Fix, Rule, Safety, Severity
from oomlint.syntax.blocks import imports_of, names_bound
from oomlint.syntax.edits import AddImport, Edit, InsertAfter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.queries.trained_models import Trained
    from oomlint.dryrun.trace import Trace
    from oomlint.findings.model import Finding
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM901",
    name="mixed-precision-unused",
    severity=Severity.NOTE,
    fix=Safety.UNSAFE,
    literals=("compile", "GradientTape"),
)

WITHOUT_TENSOR_CORES = ("P100", "GTX-1080-Ti")  # compute capability below 7.0
# The smallest model of NVIDIA's own examples of mixed precision that are trained from scratch is ResNet50, 25.6
# million.
LARGE = 20_000_000


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """The largest model of a script that never mentions precision."""
    gpu = settings.budget.gpu_name
    if gpu is None or gpu in WITHOUT_TENSOR_CORES or chooses_precision(trace):
        return
    trained = clearly_trained(trace)
    large = [(one, size) for one in trained if (size := _size(one, settings.budget.warn_gpu)) is not None]
    if not large:
        return
    model, (parameters, activations) = max(large, key=lambda pair: (pair[1][1], pair[1][0]))
    place = model.compiled.place if model.compiled is not None else model.step
    if place is None:
        return
    what = (
        f"{parameters:,} parameters"
        if parameters >= LARGE
        else f"{human(activations)} of activations for a batch"
    )
    evidence = (
        [Evidence(f"{parameters:,} parameters", model.model.made_by.place)]
        if model.model.made_by and parameters
        else []
    )
    if activations:
        evidence.append(
            Evidence(f"at least {human(activations)} of activations wait for the backward pass", model.step)
        )
    yield RULE.finding(
        place,
        f"a model with {what} is trained in float32, although a {gpu} has tensor cores",
        evidence=evidence,
        help="set the policy mixed_float16 before the model is made: it halves activations, not weights and what the "
        "optimizer keeps; keep a last softmax in float32",
        fix=_fix(trace) if all(one.compiled is not None for one in trained) else None,
    )


def _size(trained: Trained, quarter: int) -> tuple[int, int] | None:
    """Parameters and bytes of activations, where one of them is large."""
    count = trained.model.parameters
    parameters = (known(count) or 0) if count is not None and trains_all(trained) else 0
    activations = certain(saved_activations(trained) or [])
    return (parameters, activations) if parameters >= LARGE or activations > quarter else None


def _fix(trace: Trace) -> Fix | None:
    """The policy, after the imports."""
    module = trace.libraries.get("keras", "tensorflow.keras").partition(".")[0]
    imports = imports_of(trace.source, module, ("tensorflow", "keras", "tf_keras"))
    if imports is None:
        return None
    name, edits = imports.name, list[Edit]()
    if name is None:
        name = "tf_keras" if module == "tf_keras" else "keras"
        statement = "from tensorflow import keras" if module == "tensorflow" else f"import {module}"
        if module != "tensorflow" and name in _bound(trace):  # another Keras: `from tensorflow import keras`
            statement, name = f"from {module} import mixed_precision", ""
        edits.append(AddImport(trace.source.place(imports.neighbour), statement))
    elif module == "tensorflow":
        name += ".keras"
    policy = f"{name}.mixed_precision" if name else "mixed_precision"
    if not name and policy in _bound(trace):
        return None
    block = ["", f'{policy}.set_global_policy("mixed_float16")']
    following = trace.source.whole.body[imports.index + 1 :]
    if following and not getattr(following[0], "leading_lines", ()):
        block.append("")
    edits.append(InsertAfter(trace.source.place(imports.last), tuple(block)))
    return Fix("compute in float16, keep weights in float32", Safety.UNSAFE, tuple(edits))


def _bound(trace: Trace) -> set[str]:
    """The names that the module's own statements bind."""
    return {name for statement in trace.source.module.body for name in names_bound(statement)}
