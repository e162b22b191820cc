"""What is known of a model once it was built (`check --estimate`), put where the text left it open.

The layers of the estimate's table are matched with those of the dry run class by class, in order, and only where there
are as many of a class in both and nothing that the text says of them disagrees. Rules then see shapes as if the text
gave them, with the training call as the place where they come from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oomlint.dryrun.catalog.keras.apply import short
from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.catalog.keras.graph import Node, tensors, walk
from oomlint.dryrun.queries.trained_models import layers_in_use, trained_models
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Step
from oomlint.dryrun.values.training import Layer

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Trace
    from oomlint.dryrun.values.arrays import Dim, Shape
    from oomlint.dryrun.values.training import Model

WORDS = "the model as it was built"


def learn(trace: Trace, call: Call, rows: tuple[Any, ...], batch: int | None) -> None:
    """Fill in what the text does not say of the model that a call trains.

    `rows` have `class_name`, `output_shape` and `parameters`; `batch` is None where it is only assumed.
    """
    from oomlint.dryrun.queries.tape_training import model_of

    model = model_of(call.receiver)
    step = Step(WORDS, call.place)
    all_trained = trained_models(trace)  # one list for each trace: every rule sees what is put there
    for index, trained in enumerate(all_trained):
        ours = trained.model is model or (trained.step is not None and trained.step.node is call.node)
        if not ours:
            continue
        if trained.batch is None and batch is not None:
            all_trained[index] = replace(trained, batch=Const(batch, (step,), True))
        _shapes(trained.model, _matched(trained.model, rows), step)


def _matched(model: Model, rows: tuple[Any, ...]) -> dict[int, tuple[Layer, Any]]:
    """Each layer of the dry run with its row."""
    ours: dict[str, list[Layer]] = {}
    for use in layers_in_use(model):
        if use.wrapper is None or use.wrapper is use.layer:
            ours.setdefault(short(use.layer), []).append(use.layer)
    theirs: dict[str, list[Any]] = {}
    for row in rows:
        theirs.setdefault(row.class_name, []).append(row)
    pairs: dict[int, tuple[Layer, Any]] = {}
    for name, layers in ours.items():
        found = theirs.get(name, [])
        if len(found) == len(layers) and all(map(_agree, layers, found)):
            pairs |= {id(layer): (layer, row) for layer, row in zip(layers, found)}
    return pairs


def _agree(layer: Layer, row: Any) -> bool:
    """Whether the row may be the layer's, by its output and its number of units."""
    shape = row.output_shape
    if not shape:  # of several outputs, or of a number
        return False
    if layer.output is not None and len(layer.output) != len(shape):
        return False
    pairs = zip(layer.output or (), shape)
    if any(None not in (known(ours), theirs) and known(ours) != theirs for ours, theirs in list(pairs)[1:]):
        return False
    units = layer.config.get("units", layer.config.get("output_dim"))
    return not isinstance(units, Const) or units.value == shape[-1] or short(layer) == "MultiHeadAttention"


def _filled(shape: Shape | None, known_shape: tuple[int | None, ...], step: Step) -> Shape:
    """A shape with what is known of it put in; the batch stays as it is."""
    dims: list[Dim] = list(shape) if shape is not None else [None] * len(known_shape)
    for axis, size in enumerate(known_shape):
        if axis and dims[axis] is None and size is not None:
            dims[axis] = Const(size, (step,))
    return tuple(dims)


def _shapes(model: Model, matched: dict[int, tuple[Layer, Any]], step: Step) -> None:
    for layer, row in matched.values():
        layer.output = _filled(layer.output, row.output_shape, step)
        _numbers(layer, row, step)
    nodes = walk(model.outputs, model.inputs).nodes if model.outputs is not None else []
    calls: dict[int, int] = {}
    for node in nodes:
        calls[id(node.layer)] = calls.get(id(node.layer), 0) + 1
    for tensor in [*(item for node in nodes for item in node.inputs), *tensors(model.outputs)]:
        if not isinstance(tensor, Array) or not isinstance(tensor.producer, Node):
            continue
        made = tensor.producer.layer
        if id(made) in matched and calls.get(id(made)) == 1:
            _, row = matched[id(made)]
            if tensor.shape is None or len(tensor.shape) == len(row.output_shape):
                object.__setattr__(tensor, "shape", _filled(tensor.shape, row.output_shape, step))
    for node in nodes:
        if isinstance(node.layer, Layer) and calls[id(node.layer)] == 1:
            shapes = tuple(item.shape if isinstance(item, Array) else None for item in node.inputs)
            if len(shapes) == len(node.layer.inputs):
                node.layer.inputs = tuple(new or old for new, old in zip(shapes, node.layer.inputs))


def _numbers(layer: Layer, row: Any, step: Step) -> None:
    """The rows of a table and the inputs of a dense layer, by the parameters that the built layer has."""
    width = row.output_shape[-1]
    if not width or not row.parameters:
        return
    if short(layer) == "Embedding" and row.parameters % width == 0:
        for name, count in (("input_dim", row.parameters // width), ("output_dim", width)):
            if not isinstance(layer.config.get(name), Const):
                layer.config[name] = Const(count, (step,))
    if short(layer) == "Dense":
        bias = layer.config.get("use_bias", Const(True))
        held = row.parameters - width * (bias.value is not False if isinstance(bias, Const) else 0)
        kernel = (layer.weights or {}).get("kernel")
        if held > 0 and held % width == 0 and isinstance(bias, Const):
            full = _filled((None, *(kernel or (None, None))), (None, held // width, width), step)[1:]
            layer.weights = {**(layer.weights or {}), "kernel": full}
