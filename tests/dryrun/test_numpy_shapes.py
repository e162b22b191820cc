"""NumPy is the oracle: the dry run must give the shape and dtype that NumPy itself gives.

Each line is evaluated twice, by NumPy and by the dry run (which sees it as text and computes no
elements). The names that the expressions use are in `PRELUDE`, which both sides see too.
"""

from __future__ import annotations

import numpy as np
import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.catalog.arrays.making import as_array
from oomlint.dryrun.values.base import Value
from oomlint.syntax.parse import parse

PRELUDE = """\
import numpy as np
u8 = np.zeros((6, 4, 4, 3), dtype=np.uint8)
i64 = np.arange(6)
i32 = np.ones((6, 5), dtype="int32")
f16 = np.ones((6, 5), dtype=np.float16)
f32 = np.zeros((6, 5), dtype="float32")
f64 = np.zeros((5, 7))
flags = np.array([True, False, True, True, False, True])
vec = np.zeros(5, np.float32)
n, h, w = 6, 4, 4
shape = (n, h, w, 3)
rng = np.random.default_rng(0)
"""

CREATION = """
np.zeros(7)
np.zeros((2, 3))
np.zeros([2, 3])
np.zeros(shape)
np.zeros(shape=(n, h * w), dtype="float32")
np.zeros((2, 3), np.uint8)
np.zeros((n,) + shape[1:], dtype=np.float16)
np.zeros(n, dtype=bool)
np.zeros(n, dtype=int)
np.zeros(n, dtype=float)
np.zeros((2, 3), dtype=np.dtype("int16"))
np.zeros((2, 3), dtype="f4")
np.zeros((2, 3), dtype="uint8")
np.ones((4, 1))
np.ones((4, 1), dtype="i8")
np.empty((3, 3, 3))
np.empty([n, w], dtype=np.float32)
np.full((2, 2), 0.5)
np.full((2, 2), 7)
np.full((2, 2), 7, dtype=np.float32)
np.full((2, 2), True)
np.zeros(np.shape(u8))
np.zeros(np.shape(u8)[1:])
np.zeros(np.shape([[1, 2, 3], [4, 5, 6]]))
np.zeros((np.ndim(u8), 2))
np.zeros(np.size(f32))
np.zeros(np.size(f32, 1))
np.zeros(np.size(f32, axis=-1))
np.zeros_like(u8)
np.zeros_like(u8, dtype="float32")
np.ones_like(f32)
np.empty_like(i32)
np.full_like(f32, 3)
np.eye(4)
np.eye(4, 6)
np.eye(4, dtype="float32")
np.identity(3)
np.eye(10)[i64]
np.eye(10, dtype=np.float32)[np.zeros((2, 3), dtype=int)]
np.arange(10)
np.arange(2, 10)
np.arange(2, 10, 3)
np.arange(0, 1, 0.25)
np.arange(5.0)
np.arange(7, dtype=np.float32)
np.arange(12).reshape(3, 4)
np.linspace(0, 1)
np.linspace(0, 1, 11)
np.linspace(0.0, 1.0, num=5, dtype="float32")
np.logspace(0, 2, 9)
np.array([1, 2, 3])
np.array([1.0, 2.0])
np.array([[1, 2], [3, 4], [5, 6]])
np.array([[1, 2], [3, 4]], dtype=np.float32)
np.array((True, False))
np.array(3)
np.array(2.5)
np.array([f32, f32])
np.array([f32[0], f32[1], f32[2]])
np.array(f32, dtype="float16")
np.asarray(u8)
np.asarray(u8, dtype=np.float32)
np.asarray([0.1, 0.2], np.float32)
np.ascontiguousarray(u8)
np.copy(f32)
np.float32([1, 2, 3])
np.array([u8 for _ in range(3)])
"""

RANDOM = """
np.random.rand(3, 4)
np.random.rand(5)
np.random.randn(2, 3, 4)
np.random.random((4, 2))
np.random.random(9)
np.random.uniform(0, 1, (3, 2))
np.random.uniform(size=(3, 2))
np.random.uniform(-1.0, 1.0, size=8)
np.random.normal(0.0, 1.0, (8, 2))
np.random.normal(size=shape)
np.random.standard_normal((3, 3))
np.random.randint(0, 10, (5,))
np.random.randint(10, size=(5, 2))
np.random.randint(0, 256, size=shape, dtype=np.uint8)
np.random.randint(0, 256, shape, "uint8")
np.random.randint(3, size=4)
np.random.permutation(6)
np.random.permutation(f32)
np.random.choice(10, 4)
np.random.choice(10, size=(2, 3))
np.random.choice(f32[:, 0], size=4)
rng.random((3, 4))
rng.random((3, 4), dtype=np.float32)
rng.random(5)
rng.standard_normal((2, 2), dtype="float32")
rng.standard_normal((2, 2))
rng.normal(size=(4, 4))
rng.uniform(0, 1, size=7)
rng.integers(0, 5, size=(4,))
rng.integers(0, 255, (4, 4), dtype=np.uint8)
rng.permutation(i64)
np.random.RandomState(1).rand(3, 2)
np.random.RandomState(1).normal(size=(3, 2))
"""

