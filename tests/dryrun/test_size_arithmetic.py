"""Shapes, data types and bytes: the arithmetic by itself, beside NumPy's or worked out by hand."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.catalog.keras import dims as keras_dims
from oomlint.dryrun.sizes import Factor, Size, human
from oomlint.dryrun.values import dtypes, shapes
from oomlint.dryrun.values.arrays import ITEMSIZE, Array, computed_from, shape_text
from oomlint.dryrun.values.base import NONE, Const, Mapping, Sequence, Slice, Step, Unknown
from oomlint.dryrun.values.data import Dataset, leaves, structure_size
from oomlint.dryrun.values.indexing import FEW, FEW_TAG, few_tags, index, is_window, keys_of, most_of, sliced
from oomlint.dryrun.values.program import Library
from oomlint.findings.evidence import factors, over
from oomlint.findings.model import Severity
from oomlint.syntax.parse import parse

SHAPES = [(), (1,), (3,), (2, 3), (3, 1), (1, 3), (2, 1, 3), (2, 3, 4), (1, 1)]


def dims(*sizes):
    return tuple(None if size is None else Const(size) for size in sizes)


def sizes(shape):
    return None if shape is None else tuple(None if dim is None else dim.value for dim in shape)


def said(work):
    """What NumPy says of shapes, None where it raises."""
    try:
        return work()
    except (ValueError, IndexError):
        return None


# --- numbers and axes -----------------------------------------------------------------------------------


def test_numbers_and_what_are_none():
    assert shapes.number(Const(3)) == 3
    assert [shapes.number(one) for one in (None, Const(True), Const(2.0), Const("3"), NONE, Unknown())] == [
        None
    ] * 6
    assert shapes.dim_of(Const(4)) == Const(4)
    assert shapes.dim_of(Const(False)) is None
    assert shapes.dim_of(None) is None


def test_shapes_that_arguments_give():
    assert sizes(shapes.shape_of(Const(5))) == (5,)
    assert sizes(shapes.shape_of(Sequence("tuple", items=[Const(2), Unknown(), Const(3)]))) == (2, None, 3)
    assert sizes(shapes.shape_of(Sequence("tuple", element=Const(7), count=Const(16)))) == (7,) * 16
    assert shapes.shape_of(Sequence("tuple", element=Const(7), count=Const(17))) is None
    assert shapes.shape_of(Sequence("tuple", element=Const(7))) is None
    assert [shapes.shape_of(one) for one in (None, Unknown(), NONE, Const(2.5))] == [None] * 4
    assert shapes.axes_of(Sequence("tuple", items=[Const(0), Const(-1)])) == (0, -1)
    assert shapes.axes_of(Sequence("tuple", items=[Const(0), Unknown()])) is None
    assert shapes.axes_of(Unknown()) is None
    assert shapes.axes_of(Const(0)) == (0,)
    assert shapes.known(dims(2, 3)) == [2, 3]
    assert shapes.known(()) == []
    assert shapes.known(dims(2, None)) is None
    assert shapes.known(None) is None
    assert sizes((shapes.total(dims(2, 3, 4)), shapes.total(dims(2, None)), shapes.total(None))) == (
        24,
        None,
        None,
    )


def test_what_is_computed_keeps_its_ways_and_its_softness():
    one, two = Step("A"), Step("B")
    given = shapes.derived(6, Const(2, (one,)), None, Const(3, (two, one), soft=True))
    assert (given.value, given.trail, given.soft) == (6, (one, two), True)
    assert not shapes.derived(6, Const(2), Const(3)).soft


# --- shapes beside NumPy --------------------------------------------------------------------------------


@pytest.mark.parametrize(("left", "right"), itertools.product(SHAPES, SHAPES))
def test_broadcast(left, right):
    right_answer = said(lambda: np.broadcast_shapes(left, right))
    if right_answer is not None:  # what NumPy refuses does not go on
        assert sizes(shapes.broadcast(dims(*left), dims(*right))) == right_answer


def test_broadcast_of_what_is_not_known():
    assert sizes(shapes.broadcast(dims(None, 3), dims(4, 1))) == (4, 3)
    assert sizes(shapes.broadcast(dims(None), dims(1))) == (None,)
    assert sizes(shapes.broadcast(dims(1), dims(1), dims(1))) == (1,)
    assert sizes(shapes.broadcast(dims(2, 3))) == (2, 3)
    assert shapes.broadcast(dims(2), None) is None
    assert shapes.broadcast() is None


@pytest.mark.parametrize("shape", SHAPES)
def test_reshapes(shape):
    count = int(np.prod(shape))
    for target in ((-1,), (1, -1), (-1, 1), (count,), (3, -1), (-1, 2), (0, -1)):
        right = said(lambda target=target: np.zeros(shape).reshape(target).shape)
        if right is not None:
            assert sizes(shapes.reshape(dims(*shape), dims(*target))) == right


def test_reshapes_that_do_not_go_on():
    assert sizes(shapes.reshape(dims(7), dims(2, -1))) == (2, None)
    assert sizes(shapes.reshape(dims(8), dims(-1, -1))) == (None, None)
    assert sizes(shapes.reshape(dims(8), dims(0, -1))) == (0, None)
    assert sizes(shapes.reshape(None, dims(-1, 4))) == (None, 4)
    assert sizes(shapes.reshape(dims(8), dims(None, -1))) == (None, None)
    assert sizes(shapes.reshape(None, dims(2, 4))) == (2, 4)
    assert shapes.reshape(dims(8), None) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_axes_that_move_come_and_go(shape):
    array, known = np.zeros(shape), dims(*shape)
    assert sizes(shapes.transpose(known, ())) == array.T.shape
    for axes in itertools.permutations(range(-len(shape), 0)):
        if axes:
            assert sizes(shapes.transpose(known, axes)) == array.transpose(axes).shape
    for axis in range(-len(shape) - 1, len(shape) + 1):
        assert sizes(shapes.expand(known, (axis,))) == np.expand_dims(array, axis).shape
        assert sizes(shapes.stack(known, Const(5), axis)) == np.stack([array] * 5, axis).shape
    assert sizes(shapes.squeeze(known, None)) == np.squeeze(array).shape
    for axis in range(-len(shape), len(shape)):
        right = said(lambda axis=axis: np.squeeze(array, axis).shape)
        if right is not None:
            assert sizes(shapes.squeeze(known, (axis,))) == right
        assert sizes(shapes.reduce(known, (axis,))) == array.sum(axis).shape
        assert sizes(shapes.reduce(known, (axis,), keep=True)) == array.sum(axis, keepdims=True).shape
        assert sizes(shapes.concatenate([known, known], axis)) == np.concatenate([array, array], axis).shape
        assert shapes.dimension_at(known, axis) == Const(shape[axis])
        changed = sizes(shapes.with_dim(known, axis, Const(9)))
        assert changed == tuple(9 if at == axis % len(shape) else size for at, size in enumerate(shape))
    for beyond in (len(shape), -len(shape) - 1):
        assert shapes.dimension_at(known, beyond) is None
        assert shapes.with_dim(known, beyond, Const(9)) is None
        assert shapes.concatenate([known], beyond) is None


def test_axes_of_what_is_not_known():
    assert shapes.transpose(dims(2, 3), (0,)) is None
    assert shapes.transpose(dims(2, 3), (0, 2)) is None
    assert shapes.transpose(dims(2, 3), (0, -3)) is None
    assert shapes.transpose(dims(2, 3), None) is None
    assert shapes.transpose(None, ()) is None
    assert shapes.expand(None, (0,)) is None
    assert shapes.expand(dims(2), None) is None
    assert sizes(shapes.expand(dims(2, 3), (0, 2))) == (1, 2, 1, 3)
    assert shapes.squeeze(None, (0,)) is None
    assert shapes.squeeze(dims(1, None), None) is None
    assert sizes(shapes.squeeze(dims(1, None, 3), (0,))) == (None, 3)
    assert shapes.squeeze((), (0,)) == ()
    assert shapes.reduce(None, (0,)) is None
    assert shapes.reduce(dims(2), None) is None
    assert shapes.reduce((), (0,)) == ()
    assert shapes.stack(None, Const(2), 0) is None
    assert shapes.dimension_at(None, 0) is None
    assert shapes.with_dim(None, 0, Const(1)) is None


def test_joined_and_taken_some_times_over():
    assert sizes(shapes.concatenate([dims(2, 3), dims(4, None)], 0)) == (6, 3)
    assert sizes(shapes.concatenate([dims(2, None), dims(None, 3)], 0)) == (None, 3)
    assert sizes(shapes.concatenate([dims(2, 3), None], 0)) == (None, 3)
    assert sizes(shapes.concatenate([dims(2, 3)], 0, Const(5))) == (10, 3)
    assert sizes(shapes.concatenate([dims(2, 3)], -1, Const(5))) == (2, 15)
    assert shapes.concatenate([dims(2, 3), dims(2)], 0) is None
    assert shapes.concatenate([], 0) is None
    assert shapes.concatenate([None], 0) is None
    assert sizes((shapes.add_dims(dims(2, 3)), shapes.add_dims(dims(2, None)), shapes.add_dims([]))) == (
        5,
        None,
        0,
    )
    assert sizes(
        (shapes.scale(Const(2), Const(3)), shapes.scale(None, Const(3)), shapes.scale(Const(2), None))
    ) == (
        6,
        None,
        None,
    )


def test_einsum():
    assert sizes(shapes.einsum_shape("btd, dv -> btv", [dims(2, 3, 4), dims(4, 5)])) == (2, 3, 5)
    assert sizes(shapes.einsum_shape("ab,bc->ca", [dims(None, 3), dims(3, None)])) == (None, None)
    assert sizes(shapes.einsum_shape("ab->", [dims(2, 3)])) == ()
    assert shapes.einsum_shape("ab,bc->ac", [dims(2, 3), None]) is None
    assert shapes.einsum_shape("ab,bc->ac", [dims(2, 3), dims(3)]) is None
    assert shapes.einsum_shape("ab,bc", [dims(2, 3), dims(3, 4)]) is None
    assert shapes.einsum_shape("...a->a", [dims(2)]) is None
    assert shapes.einsum_shape(None, []) is None


# --- subscripts beside NumPy ----------------------------------------------------------------------------


def abstract(key):
    match key:
        case tuple():
            return Sequence("tuple", items=[abstract(one) for one in key])
        case slice():
            return Slice(Const(key.start), Const(key.stop), Const(key.step))
        case list():
            return Sequence("list", items=[Const(one) for one in key])
        case np.ndarray():
            return Array(shape=dims(*key.shape), dtype=str(key.dtype))
    return Const(key)


KEYS = (
    0, -1, slice(None), slice(1, None), slice(None, 2), slice(None, None, 2), slice(None, None, -1), slice(2, 0, -1),
    slice(-2, None), None, Ellipsis, [0, 1], [1], np.array([0, 1, 1]), np.array([[0, 1]]),
)  # fmt: skip


@pytest.mark.parametrize("shape", [(4,), (4, 5), (4, 5, 6)])
def test_subscripts(shape):
    array = np.zeros(shape)
    for length in (1, 2, 3):
        for key in itertools.product(KEYS, repeat=length):
            right = said(lambda key=key: array[key].shape)
            if right is not None:
                assert sizes(index(dims(*shape), abstract(key))) == right, key


def test_arrays_apart_behind_a_dimension_that_is_left():
    array = np.zeros((3, 4, 5, 6))
    keys = (0, slice(None), slice(1, None, 2), None, [0, 1], [1], np.array([[0], [1], [1]]))
    for key in itertools.product(keys, repeat=4):
        assert sizes(index(dims(3, 4, 5, 6), abstract(key))) == array[key].shape, key


def test_subscripts_of_what_is_not_known():
    assert index(None, Const(0)) is None
    assert index(dims(4), Sequence("tuple", items=[Const(0), Const(0)])) is None
    assert index(dims(4, 5), Sequence("tuple", items=[Const(Ellipsis), Const(Ellipsis)])) is None
    assert index(dims(4, 5), Unknown()) is None
    assert sizes(index(dims(4, 5), Unknown(type="int"))) == (5,)
    assert index(dims(4, 5), Const(True)) is None
    assert sizes(index(dims(None, 5), abstract(slice(0, 2)))) == (None, 5)
    mask = Array(shape=dims(4, 5), dtype="bool")
    assert sizes(index(dims(4, 5, 6), mask)) == (None, 6)
    assert index(dims(4, 5), Array(shape=None, dtype="bool")) is None
    assert index(dims(4, 5), Array(shape=None, dtype="int64")) is None
    assert index(dims(4, 5), Array(library="h5py", shape=dims(3), dtype="int64")) is None
    assert sizes(sliced_dims(10, slice(None))) == (10,)
    assert sizes(sliced_dims(None, slice(None))) == (None,)
    assert sizes(sliced_dims(None, slice(1, 3))) == (None,)
    assert sliced(Const(10), Slice(Const(None), Unknown(), Const(None))) is None
    assert sliced(Const(10), Slice(Const(None), Const(None), Const(0))) is None
    assert sliced(Const(10), Slice(Const(None), Const("a"), Const(None))) is None
    assert keys_of(Const(3)) == [Const(3)]
    assert keys_of(Sequence("tuple", items=[Const(1), Const(2)])) == [Const(1), Const(2)]
    listed = Sequence("list", items=[Const(1), Const(2)])
    assert keys_of(listed) == [listed]


def sliced_dims(size, key):
    return (sliced(None if size is None else Const(size), abstract(key)),)


# --- data types beside NumPy ----------------------------------------------------------------------------

NAMES = [name for name in ITEMSIZE if name != "bfloat16"]


@pytest.mark.parametrize("name", NAMES)
def test_data_types(name):
    kind = np.dtype(name)
    assert ITEMSIZE[name] == kind.itemsize
    assert dtypes.named(kind.name) == name
    assert dtypes.named(kind.char) == name
    assert dtypes.named(kind.str) == name
    assert dtypes.parts(name) == (kind.kind, kind.itemsize * 8)
    assert dtypes.is_float(name) is (kind.kind == "f")
    for other in NAMES:
        assert dtypes.promote(name, other) == np.promote_types(name, other).name, other
    one = np.ones(2, name)
    for number in (True, 1, 1.5, 1j):
        assert dtypes.with_python(name, number) == np.result_type(one, number).name, number
    assert dtypes.as_float(name) == np.sqrt(one).dtype.name
    assert dtypes.divided(name) == (one / one).dtype.name
    assert dtypes.summed(name) == one.sum().dtype.name


def test_data_types_that_are_none():
    for nothing in (None, "string", "object", "float", "int"):
        assert dtypes.with_python(nothing, 1) is None
        assert dtypes.as_float(nothing) is None
        assert dtypes.divided(nothing) is None
        assert dtypes.summed(nothing) is None
        assert dtypes.promote(nothing, "float32") is None
        assert dtypes.promote("float32", nothing) is None
    assert dtypes.promote("string", "string") == "string"
    assert not dtypes.is_float(None)
    assert not dtypes.is_float("int32")
    assert dtypes.parts("uint") is None


def test_data_types_by_other_names():
    for text in (
        "double",
        "half",
        "single",
        "intc",
        "short",
        "byte",
        "ubyte",
        "?",
        "f4",
        "<i8",
        ">u2",
        "|b1",
        "c16",
    ):
        assert dtypes.named(text) == np.dtype(text).name
    assert [dtypes.named(text) for text in ("U10", "S3", "<U7", "str", "bytes")] == ["string"] * 5
    assert [dtypes.named(text) for text in ("object", "O")] == ["object"] * 2
    assert dtypes.named("bfloat16") == "bfloat16"
    assert [dtypes.named(text) for text in ("", "f", "f3", "Ux", "f4x", "nothing", "x8", "b2")] == [
        None, "float32", None, None, None, None, None, None,
    ]  # fmt: skip
    assert dtypes.dtype_of(Const("uint8")) == "uint8"
    assert dtypes.dtype_of(Library("numpy.float32")) == "float32"
    assert dtypes.dtype_of(Library("builtins.float")) == "float64"
    assert dtypes.dtype_of(Library("keras.float32")) is None
    assert [dtypes.dtype_of(one) for one in (None, Unknown(), Const(32))] == [None] * 3


# --- bytes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (10_239, "10,239 B"),
        (10_240, "10 KiB"),
        (10_300, "10.1 KiB"),
        (999 * 1024, "999 KiB"),
        (1000 * 1024, "0.977 MiB"),
        (100 * 1024, "100 KiB"),
        (99.94 * 1024, "99.9 KiB"),
        (1_181_116_006, "1.1 GiB"),
        (602_112 * 1_281_167, "718 GiB"),
        (3 * 2**40, "3 TiB"),
        (5_000 * 2**40, "5,000 TiB"),
        (10**400, "10^400 B"),  # above all floats: seed 8017145 of the generated programs
    ],
)
def test_bytes_in_words(count, words):
    assert human(count) == words


@pytest.mark.parametrize("bounds", [*itertools.product((-3, 0, 2, 7), (-4, 0, 5, 7), (-3, -1, 1, 2, 3))])
def test_steps_are_what_python_counts(bounds):
    assert shapes.steps_of(range(*bounds)) == len(range(*bounds))


def test_steps_of_more_than_a_machine_word():
    assert shapes.steps_of(range(10**30)) == 10**30  # `len` raises OverflowError
    assert shapes.steps_of(range(0, 10**30, 10)) == 10**29
    text = "import tensorflow as tf\nnumbers = tf.data.Dataset.range(10**25)\npart = [0, 1][: 10**25]\n"
    trace = dry_run(parse(document_from_text(text, "large.py")))
    (count,) = [one.value.count for one in trace.assigns() if one.path == "numbers"]
    assert count.value == 10**25


def test_bytes_of_more_digits_than_python_writes_have_words():
    assert human(3 * 10**5_000) == "10^5000 B"


def test_sizes_add_up_and_multiply():
    one = Size(8, True, (Factor(8, "a number", (), "B"),))
    step = Step("N")
    many = one.times(Const(5, (step,)), "{} rows")
    assert (many.bytes, many.exact, many.factors) == (40, True, (Factor(5, "{} rows", (step,)), *one.factors))
    both = many.plus(one)
    assert (both.bytes, both.exact, both.factors) == (48, True, many.factors + one.factors)
    least = many.plus(None)
    assert (least.bytes, least.exact, least.factors) == (40, False, many.factors)
    assert not one.plus(least).exact
    assert not least.plus(one).exact
    assert not least.times(Const(2), "{}").exact
    assert (str(many), str(least)) == ("40 B", "at least 40 B")


def test_arrays_have_the_bytes_of_their_shape():
    step, way = Step("numpy.zeros"), Step("ROWS")
    array = Array(shape=(Const(1_000, (way,)), Const(3)), dtype="float32", origin=step)
    assert array.rank == 2
    assert array.size == Size(
        12_000, True, (Factor(12_000, "(1,000, 3) float32 from numpy.zeros", (step, way), "B"),)
    )
    assert Array(shape=dims(7), dtype="uint8").size == Size(7, True, (Factor(7, "(7,) uint8", (), "B"),))
    assert Array(shape=(), dtype="float64").size == Size(8, True, (Factor(8, "() float64", (), "B"),))
    assert Array(shape=dims(0, 5), dtype="float64").size.bytes == 0
    for unknown in (
        Array(shape=None, dtype="float32"),
        Array(shape=dims(2, None), dtype="float32"),
        Array(shape=dims(2), dtype=None),
        Array(shape=dims(2), dtype="string"),
        Array(shape=dims(-1), dtype="float32"),
        Array(shape=dims(2.5), dtype="float32"),
    ):
        assert unknown.size is None
    assert Array().rank is None
    assert [shape_text(shape) for shape in (None, (), dims(3), dims(None, 3))] == [
        "(unknown rank)", "()", "(3,)", "(None, 3)",
    ]  # fmt: skip


def test_a_sum_remembers_both_of_its_graphs():
    left, right = Array(library="keras", producer=Unknown()), Array(library="keras", producer=Unknown())
    result = Array(library="keras", producer=left.producer)
    kept = computed_from(result, [left, Sequence("list", items=[right, Const(1)])])
    assert kept.producer.items == [left, right]
    assert computed_from(result, [left, Const(2)]) is result
    own = Array(library="keras", producer=Unknown())
    assert computed_from(own, [left, right]) is own
    plain = Array(library="numpy")
    assert computed_from(plain, [left, right]) is plain
    symbolic = Unknown(tags=frozenset({"symbolic"}))
    assert computed_from(result, [left, symbolic]).producer.items == [left, symbolic]
    assert computed_from(result, [left, Unknown()]) is result
    assert computed_from(Const(1), [left, right]) == Const(1)


def test_elements_are_the_sum_of_their_parts():
    four, eight = Array(shape=(), dtype="float32"), Array(shape=dims(2), dtype="float32")
    nested = Sequence("tuple", items=[four, Mapping(entries={"a": eight, "b": Array(shape=None)})])
    assert [leaf.dtype for leaf in leaves(nested)] == ["float32", "float32", None]
    assert isinstance(leaves(None)[0], Unknown)
    assert (structure_size(nested).bytes, structure_size(nested).exact) == (12, False)
    assert structure_size(Sequence("tuple", items=[four, eight])).exact
    assert structure_size(eight).bytes == 8
    assert structure_size(Unknown()) is None
    assert structure_size(Sequence("tuple", items=[])) is None
    assert Dataset(element=eight).element_size.bytes == 8


def test_datasets_that_meet():
    four, eight = Array(shape=dims(1), dtype="float32"), Array(shape=dims(2), dtype="float32")
    one = Dataset(element=four, count=Const(5), tags=frozenset({"a"}))
    two = Dataset(element=eight, count=Const(5), infinite=True, distributed=True, tags=frozenset({"b"}))
    both = one.joined(two)
    assert (both.count, both.infinite, both.distributed, both.tags) == (Const(5), True, True, {"a", "b"})
    assert (both.element.dtype, both.element.size) == ("float32", None)
    assert one.joined(Dataset(count=Const(6))).count is None
    assert one.joined(Dataset(element=None)).element is None
    assert not one.joined(one).infinite
    assert not one.joined(one).distributed
    assert one.stage("map") is None


# --- beside a budget ------------------------------------------------------------------------------------


def test_a_quarter_is_a_warning_and_more_than_all_an_error():
    found = [over(Size(count, True, ()), 1_000) for count in (250, 251, 1_000, 1_001)]
    assert found == [None, Severity.WARNING, Severity.WARNING, Severity.ERROR]


def test_factors_say_where_they_come_from():
    def lines(*given):
        return [note.text for note in factors(Size(1, True, given))]

    assert lines(Factor(3, "rows", ())) == ["rows 3"]
    assert lines(Factor(3, "{} rows", ())) == ["3 rows"]
    assert lines(Factor(1_000, "a batch", (), "B")) == ["1,000 B: a batch"]
    assert lines(Factor(2**20 - 1, "a batch", (), "B")) == ["1,048,575 B: a batch"]
    assert lines(Factor(2**20, "a batch", (), "B")) == ["1,048,576 B (1 MiB): a batch"]
    assert lines(Factor(2**20, "{} rows", ())) == ["1,048,576 rows"]
    assert lines(Factor(3, "{} rows", (Step("N"),))) == ["3 rows, from N"]
    assert lines(Factor(3, "{} rows, from N", (Step("N"),))) == ["3 rows, from N"]
    assert lines(Factor(3, "{} rows", (Step(""),))) == ["3 rows"]
    assert lines(Factor(3, "{} rows", (Step("N"), Step("M")))) == ["3 rows, from N"]
    assert lines(Factor(3, "{} rows", ()), Factor(4, "B", ())) == ["3 rows", "B 4"]


# --- layers' dimensions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 5, 6, 7, 28])
@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [None, 1, 2])
def test_windows_that_fit(size, kernel, stride, dilation):
    reach = (kernel - 1) * (dilation or 1)
    valid = len([start for start in range(0, size, stride) if start + reach < size])
    spread = None if dilation is None else Const(dilation)

    def length(padding):
        found = keras_dims.extent(Const(size), Const(kernel), Const(stride), padding, spread)
        return None if found is None else found.value

    assert length("valid") == (valid or None)
    assert length("same") == length("causal") == len(range(0, size, stride))
    assert length("full") is None
    assert length(None) is None


def test_windows_of_what_is_not_known():
    one = Const(1)
    assert keras_dims.extent(None, one, one, "same") is None
    assert keras_dims.extent(Const(4), one, None, "same") is None
    assert keras_dims.extent(Const(4), one, Const(0), "same") is None
    assert keras_dims.extent(Const(4), None, one, "valid") is None
    assert keras_dims.extent(Const(4), None, one, "same") == Const(4)
    assert keras_dims.extent(Const(4), one, one, "valid", Const("x")) is None


def test_numbers_of_weights():
    assert keras_dims.parameters({"kernel": dims(3, 4), "bias": dims(4)}) == 16
    assert keras_dims.parameters({"gamma": dims(4), "bn/moving_mean": dims(4)}, trained_only=True) == 4
    assert keras_dims.parameters({"gamma": dims(4), "bn/moving_mean": dims(4)}) == 8
    assert keras_dims.parameters({"kernel": dims(3, None)}) is None
    assert keras_dims.parameters(None) is None
    assert keras_dims.parameters({}) == 0
    assert keras_dims.elements(()) == 1
    assert keras_dims.prefixed("a", {"b": ()}) == {"a/b": ()}
    assert keras_dims.prefixed("a", None) is None
    assert keras_dims.together({"a": ()}, {"b": ()}) == {"a": (), "b": ()}
    assert keras_dims.together({"a": ()}, None) is None


def test_dimensions_of_layers():
    assert keras_dims.product(dims(2, 3)) == Const(6)
    assert keras_dims.product(dims(2, None)) is None
    assert keras_dims.total(Const(2), Const(3)) == Const(5)
    assert keras_dims.total(Const(2), None) is None
    assert keras_dims.scaled(Const(2), 3) == keras_dims.scaled(Const(2), Const(3)) == Const(6)
    assert keras_dims.derived(-1) is None
    assert keras_dims.derived(0) == Const(0)
    assert [keras_dims.known(dim) for dim in (Const(0), Const(-1), Const("a"), None)] == [0, None, None, None]
    assert sizes(keras_dims.split(dims(2, 3, 4), True)[1]) == (4,)
    assert keras_dims.split(dims(2, 3, 4, 5), True) == (Const(2), dims(4, 5), Const(3))
    assert keras_dims.split(dims(2, 3, 4, 5), False) == (Const(2), dims(3, 4), Const(5))
    assert keras_dims.split(dims(2, 3), False) is None
    assert keras_dims.split(dims(2, 3, 4), None) is None
    assert sizes(keras_dims.unite(Const(2), dims(4, 5), Const(3), True)) == (2, 3, 4, 5)
    assert sizes(keras_dims.unite(Const(2), dims(4, 5), Const(3), False)) == (2, 4, 5, 3)
    assert [keras_dims.axis_of(axis, 3) for axis in (0, 2, 3, -1, -3, -4, True, None)] == [
        0, 2, None, 2, 0, None, None, None,
    ]  # fmt: skip


def test_arguments_of_layers():
    config = keras_dims.Config(
        {
            "units": Const(4),
            "size": Sequence("tuple", items=[Const(3), Const(5)]),
            "none": NONE,
            "unknown": Unknown(),
            "data_format": Const("channels_first"),
            "use_bias": Const(0),
        }
    )
    assert (config.get("units"), config.get("size"), config.get("other", 7)) == (4, (3, 5), 7)
    assert config.get("unknown") is keras_dims.UNSURE
    assert config.value("units") == Const(4)
    assert config.value("other") is None
    assert (config.dim("units"), config.dim("other"), config.dim("other", 3)) == (Const(4), None, Const(3))
    assert (config.flag("use_bias", True), config.flag("other", True), config.flag("unknown", True)) == (
        False, True, None,
    )  # fmt: skip
    assert sizes(config.window("units", 2)) == (4, 4)
    assert sizes(config.window("size", 2)) == (3, 5)
    assert sizes(config.window("size", 3)) == (None, None, None)
    assert sizes(config.window("none", 2)) == (1, 1)
    assert sizes(config.window("other", 2, None)) == (None, None)
    assert sizes(config.window("unknown", 1)) == (None,)
    assert config.channels_first()
    assert keras_dims.Config({}).channels_first() is False
    some = keras_dims.Config({}, partial=True)
    assert some.get("units", 7) is keras_dims.UNSURE
    assert some.dim("units", 3) is None
    assert some.channels_first() is None
    assert sizes(some.window("units", 2)) == (None, None)
    assert keras_dims.plain(Sequence("tuple", items=[Const(1), Unknown()])) is keras_dims.UNSURE
    assert keras_dims.plain(None) is keras_dims.UNSURE


def test_what_is_left_out_of_shapes_and_sets():
    assert sizes(shapes.broadcast(dims(2), dims(2), dims(1))) == (2,)
    assert ITEMSIZE["complex128"] == 16
    assert not Dataset().distributed
    assert not Dataset().infinite
    one, two = Dataset(count=Const(1)), Dataset(element=Array(shape=dims(1), dtype="float32"))
    assert one.joined(two).element is None
    assert two.joined(one).element is None


def test_a_part_of_what_cannot_be_so_long_is_not_known():
    """A script's own arithmetic may come out below zero; NumPy would have raised by then."""
    assert sliced(Const(-2), Slice(stop=Const(5))) is None


