"""tf.data: where elements come from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import PART, without_loads
from oomlint.dryrun.catalog.registry import Iteration, attribute, function, iteration, method
from oomlint.dryrun.catalog.tensorflow.tensor_values import as_numpy, as_tensor, component, each, static
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Step, Unknown, Value, deref, merge
from oomlint.dryrun.values.data import Dataset, leaves
from oomlint.dryrun.values.dtypes import dtype_of
from oomlint.dryrun.values.shapes import number, steps_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


def source(call: Call, element: Value | None, count: Const | None = None, infinite: bool = False) -> Dataset:
    """A dataset whose first stage is this call."""
    return Dataset(element=element, count=count, infinite=infinite, stages=(call,))


@function("tf.data.Dataset.from_tensor_slices", parameters="tensors name")
def from_tensor_slices(call: Call, run: Run) -> Value:
    """One element per row of the arrays."""
    whole = component(call.value("tensors"))
    return source(call, each(whole, _row), _rows(whole))


def _row(whole: Array) -> Array:
    shape = None if whole.shape is None else whole.shape[1:]
    return replace(whole, shape=shape, tags=without_loads(whole.tags) | {PART})


def _rows(whole: Value) -> Const | None:
    """How many rows: the first leaf that tells."""
    for leaf in leaves(whole):
        if isinstance(leaf, Array) and leaf.shape and leaf.shape[0] is not None:
            return leaf.shape[0]
    return None


@function("tf.data.Dataset.from_tensors", parameters="tensors name")
def from_tensors(call: Call, run: Run) -> Value:
    """One element: the whole."""
    return source(call, component(call.value("tensors")), Const(1))


@function("tf.data.Dataset.range")
def integers(call: Call, run: Run) -> Value:
    """Numbers, as Python's range; int64 unless told otherwise."""
    given = [deref(argument.value) for argument in call.arguments if argument.name is None]
    dtype = dtype_of(call.value("output_type")) if call.argument("output_type") is not None else "int64"
    numbers = [number(value) for value in given]
    count = None
    if 1 <= len(numbers) <= 3 and None not in numbers and numbers[2:] != [0]:
        ends = [value for value in given if isinstance(value, Const)]
        soft = any(value.soft for value in ends)
        total = steps_of(range(*[part for part in numbers if part is not None]))
        count = Const(total, merge(*(value.trail for value in ends)), soft)
    return source(call, Array("tensor", (), dtype), count)


@function(
    "tf.data.Dataset.random",
    "tf.data.experimental.RandomDataset",
    parameters="seed rerandomize_each_iteration",
)
def random_numbers(call: Call, run: Run) -> Value:
    """Seeds without end."""
    return source(call, Array("tensor", (), "int64", tags=frozenset({"random"})), None, True)


@function("tf.data.Dataset.counter", "tf.data.experimental.Counter", parameters="start step dtype")
def counter(call: Call, run: Run) -> Value:
    """Numbers without end."""
    dtype = dtype_of(call.value("dtype")) if call.argument("dtype") is not None else "int64"
    return source(call, Array("tensor", (), dtype), None, True)


@function("tf.data.Dataset.list_files", parameters="file_pattern shuffle seed name")
def list_files(call: Call, run: Run) -> Value:
    """File names; how many there are is not in the text."""
    return source(call, Array("tensor", (), "string", tags=frozenset({"path"})))


@function(
    "tf.data.TFRecordDataset", parameters="filenames compression_type buffer_size num_parallel_reads name"
)
@function(
    "tf.data.TextLineDataset", parameters="filenames compression_type buffer_size num_parallel_reads name"
)
@function("tf.data.FixedLengthRecordDataset", parameters="filenames record_bytes header_bytes footer_bytes")
def records(call: Call, run: Run) -> Value:
    """Raw records or lines of files."""
    return source(call, Array("tensor", (), "string", Step(call.name, call.place), frozenset({"raw"})))


