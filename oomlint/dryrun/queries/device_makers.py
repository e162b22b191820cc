"""Which calls make TensorFlow's devices, after which their configuration is fixed.

Measured (tests/claims/probe_device.py): anything that needs a tensor, a variable, a dataset or a generator does,
what only describes does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.queries.graph_growth import in_graph
from oomlint.dryrun.queries.once import once_per_trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import NONE, Sequence, Value, deref
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Trace

# These make no devices of TensorFlow's own context, but the process' GPU allocator, with the options of that moment.
# gpu_process_state.cc: one allocator per GPU, made once, for the first caller.
LOSES_SILENTLY = (
    "tf.test.is_gpu_available",
    "tf.test.gpu_device_name",
    "tf.python.client.device_lib.list_local_devices",
    "tf.Session",
    "tf.InteractiveSession",
    "tf.train.MonitoredSession",
    "tf.train.MonitoredTrainingSession",
    "keras.backend.get_session",
)

# What needs a tensor for its result.
_TENSORS = """
    constant Variable convert_to_tensor zeros ones fill eye range cast linspace stack unstack concat reshape transpose
    matmul one_hot zeros_like ones_like identity tile expand_dims squeeze where gather gather_nd scatter_nd split pad
    slice add subtract multiply divide square sqrt exp abs pow sign round sigmoid tanh einsum tensordot norm argmax
    argmin argsort sort reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_any reduce_all equal
    not_equal greater greater_equal less less_equal logical_and logical_or logical_not maximum minimum clip_by_value
    clip_by_norm clip_by_global_norm cumsum reverse repeat roll unique searchsorted boolean_mask sequence_mask shape
    size rank meshgrid broadcast_to timestamp print TensorArray RaggedTensor.from_row_splits