def test_two_data_sets_that_meet_go_on_as_the_longer_one():
    stages = tuple(
        SimpleNamespace(name=f"tf.data.Dataset.{name}")
        for name in ("from_tensor_slices", "shuffle", "batch", "shuffle")
    )
    longer = Dataset(stages=stages[:3], infinite=True)
    shorter = Dataset(stages=stages[:2], distributed=True)
    for one, other in ((longer, shorter), (shorter, longer)):
        both = one.joined(other)
        assert both.stages == stages[:3]
        assert both.infinite and both.distributed
    alike = Dataset(stages=(stages[0],))
    assert alike.joined(Dataset(stages=(stages[1],))).stages == (stages[0],)  # the first of two as long
    assert Dataset(stages=stages).stage("shuffle") is stages[3]  # the last of that name
    assert Dataset(stages=stages).stage("batch") is stages[2]
    assert Dataset(stages=stages).stage("map") is None


def test_a_few_of_many_and_windows():
    unknown = Unknown(type="int")
    first = few_tags(Slice(stop=Const(9)))
    assert FEW_TAG in first and most_of(first) == 9
    assert most_of(first | few_tags(Slice(stop=Const(16)))) == 16
    assert most_of(few_tags(Slice(stop=Const(FEW)))) == FEW
    assert (
        few_tags(Slice(stop=Const(FEW + 1)))
        == few_tags(Slice(stop=Const(-1)))
        == few_tags(Slice())
        == frozenset()
    )
    assert few_tags(Slice(start=unknown, stop=unknown)) == {FEW_TAG}
    assert most_of(frozenset({FEW_TAG})) is None
    # Both ends computed, or one and a number; one end left open is a split, and two numbers are no window of it.
    assert is_window(Slice(start=unknown, stop=unknown)) and is_window(Slice(start=Const(8), stop=unknown))
    assert not is_window(Slice(stop=unknown)) and not is_window(Slice(start=Const(0), stop=unknown))
    assert not is_window(Slice(start=Const(8), stop=Const(5000)))


def test_a_slice_of_a_dimension_of_no_length_that_is_known():
    assert sliced(Const(-1), Slice(stop=Const(4))) is None
    assert sliced(None, Slice(stop=Const(4))) is None