@function(
    "tf.data.experimental.CsvDataset",
    parameters="filenames record_defaults compression_type buffer_size header",
)
def csv_rows(call: Call, run: Run) -> Value:
    """One scalar per column."""
    columns = call.value("record_defaults")
    if not isinstance(columns, Sequence) or columns.items is None:
        return source(call, None)
    parts: list[Value] = []
    for column in columns.items:
        dtype = dtype_of(column)
        known = as_tensor(column)
        parts.append(Array("tensor", (), dtype or (known.dtype if known is not None else None)))
    return source(call, Sequence("tuple", items=parts))


@function("tf.data.experimental.make_csv_dataset", parameters="file_pattern batch_size")
@function(
    "tf.data.experimental.make_batched_features_dataset", parameters="file_pattern batch_size features reader"
)
def read_batches(call: Call, run: Run) -> Value:
    """Batches of columns; repeats without end unless `num_epochs` is given."""
    made = source(call, None, None, call.argument("num_epochs") is None)
    return replace(made, tags=frozenset({"batched"}))


@function(
    "tf.data.Dataset.from_generator",
    parameters="generator output_types output_shapes args output_signature name",
)
def from_generator(call: Call, run: Run) -> Value:
    """What the signature says. The generator's body runs as a generator, whoever defined it."""
    generator, inner = call.value("generator"), Iteration(element=None)
    if generator is not None:
        given = call.value("args")
        items = given.items if isinstance(given, Sequence) and given.items is not None else []
        made = run.call(generator, [as_numpy(component(item)) for item in items], call, "generator")
        inner = run.iterate(made)
    signature = call.value("output_signature")
    if signature is not None:
        return replace(source(call, component(signature)), at_most=inner.count)
    element = typed(call.value("output_types"), call.value("output_shapes"), call)
    element = _as_given(element, inner.items[0] if inner.items else inner.element)
    return replace(source(call, element), at_most=inner.count)


def _as_given(declared: Value, given: Value | None) -> Value:
    """Shapes that are not declared are those of what the generator gives."""
    given = deref(given) if given is not None else None
    match declared, given:
        case Array(shape=None), Array(shape=shape):
            return replace(declared, shape=shape)
        case Sequence(items=list(parts)), Sequence(items=list(values)) if len(parts) == len(values):
            pairs = zip(parts, values, strict=True)
            return Sequence("tuple", items=[_as_given(deref(part), value) for part, value in pairs])
    return declared


def typed(types: Value | None, shapes: Value | None, call: Call) -> Value:
    """An element given by its dtypes and, perhaps, its shapes."""
    types = deref(types) if types is not None else None
    shapes = deref(shapes) if shapes is not None else None
    match types:
        case Sequence(items=list(items)):
            parts = shapes.items if isinstance(shapes, Sequence) and shapes.items is not None else []
            pairs = [(item, parts[at] if at < len(parts) else None) for at, item in enumerate(items)]
            return Sequence("tuple", items=[typed(item, shape, call) for item, shape in pairs])
        case Mapping(entries=entries):
            known = shapes.entries if isinstance(shapes, Mapping) else {}
            return Mapping({key: typed(item, known.get(key), call) for key, item in entries.items()})
        case None | Unknown():
            return Unknown()
    shape = None if shapes is None else static(shapes)
    return Array("tensor", shape, dtype_of(types), Step(call.name, call.place))


@function("tf.TensorSpec", "tf.compat.v1.placeholder_spec", parameters="shape dtype name")
def tensor_spec(call: Call, run: Run) -> Value:
    """A tensor's shape and dtype; float32 by default."""
    dtype = dtype_of(call.value("dtype")) if call.argument("dtype") is not None else "float32"
    return Array("tensor", static(call.value("shape")), dtype, Step(call.name, call.place))


@function("tf.TensorShape", parameters="dims")
def tensor_shape(call: Call, run: Run) -> Value:
    """A shape is a tuple of its dimensions."""
    shape = static(call.value("dims"))
    if shape is None:
        return Unknown()
    return Sequence("tuple", items=[Const(None) if dim is None else dim for dim in shape])


