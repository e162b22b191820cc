"""Names of older Keras, found in the Keras that is installed: modules that moved, arguments that were renamed.

They are the same layers under other names, so the memory is the same; the answer says that they were translated.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.older.convolutions import CONVOLUTIONS
from oomlint.estimate.worker.older.experimental import experimental
from oomlint.estimate.worker.older.finders import asked_last
from oomlint.estimate.worker.older.layers import OF_OLD_KERAS, old_layers
from oomlint.estimate.worker.older.names import namesakes, old_functions, old_helpers, signed
from oomlint.estimate.worker.older.operations import understand_old_operations
from oomlint.estimate.worker.older.optimizer_arguments import old_optimizers
from oomlint.estimate.worker.older.own_optimizers import own_optimizers
from oomlint.estimate.worker.older.variables import old_weights, own_variables
from oomlint.estimate.worker.older.wrappers import WRAPPERS

# Module of old -> modules of today in which its names are looked for, after the roots are removed.
_MOVED = {
    "layers.core": "layers", "layers.convolutional": "layers", "layers.pooling": "layers",
    "layers.local": "layers",
    "layers.recurrent": "layers", "layers.normalization": "layers", "layers.embeddings": "layers",
    "layers.merge": "layers", "layers.wrappers": "layers", "layers.advanced_activations": "layers",
    "layers.noise": "layers", "layers.cudnn_recurrent": "layers", "layers.convolutional_recurrent": "layers",
    "layers.normalization.batch_normalization": "layers", "layers.experimental.preprocessing": "layers",
    "layers.experimental": "layers", "layers.preprocessing": "layers", "layers.convolutional.conv2d": "layers",
    "engine": "layers models", "engine.topology": "layers models utils", "engine.training": "models",
    "engine.base_layer": "layers", "engine.sequential": "models", "engine.input_layer": "layers",
    "engine.network": "models", "engine.functional": "models",
    "utils.np_utils": "utils", "utils.generic_utils": "utils saving", "utils.data_utils": "utils",
    "utils.vis_utils": "utils", "utils.training_utils": "utils", "utils.layer_utils": "utils",
    "utils.io_utils": "utils",
    "utils.multi_gpu_utils": "utils", "utils.visualize_util": "utils", "utils.conv_utils": "utils",
    "backend.tensorflow_backend": "backend", "backend.common": "backend",
    "optimizers.legacy": "optimizers", "optimizers.experimental": "optimizers",
    "optimizers.schedules": "optimizers.schedules",
    "preprocessing.image": "utils preprocessing.image src.legacy.preprocessing.image",
    "preprocessing.text": "src.legacy.preprocessing.text",
    "preprocessing.sequence": "utils src.legacy.preprocessing.sequence",
    "callbacks.callbacks": "callbacks", "callbacks.experimental": "callbacks", "objectives": "losses",
    "mixed_precision.experimental": "mixed_precision", "applications.resnet50": "applications.resnet applications",
    "applications.mobilenetv2": "applications.mobilenet_v2 applications", "regularizers": "regularizers",
    "wrappers": "", "wrappers.scikit_learn": "", "legacy": "", "legacy.interfaces": "",
    "initializations": "initializers",
    "applications.imagenet_utils": "applications.imagenet_utils", "utils.tf_utils": "utils",
    "imagenet_utils": "applications.imagenet_utils", "saving": "saving", "saving.save": "saving models",
    "feature_column": "", "estimator": "", "premade": "", "optimizer_v2": "optimizers", "optimizer_v1": "optimizers",
}  # fmt: skip
_OPTIMIZERS = "adam adamax nadam rmsprop gradient_descent adadelta adagrad ftrl optimizer".split()
_MOVED |= {
    f"{place}.{name}{version}": "optimizers"
    for place in ("optimizers", "optimizer_v2")
    for name in _OPTIMIZERS
    for version in ("", "_v1", "_v2")
}
# Names of old -> names of today.
_RENAMED = {
    "Convolution1D": "Conv1D", "Convolution2D": "Conv2D", "Convolution3D": "Conv3D", "CuDNNLSTM": "LSTM",
    "Deconvolution2D": "Conv2DTranspose", "Deconv2D": "Conv2DTranspose", "CuDNNGRU": "GRU", "Recurrent": "RNN",
    "BatchNormalizationV1": "BatchNormalization", "BatchNormalizationV2": "BatchNormalization",
    "SyncBatchNormalization": "BatchNormalization", "Model": "Model", "InputSpec": "InputSpec",
    "Policy": "DTypePolicy",
    "set_policy": "set_global_policy", "get_custom_objects": "get_custom_objects",
    "multi_gpu_model": "multi_gpu_model",
}  # fmt: skip
_ROOTS = (
    "keras_applications.",
    "tensorflow.python.keras.",
    "tensorflow.keras.",
    "tensorflow.contrib.keras.api.keras.",
    "keras.src.",
    "keras.",
)


class _Finder(MetaPathFinder, Loader):
    """Finds modules that Keras does not have any more."""

    def __init__(self, keras: Any, used: set[str]) -> None:
        self.keras = keras
        self.used = used

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        root = next((root for root in _ROOTS if f"{fullname}.".startswith(root)), None)
        if fullname == "keras_applications":
            return ModuleSpec(fullname, self, is_package=True)
        if root is None or (root == "keras.src." and self.keras.__name__ == "keras"):
            return None
        rest = fullname.removeprefix(root)
        if rest not in _MOVED and not any(known.startswith(rest + ".") for known in _MOVED):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        root = next(root for root in _ROOTS if f"{module.__name__}.".startswith(root))
        rest = module.__name__.removeprefix(root)
        places = [
            *_MOVED.get(rest, "").split(),
            *([rest] if rest not in _MOVED else []),
            "layers",
            "models",
            "utils",
        ]
        self.used.add(module.__name__)

        def find(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            if rest == "utils.conv_utils" and name in CONVOLUTIONS:
                return CONVOLUTIONS[name]
            if rest == "wrappers.scikit_learn" and name in WRAPPERS:
                return WRAPPERS[name]
            for place in places:
                for spelled in (name, _RENAMED.get(name, name)):
                    found = _attribute(self.keras, f"{place}.{spelled}")
                    if found is not None:
                        return found
            if rest and f"{rest}.{name}" in _MOVED:
                return import_module(f"{module.__name__}.{name}")
            raise AttributeError(f"{module.__name__}.{name}")

        module.__getattr__ = find  # type: ignore[method-assign]
        # `from keras.layers.core import *`
        module.__all__ = [  # type: ignore[attr-defined]
            name
            for place in _MOVED.get(rest, "").split()
            for name in dir(_attribute(self.keras, place))
            if not name.startswith("_")
        ]


def _attribute(keras: Any, path: str) -> Any:
    value = keras
    for part in path.split("."):
        value = getattr(value, part, None)
        if value is None:
            return None
    return value


@contextmanager
def legacy_keras(assumptions: list[str]) -> Iterator[None]:
    """Inside, old modules are found and old arguments are understood."""
    import keras

    used: set[str] = set()
    finder = _Finder(keras, used)
    with ExitStack() as stack:
        stack.enter_context(asked_last(finder))
        old_optimizers(keras, stack, used)
        old_layers(keras, used)
        own_variables(keras, stack, used)
        own_optimizers(keras, used)
        old_weights(keras, used)
        _old_models(keras, stack, used)
        _old_names(keras, stack)
        old_functions(keras, stack, used)
        old_helpers(keras, stack, used, assumptions)
        understand_old_operations(keras, used)
        if not hasattr(keras, "engine"):
            stack.enter_context(patch.object(keras, "engine", import_module("keras.engine"), create=True))
            used.discard("keras.engine")  # that was no wish of the script's
        if not hasattr(keras.backend, "name_scope"):
            stack.enter_context(patch.object(keras.backend, "name_scope", keras.name_scope, create=True))
        try:
            yield
        finally:  # the training call leaves by an exception
            if used:
                words = ", ".join(sorted(used)[:4])
                assumptions.append(f"names of an older Keras were translated ({words})")


def _said_to_take(self: Any, inputs: Any, *args: Any, **kwargs: Any) -> None:
    """`self._set_inputs(keras.Input(...))`, by which models of Keras 2 said what they take."""
    self(inputs)
    self._build_shapes_dict = {"input_shape": tuple(inputs.shape)}


def _old_models(keras: Any, stack: ExitStack, used: set[str]) -> None:
    """`Model(input=..., output=...)`, and arguments of `compile` that are gone."""
    # The class that has it: Keras compiles a model that it loads only if nobody overrides its own `compile`.
    owner = next(base for base in keras.Model.__mro__ if "compile" in vars(base))
    compile_ = owner.compile

    @functools.wraps(compile_)
    def compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        for gone in ("sample_weight_mode", "target_tensors", "options", "run_metadata",
        "experimental_run_tf_function",
                     "cloning", "distribute", "class_mode"):  # fmt: skip
            kwargs.pop(gone, None)
        for name in ("metrics", "weighted_metrics"):
            if isinstance(kwargs.get(name), str):
                kwargs[name] = [kwargs[name]]
        return compile_(self, *args, **kwargs)

    stack.enter_context(patch.object(owner, "compile", compile))
    new = keras.Model.__new__

    def make(cls: Any, *args: Any, **kwargs: Any) -> Any:
        for old, today in (("input", "inputs"), ("output", "outputs")):
            if old in kwargs and cls is keras.Model:
                kwargs[today] = kwargs.pop(old)
                used.add(f"Model({old}=)")
        return new(cls, *args, **kwargs)

    stack.enter_context(patch.object(keras.Model, "__new__", staticmethod(make)))

    _slashes(keras, stack)
    original = keras.Model.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        """A subclass handed something on that Keras 2 did not look at: `super().__init__(input_shape)`."""
        if kwargs.pop("dynamic", None) is not None:
            used.add("dynamic=")
        plain = all(isinstance(one, int | tuple | None) for one in args)
        original(self, *(() if plain and type(self) is not keras.Model else args), **kwargs)

    stack.enter_context(patch.object(keras.Model, "__init__", init))
    stack.enter_context(patch.object(keras.Model, "_set_inputs", _said_to_take, create=True))

    def add_loss(self: Any, *args: Any, **kwargs: Any) -> None:
        used.add("add_loss of a functional model, left out")

    functional = sys.modules.get("keras.src.models.functional")
    if functional is not None:
        stack.enter_context(patch.object(functional.Functional, "add_loss", add_loss))
        stack.enter_context(patch.object(functional.Functional, "__init__", _plural(functional.Functional)))
        stack.enter_context(patch.object(functional.Functional, "outputs", _other_outputs(functional, used)))
    # An embedding that was told its input's length builds a Sequential model, as it did.
    add = keras.Sequential.add

    @functools.wraps(add)
    def added(self: Any, layer: Any, *args: Any, **kwargs: Any) -> Any:
        length = getattr(layer, "_oomlint_length", None)
        whole = getattr(layer, "_oomlint_batch_shape", None)
        # A recurrent layer that keeps its state has to know the batch.
        begun = getattr(self, "_layers", self.layers)  # with its input layer, which `layers` leaves out
        if whole is not None and not begun:
            add(self, keras.Input(batch_shape=whole))
        elif length is not None and not begun:
            add(self, keras.Input((length,), dtype="int32"))
        return add(self, layer, *args, **kwargs)

    stack.enter_context(patch.object(keras.Sequential, "add", added))
    make = keras.Sequential.__init__

    def made(self: Any, layers: Any = None, *args: Any, **kwargs: Any) -> None:
        # Its second argument was the name: `Sequential(layers, "actor")`.
        if args and isinstance(args[0], str):
            kwargs["name"], args = args[0], args[1:]
        make(self, layers, *args, **kwargs)

    stack.enter_context(patch.object(keras.Sequential, "__init__", signed(made, make)))
    build = keras.Sequential.build

    @functools.wraps(build)
    def built(self: Any, input_shape: Any = None) -> Any:
        """`build((4, 784))`: an example's batch, which Keras 2 forgot again."""
        if isinstance(input_shape, tuple | list) and input_shape and isinstance(input_shape[0], int):
            fixed = getattr(self._layers[0], "batch_shape", None) if self._layers else None
            keeps = fixed == tuple(input_shape) or any(getattr(one, "stateful", False) for one in self.layers)
            if len(input_shape) > 1 and not keeps:
                input_shape = (None, *input_shape[1:])
        return build(self, input_shape)

    stack.enter_context(patch.object(keras.Sequential, "build", built))


