"""Arguments that layers had in Keras 1 and 2."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from oomlint.estimate.worker.older.names import signed

_said: list[set[str]] = [set()]  # what the answer says that was translated, of the build that goes on

OF_OLD_KERAS = [False]  # the script imports `keras`, and it is not Keras 3's

_LAYER_ARGUMENTS = {
    "output_dim": "units", "nb_filter": "filters", "border_mode": "padding", "subsample": "strides",
    "init": "kernel_initializer",
    "W_regularizer": "kernel_regularizer", "b_regularizer": "bias_regularizer",
    "W_constraint": "kernel_constraint", "U_regularizer": "recurrent_regularizer",
    "U_constraint": "recurrent_constraint", "b_constraint": "bias_constraint",
    "bias": "use_bias", "p": "rate", "filter_length": "kernel_size", "subsample_length": "strides",
    "pool_length": "pool_size",
    "stride": "strides", "dropout_W": "dropout", "dropout_U": "recurrent_dropout",
    "inner_init": "recurrent_initializer",
    "inner_activation": "recurrent_activation", "beta_init": "beta_initializer", "gamma_init": "gamma_initializer",
    "sigma": "stddev", "atrous_rate": "dilation_rate",
}  # fmt: skip


def old_layers(keras: Any, used: set[str]) -> None:
    """Arguments that layers had in Keras 1 and 2, and that stay without effect on memory or are spelled otherwise.

    They are understood from now on: a layer or model may make others when it is called, in the traced step.
    """
    _said[0] = used
    for name in ("Dense", "Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "LSTM", "GRU", "SimpleRNN",
    "Embedding", "Dropout",
                 "MaxPooling1D", "MaxPooling2D", "AveragePooling1D", "AveragePooling2D", "BatchNormalization",
                 "Flatten",
                 "Activation",
                 "SeparableConv2D", "Reshape", "LeakyReLU", "ZeroPadding2D", "UpSampling2D", "TimeDistributed",
                 "Permute", "Masking", "Bidirectional", "ConvLSTM2D", "GaussianNoise",
                 "SpatialDropout1D", "MaxPooling3D", "AveragePooling3D", "DepthwiseConv2D"):  # fmt: skip
        cls = getattr(keras.layers, name, None)
        if cls is None or hasattr(cls.__init__, "oomlint_translated"):
            continue
        accepted = set(inspect.signature(cls.__init__).parameters)
        cls.__init__ = _translated_layer(name, cls.__init__, accepted)
        if name in _MODES:
            cls.call = _of_mode(cls.call)


# Layers that do one thing in training and another else.
_MODES = ("BatchNormalization", "Dropout", "SpatialDropout1D", "GaussianNoise")


def _of_mode(original: Any) -> Any:
    """`call` that a tensor tells whether it trains, which Keras 2 took: `tf.logical_and(training, self.trainable)`.

    In a training step that says yes where all that is known of it may.
    """

    @functools.wraps(original)
    def call(self: Any, inputs: Any, training: Any = None, **kwargs: Any) -> Any:
        if not isinstance(training, bool | int | None):
            training = _may_be_true(training)
        return original(self, inputs, **({} if training is None else {"training": training}), **kwargs)

    return signed(call, original)


def _may_be_true(value: Any) -> bool:
    operation = getattr(value, "op", None) if type(value).__name__ == "SymbolicTensor" else None
    match getattr(operation, "type", ""):
        case "LogicalAnd":
            return all(map(_may_be_true, operation.inputs))  # type: ignore[union-attr]
        case "LogicalOr":
            return any(map(_may_be_true, operation.inputs))  # type: ignore[union-attr]
        case "Const":
            import tensorflow as tf

            return bool(tf.get_static_value(value))
    try:
        return operation is not None or bool(value)
    except (TypeError, ValueError):  # a symbolic tensor of Keras'
        return True


def _translated_layer(name: str, original: Any, accepted: set[str]) -> Any:
    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        args = tuple(_plain(one) for one in args)
        kwargs = {key: _plain(value) for key, value in kwargs.items()}
        size = {"Conv2D": 3, "Conv3D": 4}.get(name, 0)
        if size and len(args) >= size and all(isinstance(one, int) for one in args[1:size]):
            # Conv2D(filters, rows, columns): `keras` took that up to Keras 2, `tf.keras` never did.
            if OF_OLD_KERAS[0] or kwargs.keys() & {
                "border_mode",
                "subsample",
                "bias",
                "init",
                "dim_ordering",
            }:
                args = (args[0], args[1:size], *args[size:])
                _said[0].add(f"{name}(filters, rows, columns)")
        if name == "Conv2D" and "nb_row" in kwargs:
            kwargs["kernel_size"] = (kwargs.pop("nb_row"), kwargs.pop("nb_col"))
        if name.startswith("AveragePooling") and not args and "pool_size" not in kwargs:
            kwargs["pool_size"] = 2  # the default of Keras 2
        for count in ("units", "filters", "input_dim", "output_dim"):
            if isinstance(kwargs.get(count), float) and kwargs[count].is_integer():
                kwargs[count] = int(kwargs[count])
        if args and isinstance(args[0], float) and args[0].is_integer() and name != "Dropout":
            args = (int(args[0]), *args[1:])
        for old, new in _LAYER_ARGUMENTS.items():
            if old in kwargs and old not in accepted and (new in accepted or "args" in accepted):
                kwargs[new] = kwargs.pop(old)
                _said[0].add(f"{old}=")
        if name == "GaussianNoise":  # Keras 3 takes no more than 1; how strong it is takes no memory
            args = tuple(min(one, 1.0) if isinstance(one, int | float) else one for one in args)
            if isinstance(strength := kwargs.get("stddev"), int | float):
                kwargs["stddev"] = min(strength, 1.0)
        if name == "LeakyReLU" and "alpha" in kwargs:
            kwargs["negative_slope"] = kwargs.pop("alpha")
        if name == "Embedding":
            length = kwargs.pop("input_length", None)
            if isinstance(length, int) and "input_shape" not in kwargs and "shape" not in kwargs:
                self._oomlint_length = length
            kwargs.pop("dropout", None)
        if name in ("LSTM", "GRU", "SimpleRNN"):
            for gone in (
                "implementation",
                "input_length",
                "consume_less",
                "time_major",
                "reset_after",
                "forget_bias_init",
            ):
                if gone not in accepted:
                    kwargs.pop(gone, None)
        for gone in ("weights", "dim_ordering", "input_dtype", "mode", "batch_input_shape", "input_dim",
        "batch_size",
                     "fused", "renorm", "virtual_batch_size", "activity_l2", "data_format",
                     "kernel_regularizer", "kernel_initializer", "kernel_constraint"):  # fmt: skip
            if gone not in kwargs or gone in accepted:
                continue
            value = kwargs.pop(gone)
            if gone == "batch_input_shape" and value is not None:
                kwargs["input_shape"] = tuple(value)[1:]
                if isinstance(value[0], int):
                    self._oomlint_batch_shape = tuple(value)
            elif gone == "input_dim" and isinstance(value, int):
                recurrent = name in ("LSTM", "GRU", "SimpleRNN", "Conv1D")
                kwargs["input_shape"] = (None, value) if recurrent else (value,)
        original(self, *args, **kwargs)

    init.oomlint_translated = True  # type: ignore[attr-defined]
    return signed(init, original)


def _plain(value: Any) -> Any:
    """A number of NumPy or TensorFlow as Python's: Keras 3 takes no other as a count; and "SAME" in small letters."""
    if isinstance(value, str) and value in ("SAME", "VALID", "CAUSAL"):
        return value.lower()
    kind = type(value)
    if kind.__name__ == "EagerTensor" and value.shape == ():  # `K.prod(shape)`: Keras 2 took it for a count
        return value.numpy().item()
    return value.item() if kind.__module__ == "numpy" and getattr(value, "ndim", 1) == 0 else value
