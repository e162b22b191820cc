"""NumPy, pickle, SciPy: arrays read from files. A tag names the event that read one whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.arrays.creation import asked
from oomlint.dryrun.catalog.arrays.making import PART, loaded, made, step
from oomlint.dryrun.catalog.arrays.methods import reshaped
from oomlint.dryrun.catalog.python.files import text_of
from oomlint.dryrun.catalog.registry import Iteration, function, item, iteration, method, operator
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Slice, Unknown, Value, deref
from oomlint.dryrun.values.dtypes import dtype_of
from oomlint.dryrun.values.shapes import dim_of, number, shape_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Argument, Call

# Archives that every tutorial loads: what is in them is known, and small.
ARCHIVES: dict[str, dict[str, tuple[tuple[int, ...], str]]] = {
    "mnist.npz": {
        "x_train": ((60_000, 28, 28), "uint8"),
        "y_train": ((60_000,), "uint8"),
        "x_test": ((10_000, 28, 28), "uint8"),
        "y_test": ((10_000,), "uint8"),
    },
    "boston_housing.npz": {"x": ((506, 13), "float64"), "y": ((506,), "float64")},
}


@function("numpy.load", parameters="file mmap_mode allow_pickle fix_imports encoding")
def load(call: Call, run: Run) -> Value:
    """An array, or an archive of arrays. Only an .npy file can be mapped; in an .npz the mode is ignored."""
    file = call.value("file")
    name = (text_of(file) if file is not None else None) or ""
    known = ARCHIVES.get(name.rpartition("/")[2])
    if known is not None:
        return Mapping({key: _known(call, shape, dtype) for key, (shape, dtype) in known.items()})
    if name.endswith(".npz"):
        return Mapping(complete=False, other=made(call, None, None, loaded(call)))
    mode = call.argument("mmap_mode")
    if mode is not None and not (isinstance(deref(mode.value), Const) and mode.const() is None):
        return Array("memmap", None, None, step(call))
    return made(call, None, None, loaded(call))


def _known(call: Call, shape: tuple[int, ...], dtype: str) -> Array:
    return made(call, tuple(Const(size) for size in shape), dtype)


@function("numpy.memmap", parameters="filename dtype mode offset shape")
def memmap(call: Call, run: Run) -> Value:
    """A file mapped into memory: nothing is read until it is used. Without a shape it is one row of numbers."""
    shape = call.argument("shape")
    dims = (None,) if shape is None else shape_of(shape.value)
    return Array("memmap", dims, asked(call, "uint8"), step(call))


@function("numpy.lib.format.open_memmap", parameters="filename mode dtype shape")
def open_memmap(call: Call, run: Run) -> Value:
    """An .npy file mapped into memory."""
    shape, dtype = call.argument("shape"), call.argument("dtype")
    dims = None if shape is None else shape_of(shape.value)
    return Array("memmap", dims, None if dtype is None else dtype_of(dtype.value), step(call))


@function("numpy.fromfile", parameters="file dtype count sep offset")
def fromfile(call: Call, run: Run) -> Value:
    """Raw numbers; how many there are depends on the file."""
    count = dim_of(call.value("count"))
    known = count if count is not None and count.value != -1 else None
    return made(call, (known,), asked(call, "float64"), loaded(call))


@function(
    "numpy.loadtxt", "numpy.genfromtxt",
    parameters="fname dtype comments delimiter converters skiprows usecols unpack ndmin encoding max_rows",
)  # fmt: skip
def loadtxt(call: Call, run: Run) -> Value:
    """A table of text, float64 unless asked."""
    rows = call.argument("max_rows")
    dtype = asked(call, "float64")
    if rows is not None and number(rows.value) is not None:
        return made(call, (dim_of(rows.value), None), dtype, loaded(call))
    return made(call, None, dtype, loaded(call))


@function("scipy.io.loadmat", "hdf5storage.loadmat", "mat73.loadmat", parameters="file_name")
def loadmat(call: Call, run: Run) -> Value:
    """A dictionary of arrays."""
    return Mapping(complete=False, other=made(call, None, None, loaded(call)))


# --- pickles ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unpickled(Value):
    """Something out of a pickle: perhaps arrays, perhaps a tokenizer.

    Only what is taken out of it by subscripts or computed as an array is taken for data.
    """

    api: ClassVar[str] = "pickle"
    tags: frozenset[str] = frozenset()

    @property
    def array(self) -> Array:
        """It, taken for an array."""
        return Array("numpy", None, None, tags=self.tags)


@function(
    "pickle.load",
    "pickle.loads",
    "cPickle.load",
    "_pickle.load",
    "dill.load",
    "joblib.load",
    "cloudpickle.load",
)
def unpickle(call: Call, run: Run) -> Value:
    """Whatever was pickled."""
    return Unpickled(loaded(call))


@item(Unpickled)
def unpickled_item(value: Value, key: Value, call: Call, run: Run) -> Value:
    """A part of it; rows up to or from some number are no longer the whole."""
    assert isinstance(value, Unpickled)
    bounds = (key.start, key.stop) if isinstance(key, Slice) else ()
    if any(isinstance(bound, Const) and isinstance(bound.value, int) for bound in bounds):
        return replace(value, tags=value.tags | {PART})
    return value


@iteration(Unpickled)
def unpickled_items(value: Value, run: Run) -> Iteration:
    """Its parts (`x, y = pickle.load(f)`)."""
    return Iteration(element=value)


@operator(Unpickled)
def unpickled_operator(call: Call, run: Run) -> Value:
    """Arithmetic: then it is an array."""
    as_arrays = [_taken_for_array(argument) for argument in call.arguments[:2]]
    values = [deref(argument.value) for argument in as_arrays]
    # What knows better what to do with an array, and else the arrays' own operator.
    other = next((value for value in values if not isinstance(value, Array)), values[0])
    handler = run.catalog.operators.get(type(other)) or run.catalog.operators[Array]
    return handler(replace(call, arguments=(*as_arrays, *call.arguments[2:])), run)


def _taken_for_array(argument: Argument) -> Argument:
    value = deref(argument.value)
    return replace(argument, value=value.array) if isinstance(value, Unpickled) else argument


_ARRAY_METHODS = ("astype", "reshape", "transpose", "copy", "squeeze", "swapaxes", "get", "pop")


@method(Unpickled, *_ARRAY_METHODS)
def unpickled_method(call: Call, run: Run) -> Value:
    """What arrays and dictionaries can do."""
    value = call.receiver
    assert isinstance(value, Unpickled)
    if call.name.endswith("reshape"):
        return reshaped(replace(call, receiver=value.array), run)
    return value if call.name.endswith(("get", "pop")) else value.array


@method(Unpickled, "*")
def unpickled_other(call: Call, run: Run) -> Value:
    """Anything else gives something else."""
    return Unknown()
