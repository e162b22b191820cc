"""What the rules on graph functions and TF1 graphs claim, run: how often is traced, what is unrolled, what grows."""

from __future__ import annotations

import functools
import gc
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow import keras

CALLS = 8


class Thing:
    def method(self) -> int:
        return 1


Pair = namedtuple("Pair", "left right")
THING = Thing()
VARIABLES = [tf.Variable(1.0) for _ in range(CALLS)]


def traces(argument: Callable[[int], Any], **options: Any) -> int:
    function = tf.function(lambda value: tf.constant(1), **options)
    for call in range(CALLS):
        function(argument(call))
    return int(function.experimental_get_tracing_count())


def growing(item: Callable[[int], Any]) -> Callable[[int], list[Any]]:
    kept: list[Any] = []

    def argument(call: int) -> list[Any]:
        kept.append(item(call))
        return kept

    return argument


@pytest.mark.parametrize(
    "argument",
    [
        lambda call: call,
        lambda call: 0.5 * call,
        lambda call: f"step {call}",
        lambda call: float(tf.constant(call, tf.float32)),
        lambda call: np.arange(CALLS)[call].item(),
        lambda call: lambda: 1,
        lambda call: functools.partial(int, 1),
        lambda call: THING.method,
        lambda call: Thing(),
        lambda call: (tf.constant(1), call),
        lambda call: {"step": call},
        lambda call: Pair(tf.constant(1), call),
        growing(float),
        growing(tf.constant),
        lambda call: tf.zeros(call + 1),
    ],
)
def test_traced_again_for_each(argument: Callable[[int], Any]) -> None:
    assert traces(argument) == CALLS


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        (lambda call: call % 2 == 0, 2),
        (lambda call: None, 1),
        (lambda call: np.int64(call), 1),
        (lambda call: np.float32(call), 1),
        (lambda call: np.arange(CALLS)[call], 1),
        (lambda call: tf.constant(call).numpy(), 1),
        (lambda call: np.zeros(3) + call, 1),
        (lambda call: tf.constant(call), 1),
        (lambda call: VARIABLES[call], 1),
        (lambda call: THING, 1),
        (lambda call: tf.data.Dataset.range(call + 1), 1),
        (lambda call: Pair(tf.constant(call), tf.constant(1)), 1),
    ],
)
def test_traced_once_or_for_each_of_few(argument: Callable[[int], Any], expected: int) -> None:
    assert traces(argument) == expected


def test_signature_makes_tensors_of_numbers_and_relaxing_only_helps_shapes() -> None:
    assert traces(lambda call: call, input_signature=[tf.TensorSpec([], tf.int32)]) == 1
    assert traces(lambda call: tf.zeros(call + 1), reduce_retracing=True) == 2
    assert traces(lambda call: call, reduce_retracing=True) == CALLS


def nodes(function: Any, *arguments: Any) -> int:
    definition = function.get_concrete_function(*arguments).graph.as_graph_def()
    return len(definition.node) + sum(len(one.node_def) for one in definition.library.function)


def unrolls(loop: Callable[[int, tf.Tensor], tf.Tensor]) -> bool:
    """Whether ten times the rounds are a larger graph."""
    sizes = [nodes(tf.function(lambda x, n=rounds: loop(n, x)), tf.zeros(2)) for rounds in (10, 100)]
    return sizes[1] > 2 * sizes[0]


def over_range(rounds: int, x: tf.Tensor) -> tf.Tensor:
    for _ in range(rounds):
        x = tf.sin(x)
    return x


def over_while(rounds: int, x: tf.Tensor) -> tf.Tensor:
    step = 0
    while step < rounds:
        x = tf.sin(x)
        step += 1
    return x


def over_array(rounds: int, x: tf.Tensor) -> tf.Tensor:
    for number in np.ones(rounds, "float32"):
        x = tf.sin(x) * number
    return x


def over_comprehension(rounds: int, x: tf.Tensor) -> tf.Tensor:
    return tf.add_n([tf.sin(x) for _ in range(rounds)])


