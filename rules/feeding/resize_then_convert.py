"""`convert_image_dtype` to a float dtype, after something that has made floats of the picture already.

## What it does

Reports `tf.image.convert_image_dtype(image, tf.float32)` where the image is a float tensor by then and still holds the
0 to 255 of the file, because `tf.image.resize` (or a cast) came first, also in `image_dataset_from_directory`.

## Why is this bad?

`convert_image_dtype` scales integers to the range 0 to 1 and leaves floats as they are. `tf.image.resize` gives
float32 whatever it gets, so that after it nothing is left to convert: pictures go into the model with values up to
255, 255 times what the rest of the script reckons with. Nothing fails; the model trains badly. In a function that
nobody calls here it is a note: who calls it may divide, or subtract means of 0 to 255.

Not reported: `method="nearest"`, cropping and padding, `keras.ops.image.resize` and `Resizing`, which keep integers;
pictures that are divided later or by a `Rescaling` layer; models of `keras.applications` that scale by themselves.

## Example

```python
import tensorflow as tf


def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (224, 224))
    image = tf.image.convert_image_dtype(image, tf.float32)
    return image


train = tf.data.Dataset.list_files("train/*.jpg").map(load).batch(32)
```

## Use instead

```python
import tensorflow as tf


def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.image.resize(image, (224, 224))
    return image


train = tf.data.Dataset.list_files("train/*.jpg").map(load).batch(32)
```

## Fix safety

Unsafe: the conversion goes in front of the resizing (a cast before it goes), and the values change from 0..255 to
0..1, as was meant. What was tuned to the larger values (a learning rate, weights already trained) no longer fits.

## References

- <https://www.tensorflow.org/api_docs/python/tf/image/convert_image_dtype>
- <https://www.tensorflow.org/api_docs/python/tf/image/resize>
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.catalog.keras.graph import inner_layers
from oomlint.dryrun.catalog.tensorflow.image import LEFT
from oomlint.dryrun.queries.gpu_setup import uncalled
from oomlint.dryrun.trace import Argument, Call
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Step, Value, deref, tags_of
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.training import Layer, Model
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.blocks import in_one_block
from oomlint.syntax.edits import Edit, RemoveStatement, Replace, Wrap

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM311",
    name="resize-then-convert",
    severity=Severity.ERROR,
    fix=Safety.UNSAFE,
    literals=("convert_image_dtype",),
)

CONVERT = "tf.image.convert_image_dtype"
FLOATING = ("tf.image.resize", "keras.preprocessing.image.smart_resize", "tf.cast", "tf.saturate_cast")
STEPS = 12  # from the conversion back to what made floats
LARGE, SMALL = 10, 0.1  # divisors, means and factors that only 0..255 can have
# Networks of keras.applications whose first layers scale 0..255 themselves.
SCALING = ("EfficientNet", "MobileNetV3", "ConvNeXt", "RegNet")


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Conversions that found floats, unless something scales afterwards."""
    seen: set[int] = set()
    for call in trace.calls(CONVERT):
        image = call.argument("image")
        if image is None or id(call.node) in seen or not _left(call):
            continue
        seen.add(id(call.node))
        if any(_left(other) and _scaled_later(trace, other) for other in _same_place(trace, call)):
            continue
        made = _what_made_floats(trace, call)
        by = "after a cast" if made is not None and made.name.endswith("cast") else "after resizing"
        evidence = [] if made is None else [Evidence("float32 since here", made.place)]
        help = "convert what was decoded, and resize after that"
        origin = _reader(call) if made is None else None
        if origin is not None:
            by, evidence = "as it is read", [Evidence("float32 since here", origin.place)]
            help = "divide by 255, here or with a `Rescaling(1 / 255)` layer: the reader resizes, and gives floats"
        yield RULE.finding(
            call.place,
            f"`convert_image_dtype` does nothing: the picture is float already, {by}, and stays 0 to 255",
            evidence=evidence,
            help=help,
            fix=_fix(trace, call, made),
            # What a function gives that nobody calls here, its callers may still divide.
            severity=Severity.NOTE if uncalled(call.context) is not None else None,
        )


def _reader(call: Call) -> Step | None:
    """The reader of a folder that the picture comes from as it is."""
    image = call.value("image")
    origin = image.origin if isinstance(image, Array) else None
    return origin if origin is not None and origin.text.endswith(".image_dataset_from_directory") else None


def _same_place(trace: Trace, call: Call) -> Iterator[Call]:
    """The calls of one expression: a function that is mapped twice makes it twice."""
    return (other for other in trace.calls(CONVERT) if other.node is call.node)


def _left(call: Call) -> bool:
    return f"{LEFT}{call.index}" in tags_of(deref(call.result))


# --- what scales after all ------------------------------------------------------------------------------


def _scaled_later(trace: Trace, call: Call) -> bool:
    tag = f"{LEFT}{call.index}"
    for event in islice(trace.events, call.index, None):
        if isinstance(event, Call) and event is not call and _scales(event):
            values = [argument.value for argument in event.arguments]
            if any(_tagged(value, tag) for value in values):
                return True
    return False


