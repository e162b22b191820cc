"""Which Keras a script runs on: what it calls leaves no doubt, or the project's settings say."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.queries.once import once_per_trace
from oomlint.dryrun.values.base import Const, deref
from oomlint.dryrun.values.program import Instance

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace
    from oomlint.project.settings import Settings

# Gone in Keras 3, where they raise (trainer.py and base_optimizer.py have neither).
_METHODS = ("fit_generator", "evaluate_generator", "predict_generator")
_ARGUMENTS = ("lr", "decay")

# What no `tensorflow` module has had since 2.0: a script that spells it without `compat.v1` is for TensorFlow 1.
_TENSORFLOW_1 = (
    "Session",
    "InteractiveSession",
    "placeholder",
    "ConfigProto",
    "global_variables_initializer",
)

# Replaced by `run` in TensorFlow 2.2 and gone since 2.4.
_UNTIL_2_3 = "tf.distribute.Strategy.experimental_run_v2"

# New with Keras 3; neither Keras 2.15 nor tf_keras has them.
_KERAS_3 = (
    "keras.ops.",
    "keras.random.",
    "keras.distribution.",
    "keras.config.",
    "keras.tree.",
    "keras.remat.",
    "keras.quantizers.",
    "keras.dtype_policies.",
)
_BATCHES_OF_KERAS_3 = "keras.utils.PyDataset"  # `Sequence` before

_FED = ("keras.Model.fit", "keras.Model.evaluate", "keras.Model.predict")

# Modules that Keras 3 does not have, under `keras` and `tensorflow.keras` alike (imported there to find out).
_MODULES = (
    "keras.utils.np_utils", "keras.utils.data_utils", "keras.utils.generic_utils", "keras.utils.vis_utils",
    "keras.layers.core", "keras.layers.convolutional", "keras.layers.pooling", "keras.layers.recurrent",
    "keras.layers.normalization", "keras.layers.embeddings", "keras.layers.merge", "keras.layers.wrappers",
    "keras.layers.advanced_activations", "keras.engine", "keras.wrappers", "keras.callbacks.callbacks",
)  # fmt: skip
# TensorFlow's own copy, on which `fit` raises with the TensorFlow releases that bring Keras 3 (run on 2.21), and
# TensorFlow Addons, which ended with TensorFlow 2.15 and imports modules of Keras 2 that are gone.
_COMPANIONS = ("tensorflow.python.keras", "tensorflow_addons")
# These are left under `tensorflow.keras` only.
_ONLY_IN_TENSORFLOW = (
    "keras.preprocessing.image.ImageDataGenerator", "keras.preprocessing.text.Tokenizer",
    "keras.preprocessing.sequence.TimeseriesGenerator",
)  # fmt: skip


@once_per_trace
def asks_for_tf_keras(trace: Trace) -> bool:
    """Whether the script imports `tf_keras`, or has `tf.keras` be it (`TF_USE_LEGACY_KERAS`)."""
    imported = trace.libraries.get("keras", "")
    if imported.startswith("tf_keras"):
        return True
    return not imported.startswith("keras") and any(
        isinstance(value, Const) and str(value.value).lower() in ("1", "true")
        for _, value in environment(trace, "TF_USE_LEGACY_KERAS")
    )


@once_per_trace
def for_keras_2(trace: Trace) -> bool:
    """Whether the script can only be meant for Keras 2.

    By importing `tf_keras` or asking for it (`TF_USE_LEGACY_KERAS`), by calls that Keras 3 does not have
    (`fit_generator`, an optimizer's `lr=` and `decay=`), by modules that it has no more or that come with Keras 2 only,
    or by being for TensorFlow 1.
    """
    if asks_for_tf_keras(trace) or trace.calls(*(f"keras.Model.{name}" for name in _METHODS)):
        return True
    if any(
        call.spelled == f"tensorflow.{name}" for name in _TENSORFLOW_1 for call in trace.calls(f"tf.{name}")
    ):
        return True
    if any(_is_gone(module) for module, _ in trace.imports):
        return True
    if trace.calls(_UNTIL_2_3) and not trace.calls("tf.distribute.Strategy.run"):
        return True
    if any("np_utils" in call.spelled for call in trace.calls("keras.utils.to_categorical")):
        return True
    if any(call.spelled == name for name in _ONLY_IN_TENSORFLOW for call in trace.calls(name)):
        return True
    return any(
        argument.name in _ARGUMENTS
        for call in trace.calls_under("keras.optimizers.")
        if not call.name.startswith("keras.optimizers.schedules.")
        for argument in call.arguments
    )


@once_per_trace
def _for_keras_3(trace: Trace) -> bool:
    if any(trace.calls_under(name) for name in _KERAS_3):
        return True
    given = (deref(argument.value) for call in trace.calls(*_FED) for argument in call.arguments)
    return any(
        isinstance(data, Instance) and _BATCHES_OF_KERAS_3 in data.cls.library_bases() for data in given
    )


@lru_cache(maxsize=4096)
def _is_gone(module: str) -> bool:
    """Whether an imported module is there with Keras 2 alone."""
    if any(module == name or module.startswith(name + ".") for name in _COMPANIONS):
        return True
    module = module.removeprefix("tensorflow.")
    return any(module == gone or module.startswith(gone + ".") for gone in _MODULES)


def keras_at_least(trace: Trace, settings: Settings, *version: int) -> bool:
    """Whether the Keras that the script runs on is this version or newer.

    The script's own evidence wins over the settings, which know `target-keras`, the project's pins and what is
    installed. Where only a generation is known it counts as the newest of it.
    """
    if for_keras_2(trace):
        target = settings.target_keras or (2,)
        if target[0] != 2:
            target = (2,)
        return target[: len(version)] >= version[: len(target)]
    if version[:1] == (3,) and version[1:] in ((), (0,)) and _for_keras_3(trace):
        return True
    return settings.keras_at_least(*version)


def keras_is_known(trace: Trace, settings: Settings) -> bool:
    """Whether anything says which generation it is: the script, or the project's settings, pins and environment."""
    return settings.target_keras is not None or for_keras_2(trace) or _for_keras_3(trace)
