"""A data set is read into memory whole, to be trained on.

## What it does

Reports a call that reads a file of arrays in one go, where what it read is then fed to `fit`, to a
`tf.data.Dataset` or to a `GradientTape`: `np.load` without `mmap_mode`, `np.loadtxt`, `np.genfromtxt`,
`np.fromfile`, `pd.read_csv` without `chunksize`, `h5["x"][:]` and `np.array(h5["x"])`, `pickle.load`. As a note also
`adapt` on a Python list of every document.

Where the script says how large it is (a `reshape`, a count), it is a warning above a quarter of the host's memory
and an error above all of it, and nothing below. Where the size is not known it is a note.

Silent: files read one at a time and not kept, in a loop, in a generator or in `__getitem__`; labels; a stated
number of rows; single columns of a table; files fetched from a URL; Keras' own data sets; tests.

## Why is this bad?

The array lies in memory beside whatever copies follow: a cast to float32, a shuffle, `train_test_split`, and
`fit`, which copies a float64 array once more. The script works on the sample and dies on the full set.

`mmap_mode` maps an `.npy` file. For an `.npz`, which is a zip archive, NumPy ignores it and reads the member whole.
And `fit` on a mapped array reads all of it: feed it batch by batch.

## Example

```python
import numpy as np
from tensorflow import keras

x = np.load("x_train.npy")
y = np.load("y_train.npy")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y, batch_size=32)
```

## Use instead

```python
import math

import numpy as np
from tensorflow import keras


class Rows(keras.utils.PyDataset):
    def __init__(self, x_path, y_path, batch_size):
        super().__init__()
        self.x = np.load(x_path, mmap_mode="r")
        self.y = np.load(y_path, mmap_mode="r")
        self.batch_size = batch_size

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def __getitem__(self, index):
        rows = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return np.array(self.x[rows]), np.array(self.y[rows])


model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(Rows("x_train.npy", "y_train.npy", 32))
```

## Fix safety

Shown only: how to read a part depends on the file.

## References

- <https://numpy.org/doc/stable/reference/generated/numpy.load.html>
- <https://keras.io/api/utils/python_utils/#pydataset-class>
- <https://github.com/keras-team/keras/issues/628>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import libcst as cst
from oomlint.rules.host_data.amounts import against, dimensions, form, in_generator
from oomlint.rules.host_data.feeds import feeds
from oomlint.rules.host_data.filled_arrays import filled_by_files

from oomlint.dryrun.catalog.arrays.loading import Unpickled
from oomlint.dryrun.catalog.arrays.making import LOADED, PART, blanks_of, loads_of
from oomlint.dryrun.catalog.arrays.operators import FEW_ROWS
from oomlint.dryrun.catalog.python.files import is_document
from oomlint.dryrun.imports import dotted
from oomlint.dryrun.queries.changing import changes_of
from oomlint.dryrun.queries.rounds import tries_until_it_works
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Call, Loop, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Unknown, deref, tags_of
from oomlint.dryrun.values.shapes import dimension_at
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM201",
    name="whole-dataset-load",
    severity=Severity.NOTE,
    fix=Safety.DISPLAY,
    literals=(
        "load", "loads", "loadtxt", "genfromtxt", "fromfile", "loadmat", "File", "open_group", "read_csv",
        "read_table", "read_parquet", "read_feather", "read_pickle", "read_hdf", "read_json", "read_sql", "adapt",
    ),
)  # fmt: skip

MAX_CODE = 50  # of the reader's own text in a message
_TEST_PATHS = frozenset({"tests", "testdata", "test_data", "fixtures"})


@dataclass(slots=True)
class Load:
    """One reading call and what becomes of it."""

    call: Call
    fed: list[tuple[Call, Array | Unpickled, bool]] = field(default_factory=list)  # by whom, what, as inputs


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """One finding per place that reads what is trained on."""
    loads: dict[int, Load] = {}
    rows = {filling.made.index: loads_of(filling.value) for filling in filled_by_files(trace)}
    for feed, value, inputs in feeds(trace):
        for call in trace.numbered(sorted(loads_of(value) | _filled_from(rows, value))):
            if not in_test(call) and not in_test(feed) and not _small_by_place(call):
                loads.setdefault(id(call.node), Load(call)).fed.append((feed, value, inputs))
    yield from _adapted(trace)
    for load in loads.values():
        whole = _whole(trace, load)
        most = None if whole is None else _size(whole, "float64")
        small = most is not None and over(most, settings.budget.host) is None
        found = _sized(load, whole, settings) or (None if small else _unsized(trace, load))
        if found is not None:
            yield found


def _filled_from(rows: dict[int, set[int]], value: Array | Unpickled) -> set[int]:
    """The events that read what a loop wrote into the rows of an array that was made empty."""
    return {load for index in blanks_of(value) for load in rows.get(index, ())}


def _adapted(trace: Trace) -> Iterator[Finding]:
    """`adapt` of a list of all documents, which makes one tensor of them and splits all of it at once."""
    for call in trace.calls("keras.Layer.adapt"):
        data = deref(call.arguments[0].value) if call.arguments else None
        if isinstance(data, Sequence) and data.items is None and is_document(data.any) and not in_test(call):
            help = "adapt on a tf.data.Dataset of the files, batched: it counts the words batch by batch"
            yield RULE.finding(
                call.place,
                "adapt makes one tensor of every document, and splits all of them into words at once",
                severity=Severity.NOTE,
                help=help,
                fix=Fix(help, Safety.DISPLAY),
            )


def _sized(load: Load, whole: Array | None, settings: Settings) -> Finding | None:
    """With a size above the budget."""
    known = [(feed, array) for feed, array, _ in load.fed if isinstance(array, Array)]
    known += [(load.fed[0][0], whole)] if whole is not None else []
    read = deref(load.call.result)
    if isinstance(read, Array) and read.dtype is not None:
        # What training gets may be another type (bytes divided by 255): OOM204 is about that.
        known = [(feed, replace(array, dtype=read.dtype)) for feed, array in known]
    sizes = [(size, feed, array) for feed, array in known if (size := _size(array, "uint8")) is not None]
    if not sizes:
        return None
    size, feed, array = max(sizes, key=lambda sized: sized[0].bytes)
    severity = over(size, settings.budget.host)
    if severity is None:
        return None
    much = against(size.bytes, settings.budget)
    much = much if array.size is not None else f"at one byte each {much}"
    return RULE.finding(
        load.call.place,
        f"{_what(load.call)} reads the whole data set into memory: {form(array)} is {much}",
        severity=severity,
        evidence=[*dimensions(array), _fed(feed)],
        help=_help(load.call),
        fix=Fix(_help(load.call), Safety.DISPLAY),
    )


def _size(array: Array, dtype: str) -> Size | None:
    """Its size, with a dtype for one that is in the file."""
    return array.size or replace(array, dtype=dtype).size


def _whole(trace: Trace, load: Load) -> Array | None:
    """The first in which its size is known (a `reshape`), or at least its shape, whatever is cut out of it later."""
    if _rounds(load.call):
        return None  # one of many files
    tag, shaped = f"{LOADED}{load.call.index}", None
    for call in trace.all_calls():
        value = deref(call.result)
        if isinstance(value, Array) and {tag, PART} & value.tags == {tag}:
            if value.size is not None:
                return value
            if shaped is None and _size(value, "uint8") is not None:
                shaped = value
    return shaped


def _unsized(trace: Trace, load: Load) -> Finding | None:
    """Of unknown size, where it plainly is what a model is trained on."""
    inputs = [(feed, array) for feed, array, is_input in load.fed if is_input and _open(array)]
    if not inputs or in_generator(load.call.context):
        return None
    feed, _ = inputs[0]
    rounds = _rounds(load.call)
    if rounds & set(feed.context.loops()):
        return None  # one file after another: only one is held
    if rounds and feed.name == "operator.getitem" and _in_an_object_of_the_round(trace, load, rounds):
        return None  # OOM413 says what becomes of such objects
    if not rounds and _is_one_of_many(trace, load.call):
        return None  # a piece that another takes the place of
    reads = "reads the whole data set into memory; how large it is does not show here"
    if rounds:
        reads = "reads file after file, and all are kept in memory; how large they are does not show here"
    return RULE.finding(
        load.call.place,
        f"{_what(load.call)} {reads}",
        severity=Severity.NOTE,
        evidence=[*_mapped(load.call), _fed(feed)],
        help=_help(load.call),
        fix=Fix(_help(load.call), Safety.DISPLAY),
    )


def _rounds(call: Call) -> set[Loop]:
    """The loops that read file after file: one that tries encodings until a file can be read, and is left, does not."""
    return {loop for loop in call.context.loops() if not tries_until_it_works(call.context, loop)}


def _in_an_object_of_the_round(trace: Trace, load: Load, rounds: set[Loop]) -> bool:
    """Whether an object that the round itself makes has the file: `model.fit(Rows(np.load(path)))`."""
    fed = [value for _, value, _ in load.fed]
    return any(
        "." in assign.path and any(deref(assign.value) is value for value in fed)
        for assign in trace.assigns()
        if not rounds.isdisjoint(assign.context.loops())
    )


def _is_one_of_many(trace: Trace, call: Call) -> bool:
    """Whether the file's name is taken out of a list by a number that changes: `np.load(self.pieces[number])`."""
    match call.arguments[0].place.node if call.arguments else None:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Call() as made))]):
            drawn = changes_of(trace).call_at(made)
            found = None if drawn is None else deref(drawn.result)
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=named))]):
            bound = [
                one.value for one in trace.assigns() if one.index < call.index and one.path == dotted(named)
            ]
            found = deref(bound[-1]) if bound else None
        case _:
            return False
    if isinstance(found, Array):
        return found.shape == ()
    return isinstance(found, Unknown) and found.type == "int"


