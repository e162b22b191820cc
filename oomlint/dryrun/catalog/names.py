"""Canonical names: however a library's thing was imported, it has one name here.

`tensorflow.keras.layers.Dense`, `keras.layers.core.Dense`, `tf_keras.layers.Dense` and
`tensorflow.python.keras.layers.Dense` are all `keras.layers.Dense`; TensorFlow's own names begin with `tf.`,
whatever `compat` module they came through.
"""

from __future__ import annotations

from functools import lru_cache

# Longest first: each spelling of a package and what it is.
_ROOTS = (
    ("tensorflow.compat.v1.keras", "keras"),
    ("tensorflow.compat.v2.keras", "keras"),
    ("tensorflow._api.v2.keras", "keras"),
    ("tensorflow.python.keras.api._v2.keras", "keras"),
    ("tensorflow.python.keras", "keras"),
    ("tensorflow.contrib.keras", "keras"),
    ("tensorflow.keras", "keras"),
    ("tf_keras.src", "keras"),
    ("tf_keras.api", "keras"),
    ("tf_keras", "keras"),
    ("keras_core", "keras"),
    ("keras.api._v2.keras", "keras"),
    ("keras.api", "keras"),
    ("keras.src.legacy.preprocessing", "keras.preprocessing"),
    ("keras.legacy.preprocessing", "keras.preprocessing"),
    ("keras_preprocessing", "keras.preprocessing"),
    ("keras.src", "keras"),
    ("tensorflow.compat.v1", "tf"),
    ("tensorflow.compat.v2", "tf"),
    ("tensorflow", "tf"),
    ("jax.experimental.maps.numpy", "jax.numpy"),
)

# TensorFlow names that moved, or are the same thing as a Keras one (TF 2: tf.optimizers is tf.keras.optimizers).
_MOVED_PREFIXES = (
    ("tf.config.experimental.", "tf.config."),
    ("tf.distribute.experimental.", "tf.distribute."),
    ("tf.data.experimental.AUTOTUNE", "tf.data.AUTOTUNE"),
    ("tf.contrib.data.", "tf.data.experimental."),
    ("tf.estimator.experimental.", "tf.estimator."),
    ("tf.dtypes.", "tf."),
    ("tf.optimizers.", "keras.optimizers."),
    ("tf.losses.", "keras.losses."),
    ("tf.metrics.", "keras.metrics."),
    ("tf.python.framework.errors_impl.", "tf.errors."),
    ("tf.python.framework.errors.", "tf.errors."),
    ("tf.python.client.session.", "tf."),
    ("tf.python.ops.numpy_ops", "tf.experimental.numpy"),
    ("keras.mixed_precision.experimental.", "keras.mixed_precision."),
    ("keras.layers.experimental.preprocessing.", "keras.layers."),
    ("keras.layers.experimental.", "keras.layers."),
    ("keras.optimizers.legacy.", "keras.optimizers."),
    ("keras.optimizers.experimental.", "keras.optimizers."),
    ("keras.utils.np_utils.", "keras.utils."),
    ("keras.utils.data_utils.", "keras.utils."),
    ("keras.utils.multi_gpu_utils.", "keras.utils."),
    ("keras.utils.training_utils.", "keras.utils."),
    ("keras.utils.generic_utils.", "keras.utils."),
    ("keras.utils.vis_utils.", "keras.utils."),
    ("keras.preprocessing.image_dataset_from_directory", "keras.utils.image_dataset_from_directory"),
    ("keras.preprocessing.text_dataset_from_directory", "keras.utils.text_dataset_from_directory"),
    ("keras.preprocessing.timeseries_dataset_from_array", "keras.utils.timeseries_dataset_from_array"),
    ("keras.preprocessing.image.load_img", "keras.utils.load_img"),
    ("keras.preprocessing.image.img_to_array", "keras.utils.img_to_array"),
    ("keras.preprocessing.image.array_to_img", "keras.utils.array_to_img"),
    ("keras.preprocessing.sequence.pad_sequences", "keras.utils.pad_sequences"),
    ("keras.backend.tensorflow_backend.", "keras.backend."),
    ("six.moves.range", "builtins.range"),
    ("six.moves.zip", "builtins.zip"),
    ("tqdm.auto.", "tqdm."),
    ("tqdm.notebook.", "tqdm."),
    ("tqdm.std.", "tqdm."),
    ("tqdm.autonotebook.", "tqdm."),
)

