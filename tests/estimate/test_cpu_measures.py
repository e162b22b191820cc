"""What the measurements on a CPU rest on: the order that a step took, and a heap without holes."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from estimate.graph_programs import op, program

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "estimate"


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield
    for name in ("cpu_orders", "cpu_products", "measure_cpu"):
        sys.modules.pop(name, None)


def test_rounds_of_a_loop_come_in_the_order_in_which_they_began():
    step = program(
        op("Argument", name="x"),
        op("Const", name="one"),  # what the profiler does not show runs at once when it is ready
        op("Mul", 0, 1, name="loop/first"),  # two rounds of two operations
        op("Tanh", 2, name="loop/second"),
        op("Mul", 3, 1, name="loop/first"),
        op("Tanh", 4, name="loop/second"),
        op("Neg", 0, name="apart"),
    )
    names = ["EagerLocalExecute", "apart", *("a/loop/body/_7/" + n for n in ("loop/first", "loop/second")) ,
             "a/loop/body/_7/loop/first"]  # fmt: skip
    as_ran = importlib.import_module("cpu_orders").as_ran
    assert as_ran(step, names) == [0, 1, 6, 2, 3, 4, 5]
    # What a named operation waits for is done before it, and not again when its own turn comes.
    # The second round of the first operation is not told: it was cheap by then.
    assert as_ran(step, ["loop/second", "loop/first", "apart", "loop/second"]) == [0, 1, 2, 3, 4, 6, 5]


def test_orders_come_back_out_of_a_line():
    orders = importlib.import_module("cpu_orders")
    found = [["one", "two/body/_3/three"], []]
    assert orders.unpacked(orders.packed(found)) == found


def test_products_are_packed_where_a_side_is_turned():
    # By hand, from Eigen's header: no side of 48: nothing is cut, [8, 10] and [4, 8] as they are.
    packed = importlib.import_module("cpu_products").packed
    assert packed(4, 8, 10, left=True) == 4 * 8 * 4
    assert packed(4, 8, 10, right=True) == 8 * 10 * 4
    assert packed(4, 8, 10) == packed(0, 8, 10, left=True) == 0
    # (49,152 - 256) / 80 = 611, a multiple of eight: 608 deep at most. 512 fit; 1,572,864 / (2 x 512 x 4) = 384 wide at
    # most, 256 so that two are alike, and 264 as a multiple of 24. Measured: 1,024 and 512 KiB.
    assert packed(512, 512, 512, right=True) == 512 * 512 * 4
    assert packed(512, 512, 512, left=True) == 512 * 264 * 4
    # 1,024 deep in two pieces of 512; the left side has 160 columns. Measured: 323 KiB.
    assert packed(160, 1024, 5000, left=True) == 512 * 160 * 4


def test_the_program_has_no_operation_that_does_not_run():
    # Grappler knows shapes from the variables' on: without them the product of swish with a beta of one would stay.
    done = subprocess.run(
        [sys.executable, "-c", RAN], env=os.environ | {"PYTHONPATH": str(SCRIPTS), "KERAS_BACKEND": "tensorflow"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout.strip().splitlines()[-1])
    # Forward one of the normalization and one of swish, and those of their gradients.
    assert found["ran"] >= 4
    assert found["did not run"] == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc")
def test_while_the_holes_are_filled_a_buffer_is_not_put_into_the_heap():
    # In a process of its own: the allocator is told when it starts.
    environment = importlib.import_module("measure_cpu").ENVIRONMENT
    told = subprocess.run(
        [sys.executable, "-c", HOLES], env=os.environ | environment | {"PYTHONPATH": str(SCRIPTS)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.split() == ["heap", "mapped", "heap"]


HOLES = """
import ctypes
from measure_cpu import holes_filled
library = ctypes.CDLL(None)
library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
library.free.argtypes = [ctypes.c_void_p]
small = [library.malloc(8000) for _ in range(100)]  # below the size that is mapped
for piece in small[:90]:
    library.free(piece)  # one hole of 720,000 B
def where():
    piece = library.malloc(100_000)
    mapped = ctypes.c_size_t.from_address(piece - 8).value & 2
    library.free(piece)
    return "mapped" if mapped else "heap"
print(where())
with holes_filled():
    print(where())
print(where())
"""

RAN = """
import json
from functools import partial
import keras
import tensorflow as tf
from keras import layers
from cpu_orders import profiled, ran
from oomlint.estimate.worker.graph.tracing import traced
from oomlint.estimate.worker.subject import Spec, Subject
model = keras.Sequential([keras.Input((20,)), layers.Dense(30), layers.BatchNormalization(), layers.Activation("swish"), layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=False)
model.optimizer.build(model.trainable_variables)
program = traced(Subject(model, (Spec((40, 20), "float32"), Spec((40, 1), "float32")), "train"), as_run=True, on_cpu=True)
products = {one.name for one in program.operations if one.type == "Mul" and one.shapes[0] == (40, 30)}
step = tf.function(lambda *parts: model.train_step(parts), autograph=False)
data = tf.zeros((40, 20)), tf.zeros((40, 1))
step(*data)
names = set(ran(profiled(partial(step, *data))))
print(json.dumps({"ran": len(products & names), "did not run": sorted(products - names)}))
"""
