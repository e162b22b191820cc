"""Pictures, sounds or volumes of a whole folder are decoded into a list and stacked.

## What it does

Reports the `append` (or the comprehension) by which a loop over files decodes each one into a list that is then
made one array: `np.array(images)`, `np.stack`, `np.vstack`, `tf.stack`, `from_tensor_slices(images)`. Also the
assignment `images[i] = ...` by which such a loop fills an array that a model is trained on, and `np.array(texts)` of
whole documents, where every one takes four bytes for each character of the longest.

Silent where the number and the size of the pictures are known and small; for lists of paths, labels or figures;
for lists that live for one batch (in a generator, in `__getitem__`, inside a loop over steps); for lists
that are never stacked.

## Why is this bad?

A JPEG of 100 KB is 600 KB once decoded at 224 by 224 in float32, and all of them are held, twice: the list and the
array lie in memory together while one is copied into the other. The first thousand files work.

## Example

```python
import os

import cv2
import numpy as np
from tensorflow import keras

images = []
for name in os.listdir("train"):
    images.append(cv2.resize(cv2.imread(os.path.join("train", name)), (224, 224)))
x = np.array(images)
```

## Use instead

```python
from tensorflow import keras

train = keras.utils.image_dataset_from_directory("train", image_size=(224, 224), batch_size=32)
```

## Fix safety

Shown only: a pipeline that reads from the paths replaces the loop, the list and the array.

## References

- <https://keras.io/api/data_loading/image/>
- <https://www.tensorflow.org/tutorials/load_data/images>
- <https://github.com/keras-team/keras/issues/2953>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst
from oomlint.rules.host_data.amounts import for_one_item, form, in_generator
from oomlint.rules.host_data.filled_arrays import Filling, filled_by_files

from oomlint.dryrun.catalog.arrays.making import DECODED, VIDEO
from oomlint.dryrun.catalog.python.files import PATH, is_document
from oomlint.dryrun.queries.few import a_few_of_each, are_few, is_few
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.queries.written import constant
from oomlint.dryrun.sizes import human
from oomlint.dryrun.trace import Assign, Body, Call, Loop, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Value, deref, tags_of
from oomlint.dryrun.values.dtypes import dtype_of
from oomlint.dryrun.values.program import Library
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM202",
    name="images-into-list",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=(
        "array",
        "asarray",
        "stack",
        "vstack",
        "concatenate",
        "convert_to_tensor",
        "from_tensor_slices",
        "zeros",
        "empty",
        "ones",
        "ndarray",
    ),
)

_STACKING = (
    "numpy.array", "numpy.asarray", "numpy.stack", "numpy.vstack", "numpy.concatenate", "numpy.dstack",
    "tf.stack", "tf.concat", "tf.constant", "tf.convert_to_tensor", "tf.data.Dataset.from_tensor_slices",
    "tf.data.Dataset.from_tensors", "keras.ops.stack", "keras.ops.concatenate", "keras.ops.convert_to_tensor",
    "keras.Model.fit",
)  # fmt: skip

_POOLS = (
    "thread-pool.map",
    "thread-pool.imap",
    "thread-pool.starmap",
    "process-pool.map",
    "process-pool.starmap",
)

_ADVICE = (
    "read the files batch by batch: image_dataset_from_directory, or from_tensor_slices(paths).map(decode), "
    "or a keras.utils.PyDataset"
)

# Where the number of files is not known, a decoded file this small would have to come a million times.
TINY = 4096
# Where the size of one is not known, this many are taken to be a data set.
MANY = 10_000


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """One finding per place that fills such a list."""
    seen: set[int] = set()
    columns = _columns(trace)
    for stack in trace.calls(*_STACKING):
        for value in (*_lists(stack), *_of_columns(trace, stack, columns)):
            if not _whole(stack, value) or not _many(value, settings) or in_test(stack):
                continue
            for filled, place, loops in _fillings(trace, value):
                if not _reached(stack, loops) or _emptied(trace, filled, loops, stack):
                    continue
                if loops and is_few(loops[0].iterable) and not _many_folders(value, loops, settings):
                    continue
                if id(place.node) not in seen:
                    seen.add(id(place.node))
                    yield _finding(stack, value, place)
    for filling in filled_by_files(trace):
        if (
            tags_of(filling.value) >= DECODED
            and _too_many(filling, settings)
            and id(filling.made.node) not in seen
        ):
            seen.add(id(filling.made.node))
            yield _filled_array(filling)


def _lists(stack: Call) -> Iterator[Sequence]:
    """The lists of decoded files among the arguments (and in the tuples among them)."""
    pending: list[Value] = [deref(argument.value) for argument in stack.arguments]
    while pending:
        value = pending.pop(0)
        if not isinstance(value, Sequence):
            continue
        if value.items is None and (_element(value) is not None or _fixed_width(stack, value)):
            yield value
        elif value.kind == "tuple" and value.items is not None:
            pending.extend(deref(item) for item in value.items)


def _columns(trace: Trace) -> dict[str, Sequence]:
    """Columns of tables that hold decoded files, by name: `table["picture"] = table["path"].apply(read)`."""
    found: dict[str, Sequence] = {}
    for call in trace.calls("operator.setitem"):
        name, value = call.arguments[1].const(), deref(call.arguments[2].value)
        if isinstance(name, str) and isinstance(value, Sequence) and _element(value) is not None:
            found[name] = value
    return found


def _of_columns(trace: Trace, stack: Call, columns: dict[str, Sequence]) -> Iterator[Sequence]:
    """The columns that a call gets: `np.stack(table["picture"].values)`, `np.array(table.picture.tolist())`."""
    for argument in stack.arguments if columns else ():
        node: cst.CSTNode = argument.place.node
        while not isinstance(node, cst.Name):
            match node:
                case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
                    found, node = columns.get(_text(trace, key) or ""), node.value
                case cst.Attribute(value=node, attr=cst.Name(value=name)):
                    found = columns.get(name)
                case cst.Call(func=cst.Attribute(value=node)):
                    found = None
                case _:
                    break
            if found is not None:
                yield found
                break


def _text(trace: Trace, key: cst.BaseExpression) -> str | None:
    """The name of a column, written there or bound to a name: `table[PICTURE]`."""
    text = constant(key, lambda name: [one for one in trace.assigns() if one.path == name])
    return text if isinstance(text, str) else None


def _fixed_width(stack: Call, value: Sequence) -> bool:
    """Whether whole texts become an array whose every row is as wide as the longest."""
    asked = stack.argument("dtype")
    plain = asked is None or (isinstance(deref(asked.value), Library) and dtype_of(asked.value) == "string")
    return plain and stack.name in ("numpy.array", "numpy.asarray") and is_document(value.any)


def _element(value: Sequence) -> Array | None:
    element = deref(value.element) if value.element is not None else None
    if isinstance(element, Sequence) and element.kind == "list":  # one for each video
        items = element.items if element.items is not None else [element.any]
        element = deref(items[0]) if items and all(VIDEO in tags_of(deref(item)) for item in items) else None
    return element if isinstance(element, Array) and element.tags >= DECODED else None


def _whole(stack: Call, value: Sequence) -> bool:
    """Whether the list is made once, not once per batch, step or item."""
    made = value.context
    if in_generator(stack.context) or for_one_item(stack.context):
        return False
    return made is None or not any(True for _ in made.all(Loop))


def _many(value: Sequence, settings: Settings) -> bool:
    """Whether there may be too many: by their bytes, or because nobody knows."""
    element = _element(value)
    size = element.size if element is not None else None
    if value.count is None:
        return size is None or size.bytes > TINY
    if size is None:
        return int(value.count.value) >= MANY
    return over(size.times(value.count, "decoded files"), settings.budget.host) is not None


def _appends(trace: Trace, value: Sequence) -> Iterator[Call]:
    """Calls that put decoded files into the list."""
    for call in trace.calls("builtins.list.append", "builtins.list.insert", "builtins.list.extend"):
        if call.receiver is not value or not call.arguments:
            continue
        given = deref(call.arguments[-1].value)
        if call.name.endswith("extend") and isinstance(given, Sequence):
            continue  # a list that extends it is one of its parts
        if _decoded(given) and not _is_row(trace, call, given):
            yield call


def _is_row(trace: Trace, call: Call, given: Value) -> bool:
    """Whether it is a row of an array from before the loops, which is a view of what is in memory anyway."""
    item = trace.subscript(given)
    whole = deref(item.receiver) if item is not None and item.receiver is not None else None
    made: Call | Assign | None = trace.maker(whole) if isinstance(whole, Array) else None
    if made is None:  # one of several things that a call gives: `sound, rate = soundfile.read(path)`
        made = next((assign for assign in trace.assigns() if deref(assign.value) is whole), None)
    loops = made.context.loops() if made is not None else []
    return isinstance(whole, Array) and not any(loop in loops for loop in call.context.loops())


def _fillings(trace: Trace, value: Sequence) -> Iterator[tuple[Sequence, Place, list[Loop]]]:
    """Where it and the lists that it was put together from are filled with decoded files, and by which loops."""
    pending, seen, found = [value], {id(value)}, False
    while pending:
        filled = pending.pop(0)
        for place, loops in _filled(trace, filled):
            found = True
            yield filled, place, loops
        new = [part for part in filled.parts if id(part) not in seen]
        seen.update(map(id, new))
        pending += new
    for assign in trace.assigns():
        loop = assign.context.innermost(Loop)
        if not found and assign.value is value and assign.augmented == "add" and loop is not None:
            found = True
            yield value, assign.place, assign.context.loops()


def _filled(trace: Trace, value: Sequence) -> Iterator[tuple[Place, list[Loop]]]:
    """What fills this one: an append, a comprehension, a `map`; and the loops around it, innermost first."""
    for call in _appends(trace, value):
        yield call.place, call.context.loops()
        return
    for call in trace.calls(*_POOLS):
        if call.result is value:
            yield call.place, []
            return
    if isinstance(value.loop, Loop) and _decoded(value):
        loops = [value.loop, *(value.context.loops() if value.context is not None else ())]
        match value.loop.place.node:
            case cst.ListComp(elt=decoded) | cst.GeneratorExp(elt=decoded):
                yield Place(value.loop.place.source, decoded), loops
            case _:
                yield value.loop.place, loops


def _decoded(value: Value) -> bool:
    """Whether it is a decoded file, or a list or tuple in which one is."""
    value = deref(value)
    if is_document(value):
        return True
    if isinstance(value, Sequence):
        items = value.items if value.items is not None else [value.any]
        return any(tags_of(deref(item)) >= DECODED or is_document(item) for item in items) or any(
            isinstance(row := deref(item), Sequence) and row.kind == "tuple" and _decoded(row)
            for item in items
        )
    return tags_of(value) >= DECODED


def _emptied(trace: Trace, value: Sequence, loops: list[Loop], stack: Call) -> bool:
    """Whether the loop that fills the list also stacks it, or begins it anew: then it holds a batch.

    Where that takes a few, it is the loops around it as well.
    """
    filling = loops if loops and is_few(loops[0].iterable) else loops[:1]
    if any(loop in stack.context.loops() for loop in filling):
        return True
    names = {call.path for call in _appends(trace, value)} - {None}
    begun = [loop for assign in trace.assigns() if assign.path in names for loop in assign.context.loops()]
    return any(loop in begun for loop in filling)


def _many_folders(value: Sequence, loops: list[Loop], settings: Settings) -> bool:
    """Whether a few files of each of many folders may be too many: the slices of each patient."""
    if are_few(loops):
        return False
    most, element = a_few_of_each(loops), _element(value)
    if most is None:
        return True  # the slices in the middle of every scan
    if element is None or element.size is None:
        return most >= MANY
    return over(element.size.times(Const(most), "decoded files"), settings.budget.host) is not None


def _reached(stack: Call, loops: list[Loop]) -> bool:
    """Whether the loop is over a folder's files. A helper that nobody calls may get a batch of them."""
    over_what = loops[0].iterable if loops else None
    tags = tags_of(deref(over_what)) if over_what is not None else frozenset()
    return bool(PATH & tags) or all(body.called for body in stack.context.all(Body))


