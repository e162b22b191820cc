"""Labels of very many classes are written out one-hot.

## What it does

Reports `to_categorical`, `np.eye(n)[labels]`, `np.zeros((rows, n))` filled with ones, `tf.one_hot` and
`LabelBinarizer` over all labels, where they train a model with categorical cross-entropy: from 1,000 classes on, from a
vocabulary whose size the text decides, or where rows and classes are known and take more than a quarter of the host's
memory. Where they are known and take less, it says nothing.

Silent for few classes; for label smoothing, mixtures of labels and metrics such as F1 or AUC, which need a column
per class; for labels encoded batch by batch, in a generator, in `__getitem__` or in a `map`; for other losses.

## Why is this bad?

One label becomes a row of mostly zeros. The small integers that people expect are not there: Keras 3's `to_categorical`
gives float64, eight bytes per class and row. Three million words of a vocabulary of 5,000 are 120 GB, as integers
they are 12 MB.

Integer labels do not make the model's output smaller: the scores of a whole vocabulary for every position of a batch
are computed in any case.

## Example

```python
import numpy as np
from tensorflow import keras

x = np.load("windows.npy")
words = np.load("next_word.npy")
y = keras.utils.to_categorical(words, num_classes=20_000)
model = keras.Sequential([keras.layers.Dense(20_000, activation="softmax")])
model.compile("adam", "categorical_crossentropy")
model.fit(x, y)
```

## Use instead

```python
import numpy as np
from tensorflow import keras

x = np.load("windows.npy")
words = np.load("next_word.npy")
model = keras.Sequential([keras.layers.Dense(20_000, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, words)
```

## Fix safety

Unsafe: the numbers of the loss stay the same, but whatever else looks at the labels now finds integers.

## References

- <https://keras.io/api/losses/probabilistic_losses/#sparsecategoricalcrossentropy-class>
- <https://github.com/keras-team/keras/issues/483>
- <https://github.com/WillKoehrsen/recurrent-neural-networks/issues/2>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from oomlint.rules.host_data.amounts import against, dimensions, form, in_generator
from oomlint.rules.host_data.integer_labels import integer_labels

from oomlint.dryrun.catalog.arrays.making import one_hot_by
from oomlint.dryrun.catalog.keras.text import is_vocabulary
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.queries.labels import CATEGORICAL, OTHER, Labels, labels
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.trace import Call, Role, Trace
from oomlint.dryrun.values.arrays import ITEMSIZE, Array
from oomlint.dryrun.values.base import Const, Sequence, Step, Unknown, Value, deref
from oomlint.dryrun.values.shapes import dimension_at, number
from oomlint.dryrun.values.training import Layer, Model
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM205",
    name="one-hot-large",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("to_categorical", "eye", "identity", "zeros", "one_hot", "LabelBinarizer"),
)

MANY = 1_000  # classes
_ARITHMETIC = ("operator.mul", "operator.add", "operator.sub", "operator.truediv")


@dataclass(slots=True)
class OneHot:
    """A call that writes labels out one-hot, and whom they reach."""

    call: Call
    made: Array
    classes: Value | None
    fed: list[Labels] = field(default_factory=list)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """One finding per place that writes out labels."""
    found: dict[int, OneHot] = {}
    filled = _filled(trace)
    for entry in labels(trace):
        for call in trace.numbered(one_hot_by(entry.value)):
            _add(found, call, entry, _classes(trace, call))
        if entry.value.origin is not None and id(entry.value.origin) in filled:
            call = filled[id(entry.value.origin)]
            _add(found, call, entry, _last(call.value("shape")))
    mixed = _mixed(trace)
    kept = [one for one in found.values() if not _of_a_batch(one) and not mixed & _marks(one)]
    for one in kept:
        result = _finding(trace, one, kept, settings)
        if result is not None:
            yield result


def _add(found: dict[int, OneHot], call: Call, entry: Labels, classes: Value | None) -> None:
    made = deref(call.result)
    if isinstance(made, Array) and entry.loss != OTHER:
        one = found.setdefault(id(call.node), OneHot(call, made, classes))
        one.fed.append(entry)


def _filled(trace: Trace) -> dict[int, Call]:
    """Arrays of zeros into which ones are written, by what their parts remember as their origin."""
    zeros = {id(call.node): call for call in trace.calls("numpy.zeros")}
    found: dict[int, Call] = {}
    for call in trace.calls("operator.setitem"):
        array, key, value = (deref(argument.value) for argument in call.arguments[:3])
        origin = array.origin if isinstance(array, Array) else None
        made = zeros.get(id(origin.place.node)) if origin is not None and origin.place is not None else None
        keys = key.items if isinstance(key, Sequence) and key.kind == "tuple" else None
        if made is None or origin is None or not isinstance(array, Array) or keys is None:
            continue
        one = isinstance(value, Const) and value.value in (1, 1.0)
        if one and array.rank == len(keys) and array.rank > 1:
            found[id(origin)] = made
    return found


def _classes(trace: Trace, call: Call) -> Value | None:
    """What was given as the number of classes."""
    if call.name == "operator.getitem":
        table = trace.maker(call.receiver) if call.receiver is not None else None
        return deref(table.arguments[0].value) if table is not None and table.arguments else None
    return call.value("num_classes") or call.value("depth")


def _last(shape: Value | None) -> Value | None:
    return deref(shape.items[-1]) if isinstance(shape, Sequence) and shape.items else None


def _marks(one: OneHot) -> set[int]:
    return {one.call.index, id(one.made.origin)}


def _mixed(trace: Trace) -> set[int]:
    """Those that are computed with: smoothed or mixed labels have no integer form."""
    marks: set[int] = set()
    for call in trace.calls(*_ARITHMETIC):
        for argument in call.arguments[:2]:
            value = deref(argument.value)
            if isinstance(value, Array) and value.shape != ():
                marks |= one_hot_by(value)
                marks.add(id(value.origin))
    return marks


def _of_a_batch(one: OneHot) -> bool:
    """Whether the labels are written out for one batch or step at a time."""
    context = one.call.context
    if in_generator(context) or in_test(one.call):
        return True
    if any(role.name.startswith(("tf.", "keras.")) for role in context.all(Role)):
        return True
    around = set(context.loops())
    return all(around & set(entry.feed.context.loops()) for entry in one.fed)


def _finding(trace: Trace, one: OneHot, every: list[OneHot], settings: Settings) -> Finding | None:
    whole = _largest(trace, one, settings)
    size = whole.size
    severity: Severity | None = Severity.WARNING
    if size is not None:
        severity = over(size, settings.budget.host)
        amount = f"{form(whole)} takes {against(size.bytes, settings.budget)}"
    elif not any(entry.loss == CATEGORICAL for entry in one.fed):
        return None
    else:
        classes, text = _width(one, whole)
        if classes is not None and classes < MANY:
            return None
        if text is None:
            return None
        width = ITEMSIZE.get(whole.dtype or "", 0)
        row = f"{classes * width:,} B" if classes is not None and width else "as wide as the vocabulary"
        amount = f"{text}, and a row of {whole.dtype or 'zeros and ones'} per label is {row}"
    if severity is None:
        return None
    fix = integer_labels(trace, one.call, [other.call for other in every], [entry.model for entry in one.fed])
    help = "keep the integers and compile with sparse_categorical_crossentropy: the same loss, 4 or 8 B per label"
    return RULE.finding(
        one.call.place,
        f"labels are written out one-hot: {amount}",
        severity=severity,
        evidence=[*_type(one, whole), *_fed(one), *dimensions(whole)],
        help=help,
        fix=fix or Fix(help, Safety.DISPLAY),
    )


def _type(one: OneHot, whole: Array) -> Iterator[Evidence]:
    """What people expect to be small integers."""
    width = ITEMSIZE.get(whole.dtype or "", 0)
    if one.call.name == "keras.utils.to_categorical" and width > 1:
        yield Evidence(
            f"to_categorical gives {whole.dtype}, {width} B per class, not small integers", one.call.place
        )


def _largest(trace: Trace, one: OneHot, settings: Settings) -> Array:
    """The array with the most bytes: as it was made, or, where a loop makes one after another, as they are fed."""
    fed = [entry.value for entry in one.fed]
    single = any(set(one.call.context.loops()) - set(entry.feed.context.loops()) for entry in one.fed)
    candidates = [
        replace(value, dtype="float32")
        if one.call.name == "keras.utils.to_categorical"
        and value.dtype == "float64"
        and not keras_at_least(trace, settings, 3)
        else value
        for value in (fed if single else [one.made, *fed])
    ]
    known = [value for value in candidates if value.size is not None]
    return max(known, key=lambda value: value.size.bytes if value.size else 0) if known else candidates[0]


def _width(one: OneHot, whole: Array) -> tuple[int | None, str | None]:
    """The number of classes and how to say it; a vocabulary's is not known, and large."""
    for dim in (dimension_at(whole.shape, -1), one.classes, *_units(one)):
        count = number(dim)
        if count is not None:
            return count, f"{count:,} classes"
        if is_vocabulary(dim):
            return None, "one class per word of the vocabulary"
    return None, None


def _units(one: OneHot) -> Iterator[Value | None]:
    """The units of the layer whose output these labels are compared with."""
    for entry in one.fed:
        if isinstance(entry.model, Model):
            yield dimension_at(entry.model.output_shape, -1)
            last = deref(entry.model.layers[-1]) if entry.model.layers else None
            if isinstance(last, Layer):
                yield last.config.get("units", Unknown())


def _fed(one: OneHot) -> Iterator[Evidence]:
    feed = one.fed[0].feed
    step: Step | None = None
    for entry in one.fed:
        compiled = entry.model.compiled if entry.model is not None else None
        loss = compiled.argument("loss") if compiled is not None else None
        if loss is not None:
            step = Step("the loss that wants them one-hot", loss.place)
    name = feed.name.rpartition(".")[2]
    yield Evidence(
        "batches are cut out of them here" if name == "getitem" else f"{name} gets them", feed.place
    )
    if step is not None:
        yield Evidence(step.text, step.place)
