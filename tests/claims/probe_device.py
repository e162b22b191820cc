"""Run by test_device.py in a process of its own: each probe in a fork of a TensorFlow that has done nothing yet.

Two stand-in GPUs are put into TensorFlow's own context, whose Python checks are what the claims are about.
Prints one JSON object, the outcome of each probe by name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
import tf_keras
from tensorflow import keras
from tensorflow.python.eager import context

GPUS = [context.PhysicalDevice(f"/physical_device:GPU:{index}", "GPU") for index in range(2)]


def initialised() -> bool:
    return context.context()._context_handle is not None


def pretend_gpus() -> None:
    state = context.context()
    state._initialize_physical_devices()
    state._physical_devices += GPUS
    state._visible_device_list += GPUS
    for gpu in GPUS:
        state._memory_growth_map[gpu] = None


def grow(*chosen: Any) -> None:
    for gpu in chosen:
        tf.config.experimental.set_memory_growth(gpu, True)


def after(
    initialise: Callable[[], Any], configure: Callable[[], Any], before: Callable[[], Any] = bool
) -> str:
    """The outcome of configuring after something ran (after something else was configured)."""
    pretend_gpus()
    before()
    initialise()
    configure()
    return "accepted"


def first_operation(configure: Callable[[], Any]) -> str:
    """What computing the options of the devices says, the first thing that the first operation does."""
    pretend_gpus()
    configure()
    options = context.context().config.gpu_options
    return f"allow_growth={options.allow_growth}"


def functional() -> Any:
    inputs = keras.Input((3,))
    return keras.Model(inputs, keras.layers.Dense(1)(inputs))


def in_a_graph() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(tf.constant(1) + tf.constant(2))


MAKES_DEVICES: dict[str, Callable[[], Any]] = {
    "optimizer": keras.optimizers.Adam,
    "metric": keras.metrics.Mean,
    "Dropout": lambda: keras.layers.Dropout(0.5),
    "RandomFlip": keras.layers.RandomFlip,
    "GaussianNoise": lambda: keras.layers.GaussianNoise(0.1),
    "LSTM": lambda: keras.layers.LSTM(3),
    "SeedGenerator": lambda: keras.random.SeedGenerator(1),
    "any random layer": lambda: keras.layers.RandomErasing(0.5),
    "mixing layer": keras.layers.MixUp,
    "cell": lambda: keras.layers.GRUCell(3),
    "layer with weights, on an input": lambda: keras.layers.Dense(1)(keras.Input((3,))),
    "TextVectorization": lambda: keras.layers.TextVectorization(10),
    "StringLookup": keras.layers.StringLookup,
    "built Sequential": lambda: keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)]),
    "functional model": functional,
    "compile with a name": lambda: keras.Sequential([keras.layers.Dense(1)]).compile("adam", "mse"),
    "constant": lambda: tf.constant(1.0),
    "variable": lambda: tf.Variable(1.0),
    "random numbers": lambda: tf.random.uniform((2,)),
    "keras.ops": lambda: keras.ops.zeros((1,)),
    "loss of numbers": lambda: keras.losses.mse([1.0], [2.0]),
    "optimizer by name": lambda: keras.optimizers.get("adam"),
    "backend variable": lambda: keras.backend.variable(1.0),
    "initializer called": lambda: keras.initializers.GlorotUniform()((2, 2)),
    "generator of random numbers": lambda: tf.random.Generator.from_seed(1),
    "shape": lambda: tf.shape([1]),
    "nn": lambda: tf.nn.softmax([1.0]),
    "strings": lambda: tf.strings.join(["a", "b"]),
    "sparse tensor": lambda: tf.sparse.SparseTensor([[0]], [1], [1]),
    "print": lambda: tf.print("", end=""),
    "io operation": lambda: tf.io.serialize_tensor([1]),
    "function called": lambda: tf.function(lambda: 1)(),
    "dataset": lambda: tf.data.Dataset.range(3),
    "device entered": lambda: tf.device("/CPU:0").__enter__(),
    "MirroredStrategy": lambda: tf.distribute.MirroredStrategy(["cpu:0"]),
    "OneDeviceStrategy": lambda: tf.distribute.OneDeviceStrategy("cpu:0"),
    "logical devices listed": tf.config.list_logical_devices,
    "keras 2 Sequential": tf_keras.Sequential,
    "keras 2 subclassed model": type("Own", (tf_keras.Model,), {}),
    "keras 2 LSTM": lambda: tf_keras.layers.LSTM(3),
    "keras 2 layer on an input": lambda: tf_keras.layers.Dense(1)(tf_keras.Input((3,))),
}
MAKES_NONE: dict[str, Callable[[], Any]] = {
    "physical devices listed": tf.config.list_physical_devices,
    "visible devices asked": tf.config.get_visible_devices,
    "seeds": lambda: (tf.random.set_seed(1), keras.utils.set_random_seed(1)),
    "policy": lambda: keras.mixed_precision.set_global_policy("mixed_float16"),
    "input": lambda: keras.Input((3,)),
    "unbuilt Sequential": lambda: keras.Sequential([keras.layers.Dense(1)]),
    "empty Sequential": keras.Sequential,
    "layers": lambda: (
        keras.layers.Dense(1),
        keras.layers.Conv2D(1, 3),
        keras.layers.BatchNormalization(),
        keras.layers.Embedding(3, 3),
        keras.layers.Rescaling(2.0),
        keras.layers.Normalization(),
    ),
    "weightless layer on an input": lambda: keras.layers.Flatten()(
        keras.layers.Rescaling(2.0)(keras.Input((3,)))
    ),
    "attention and discretisation": lambda: (
        keras.layers.MultiHeadAttention(2, 2),
        keras.layers.Hashing(3),
        keras.layers.CategoryEncoding(3),
        keras.layers.Discretization([0.0]),
    ),
    "subclassed model": type("Own", (keras.Model,), {}),
    "initializer and regularizer": lambda: (
        keras.initializers.RandomNormal(seed=1),
        keras.regularizers.L2(0.1),
    ),
    "files": lambda: (tf.io.gfile.exists("nowhere"), tf.io.FixedLenFeature([], tf.string)),
    "example": tf.train.Example,
    "checkpoint": tf.train.Checkpoint,
    "specs": lambda: (tf.TensorShape([1]), tf.TensorSpec([1])),
    "data options": tf.data.Options,
    "threads and placement": lambda: (
        tf.config.threading.set_inter_op_parallelism_threads(2),
        tf.config.set_soft_device_placement(True),
        tf.config.run_functions_eagerly(True),
    ),
    "graph of one's own": in_a_graph,
    "loss": keras.losses.MeanSquaredError,
    "schedule": lambda: keras.optimizers.schedules.CosineDecay(0.1, 3),
    "callback": lambda: keras.callbacks.EarlyStopping(),
    "session cleared": keras.backend.clear_session,
    "jit": lambda: tf.config.optimizer.set_jit(True),
    "function defined": lambda: tf.function(lambda x: x + 1),
    "tape": tf.GradientTape,
    "labels": lambda: keras.utils.to_categorical([0, 1]),
    "default strategy": tf.distribute.get_strategy,
    "is_gpu_available": tf.test.is_gpu_available,
    "gpu_device_name": tf.test.gpu_device_name,
    "TF1 session": tf.compat.v1.Session,
    "keras 2 Dropout and RandomFlip": lambda: (tf_keras.layers.Dropout(0.5), tf_keras.layers.RandomFlip()),
    "keras 2 loss and input": lambda: (tf_keras.losses.MeanSquaredError(), tf_keras.Input((3,))),
    "keras 2 legacy optimizer": tf_keras.optimizers.legacy.Adam,
}


def whether(make: Callable[[], Any]) -> Callable[[], bool]:
    def probe() -> bool:
        make()
        return initialised()

    return probe


def limit() -> None:
    tf.config.set_logical_device_configuration(
        GPUS[0], [tf.config.LogicalDeviceConfiguration(memory_limit=1024)]
    )


def split_the_cpu() -> None:
    part = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [part, part])


def without_limit() -> None:
    tf.config.set_logical_device_configuration(GPUS[0], [tf.config.LogicalDeviceConfiguration()])


CONFIGURING: dict[str, Callable[[], Any]] = {
    "growth after": lambda: after(keras.optimizers.Adam, lambda: grow(*GPUS)),
    "limit after": lambda: after(keras.optimizers.Adam, limit),
    "visible after": lambda: after(
        keras.optimizers.Adam, lambda: tf.config.set_visible_devices(GPUS[0], "GPU")
    ),
    "growth twice": lambda: after(keras.optimizers.Adam, lambda: grow(*GPUS), before=lambda: grow(*GPUS)),
    "growth on all": lambda: first_operation(lambda: grow(*GPUS)),
    "growth on one": lambda: first_operation(lambda: grow(GPUS[0])),
    "growth on the visible one": lambda: first_operation(
        lambda: (tf.config.set_visible_devices(GPUS[0], "GPU"), grow(GPUS[0]))
    ),
    "a limit, then growth": lambda: first_operation(lambda: (limit(), grow(GPUS[0]))),
    "a limit, then growth refused": lambda: first_operation(
        lambda: (limit(), tf.config.experimental.set_memory_growth(GPUS[0], False))
    ),
    "growth, then a limit": lambda: first_operation(lambda: (grow(*GPUS), limit())),
    "a limit, then growth elsewhere": lambda: first_operation(lambda: (limit(), grow(GPUS[1]))),
    "growth and a split CPU": lambda: first_operation(lambda: (grow(*GPUS), split_the_cpu())),
    "no limit": lambda: first_operation(without_limit),
    "growth and a limit": lambda: first_operation(lambda: (grow(GPUS[1]), limit())),
}


def in_child(probe: Callable[[], Any]) -> Any:
    """The probe's outcome from a fork of this process, so that probes do not see each other."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            outcome = probe()
        except Exception as problem:
            outcome = f"{type(problem).__name__}: {str(problem)[:100]}"
        os.write(writing, json.dumps(outcome).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text)


if __name__ == "__main__":
    print(
        json.dumps(
            {
                "at import": initialised(),
                "makes": {name: in_child(whether(make)) for name, make in MAKES_DEVICES.items()},
                "makes none": {name: in_child(whether(make)) for name, make in MAKES_NONE.items()},
                "set_session": {
                    "keras 3": hasattr(keras.backend, "set_session"),
                    "compat.v1": hasattr(tf.compat.v1.keras.backend, "set_session"),
                    "keras 2": hasattr(tf_keras.backend, "set_session"),
                },
                "configuring": {name: in_child(probe) for name, probe in CONFIGURING.items()},
            }
        )
    )
