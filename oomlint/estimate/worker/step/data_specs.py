"""Shapes and dtypes of a training batch: inputs from the model, targets from its outputs and losses."""

from __future__ import annotations

import re
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.slicing.vocabulary import FLOATX, UNTOLD
from oomlint.estimate.worker.absent import own_environments, stand_ins
from oomlint.estimate.worker.keras.generation import (
    dtype_of,
    floatx,
    inputs_of,
    is_legacy,
    layers_of,
    present,
    tree,
)
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.step import described
from oomlint.estimate.worker.subject import Spec

# Losses whose targets are class numbers, by the names that Keras gives them.
_SPARSE = ("sparsecategoricalcrossentropy", "sparsesoftmaxcrossentropy", "scce")


def _flat(name: object) -> str:
    return str(name).replace("_", "").lower()


def inputs(made: Made, request: Request, batch: int, assumptions: list[str]) -> Any:
    """What the model is called on: as its input layers say, else as the script's data or `--input-shape` say."""
    model = made.model
    struct = getattr(model, "_inputs_struct", None)
    if struct is None and is_legacy(model):
        struct = getattr(model, "_nested_inputs", None)
    if struct is None and inputs_of(model):
        struct = model.inputs if len(model.inputs) > 1 else model.inputs[0]
    if struct is not None:
        leaves = tree().flatten(struct)
        known = _element_leaves(made, len(leaves))
        for position, leaf in enumerate(leaves):
            array = described.of_input(_name(leaf), position, len(leaves))
            known[position] = known[position] if array is None else array.sizes
        shapes = [
            _complete(tuple(leaf.shape), known[position], request, batch, _name(leaf), len(leaves) == 1)
            for position, leaf in enumerate(leaves)
        ]
        specs = [Spec(shape, dtype_of(leaf)) for shape, leaf in zip(shapes, leaves, strict=True)]
        return tree().pack_sequence_as(struct, specs)
    return _of_data(made, request, batch, assumptions)


def _of_data(made: Made, request: Request, batch: int, assumptions: list[str]) -> Any:
    """For a model without input layers: what the data set hands over, or the shape that the user gives."""
    if request.input_shape is not None and not _of_another(made, request.input_shape):
        sample = tuple(_given(size, request) for size in request.input_shape)
        array = next(iter(described.inputs()), None)
        first = next(iter(made.model.layers), None) if hasattr(made.model, "layers") else None
        dtype = "int32" if looks_up(first) else "float32"
        if array is not None and array.sizes[1:] == request.input_shape:
            if "int" in str(array.dtype) or not looks_up(first):  # what is only an example is float32
                dtype = str(array.dtype)
        return Spec((batch, *sample), dtype)
    open_ = next((leaf for leaf in _leaves(made) if None in leaf[0][1:]), None)
    if made.element is not None and open_ is None:
        specs = _map(lambda leaf: _called_on(leaf, batch), made.element)
        if named := request.names.get("element_named"):
            shapes = ", ".join("x".join(map(str, one.shape[1:])) for one in tree().flatten(specs))
            assumptions.append(f"a sample is {shapes}: {named} (another: --input-shape)")
        return specs
    built = getattr(made.model, "_build_shapes_dict", None) or {}
    shape = built.get("input_shape") or getattr(made.model, "_build_input_shape", None)
    if shape is not None and all(isinstance(size, int) for size in tuple(shape)[1:]):
        return Spec((batch, *tuple(shape)[1:]), "float32")
    if (
        isinstance(shape, list | tuple) and shape and all(map(_is_known, shape))
    ):  # `build([(None, 20), (None, 5)])`
        return [Spec((batch, *tuple(one)[1:]), "float32") for one in shape]
    part = _entrance(made.model)
    if part is not None:
        return Spec((batch, *part[0][1:]), part[1])
    if (
        len(observed := set(own_environments.OBSERVED)) == 1
        and type(_first_layer(made.model)).__name__ == "Dense"
    ):
        seen = observed.pop()
        if len(seen) == 1:
            assumptions.append(f"the model takes what is observed in the environment: {seen[0]} numbers")
            return Spec((batch, *seen), "float32")
    words = f"the model {made.model.name!r} does not say what it takes: it has no input layer"
    words = words if open_ is None else f"the data's shape {open_[0]} is not known in full"
    example = _example(made.model)
    error = _asks(words, example if open_ is None else _filled(open_[0][1:], example))
    length = request.names.get("length")
    is_text = looks_up(_first_layer(made.model))
    if length is not None and is_text and (open_ is None or len(open_[0]) == 2):
        error.parts = (f"x=32x{length} int32",)
    raise error


