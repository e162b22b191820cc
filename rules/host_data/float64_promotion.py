"""A large array is float64, twice what the model computes with.

## What it does

Reports a NumPy array of more than a quarter of the host's memory that became float64 without being asked to:
`np.zeros`, `np.ones`, `np.random.rand` and their like without a dtype; bytes divided by a number
(`x_uint8 / 255.0`); float32 computed with a NumPy float64 scalar (`x / np.sqrt(n)`, NumPy 2); a list of many small
float64 arrays made one; Keras 3's `to_categorical`; integers that scikit-learn's scalers scale.
Also `ImageDataGenerator.flow(x)` on integers, which copies the whole set to float32.

Silent where the size is not known, where the same statement casts the result, and for arrays that only
scikit-learn gets.

## Why is this bad?

Keras computes in float32, so half of the array's bytes are thrown away at once. `uint8 / 255.0` takes eight times the
pixels' bytes; with the cast afterwards, `(x / 255.0).astype("float32")`, it peaks at twelve times, cast
first, `x.astype("float32") / 255.0`, at eight.

## Example

```python
import numpy as np
from tensorflow import keras

x = np.zeros((10_000, 224, 224, 3))
```

## Use instead

```python
import numpy as np
from tensorflow import keras

x = np.zeros((10_000, 224, 224, 3), dtype="float32")
```

## Fix safety

Unsafe: values are rounded to float32, which Keras does anyway, but code in between may count on float64.

## References

- <https://numpy.org/doc/stable/user/basics.types.html>
- <https://numpy.org/neps/nep-0050-scalar-promotion.html>
- <https://github.com/keras-team/keras/issues/5208>
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from oomlint.rules.host_data.amounts import against, dimensions, form

from oomlint.dryrun.catalog.arrays.making import NumpyFloat, NumpyInt
from oomlint.dryrun.catalog.arrays.operators import WORDS
from oomlint.dryrun.catalog.names import generation
from oomlint.dryrun.queries.keras_version import keras_at_least
from oomlint.dryrun.sizes import human
from oomlint.dryrun.trace import Call, Trace
from oomlint.dryrun.values.arrays import ITEMSIZE, Array
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.shapes import known
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.edits import AddArgument, Wrap
from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM204",
    name="float64-promotion",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=(
        "zeros", "ones", "empty", "ndarray", "full", "eye", "identity", "linspace", "arange", "rand", "randn", "random",
        "uniform", "normal", "standard_normal", "randint", "integers", "fromfile", "memmap", "reshape", "load_data",
        "to_categorical", "flow", "divide", "multiply", "array", "asarray", "stack", "vstack", "concatenate",
        "fit_transform", "transform",
    ),
)  # fmt: skip

_FLOW = "keras.preprocessing.image.ImageDataGenerator.flow"
_ONE_HOT = "keras.utils.to_categorical"
_TAKES_DTYPE = frozenset(
    {"numpy.zeros", "numpy.ones", "numpy.empty", "numpy.ndarray", "numpy.full", "numpy.eye", "numpy.identity",
     "numpy.linspace", "numpy.random.Generator.random", "numpy.random.Generator.standard_normal"}
)  # fmt: skip
_STACKING = frozenset({"numpy.array", "numpy.asarray", "numpy.stack", "numpy.vstack", "numpy.concatenate"})
_ARITHMETIC = frozenset({"truediv", "mul", "add", "sub", "pow"})
_CAST = '.astype("float32")'


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """One finding per expression that makes a large array float64."""
    cast: dict[int, int] = {}  # statements that cast what they compute, and when
    for call in trace.calls("array.astype"):
        if call.statement is not None:
            cast[id(call.statement.node)] = call.index
    worst: dict[int, tuple[Severity, Finding]] = {}  # by place: a helper may be called for several arrays
    for call in trace.all_calls():
        if not isinstance(call.result, Array | Unknown) and call.name != _FLOW:
            continue  # most calls
        found = _finding(call, trace, settings, cast)
        if found is not None and found.severity > worst.get(id(call.node), (0, None))[0]:
            worst[id(call.node)] = found.severity, found
    yield from (found for _, found in worst.values())


def _finding(call: Call, trace: Trace, settings: Settings, cast: dict[int, int]) -> Finding | None:
    if call.name == _FLOW:
        return _copied(call, settings)
    result = deref(call.result)
    if not isinstance(result, Array) or result.library != "numpy" or result.dtype != "float64":
        return None
    size = result.size
    severity = over(size, settings.budget.host) if size is not None else None
    if size is None or severity is None:
        return None
    if call.statement is not None and cast.get(id(call.statement.node), -1) > call.index:
        return None
    reason = _reason(call, trace, settings)
    if reason is None or _only_scikit_learn(trace, result):
        return None
    text, fix, help = reason
    return RULE.finding(
        call.place,
        f"{text} is float64: {form(result)} takes {against(size.bytes, settings.budget)}; "
        f"float32 takes {human(size.bytes // 2)}",
        severity=severity,
        evidence=[*_operand(call), *dimensions(result)],
        help=help,
        fix=fix,
    )


Reason = tuple[str, Fix | None, str]


def _reason(call: Call, trace: Trace, settings: Settings) -> Reason | None:
    """Why the result is float64, without being asked to, and what makes it float32."""
    if call.name == "operator.getitem":
        return _identity_rows(call)
    if call.name.startswith("sklearn."):
        return _scaled(call)
    if call.name.startswith("operator."):
        return _operator(call) if call.name.rpartition(".")[2] in _ARITHMETIC else None
    if call.name == _ONE_HOT:
        if (
            not keras_at_least(trace, settings, 3)
            or generation(call.spelled) == "tf_keras"
            or "np_utils" in call.spelled
        ):
            return None  # Keras 2 makes float32
        help = f"add {_CAST}, or keep integer labels and use a sparse loss: to_categorical has no dtype in Keras 3"
        return "to_categorical of an array", _fix(_CAST, Wrap(call.place, "", _CAST)), help
    if not call.name.startswith("numpy.") or call.argument("dtype") is not None or call.opaque_arguments:
        return None
    if any(_double(deref(argument.value)) for argument in call.arguments):
        return _stacked(call, settings)
    short = "np." + call.name[len("numpy.") :].replace("random.Generator", "random.default_rng()")
    if call.name in _TAKES_DTYPE:
        addition = 'dtype="float32"'
        return (
            f"{short} without a dtype",
            _fix(addition, AddArgument(call.place, addition)),
            f"pass {addition}",
        )
    help = f"add {_CAST}"
    if call.name.startswith("numpy.random."):
        help += ', or draw float32 at once: np.random.default_rng().random(shape, dtype="float32")'
    return short, _fix(_CAST, Wrap(call.place, "", _CAST)), help


def _scaled(call: Call) -> Reason | None:
    """A scaler of integers; of float32 it makes float32 (scikit-learn 0.24 and later)."""
    given = call.argument("X")
    array = deref(given.value) if given is not None else None
    if given is None or not isinstance(array, Array) or array.dtype is None or "int" not in array.dtype:
        return None
    scaler, _, method = call.name.removeprefix("sklearn.preprocessing.").rpartition(".")
    node = given.place.node
    help = f"cast first, {call.source.quoted(node)}{_CAST}: the scaler leaves float32 as it is"
    fix = _simple(call, node, "", _CAST, "cast before it is scaled") if isinstance(node, cst.Name) else None
    return f"{scaler}.{method} of {array.dtype}", fix, help


def _stacked(call: Call, settings: Settings) -> Reason | None:
    """Many small float64 arrays in a list, made one: each is too small to say anything of."""
    if call.name not in _STACKING or not call.arguments:
        return None
    given = deref(call.arguments[0].value)
    if not isinstance(given, Sequence) or given.items is not None:
        return None
    part = deref(given.any)
    made = part.origin.place.node if isinstance(part, Array) and part.origin and part.origin.place else None
    if not isinstance(part, Array) or part.size is None or _asked(made):
        return None
    if over(part.size, settings.budget.host) is not None:
        return None  # it has a finding of its own
    short = "np." + call.name[len("numpy.") :]
    text = f"{short} of float64 arrays"
    if call.name in ("numpy.array", "numpy.asarray"):
        addition = 'dtype="float32"'
        return (
            text,
            _fix(addition, AddArgument(call.place, addition)),
            f"pass {addition}, or make the parts float32",
        )
    return (
        text,
        _fix(_CAST, Wrap(call.place, "", _CAST)),
        f"make the parts float32 ({_CAST}) before they are joined",
    )


def _asked(node: cst.CSTNode | None) -> bool:
    """Whether a call says which dtype it wants, or may in its `**options`."""
    if not isinstance(node, cst.Call):
        return False
    cast = isinstance(node.func, cst.Attribute) and node.func.attr.value == "astype"
    return cast or any(
        arg.star == "**"
        or (arg.keyword.value == "dtype" if arg.keyword is not None else _is_float64(arg.value))
        for arg in node.args
    )


def _is_float64(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Attribute(attr=cst.Name(value=name)):
            return name in ("float64", "double")
        case cst.SimpleString():
            return node.evaluated_value == "float64"
    return False


def _identity_rows(call: Call) -> Reason | None:
    """`np.eye(classes)[labels]`: one-hot rows cut out of a small float64 matrix."""
    table = deref(call.receiver) if call.receiver is not None else None
    made = table.origin if isinstance(table, Array) else None
    if made is None or made.place is None or made.text not in ("np.eye", "np.identity"):
        return None
    node = made.place.node
    if not isinstance(node, cst.Call) or any(
        arg.star or (arg.keyword and arg.keyword.value == "dtype") for arg in node.args
    ):
        return None
    addition = 'dtype="float32"'
    help = f"pass {addition} to {made.text}, or keep integer labels and use a sparse loss"
    return f"a row of {made.text} per label", _fix(addition, AddArgument(made.place, addition)), help


def _fix(text: str, edit: AddArgument | Wrap) -> Fix:
    return Fix(f"make it float32: {text}", Safety.UNSAFE, (edit,))


def _double(value: Value) -> bool:
    """Whether an argument is float64 already, so that the call did not promote anything."""
    if isinstance(value, Sequence):
        items = value.items if value.items is not None else [value.any]
        return any(_double(deref(item)) for item in items[:16])
    return isinstance(value, Array) and value.dtype == "float64" and value.shape != ()


def _operator(call: Call) -> Reason | None:
    """Integers or float32 computed with something that makes them float64."""
    node, word = call.node, WORDS.get(call.name.rpartition(".")[2], "result")
    if not isinstance(node, cst.BinaryOperation):
        return None  # `x /= 255.0` on integers raises, and on floats keeps the dtype
    values = [deref(argument.value) for argument in call.arguments[:2]]
    arrays = [(value, part) for value, part in zip(values, (node.left, node.right)) if _wide(value)]
    if len(arrays) != 1:
        return None
    array, part = arrays[0]
    if not isinstance(array, Array) or array.dtype in (None, "float64", "object", "string"):
        return None
    other, number = (values[1], node.right) if part is node.left else (values[0], node.left)
    if array.dtype not in ("float32", "float16"):
        help = f"cast first: {_code(call, part)}{_CAST}; or leave it {array.dtype} and scale in the model (Rescaling)"
        fix = _simple(call, part, "", _CAST, "cast before the arithmetic")
        return f"the {word} of {array.dtype}", fix, help
    scalar = isinstance(other, Const) and isinstance(other.value, NumpyFloat | NumpyInt)
    if not scalar and not (isinstance(other, Array) and other.shape == ()):
        return None
    help = "NumPy 2 takes the NumPy scalar for float64; a Python float leaves float32 alone: float(...)"
    fix = _simple(call, number, "float(", ")", "make it a Python float")
    return f"the {word} of {array.dtype} and a NumPy float64 scalar", fix, help


def _wide(value: Value) -> bool:
    return isinstance(value, Array) and value.shape != ()


def _simple(call: Call, node: cst.BaseExpression, before: str, after: str, message: str) -> Fix | None:
    """Something written around an operand that needs no parentheses."""
    written = call.source.written(node)
    if not isinstance(written, cst.Name | cst.Attribute | cst.Call | cst.Subscript) or written.lpar:
        return None
    return Fix(message, Safety.UNSAFE, (Wrap(Place(call.source, node), before, after),))


def _code(call: Call, node: cst.CSTNode) -> str:
    text = call.source.code(node)
    return text if len(text) < 40 else "x"


def _operand(call: Call) -> Iterator[Evidence]:
    """What was there before the arithmetic."""
    if not call.name.startswith("operator.") or call.name == "operator.getitem":
        return
    for argument in call.arguments[:2]:
        value = deref(argument.value)
        if (
            isinstance(value, Array)
            and value.shape != ()
            and value.origin is not None
            and value.dtype is not None
        ):
            yield Evidence(f"{value.dtype} from {value.origin.text}", value.origin.place)


def _only_scikit_learn(trace: Trace, array: Array) -> bool:
    """Whether all that is done with it is scikit-learn's or SciPy's, which compute in float64 in any case."""
    takers = []
    for taker in _takers(trace, array):  # or given piece by piece: `pca.partial_fit(x[start:end])`
        cut = taker.name == "operator.getitem" and deref(taker.arguments[0].value) is array
        takers += _takers(trace, deref(taker.result)) if cut else [taker]
    for taker in takers:
        scaled = deref(taker.result)  # scaled data is the data, in another array
        further = isinstance(scaled, Array) and scaled is not array and taker.name.startswith("sklearn.")
        if not taker.name.startswith(("sklearn.", "scipy.")):
            return False
        if further and isinstance(scaled, Array) and not _only_scikit_learn(trace, scaled):
            return False
    return bool(takers)


def _takers(trace: Trace, value: Value) -> list[Call]:
    """The calls that are given it."""
    return [
        call
        for call in trace.all_calls()
        if any(deref(argument.value) is value for argument in call.arguments)
    ]


def _copied(call: Call, settings: Settings) -> Finding | None:
    """`flow(x)` on integers: the iterator keeps a float32 copy of all of them."""
    array = call.value("x")
    sizes = known(array.shape) if isinstance(array, Array) else None
    if not isinstance(array, Array) or sizes is None or array.dtype is None or "int" not in array.dtype:
        return None
    copy = Array(shape=array.shape, dtype="float32")
    size = copy.size
    severity = over(size, settings.budget.host) if size is not None else None
    if size is None or severity is None:
        return None
    times = 4 // ITEMSIZE[array.dtype]
    help = "read the pictures from disk (image_dataset_from_directory), or keep them as they are in a tf.data pipeline"
    return RULE.finding(
        call.place,
        f"flow copies all of x to float32: {form(copy)} takes {against(size.bytes, settings.budget)}",
        severity=severity,
        evidence=[
            Evidence(f"x is {form(array)}; the copy takes {times} times its bytes", call.place),
            *dimensions(array),
        ],
        help=help,
        fix=Fix(help, Safety.DISPLAY),
    )