"""
_NAMES = frozenset(f"tf.{name}" for name in _TENSORS.split()) | frozenset(
    [
        "tf.device",
        "tf.config.list_logical_devices",
        "tf.config.experimental_connect_to_cluster",
        "tf.config.get_memory_info",
        "tf.config.get_memory_usage",
        "tf.tpu.experimental.initialize_tpu_system",
        "tf.summary.create_file_writer",
        "tf.saved_model.load",
        "tf.sparse.SparseTensor",
        "tf.SparseTensor",
        "tf.data.TFRecordDataset",
        "tf.data.TextLineDataset",
        "tf.data.FixedLengthRecordDataset",
        "tf.data.Dataset.from_tensor_slices",
        "tf.data.Dataset.from_tensors",
        "tf.data.Dataset.from_generator",
        "tf.data.Dataset.range",
        "tf.data.Dataset.list_files",
        "tf.data.Dataset.zip",
        "tf.data.Dataset.random",
        "tf.data.Dataset.load",
        "tf.data.Dataset.sample_from_datasets",
        "tf.data.Dataset.choose_from_datasets",
        "tf.data.experimental.make_csv_dataset",
        "tf.data.experimental.CsvDataset",
        "tf.data.experimental.make_batched_features_dataset",
        "tf.data.experimental.sample_from_datasets",
        "tensorflow_datasets.load",
        "tensorflow_hub.load",
        "keras.backend.variable",
        "keras.backend.constant",
        "keras.backend.zeros",
        "keras.backend.ones",
        "keras.optimizers.get",
        "keras.utils.normalize",
        "keras.utils.image_dataset_from_directory",
        "keras.utils.text_dataset_from_directory",
        "keras.utils.audio_dataset_from_directory",
        "keras.utils.timeseries_dataset_from_array",
        "keras.models.load_model",
        "keras.saving.load_model",
        "keras.models.clone_model",
        "keras.models.model_from_json",
        "keras.layers.TextVectorization",
        "keras.layers.StringLookup",
        "keras.layers.IntegerLookup",
        "keras.Model.compile",
        "keras.Model.fit",
        "keras.Model.fit_generator",
        "keras.Model.train_on_batch",
        "keras.Model.predict",
        "keras.Model.evaluate",
        "keras.Model.build",
        "keras.Model.__call__",
        "keras.Model.load_weights",
    ]
)
_PREFIXES = (
    *(
        "tf.math.",
        "tf.nn.",
        "tf.image.",
        "tf.linalg.",
        "tf.signal.",
        "tf.ragged.",
        "tf.strings.",
        "tf.sparse.",
    ),
    *("tf.lookup.", "tf.random.Generator.", "keras.ops.", "keras.random.", "keras.applications."),
)
# Of tf.io the operations; `gfile`, writers, and the descriptions of features need none.
_FILES = ("read_file", "write_file", "matching_files", "decode_", "encode_", "parse_", "serialize_")

# Layers with a generator, whose state is a variable (Keras 3); every `Random...` layer is another.
_SEEDED = frozenset(
    """
    Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianNoise GaussianDropout AlphaDropout LSTM GRU
    SimpleRNN LSTMCell GRUCell SimpleRNNCell ConvLSTM1D ConvLSTM2D ConvLSTM3D AugMix CutMix MixUp RandAugment
    Solarization
    """.split()
)
_LOOKS_FOR_GPUS = ("LSTM", "GRU")  # in Keras 2, to choose their kernel
# Layers that make no weight when they are called.
_WEIGHTLESS = (
    *("Activation", "ReLU", "LeakyReLU", "ELU", "Softmax", "Flatten", "Reshape", "Permute", "RepeatVector"),
    *(
        "Add",
        "Concatenate",
        "Average",
        "Maximum",
        "Minimum",
        "Multiply",
        "Subtract",
        "Dot",
        "Lambda",
        "Masking",
    ),
    *("Rescaling", "Resizing", "CenterCrop", "CategoryEncoding", "Hashing", "Identity", "InputLayer"),
)
_SHAPES_ONLY = ("MaxPooling", "AveragePooling", "GlobalMaxPooling", "GlobalAveragePooling", "UpSampling", "Cropping",
                "ZeroPadding")  # fmt: skip


@once_per_trace
def device_makers(trace: Trace, keras3: bool) -> list[Call]:
    """The calls that make the devices, in order."""
    return [call for call in trace.calls_where(_may) if makes_devices(call, keras3)]


def makes_devices(call: Call, keras3: bool) -> bool:
    """Whether a call makes the devices."""
    return _by_name(call, keras3) and not in_graph(call.context)


def _may(name: str) -> bool:
    """Whether calls of that name may make them: those of the two libraries, and few others."""
    return name in _NAMES or name.startswith(("tf.", "keras."))


def _by_name(call: Call, keras3: bool) -> bool:
    name = call.name
    if name in _NAMES or name.startswith(_PREFIXES):
        return not name.endswith(("preprocess_input", "decode_predictions"))
    package, _, last = name.rpartition(".")
    match package:
        case "tf.random":
            return last != "set_seed"
        case "tf.io":
            return last.startswith(_FILES)
        case "tf.distribute":
            return last.endswith("Strategy")
        case "keras.optimizers":
            return last[:1].isupper() and ".legacy." not in call.spelled
        case "keras.metrics":
            return last[:1].isupper()
        case "keras.layers":
            if call.spelled.startswith("tf_keras") or not keras3:
                return last in _LOOKS_FOR_GPUS
            return last in _SEEDED or last.startswith("Random")
        case "keras.Layer":
            return last == "__call__" and isinstance(call.receiver, Layer) and _has_weights(call.receiver)
        case "keras.Model" if last == "__init__":  # of a subclass, which in Keras 2 has a variable of its own
            return not keras3 or len(call.arguments) > 1
        case "keras.Model":
            return last == "add" and any(has_input(argument.value) for argument in call.arguments)
        case "keras":
            if last == "Sequential":
                layers = call.value("layers")
                first = layers.items[0] if isinstance(layers, Sequence) and layers.items else NONE
                return has_input(first) or not keras3 or call.spelled.startswith("tf_keras")
            return last == "Model" and len(call.arguments) > 1
    return False


def _has_weights(layer: Layer) -> bool:
    name = layer.type.rpartition(".")[2]
    return layer.type.startswith("keras.layers.") and not (
        name in _WEIGHTLESS or name.startswith(_SHAPES_ONLY)
    )


def has_input(layer: Value) -> bool:
    """Whether a layer tells a Sequential its input shape, so that it makes its weights at once."""
    layer = deref(layer)
    if isinstance(layer, Layer):
        shapes = ("input_shape", "batch_input_shape", "input_dim", "batch_shape")
        return layer.type.endswith("InputLayer") or any(name in layer.config for name in shapes)
    return isinstance(layer, Model) or (isinstance(layer, Array) and layer.library == "keras")
