"""What the page of OOM413 claims: which objects tf.data keeps after their last use, with the data that they hold."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras", minversion="3.0")

ROWS, BATCH = 8, 4


class Tracked(np.ndarray):  # type: ignore[type-arg]
    """An array that a weak reference can follow."""


def data() -> Any:
    return np.ones((ROWS, 3), "float32").view(Tracked)


def is_kept(use: Callable[[Any], object], clear: bool = False) -> bool:
    array = data()
    follow = weakref.ref(array)
    use(array)
    del array
    if clear:
        keras.backend.clear_session()
    gc.collect()
    return follow() is not None


class Batches(keras.utils.PyDataset):  # type: ignore[misc]
    def __init__(self, x: Any) -> None:
        super().__init__()
        self.x = x

    def __len__(self) -> int:
        return ROWS // BATCH

    def __getitem__(self, number: int) -> Any:
        rows = self.x[number * BATCH : (number + 1) * BATCH]
        return rows, rows[:, :1]


def endless(x: Any) -> Iterator[Any]:
    while True:
        yield x[:BATCH], x[:BATCH, :1]


def through_from_generator(x: Any) -> None:
    for _ in tf.data.Dataset.from_generator(lambda: iter(x), output_signature=tf.TensorSpec((3,))):
        pass


def through_py_function(x: Any) -> None:
    rows = tf.data.Dataset.range(ROWS)
    for _ in rows.map(lambda number: tf.py_function(lambda index: x[index], [number], tf.float32)):
        pass


@pytest.fixture
def model() -> Any:
    network = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    network.compile("sgd", "mse")
    return network


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict"])
def test_a_new_dataset_object_is_kept_by_each_of_them(model: Any, method: str) -> None:
    assert is_kept(lambda x: getattr(model, method)(Batches(x), verbose=0))


def test_one_for_validation_is_too(model: Any) -> None:
    fixed = np.ones((ROWS, 3), "float32")
    assert is_kept(lambda x: model.fit(fixed, fixed[:, :1], validation_data=Batches(x), verbose=0))


def test_a_generator_is_kept(model: Any) -> None:
    assert is_kept(lambda x: model.fit(endless(x), steps_per_epoch=2, verbose=0))


@pytest.mark.parametrize("use", [through_from_generator, through_py_function])
def test_functions_are_kept_without_any_fit(use: Callable[[Any], None]) -> None:
    assert is_kept(use)


def test_arrays_and_their_slices_are_freed(model: Any) -> None:
    assert not is_kept(lambda x: model.fit(x, x[:, :1], verbose=0))
    slices = tf.data.Dataset.from_tensor_slices
    assert not is_kept(lambda x: model.fit(slices((x, x[:, :1])).batch(BATCH), verbose=0))


def test_an_object_that_gets_new_data_lets_go_of_the_old(model: Any) -> None:
    batches = Batches(data())

    def replaced(x: Any) -> None:
        batches.x = x
        model.fit(batches, verbose=0)
        batches.x = data()

    assert not is_kept(replaced)


def test_clearing_the_session_after_each_pass_keeps_the_first_only(model: Any) -> None:
    assert is_kept(lambda x: model.fit(Batches(x), verbose=0), clear=True)
    assert not is_kept(lambda x: model.fit(Batches(x), verbose=0), clear=True)
    assert not is_kept(through_from_generator, clear=True)


def test_clearing_does_not_help_with_a_new_model(model: Any) -> None:
    assert is_kept(lambda x: model.fit(Batches(x), verbose=0), clear=True)
