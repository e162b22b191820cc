"""Data types by name, and what NumPy makes of two of them."""

from __future__ import annotations

from oomlint.dryrun.values.base import Const, Value, deref
from oomlint.dryrun.values.program import Library

_KINDS = {"bool": "b", "uint": "u", "int": "i", "float": "f", "complex": "c"}

# What Python's types, NumPy's names and its short codes stand for (64-bit Linux, as every GPU machine is).
_NAMES = {
    "float": "float64", "double": "float64", "float_": "float64", "half": "float16", "single": "float32",
    "int": "int64", "int_": "int64", "intp": "int64", "long": "int64", "longlong": "int64", "intc": "int32",
    "uint": "uint64", "ubyte": "uint8", "byte": "int8", "short": "int16", "ushort": "uint16",
    "uintp": "uint64",
    "bool_": "bool", "bool8": "bool", "boolean": "bool", "?": "bool", "b1": "bool", "complex": "complex128",
    "complex_": "complex128", "csingle": "complex64", "cdouble": "complex128",
    "d": "float64", "f": "float32", "e": "float16", "l": "int64", "i": "int32", "h": "int16", "b": "int8",
    "B": "uint8", "H": "uint16", "I": "uint32", "L": "uint64", "q": "int64", "Q": "uint64",
    "F": "complex64", "D": "complex128",
    "str": "string", "str_": "string", "object": "object", "object_": "object", "O": "object",
    "bytes": "string",
}  # fmt: skip
_CODES = {"f": "float", "i": "int", "u": "uint", "c": "complex"}
_FULL = {
    *(f"float{bits}" for bits in (16, 32, 64)),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "bool", "complex64", "complex128", "bfloat16", "string",
}  # fmt: skip


def named(text: str) -> str | None:
    """The data type that a name or code stands for (`float32`, `f4`, `<i8`, `double`)."""
    if text in _FULL:
        return text
    if text in _NAMES:
        return _NAMES[text]
    code = text.lstrip("<>=|")
    if code in _NAMES:
        return _NAMES[code]
    if len(code) >= 2 and code[0] in _CODES and code[1:].isdigit():
        full = f"{_CODES[code[0]]}{int(code[1:]) * 8}"
        return full if full in _FULL else None
    return "string" if code[:1] in ("U", "S") and code[1:].isdigit() else None


def dtype_of(value: Value | None) -> str | None:
    """The data type that an argument names: a string, `np.float32`, `tf.uint8`, `float`; None: not known."""
    value = deref(value) if value is not None else None
    match value:
        case Const(value=str(text)):
            return named(text)
        case Library(name=name):
            package, _, last = name.rpartition(".")
            if package in ("builtins", "numpy", "tf", "jax.numpy", "tf.dtypes"):
                # tf.float is no name; builtins.float and np.float (old NumPy) are both float64.
                return named(last)
    return None


def is_float(dtype: str | None) -> bool:
    """Whether it is a floating-point type."""
    return dtype is not None and ("float" in dtype)


def parts(dtype: str) -> tuple[str, int] | None:
    """The kind letter and the width in bits, for the types that arithmetic is done with."""
    if dtype == "bool":
        return "b", 8
    name = dtype.rstrip("0123456789")
    if name in _KINDS and name != dtype:
        return _KINDS[name], int(dtype[len(name) :])
    return None


def _joined(kind: str, bits: int) -> str:
    name = next(name for name, letter in _KINDS.items() if letter == kind)
    return "bool" if kind == "b" else f"{name}{bits}"


def promote(left: str | None, right: str | None) -> str | None:
    """The type of an operation on two arrays (NumPy's promotion of two strong types)."""
    if left is None or right is None:
        return None
    if left == right:
        return left
    one, two = parts(left), parts(right)
    if one is None or two is None:
        return None
    (one_kind, one_bits), (two_kind, two_bits) = sorted((one, two), key=lambda part: "buifc".index(part[0]))
    if one_kind == "b":
        return _joined(two_kind, two_bits)
    if one_kind == two_kind:
        return _joined(one_kind, max(one_bits, two_bits))
    if two_kind == "i":  # with an unsigned one: the next wider signed type holds both, beyond 64 bits a float
        bits = max(two_bits, one_bits * 2)
        return _joined("i", bits) if bits <= 64 else "float64"
    if two_kind == "f":  # with an integer: 8 bits fit float16, 16 fit float32, more need float64
        return _joined("f", max(two_bits, {8: 16, 16: 32}.get(one_bits, 64)))
    real = {"f": {16: 64, 32: 64}, "u": {8: 64, 16: 64}, "i": {8: 64, 16: 64}}[one_kind].get(one_bits, 128)
    return _joined("c", max(two_bits, real))


def with_python(dtype: str | None, number: bool | int | float | complex) -> str | None:
    """The type of an operation on an array and a Python number, which has a kind but no width (NumPy 2)."""
    known = parts(dtype) if dtype is not None else None
    if known is None or dtype is None:
        return None
    kind, bits = known
    if isinstance(number, bool):
        return dtype
    if isinstance(number, int):
        return "int64" if kind == "b" else dtype
    if isinstance(number, float):
        return dtype if kind in "fc" else "float64"
    return dtype if kind == "c" else "complex64" if (kind, bits) in (("f", 32), ("f", 16)) else "complex128"


def as_float(dtype: str | None) -> str | None:
    """What `sqrt`, `exp` and their like give for it."""
    known = parts(dtype) if dtype is not None else None
    if known is None:
        return None
    kind, bits = known
    if kind in "fc":
        return dtype
    return {8: "float16", 16: "float32"}.get(bits, "float64")


def divided(dtype: str | None) -> str | None:
    """What true division of two equal types gives: integers are divided in float64, whatever their width."""
    known = parts(dtype) if dtype is not None else None
    return None if known is None else dtype if known[0] in "fc" else "float64"


def summed(dtype: str | None) -> str | None:
    """What `sum` and `prod` give: short integers are added up in 64 bits."""
    known = parts(dtype) if dtype is not None else None
    if known is None:
        return None
    return {"b": "int64", "i": "int64", "u": "uint64"}.get(known[0], dtype)
