"""What a slice calls in place of data and of training: stand-ins that have a shape, or only a name.

A value that nobody knows does no harm until something needs it: then it says what it is and how to give it.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from oomlint.estimate.slicing.vocabulary import UNTOLD
from oomlint.estimate.worker.older.wrappers import Wrapped
from oomlint.estimate.worker.values import project_values, roles
from oomlint.estimate.worker.values.classes import given, is_spread
from oomlint.estimate.worker.values.roles import of_targets, side_of


class NeededError(Exception):
    """A value that is not known is needed to make the model."""

    def __init__(self, value: Missing | str) -> None:
        if isinstance(value, str):  # Keras makes an exception anew, of its class and a longer message
            super().__init__(value)
            value = Missing.touched or Missing("a value")
        else:
            super().__init__(f"{value.oomlint_name} is needed to make the model and not known")
        self.value: Missing = value


class TrainedSignal(BaseException):
    """The training call was reached: the model is made. No handler of the user's may catch it."""

    def __init__(self, model: Any, facts: dict[str, Any]) -> None:
        super().__init__("the model is made")
        self.model = model
        self.facts = facts


# What settings that are not there were asked for with a default: `config.get("batch_size", 100)`.
DEFAULTS: dict[str, Any] = {}


def defaults() -> list[str]:
    """What is to be said of these."""
    return [
        f"{name} is {value}, the script's default for settings that are not known (another: --arg {name}=VALUE)"
        for name, value in DEFAULTS.items()
        if name not in GIVEN
    ]


# What an environment has that an agent's sizes are taken of.
SPACES = ("observation_space", "action_space")


# What `tf.is_tensor` asks of what it does not know.
_ASKED_OF_TENSORS = "is_tensor_like"


class Missing:
    """A value that comes from data, or from a library that is not installed.

    Its class is called what it is written as: many who cannot take a value complain of its class alone. For Keras
    before 3.13 a size is then an "Invalid dtype" (`standardize_shape`); Python says "must be str, not" and the class.
    """

    touched: Missing | None = None  # the last one that something was done with

    def __new__(cls, name: str, *args: Any, **kwargs: Any) -> Missing:
        """A value of the class for its name."""
        kind: Any = cls
        return object.__new__(_called(kind, name))

    def __init__(self, name: str, line: int = 0, cause: BaseException | None = None, why: str = "") -> None:
        self.oomlint_name = name
        self.oomlint_line = line
        self.oomlint_cause = cause
        self.oomlint_why = why
        Missing.touched = self

    def _derived(self, name: str) -> Missing:
        Missing.touched = self
        return Missing(name, self.oomlint_line, self.oomlint_cause or None, self.oomlint_why)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "_oomlint")) or name in (
            "_keras_history",
            "shape_as_list",
            "as_list",
            "numpy",
            _ASKED_OF_TENSORS,
        ):
            raise AttributeError(name)
        if (found := _said_of(name)) is not None:
            return found
        if name == "shape" and INPUT_SHAPE and not of_targets(self.oomlint_name):
            return (Missing("the number of samples"), *INPUT_SHAPE[0])
        return self._derived(f"{self.oomlint_name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Not known either, but for a default that the call gives."""
        if self.oomlint_name.endswith(".get") and len(args) == 2 and not kwargs and isinstance(args[0], str):
            key, default = args
            if (
                key in GIVEN
                or isinstance(default, bool)
                or (isinstance(default, int | float | str) and default)
            ):
                return GIVEN.get(key, DEFAULTS.setdefault(key, default))
        return self._derived(f"{self.oomlint_name}(...)")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and self.oomlint_name.rpartition(".")[2] == "word_index":
            return 1  # the number of a word, `word_index["<start>"]`, is no size
        if isinstance(key, str) and key.isidentifier() and not key.startswith("_"):
            return getattr(self, key)  # `settings["units"]` is asked for as `units`
        return self._derived(f"{self.oomlint_name}[...]")

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __deepcopy__(self, memo: Any) -> Missing:
        return self

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        alone = bases[0] is self and all(isinstance(one, Missing) for one in bases)
        if not alone:
            return ()
        from oomlint.estimate.worker.absent.of_missing import OfMissing

        return (OfMissing,)

    def __instancecheck__(self, instance: Any) -> bool:
        return False  # of a class that is not there

    def __enter__(self) -> Missing:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __repr__(self) -> str:
        return f"<not known: {self.oomlint_name}>"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str | int):
            EXAMPLES.setdefault(self.oomlint_name, []).append(other)
        raise NeededError(self)

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Missing:
        return self._derived(self.oomlint_name)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if getattr(function, "__name__", "") == "shape":
            return self.shape  # `numpy.shape(x)`
        return _of_all(function, args, kwargs) or self._derived(self.oomlint_name)

    def _arithmetic(self, *others: Any) -> Missing:
        return self._derived(self.oomlint_name)

    def _needed(self, *others: Any, **how: Any) -> Any:
        raise NeededError(self)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _arithmetic
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __abs__ = _arithmetic
    __len__ = __iter__ = __bool__ = __int__ = __index__ = __float__ = __contains__ = _needed
    __lt__ = __le__ = __gt__ = __ge__ = __array__ = __next__ = __fspath__ = _needed


