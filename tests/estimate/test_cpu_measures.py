"""What the measurements on a CPU rest on: the order that a step took, and a heap without holes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from estimate.graph_programs import op, program

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "estimate"


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield
    for name in ("cpu_orders", "measure_cpu"):
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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc")
def test_while_the_holes_are_filled_a_buffer_is_not_put_into_the_heap():
    # In a process of its own: the allocator is told when it starts.
    import os
    import subprocess

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
