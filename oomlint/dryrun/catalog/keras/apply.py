"""Calling layers: from the configuration and the inputs' shapes to outputs and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun import objects
from oomlint.dryrun.catalog.keras.dims import Built, Config, elements, parameters, prefixed, together
from oomlint.dryrun.catalog.keras.graph import (
    Node,
    is_symbolic,
    owned,
    shape_of_tensor,
    symbolic,
    tensors,
    weights_of,
)
from oomlint.dryrun.catalog.keras.kinds import KINDS
from oomlint.dryrun.catalog.keras.layers_recurrent import STATES, cell_weights, family, sequence_output
from oomlint.dryrun.catalog.registry import CATALOG
from oomlint.dryrun.trace import Argument, Role
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import NONE, Const, Sequence, Unknown, Value, deref, join_all
from oomlint.dryrun.values.program import Function, Instance, Method
from oomlint.dryrun.values.shapes import scale, shape_of
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

Shapes = tuple[Shape | None, ...]

POLICY = object()  # the key in the state under which the global dtype policy stands
DATA_FORMAT = (POLICY, "data_format")  # and under which the default order of axes does
INTEGERS = frozenset(
    ["TextVectorization", "StringLookup", "IntegerLookup", "Hashing", "HashedCrossing", "Discretization"]
)


def short(layer: Layer) -> str:
    """The class name of a layer."""
    return layer.type.rpartition(".")[2]


def config_of(layer: Layer) -> Config:
    """The layer's configuration."""
    return Config(layer.config, "**" in layer.config)


def named(call: Call, signature: tuple[str, ...]) -> dict[str, Value]:
    """The arguments of a call by parameter name; `**` marks content that is not known."""
    values: dict[str, Value] = {}
    position = 0
    for argument in call.arguments:
        if argument.star:
            values["**"] = argument.value
        elif argument.name is not None:
            values[argument.name] = deref(argument.value)
        elif position < len(signature):
            values[signature[position]] = deref(argument.value)
            position += 1
    return values


def policy_of(run: Run, layer: Layer | None = None) -> Value:
    """The dtype policy of a layer: its own, or the global one."""
    own = layer.config.get("dtype") if layer is not None else None
    if own is not None and own != NONE:
        return deref(own)
    return run.state.get((POLICY, "policy")) or Const("float32")


def compute_dtype(run: Run, layer: Layer | None = None) -> str | None:
    """The dtype in which a layer computes; under a mixed policy its weights stay float32."""
    policy = policy_of(run, layer)
    return str(policy.value).removeprefix("mixed_") if isinstance(policy, Const) else None


def has_no_weights(layer: Layer) -> bool:
    """Whether a layer has no weights whatever its input is, so that none are missing where nobody calls it."""
    kind = KINDS.get(short(layer))
    return (
        kind is not None
        and short(layer) not in WRAPPERS
        and kind.infer(config_of(layer), (None,), Config({})).weights == {}
    )


# --- inputs -------------------------------------------------------------------------------------------


def inputs_of(layer: Layer, call: Call) -> tuple[list[Value], Config]:
    """The tensors that a call passes to a layer, and its other arguments."""
    kind = KINDS.get(short(layer))
    signature = kind.call if kind is not None else ("inputs",)
    arguments = named(call, signature)
    first = arguments.get(signature[0], next(iter(arguments.values()), None))
    if signature[0] == "query":
        values = [arguments[name] for name in ("query", "value", "key") if name in arguments]
        return values, Config(arguments)
    items = tensors(first)
    # A recurrent layer's states come as further inputs: they belong to the graph, not to the shape arithmetic.
    for name, value in arguments.items():
        if value is not first and name != "training":
            items.extend(item for item in tensors(value) if isinstance(item, Array))
    return items, Config(arguments)


# --- shapes -------------------------------------------------------------------------------------------