def _said_of(name: str) -> Any:
    """What `--arg` or `--data` say of an attribute or a key; None where neither does."""
    if name in GIVEN and name in SPACES:
        from oomlint.estimate.worker.absent.own_environments import Space

        return Space(GIVEN[name], both=True)
    if name in GIVEN:
        return given(GIVEN[name])
    found = None if name == "shape" else roles.value(name, DESCRIBED)
    return project_values.of(name) if found is None else given(found)


@functools.lru_cache(maxsize=1024)
def _called(cls: type[Missing], name: str) -> type[Missing]:
    """A class of its own for the values of that name."""
    return type(f"<not known: {name}>", (cls,), {})


class Size(Missing):
    """A size of data that is not known: `len` of it or a dimension."""


class Data:
    """An array of which only shape and dtype are known; it holds nothing."""

    def __init__(
        self, shape: tuple[int | None, ...], dtype: str, name: str = "the data", below: int | None = None
    ) -> None:
        import numpy

        self.below = below  # its values are smaller than that
        self.tensors: dict[Any, Any] = {}  # what TensorFlow was given for it, by dtype

        self.shape = tuple(
            Missing(f"{name}.shape[{axis}]") if size is None else size for axis, size in enumerate(shape)
        )
        self.sizes = shape
        self.ndim = len(shape)
        try:
            self.dtype: Any = numpy.dtype(dtype)
        except TypeError:
            self.dtype = dtype

    def __len__(self) -> int:
        size = self.sizes[0] if self.sizes else None
        if size is None:
            raise NeededError(Missing("the number of samples"))
        return size

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            return Data(self.sizes[1:], str(self.dtype))
        if isinstance(key, slice):
            return Data((None, *self.sizes[1:]), str(self.dtype))
        if isinstance(key, str) and key.isidentifier() and not key.startswith("_"):
            # `texts["vocab_size"]`: called as data are, and holds more
            return Missing(key) if (found := _said_of(key)) is None else found
        return Missing("a part of the data")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == _ASKED_OF_TENSORS:
            raise AttributeError(name)
        if name == "columns":
            return range(self.sizes[-1] or 0) if self.sizes[-1:] != (None,) else Missing("the columns")
        return Missing(f"data.{name}") if (found := _said_of(name)) is None else found

    def _same(self, *others: Any) -> Data:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = _same

    def _needed(self, *others: Any, **how: Any) -> Any:
        raise NeededError(Missing("the data itself"))

    __iter__ = __array__ = __bool__ = _needed

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Data:
        return self

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = getattr(function, "__name__", "numpy")
        if name in ("shape", "ndim"):
            return getattr(self, name)
        if self.below is not None and name in ("max", "amax", "unique"):
            return self.max() if name != "unique" else given(self.below)
        return _of_all(function, args, kwargs) or Missing(f"{name}(...)")

    def max(self, *args: Any, **kwargs: Any) -> Any:
        """The largest value, where a limit was given."""
        return Missing("the largest value of the data") if self.below is None else self.below - 1

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Data:
        """The same shape in another dtype."""
        return Data(self.sizes, str(getattr(dtype, "__name__", dtype)), below=self.below)

    def get_shape(self) -> tuple[Any, ...]:
        """The shape."""
        return self.shape


