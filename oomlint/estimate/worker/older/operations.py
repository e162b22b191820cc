"""What Keras 2 did with operations and Keras 3 does not: functions of `keras.backend`, TensorFlow's operations on
symbolic tensors, and numbers or flags as positional arguments of layers.

The operations are the same ones, so the memory is; the answer says that they were translated.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from oomlint.estimate.worker.absent.stand_ins import Data, Missing
from oomlint.estimate.worker.keras.generation import tree
from oomlint.estimate.worker.older.convolutions import has_more_sizes, over_more_sizes
from oomlint.estimate.worker.older.names import namesakes, signed
from oomlint.estimate.worker.older.numpy_names import understand_old_numpy
from oomlint.estimate.worker.older.tensorflow_1 import understand_tensorflow_1

_said: list[set[str]] = [set()]  # what the answer says that was translated, of the build that goes on


def understand_old_operations(keras: Any, used: set[str]) -> None:
    """They work as they did, from now on: losses and layers call them when the step is traced, long after."""
    _said[0] = used
    if keras.backend.backend() == "tensorflow":
        applied = _layer_of_operations(keras)
        _backend_functions(keras, applied)
        _on_symbolic_tensors(keras, applied)
        understand_tensorflow_1(import_module("tensorflow"))
    understand_old_numpy()
    _positional_arguments(keras)
    _attributes(keras)
    _shapes_of_old_layers(keras)


class _Shape(tuple[Any, ...]):
    """A shape with the methods that TensorFlow's have."""

    @property
    def ndims(self) -> int:
        """How many sizes."""
        return len(self)

    def as_list(self) -> list[Any]:
        """As a list."""
        return list(self)


def _of_numbers(original: Any) -> Any:
    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        args = tuple((one,) if type(one) is int and place == 0 else one for place, one in enumerate(args))
        for name in ("shape", "input_shape"):
            if type(kwargs.get(name)) is int:
                kwargs[name] = (kwargs[name],)
        original(self, *args, **kwargs)

    return signed(init, original)


def _as_given(self: Any, *inputs: Any) -> Any:
    return inputs[0] if inputs else None


def _entry(self: Any, name: str) -> Any:
    if not name.startswith("__") and name in self:
        return self[name]
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _attributes(keras: Any) -> None:
    """What symbolic tensors and a layer's lists of layers were asked in Keras 2, from now on."""
    tensor = keras.KerasTensor
    if not hasattr(tensor, "get_shape"):
        tensor.get_shape = lambda self: _Shape(self.shape)
        tensor._keras_shape = property(lambda self: tuple(self.shape))
        tensor.__getitem__ = _of_slices(tensor.__getitem__)
        tensor.__iter__ = _one_by_one(tensor.__iter__)
    entrance = keras.layers.InputLayer
    if "oomlint_given" not in vars(entrance):  # `InputLayer(77)`
        entrance.__init__, entrance.oomlint_given = _of_numbers(entrance.__init__), True
    entrance.call = _as_given  # `self.entrance(x)`, in the `call` of a model: it gives back what it is given
    dictionary = import_module("keras.src.utils.tracking").TrackedDict
    if "__getattr__" not in vars(dictionary):  # `self.settings.width`: Keras 2 kept the class of a dictionary
        dictionary.__getattr__ = _entry
    if "input" not in vars(entrance):  # `base.layers[0].input`: Keras 3 finds nothing before it
        entrance.input = property(lambda self: self.output)
    for name in ("input", "output"):
        if not hasattr(keras.Layer, f"{name}_shape"):  # `model.layers[-2].output_shape`
            setattr(keras.Layer, f"{name}_shape", _Shapes(name))
    for name in ("input", "output"):  # of a Sequential that is built and was never called
        if not isinstance(vars(keras.Sequential).get(name), _Ends):
            setattr(keras.Sequential, name, _Ends(name, getattr(keras.Sequential, name)))
    # A head shared by levels of a pyramid: Keras 3 holds a Sequential to the sides that it was first called on.
    functional = import_module("keras.src.models.functional").Functional
    if isinstance(functional.input_spec, property):
        functional.input_spec = property(lambda self: None, functional.input_spec.fset)
    tracking = import_module("keras.src.utils.tracking")
    kind = getattr(tracking, "TrackedList", None)
    if kind is not None and not hasattr(kind, "layers"):
        kind.layers = property(lambda self: [one for one in self if isinstance(one, keras.Layer)])