def build(run: Run, target: Value | None, inputs: list[Value], arguments: Config, site: Call) -> Built:
    """Output shapes and weights of a layer or model on these inputs."""
    target = None if target is None else deref(target)
    if isinstance(target, Instance):
        return build(run, target.facet, inputs, arguments, site)
    if isinstance(target, Model):
        result = forward_model(run, target, inputs, site)
        items = tensors(result)
        shapes: Shapes = tuple(shape_of_tensor(item) for item in items)
        return Built(shapes[0] if shapes else None, weights_of(target), shapes if len(shapes) > 1 else None)
    if not isinstance(target, Layer):
        return Built()
    if target.inner is not None and isinstance(target.inner, Instance):
        made = call_instance(run, target, target.inner, inputs, (), site)
        if made is not None:
            shapes = tuple(shape_of_tensor(item) for item in tensors(made))
            return Built(shapes[0] if shapes else None, target.weights, shapes if len(shapes) > 1 else None)
    if "_either" in target.attributes:
        made = _apply_either(run, target, inputs, site)
        return Built(target.output, target.weights)
    wrapper = WRAPPERS.get(short(target))
    if wrapper is not None:
        return wrapper(run, target, inputs, arguments, site)
    kind = KINDS.get(short(target))
    if kind is None or not inputs:
        return Built()
    # A number has no batch: Keras refuses it, or the shape is not what the text makes it look like.
    return kind.infer(config_of(target), tuple(shape_of_tensor(item) or None for item in inputs), arguments)


def _time_distributed(run: Run, layer: Layer, inputs: list[Value], arguments: Config, site: Call) -> Built:
    """The inner layer on every time step."""
    shape = shape_of_tensor(inputs[0]) if inputs else None
    if shape is None or len(shape) < 3:
        return Built()
    whole = inputs[0].producer if isinstance(inputs[0], Array) else None
    step = symbolic((shape[0], *shape[2:]), None, whole or Node(), site)
    inner = build(run, layer.inner, [step], arguments, site)
    note(run, layer.inner, [step], inner, site)
    output = None if inner.output is None else (shape[0], shape[1], *inner.output[1:])
    return Built(output, inner.weights)


def _bidirectional(run: Run, layer: Layer, inputs: list[Value], arguments: Config, site: Call) -> Built:
    """Two copies of the inner layer; their outputs are merged."""
    one = build(run, layer.inner, inputs, arguments, site)
    backward = layer.config.get("backward_layer")
    other = one if backward is None else build(run, backward, inputs, arguments, site)
    weights = together(prefixed("forward", one.weights), prefixed("backward", other.weights))
    mode = config_of(layer).get("merge_mode", "concat")
    if one.output is None or not isinstance(mode, str | None):
        return Built(None, weights)
    if mode is None:
        return Built(one.output, weights, (one.output, other.output))
    width = one.output[-1]
    output = (*one.output[:-1], scale(width, Const(2)) if mode == "concat" else width)
    if one.outputs is not None:
        return Built(output, weights, (output, *one.outputs[1:], *(other.outputs or (None,))[1:]))
    return Built(output, weights)


def _cells(run: Run, layer: Layer, inputs: list[Value], arguments: Config, site: Call) -> Built:
    """`RNN(cell)` or `RNN([cell, cell])`: cells one upon the other."""
    shape = shape_of_tensor(inputs[0]) if inputs else None
    cells = [item for item in tensors(layer.config.get("cell")) if isinstance(item, Layer)]
    if len(cells) == 1 and short(cells[0]) == "StackedRNNCells":
        cells = [item for item in tensors(cells[0].config.get("cells")) if isinstance(item, Layer)]
    if not cells or not shape:
        return Built()
    width = shape[-1]
    weights: dict[str, Shape] | None = {}
    states = 0
    for index, cell in enumerate(cells):
        kind = family(short(cell))
        if kind is None:
            return Built()
        weights = together(weights, prefixed(f"cell{index}", cell_weights(kind, config_of(cell), width)))
        width = config_of(cell).dim("units")
        states += STATES[kind]
    built = sequence_output(config_of(layer), shape, width, states)
    return Built(built.output, weights, built.outputs)