ARITHMETIC = """
u8 / 255.0
u8 / 255
u8 / np.float32(255)
u8 / np.float64(255)
u8 * 2
u8 + 1.5
u8 - u8
u8 // 2
u8 / np.float16(2)
u8 * np.int64(2)
u8 + i64[0]
u8 - 127.5
(u8 - 127.5) / 127.5
255 - u8
1.0 / (u8 + 1)
i32 / 2
i32 * 2.5
i32 + 1
i64 / 3
i64 ** 2
i64 * 1.0
i32 + i64[:, None]
i32 + f32
i64[:, None] + f32
i32 * f16
f16 * 2.0
f16 + f32
f32 / 255.0
f32 * 2
f32 / np.float64(3)
f32 / np.float32(3)
f32 / np.sqrt(5)
f32 / n
f32 + vec
f32 @ f64
f32 @ f32.T
np.dot(f32, vec)
np.matmul(f32, f32.T)
f32 - f32.mean()
f32 - f32.mean(axis=0)
(f32 - f32.mean(axis=0)) / f32.std(axis=0)
f64 * f32[:5, :1]
-f32
~flags
flags & flags
u8 > 127
(u8 > 127) * 1.0
(u8 > 127).astype("float32")
flags * 2
flags / 2
f32 == 0
abs(f32)
np.sqrt(f32)
np.sqrt(i64)
np.sqrt(u8)
np.exp(f16)
np.log(f32 + 1)
np.log1p(i32)
np.abs(i32)
np.clip(u8, 0, 10)
np.clip(f32, 0.0, 1.0)
np.round(f32, 2)
np.square(u8)
np.maximum(f32, 0)
np.minimum(f32, f64[0, :5])
np.add(u8, 1)
np.multiply(f32, 0.5)
np.divide(u8, 255.0)
np.true_divide(i32, 2)
np.subtract(f32, 1)
np.where(f32 > 0, f32, 0)
np.where(flags[:, None], f32, f32.astype("float64"))
np.float32(u8)
np.uint8(f32)
np.float32(u8) / 255
np.isnan(f32)
np.sin(i64)
np.outer(i64, vec)
np.einsum("ij,jk->ik", f32, f64)
"""

ASTYPE = """
u8.astype("float32")
u8.astype(np.float32) / 255.0
(u8 / 255.0).astype("float32")
u8.astype(float)
u8.astype(int)
u8.astype(dtype=np.float16)
f64.astype("f4")
f32.astype("<f8")
u8.copy()
u8.astype("float32", copy=False)
f32.view()
"""

SHAPING = """
u8.reshape(6, -1)
u8.reshape((6, -1))
u8.reshape(-1)
u8.reshape(-1, 3)
u8.reshape([n, h * w * 3])
u8.reshape(u8.shape[0], -1)
u8.reshape(len(u8), 4, 12)
u8.reshape((-1,) + u8.shape[1:])
u8.reshape(*u8.shape, 1)
u8.reshape(u8.shape + (1,))
u8.reshape(n, int(np.prod(u8.shape[1:])))
np.reshape(u8, (n, 48))
np.reshape(u8, [-1, 48])
u8.flatten()
u8.ravel()
np.ravel(f32)
u8.T
f32.T
f32.transpose()
u8.transpose(0, 3, 1, 2)
u8.transpose((0, 3, 1, 2))
np.transpose(u8)
np.transpose(u8, (0, 3, 1, 2))
np.transpose(u8, axes=[3, 0, 1, 2])
np.moveaxis(u8, -1, 1)
np.swapaxes(u8, 1, 2)
u8.swapaxes(0, 3)
np.rollaxis(u8, 3, 1)
np.expand_dims(f32, -1)
np.expand_dims(f32, axis=0)
np.expand_dims(f32, (0, 3))
np.squeeze(np.zeros((1, 3, 1)))
np.squeeze(np.zeros((1, 3, 1)), axis=0)
np.zeros((1, 3, 1)).squeeze(-1)
np.atleast_2d(vec)
np.atleast_1d(5)
np.broadcast_to(vec, (6, 5))
np.repeat(f32, 3)
np.repeat(f32, 3, axis=0)
np.repeat(u8[..., :1], 3, axis=-1)
f32.repeat(2, axis=1)
np.tile(f32, 2)
np.tile(f32, (2, 3))
np.tile(vec, (4, 1))
np.resize(f32, (2, 2))
np.flip(f32)
np.fliplr(f32)
np.flipud(f32)
np.rot90(u8[0])
np.roll(f32, 1, axis=0)
np.pad(f32, 1)
np.pad(f32, (1, 2))
np.pad(f32, ((0, 1), (2, 2)))
np.pad(u8, ((0, 0), (2, 2), (2, 2), (0, 0)), mode="constant")
np.pad(f32, ((0, 0), (1, 1)), "edge")
np.diff(f32)
np.diff(i64)
np.diag(vec)
np.triu(np.ones((4, 4)))
np.meshgrid(i64, vec)[0]
np.indices((3, 4))
"""

