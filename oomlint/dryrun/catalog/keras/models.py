"""Making and changing models: Input, Sequential, functional and subclassed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.apply import (
    named,
)
from oomlint.dryrun.catalog.keras.forward import add_layer, build_on, forget
from oomlint.dryrun.catalog.keras.graph import (
    Node,
    count_parameters,
    shape_of_tensor,
    symbolic,
    tensors,
    walk,
    without_batch,
)
from oomlint.dryrun.catalog.keras.inputs import input_tensor
from oomlint.dryrun.catalog.registry import facet, function, method
from oomlint.dryrun.trace import Branch, Loop
from oomlint.dryrun.values.base import NONE, Const, Sequence, Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.shapes import shape_of
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

# --- inputs -------------------------------------------------------------------------------------------


@function("keras.Input", parameters="shape batch_size dtype sparse batch_shape name tensor")
def make_input(call: Call, run: Run) -> Value:
    """`keras.Input(shape)`: a symbolic tensor with the batch in front."""
    return input_tensor(named(call, call.signature), call) or symbolic(None, None, Node(call=call), call)


# --- making models ------------------------------------------------------------------------------------


def new_model(kind: str, call: Call | None, run: Run) -> Model:
    """An empty model made here."""
    return Model(kind=kind, made_by=call, context=run.context)


@function("keras.Sequential", parameters="layers name")
def make_sequential(call: Call, run: Run) -> Value:
    """`keras.Sequential([...])`."""
    model = new_model("sequential", call, run)
    call.result = model
    fill_sequential(run, model, call.value("layers"), call)
    return model


def fill_sequential(run: Run, model: Model, layers: Value | None, call: Call) -> None:
    """Put the layers that the constructor got into a Sequential."""
    model.layers = []
    model.parameters = Const(0)
    layers = None if layers is None else deref(layers)
    if isinstance(layers, Layer | Model):  # Sequential(layer) is an error in Keras; harmless here
        layers = Sequence(items=[layers])
    if isinstance(layers, Sequence):
        if layers.items is None:
            forget(model)
        for item in layers.items or []:
            add_layer(run, model, item, call)
    elif layers is not None and layers != NONE:
        forget(model)


@function("keras.Model", parameters="inputs outputs name")
def make_model(call: Call, run: Run) -> Value:
    """`keras.Model(inputs, outputs)`."""
    model = new_model("functional", call, run)
    fill_functional(model, named(call, call.signature))
    return model


def fill_functional(model: Model, arguments: dict[str, Value]) -> None:
    """Walk from the outputs back to the inputs."""
    inputs = arguments.get("inputs", arguments.get("input"))
    outputs = arguments.get("outputs", arguments.get("output"))
    if inputs is None or outputs is None:
        return
    graph = walk(outputs, inputs)
    model.kind = "functional"
    model.inputs, model.outputs = inputs, outputs
    model.layers = list(graph.layers) if graph.sure else None
    if not graph.sure:
        model.attributes["_parts"] = Sequence("list", items=list(graph.layers))
    ends, starts = tensors(outputs), tensors(inputs)
    model.input_shape = shape_of_tensor(starts[0]) if starts else None
    model.output_shape = shape_of_tensor(ends[0]) if ends else None
    model.parameters = count_parameters(model.layers)


@facet("keras.Model", "keras.Sequential")
def model_facet(instance: Instance, base: str, run: Run) -> Value:
    """An object of the program's own subclass of Model or Sequential."""
    kind = "sequential" if base == "keras.Sequential" else "subclassed"
    model = Model(kind=kind, instance=instance, context=run.context)
    if kind == "sequential":
        model.layers, model.parameters = [], Const(0)
    return model


@method(Model, "__init__", parameters="inputs outputs name")
def initialise_model(call: Call, run: Run) -> Value:
    """`super().__init__(...)` of a subclass."""
    model = call.receiver
    assert isinstance(model, Model)
    arguments = named(call, call.signature)
    if model.kind == "sequential":
        fill_sequential(run, model, arguments.get("layers", arguments.get("inputs")), call)
    else:
        fill_functional(model, arguments)
    return NONE


# --- changing models ----------------------------------------------------------------------------------


@method(Model, "add", parameters="layer")
def add(call: Call, run: Run) -> Value:
    """`model.add(layer)`."""
    model = call.receiver
    assert isinstance(model, Model)
    layer = call.value("layer")
    made = set(model.context.frames()) if model.context is not None else set()
    repeated = any(loop not in made and not loop.unrolled for loop in call.context.all(Loop))
    if layer is None or repeated:
        forget(model)  # as many layers as the loop has rounds
        return NONE
    before = model.output_shape
    add_layer(run, model, layer, call)
    if any(isinstance(frame, Branch) and frame not in made for frame in call.context.frames()):
        # Perhaps it is not added: without harm to the shapes behind it if it leaves them as they are.
        model.parameters = None
        if model.outputs is None or model.output_shape != before:
            forget(model)
    return NONE


@method(Model, "pop")
def pop(call: Call, run: Run) -> Value:
    """`model.pop()`: the last layer goes."""
    model = call.receiver
    assert isinstance(model, Model)
    if not model.layers:
        return NONE
    kept, start = model.layers[:-1], model.inputs
    model.layers, model.outputs, model.output_shape = [], start, model.input_shape
    model.parameters = Const(0)
    for layer in kept:
        add_layer(run, model, layer, call)
    return NONE


@method(Model, "build", parameters="input_shape")
def build_model(call: Call, run: Run) -> Value:
    """`model.build(input_shape)`."""
    model = call.receiver
    assert isinstance(model, Model)
    value = call.value("input_shape")
    shapes = [value]
    if isinstance(value, Sequence) and value.items and isinstance(deref(value.items[0]), Sequence):
        shapes = list(value.items)
    inputs: list[Value] = [
        symbolic(without_batch(shape_of(shape)), "float32", Node(), call)
        for shape in shapes
        if shape is not None
    ]
    if inputs:
        build_on(run, model, inputs, call)
    return NONE
