"""What Eigen packs of the sides of a product on a CPU with one thread: a piece that fits the caches, in new memory.

A side whose rows lie one after the other is read where it is (`ColMajorBlock` in
xla/tsl/framework/contraction/eigen_contraction_kernel.h); packed are transposed ones and the patches of a convolution.
The sizes follow Eigen's heuristic (evaluateProductBlockingSizesHeuristic in Eigen/src/Core/products/
GeneralBlockPanelKernel.h) and what TensorFlow makes of it (TensorContractionBlocking in the first header);
evalGemmPartial in TensorContraction.h takes one piece of a side. All are in TensorFlow's wheel. The profiler does not
see this memory, the system does: of [160, 1024] x [1024, 5000] with the left side transposed 323 KiB, of [512, 512] x
[512, 512] 512 KiB with the left, 1,024 with the right, none with neither.
"""

from __future__ import annotations

# The caches of the machine that measured cpu_truth.jsonl (lscpu), and what Eigen takes for the second level.
FIRST, SECOND, SHARED = 48 << 10, 1 << 20, 1_572_864
# Of a kernel for AVX without fused multiply-add, which the wheels are built for: rows and columns in registers.
ROWS, COLUMNS, FLOAT = 16, 4, 4
PEELED = 8  # k_peeling
UNROLLED_ROWS, UNROLLED_COLUMNS, MORE_ROWS = 48, 24, 1.5  # kUnrollM, kUnrollN, kScaleM
WORTH_IT = 48  # where no side is as long, nothing is cut


def packed(rows: int, inner: int, columns: int, *, left: bool = False, right: bool = False) -> int:
    """Bytes for a row-major product of float32, [rows, inner] by [inner, columns], with the left or right side packed.

    To Eigen it is the product of the swapped sides: its rows are the columns.
    """
    if not rows * inner * columns:
        return 0
    depth, height, width = _cut(inner, columns, rows)
    height = min(columns, -(-int(height * MORE_ROWS) // UNROLLED_ROWS) * UNROLLED_ROWS)
    width = min(rows, -(-width // UNROLLED_COLUMNS) * UNROLLED_COLUMNS)
    slices = -(-inner // depth)
    depth = min(inner, -(-(inner // slices) // PEELED) * PEELED)
    return FLOAT * depth * (height * right + width * left)


def _last_as_large(whole: int, most: int, step: int) -> int:
    """A piece of at most that many, so that the last one is about as large and there are no more of them."""
    rest = whole % most
    return most if rest == 0 else most - step * ((most - rest) // (step * (whole // most + 1)))


def _cut(inner: int, rows: int, columns: int) -> tuple[int, int, int]:
    """Depth, height and width of the pieces."""
    if max(inner, rows, columns) < WORTH_IT:
        return inner, rows, columns
    result = ROWS * COLUMNS * FLOAT
    deepest = max((FIRST - result) // ((ROWS + COLUMNS) * FLOAT) // PEELED * PEELED, 1)
    depth = inner
    if inner > deepest:
        rest = inner % deepest
        depth = deepest
        if rest:
            depth -= PEELED * ((deepest - 1 - rest) // (PEELED * (inner // deepest + 1)))
    left = FIRST - result - rows * depth * FLOAT
    if left >= COLUMNS * FLOAT * depth:
        widest = left // (depth * FLOAT)
    else:
        widest = 3 * SHARED // (4 * deepest * FLOAT)
    width = min(SHARED // (2 * depth * FLOAT), widest) // COLUMNS * COLUMNS
    if columns > width:
        return depth, rows, _last_as_large(columns, width, COLUMNS)
    if depth != inner:
        return depth, rows, columns
    size, room, most = depth * columns * FLOAT, SHARED, rows
    if size <= 1024:
        room = FIRST
    elif size <= 32768:
        room, most = SECOND, min(576, rows)
    height = min(room // (3 * depth * FLOAT), most)
    if height > ROWS:
        height -= height % ROWS
    elif height == 0:
        return depth, rows, columns
    return depth, _last_as_large(rows, height, ROWS), columns
