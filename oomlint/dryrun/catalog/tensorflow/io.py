"""TensorFlow: files, records, strings, sound, and Python functions inside a pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import attribute, function
from oomlint.dryrun.catalog.tensorflow.tensor_values import (
    as_numpy,
    as_tensor,
    component,
    result,
    static,
    tensor,
)
from oomlint.dryrun.catalog.tensorflow.tensors import shaped, wanted
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.dtypes import dtype_of
from oomlint.dryrun.values.shapes import number

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@function("tf.io.read_file", "tf.read_file", parameters="filename name")
def read_file(call: Call, run: Run) -> Value:
    """A file's bytes."""
    return tensor(call, (), "string", frozenset({"raw"}))


@function("tf.io.parse_tensor", parameters="serialized out_type name")
def parse_tensor(call: Call, run: Run) -> Value:
    """A tensor of the dtype that is asked for; its shape is in the bytes."""
    return tensor(call, None, wanted(call, "out_type"))


@function(
    "tf.io.decode_raw", "tf.decode_raw", parameters="input_bytes out_type little_endian fixed_length name"
)
def decode_raw(call: Call, run: Run) -> Value:
    """As many numbers as there are bytes for."""
    value = call.value("input_bytes")
    shape = shaped(value)
    return tensor(call, None if shape is None else (*shape, None), wanted(call, "out_type"))


@function("tf.io.serialize_tensor", "tf.io.encode_base64", "tf.io.decode_base64", "tf.io.decode_compressed")
def serialised(call: Call, run: Run) -> Value:
    """Bytes."""
    return tensor(call, (), "string")


@function("tf.io.decode_csv", parameters="records record_defaults field_delim")
def decode_csv(call: Call, run: Run) -> Value:
    """One tensor per column, shaped like the records."""
    columns, shape = call.value("record_defaults"), shaped(call.value("records"))
    if not isinstance(columns, Sequence) or columns.items is None:
        return Sequence("list", element=tensor(call, shape, None))
    return Sequence(
        "list", items=[tensor(call, shape, dtype_of(item) or _scalar(item)) for item in columns.items]
    )


def _scalar(value: Value) -> str | None:
    known = as_tensor(value)
    return known.dtype if known is not None else None


# --- records ------------------------------------------------------------------------------------------


@function("tf.io.FixedLenFeature", "tf.FixedLenFeature", parameters="shape dtype default_value")
def fixed_length(call: Call, run: Run) -> Value:
    """A dense field."""
    return tensor(call, static(call.value("shape")), wanted(call))


@function("tf.io.FixedLenSequenceFeature", parameters="shape dtype allow_missing default_value")
def fixed_length_sequence(call: Call, run: Run) -> Value:
    """A dense field with a leading dimension of open length."""
    shape = static(call.value("shape"))
    return tensor(call, None if shape is None else (None, *shape), wanted(call))


@function("tf.io.VarLenFeature", "tf.VarLenFeature", parameters="dtype")
def variable_length(call: Call, run: Run) -> Value:
    """A sparse field."""
    return replace(tensor(call, (None,), wanted(call)), library="sparse")


@function(
    "tf.io.parse_single_example",
    "tf.parse_single_example",
    parameters="serialized features example_names name",
)
def parse_single(call: Call, run: Run) -> Value:
    """The fields by name."""
    features = call.value("features")
    return component(features) if isinstance(features, Mapping) else Unknown()


@function("tf.io.parse_example", "tf.parse_example", parameters="serialized features example_names name")
def parse_batch(call: Call, run: Run) -> Value:
    """The fields by name, each with the batch in front."""
    features, batch = call.value("features"), shaped(call.value("serialized"))
    if not isinstance(features, Mapping):
        return Unknown()
    entries: dict[object, Value] = {}
    for key, value in features.entries.items():
        field = deref(value)
        if isinstance(field, Array) and field.shape is not None and batch is not None:
            entries[key] = replace(field, shape=(*batch, *field.shape))
        else:
            entries[key] = replace(field, shape=None) if isinstance(field, Array) else Unknown()
    return Mapping(entries, features.complete)


@function("tf.sparse.to_dense", "tf.sparse_tensor_to_dense", parameters="sp_input default_value")
def to_dense(call: Call, run: Run) -> Value:
    """The same with its zeros."""
    value = call.value("sp_input")
    return replace(value, library="tensor") if isinstance(value, Array) else Unknown()