def _open(array: Array | Unpickled) -> bool:
    """Whether it may be large: neither its size nor a small number of rows is known, and it has rows and columns."""
    if isinstance(array, Unpickled):
        return True
    if array.size is not None or array.rank == 1:
        return False
    rows = dimension_at(array.shape, 0)
    return rows is None or rows.value > FEW_ROWS


def _small_by_place(call: Call) -> bool:
    """Whether the file lies among a test's own, or every run fetches it over the network."""
    if call.arguments and "fetched" in tags_of(deref(call.arguments[0].value)):
        return True
    first = call.arguments[0].const() if call.arguments else None
    if not isinstance(first, str):
        return False
    if first.startswith(("http://", "https://")):
        return True
    return bool(_TEST_PATHS & set(first.replace("\\", "/").split("/")[:-1]))


def _what(call: Call) -> str:
    match call.name.split("."):
        case ["operator" | "h5py" | "array", *_]:
            text = call.source.code(call.node)
            return text if len(text) <= MAX_CODE and "\n" not in text else "this"
        case ["numpy", "array" | "asarray" as name]:
            return f"np.{name}"
        case ["numpy", *rest]:
            return f"np.{'.'.join(rest)}"
        case ["pandas", name]:
            return f"pd.{name}"
    return call.name


def _fed(feed: Call) -> Evidence:
    if feed.name == "operator.getitem":
        return Evidence("batches are cut out of it here", feed.place)
    name = feed.name.rpartition(".")[2]
    return Evidence("a model is trained on it here" if name == "__call__" else f"{name} gets it", feed.place)


def _mapped(call: Call) -> Iterator[Evidence]:
    mode = call.argument("mmap_mode") if call.name == "numpy.load" else None
    if mode is not None and not (isinstance(deref(mode.value), Const) and mode.const() is None):
        yield Evidence("mmap_mode does nothing for an .npz archive: the member is read whole", mode.place)


def _help(call: Call) -> str:
    if call.name == "numpy.load":
        return (
            'keep the array in an .npy file, open it with mmap_mode="r", and read one batch at a time in a '
            "keras.utils.PyDataset or a tf.data generator"
        )
    if call.name.startswith(("operator.", "h5py.", "array.")) or call.name in (
        "numpy.array",
        "numpy.asarray",
    ):
        return "leave it on the disk and slice one batch at a time, in a keras.utils.PyDataset or a tf.data generator"
    if call.name.startswith("pandas."):
        return "read it in pieces (chunksize=...), or let tf.data.experimental.make_csv_dataset read it"
    return "write the arrays to .npy files or TFRecords once, and read them batch by batch"