def over_tensor_range(rounds: int, x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(rounds):
        x = tf.sin(x)
    return x


def over_range_of_tensor(rounds: int, x: tf.Tensor) -> tf.Tensor:
    for _ in range(tf.constant(rounds)):
        x = tf.sin(x)
    return x


def over_enumerated_dataset(rounds: int, x: tf.Tensor) -> tf.Tensor:
    for _, number in enumerate(tf.data.Dataset.range(rounds)):
        x = tf.sin(x) + tf.cast(number, tf.float32)
    return x


def over_zipped_datasets(rounds: int, x: tf.Tensor) -> tf.Tensor:
    for one, _ in zip(tf.data.Dataset.range(rounds), tf.data.Dataset.range(rounds)):
        x = tf.sin(x) + tf.cast(one, tf.float32)
    return x


@pytest.mark.parametrize("loop", [over_range, over_while, over_array, over_comprehension])
def test_python_loops_are_unrolled(loop: Callable[[int, tf.Tensor], tf.Tensor]) -> None:
    assert unrolls(loop)


@pytest.mark.parametrize(
    "loop", [over_tensor_range, over_range_of_tensor, over_enumerated_dataset, over_zipped_datasets]
)
def test_loops_of_tensors_and_datasets_are_one_loop(loop: Callable[[int, tf.Tensor], tf.Tensor]) -> None:
    assert not unrolls(loop)


def test_keras_3_does_not_convert_call() -> None:
    class Walk(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            for _ in tf.range(3):
                x = x + 1.0
            return x

    class Ops(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return keras.ops.fori_loop(0, 3, lambda step, y: y + 1.0, x)

    def fit(layer: keras.layers.Layer) -> None:
        model = keras.Sequential([layer, keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        model.fit(np.zeros((4, 2)), np.zeros((4, 1)), verbose=0)

    fit(Ops())
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        fit(Walk())


def graphs_alive(apply: bool) -> int:
    """Function graphs that are there after five functions were made, called and dropped, more than before."""
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)

    def count() -> int:
        gc.collect()
        return sum(type(one).__name__ == "FuncGraph" for one in gc.get_objects())

    before = count()
    for _ in range(5):

        @tf.function
        def step(x: tf.Tensor) -> None:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x, training=True))
            gradients = tape.gradient(loss, model.trainable_variables)
            if apply:
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))

        step(tf.zeros((2, 4)))
        del step
    return count() - before


def test_only_what_applies_an_optimizer_is_never_freed() -> None:
    assert graphs_alive(apply=True) >= 5
    assert graphs_alive(apply=False) < 5


def operations_added(run: Callable[[Any, Any], Any]) -> list[int]:
    """Operations that each of three rounds adds to a TF1 graph."""
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.Session() as session:
        variable = v1.get_variable("v", [3], initializer=v1.zeros_initializer())
        session.run(v1.global_variables_initializer())
        added = []
        for _ in range(3):
            before = len(graph.get_operations())
            run(session, variable)
            added.append(len(graph.get_operations()) - before)
    return added


def test_what_runs_in_a_loop_adds_to_the_graph() -> None:
    v1 = tf.compat.v1
    assert min(operations_added(lambda session, v: session.run(v + 1.0))) > 0
    assert min(operations_added(lambda session, v: session.run(v[0]))) > 0
    assert min(operations_added(lambda session, v: session.run(tf.argmax(v)))) > 0
    assert min(operations_added(lambda session, v: session.run(v1.assign(v, [1.0, 2.0, 3.0])))) > 0
    assert min(operations_added(lambda session, v: v1.train.Saver([v]))) > 0
    assert operations_added(lambda session, v: session.run(v)) == [0, 0, 0]
    assert operations_added(lambda session, v: v.load(np.zeros(3), session)) == [0, 0, 0]
    assert operations_added(
        lambda session, v: v1.Summary(value=[v1.Summary.Value(tag="a", simple_value=1.0)])
    ) == [0, 0, 0]


def test_finalize_turns_growth_into_an_error() -> None:
    def run(session: Any, variable: Any) -> None:
        session.graph.finalize()
        with pytest.raises(RuntimeError, match="finalized"):
            session.run(variable + 1.0)

    assert operations_added(run) == [0, 0, 0]
