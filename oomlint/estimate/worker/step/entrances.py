"""Models whose `call` takes several arrays: apart, `call(self, state, action)`, or as parts of one argument.

Keras hands `call` one nest. A loop by hand calls the model as it likes; one that takes its arrays apart is put into a
model that takes them by name and hands them on.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from oomlint.estimate.descriptions import read_data
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker.absent import own_environments, stand_ins
from oomlint.estimate.worker.keras.generation import inputs_of, keras_of, layers_of, present
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.sources import source_of
from oomlint.estimate.worker.step import data_specs, described
from oomlint.estimate.worker.step.data_specs import is_leaf, is_whole, looks_up
from oomlint.estimate.worker.step.losses import own_step
from oomlint.estimate.worker.step.parts_called import handed_on, taken_by_parts
from oomlint.estimate.worker.subject import Spec

_TRAINING = ("training", "train", "is_training", "trainable")
_OBSERVED = ("state", "states", "obs", "observation", "observations")
_ACTED = ("action", "actions", "act", "acts")


@dataclass(frozen=True, slots=True)
class Entrance:
    """What `call` takes: arguments apart, keys of a dictionary, or what it takes a list apart into."""

    kind: Literal["apart", "keys", "listed"]
    names: tuple[str, ...]
    optional: tuple[str, ...] = ()  # of those apart: with a default
    training: str = ""  # of those apart: what says whether it trains, without a default
    order: tuple[str, ...] = ()  # of those apart: with what says that, as they are declared


def inputs(made: Made, request: Request, batch: int, assumptions: list[str]) -> Any:
    """Shapes and dtypes of the arrays of such a model, by name or in order; None for any other.

    Raises EstimateError where some are not known, with their names.
    """
    model = made.model
    if inputs_of(model):
        return None
    entrance = entrance_of(model)
    if entrance is None and (part := handed_on(model)) is not None:
        return data_specs.inputs(dataclasses.replace(made, model=part), request, batch, assumptions)
    if entrance is None or (entrance.kind != "apart" and _is_known(made.element)):
        return None
    if own_step(model):
        return _of_parts(made, entrance, batch)
    told = dict(taken_by_parts(model, entrance.names, batch))
    told |= dict(_of_the_call(made, entrance, batch)) | dict(_before(model, entrance, batch))
    told |= {name: spec for name in entrance.names if (spec := described.whole(name, batch)) is not None}
    if entrance.kind == "apart":
        told |= {name: spec for name, spec in _of_environment(entrance, batch) if name not in told}
    fixed = {name: request.arguments[name] for name in entrance.names if name in request.arguments}
    fixed |= {name: value for name, value in _numbers(made, entrance) if name not in told}
    lacking = [name for name in entrance.names if name not in told and name not in fixed]
    without = [name for name in lacking if name in entrance.optional or "mask" in name]
    if without and entrance.kind == "apart":
        required = [name for name in without if name not in entrance.optional]
        fixed |= dict.fromkeys(required)
        if required:
            assumptions.append(f"the model is called without {', '.join(required)}: --data gives them")
        lacking = [name for name in lacking if name not in without]
    if lacking:
        if not told and not stand_ins.DESCRIBED and entrance.kind != "apart" and _says_what_it_takes(model):
            return None
        raise _asks(model, entrance, lacking, request.names.get("length", _LENGTH))
    if entrance.kind == "listed" and not fixed:
        return [told[name] for name in entrance.names]
    if entrance.kind != "keys" or fixed:
        made.optimizer = made.optimizer or getattr(model, "optimizer", None)
        made.model = _together(model, entrance, tuple(told), fixed)
    return told


def entrance_of(model: Any) -> Entrance | None:
    """What the `call` of a model of the user's takes, if that is several arrays."""
    function: Any = getattr(type(model), "call", None)
    called = vars(type(model)).get("__call__")
    if called is not None and _is_own(type(model)):
        function = called  # `def __call__(self, x, z)` of a class that has no `call`
    function = inspect.unwrap(getattr(function, "python_function", function))
    if any(function is getattr(keras, name).call for keras in present() for name in ("Model", "Sequential")):
        return None
    try:
        parameters = list(inspect.signature(function).parameters.values())[1:]
    except (TypeError, ValueError):
        return None
    plain = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    training = next((one.name for one in plain if one.name in _TRAINING and one.default is one.empty), "")
    taken = [one for one in plain if one.name not in _TRAINING]
    required = [one.name for one in taken if one.default is one.empty]
    if len([name for name in required if "mask" not in name]) > 1:
        names = tuple(one.name for one in taken)
        optional = tuple(name for name in names if name not in required)
        return Entrance("apart", names, optional, training, tuple(one.name for one in plain))
    return _parts(model, function, required[0]) if len(required) == 1 else None


