"""`ImageDataGenerator.fit` is given the whole data set.

## What it does

Reports `fit` of an `ImageDataGenerator` in which none of `featurewise_center`, `featurewise_std_normalization` and
`zca_whitening` is set: it then computes nothing. Where one of them is set, the call is reported if the copies that it
makes, or the matrix of ZCA whitening, take more than a quarter of the host's memory.

The call that computes nothing is a note where the pictures are known to be few. Silent where the flags cannot be
seen, and where a flag is set and the size is not known.

## Why is this bad?

`fit` casts the pictures to float32 and then copies them once more: eight times the bytes of a uint8 set, beside the set
itself. Without a featurewise flag all of that is thrown away.

ZCA whitening is no leak, as some reports have it: its matrix has a row and a column for every number of a
picture. At 32 by 32 in colour that is 75 MB, at 227 by 227 it is 191 GB.

## Example

```python
import numpy as np
import tensorflow as tf

x_train = np.load("x_train.npy")
generator = tf.keras.preprocessing.image.ImageDataGenerator(rotation_range=20, horizontal_flip=True)
generator.fit(x_train)
```

## Use instead

```python
import numpy as np
import tensorflow as tf

x_train = np.load("x_train.npy")
generator = tf.keras.preprocessing.image.ImageDataGenerator(rotation_range=20, horizontal_flip=True)
```

## Fix safety

Safe where no flag is set, now or later, and neither `seed` nor `augment` is passed: these two draw from NumPy's
global random numbers, so that what follows would be other numbers. All else is only shown.

## References

- <https://www.tensorflow.org/api_docs/python/tf/keras/preprocessing/image/ImageDataGenerator#fit>
- <https://github.com/keras-team/keras-preprocessing/issues/55>
- <https://github.com/keras-team/keras/issues/6994>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import libcst as cst
from oomlint.rules.host_data.amounts import against, dimensions, form

from oomlint.dryrun.catalog.arrays.making import PART, as_array
from oomlint.dryrun.queries.single_items import SingleItems
from oomlint.dryrun.sizes import Factor, Size, human
from oomlint.dryrun.trace import Branch, Call, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Opaque, deref, merge
from oomlint.dryrun.values.shapes import known, shape_of
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.edits import RemoveStatement

RULE = Rule(
    code="OOM208",
    name="generator-fit-on-everything",
    severity=Severity.WARNING,
    fix=Safety.SAFE,
    literals=("ImageDataGenerator",),
)

_GENERATOR = "keras.preprocessing.image.ImageDataGenerator"
_FLAGS = ("featurewise_center", "featurewise_std_normalization", "zca_whitening")
_CHANNELS = {"rgb": 3, "grayscale": 1, "rgba": 4}


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """One finding per `fit` of a generator."""
    worst: dict[int, Finding] = {}
    single = SingleItems(trace)
    for call in trace.calls(f"{_GENERATOR}.fit"):
        made = call.receiver.made_by if isinstance(call.receiver, Opaque) else None
        given = call.value("x")
        one = given is not None and single.holds(given)  # a picture, to be looked at
        found = _fitted(trace, call, made, settings, one) if made is not None else None
        if found is not None and found.severity > getattr(worst.get(id(call.node)), "severity", 0):
            worst[id(call.node)] = found
    yield from worst.values()


def _fitted(trace: Trace, call: Call, made: Call, settings: Settings, one: bool) -> Finding | None:
    flags = _flags(call, made)
    pictures = as_array(call.value("x"))
    if flags == {}:
        return None if one else _for_nothing(call, made, pictures, settings)
    if flags is None:
        return None
    if flags.get("zca_whitening") is True:
        whitened = _whitening(trace, call, made, pictures, settings)
        if whitened is not None:
            return whitened
    copies = _copies(pictures)
    severity = over(copies, settings.budget.host) if copies is not None else None
    if pictures is None or copies is None or severity is None:
        return None
    help = "fit it on a sample: mean and deviation of a few thousand pictures are as good"
    return RULE.finding(
        call.place,
        f"fit copies all of {form(pictures)}: {against(copies.bytes, settings.budget)}",
        severity=severity,
        evidence=[Evidence(_copying(pictures), call.place), *dimensions(pictures)],
        help=help,
        fix=Fix(help, Safety.DISPLAY),
    )


def _flags(call: Call, made: Call) -> dict[str, bool | None] | None:
    """The featurewise flags that are set, or may be (None); None where arguments are not seen."""
    if made.opaque_arguments:
        return None
    found: dict[str, bool | None] = {}
    later = call.receiver.attributes if isinstance(call.receiver, Opaque) else {}
    for name in _FLAGS:
        given = [argument.value for argument in [made.argument(name)] if argument is not None]
        values = [deref(value) for value in (*given, *([later[name]] if name in later else ()))]
        if all(isinstance(value, Const) and not value.value and not value.soft for value in values):
            continue
        sure = any(isinstance(value, Const) and value.value for value in values)
        found[name] = True if sure else None
    return found


def _for_nothing(call: Call, made: Call, pictures: Array | None, settings: Settings) -> Finding | None:
    """No statistic is asked for."""
    copies = _copies(pictures)
    few = over(copies, settings.budget.host) is None if copies is not None else _is_part(pictures)
    cost = "it casts and copies every picture, and computes nothing"
    if copies is not None and pictures is not None:
        cost = f"it makes {human(copies.bytes)} of copies of {form(pictures)} and computes nothing"
    drawn = [
        argument
        for argument in (call.argument("augment"), call.argument("seed"))
        if argument is not None
        and not (
            isinstance(deref(argument.value), Const)
            and (argument.const() is None or argument.const() is False)
        )
    ]
    help = "drop the call"
    fix = Fix(help, Safety.SAFE, (RemoveStatement(call.statement),)) if call.statement is not None else None
    if drawn or call.opaque_arguments:
        help = "drop the call; it also draws NumPy's random numbers, so that later ones will differ"
    if drawn or call.opaque_arguments or fix is None or not _stands_alone(call):
        fix = Fix(help, Safety.DISPLAY)
    return RULE.finding(
        call.place,
        f"fit is only for featurewise_center, featurewise_std_normalization and zca_whitening: without them {cost}",
        severity=Severity.NOTE if few else Severity.WARNING,
        evidence=[Evidence("the generator, without any of them", made.place)],
        help=help,
        fix=fix,
    )


def _is_part(pictures: Array | None) -> bool:
    return pictures is not None and PART in pictures.tags


def _stands_alone(call: Call) -> bool:
    """Whether the call is a statement of its own, its argument has no effects, and the generator is certain."""
    line = call.statement.node if call.statement is not None else None
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return False
    match line.body[0]:
        case cst.Expr(value=value) if value is call.node:
            pass
        case _:
            return False
    node = call.node
    if not isinstance(node, cst.Call) or not all(_plain(arg.value) for arg in node.args):
        return False
    made = call.receiver.made_by if isinstance(call.receiver, Opaque) else None
    around = {id(frame) for frame in call.context.frames()}
    branches = made.context.all(Branch) if made is not None else ()
    return made is not None and all(id(branch) in around for branch in branches)


def _plain(node: cst.BaseExpression) -> bool:
    """A name, an attribute, an item of one by a constant or slice, or a constant."""
    match node:
        case cst.Name() | cst.BaseNumber() | cst.SimpleString():
            return True
        case cst.Attribute(value=value) | cst.Subscript(value=value):
            return _plain(value)
    return False


def _copies(pictures: Array | None) -> Size | None:
    """Bytes of the float32 copies: the cast, unless it is float32 already, and the copy of that."""
    if pictures is None or pictures.dtype is None or pictures.dtype == "object":
        return None
    one = replace(pictures, dtype="float32").size
    if one is None:
        return None
    return one if pictures.dtype == "float32" else one.times(Const(2), "copies")


def _copying(pictures: Array) -> str:
    if pictures.dtype == "float32":
        return "one more copy of the float32 pictures"
    return f"a cast of {pictures.dtype} to float32, and a copy of that"


def _whitening(
    trace: Trace, call: Call, made: Call, pictures: Array | None, settings: Settings
) -> Finding | None:
    """The matrix of ZCA whitening, which is as wide and as high as a picture has numbers."""
    sides = pictures.shape[1:] if pictures is not None and pictures.shape is not None else None
    place = call.place
    numbers = known(sides)
    if numbers is None:
        numbers, place = _sides(trace, call), made.place
    if not numbers:
        return None
    width = prod(numbers)
    trail = merge(*(dim.trail for dim in sides or () if dim is not None))
    matrix = Size(8 * width * width, True, (Factor(8 * width * width, "the matrix", trail, "B"),))
    severity = over(matrix, settings.budget.host)
    if severity is None:
        return None
    text = " x ".join(f"{number:,}" for number in numbers)
    help = "leave ZCA whitening away at this size: it is for pictures as small as 32 x 32"
    return RULE.finding(
        call.place,
        f"ZCA whitening of {text} pictures needs a matrix of {width:,} x {width:,} float64: "
        f"{against(matrix.bytes, settings.budget)}",
        severity=severity,
        evidence=[
            Evidence(f"{text} = {width:,} numbers in a picture", place),
            Evidence("zca_whitening", made.place),
            *(dimensions(pictures) if pictures is not None else ()),
        ],
        help=help,
        fix=Fix(help, Safety.DISPLAY),
    )


def _sides(trace: Trace, call: Call) -> list[int] | None:
    """The size of the pictures that the same generator reads from files."""
    for read in trace.calls(f"{_GENERATOR}.flow_from_directory", f"{_GENERATOR}.flow_from_dataframe"):
        if read.receiver is call.receiver:
            size = known(shape_of(read.value("target_size")))
            colours = _CHANNELS.get(str(read.const("color_mode", "rgb")))
            if size is not None and len(size) == 2 and colours is not None:
                return [*size, colours]
    return None