def _tagged(value: Value, tag: str) -> bool:
    value = deref(value)
    match value:
        case Dataset(element=Value() as element):
            return _tagged(element, tag)
        case Sequence():
            return any(_tagged(item, tag) for item in value.items or [value.any])
        case Mapping(entries=entries):
            return any(_tagged(item, tag) for item in entries.values())
    return tag in tags_of(value)


def _scales(event: Call) -> bool:
    """Whether a call divides colours by something large, or hands them to layers that do."""
    receiver = None if event.receiver is None else deref(event.receiver)
    match event.name:
        case "operator.truediv" | "operator.mul" | "operator.sub":
            others = [deref(argument.value) for argument in event.arguments]
            numbers = [other.value for other in others if isinstance(other, Const)]
            known = [abs(number) for number in numbers if isinstance(number, int | float)]
            if not known:  # `image - mean`, `image / tf.reduce_max(image)`; two pictures scale nothing
                return sum(isinstance(other, Array) and (other.rank or 0) >= 3 for other in others) < 2
            return min(known) < SMALL if event.name.endswith("mul") else max(known) >= LARGE
        case "tf.image.per_image_standardization" | "tf.linalg.normalize" | "tf.math.l2_normalize":
            return True
        case name if name.endswith(".preprocess_input") or name == "keras.utils.normalize":
            return True
    if isinstance(receiver, Layer | Model):
        return any(_rescales(layer) for layer in inner_layers(receiver)) or _application(receiver)
    return False


def _rescales(layer: Layer) -> bool:
    kind = layer.type.rpartition(".")[2]
    if kind == "Rescaling":
        scale = layer.config.get("scale")
        return not isinstance(scale, Const) or not isinstance(scale.value, int | float) or scale.value < SMALL
    return kind in ("Normalization", "Lambda")


def _application(value: Value) -> bool:
    """Whether a network that scales by itself is the model or one of its parts."""
    if not isinstance(value, Model):
        return False
    name = "" if value.made_by is None else value.made_by.name.rpartition(".")[2]
    return name.startswith(SCALING) or any(_application(deref(layer)) for layer in value.layers or ())


# --- the fix ----------------------------------------------------------------------------------------------


def _what_made_floats(trace: Trace, call: Call) -> Call | None:
    """The resizing or cast that the picture went through, going back from the conversion."""
    value = call.value("image")
    found = None
    for _ in range(STEPS):
        made = None if value is None else trace.maker(value)
        if made is None or not made.arguments or not made.name.startswith(("tf.", "keras.preprocessing.")):
            return found
        if made.name.startswith(FLOATING):
            found = made
        value = deref(made.arguments[0].value)
    return found


def _fix(trace: Trace, call: Call, made: Call | None) -> Fix | None:
    """The conversion around what is resized; where it stood the picture is passed on."""
    if made is None or made.context.frame is not call.context.frame:
        return None
    if made.name.endswith("cast"):
        alone = made.targets == (made.arguments[0].path,) and made.place.source is trace.source
        fix = (RemoveStatement(made.statement),) if alone and made.statement is not None else ()
        return Fix("leave the picture as it is until it is converted", Safety.UNSAFE, fix) if fix else None
    image, source = call.argument("image"), trace.source
    inner = made.arguments[0]
    if image is None or any(place.source is not source for place in (call.place, made.place)):
        return None
    node = call.node
    if not isinstance(node, cst.Call) or inner.arg is None or inner.star or call.opaque_arguments:
        return None
    if call.statement is None or made.statement is None or not _plain(call):
        return None
    code = source.code
    # Without what stands around each, which may be a comment.
    others = [
        (f"{argument.arg.keyword.value}=" if argument.arg.keyword is not None else "")
        + code(argument.arg.value)
        for argument in call.arguments
        if argument is not image and argument.arg
    ]
    before, after = f"{code(node.func)}(", f", {', '.join(others)})"
    if call.statement.node is made.statement.node:
        if image.place.node is not made.node:
            return None
        resized = code(made.node)
        old = code(inner.place.node)
        return _message(Replace(call.place, resized.replace(old, f"{before}{old}{after}", 1)))
    if not in_one_block(source.module, [made.statement.node, call.statement.node]):
        return None
    rest: Edit
    if call.targets and call.targets == (image.path,):
        rest = RemoveStatement(call.statement)
    else:
        rest = Replace(call.place, code(image.place.node))
    return _message(Wrap(inner.place, before, after), rest)


def _plain(call: Call) -> bool:
    """Whether the conversion's other arguments mean the same some lines further up."""
    return all(isinstance(argument.arg, cst.Arg) for argument in call.arguments) and all(
        _constant(argument) for argument in call.arguments if argument is not call.argument("image")
    )


def _constant(argument: Argument) -> bool:
    value = deref(argument.value)
    return isinstance(value, Const) or (argument.path is not None and "." in argument.path)


def _message(*edits: Edit) -> Fix:
    return Fix("convert first", Safety.UNSAFE, edits)