def _too_many(filling: Filling, settings: Settings) -> bool:
    """Whether the array is large, as far as that is known."""
    size, row = filling.array.size, _row(filling)
    if size is not None:
        return over(size, settings.budget.host) is not None
    return row is None or row > TINY


def _row(filling: Filling) -> int | None:
    shape = filling.array.shape
    one = replace(filling.array, shape=shape[1:]).size if shape else None
    return one.bytes if one is not None else None


def _filled_array(filling: Filling) -> Finding:
    """A loop over files writes each into its row."""
    array, row = filling.array, _row(filling)
    whole = f", {human(array.size.bytes)}" if array.size is not None else ""
    each = f", {row:,} B each" if row is not None and not whole else ""
    evidence = [Evidence(f"the loop over files fills {form(array)}", filling.made.place)]
    if filling.feed is not None:
        evidence.append(Evidence("training gets it here", filling.feed.place))
    return RULE.finding(
        filling.call.place,
        f"every decoded file of the loop is kept in one array{whole}{each}",
        evidence=evidence,
        help=_ADVICE,
        fix=Fix(_ADVICE, Safety.DISPLAY),
    )


def _finding(stack: Call, value: Sequence, place: Place) -> Finding:
    if is_document(value.any):
        advice = "keep them as a list, or read them by text_dataset_from_directory; dtype=object keeps their lengths"
        return RULE.finding(
            place,
            "every document of the loop is kept in a list, and an array of them takes 4 B for each character of the "
            "longest, for every one",
            evidence=[Evidence("made one array here", stack.place)],
            help=advice,
            fix=Fix(advice, Safety.DISPLAY),
        )
    element = _element(value)
    one = element.size if element is not None else None
    each = f", {one.bytes:,} B each" if one is not None else ""
    count = f"{value.count.value:,} decoded files" if value.count is not None else "every decoded file"
    what = f"{count} of the loop {'is' if value.count is None else 'are'}"
    if element is not None and VIDEO in element.tags and value.count is None:
        what = f"every {'frame' if (element.rank or 0) <= 3 else 'clip'} of the loop's videos is"
    evidence = []
    if element is not None and element.origin is not None:
        evidence.append(Evidence(f"one is {form(element)}, from {element.origin.text}", element.origin.place))
    evidence.append(Evidence("copied into one array here, while the list is still held", stack.place))
    return RULE.finding(
        place,
        f"{what} kept in a list{each}, and stacking it takes twice that",
        evidence=evidence,
        help=_ADVICE,
        fix=Fix(_ADVICE, Safety.DISPLAY),
    )
