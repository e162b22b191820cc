"""NumPy: random numbers, of the old functions and of generators. Real ones are float64 unless asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.arrays.creation import asked
from oomlint.dryrun.catalog.arrays.making import as_array, made
from oomlint.dryrun.catalog.registry import function, method
from oomlint.dryrun.values.base import Const, Unknown, Value, deref
from oomlint.dryrun.values.shapes import broadcast, dim_of, number, shape_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call
    from oomlint.dryrun.values.arrays import Shape

_RANDOM = frozenset({"random"})


@dataclass(frozen=True, slots=True)
class RandomState(Value):
    """A `RandomState`, with the functions of `np.random` as methods."""

    api: ClassVar[str] = "numpy.random"


@dataclass(frozen=True, slots=True)
class Generator(Value):
    """A `default_rng()`: its uniform and normal numbers can be float32 from the start."""

    api: ClassVar[str] = "numpy.random.Generator"


# Where `size` stands in each distribution's parameters.
DISTRIBUTIONS = {
    "uniform": "low high size",
    "normal": "loc scale size",
    "laplace": "loc scale size",
    "logistic": "loc scale size",
    "gumbel": "loc scale size",
    "lognormal": "mean sigma size",
    "beta": "a b size",
    "gamma": "shape scale size",
    "exponential": "scale size",
    "rayleigh": "scale size",
    "standard_cauchy": "size",
    "standard_exponential": "size",
    "poisson": "lam size",
    "binomial": "n p size",
    "geometric": "p size",
    "triangular": "left mode right size",
    "chisquare": "df size",
    "standard_t": "df size",
    "vonmises": "mu kappa size",
    "weibull": "a size",
}
_INTEGERS = frozenset({"poisson", "binomial", "geometric"})


@function("numpy.random.RandomState", parameters="seed")
def random_state(call: Call, run: Run) -> Value:
    """An old-style source of random numbers."""
    return RandomState()


@function("numpy.random.default_rng", "numpy.random.Generator", parameters="seed")
def default_rng(call: Call, run: Run) -> Value:
    """A new-style source of random numbers."""
    return Generator()


def _size(call: Call, name: str = "size") -> Shape | None:
    """The shape of what is drawn: that of `size`, else that of the parameters together, else one number."""
    size = call.argument(name)
    if size is not None and not (isinstance(deref(size.value), Const) and size.const() is None):
        return shape_of(size.value)
    if call.opaque_arguments:
        return None
    shapes: list[Shape | None] = [()]
    for argument in call.arguments:
        value = deref(argument.value)
        array = as_array(value)
        shapes.append(array.shape if array is not None else () if isinstance(value, Const) else None)
    return broadcast(*shapes)


def drawn(call: Call, shape: Shape | None, dtype: str | None) -> Value:
    """Random numbers of a shape."""
    return made(call, shape, dtype, _RANDOM)


@function("numpy.random.rand", "numpy.random.randn")
@method(RandomState, "rand", "randn")
def rand(call: Call, run: Run) -> Value:
    """The dimensions are the arguments."""
    shape = None if call.opaque_arguments else tuple(dim_of(argument.value) for argument in call.arguments)
    return drawn(call, shape, "float64")


_PLAIN = ("random", "random_sample", "ranf", "sample", "standard_normal")


@function(*(f"numpy.random.{name}" for name in _PLAIN), parameters="size")
@method(RandomState, *_PLAIN, parameters="size")
def plain(call: Call, run: Run) -> Value:
    """Uniform or normal numbers of a shape."""
    return drawn(call, _size(call), "float64")


@method(Generator, "random", "standard_normal", "standard_exponential", parameters="size dtype")
def generated(call: Call, run: Run) -> Value:
    """The generator's numbers, which can be asked for in float32."""
    return drawn(call, shape_of(call.value("size")) if call.argument("size") else (), asked(call, "float64"))


@method(Generator, "standard_gamma", parameters="shape size dtype")
def generated_gamma(call: Call, run: Run) -> Value:
    """The generator's gamma numbers."""
    return drawn(call, _size(call), asked(call, "float64"))


def _register(name: str, parameters: str) -> None:
    @function(f"numpy.random.{name}", parameters=parameters)
    @method(RandomState, name, parameters=parameters)
    def distribution(call: Call, run: Run) -> Value:
        return drawn(call, _size(call), "int64" if name in _INTEGERS else "float64")

    if name != "standard_exponential":
        method(Generator, name, parameters=parameters)(distribution)


for _name, _parameters in DISTRIBUTIONS.items():
    _register(_name, _parameters)


@function("numpy.random.randint", "numpy.random.random_integers", parameters="low high size dtype")
@method(RandomState, "randint", "random_integers", parameters="low high size dtype")
def randint(call: Call, run: Run) -> Value:
    """Integers."""
    return drawn(call, _size(call), asked(call, "int64"))


@method(Generator, "integers", parameters="low high size dtype endpoint")
def integers(call: Call, run: Run) -> Value:
    """Integers of a generator."""
    return drawn(call, _size(call), asked(call, "int64"))


@function("numpy.random.permutation", parameters="x")
@method(RandomState, "permutation", parameters="x")
@method(Generator, "permutation", parameters="x")
def permutation(call: Call, run: Run) -> Value:
    """The numbers below one, or an array's rows, in another order."""
    value = call.value("x")
    if number(value) is not None or (isinstance(value, Unknown) and value.type == "int"):
        return made(call, (dim_of(value),), "int64")
    array = as_array(value)
    return array if array is not None else Unknown()


@function("numpy.random.choice", parameters="a size replace p")
@method(RandomState, "choice", parameters="a size replace p")
@method(Generator, "choice", parameters="a size replace p axis shuffle")
def choice(call: Call, run: Run) -> Value:
    """Some of the numbers below one, or of an array's rows."""
    value, size = call.value("a"), call.argument("size")
    shape = shape_of(size.value) if size is not None else ()
    if number(value) is not None or (isinstance(value, Unknown) and value.type == "int"):
        return made(call, shape, "int64")
    array = as_array(value)
    if array is None:
        return Unknown()
    rest = array.shape[1:] if array.shape else None
    return replace(array, shape=None if shape is None or rest is None else (*shape, *rest))


@function("numpy.random.multivariate_normal", "numpy.random.dirichlet")
def several(call: Call, run: Run) -> Value:
    """Vectors; their length is in the parameters and not followed."""
    return drawn(call, None, "float64")