def _spectral(run: Run, layer: Layer, inputs: list[Value], arguments: Config, site: Call) -> Built:
    """The inner layer and a vector for its largest singular value."""
    inner = build(run, layer.inner, inputs, arguments, site)
    kernel = next(iter(inner.weights.values()), None) if inner.weights else None
    weights = None if kernel is None else together(inner.weights, {"vector_u": (Const(1), kernel[-1])})
    return Built(inner.output, weights)


def _lambda(run: Run, layer: Layer, inputs: list[Value], arguments: Config, site: Call) -> Built:
    """A Lambda layer: its function is run on the input."""
    given = shape_of(layer.config.get("output_shape"))
    function = layer.config.get("function")
    if given is not None and inputs:
        batch = shape_of_tensor(inputs[0])
        return Built((batch[0] if batch else None, *given), {})
    if function is None:
        return Built(None, {})
    value: Value = inputs[0] if len(inputs) == 1 else Sequence("list", items=list(inputs))
    result = run.call(function, [value], site, "keras.call")
    shapes = tuple(shape_of_tensor(item) for item in tensors(result))
    return Built(shapes[0] if shapes else None, {}, shapes if len(shapes) > 1 else None)


def _pipeline(run: Run, layer: Layer, inputs: list[Value], arguments: Config, site: Call) -> Built:
    """Preprocessing layers one after another."""
    listed = layer.config.get("layers")
    if not isinstance(listed, Sequence) or listed.items is None or not inputs:
        return Built()
    current, weights = inputs, dict[str, Shape]()
    for index, part in enumerate(tensors(listed)):
        built = build(run, part, current, Config({}), site)
        if built.weights is None:
            return Built()
        weights |= prefixed(str(index), built.weights) or {}
        current = [note(run, part, current, built, site)]
    return Built(shape_of_tensor(current[0]), weights)


WRAPPERS = {
    "Pipeline": _pipeline,
    "TimeDistributed": _time_distributed,
    "Bidirectional": _bidirectional,
    "RNN": _cells,
    "SpectralNormalization": _spectral,
    "Lambda": _lambda,
}


# --- application --------------------------------------------------------------------------------------


def apply_layer(run: Run, layer: Layer, inputs: list[Value], arguments: Config, site: Call) -> Value:
    """Call a layer: its weights are made, and its outputs are tensors that remember it."""
    if "_either" in layer.attributes:
        return _apply_either(run, layer, inputs, site)
    if isinstance(layer.inner, Instance):
        result = call_instance(run, layer, layer.inner, inputs, site.arguments, site)
        if result is not None:
            node = Node(layer, tuple(inputs), site)
            return reproduced(result, node)
    built = build(run, layer, inputs, arguments, site)
    return note(run, layer, inputs, built, site)


def _apply_either(run: Run, layer: Layer, inputs: list[Value], site: Call) -> Value:
    """Call a layer that is one of several: what all of them make of it holds."""
    arguments = site.arguments
    if not arguments:
        value = inputs[0] if len(inputs) == 1 else Sequence("list", items=list(inputs))
        arguments = (Argument(value, site.place),)
    result = join_all([run.apply(way, arguments, site.place) for way in layer.ways()])
    layer.inputs = tuple(shape_of_tensor(item) for item in inputs)
    layer.output = next((shape_of_tensor(item) for item in tensors(result)), None)
    made = [{} if isinstance(way, Function) else weights_of(part_of(way)) for way in layer.ways()]
    layer.weights = made[0] if len({parameters(weights) for weights in made}) == 1 else None
    return result


def part_of(value: Value) -> Value:
    """The layer or model that an object of the program's own class is."""
    return value.facet if isinstance(value, Instance) and value.facet is not None else value


