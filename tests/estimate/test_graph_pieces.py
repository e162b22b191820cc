"""Which outputs lie in their input's memory, beside where TensorFlow itself puts them."""

from __future__ import annotations

import pytest
from estimate.graph_programs import MIB, op, program

tensorflow = pytest.importorskip("tensorflow")

from oomlint.estimate.worker.graph import order  # noqa: E402
from oomlint.estimate.worker.graph.lives import simulate  # noqa: E402
from oomlint.estimate.worker.graph.pieces import source_of, whole_of  # noqa: E402

CUTS = {
    "split": ((8, 16), lambda x: tensorflow.split(x, 4)),
    "split in rows of 12 bytes": ((8, 3), lambda x: tensorflow.split(x, 4)),
    "split across": ((8, 32), lambda x: tensorflow.split(x, 2, axis=1)),
    "split by sizes": ((8, 16), lambda x: tensorflow.split(x, [2, 6])),
    "unstack": ((4, 32), tensorflow.unstack),
    "unstack across": ((4, 32), lambda x: tensorflow.unstack(x, axis=1)),
    "slice": ((8, 4, 16), lambda x: tensorflow.slice(x, (2, 0, 0), (3, 4, 16))),
    "slice within": ((8, 4, 16), lambda x: tensorflow.slice(x, (0, 1, 0), (8, 2, 16))),
    "slice of all": ((8, 3), lambda x: tensorflow.slice(x, (0, 0), (8, 3))),
    "row": ((16, 16), lambda x: x[3]),
    "rows": ((16, 16), lambda x: x[3:9]),
    "every second row": ((16, 16), lambda x: x[::2]),
    "backwards": ((16, 16), lambda x: x[::-1]),
    "column": ((16, 16), lambda x: x[:, 0]),
    "last of each": ((16, 16, 16), lambda x: x[..., 0]),
    "all, with a side more": ((16, 16), lambda x: x[:, None]),
}  # fmt: skip


def address(tensor) -> int:
    import numpy

    return numpy.frombuffer(memoryview(tensor), numpy.float32).ctypes.data


@pytest.mark.parametrize("name", CUTS)
def test_pieces_are_where_tensorflow_puts_them(name):
    shape, cut = CUTS[name]
    whole = tensorflow.random.uniform(shape)
    parts = cut(whole)
    parts = parts if isinstance(parts, list) else [parts]
    inside = [0 <= address(part) - address(whole) < whole.shape.num_elements() * 4 for part in parts]

    with tensorflow.Graph().as_default():
        made = cut(tensorflow.compat.v1.placeholder("float32", shape))
    operation = (made[0] if isinstance(made, list) else made).op
    source = source_of(operation.type)
    assert source is not None
    assert tuple(operation.inputs[source].shape) == shape
    found = whole_of(operation, shape, tuple(operation.outputs[0].shape), 4)
    if name != "all, with a side more":  # known to TensorFlow, and seldom: it counts as a copy
        assert [found == source] * len(parts) == inside


def test_a_buffer_stays_while_a_piece_of_it_is_used():
    made = program(
        op("Argument"), op("Tanh", 0, mib=8), op("Slice", 1, mib=2), op("Neg", 2, mib=2), op("Sum", 3)
    )
    made.operations[2].whole = 0
    # The piece takes nothing of its own, and is not written over: it is not the buffer's only use.
    assert simulate(made, order.as_made(made)).timeline == [0, 8 * MIB, 8 * MIB, 10 * MIB, 2 * MIB]
    made.operations[2].whole = -1
    assert simulate(made, order.as_made(made)).timeline == [0, 8 * MIB, 10 * MIB, 2 * MIB, 2 * MIB]
