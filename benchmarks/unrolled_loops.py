"""What a round of a Python loop costs inside a tf.function: nodes of the graph, seconds of tracing, memory.

OOM409 calls a loop long from a number of rounds on (`LONG` in rules/training_loop/function_unrolled.py); this is
where it comes from. Run: `python benchmarks/unrolled_loops.py`.
"""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from tensorflow import keras


def resident() -> float:
    """Peak resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def dense() -> Callable[[tf.Tensor], tf.Tensor]:
    kernel = tf.Variable(tf.random.normal((64, 64)))
    return lambda x: tf.nn.tanh(x @ kernel)


def cell() -> Callable[[tf.Tensor], tf.Tensor]:
    layer = keras.layers.GRUCell(64)
    layer.build((32, 64))
    return lambda x: layer(x, [x])[0]


def update() -> Callable[[tf.Tensor], tf.Tensor]:
    model = keras.Sequential(
        [keras.Input((64,)), *(keras.layers.Dense(64, activation="relu") for _ in range(3))]
    )
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)

    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return x

    return step


def nodes(graph: tf.Graph) -> int:
    """Operations of a graph and of the functions in it."""
    definition = graph.as_graph_def()
    return len(definition.node) + sum(len(one.node_def) for one in definition.library.function)


def measure(name: str, make: Callable[[], Callable[[tf.Tensor], tf.Tensor]], differentiated: bool) -> None:
    for rounds in (1, 20, 100):
        body = make()

        def forward(
            x: tf.Tensor, rounds: int = rounds, body: Callable[[tf.Tensor], tf.Tensor] = body
        ) -> tf.Tensor:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in range(rounds):
                    y = body(y)
                loss = tf.reduce_sum(y)
            return tape.gradient(loss, x) if differentiated else y

        function = tf.function(forward)
        gc.collect()
        before, start = resident(), time.perf_counter()
        concrete = function.get_concrete_function(tf.TensorSpec((32, 64)))
        traced = time.perf_counter() - start
        concrete(tf.zeros((32, 64)))
        first = time.perf_counter() - start
        print(
            f"{name:9} rounds {rounds:4}  nodes {nodes(concrete.graph):7,}  traced in {traced:6.2f} s, "
            f"first call after {first:6.2f} s  +{resident() - before:5.0f} MB"
        )


if __name__ == "__main__":
    measure("dense", dense, True)
    measure("GRU cell", cell, True)
    measure("update", update, False)
