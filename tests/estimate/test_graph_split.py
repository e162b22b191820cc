"""Products in parts: how many, what is written, and which sides are filled up; by XLA's own assignments."""

from __future__ import annotations

import math

import pytest

from oomlint.estimate.worker.graph.cards import card_of
from oomlint.estimate.worker.graph.compiled import compiled
from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.split import parts_of

H100, A100 = card_of("H100-80GB"), card_of("A100-40GB")


# The products of one module that XLA (jaxlib 0.10.2) compiled for either card: rows, columns, what is summed over.
@pytest.mark.parametrize(
    ("rows", "columns", "inner", "on_h100", "on_a100"),
    [
        (128, 128, 512, 16, 8),
        (128, 128, 8192, 64, 32),
        (256, 256, 2048, 16, 8),
        (256, 256, 64, 1, 1),
        (512, 46, 512, 8, 4),
        (512, 512, 1024, 4, 2),
        (512, 512, 16384, 8, None),  # as many tiles as multiprocessors
        (1024, 1024, 4096, 2, None),
        (16, 10, 1024, 1, 1),
        (16, 10, 8192, 64, 32),
    ],
)
def test_as_many_parts_as_xla_makes(
    rows: int, columns: int, inner: int, on_h100: int, on_a100: int | None
) -> None:
    assert parts_of(1, rows, inner, columns, H100) == on_h100
    if on_a100 is not None:
        assert parts_of(1, rows, inner, columns, A100) == on_a100


def tensor(kind: str, shape: tuple[int, ...], dtype: str, *inputs: int) -> Operation:
    size = math.prod(shape) * (2 if "16" in dtype else 4)
    return Operation(kind, kind, tuple((one, 0) for one in inputs), (), (size,), (shape,), (dtype,))


def product(rows: int, inner: int, columns: int, dtype: str = "float32") -> Program:
    given = [tensor("Argument", (rows, inner), dtype), tensor("Argument", (inner, columns), dtype)]
    return Program([*given, tensor("MatMul", (rows, columns), dtype, 0, 1)], ((2, 0),))


def test_parts_are_written_and_a_side_that_does_not_fit_is_filled_up():
    # dot.5 of wires_of_news: f32[8,512,512] of f32[512,10016] and f32[10016,512].
    sizes = [(one.type, sum(one.outputs)) for one in lowered(product(512, 10000, 512), H100).operations]
    assert ("MatMul", 8 * 512 * 512 * 4) in sizes
    assert sizes.count(("Padded", 512 * 10016 * 4)) == 2
    assert ("PartsSum", 512 * 512 * 4) in sizes


def test_parts_are_float32_and_halves_are_filled_up_to_sixteen_bytes():
    sizes = [
        (one.type, sum(one.outputs)) for one in lowered(product(64, 4104, 64, "float16"), H100).operations
    ]
    assert ("MatMul", 32 * 64 * 64 * 4) in sizes  # 4104 over 32 is no multiple of eight: 4352 is
    assert sizes.count(("Padded", 64 * 4352 * 2)) == 2


def test_what_fits_is_not_copied_and_what_cublas_multiplies_not_split():
    types = [one.type for one in lowered(product(64, 4096, 64), H100).operations]
    assert types.count("MatMul") == 1 and "Padded" not in types and "PartsSum" in types
    assert "PartsSum" not in [one.type for one in lowered(product(64, 4096, 64), H100, True).operations]


def test_the_parts_are_there_beside_what_is_multiplied():
    made = product(256, 8192, 256)
    given = sum(sum(one.outputs) for one in made.operations[:2])
    # 32 parts of 256 x 256, and their sum, which is what is asked for.
    assert compiled(made, H100)[1].peak == given + 33 * 256 * 256 * 4