class _Shapes:
    """The shape of what a layer takes or gives; of several a list of them, as Keras 2 had it.

    A layer of the user's own may have an attribute of that name.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, layer: Any, owner: type | None = None) -> Any:
        if layer is None:
            return self
        try:
            tensors = tree().flatten(getattr(layer, self.name))
        except ValueError as error:  # it was not called yet, or more than once
            raise AttributeError(*error.args) from error
        shapes = [tuple(one.shape) for one in tensors]
        return shapes[0] if len(shapes) == 1 else shapes


class _Ends:
    """What a Sequential takes or gives, which Keras 2 said of it as of any other model."""

    def __init__(self, name: str, original: Any) -> None:
        self.name = name
        self.original = original

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        inner = getattr(model, "_functional", None)
        if inner is None:
            return self.original.__get__(model, owner)
        tensors = list(getattr(inner, f"{self.name}s"))
        return tensors[0] if len(tensors) == 1 else tensors


def _of_slices(original: Callable[..., Any]) -> Callable[..., Any]:
    """`tf.shape(x)[1:3]`: Keras 3 takes a slice only beside others."""

    @functools.wraps(original)
    def item(self: Any, key: Any) -> Any:
        return original(self, (key,) if isinstance(key, slice) else key)

    return item


def _one_by_one(original: Callable[..., Any]) -> Callable[..., Any]:
    """`batch, height, width, _ = tf.shape(x)`: Keras 2 went through a tensor whose length is known."""

    @functools.wraps(original)
    def rows(self: Any) -> Any:
        if not self.shape or self.shape[0] is None:
            return original(self)
        return (self[index] for index in range(self.shape[0]))

    return rows


def _shapes_of_old_layers(keras: Any) -> None:
    """A layer's own `compute_output_shape` that is wrong: Keras 2 traced `call` and did not ask it."""
    original = keras.Layer.compute_output_spec
    if hasattr(original, "oomlint_traced"):
        return
    traced = import_module("keras.src.ops.operation").Operation.compute_output_spec

    @functools.wraps(original)
    def spec(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except (TypeError, ValueError, IndexError):
            if type(self).compute_output_shape is keras.Layer.compute_output_shape:
                raise
            return traced(self, *args, **kwargs)

    spec.oomlint_traced = True  # type: ignore[attr-defined]
    keras.Layer.compute_output_spec = spec


def _layer_of_operations(keras: Any) -> Callable[..., Any]:
    """A function that makes a layer of an operation on symbolic tensors, and calls it."""

    class Applied(keras.layers.Layer):  # type: ignore[misc]
        def __init__(self, operation: Any, args: Any, kwargs: Any) -> None:
            super().__init__()
            self.operation = operation
            self.given = tree().flatten((args, kwargs))
            self.structure = (args, kwargs)
            # Keras would make lists of its own of what a layer keeps, which are no nests.
            self.config: Callable[[], dict[str, Any]] = lambda: {
                "operation": operation,
                "args": args,
                "kwargs": kwargs,
            }

        def get_config(self) -> dict[str, Any]:
            """What `clone_model` makes another one of."""
            return self.config()

        @classmethod
        def from_config(cls, config: dict[str, Any]) -> Any:
            return cls(**config)

        def __call__(self, tensors: Any, **how: Any) -> Any:
            # Keras 3 takes a product with a number for sparse (`Multiply.compute_output_spec`).
            for one in tensors:
                made_by = getattr(getattr(one, "_keras_history", None), "operation", None)
                if getattr(one, "sparse", False) and not isinstance(made_by, keras.layers.InputLayer):
                    one._sparse = False
            return super().__call__(tensors, **how)

        def call(self, tensors: Any) -> Any:
            left = iter(tensors)
            whole = [next(left) if isinstance(one, keras.KerasTensor) else one for one in self.given]
            args, kwargs = tree().pack_sequence_as(self.structure, whole)
            return self.operation(*args, **kwargs)

    def applied(operation: Any, args: Any, kwargs: Any) -> Any:
        leaves = tree().flatten((args, kwargs))
        symbolic = [one for one in leaves if isinstance(one, keras.KerasTensor)]
        if not symbolic and any(isinstance(one, Data) for one in leaves):
            return _on_data(operation, args, kwargs)
        return Applied(operation, args, kwargs)(symbolic) if symbolic else NotImplemented

    return applied


def _on_data(operation: Any, args: Any, kwargs: Any) -> Any:
    """What an operation makes of data of which the shape is known: the shape of the result."""
    import tensorflow as tf

    structure = (args, kwargs)
    given = tree().flatten(structure)
    specs = [tf.TensorSpec(one.sizes, one.dtype) for one in given if isinstance(one, Data)]

    def on_tensors(*tensors: Any) -> Any:
        left = iter(tensors)
        whole = [next(left) if isinstance(one, Data) else one for one in given]
        packed = tree().pack_sequence_as(structure, whole)
        return operation(*packed[0], **packed[1])

    try:
        outputs = tf.function(on_tensors, autograph=False).get_concrete_function(*specs).structured_outputs
    except (TypeError, ValueError, tf.errors.OpError):
        return NotImplemented
    return tree().map_structure(
        lambda one: Data(tuple(one.shape), one.dtype.name) if one.shape.rank is not None else Missing("data"),
        outputs,
    )


def _backend_functions(keras: Any, applied: Callable[..., Any]) -> None:
    """Keras 3 still has most of them, under `keras._legacy.backend`, and for what is no symbolic tensor."""
    from keras.src.legacy import backend as legacy

    functions = {
        name: function
        for name, function in vars(legacy).items()
        if inspect.isfunction(function) and function.__module__ == legacy.__name__
    }
    for namespace in (keras.backend, *namesakes(keras, "backend")):
        namespace.tensorflow_backend = namespace
        namespace.tf = import_module("tensorflow")  # `from keras.backend import tf`
        for name, function in (functions | _FIXED).items():
            if getattr(namespace, name, function) is function:
                new = _noted(function, f"keras.backend.{name}", None if name in _OF_SHAPES else applied)
                setattr(namespace, name, new)


# They ask of a symbolic tensor what it knows.
_OF_SHAPES = frozenset(
    "int_shape ndim dtype is_sparse count_params name_scope in_train_phase function".split()
)


def _noted(function: Callable[..., Any], name: str, applied: Callable[..., Any] | None) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        _said[0].add(name)
        if "std" in kwargs:  # Keras 1's `random_normal`
            kwargs["stddev"] = kwargs.pop("std")
        found = applied(function, args, kwargs) if applied is not None else NotImplemented
        return function(*args, **kwargs) if found is NotImplemented else found

    return called


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Settings of a session or an image format that hold anyway."""


def _unknown(*args: Any, **kwargs: Any) -> Missing:
    return Missing("a TensorFlow session")


def _in_training(x: Any, alt: Any = None, training: Any = None) -> Any:
    del alt, training
    return x() if callable(x) else x


_ORDERINGS = {"channels_first": "th", "channels_last": "tf"}


def _order(ordering: str) -> None:
    keras = import_module("keras")
    keras.backend.set_image_data_format(next(one for one, old in _ORDERINGS.items() if old == ordering))


_FIXED: dict[str, Callable[..., Any]] = {
    "image_dim_ordering": lambda: _ORDERINGS[import_module("keras").backend.image_data_format()],
    "set_image_dim_ordering": _order,
    "learning_phase": lambda: True,
    "set_learning_phase": _nothing,
    "manual_variable_initialization": _nothing,
    "get_session": _unknown,
    "set_session": _nothing,
    "function": _unknown,
    "in_train_phase": _in_training,
    "_get_available_gpus": lambda: ["/device:GPU:0"],
    "print_tensor": lambda x, message="", summarize=3: x,
    "ndim": lambda x: len(x.shape),
    "int_shape": lambda x: tuple(x.shape),
}


def _positional_arguments(keras: Any) -> None:
    """`self.bn(x, training)`: Keras 3 takes only tensors by position, and `training` must have a default."""
    original = keras.Layer.__call__
    if hasattr(original, "oomlint_positional"):
        return

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is list and type(self).__module__.startswith("keras.src.layers."):
            args = (_out_of_lists(args[0], type(self).__name__), *args[1:])
        if args and has_more_sizes(self, args[0]):
            return over_more_sizes(lambda given: original(self, given, *args[1:], **kwargs), self, args[0])
        if any(isinstance(one, bool | int | float | str) for one in args[1:]):
            names = list(inspect.signature(self.call).parameters)
            named = dict(zip(names[1:], args[1:], strict=False))
            if len(named) == len(args) - 1 and not named.keys() & kwargs.keys():
                return original(self, args[0], **named, **kwargs)
        if "training" not in kwargs and len(args) < 2 and _wants_training(self.__class__):
            kwargs["training"] = None  # as the model says that calls it
        return original(self, *args, **kwargs)

    call.oomlint_positional = True  # type: ignore[attr-defined]
    keras.Layer.__call__ = call
    keras.Layer.autograph_info__ = {}  # AutoGraph leaves layers alone, as it does those with Keras' own `__call__`


_TAKE_LISTS = ("Lambda", "Add", "Concatenate", "Average", "Maximum", "Minimum", "Multiply", "RNN", "Identity")


def _out_of_lists(given: list[Any], layer: str) -> Any:
    """What models made with `outputs=[x]` give, no list in Keras 2: no layer of Keras takes one inside another."""
    given = [one[0] if type(one) is list and len(one) == 1 else one for one in given]
    alone = len(given) == 1 and layer not in _TAKE_LISTS and hasattr(given[0], "shape")
    return given[0] if alone else given


@functools.cache
def _wants_training(layer: type) -> bool:
    """`def call(self, x, training)`: Keras 2 filled it in, Keras 3 asks for it."""
    parameter = inspect.signature(layer.call).parameters.get("training")  # type: ignore[attr-defined]
    return parameter is not None and parameter.default is parameter.empty


_registered: list[Any] = []


def _on_symbolic_tensors(keras: Any, applied: Callable[..., Any]) -> None:
    """`tf.reshape(x, ...)` of a `keras.Input` became a layer of its own in Keras 2; Keras 3 refuses it.

    TensorFlow offers an operation that fails to its dispatchers.
    """
    import tensorflow

    internal = getattr(getattr(tensorflow, "__internal__", None), "dispatch", None)
    if _registered or internal is None or not hasattr(internal, "GlobalOpDispatcher"):
        return

    class Dispatcher(internal.GlobalOpDispatcher):  # type: ignore[misc, name-defined]
        def handle(self, op: Any, args: Any, kwargs: Any) -> Any:
            found = applied(op, args, kwargs)
            return self.NOT_SUPPORTED if found is NotImplemented else found

    dispatcher = Dispatcher()
    dispatcher.register()
    _registered.append(dispatcher)