def _of_parts(made: Made, entrance: Entrance, batch: int) -> Any:
    """For a step of the model's own, which nothing may come between: what parts and data say of all, or None."""
    told = dict(taken_by_parts(made.model, entrance.names, batch))
    element = made.element if isinstance(made.element, dict) else {}
    for name in entrance.names:
        known: Any = element.get(name)
        if is_whole(known):
            told[name] = data_specs.spec_of(known, batch)
    if entrance.kind == "apart" or any(name not in told for name in (*entrance.names, *element)):
        return None
    return told if entrance.kind == "keys" else [told[name] for name in entrance.names]


def _is_own(cls: type) -> bool:
    """Whether a class is the user's own, and none of Keras'."""
    return cls.__module__.partition(".")[0] not in ("keras", "tf_keras", "tensorflow")


def _parts(model: Any, function: Any, name: str) -> Entrance | None:
    """The keys, or the parts, that a `call` takes its one argument apart into."""
    tree = source_of(function)
    if tree is None:
        return None
    keys: dict[str, None] = {}
    numbered: dict[int, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=root), slice=ast.Constant(value=str() as key)) if (
                root == name
            ):
                keys[key] = None
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=root), attr="get"),
                args=[ast.Constant(value=str() as key)],
            ) if root == name:
                keys[key] = None
            case ast.Assign(
                targets=[ast.Tuple(elts=parts) | ast.List(elts=parts)], value=ast.Name(id=root)
            ) if root == name and all(isinstance(one, ast.Name) for one in parts) and len(parts) > 1:
                return Entrance("listed", tuple(one.id for one in parts if isinstance(one, ast.Name)))
            case ast.Assign(
                targets=[ast.Name(id=part)],
                value=ast.Subscript(value=ast.Name(id=root), slice=ast.Constant(value=int() as place)),
            ) if root == name:
                numbered.setdefault(place, part)
            case ast.Subscript(
                value=ast.Name(id=root), slice=ast.Name() | ast.Subscript() | ast.Attribute()
            ) if root == name:
                keys |= dict.fromkeys(_columns(model, tree))  # `inputs[column] for column in self.columns`
    if keys:
        return Entrance("keys", tuple(keys))
    if len(numbered) > 1 and sorted(numbered) == list(range(len(numbered))):
        return Entrance("listed", tuple(numbered[place] for place in range(len(numbered))))
    return None


def _columns(model: Any, tree: ast.AST) -> list[str]:
    """The texts in the lists, or the keys of the tables, that a method takes of its object: names of columns."""
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
                value = getattr(model, attribute, None)
                if isinstance(value, list | tuple | dict) and all(type(one) is str for one in value):
                    found += [one for one in value if one.isidentifier()]
    return found


def _is_known(nest: Any) -> bool:
    """Whether the dry run knows several arrays, with all their sizes."""
    if isinstance(nest, dict):
        nest = list(nest.values())
    elif is_leaf(nest):
        return False
    return bool(nest) and all(is_whole(one) or _is_known(one) for one in nest)


def _of_the_call(made: Made, entrance: Entrance, batch: int) -> Iterator[tuple[str, Spec]]:
    """What the script's own call of the model hands over, where the dry run knows it."""
    if entrance.kind == "apart":
        for name, value in _matched(made, entrance):
            if is_whole(value):
                yield name, data_specs.spec_of(value, batch)


def _numbers(made: Made, entrance: Entrance) -> Iterator[tuple[str, Any]]:
    for name, value in _matched(made, entrance) if entrance.kind == "apart" else ():
        if isinstance(value, bool | int | float):
            yield name, value


def _matched(made: Made, entrance: Entrance) -> Iterator[tuple[str, Any]]:
    placed = dict(zip(entrance.order, made.arguments, strict=False))
    yield from ((name, value) for name, value in (placed | made.named).items() if name in entrance.names)


def _before(model: Any, entrance: Entrance, batch: int) -> Iterator[tuple[str, Spec]]:
    """What the model was called on when it was built."""
    shapes = getattr(model, "_build_shapes_dict", None) or {}
    for name in entrance.names if entrance.kind == "apart" else ():
        shape = shapes.get(f"{name}_shape")
        if isinstance(shape, list | tuple) and all(isinstance(size, int) for size in tuple(shape)[1:]):
            yield name, Spec((batch, *tuple(shape)[1:]), "float32")


