"""A model is called on a whole data set at once.

## What it does

Reports `model(x)` where x is plainly a whole set (one of Keras' own, one of the parts of a split, an array read from
a file that is trained on or scored in every round), or an array above a quarter of the GPU's memory (an error
above all of it).

## Why is this bad?

Calling a model is one forward pass: all rows go to the device together, and so do the outputs of every layer for
all rows, which are many times the input. `predict` and `evaluate` go by batches.

Batches, slices, single examples, symbolic inputs while a model is built, small tables, generated points, and
networks whose outputs are known to be small even for all rows (dense layers on MNIST) are not reported.

## Example

```python
from tensorflow import keras

(x_train, y_train), (x_test, y_test) = keras.datasets.cifar10.load_data()
model = keras.Sequential([keras.layers.Conv2D(64, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x_train, y_train)
logits = model(x_test)
```

## Use instead

```python
from tensorflow import keras

(x_train, y_train), (x_test, y_test) = keras.datasets.cifar10.load_data()
model = keras.Sequential([keras.layers.Conv2D(64, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x_train, y_train)
logits = model.predict(x_test, batch_size=32)
```

## Fix safety

Unsafe: `predict` gives a NumPy array and no gradient. `.numpy()` on the result goes; where it stands on what was
computed from the result the fix is not offered, nor inside a tape or a `tf.function`, nor with `training=True`.

## References

- <https://keras.io/api/models/model_training_apis/#predict-method>
- <https://github.com/keras-team/keras/issues/384>
- <https://github.com/QData/TextAttack/issues/30>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.queries import gpu_setup
from oomlint.dryrun.queries.forward_pass import forward_bytes
from oomlint.dryrun.sizes import human
from oomlint.dryrun.trace import Argument, Body, Call, Context, Role
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Sequence, Value, deref
from oomlint.dryrun.values.training import Layer, Model, Tape
from oomlint.findings.evidence import factors, over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import Replace

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM307",
    name="full-set-forward",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("Model", "Sequential", "load_model", "applications", "model_from_json", "clone_model"),
)

FEW_ROWS = 1_000
MAX_STEPS = 20  # of a computation, from `.numpy()` back to the model
SMALL = 4 * 2**20  # bytes: a table that any device takes in one piece
LITTLE = 256 * 2**20  # bytes of layers' outputs: MNIST through a few dense layers, which no GPU notices
TRAINED = ("keras.Model.fit", "keras.Model.evaluate", "keras.Model.predict", "keras.Model.train_on_batch")

UPDATES = ("keras.Optimizer.apply_gradients", "keras.Optimizer.apply", "keras.Optimizer.minimize")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Forward passes on arrays."""
    for call in trace.calls("keras.Model.__call__"):
        argument = call.arguments[0] if call.arguments else None
        if argument is None or argument.star:
            continue
        operand = deref(argument.value)
        if not isinstance(operand, Array) or operand.library not in (
            "numpy",
            "memmap",
            "tensor",
            "pandas",
            "h5py",
        ):
            continue
        if call.context.role("tf.data.map") is not None or gpu_setup.on_the_cpu(trace, call):
            continue
        if _within_a_model(call.context):
            continue
        size = operand.size
        severity = over(size, settings.budget.gpu) if size is not None else None
        held = _forward(call, operand)
        if severity is None and held is not None and held[0] < LITTLE:
            continue
        why = None if severity is not None else _plainly_whole(trace, call, operand)
        if severity is None and why is None:
            continue
        name = f"`{argument.path}`" if argument.path is not None else "a whole array"
        rows = operand.shape[0] if operand.shape else None
        count = f"all {rows.value:,} rows" if rows is not None else "all rows"
        told = (
            f": {size} of input alone (budget: {settings.budget.gpu_label})" if severity is not None else ""
        )
        yield RULE.finding(
            argument.place,
            f"one forward pass over {count} of {name}, whose layers' outputs are on the device together{told}",
            evidence=[
                *(factors(size) if size is not None else ()),
                *([why] if why is not None else []),
                *_largest(held),
            ],
            help="use `predict` with a batch size, or loop over batches",
            fix=_fix(trace, call, argument),
            severity=severity,
        )


def _forward(call: Call, operand: Array) -> tuple[int, Layer] | None:
    """Bytes of layers' outputs in this pass, with the layer whose output is the largest."""
    model = deref(call.receiver) if call.receiver is not None else None
    rows = operand.shape[0] if operand.shape else None
    if not isinstance(model, Model) or rows is None:
        return None
    return forward_bytes(model, rows.value, differentiated=_in_tape(call.context))


def _largest(held: tuple[int, Layer] | None) -> list[Evidence]:
    if held is None or held[1].made_by is None:
        return []
    return [Evidence(f"layers' outputs of {human(held[0])}, the largest of this one", held[1].made_by.place)]