JOINING = """
np.concatenate((f32, f32))
np.concatenate([f32, f32], axis=1)
np.concatenate([f32, f64[:, :5]])
np.concatenate([u8, u8, u8], axis=-1)
np.concatenate([i32, f32], axis=0)
np.concatenate([f32, f32], axis=None)
np.stack([f32, f32])
np.stack((f32, f32, f32), axis=-1)
np.stack([f32 for _ in range(4)], axis=1)
np.vstack((f32, f32))
np.vstack([vec, vec, vec])
np.hstack((f32, f32))
np.hstack([vec, vec])
np.dstack((f32, f32))
np.column_stack((i64, i64))
np.append(f32, f32)
np.append(f32, f32, axis=0)
np.append(i64, 3)
np.insert(i64, 0, 5)
np.delete(i64, 2)
np.split(f32, 3)[0]
np.split(f32, 2, axis=0)[1]
np.array_split(i64, 4)[0]
np.array_split(i64, 4)[3]
np.vsplit(f32, 2)[0]
np.block([[f32, f32]])
"""

INDEXING = """
u8[0]
u8[-1]
u8[0, 0]
u8[0][0][0]
u8[2:]
u8[:2]
u8[-2:]
u8[:-1]
u8[1:5:2]
u8[::-1]
u8[::2]
u8[:100]
u8[4:2]
u8[:, 0]
u8[:, :2, 1:]
u8[..., 0]
u8[..., :1]
u8[..., np.newaxis]
u8[np.newaxis]
u8[None, ...]
u8[:, None]
u8[:, :, :, 0]
u8[0, ..., 1]
u8[int(f32[0, 0] * 0)]
u8[int(f32[0, 0] * 0), :2]
u8[:, int(f32[0, 0] * 0)]
u8[None, int(f32[0, 0] * 0)]
u8[[0, 1], int(f32[0, 0] * 0)]
f32[:, -1]
f32[:, [0, 2]]
f32[[0, 1, 2]]
f32[np.array([0, 3])]
f32[i64]
f32[i64[:3]]
f32[i64[:, None]]
f32[np.random.permutation(6)]
f32[:n // 2]
f32[n // 2:]
f32[: int(0.8 * len(f32))]
f32[int(0.8 * len(f32)):]
f32[slice(0, 4)]
f32[slice(None), 1]
f32[i64, 0]
f32[i64 % 2, i64 % 5]
f32[:, None, :] - f32[None, :, :]
f32[0, 0]
u8[i64 % 2, :, 1]
np.stack([i64[i:i + 2] for i in np.random.randint(0, 4, size=3)])
np.stack([i64[i - 2:i] for i in np.random.randint(2, 6, size=3)])
np.stack([f32[i + 1:i + 1 + n // 2] for i in rng.integers(0, 2, 4)])
np.array([i32[i * 2:i * 2 + 2] for i in np.random.randint(3, size=(4,))])
"""

