"""Keras' readers of folders and arrays: `image_dataset_from_directory` and its kin, ImageDataGenerator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import UNSCALED
from oomlint.dryrun.catalog.registry import function, method, signature
from oomlint.dryrun.catalog.tensorflow.data_batches import batch_dim
from oomlint.dryrun.catalog.tensorflow.data_stages import reckon
from oomlint.dryrun.catalog.tensorflow.tensor_values import as_numpy, as_tensor, component
from oomlint.dryrun.values.arrays import Array, Dim, Shape
from oomlint.dryrun.values.base import Const, Opaque, Sequence, Slice, Step, Unknown, Value
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.shapes import number, shape_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}
# On a dataset: batches already, and which part of a split it is.
BATCHED, VALIDATION = "batched", "validation"


def default_of(call: Call, name: str, default: Value) -> Value:
    """An argument, or what it is when it is not given."""
    value = call.value(name)
    return default if value is None else value


def _batched(leaf: Array, call: Call, default: int) -> tuple[Array, bool]:
    """The leaf with the batch in front, unless `batch_size=None`."""
    size = default_of(call, "batch_size", Const(default, (Step("the default batch size", call.place),)))
    if isinstance(size, Const) and size.value is None:
        return leaf, False
    known = size if isinstance(size, Const) and number(size) is not None else None
    dim = batch_dim(known, dropped=False)
    return replace(leaf, shape=None if leaf.shape is None else (dim, *leaf.shape)), True


def _labels(call: Call, default: str) -> Array | Unknown | None:
    """One label; None where there is none, unknown where its mode is."""
    labels, mode = call.value("labels"), default_of(call, "label_mode", Const(default))
    if isinstance(labels, Const) and labels.value is None:
        return None
    if not isinstance(mode, Const):
        return Unknown()
    if mode.value == "int":
        return Array("tensor", (), "int32", tags=frozenset({"label"}))
    if mode.value == "binary":
        return Array("tensor", (Const(1),), "float32", tags=frozenset({"label"}))
    if mode.value == "categorical":
        named = call.value("class_names")
        count = named.length if isinstance(named, Sequence) else None
        return Array("tensor", (count,), "float32", tags=frozenset({"label"}))
    return None


def _from_directory(call: Call, leaf: Array, label_mode: str = "int") -> Value:
    """The dataset, or the pair of them for `subset="both"`."""
    whole, batched = _batched(leaf, call, 32)
    label = _labels(call, label_mode)
    element: Value = whole
    if isinstance(label, Array):
        element = Sequence("tuple", items=[whole, _batched(label, call, 32)[0]])
    elif label is not None:
        element = Unknown()
    tags = frozenset({BATCHED}) if batched else frozenset()
    dataset = Dataset(element=element, stages=(call,), tags=tags)
    subset = call.const("subset")
    if subset == "both":
        return Sequence("tuple", items=[dataset, replace(dataset, tags=tags | {VALIDATION})])
    return replace(dataset, tags=tags | {VALIDATION}) if subset == "validation" else dataset


@function(
    "keras.utils.image_dataset_from_directory",
    parameters="directory labels label_mode class_names color_mode batch_size image_size shuffle seed"
    " validation_split subset interpolation follow_links crop_to_aspect_ratio pad_to_aspect_ratio data_format",
)
def images(call: Call, run: Run) -> Value:
    """float32 pictures of one size, 256 by 256 in batches of 32 unless told otherwise.

    With `shuffle` it is the paths that are shuffled, before anything is read.
    """
    size = shape_of(default_of(call, "image_size", Sequence("tuple", items=[Const(256), Const(256)])))
    height, width = size if size is not None and len(size) == 2 else (None, None)
    color = default_of(call, "color_mode", Const("rgb"))
    count = _CHANNELS.get(color.value) if isinstance(color, Const) else None
    channels: Dim = None if count is None else Const(count)
    shape: Shape = (height, width, channels)
    if call.const("data_format") == "channels_first":
        shape = (channels, height, width)
    tags = (
        frozenset({"image", UNSCALED})
        if call.const("interpolation", "") != "nearest"
        else frozenset({"image"})
    )
    return _from_directory(call, Array("tensor", shape, "float32", Step(call.name, call.place), tags))


@function(
    "keras.utils.text_dataset_from_directory",
    parameters="directory labels label_mode class_names batch_size max_length shuffle seed validation_split subset",
)
def texts(call: Call, run: Run) -> Value:
    """Whole files as strings."""
    return _from_directory(call, Array("tensor", (), "string"))


@function(
    "keras.utils.audio_dataset_from_directory",
    parameters="directory labels label_mode class_names batch_size sampling_rate output_sequence_length ragged"
    " shuffle seed validation_split subset follow_links",
)
def sounds(call: Call, run: Run) -> Value:
    """float32 sound; the number of channels is the files'."""
    length = call.value("output_sequence_length")
    known = length if isinstance(length, Const) and number(length) is not None else None
    leaf = Array("tensor", (known, None), "float32", Step(call.name, call.place), frozenset({"image"}))
    return _from_directory(call, leaf)