_EXACT = {
    "tf.config.set_virtual_device_configuration": "tf.config.set_logical_device_configuration",
    "tf.config.VirtualDeviceConfiguration": "tf.config.LogicalDeviceConfiguration",
    "keras.models.Model": "keras.Model",
    "keras.models.Functional": "keras.Model",
    "keras.models.Sequential": "keras.Sequential",
    "keras.layers.Input": "keras.Input",
    "keras.layers.Layer": "keras.Layer",
    "keras.layers.InputLayer": "keras.layers.InputLayer",
    "keras.layers.BatchNormalizationV2": "keras.layers.BatchNormalization",
    "keras.layers.BatchNormalizationV1": "keras.layers.BatchNormalization",
    "keras.layers.Convolution1D": "keras.layers.Conv1D",
    "keras.layers.Convolution2D": "keras.layers.Conv2D",
    "keras.layers.Convolution3D": "keras.layers.Conv3D",
    "keras.layers.Convolution2DTranspose": "keras.layers.Conv2DTranspose",
    "keras.layers.Deconvolution2D": "keras.layers.Conv2DTranspose",
    "keras.layers.SeparableConvolution2D": "keras.layers.SeparableConv2D",
    "keras.layers.MaxPool1D": "keras.layers.MaxPooling1D",
    "keras.layers.MaxPool2D": "keras.layers.MaxPooling2D",
    "keras.layers.MaxPool3D": "keras.layers.MaxPooling3D",
    "keras.layers.AvgPool1D": "keras.layers.AveragePooling1D",
    "keras.layers.AvgPool2D": "keras.layers.AveragePooling2D",
    "keras.layers.AvgPool3D": "keras.layers.AveragePooling3D",
    "keras.layers.GlobalAvgPool1D": "keras.layers.GlobalAveragePooling1D",
    "keras.layers.GlobalAvgPool2D": "keras.layers.GlobalAveragePooling2D",
    "keras.layers.GlobalAvgPool3D": "keras.layers.GlobalAveragePooling3D",
    "keras.layers.GlobalMaxPool1D": "keras.layers.GlobalMaxPooling1D",
    "keras.layers.GlobalMaxPool2D": "keras.layers.GlobalMaxPooling2D",
    "keras.layers.GlobalMaxPool3D": "keras.layers.GlobalMaxPooling3D",
    "keras.layers.CuDNNLSTM": "keras.layers.LSTM",
    "keras.layers.CuDNNGRU": "keras.layers.GRU",
    "keras.engine.Layer": "keras.Layer",
    "keras.engine.Model": "keras.Model",
    "keras.utils.PyDataset": "keras.utils.PyDataset",
    "tf.train.AdamOptimizer": "tf.train.AdamOptimizer",
    "tf.GradientTape": "tf.GradientTape",
    "tf.python.eager.backprop.GradientTape": "tf.GradientTape",
    "numpy.lib.npyio.load": "numpy.load",
    "tf.nest.map_structure": "tf.nest.map_structure",
}  # fmt: skip

# Packages whose public classes live in private modules below them: the class is what counts.
_FLAT = ("keras.layers.", "keras.optimizers.", "keras.optimizer_v2.", "keras.optimizer_v1.", "keras.applications.",
         "keras.callbacks.", "keras.engine.", "keras.models.", "keras.losses.", "keras.metrics.")  # fmt: skip
_KEEP = ("keras.optimizers.schedules.",)


@lru_cache(maxsize=4096)
def rooted(spelled: str) -> str:
    """The spelled name with its package made canonical, nothing else."""
    for spelling, root in _ROOTS:
        if spelled == spelling or spelled.startswith(spelling + "."):
            rest = spelled[len(spelling) :]
            # tensorflow.compat.v2.compat.v1.Session; what is left after plain "tensorflow" is never a root again.
            nested = spelling != "tensorflow" and root == "tf" and rest.startswith((".compat.", ".keras"))
            return rooted("tensorflow" + rest) if nested else root + rest
    return spelled


@lru_cache(maxsize=4096)
def canonical(spelled: str) -> str:
    """The one name of a library's thing."""
    name = rooted(spelled)
    for old, new in _MOVED_PREFIXES:
        if name.startswith(old):
            name = new + name[len(old) :]
            break
    if name.startswith(_FLAT) and not name.startswith(_KEEP):
        parts = name.split(".")
        if len(parts) > 3 and (parts[-1][:1].isupper() or parts[1] in ("layers", "engine")):
            package = {"optimizer_v2": "optimizers", "optimizer_v1": "optimizers"}.get(parts[1], parts[1])
            name = f"keras.{package}.{parts[-1]}"
    return _EXACT.get(name, name)


def generation(spelled: str) -> str:
    """Which Keras a spelled name belongs to: `tf_keras`, `keras` (multi-backend or 3), `tf.keras` or ``."""
    root = spelled.partition(".")[0]
    if root == "tf_keras":
        return "tf_keras"
    if root in ("keras", "keras_core"):
        return "keras"
    return "tf.keras" if rooted(spelled).startswith("keras") else ""