def _of_another(made: Made, sample: tuple[int | None, ...]) -> bool:
    """Whether the shape is that of a described array which the script does not hand to the model with its data."""
    known: Any = made.element
    return bool(stand_ins.DESCRIBED) and is_whole(known) and len(known[0]) - 1 != len(sample)


def spec_of(leaf: Any, batch: int) -> Spec:
    """A batch of what the dry run says of an element: its shape, which is known but for the first size, and dtype."""
    shape, dtype = leaf
    return Spec((batch, *shape[1:]), {FLOATX: floatx(), UNTOLD: "float32"}.get(dtype, dtype))


def _called_on(leaf: Any, batch: int) -> Spec:
    """The same of what a model is called on: one value of each sample, of which no more is known, is its number.

    A table is read by that, and Keras' own layers take no single values.
    """
    shape, dtype = leaf
    return spec_of((shape, "int32" if dtype == UNTOLD and len(shape) == 1 else dtype), batch)


def _entrance(model: Any) -> tuple[Any, str] | None:
    """Shape and dtype of the one input of the one part that has input layers, or of all of them if it is the same.

    Of several that of the encoder; where the model has no `call`, that of what tells pictures from made ones.
    """
    kinds = tuple(keras.Model for keras in present())
    found = []
    for name, part in vars(model).items():
        leaves = inputs_of(part) if isinstance(part, kinds) else None
        if leaves and len(leaves) == 1 and _is_known(tuple(leaves[0].shape)):
            found.append((name, leaves[0]))
    if len({(tuple(leaf.shape), dtype_of(leaf)) for _, leaf in found}) == 1:
        found = found[:1]
    if len(found) > 1:
        words = ("disc", "critic") if Made(model).has_no_call else ("encoder",)
        found = [one for one in found if any(word in one[0] for word in words)]
    return (tuple(found[0][1].shape), dtype_of(found[0][1])) if len(found) == 1 else None


def _example(model: Any) -> str:
    """A sample's shape such as its first layer takes, or one of its layers if that is the user's own."""
    first = type(_first_layer(model)).__name__
    if first == "Dense" or looks_up(_first_layer(model)):
        return "128"
    kinds = {type(one).__name__ for one in layers_of(model)}
    if any("Conv2D" in kind or "Pooling2D" in kind for kind in kinds):
        return "224,224,3"
    if any(map(looks_up, layers_of(model))):
        return "128"
    if kinds & _OF_SEQUENCES:
        return "128,16"
    if first == "Flatten":
        return "28,28,1"
    return "128" if "Dense" in kinds else "224,224,3"


def _filled(sizes: tuple[int | None, ...], example: str) -> str:
    """A sample's shape with the sizes that data tells, and those of an example for the others."""
    usual = example.split(",")
    if len(usual) != len(sizes):
        usual = {2: ["128", "16"], 3: ["224", "224", "3"]}.get(len(sizes), ["128"] * len(sizes))
    return ",".join(one if size is None else str(size) for size, one in zip(sizes, usual, strict=True))


_OF_SEQUENCES = frozenset("LSTM GRU SimpleRNN Bidirectional Conv1D MultiHeadAttention".split())


def _first_layer(model: Any) -> Any:
    """The first layer of a model, or of the first model in it."""
    first = model
    while (inner := getattr(first, "layers", None)) and not isinstance(inner, str):
        first = inner[0]
    return None if first is model else first


_OF_OTHERS = re.compile(r"patch|pos|time|step|sin|label|class|image|value|token_?type|segment", re.IGNORECASE)


def looks_up(layer: Any) -> bool:
    """Whether a layer, by its name, is a table of vectors, Keras' or of the script's own: it takes numbers of words."""
    name = type(layer).__name__
    return "embedding" in name.lower() and _OF_OTHERS.search(name) is None


def _is_known(shape: Any) -> bool:
    return isinstance(shape, list | tuple) and all(isinstance(size, int) for size in tuple(shape)[1:])


def is_leaf(nest: Any) -> bool:
    """Whether it is the shape and dtype of one array, as the dry run says them, and no nest of such."""
    return isinstance(nest, list | tuple) and len(nest) == 2 and isinstance(nest[1], str)


def is_whole(nest: Any) -> bool:
    """Whether it is that of an array of which every size is known, but for the batch."""
    return is_leaf(nest) and None not in nest[0][1:] and nest[1] != "string"


def _map(function: Any, nest: Any) -> Any:
    """Apply to each (shape, dtype) leaf; a leaf is a pair whose second part is a string."""
    if isinstance(nest, dict):
        return {key: _map(function, item) for key, item in nest.items()}
    if is_leaf(nest):
        return function((tuple(nest[0]), nest[1]))
    return type(nest)(_map(function, item) for item in nest)


