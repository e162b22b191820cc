"""Models: Sequential, functional and subclassed; building, calling, cutting and copying them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun import objects
from oomlint.dryrun.catalog.keras_applications import application_output
from oomlint.dryrun.catalog.keras_apply import (
    apply_layer,
    build,
    compute_dtype,
    named,
    note,
    reproduced,
    short,
)
from oomlint.dryrun.catalog.keras_dims import Built, Config, parameters
from oomlint.dryrun.catalog.keras_graph import (
    Node,
    as_symbolic,
    count_parameters,
    is_symbolic,
    owned,
    shape_of_tensor,
    symbolic,
    tensors,
    walk,
    weights_of,
    without_batch,
)
from oomlint.dryrun.catalog.registry import facet, function, method, signature
from oomlint.dryrun.shapes import dim_of, number, shape_of
from oomlint.dryrun.trace import Loop, Role
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import NONE, Const, Mapping, Opaque, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Instance, Method
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

# --- inputs -------------------------------------------------------------------------------------------


@function("keras.Input", parameters="shape batch_size dtype sparse batch_shape name tensor")
def make_input(call: Call, run: Run) -> Value:
    """`keras.Input(shape)`: a symbolic tensor with the batch in front."""
    return input_tensor(named(call, call.signature), call) or symbolic(None, None, Node(call=call), call)


def input_tensor(config: dict[str, Value], call: Call | None) -> Array | None:
    """The symbolic input that `shape`, `batch_shape` and their older spellings describe, if they do."""
    whole = next((config[name] for name in ("batch_shape", "batch_input_shape") if name in config), None)
    inner = next((config[name] for name in ("shape", "input_shape") if name in config), None)
    shape: Shape | None = None
    if whole is not None:
        shape = shape_of(whole)
    elif inner is not None:
        rest = _dims(inner)
        shape = None if rest is None else (dim_of(config.get("batch_size")), *rest)
    else:
        return None
    kind = config.get("dtype")
    dtype = kind.value if isinstance(kind, Const) and isinstance(kind.value, str) else "float32"
    layer = Layer("keras.layers.InputLayer", call, config, output=shape, weights={})
    return symbolic(shape, dtype, Node(layer, (), call), call)


def _dims(value: Value) -> Shape | None:
    """The dimensions of a shape argument; an empty tuple is a shape as well."""
    value = deref(value)
    if isinstance(value, Sequence) and value.items == []:
        return ()
    return shape_of(value)


def own_input(layer: Value) -> Array | None:
    """The input that a first layer of a Sequential describes by itself (`input_shape=`, a built model)."""
    if isinstance(layer, Model):
        known = layer.input_shape is not None
        return symbolic(without_batch(layer.input_shape), "float32", Node(), None) if known else None
    if not isinstance(layer, Layer):
        return None
    config = layer.config
    described = input_tensor(config, layer.made_by)
    if described is not None or short(layer) == "InputLayer":
        return described
    if short(layer) == "Embedding":
        length = config.get("input_length")
        steps = shape_of(length) if length is not None else None
        return None if steps is None else symbolic((None, *steps), "int32", Node(), None)
    width = config.get("input_dim")
    if width is None:
        return symbolic_of_inner(layer)
    steps = (dim_of(config["input_length"]),) if "input_length" in config else ()
    recurrent = short(layer) in ("LSTM", "GRU", "SimpleRNN")
    lead: Shape = steps or ((None,) if recurrent else ())
    return symbolic((None, *lead, dim_of(width)), "float32", Node(), layer.made_by)


def symbolic_of_inner(layer: Layer) -> Array | None:
    """A wrapper takes the input description of the layer it wraps."""
    if short(layer) == "Bidirectional" and layer.inner is not None:
        return own_input(deref(layer.inner))
    return None


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
            _forget(model)
        for item in layers.items or []:
            add_layer(run, model, item, call)
    elif layers is not None and layers != NONE:
        _forget(model)


def _forget(model: Model) -> None:
    """Nothing certain is known of a model's layers any more."""
    model.layers = model.input_shape = model.output_shape = model.inputs = model.outputs = (
        model.parameters
    ) = None


def add_layer(run: Run, model: Model, item: Value, site: Call) -> None:
    """Append a layer to a Sequential; it is applied at once where the shape before it is known."""
    item = deref(item)
    if isinstance(item, Instance) and item.facet is not None:
        item = item.facet
    if model.layers is None:
        return
    if isinstance(item, Array):
        model.inputs = model.outputs = item
        model.input_shape = model.output_shape = item.shape
        return
    if not isinstance(item, Layer | Model):
        _forget(model)
        return
    first = not model.layers
    if first and model.outputs is None:
        start = own_input(item)
        if start is not None:
            model.inputs = model.outputs = start
            model.input_shape = model.output_shape = start.shape
        if isinstance(item, Layer) and short(item) == "InputLayer":
            return
    again = any(item is layer for layer in model.layers)
    model.layers.append(item)
    if model.outputs is None:
        model.parameters = None
        return
    model.outputs = apply_value(run, item, [model.outputs], site)
    shapes = [shape_of_tensor(part) for part in tensors(model.outputs)]
    model.output_shape = shapes[0] if shapes else None
    count = parameters(weights_of(item))
    if model.parameters is not None and not again:
        model.parameters = None if count is None else Const(model.parameters.value + count)