def _other_outputs(functional: Any, used: set[str]) -> property:
    """`network.outputs = [network.layers[9].output]`: what a call of the network gives from then on, in Keras 2."""
    original = functional.Functional.outputs

    def change(self: Any, outputs: Any) -> None:
        used.add("Model.outputs =")
        weights, name = self.trainable, self.name
        whole = outputs[0] if isinstance(outputs, list | tuple) and len(outputs) == 1 else outputs
        functional.Functional.__init__(self, self.inputs, whole, name=name)
        self.trainable = weights

    return property(original.fget, change)


def _plural(functional: Any) -> Any:
    original = functional.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        for old, today in (("input", "inputs"), ("output", "outputs")):
            if old in kwargs:
                kwargs[today] = kwargs.pop(old)
        whole = kwargs.get("outputs", args[1] if len(args) > 1 else None)
        if OF_OLD_KERAS[0] and type(whole) is list and len(whole) == 1:  # a call of it gave no list
            kwargs["outputs"], args = whole[0], args[:1]
        original(self, *args, **kwargs)

    return signed(init, original)


def _slashes(keras: Any, stack: ExitStack) -> None:
    """`name="block1/conv"`, which Keras 3 takes for no layer and no variable."""
    operation = import_module("keras.src.ops.operation").Operation
    variable = next(base for base in keras.Variable.__mro__ if "__init__" in vars(base))
    for cls in (operation, variable):
        stack.enter_context(patch.object(cls, "__init__", _without_slashes(cls.__init__)))


