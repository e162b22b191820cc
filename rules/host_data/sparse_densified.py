"""A sparse matrix is made dense before training.

## What it does

Reports `.toarray()`, `.todense()`, `texts_to_matrix`, `sequences_to_matrix`, `OneHotEncoder(sparse_output=False)`,
`get_dummies` and `TextVectorization` with a column per word, where all of their rows together become the input of a
model.

With rows and columns known it is a warning above a quarter of the host's memory, an error above all of it, and nothing
below. With rows unknown it is a warning from 1,000 columns on and where words or hashes decide how many there are, and
for categorical columns named like identifiers; a note for other categorical columns, and for a vectorization layer
with a column per word and no `max_tokens`.

Silent for few columns, for batches made dense one at a time, and for what scikit-learn alone is trained on.

## Why is this bad?

A text of two hundred words has at most two hundred numbers in a sparse row. Dense it has one for every word of
the corpus, in float64: 100,000 texts and 50,000 words are 40 GB, almost all of it zeros.

## Example

```python
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from tensorflow import keras

table = pd.read_csv("reviews.csv")
x = TfidfVectorizer().fit_transform(table["text"]).toarray()
model = keras.Sequential([keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, table["stars"])
```

## Use instead

```python
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from tensorflow import keras

table = pd.read_csv("reviews.csv")
x = TfidfVectorizer(max_features=800).fit_transform(table["text"]).toarray()
model = keras.Sequential([keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, table["stars"])
```

## Fix safety

Shown only: fewer columns, an embedding of the integers, or batches made dense one at a time train another model or
another way.

## References

- <https://docs.scipy.org/doc/scipy/reference/sparse.html>
- <https://keras.io/api/layers/preprocessing_layers/text/text_vectorization/>
- <https://github.com/sararob/keras-wine-model/issues/1>
- <https://github.com/keras-team/keras-preprocessing/issues/14>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from oomlint.rules.host_data.amounts import against, dimensions, form, in_generator
from oomlint.rules.host_data.feeds import feeds

from oomlint.dryrun.catalog.arrays.making import dense_by
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.trace import Call, Role, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Opaque, Sequence, Value, deref
from oomlint.dryrun.values.shapes import dimension_at, number
from oomlint.dryrun.values.training import Layer, Model
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM206",
    name="sparse-densified",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=(
        "toarray", "todense", "A", "texts_to_matrix", "sequences_to_matrix", "OneHotEncoder", "DictVectorizer",
        "get_dummies", "TextVectorization",
    ),
)  # fmt: skip

WIDE = 1_000  # columns
# A categorical column of this name has about as many values as there are users, places or articles.
_IDENTIFIER = re.compile(
    r"(^|_|\s)(ids?|uuid|zip|zip_?code|post_?code|postal_?code|sku|url|ip|hash|name)$", re.I
)
_SAME_COLUMNS = ("astype", "fillna", "copy", "reset_index")
_TEXTS = ("toarray", "todense", "A", "texts_to_matrix", "sequences_to_matrix", "__call__")
_DENSE_MODES = ("multi_hot", "count", "tf_idf", "tf-idf", "binary")


@dataclass(slots=True)
class Densified:
    """A call that makes rows dense, and who gets them."""

    call: Call
    fed: list[tuple[Call, Array]] = field(default_factory=list)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """One finding per place that makes rows dense."""
    vectorized = _vectorized(trace)
    found: dict[int, Densified] = {}
    for feed, value, is_input in feeds(trace):
        if not is_input or not isinstance(value, Array):
            continue
        made = trace.numbered(dense_by(value))
        if value.origin is not None and id(value.origin) in vectorized:
            made.append(vectorized[id(value.origin)])
        for call in made:
            found.setdefault(id(call.node), Densified(call)).fed.append((feed, value))
    reported: set[int] = set()
    for one in found.values():
        result = None if _of_a_batch(one) else _finding(trace, one, settings)
        if result is not None:
            reported.add(id(one.call.receiver))
            yield result
    yield from _without_limit(trace, reported)


def _without_limit(trace: Trace, reported: set[int]) -> Iterator[Finding]:
    """A vectorization layer with a column per word, in a pipeline or a model, that nothing limits."""
    for call in trace.calls("keras.Layer.adapt"):
        layer = call.receiver
        if not isinstance(layer, Layer) or layer.made_by is None or id(layer) in reported or in_test(call):
            continue
        if layer.type != "keras.layers.TextVectorization" or not _is_dense(layer):
            continue
        if layer.config.get("max_tokens") in (None, Const(None)) and not layer.made_by.opaque_arguments:
            reported.add(id(layer))
            help = "pass max_tokens: the most frequent words are kept"
            yield RULE.finding(
                layer.made_by.place,
                "a row is as wide as the vocabulary that adapt finds, with nothing to limit it",
                severity=Severity.NOTE,
                evidence=[Evidence("the words are counted here", call.place)],
                help=help,
                fix=Fix(help, Safety.DISPLAY),
            )


def _vectorized(trace: Trace) -> dict[int, Call]:
    """Calls of a TextVectorization that makes a column per word, by what their results remember as origin."""
    found: dict[int, Call] = {}
    for call in trace.calls("keras.Layer.__call__"):
        layer, made = call.receiver, deref(call.result)
        if isinstance(layer, Layer) and layer.type == "keras.layers.TextVectorization" and _is_dense(layer):
            if isinstance(made, Array) and made.library == "tensor" and made.origin is not None:
                found[id(made.origin)] = call
    return found


def _is_dense(layer: Layer) -> bool:
    mode = layer.config.get("output_mode", Const("int"))
    return isinstance(mode, Const) and mode.value in _DENSE_MODES


def _of_a_batch(one: Densified) -> bool:
    """Whether it is done for one batch, or one part of the data, at a time."""
    context = one.call.context
    if in_generator(context) or in_test(one.call):
        return True
    if any(role.name.startswith(("tf.", "keras.")) for role in context.all(Role)):
        return True
    around = set(context.loops())
    return all(around & set(feed.context.loops()) for feed, _ in one.fed)


def _finding(trace: Trace, one: Densified, settings: Settings) -> Finding | None:
    whole = _largest(one)
    columns, words = _columns(trace, one, whole)
    size = whole.size
    severity: Severity | None = Severity.WARNING
    if size is not None:
        severity = over(size, settings.budget.host)
        amount = f"{form(whole)} takes {against(size.bytes, settings.budget)}"
    elif columns is not None:
        severity = Severity.WARNING if columns > WIDE else None
        amount = f"{columns:,} numbers a row, {8 * columns:,} B in float64, almost all of them zeros"
    elif words:
        amount = "as many numbers a row as there are different words or categories, almost all of them zeros"
    else:
        column = _identifier(trace, one.call)
        amount = f"one number a row for each different {column}"
        if column is None:
            severity = Severity.NOTE if _encoder(trace, one.call) is not None else None
            amount = "one number a row for each different value; how many these are does not show here"
    if severity is None:
        return None
    feed, _ = one.fed[0]
    help = _help(one.call)
    return RULE.finding(
        one.call.place,
        f"{_what(one.call)} writes out every zero: {amount}",
        severity=severity,
        evidence=[
            *_maker(trace, one.call),
            Evidence(f"{feed.name.rpartition('.')[2]} gets it", feed.place),
            *dimensions(whole),
        ],
        help=help,
        fix=Fix(help, Safety.DISPLAY),
    )


def _largest(one: Densified) -> Array:
    made = deref(one.call.result)
    values = [value for _, value in one.fed]
    whole = made if isinstance(made, Array) else values[0]
    for value in values:
        if value.size is not None and (whole.size is None or value.size.bytes > whole.size.bytes):
            whole = value
    return whole


def _columns(trace: Trace, one: Densified, whole: Array) -> tuple[int | None, bool]:
    """How many columns there are, and, where that is not known, whether words decide it."""
    count = number(dimension_at(whole.shape, -1)) if whole.rank != 1 else None
    for feed, value in one.fed:
        model = feed.receiver
        if count is None and isinstance(model, Model) and len(model.input_shape or ()) == 2:
            count = number(dimension_at(model.input_shape, -1))
        count = number(dimension_at(value.shape, -1)) if count is None and value.rank == 2 else count
    if count is not None:
        return count, False
    name = one.call.name.rpartition(".")[2]
    if name not in _TEXTS:
        return None, False
    if name == "__call__":
        layer = one.call.receiver
        limit = layer.config.get("max_tokens") if isinstance(layer, Layer) else None
        return (number(limit), True) if limit is not None else (None, True)
    # Categories are as many as the columns' values: few, unless a name says otherwise.
    return None, _encoder(trace, one.call) is None


def _encoder(trace: Trace, call: Call) -> Opaque | None:
    """The one-hot encoder behind it."""
    source = trace.maker(call.receiver) if call.receiver is not None else None
    for value in (call.receiver, source.receiver if source is not None else None):
        value = deref(value) if value is not None else None
        if isinstance(value, Opaque) and value.type.endswith(("OneHotEncoder", "DictVectorizer")):
            return value
    return None


def _identifier(trace: Trace, call: Call) -> str | None:
    """The first of the encoded columns whose name says that it has many values."""
    source = trace.maker(call.receiver) if call.receiver is not None else None
    encoding = call if call.arguments or source is None else source
    data = deref(encoding.arguments[0].value) if encoding.arguments else None
    for _ in range(4):
        cast = trace.maker(data) if data is not None else None
        if cast is None or cast.receiver is None or cast.name.rpartition(".")[2] not in _SAME_COLUMNS:
            break
        data = deref(cast.receiver)
    taken = [item.arguments[1].value for item in trace.calls("operator.getitem") if item.result is data]
    given = encoding.value("columns")
    for key in (*([given] if given is not None else []), *taken):
        for name in _names(key):
            if _IDENTIFIER.search(name):
                return name
    return None


def _names(value: Value) -> Iterator[str]:
    value = deref(value)
    for item in value.items or () if isinstance(value, Sequence) else (value,):
        item = deref(item)
        if isinstance(item, Const) and isinstance(item.value, str):
            yield item.value


def _maker(trace: Trace, call: Call) -> Iterator[Evidence]:
    """The encoder, where its making says how many columns there are, or that nothing limits them."""
    source = trace.maker(call.receiver) if call.receiver is not None else None
    for value in (call.receiver, source.receiver if source is not None else None):
        value = deref(value) if value is not None else None
        made = value.made_by if isinstance(value, Opaque | Layer) else None
        if made is not None:
            short = made.name.rpartition(".")[2]
            given = [
                name
                for name in ("max_features", "num_words", "max_tokens", "n_features", "vocabulary")
                if made.argument(name) is not None
            ]
            text = f"{short} with {given[0]}" if given else f"{short}, with no limit to its columns"
            yield Evidence(text, made.place)
            return


def _what(call: Call) -> str:
    name = call.name.rpartition(".")[2]
    match name:
        case "toarray" | "todense":
            return f".{name}()"
        case "A":
            return ".A"
        case "get_dummies":
            return "pd.get_dummies"
        case "__call__":
            return "TextVectorization"
        case "fit_transform" | "transform":
            return f"{call.name.split('.')[-2]} without sparse output"
    return name


def _help(call: Call) -> str:
    if call.name.endswith(("get_dummies", "fit_transform", "transform")):
        return (
            "give the categories as integers to an Embedding layer (keras.layers.StringLookup numbers them)"
        )
    return (
        "limit the columns (max_features, num_words, max_tokens), make one batch dense at a time in a PyDataset, "
        "or give word numbers to an Embedding layer"
    )