def apply_value(run: Run, target: Value, inputs: list[Value], site: Call) -> Value:
    """Apply a layer or model of any kind to tensors."""
    if isinstance(target, Layer):
        return apply_layer(run, target, inputs, Config({}), replace_arguments(site))
    if isinstance(target, Model):
        return run_model(run, target, inputs, site)
    return Unknown()


def replace_arguments(site: Call) -> Call:
    """The call without its arguments, for layers that a container calls."""
    return replace(site, arguments=())


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
        _forget(model)  # as many layers as the loop has rounds
    else:
        add_layer(run, model, layer, call)
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


def build_on(run: Run, model: Model, inputs: list[Value], site: Call) -> None:
    """Build a model that has not been built on inputs like these."""
    if model.outputs is not None or not any(shape_of_tensor(item) for item in inputs):
        return
    if model.kind == "sequential" and model.layers:
        layers, start = model.layers, inputs[0]
        model.layers, model.parameters = [], Const(0)
        model.inputs = model.outputs = start
        model.input_shape = shape_of_tensor(start)
        for layer in layers:
            add_layer(run, model, layer, site)
    elif model.kind == "subclassed":
        run_model(run, model, inputs, site)


# --- calling models -----------------------------------------------------------------------------------


@method(Model, "__call__", parameters="inputs training mask")
def call_model(call: Call, run: Run) -> Value:
    """`model(x)`."""
    model = call.receiver
    assert isinstance(model, Model)
    first = call.value("inputs")
    if first is None and call.arguments:
        first = deref(call.arguments[0].value)
    structured = isinstance(first, Sequence | Mapping)
    return run_model(
        run, model, tensors(first) if first is not None else [], call, first if structured else None
    )


def run_model(
    run: Run, model: Model, inputs: list[Value], site: Call, structure: Value | None = None
) -> Value:
    """What a model makes of these inputs; a model that is not built yet is built on them."""
    if model.kind in ("subclassed", "functional", "sequential") and isinstance(model.instance, Instance):
        result = call_subclass(run, model, model.instance, inputs, site, structure)
        if result is not None:
            return result
    if (
        model.outputs is None and inputs and model.kind != "subclassed"
    ):  # without a `call` there is nothing to build
        build_on(run, model, [as_symbolic(item) for item in inputs], site)
    node = Node(model, tuple(inputs), site)
    if model.outputs is None:
        return note(run, model, inputs, Built(without_batch(model.output_shape)), site)
    given = [shape_of_tensor(item) for item in inputs]
    built_on = [shape_of_tensor(item) for item in tensors(model.inputs)]
    if len(given) == len(built_on) and all(_fits(one, two) for one, two in zip(given, built_on)):
        outputs = rebatched(run, model.outputs, given[0] if given else None, inputs, node)
    else:
        outputs = replayed(run, model, inputs, node, site)
    return outputs


def _fits(given: Shape | None, built: Shape | None) -> bool:
    """Whether an input has the shape that a model was built on (the batch may differ; unknown adds nothing)."""
    if given is None or built is None:
        return True
    pairs = zip(given[1:], built[1:])
    return len(given) == len(built) and all(one == two or one is None for one, two in pairs)


def rebatched(run: Run, value: Value, given: Shape | None, inputs: list[Value], node: Node) -> Value:
    """A model's outputs for another batch."""
    value = deref(value)
    match value:
        case Array():
            library = "keras" if is_symbolic(Sequence(items=list(inputs))) else "tensor"
            shape = value.shape
            if shape and given:
                shape = (given[0], *shape[1:])
            return Array(library, shape, value.dtype, value.origin, producer=node)
        case Sequence(items=list(items)):
            return Sequence(value.kind, items=[rebatched(run, item, given, inputs, node) for item in items])
        case Mapping(entries=entries):
            return Mapping({key: rebatched(run, item, given, inputs, node) for key, item in entries.items()})
    return Unknown()