def note(run: Run, target: Value | None, inputs: list[Value], built: Built, site: Call) -> Value:
    """Keep on the layer what a call of it showed, and give the outputs."""
    layer = target if isinstance(target, Layer) else None
    node = Node(target, tuple(inputs), site)
    if layer is not None:
        layer.inputs = tuple(shape_of_tensor(item) for item in inputs)
        layer.output = built.output
        first = "_node" not in layer.attributes
        if first or layer.weights is None or any(elements(shape) is None for shape in layer.weights.values()):
            layer.weights = built.weights
            layer.attributes["_node"] = node
            layer.attributes["_policy"] = policy_of(run, layer)
    library = "keras" if is_symbolic(Sequence(items=list(inputs))) or not _known(inputs) else "tensor"
    dtype = compute_dtype(run, layer)
    if layer is not None and short(layer) in INTEGERS:
        words = short(layer) == "StringLookup" and Config(layer.config).flag("invert", False)
        dtype = "string" if words else "int64"
    shapes = built.outputs if built.outputs is not None else (built.output,)
    outputs: list[Value] = []
    for shape in shapes:
        made = symbolic(shape, dtype, node, site)
        outputs.append(
            made if library == "keras" else Array(library, shape, dtype, made.origin, producer=node)
        )
    return Sequence("tuple", items=outputs) if built.outputs is not None else outputs[0]


def _known(inputs: list[Value]) -> bool:
    return any(isinstance(item, Array) for item in inputs)


def reproduced(value: Value, node: Node) -> Value:
    """The outputs of a layer of the program, as made by that layer as a whole."""
    value = deref(value)
    match value:
        case Array():
            return Array(value.library, value.shape, value.dtype, value.origin, value.tags, node)
        case Sequence(items=list(items)):
            return Sequence(value.kind, items=[reproduced(item, node) for item in items])
    return Array("keras" if is_symbolic(Sequence(items=list(node.inputs))) else "tensor", producer=node)


def call_instance(
    run: Run,
    layer: Layer,
    instance: Instance,
    inputs: list[Value],
    arguments: tuple[Argument, ...],
    site: Call,
) -> Value | None:
    """Run `build` and `call` of the program's own layer class; None if it has no `call`."""
    method = objects.class_attribute(run, instance, "call")
    if not isinstance(method, Method) or method.function is None:
        return None
    before = run.context
    run.context = before.inside(Role(site.place, "keras.call", instance))
    try:
        run_build(run, layer, instance, inputs, site)
        if not arguments:
            value = inputs[0] if len(inputs) == 1 else Sequence("list", items=list(inputs))
            arguments = (Argument(value, site.place),)
        result = run.apply(method, arguments, site.place)
    finally:
        run.context = before
    parts = owned(run, instance)
    layer.attributes["_parts"] = Sequence("list", items=parts)
    layer.attributes["_result"] = result
    own: dict[str, Shape] | None = {}
    for name, value in layer.attributes.items():
        if name.startswith("_weight") and isinstance(value, Array):
            own = together(own, None if value.shape is None else {name: value.shape})
    layer.weights = together(
        own, *(prefixed(str(index), weights_of(part)) for index, part in enumerate(parts))
    )
    layer.inputs = tuple(shape_of_tensor(item) for item in inputs)
    layer.output = next((shape_of_tensor(item) for item in tensors(result)), None)
    return result


def run_build(run: Run, owner: Layer | Model, instance: Instance, inputs: list[Value], site: Call) -> None:
    """Run the `build` that a layer or model of the program defines, before its first call."""
    method = objects.class_attribute(run, instance, "build")
    if not isinstance(method, Method) or method.function is None or "_built" in owner.attributes:
        return
    owner.attributes["_built"] = Const(True)
    shapes = [_shape_value(shape_of_tensor(item)) for item in inputs]
    whole: Value = shapes[0] if len(shapes) == 1 else Sequence("list", items=shapes)
    run.apply(method, (Argument(whole, site.place),), site.place)


def _shape_value(shape: Shape | None) -> Value:
    if shape is None:
        return Sequence("tuple", element=Unknown(type="int"))
    return Sequence("tuple", items=[Const(None) if dim is None else dim for dim in shape])


def forward_model(run: Run, model: Model, inputs: list[Value], site: Call) -> Value:
    """What a model makes of its inputs (registered by the module that knows models)."""
    handler = CATALOG.methods[Model, "__call__"]
    first = inputs[0] if len(inputs) == 1 else Sequence("list", items=list(inputs))
    call = type(site)(
        site.name, site.place, run.context, model, (Argument(first, site.place),), result=Unknown()
    )
    return handler(call, run)
