"""What the page of OOM406 claims: a model that was built and fitted leaves its graph and weights behind for good.

Counted, not weighed: resident memory depends on the allocator, the objects alive do not.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras", minversion="3.0")

ROUNDS = 3
X, Y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


def graphs() -> int:
    """Traced graphs that are alive."""
    from tensorflow.python.framework.func_graph import FuncGraph

    gc.collect()
    return sum(type(item) is FuncGraph for item in gc.get_objects())


def network() -> Any:
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])


def fitted(**options: Any) -> None:
    model = network()
    model.compile("adam", "mse", **options)
    model.fit(X, Y, epochs=1, verbose=0)


def growth(step: Callable[[], Any]) -> int:
    """Graphs left behind by some rounds, after everything that is advised was done."""
    step()
    before = graphs()
    for _ in range(ROUNDS):
        step()
        keras.backend.clear_session()
        gc.collect()
    return graphs() - before


def test_build_and_fit_leaves_graphs_behind() -> None:
    assert growth(fitted) >= ROUNDS


def test_a_copy_that_is_fitted_does_too() -> None:
    original = network()

    def copied() -> None:
        model = keras.models.clone_model(original)
        model.compile("sgd", "mse")
        model.fit(X, Y, verbose=0)

    assert growth(copied) >= ROUNDS


def test_compiling_again_does_too() -> None:
    model = network()

    def compiled_again() -> None:
        model.compile("adam", "mse")
        model.fit(X, Y, verbose=0)

    assert growth(compiled_again) >= ROUNDS


def test_run_eagerly_does_not() -> None:
    assert growth(lambda: fitted(run_eagerly=True)) < ROUNDS


def test_built_and_only_predicted_does_not() -> None:
    assert growth(lambda: network().predict(X, verbose=0)) < ROUNDS


def test_one_model_fitted_many_times_does_not() -> None:
    model = network()
    model.compile("adam", "mse")
    assert growth(lambda: model.fit(X, Y, verbose=0)) < ROUNDS


def test_weights_and_optimizer_state_put_back_train_the_same() -> None:
    """The remedy in one process: saved variables of the optimizer, not zeros, which would stop the learning."""
    keras.utils.set_random_seed(3)
    model = network()
    model.compile(keras.optimizers.Adam(0.1), "mse")
    model.optimizer.build(model.trainable_variables)
    weights = model.get_weights()
    state = [variable.numpy() for variable in model.optimizer.variables]

    def trained() -> list[Any]:
        model.set_weights(weights)
        for variable, value in zip(model.optimizer.variables, state):
            variable.assign(value)
        model.fit(X, Y, epochs=3, shuffle=False, verbose=0)
        result: list[Any] = model.get_weights()
        return result

    first, second = trained(), trained()
    assert all(np.array_equal(one, two) for one, two in zip(first, second))
    assert not np.array_equal(first[0], weights[0])

    model.set_weights(weights)
    for variable in model.optimizer.variables:
        variable.assign(np.zeros(variable.shape, variable.dtype))
    model.fit(X, Y, epochs=3, shuffle=False, verbose=0)
    assert all(np.array_equal(one, two) for one, two in zip(model.get_weights(), weights))


class TestPredictInLoop:
    """OOM411."""

    def test_one_row_at_a_time_leaves_no_graph_behind(self) -> None:
        model = network()
        model.predict(X[:1], verbose=0)
        before = graphs()
        for _ in range(ROUNDS):
            model.predict(X[:1], verbose=0)
        assert graphs() == before

    def test_the_fix_gives_the_same_numbers(self) -> None:
        model = network()
        called = model(X[:1], training=False).numpy()
        assert isinstance(called, np.ndarray)
        np.testing.assert_allclose(called, model.predict(X[:1], verbose=0), rtol=1e-6)

    def test_predict_gives_arrays_and_no_tensors(self) -> None:
        assert type(network().predict(X[:1], verbose=0)) is np.ndarray


def test_a_tape_without_tf_function_leaves_nothing() -> None:
    def stepped() -> None:
        model, optimizer = network(), keras.optimizers.Adam()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(X) - Y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    assert growth(stepped) < ROUNDS