def _leaves(made: Made) -> list[tuple[tuple[int | None, ...], str]]:
    leaves: list[tuple[tuple[int | None, ...], str]] = []
    if made.element is not None:
        _map(leaves.append, made.element)
    return leaves


def _element_leaves(made: Made, count: int) -> list[tuple[int | None, ...] | None]:
    leaves: list[tuple[int | None, ...] | None] = [shape for shape, _ in _leaves(made)]
    return leaves if len(leaves) == count else [None] * count


def _complete(
    shape: tuple[int | None, ...],
    known: tuple[int | None, ...] | None,
    request: Request,
    batch: int,
    name: str,
    only: bool,
) -> tuple[int, ...]:
    """The shape of a batch: unknown sizes from `--input-shape`, else from the data."""
    first = shape[0] if shape else None
    if isinstance(first, int) and first != batch and request.batch_size is None:
        batch = first  # the script fixes it in the input layer
    sample = shape[1:]
    given = request.input_shape
    if given is not None and len(given) != len(sample) and stand_ins.DESCRIBED:
        given = None  # that of an array from which the batches are cut
    if given is not None and only and None in sample and len(given) != len(sample):
        raise EstimateError(
            f"--input-shape has {len(given)} sizes, the model's input {name!r} has {len(sample)}: {sample}",
            "target",
        )
    if None in sample and known is not None and len(known) == len(shape):
        sample = tuple(known[i + 1] if size is None else size for i, size in enumerate(sample))
    if given is not None and len(given) == len(sample):  # of several inputs, each that it fits
        sample = tuple(given[i] if size is None else size for i, size in enumerate(sample))
    if None in sample:
        sample = described.fitting(sample) or sample
    if None in sample:
        words = ", ".join("?" if size is None else str(size) for size in sample)
        raise _asks(f"the model's input {name!r} takes any size: ({words})")
    return (batch, *(int(size) for size in sample if size is not None))


def _given(size: int | None, request: Request) -> int:
    if size is None:
        raise _asks(f"--input-shape {request.input_shape} leaves a size open")
    return size


def _asks(message: str, example: str = "224,224,3") -> EstimateError:
    return EstimateError(
        message, "build", hint=f"Give one sample's shape, for example --input-shape {example}"
    )


def _name(leaf: Any) -> str:
    return str(getattr(leaf, "name", "input"))


def targets(made: Made, outputs: Any, batch: int, assumptions: list[str]) -> Any:
    """What the losses compare the outputs with; None for a model that adds its losses itself, or has no `call`."""
    loss = made.loss
    if loss is None or outputs is None:
        return None
    leaves = tree().flatten(outputs)
    if len(leaves) == 1 and _is_own(loss) and (known := made.second) is not None and is_whole(known):
        return spec_of(known, batch)
    losses = _losses(loss, outputs, len(leaves))
    specs = [_target(one, leaf, batch) for one, leaf in zip(losses, leaves, strict=True)]
    if isinstance(outputs, dict):
        return tree().pack_sequence_as(outputs, specs)
    if len(specs) == 1:
        return specs[0]
    return specs


def _is_own(loss: Any) -> bool:
    """Whether a loss is the script's: a function or an object of a class that no Keras has."""
    if isinstance(loss, str | dict | list | tuple):
        return False
    named = loss if hasattr(loss, "__name__") else type(loss)
    return str(named.__module__).partition(".")[0] not in ("keras", "tf_keras", "tensorflow")


def _losses(loss: Any, outputs: Any, count: int) -> list[Any]:
    if isinstance(loss, dict):
        values = list(loss.values())
        return values if len(values) == count else [values[0] if values else None] * count
    if isinstance(loss, list | tuple):
        return list(loss) if len(loss) == count else [loss[0] if loss else None] * count
    return [loss] * count


def _target(loss: Any, leaf: Any, batch: int) -> Spec:
    shape = tuple(leaf.shape)
    if shape and shape[0] is None:
        shape = (batch, *shape[1:])
    if any(size is None for size in shape):
        raise _asks(f"an output's shape {shape} is not known in full")
    shape = tuple(int(size) for size in shape)
    return Spec(shape[:-1], "int32") if of_classes(loss) else Spec(shape, "float32")


def of_classes(loss: Any) -> bool:
    """Whether a loss, by its name, compares with numbers of classes."""
    name = _flat(
        loss if isinstance(loss, str) else getattr(loss, "name", None) or getattr(loss, "__name__", "")
    )
    return any(word in name for word in _SPARSE)