def _plainly_whole(trace: Trace, call: Call, operand: Array) -> Evidence | None:
    """What shows that an operand is a whole data set; None where nothing does."""
    rows = operand.shape[0] if operand.shape else None
    if rows is not None and rows.value < FEW_ROWS:
        return None
    if "part" in operand.tags or (operand.size is not None and operand.size.bytes < SMALL):
        return None
    origin = operand.origin.place if operand.origin is not None else None
    if "dataset" in operand.tags and rows is not None:
        return Evidence("a whole set of `keras.datasets`", origin)
    read = any(tag.startswith("loaded:") for tag in operand.tags)
    mapped = operand.library == "memmap"
    if not (read or mapped) or (operand.rank is not None and operand.rank < 2):
        return None
    if any(
        role.name.startswith("tf.data.") for one in _reads(trace, operand) for role in one.context.all(Role)
    ):
        return None  # a data set reads a file for each of its elements
    if "split" in operand.tags:
        return Evidence("from here, and one of the two parts of a split", origin)
    if mapped:
        return None  # which reads it are is not followed further
    if _in_tape(call.context):
        trained = _updates(trace, call)
        return Evidence("read whole, and trained on in one piece", origin) if trained else None
    if _again_and_again(trace, call, operand):
        return Evidence("read whole, and passed whole in every round", origin)
    for other in trace.calls(*TRAINED):
        if any(_same_load(deref(given.value), operand) for given in other.arguments):
            return Evidence("the same array is trained or scored on here", other.place)
    return None


def _again_and_again(trace: Trace, call: Call, operand: Array) -> bool:
    """Whether a loop passes what was read before it began (what each round reads is one of many files)."""
    within = {id(loop) for read in _reads(trace, operand) for loop in read.context.loops()}
    return any(
        not loop.unrolled and loop.kind != "comprehension" and id(loop) not in within
        for loop in call.context.loops()
    )


def _reads(trace: Trace, operand: Array) -> list[Call]:
    """The calls that read it."""
    tags = (tag.partition(":")[2] for tag in operand.tags if tag.startswith("loaded:"))
    return list(trace.numbered(sorted(int(tag) for tag in tags if tag.isdecimal())))


def _same_load(value: object, operand: Array) -> bool:
    if isinstance(value, Sequence):
        return any(_same_load(deref(item), operand) for item in value.items or ())
    return isinstance(value, Array) and bool(
        {tag for tag in value.tags if tag.startswith("loaded:")} & operand.tags
    )


def _within_a_model(context: Context) -> bool:
    """Whether the call is part of a model's or layer's own `call`: the call from outside is the one to change."""
    for body in context.all(Body):
        owner = body.function.owner
        if body.function.name == "call" and owner is not None:
            return any(base.startswith("keras.") for base in owner.library_bases())
    return False


def _updates(trace: Trace, call: Call) -> bool:
    """Whether the function of this forward pass updates weights: a saliency map takes gradients and does not."""
    here = call.context.function()
    return any(update.context.function() is here for update in trace.calls(*UPDATES))


def _in_tape(context: Context) -> bool:
    return context.manager(Tape) is not None


def _fix(trace: Trace, call: Call, argument: Argument) -> Fix | None:
    """`model.predict(x, batch_size=32)` in its place, where an array does as well as a tensor."""
    node = call.node
    if not isinstance(node, cst.Call) or call.place.source is not trace.source or call.opaque_arguments:
        return None
    if _in_tape(call.context) or call.context.role("tf.function") is not None:
        return None
    if any(other.name not in (None, "training") for other in call.arguments) or len(node.args) > 2:
        return None
    if call.argument("training") is not None and call.const("training") is not False:
        return None
    model, x = trace.source.code(node.func), trace.source.code(argument.place.node)
    if any(_computed_from(trace, each.value, deref(call.result)) for each in trace.iterations()):
        return None  # what the loop does with a row may need a tensor
    place = call.place
    bare: dict[int, Replace] = {}
    for other in trace.calls("array.numpy"):
        if not _computed_from(trace, other.receiver, deref(call.result)):
            continue
        inner = other.node.func if isinstance(other.node, cst.Call) else None
        if not isinstance(inner, cst.Attribute) or other.place.source is not trace.source:
            return None
        if inner.value is node:
            place = other.place
        elif other.receiver is not None and deref(other.receiver) is deref(call.result):
            bare[id(other.node)] = Replace(other.place, trace.source.code(inner.value))
        else:
            return None  # an array by then, and the author's to follow
    edit = Replace(place, f"{model}.predict({x}, batch_size=32)")
    return Fix("predict in batches", Safety.UNSAFE, (edit, *bare.values()))


def _computed_from(trace: Trace, value: Value | None, result: Value) -> bool:
    """Whether a value is the model's result, or cut out of or computed from it without TensorFlow's functions."""
    pending = [] if value is None else [deref(value)]
    for _ in range(MAX_STEPS):
        if not pending:
            return False
        step = pending.pop()
        if step is result:
            return True
        made = trace.subscript(step) or trace.maker(step)
        if made is not None and made.name.startswith(("operator.", "array.")):
            pending += [deref(given.value) for given in made.arguments]
            pending += [] if made.receiver is None else [deref(made.receiver)]
    return False