@function(
    "tf.data.Dataset.load",
    "tf.data.experimental.load",
    parameters="path element_spec",
)
def loaded(call: Call, run: Run) -> Value:
    """A saved dataset."""
    spec = call.value("element_spec")
    return source(call, None if spec is None else component(spec))


# --- looking into a dataset -------------------------------------------------------------------------


@function("tf.data.experimental.cardinality", parameters="dataset")
def cardinality_of(call: Call, run: Run) -> Value:
    """As the method."""
    return _cardinality(call.value("dataset"), call)


@method(Dataset, "cardinality", "__len__")
def cardinality(call: Call, run: Run) -> Value:
    """How many elements: -1 where they never end."""
    return _cardinality(call.receiver, call)


def _cardinality(dataset: Value | None, call: Call) -> Value:
    dataset = deref(dataset) if dataset is not None else None
    if isinstance(dataset, Dataset):
        if dataset.infinite:
            return Const(-1)
        if dataset.count is not None:
            return dataset.count
    return Unknown(type="int", operation=call)


@method(Dataset, "get_single_element", parameters="name")
@function("tf.data.experimental.get_single_element", parameters="dataset")
def single_element(call: Call, run: Run) -> Value:
    """The only element."""
    value = call.value("dataset") if call.receiver is None else deref(call.receiver)
    return value.element or Unknown() if isinstance(value, Dataset) else Unknown()


@method(Const, "numpy", "item")
def plain(call: Call, run: Run) -> Value:
    """A scalar tensor whose value is known (`ds.cardinality().numpy()`)."""
    return call.receiver if call.receiver is not None else Unknown()


@attribute(Dataset, "element_spec")
def element_spec(value: Value, run: Run) -> Value:
    """The element's structure."""
    assert isinstance(value, Dataset)
    return value.element if value.element is not None else Unknown()


@attribute(Dataset, "class_names", "file_paths")
def names(value: Value, run: Run) -> Value:
    """What the readers of folders leave on their dataset."""
    return Sequence("list", element=Unknown(type="str"))


def element_of(dataset: Dataset) -> Value:
    """What a loop over a dataset gets; of an unknown element at least that it is one."""
    if dataset.element is not None:
        return dataset.element
    return Unknown(tags=dataset.tags | {"dataset-element"})


@iteration(Dataset)
def elements(value: Value, run: Run) -> Iteration:
    """Eager tensors, one element after another."""
    assert isinstance(value, Dataset)
    return Iteration(element=element_of(value), count=value.count)


@method(Dataset, "as_numpy_iterator")
def numpy_iterator(call: Call, run: Run) -> Value:
    """The elements as NumPy arrays."""
    assert isinstance(call.receiver, Dataset)
    element = as_numpy(call.receiver.element)
    return Sequence("generator", element=element, count=call.receiver.count, tags=frozenset({"tf.data"}))


@method(Dataset, "make_one_shot_iterator", "make_initializable_iterator", "__iter__")
def iterator(call: Call, run: Run) -> Value:
    """An iterator; TF1's have `get_next`."""
    return _iterator(call.receiver)


@function("tf.data.make_one_shot_iterator", "tf.data.make_initializable_iterator", parameters="dataset")
def iterator_of(call: Call, run: Run) -> Value:
    """TF1's functions of the same names."""
    return _iterator(call.value("dataset"))


def _iterator(dataset: Value | None) -> Value:
    dataset = deref(dataset) if dataset is not None else None
    if isinstance(dataset, Dataset):
        return Sequence("generator", element=element_of(dataset), count=dataset.count)
    return Unknown()


@method(Sequence, "get_next", "__next__")
def get_next(call: Call, run: Run) -> Value:
    """The next element."""
    return call.receiver.any if isinstance(call.receiver, Sequence) else Unknown()