# --- sound --------------------------------------------------------------------------------------------


@function("tf.audio.decode_wav", parameters="contents desired_channels desired_samples name")
def decode_wav(call: Call, run: Run) -> Value:
    """(samples by channels, rate)."""
    dims: list[Dim] = []
    for name in ("desired_samples", "desired_channels"):
        value = call.value(name)
        dims.append(value if isinstance(value, Const) and (number(value) or -1) > 0 else None)
    rate = tensor(call, (), "int32")
    return Sequence("tuple", items=[tensor(call, tuple(dims), "float32", frozenset({"image"})), rate])


@attribute(Sequence, "audio")
def audio(value: Value, run: Run) -> Value:
    """`decode_wav(...).audio`."""
    return value.items[0] if isinstance(value, Sequence) and value.items else Unknown()


@attribute(Sequence, "sample_rate")
def sample_rate(value: Value, run: Run) -> Value:
    """`decode_wav(...).sample_rate`."""
    return (
        value.items[1] if isinstance(value, Sequence) and value.items and len(value.items) > 1 else Unknown()
    )


# --- Python functions ---------------------------------------------------------------------------------


@function("tf.py_function", parameters="func inp Tout name")
@function("tf.numpy_function", "tf.py_func", parameters="func inp Tout stateful name")
def python_function(call: Call, run: Run) -> Value:
    """Tensors of the promised dtypes; their shapes are not promised."""
    called, given = call.value("func"), call.value("inp")
    if called is not None:
        items = given.items if isinstance(given, Sequence) and given.items is not None else []
        operands = [component(item) for item in items]
        numpy = call.name != "tf.py_function"
        run.call(called, [as_numpy(item) if numpy else item for item in operands], call, "tf.py_function")
    types = call.value("Tout")
    if isinstance(types, Sequence):
        if types.items is None:
            return Sequence("list", element=tensor(call, None, dtype_of(types.any)))
        return Sequence("list", items=[tensor(call, None, dtype_of(item)) for item in types.items])
    if isinstance(types, Array):
        return replace(types, shape=types.shape)
    return tensor(call, None, dtype_of(types))


# --- strings ------------------------------------------------------------------------------------------

_SAME = ["lower", "upper", "strip", "regex_replace", "substr", "unicode_transcode"]


@function(*(f"tf.strings.{name}" for name in _SAME), parameters="input")
@function("tf.strings.as_string", parameters="input precision")
def texts(call: Call, run: Run) -> Value:
    """Strings of the same shape."""
    value = call.value("input")
    return result(call, value, shaped(value), "string")


@function(
    "tf.strings.length", "tf.strings.to_hash_bucket_fast", "tf.strings.to_hash_bucket", parameters="input"
)
def lengths(call: Call, run: Run) -> Value:
    """A number per string."""
    value = call.value("input")
    return result(call, value, shaped(value), "int32" if call.name.endswith("length") else "int64")


@function("tf.strings.to_number", parameters="input out_type name")
def to_number(call: Call, run: Run) -> Value:
    """The number that is written there."""
    value = call.value("input")
    return result(call, value, shaped(value), wanted(call, "out_type", "float32"))


@function("tf.strings.regex_full_match", parameters="input pattern")
def matches(call: Call, run: Run) -> Value:
    """Whether it matches."""
    value = call.value("input")
    return result(call, value, shaped(value), "bool")


@function("tf.strings.split", parameters="input sep maxsplit name")
@function("tf.strings.bytes_split", "tf.strings.unicode_split", parameters="input")
def split(call: Call, run: Run) -> Value:
    """The parts of one string; of several, ragged."""
    value = call.value("input")
    if shaped(value) == ():
        return result(call, value, (None,), "string")
    return Unknown(tags=tags_of(value) if value is not None else frozenset())


@function("tf.strings.join", parameters="inputs separator name")
@function("tf.strings.format", parameters="template inputs placeholder")
def join_texts(call: Call, run: Run) -> Value:
    """One string of several."""
    inner = run.iterate(call.arguments[0].value) if call.arguments else None
    if call.name.endswith("format") or inner is None or inner.items is None:
        return tensor(call, () if call.name.endswith("format") else None, "string")
    tags = frozenset().union(*(tags_of(deref(item)) for item in inner.items))
    shapes = [shaped(item) for item in inner.items]
    longest = max((shape for shape in shapes if shape is not None), key=len, default=None)
    return tensor(call, longest if None not in shapes else None, "string", tags)
