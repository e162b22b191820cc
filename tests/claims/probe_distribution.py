"""Run by test_distribution.py in a process of its own: two logical CPUs stand in for two GPUs.

Prints one JSON object, the outcome of each probe by name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest import mock

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration() for _ in range(2)]
)
STRATEGY = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
X = np.arange(8, dtype="float32").reshape(8, 1) / 8
Y = np.ones((8, 1), "float32")
RATE = 0.125


def arrays() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices((X, Y))


def linear() -> keras.Model:
    return keras.Sequential(
        [keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="ones", use_bias=False)]
    )


def outcome(probe: Callable[[], Any]) -> Any:
    try:
        return probe()
    except Exception as problem:
        return f"{type(problem).__name__}: {str(problem)[:120]}"


def batch_of_each_replica(dataset: Any) -> list[int]:
    sizes = STRATEGY.run(lambda x, y: tf.shape(x)[0], args=next(iter(dataset)))
    return [int(size) for size in STRATEGY.experimental_local_results(sizes)]


def update(loss_of: Callable[..., Any], distributed: bool = True) -> float:
    """How far one SGD step over all eight rows moves the kernel, in units of the right step."""
    with STRATEGY.scope():
        model = linear()
        optimizer = keras.optimizers.SGD(RATE)

    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            loss = loss_of(model, y, model(x, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        )

    data = arrays().batch(8)
    for x, y in STRATEGY.experimental_distribute_dataset(data) if distributed else data:
        STRATEGY.run(step, args=(x, y))
    return moved(model)


def moved(model: keras.Model) -> float:
    right = RATE * float(np.mean(2 * (X - Y) * X))
    return round((1.0 - float(model.get_weights()[0][0, 0])) / right, 3)


def squares(y: Any, prediction: Any) -> Any:
    return keras.losses.mse(y, prediction)


def fitted(loss: Any) -> float:
    with STRATEGY.scope():
        model = linear()
        model.compile(keras.optimizers.SGD(RATE), loss)
    model.fit(X, Y, batch_size=8, epochs=1, shuffle=False, verbose=0)
    return moved(model)


class OwnStep(keras.Model):
    """`train_step` with a mean of its own, times `factor()`."""

    def __init__(self, factor: Callable[[], float]) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1, kernel_initializer="ones", use_bias=False)
        self.factor = factor

    def call(self, x: Any) -> Any:
        return self.dense(x)

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - self(x, training=True))) * self.factor()
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


def own_step(factor: Callable[[], float]) -> float:
    with STRATEGY.scope():
        model = OwnStep(factor)
        model.compile(keras.optimizers.SGD(RATE))
    model.fit(X, Y, batch_size=8, epochs=1, shuffle=False, verbose=0)
    return moved(model)


def penalty(scale: Callable[[Any], Any]) -> float:
    """One step on a kernel of 1 whose only loss is an L2 penalty of 1."""
    with STRATEGY.scope():
        model = keras.Sequential(
            [
                keras.Input((1,)),
                keras.layers.Dense(
                    1,
                    kernel_initializer="ones",
                    use_bias=False,
                    kernel_regularizer=keras.regularizers.L2(1.0),
                ),
            ]
        )
        optimizer = keras.optimizers.SGD(RATE)

    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            model(x, training=True)
            loss = scale(sum(model.losses))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        )

    for x, y in STRATEGY.experimental_distribute_dataset(arrays().batch(8)):
        STRATEGY.run(step, args=(x, y))
    return round((1.0 - float(model.get_weights()[0][0, 0])) / (RATE * 2), 3)


def model_outside() -> str:
    model = linear()
    with STRATEGY.scope():
        model.compile("adam", "mse")
    model.fit(X, Y, verbose=0)
    return "trained"


def only_compiled_inside() -> int:
    """On how many replicas the loss is computed where model, optimizer and `fit` are outside the scope."""
    seen: list[int] = []

    def loss(y: Any, prediction: Any) -> Any:
        seen.append(tf.distribute.get_strategy().num_replicas_in_sync)
        return tf.reduce_mean((y - prediction) ** 2, axis=-1)

    model, optimizer = linear(), keras.optimizers.Adam()
    with STRATEGY.scope():
        model.compile(optimizer, loss)
    model.fit(X, Y, verbose=0)
    return max(seen)


def compiled_outside(optimizer: Any) -> str:
    with STRATEGY.scope():
        model = linear()
    model.compile(optimizer, "mse")
    model.fit(X, Y, verbose=0)
    return "trained"


def metric_outside() -> str:
    metric = keras.metrics.MeanAbsoluteError()
    with STRATEGY.scope():
        model = linear()
        model.compile("adam", "mse", metrics=[metric])
    model.fit(X, Y, verbose=0)
    return "trained"


def loop_without_run() -> str:
    with STRATEGY.scope():
        model = linear()
        optimizer = keras.optimizers.Adam()
        for x, y in arrays().batch(8):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(squares(y, model(x)))
            optimizer.apply_gradients(
                zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            )
    return "trained"


def distributed_in_function() -> list[int]:
    @tf.function
    def epoch(dataset: Any) -> Any:
        total = tf.constant([0, 0])
        for x, _ in STRATEGY.experimental_distribute_dataset(dataset):
            rows = STRATEGY.experimental_local_results(STRATEGY.run(lambda v: tf.shape(v)[0], args=(x,)))
            total += tf.stack(rows)
        return total

    rows: list[int] = epoch(arrays().batch(8)).numpy().tolist()
    return rows


def copies() -> list[int]:
    with STRATEGY.scope():
        models = [linear(), linear()]
    return [len(variable.value.values) for model in models for variable in model.trainable_variables]


def global_mean(model: Any, y: Any, prediction: Any) -> Any:
    return tf.nn.compute_average_loss(squares(y, prediction))


def replicas() -> int:
    return int(tf.distribute.get_strategy().num_replicas_in_sync)


def jit_asked_for() -> str:
    with STRATEGY.scope():
        model = linear()
        model.compile(optimizer="sgd", loss="mse", jit_compile=True)
    model.fit(arrays().batch(8), verbose=0)
    return "trained"


def jit_by_itself(scope: AbstractContextManager[Any]) -> bool:
    """Whether Keras takes XLA where there is a GPU; here a stand-in, as it asks for the list only."""
    gpu = SimpleNamespace(device_type="GPU")
    with scope, mock.patch.object(tf.config, "list_physical_devices", return_value=[gpu]):
        model = linear()
        model.compile(optimizer="sgd", loss="mse")
        return bool(model.jit_compile)


PROBES: dict[str, Callable[[], Any]] = {
    "batch, distributed dataset": lambda: batch_of_each_replica(
        STRATEGY.experimental_distribute_dataset(arrays().batch(8))
    ),
    "batch, from function": lambda: batch_of_each_replica(
        STRATEGY.distribute_datasets_from_function(lambda context: arrays().batch(8))
    ),
    "batch, from function, share": lambda: batch_of_each_replica(
        STRATEGY.distribute_datasets_from_function(
            lambda context: arrays().batch(context.get_per_replica_batch_size(8))
        )
    ),
    "batch, plain dataset": lambda: batch_of_each_replica(arrays().batch(8)),
    "loss, average": lambda: update(global_mean),
    "loss, mean": lambda: update(lambda m, y, p: tf.reduce_mean(squares(y, p))),
    "loss, mean over replicas": lambda: update(lambda m, y, p: tf.reduce_mean(squares(y, p)) / replicas()),
    "loss, object": lambda: update(lambda m, y, p: keras.losses.MeanSquaredError()(y, p)),
    "loss, object divided": lambda: update(
        lambda m, y, p: keras.losses.MeanSquaredError()(y, p) / replicas()
    ),
    "loss, object averaged": lambda: update(
        lambda m, y, p: tf.nn.compute_average_loss(keras.losses.MeanSquaredError()(y, p))
    ),
    "loss, plain dataset": lambda: update(lambda m, y, p: tf.reduce_mean(squares(y, p)) / replicas(), False),
    "fit, scalar loss": lambda: fitted(lambda y, p: tf.reduce_mean(tf.square(y - p))),
    "fit, scalar loss over replicas": lambda: fitted(
        lambda y, p: tf.reduce_mean(tf.square(y - p)) / replicas()
    ),
    "fit, per-sample loss": lambda: fitted(lambda y, p: tf.reduce_mean(tf.square(y - p), axis=-1)),
    "fit, own mean": lambda: own_step(lambda: 1.0),
    "fit, own mean over replicas": lambda: own_step(lambda: 1.0 / replicas()),
    "penalty, as it is": lambda: penalty(lambda value: value),
    "penalty, scaled": lambda: penalty(tf.nn.scale_regularization_loss),
    "scope, model outside": model_outside,
    "scope, only compiled inside": only_compiled_inside,
    "scope, adam outside": lambda: compiled_outside(keras.optimizers.Adam()),
    "scope, name outside": lambda: compiled_outside("adam"),
    "scope, sgd outside": lambda: compiled_outside(keras.optimizers.SGD(0.1)),
    "scope, momentum outside": lambda: compiled_outside(keras.optimizers.SGD(0.1, momentum=0.9)),
    "scope, metric outside": metric_outside,
    "loop without run": loop_without_run,
    "distributed in tf.function": distributed_in_function,
    "copies": copies,
    "jit, asked for": jit_asked_for,
    "jit, by itself": lambda: jit_by_itself(nullcontext()),
    "jit, by itself in the scope": lambda: jit_by_itself(STRATEGY.scope()),
}

if __name__ == "__main__":
    print(json.dumps({name: outcome(probe) for name, probe in PROBES.items()}))
