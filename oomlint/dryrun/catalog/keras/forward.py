"""What models make of their inputs: growing a Sequential layer by layer, building, calling, replaying a graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun import objects
from oomlint.dryrun.catalog.keras.applications import application_output
from oomlint.dryrun.catalog.keras.apply import (
    apply_layer,
    build,
    compute_dtype,
    named,
    note,
    reproduced,
    run_build,
    short,
)
from oomlint.dryrun.catalog.keras.dims import Built, Config, parameters
from oomlint.dryrun.catalog.keras.graph import (
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
from oomlint.dryrun.catalog.keras.inputs import own_input
from oomlint.dryrun.catalog.registry import method
from oomlint.dryrun.trace import Role
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Instance, Method
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


def forget(model: Model) -> None:
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
        forget(model)
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
            shape = value.shape
            if shape and given:
                shape = (given[0], *shape[1:])
            return _for(inputs, Array("keras", shape, value.dtype, value.origin, producer=node))
        case Sequence(items=list(items)):
            return Sequence(value.kind, items=[rebatched(run, item, given, inputs, node) for item in items])
        case Mapping(entries=entries):
            return Mapping({key: rebatched(run, item, given, inputs, node) for key, item in entries.items()})
    return Unknown()


def replayed(run: Run, model: Model, inputs: list[Value], node: Node, site: Call) -> Value:
    """A model's graph once more, on inputs of another shape (its weights stay)."""
    if model.kind == "application":
        if inputs:
            model.attributes.setdefault("_applied_to", inputs[0])
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
    made_again = [_for(inputs, reproduced(item, node)) for item in outputs]
    return made_again[0] if len(made_again) == 1 else Sequence("list", items=made_again)


def _for(inputs: list[Value], output: Value) -> Value:
    """An output as the inputs are: symbolic, or a tensor with values."""
    eager = not is_symbolic(Sequence(items=list(inputs)))
    return replace(output, library="tensor") if eager and isinstance(output, Array) else output


def outputs_on(run: Run, model: Model, inputs: list[Value], site: Call) -> Value | None:
    """A model's outputs on these inputs, where its own leave more open than the batch (`Input((None, None, 3))`)."""
    ends = [shape_of_tensor(item) for item in tensors(model.outputs)]
    shapes = [shape_of_tensor(item) for item in inputs]
    still_open = any(shape is not None and None in shape[1:] for shape in ends)
    known = bool(shapes) and all(shape is not None and None not in shape[1:] for shape in shapes)
    if not (still_open and known) or model.kind == "subclassed" or model.instance is not None:
        return model.outputs
    return replayed(run, model, inputs, Node(model, tuple(inputs), site), site)


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
        run_build(run, model, instance, inputs, site)
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
