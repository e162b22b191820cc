"""What stays on the GPU from step to step, counted from variables."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from oomlint.estimate.worker.keras.state import item_size, state_bytes


def variable(*shape: int, dtype: str = "float32") -> SimpleNamespace:
    return SimpleNamespace(shape=shape, dtype=dtype)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("float32", 4), ("bfloat16", 2), ("float16", 2), ("int64", 8), ("uint8", 1), ("bool", 1), ("complex64", 8),
        ("float8_e4m3fn", 1), ("string", 0), ("resource", 0),
    ],
)  # fmt: skip
def test_item_sizes(dtype, size):
    assert item_size(dtype) == size


def test_weights_and_slots_are_counted_once():
    kernel, bias, seed = variable(100, 10), variable(10), variable(2, dtype="uint32")
    slots = [variable(dtype="int64"), variable(100, 10), variable(10)]
    metric = SimpleNamespace(variables=[variable(), seed])
    model = SimpleNamespace(variables=[kernel, bias, seed, kernel], metrics=[metric])
    found = state_bytes(model, SimpleNamespace(variables=slots))
    assert found == {"weights": 4000 + 40 + 8 + 4, "optimizer_state": 8 + 4000 + 40}


def test_a_model_s_list_may_hold_the_slots_too_and_keras_2_has_a_method():
    kernel, slot = variable(100, 10), variable(100, 10)
    model = SimpleNamespace(variables=[kernel, slot], metrics=[])
    assert state_bytes(model, SimpleNamespace(variables=lambda: [slot])) == {
        "weights": 4000,
        "optimizer_state": 4000,
    }


def test_without_an_optimizer_there_is_no_state_of_one():
    assert state_bytes(SimpleNamespace(variables=[variable(3)], metrics=[]), None)["optimizer_state"] == 0