def _of_all(function: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy says of all values: `unique`, asked of labels, how many classes there are; of a spread one."""
    name = getattr(function, "__name__", "")
    if is_spread(name) and len(args) == 1 and kwargs.get("axis") is None:
        return 1.0
    if name != "unique":
        return None
    return given(GIVEN["unique"]) if "unique" in GIVEN else Missing("unique")


class Sizes(tuple[Any, ...]):
    """A tuple that the user gave for a name: a shape, or the array that has it."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Itself."""
        return self

    @property
    def ndim(self) -> int:
        """How many sizes."""
        return len(self)


# Data as it usually is: a vocabulary of 10,000, sequences of 100, 16 features.
USUAL = {
    "x": Data((1000, 100, 16), "int32", "x", 10_000),
    "y": Data((1000,), "int32", "y", 10),
}
# What `--arg` gave, for names that stand inside an expression.
GIVEN: dict[str, Any] = {}
# Names that count classes, as the script computes them.
OF_CLASSES: set[str] = set()
INPUT_SHAPE: list[tuple[int | None, ...]] = []
# Where a name that is not known was bound.
LINES: dict[str, int] = {}
# What a name was bound to that is not known.
NAMED: dict[str, Missing] = {}
# What the script compares a name with: examples of its value.
EXAMPLES: dict[str, list[Any]] = {}
# Options of the command line that are None if nobody gives them.
UNSET: set[str] = set()
# Attributes that are None until something is read are taken as not known.
NONE_IS_UNSET = [False]
# Shapes of arrays of which only the number of rows is not known, by name.
OPEN: dict[str, tuple[int | None, ...]] = {}
# What `--data` says of arrays, by name.
DESCRIBED: dict[str, Data] = {}


def examples_of(name: str) -> list[Any]:
    """What a name is compared with, or what is computed of it: `args.net.upper() == "A"`."""
    of_name = (
        examples
        for compared, examples in EXAMPLES.items()
        if name in re.findall(r"\w+", compared) and (name == compared or ".shape" not in compared)
    )
    return list(dict.fromkeys(one for examples in of_name for one in examples))


def oomlint_data(shape: tuple[int | None, ...], dtype: str, name: str = "the data") -> Data:
    """Data of a known shape."""
    if INPUT_SHAPE and len(INPUT_SHAPE[0]) == len(shape) - 1:
        shape = (
            shape[0],
            *(new if old is None else old for old, new in zip(shape[1:], INPUT_SHAPE[0], strict=True)),
        )
    told = described(name)
    sizes = told.sizes if isinstance(told, Data) else told if isinstance(told, Sizes) else ()
    if len(sizes) == len(shape):
        shape = tuple(new if old is None else old for old, new in zip(shape, sizes, strict=True))
        dtype = str(told.dtype) if isinstance(told, Data) else dtype
    if dtype == UNTOLD:
        dtype = roles.usual_dtype(name)
    if shape and shape[0] is None and None not in shape[1:]:
        OPEN[name] = shape
    return Data(shape, dtype, name)


def described(name: str, why: str = "") -> Any:
    """What `--arg` or `--data` say of a name; None where neither does."""
    plain = name.rpartition(".")[2]
    if plain in GIVEN:
        value = given(GIVEN[plain])
        return Sizes(value) if isinstance(value, tuple) else value
    found = roles.value(plain, DESCRIBED, classes=bool(why))
    if isinstance(found, Data) and plain.endswith("shape"):
        return Sizes(found.sizes)
    return None if found is None else given(found)


def oomlint_missing(name: str, line: int = 0, why: str = "") -> Any:
    """A value that comes from data; `why` is "classes" where it counts those."""
    plain = name.rpartition(".")[2]
    LINES[name] = line
    found = described(name, why)
    if found is not None:
        return found
    if why:
        OF_CLASSES.add(plain)
    side = side_of(plain)
    if side is not None and INPUT_SHAPE and len(INPUT_SHAPE[0]) == 3 and INPUT_SHAPE[0][side] is not None:
        return INPUT_SHAPE[0][side]
    return 1.0 if is_spread(plain) else Missing(name, line)


def unset(value: None, name: str, line: int) -> Any:
    """None, which an attribute begins with; or what is not known, where None was of no use."""
    return Missing(name, line) if NONE_IS_UNSET[0] else value


# How often the training call is passed before it is the one that is meant.
SKIPPED = [0]


def oomlint_trained(model: Any, **facts: Any) -> Any:
    """In place of the training call: the model is made."""
    if SKIPPED[0]:
        SKIPPED[0] -= 1
        return model
    if isinstance(model, Wrapped):
        model.make()
    raise TrainedSignal(model, facts)