@function(
    "keras.utils.timeseries_dataset_from_array",
    parameters="data targets sequence_length sequence_stride sampling_rate batch_size shuffle seed"
    " start_index end_index",
)
def timeseries(call: Call, run: Run) -> Value:
    """Windows of an array. TensorFlow leaves their length open, which is what is asked for."""
    data, targets = as_tensor(call.value("data")), call.value("targets")
    size = default_of(call, "batch_size", Const(128, (Step("the default batch size", call.place),)))
    known = size if isinstance(size, Const) and number(size) is not None else None
    unbatched = isinstance(size, Const) and size.value is None
    front: Shape = () if unbatched else (batch_dim(known, dropped=False),)
    rows = None if data is None or not data.shape else data.shape[1:]
    asked = call.value("sequence_length")
    length = asked.softened() if isinstance(asked, Const) and number(asked) is not None else None
    shape = None if rows is None else (*front, length, *rows)
    window = replace(data, shape=shape, library="tensor") if data is not None else Unknown()
    element: Value = window
    if targets is not None and not (isinstance(targets, Const) and targets.value is None):
        target = as_tensor(targets)
        label: Value = Unknown()
        if target is not None and target.shape:
            label = replace(target, shape=(*front, *target.shape[1:]))
        element = Sequence("tuple", items=[window, label])
    count = _windows(call, data) if not (known is None and not unbatched) else None
    if known is not None and count is not None:
        count = reckon(lambda n, of: -(-n // of), count, known)
    tags = frozenset() if unbatched else frozenset({BATCHED})
    return Dataset(element=element, count=count, stages=(call,), tags=tags)


def _windows(call: Call, data: Array | None) -> Const | None:
    """How many windows there are: as many starts as leave room for a whole one."""
    if data is None or not data.shape or call.argument("start_index") or call.argument("end_index"):
        return None
    length = call.value("sequence_length")
    stride = default_of(call, "sequence_stride", Const(1))
    rate = default_of(call, "sampling_rate", Const(1))
    parts = [part if isinstance(part, Const) and number(part) else None for part in (length, stride, rate)]
    target = as_tensor(call.value("targets"))
    labels = target.shape[0] if target is not None and target.shape else None

    def starts(rows: int, sequence: int, step: int, gap: int) -> int:
        # keras timeseries_dataset_utils.py: one start per whole window, and no more than there are targets.
        last = rows - (sequence - 1) * gap
        return max(0, -(-(last if labels is None else min(last, labels.value)) // step))

    return reckon(starts, data.shape[0], *parts)


@function("keras.utils.split_dataset", parameters="dataset left_size right_size shuffle seed")
def split_dataset(call: Call, run: Run) -> Value:
    """Two datasets of the elements of one."""
    value = call.value("dataset")
    if not isinstance(value, Dataset):
        return Sequence("tuple", items=[Dataset(stages=(call,)), Dataset(stages=(call,))])
    part = Dataset(element=value.element, stages=(*value.stages, call), tags=value.tags)
    return Sequence("tuple", items=[part, part])


# --- ImageDataGenerator -------------------------------------------------------------------------------

GENERATOR = "keras.preprocessing.image.ImageDataGenerator"


signature(f"{GENERATOR}.fit", "x augment rounds seed")


@function(
    GENERATOR,
    parameters="featurewise_center samplewise_center featurewise_std_normalization samplewise_std_normalization "
    "zca_whitening zca_epsilon rotation_range",
)
def generator(call: Call, run: Run) -> Value:
    """The factory of augmented batches."""
    return Opaque(GENERATOR, call)


@method(
    Opaque, "flow_from_directory", parameters="directory target_size color_mode classes class_mode batch_size"
)
@method(
    Opaque,
    "flow_from_dataframe",
    parameters="dataframe directory x_col y_col weight_col target_size color_mode classes",
)
def flow_from_files(call: Call, run: Run) -> Value:
    """Batches without end, read as they are asked for."""
    if not call.name.startswith(GENERATOR):
        return Unknown()
    size = shape_of(default_of(call, "target_size", Sequence("tuple", items=[Const(256), Const(256)])))
    height, width = size if size is not None and len(size) == 2 else (None, None)
    color = call.const("color_mode", "rgb")
    count = _CHANNELS.get(color) if isinstance(color, str) else None
    leaf = Array(
        "numpy",
        (height, width, None if count is None else Const(count)),
        "float32",
        Step(call.name, call.place),
    )
    whole, _ = _batched(leaf, call, 32)
    if call.const("class_mode", "categorical") is None and call.argument("class_mode") is not None:
        return Sequence("generator", element=whole)
    return Sequence("generator", element=Sequence("tuple", items=[whole, Unknown()]))


@method(
    Opaque, "flow", parameters="x y batch_size shuffle sample_weight seed save_to_dir save_prefix save_format"
)
def flow(call: Call, run: Run) -> Value:
    """Batches of arrays that are held whole, copied to float32."""
    if not call.name.startswith(GENERATOR):
        return Unknown()
    parts: list[Value] = []
    for name in ("x", "y"):
        known = as_numpy(component(call.value(name)))
        if call.argument(name) is None:
            continue
        if isinstance(known, Array) and known.shape:
            row = replace(known, shape=known.shape[1:], dtype="float32" if name == "x" else known.dtype)
            parts.append(_batched(row, call, 32)[0])
        else:
            alone = call.const("batch_size", 32) == 1
            parts.append(Unknown(taken=Slice(Const(0), Const(1)) if alone else None))
    element = parts[0] if len(parts) == 1 else Sequence("tuple", items=parts)
    return Sequence("generator", element=element)