REDUCTION = """
f32.sum()
f32.sum(axis=0)
f32.sum(axis=-1, keepdims=True)
f32.mean()
f32.mean(axis=(0, 1))
u8.mean()
u8.mean(axis=(1, 2))
u8.sum()
u8.sum(axis=0)
u8.max()
u8.max(axis=0)
u8.min(axis=(0, 1, 2))
i32.sum()
i32.mean(axis=1)
flags.sum()
flags.mean()
f16.mean()
f32.std(axis=0)
i64.std()
f32.var()
f32.argmax(axis=1)
f32.argmax()
f32.cumsum(axis=0)
f32.any()
f32.all(axis=0)
f32.prod(axis=1)
f32.dot(f64)
np.sum(f32, axis=1)
np.mean(u8, axis=0)
np.mean(f32, axis=1, keepdims=True)
np.std(i32, axis=0)
np.max(f32)
np.amax(u8, axis=1)
np.min(f32, axis=0)
np.argmax(f32, axis=-1)
np.argmin(f32, 0)
np.argsort(f32)
np.argsort(f32[:, 0])
np.sort(f32)
np.cumsum(i32)
np.median(f32, axis=0)
np.any(f32 > 0, axis=1)
np.count_nonzero(f32)
np.linalg.norm(f32)
np.linalg.norm(f32, axis=1)
np.average(f32, axis=0)
np.percentile(f32, 5)
np.cov(f32.T)
np.triu_indices(3)[0]
"""

SECTIONS = {
    "creation": CREATION,
    "random": RANDOM,
    "arithmetic": ARITHMETIC,
    "astype": ASTYPE,
    "shaping": SHAPING,
    "joining": JOINING,
    "indexing": INDEXING,
    "reduction": REDUCTION,
}

CASES = [
    pytest.param(line, id=f"{section}: {line}")
    for section, text in SECTIONS.items()
    for line in text.strip().splitlines()
]


def by_numpy(expression: str) -> tuple[tuple[int, ...], str]:
    """What NumPy says, by evaluating it."""
    names: dict[str, object] = {}
    exec(PRELUDE + f"result = {expression}\n", names)
    result = names["result"]
    assert isinstance(result, (np.ndarray, np.generic, int)), result
    return np.shape(result), str(np.asarray(result).dtype)


def by_dry_run(expression: str) -> tuple[tuple[int | None, ...] | None, str | None]:
    """What the dry run says, of the text alone."""
    trace = dry_run(parse(document_from_text(PRELUDE + f"result = {expression}\n", "snippet.py")))
    value: Value = [assign.value for assign in trace.assigns() if assign.path == "result"][-1]
    array = as_array(value)
    assert array is not None, value
    shape = None if array.shape is None else tuple(None if dim is None else dim.value for dim in array.shape)
    return shape, array.dtype


@pytest.mark.parametrize("expression", CASES)
def test_shape_and_dtype(expression: str) -> None:
    assert by_dry_run(expression) == by_numpy(expression)


@pytest.mark.parametrize(
    "expression",
    ["np.moveaxis(np.array(3.0), 0, -1)", "np.rollaxis(vec[0], 0)", "np.moveaxis(np.zeros(()), -1, 0)"],
)
def test_axes_of_a_number_are_not_known(expression: str) -> None:
    with pytest.raises(np.exceptions.AxisError):
        by_numpy(expression)
    assert by_dry_run(expression)[0] is None


def test_the_table_is_long_enough() -> None:
    assert len(CASES) >= 120
    assert len({case.values for case in CASES}) == len(CASES)


def test_what_is_not_known_times_a_number_may_be_anything() -> None:
    """A number says nothing of the other side; an array of an axis does, as what is not known mostly is a number."""
    from oomlint.dryrun.trace import Call

    text = PRELUDE + "boxes = load()\nprobe(boxes[:, 0] * vec[0], boxes.ratio * f32)\n"
    trace = dry_run(parse(document_from_text(text, "x.py")))
    call = next(one for one in trace.events if isinstance(one, Call) and one.path == "probe")
    column, scaled = (as_array(one.value) for one in call.arguments)
    assert column is not None and column.shape is None
    assert scaled is not None and [one and one.value for one in scaled.shape or ()] == [6, 5]


def test_a_batch_of_a_list_of_any_length_has_its_size():
    """`names` holds what nobody knows: from i * n to (i + 1) * n it is n of them, if the list goes on so far."""
    text = """\
import glob
import numpy as np
def batch(i, n=12):
    part = sorted(glob.glob("*.npy"))[i * n : (i + 1) * n]
    np.zeros((len(part), 3))
    np.array([float(len(name)) for name in part])
def pairs(names, i, n=5):
    part = names[i : i + n]
    np.zeros((len(part), 2))
    np.array([float(len(name)) for name, label in part])
def half(names, i):
    np.zeros((len(names[i:]), 4))
"""
    trace = dry_run(parse(document_from_text(text, "shapes.py")))
    made = [as_array(call.result) for call in trace.calls("numpy.zeros", "numpy.array")]
    shapes = sorted(str([None if one is None else one.value for one in array.shape]) for array in made)
    assert shapes == ["[12, 3]", "[12]", "[5, 2]", "[5]", "[None, 4]"]