def _of_environment(entrance: Entrance, batch: int) -> Iterator[tuple[str, Spec]]:
    """Of an agent's critic: what is observed and done in the one environment that is made."""
    for words, seen in ((_OBSERVED, own_environments.OBSERVED), (_ACTED, own_environments.ACTED)):
        named = [name for name in entrance.names if name in words]
        if len(set(seen)) == 1 and len(named) == 1:
            yield named[0], Spec((batch, *seen[0]), "float32")


def _says_what_it_takes(model: Any) -> bool:
    shape = (getattr(model, "_build_shapes_dict", None) or {}).get("input_shape")
    shape = shape or getattr(model, "_build_input_shape", None) or ()
    return len(shape) > 0 and all(isinstance(one, list | tuple) for one in shape)


def _together(model: Any, entrance: Entrance, names: tuple[str, ...], fixed: dict[str, Any]) -> Any:
    """A model that takes by name what another takes apart, or with numbers among it."""
    keras = keras_of(model)

    class Together(keras.Model):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(name=model.name)
            self.inner = model

        def call(self, arrays: Any) -> Any:
            whole = {name: arrays[name] for name in names} | fixed
            if entrance.kind != "apart":  # Keras takes nothing but tensors there
                whole |= {
                    name: keras.ops.convert_to_tensor(value, "float32") for name, value in fixed.items()
                }
            if entrance.kind == "listed":
                return _tensors(self.inner([whole[name] for name in entrance.names]))
            if entrance.kind == "keys":
                return _tensors(self.inner(whole))
            how = {entrance.training: True} if entrance.training else {}
            return _tensors(self.inner(**whole, **how))

    Together.__name__ = type(model).__name__
    return Together()


def _tensors(given: Any) -> Any:
    """What a model gives back, without what no loss takes: None, and a dictionary of attention beside the output."""
    if not isinstance(given, list | tuple) or len(given) < 2:
        return given
    parts = [one for one in given if one is not None and not isinstance(one, dict)]
    return parts[0] if len(parts) == 1 else parts


def _asks(model: Any, entrance: Entrance, lacking: list[str], length: str) -> EstimateError:
    how = {
        "apart": "takes several arrays apart",
        "keys": "takes a dictionary of arrays",
        "listed": "takes several arrays",
    }[entrance.kind]
    parts = tuple(f"{name}={_example(name, model, length)}" for name in lacking)
    example = ", ".join(parts)
    hint = f"Describe them: --data '{example}'"
    message = f"{type(model).__name__} {how}: {', '.join(entrance.names)}"
    function = vars(type(model)).get("__call__") if _is_own(type(model)) else None
    code = getattr(inspect.unwrap(function or type(model).call), "__code__", None)
    file, line = (None, None) if code is None else (code.co_filename, code.co_firstlineno)
    return EstimateError(message, "build", file, line, hint, parts=parts)


_LENGTH = "100"  # of a text, where no name of the script's says it
_NUMBER = re.compile(
    r"alpha|beta|gamma|temperature|strength|scale|weight|threshold|ratio|rate|epsilon|step|epoch"
)
_PICTURE = re.compile(r"\w*(?:image|img|picture|photo|frame|mask|style|content)s?(?:_\w+)?")


def _example(name: str, model: Any, length: str) -> str:
    """A description of one of the arrays such as a model with those layers takes, or a number."""
    layers = layers_of(model)
    kinds, of_words = {type(one).__name__ for one in layers}, any(map(looks_up, layers))
    if _NUMBER.fullmatch(name):
        return "1.0"
    if _PICTURE.fullmatch(name) or (kinds & {"Conv2D", "Conv2DTranspose"} and not of_words):
        return "32x224x224x3"
    return f"32x{length} int32" if of_words else "32x128"


# Of one array, and so of each that is no number, where the likely ones do not fit: a sequence of vectors, a picture.
_OTHERS = ("32x100x16", "32x64x64x3", "32x128", "32 float32", "32 int32", "32x1 int32")


def with_examples(
    error: EstimateError,
    request: Request,
    build: Callable[[Request], Any],
    follow: Callable[[Any, Request], None],
) -> EstimateError:
    """The error with a description of each array that lacks, of the first kind that can be followed."""
    others = [
        tuple(one if one.endswith("=1.0") else f"{one.partition('=')[0]}={sizes}" for one in error.parts)
        for sizes in _OTHERS
    ]
    for parts in dict.fromkeys((error.parts, *others)):
        described = read_data([", ".join(parts)])
        changed = dataclasses.replace(
            request,
            data=request.data | described.arrays,
            arguments=request.arguments | described.values,
        )
        try:
            follow(build(changed), changed)
        except Exception:  # the user's own code, with what is only an example
            continue
        return dataclasses.replace(error, hint="Describe them with --data", needs=parts)
    return error