def _without_slashes(original: Any) -> Any:
    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(kwargs.get("name"), str):
            kwargs["name"] = kwargs["name"].replace("/", "_")
        original(self, *args, **kwargs)

    return signed(init, original)


def _old_names(keras: Any, stack: ExitStack) -> None:
    """Attributes of `keras.layers` and the like that are gone."""
    modules = [keras.layers, *namesakes(keras, "layers")]
    for module in modules:
        for old, new in _RENAMED.items():
            if not hasattr(module, old) and hasattr(keras.layers, new):
                stack.enter_context(patch.object(module, old, getattr(keras.layers, new), create=True))
        for name in ("activations", "constraints", "initializers", "regularizers"):  # `from .core import *`
            if not hasattr(module, name):
                stack.enter_context(patch.object(module, name, getattr(keras, name), create=True))
        for name in (old.partition(".")[2] for old in _MOVED if old.startswith("layers.")):
            if "." not in name and not hasattr(module, name) and name not in ("experimental", "merge"):
                stack.enter_context(patch.object(module, name, keras.layers, create=True))
        if not hasattr(module, "experimental"):
            holder = ModuleType("experimental")
            holder.preprocessing = keras.layers  # type: ignore[attr-defined]
            holder.SyncBatchNormalization = keras.layers.BatchNormalization  # type: ignore[attr-defined]
            stack.enter_context(patch.object(module, "experimental", holder, create=True))
    for module in {
        keras.optimizers,
        getattr(sys.modules.get("tensorflow.keras"), "optimizers", keras.optimizers),
    }:
        for name in ("legacy", "experimental"):
            if not hasattr(module, name) or name == "legacy":
                stack.enter_context(patch.object(module, name, keras.optimizers, create=True))
        for name in _OPTIMIZERS:
            for version in ("_v2", "_v1"):  # `from keras.optimizers import adam_v2`
                if not hasattr(module, name + version):
                    stack.enter_context(patch.object(module, name + version, keras.optimizers, create=True))
    experimental(keras, stack)
    # `from tensorflow.keras.optimizers.legacy import Adam`: modules that only say that they are gone.
    for root in ("keras", "tensorflow.keras", "keras._tf_keras.keras"):
        try:
            gone = import_module(f"{root}.optimizers.legacy")
        except ImportError:
            continue
        for name in dir(gone):
            if name[0].isupper() and hasattr(keras.optimizers, name):
                stack.enter_context(patch.object(gone, name, getattr(keras.optimizers, name)))
    for module in [keras.models, *namesakes(keras, "models")]:
        for name in ("Input", "Layer"):
            if not hasattr(module, name):
                stack.enter_context(patch.object(module, name, getattr(keras, name), create=True))