def replayed(run: Run, model: Model, inputs: list[Value], node: Node, site: Call) -> Value:
    """A model's graph once more, on inputs of another shape (its weights stay)."""
    if model.kind == "application":
        shape = application_output(model, shape_of_tensor(inputs[0]) if inputs else None)
        return note(run, model, inputs, Built(shape), site)
    results: dict[int, Value] = {}
    for start, given in zip(tensors(model.inputs), inputs):
        if isinstance(start, Array) and start.producer is not None:
            results[id(start.producer)] = given
    graph = walk(model.outputs, model.inputs)
    for step in graph.nodes:
        if id(step) in results or step.layer is None:
            continue
        sources = [_again(item, results) for item in step.inputs]
        arguments = Config(named(step.call, ())) if step.call is not None else Config({})
        built = build(run, step.layer, sources, arguments, site)
        results[id(step)] = symbolic(built.output, compute_dtype(run), step, site)
    outputs = [_again(item, results) for item in tensors(model.outputs)]
    made_again = [reproduced(item, node) for item in outputs]
    return made_again[0] if len(made_again) == 1 else Sequence("list", items=made_again)


def _again(value: Value, results: dict[int, Value]) -> Value:
    """A tensor of the first run as it is in this one; its shape is not known if an operation made it."""
    if isinstance(value, Array):
        known = results.get(id(value.producer))
        return known if known is not None else replace(value, shape=None)
    return value


def call_subclass(
    run: Run, model: Model, instance: Instance, inputs: list[Value], site: Call, structure: Value | None
) -> Value | None:
    """Run a subclass' own `call`; None if it has none."""
    forward = objects.class_attribute(run, instance, "call")
    if not isinstance(forward, Method) or forward.function is None:
        return None
    first = structure
    if first is None:
        first = inputs[0] if len(inputs) == 1 else Sequence("list", items=list(inputs))
    before = run.context
    run.context = before.inside(Role(site.place, "keras.call", instance))
    try:
        arguments = site.arguments if site.name.endswith("__call__") else ()
        if arguments and arguments[0].name is None:
            result = run.apply(forward, arguments, site.place)
        else:
            result = run.call(forward, [first], site)
    finally:
        run.context = before
    if model.outputs is None and any(shape_of_tensor(item) for item in inputs):
        model.inputs = inputs[0] if len(inputs) == 1 else Sequence("list", items=list(inputs))
        model.outputs = result
        ends = tensors(result)
        model.input_shape = without_batch(shape_of_tensor(inputs[0]))
        model.output_shape = without_batch(shape_of_tensor(ends[0])) if ends else None
    model.layers = owned(run, instance)
    model.parameters = count_parameters(model.layers)
    return reproduced(result, Node(model, tuple(inputs), site))


# --- copies and parts ---------------------------------------------------------------------------------


@function("keras.models.clone_model", parameters="model input_tensors clone_function")
def clone_model(call: Call, run: Run) -> Value:
    """`clone_model(model)`: the same architecture with fresh weights, not compiled."""
    return copied(call.value("model"), "cloned", call, run)


def copied(source: Value | None, kind: str, call: Call, run: Run) -> Model:
    """A model like another one."""
    if isinstance(source, Instance):
        source = source.facet
    model = new_model(kind, call, run)
    if isinstance(source, Model):
        model.layers = None if source.layers is None else list(source.layers)
        model.inputs, model.outputs = source.inputs, source.outputs
        model.input_shape, model.output_shape = source.input_shape, source.output_shape
        model.parameters = source.parameters
    return model


CONFIG = "keras.config"


@method(Model, "get_config", "to_json", "to_yaml")
def to_config(call: Call, run: Run) -> Value:
    """The architecture without weights."""
    return Opaque(CONFIG, call, {"model": call.receiver} if call.receiver is not None else {})


@function("keras.Sequential.from_config", "keras.Model.from_config", parameters="config custom_objects")
@function(
    "keras.models.model_from_json", "keras.models.model_from_config", parameters="json_string custom_objects"
)
def from_config(call: Call, run: Run) -> Value:
    """A model from its architecture."""
    given = deref(call.arguments[0].value) if call.arguments else None
    source = given.attributes.get("model") if isinstance(given, Opaque) and given.type == CONFIG else None
    return copied(source, "revived", call, run)


@function(
    "keras.models.load_model",
    "keras.saving.load_model",
    "tf.saved_model.load",
    parameters="filepath custom_objects compile safe_mode",
)
def load_model(call: Call, run: Run) -> Value:
    """A model from a file: compiled as it was saved, nothing else known."""
    return new_model("loaded", call, run) if call.name.startswith("keras.") else Unknown()


@method(Model, "get_layer", parameters="name index")
def get_layer(call: Call, run: Run) -> Value:
    """One layer by name or index."""
    model = call.receiver
    assert isinstance(model, Model)
    name, index = call.value("name"), number(call.value("index"))
    if model.layers is None:
        return Layer()
    if index is not None and -len(model.layers) <= index < len(model.layers):
        return model.layers[index]
    for layer in model.layers:
        made = layer.config.get("name") if isinstance(layer, Layer) else None
        if name is not None and made is not None and made == name:
            return layer
    return Layer()


signature("keras.Model.summary", "line_length positions print_fn")
signature("keras.Model.save keras.Model.save_weights", "filepath overwrite")
signature("keras.Model.load_weights", "filepath skip_mismatch")
