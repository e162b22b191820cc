"""`keras.layers.*`: making layers, calling them, and their attributes and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.apply import (
    DATA_FORMAT,
    WRAPPERS,
    apply_layer,
    config_of,
    has_no_weights,
    inputs_of,
    named,
)
from oomlint.dryrun.catalog.keras.dims import Config
from oomlint.dryrun.catalog.keras.graph import Node, symbolic, tensors, trained_weights
from oomlint.dryrun.catalog.keras.kinds import KINDS
from oomlint.dryrun.catalog.registry import (
    AttributeHandler,
    attribute,
    facet,
    function,
    method,
    prefix,
    signature,
)
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import NONE, Const, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.shapes import shape_of
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

WRAPPED = {
    "TimeDistributed": "layer",
    "Bidirectional": "layer merge_mode",
    "SpectralNormalization": "layer power_iterations",
    "RNN": "cell return_sequences return_state go_backwards stateful unroll",
    "StackedRNNCells": "cells",
    "Lambda": "function output_shape mask arguments",
    "InputLayer": "shape batch_size dtype",
    "Pipeline": "layers",
    "Wrapper": "layer",
}
for _name, _parameters in WRAPPED.items():
    signature(f"keras.layers.{_name}", _parameters)
for _kind in KINDS.values():
    if _kind.name not in WRAPPED and _kind.signature:
        signature(f"keras.layers.{_kind.name}", " ".join(_kind.signature))

# The functional forms of merging layers.
FUNCTIONAL = {
    "add": "Add",
    "subtract": "Subtract",
    "multiply": "Multiply",
    "average": "Average",
    "maximum": "Maximum",
    "minimum": "Minimum",
    "concatenate": "Concatenate",
    "dot": "Dot",
}
signature("keras.layers.concatenate", "inputs axis")
signature("keras.layers.dot", "inputs axes normalize")


@prefix("keras.layers.")
def make_layer(call: Call, run: Run) -> Value:
    """A layer object; or, for the lower-case forms, a layer made and called at once."""
    name = call.name.rpartition(".")[2]
    if name in FUNCTIONAL:
        layer = Layer(f"keras.layers.{FUNCTIONAL[name]}", call, named(call, call.signature or ("inputs",)))
        inputs = tensors(layer.config.pop("inputs", None))
        return apply_layer(run, layer, inputs, Config({}), call)
    if not name[:1].isupper():
        return Unknown()
    config = named(call, call.signature)
    if is_keras_1(call, config):
        return Layer(call.name, call, {"**": Unknown()})
    order = run.state.get(DATA_FORMAT)
    if order is not None and "data_format" in call.signature:
        config.setdefault("data_format", order)
    inner = config.get("layer") if name in WRAPPERS else None
    layer = Layer(call.name, call, config, inner=inner)
    layer.weights = {} if has_no_weights(layer) else None
    return layer


# Parameters that Keras 2 renamed. `Convolution2D(64, 3, 3)` has its rows and columns where the strides are now.
OLD = frozenset(
    """output_dim nb_filter nb_row nb_col filter_length border_mode subsample subsample_length dim_ordering init
    W_regularizer b_regularizer activity_l2 inner_init forget_bias_init nb_epoch pool_length atrous_rate""".split()
)


def is_keras_1(call: Call, config: dict[str, Value]) -> bool:
    """Whether a layer is written for Keras 1: what its arguments mean is not worked out."""
    if not OLD.isdisjoint(config.keys() - set(call.signature)):
        return True
    positional = sum(argument.name is None for argument in call.arguments)
    return "Convolution" in call.spelled.rpartition(".")[2] and positional > 2


@function(
    "keras.backend.set_image_data_format",
    "keras.config.set_image_data_format",
    "keras.backend.set_image_dim_ordering",
    parameters="data_format",
)
def set_image_data_format(call: Call, run: Run) -> Value:
    """Where the channels stand by default from here on."""
    value = call.value("data_format")
    old = {"th": "channels_first", "tf": "channels_last"}
    given = value.value if isinstance(value, Const) else None
    run.state.set(DATA_FORMAT, Const(old.get(given, given)) if isinstance(given, str) else Unknown())
    return NONE


@function("keras.Layer")
def make_base_layer(call: Call, run: Run) -> Value:
    """`keras.Layer()` itself."""
    return Layer(made_by=call)


@facet(
    "keras.Layer", "keras.layers.AbstractRNNCell", *(f"keras.layers.{name}" for name in (*KINDS, *WRAPPED))
)
def layer_facet(instance: Instance, base: str, run: Run) -> Value:
    """An object of the program's own layer class."""
    return Layer(base, inner=instance)


@method(Layer, "__init__")
def initialise_layer(call: Call, run: Run) -> Value:
    """`super().__init__(...)`: a subclass of a Dense is configured like one."""
    layer = call.receiver
    if isinstance(layer, Layer):
        layer.config = named(call, run.catalog.signatures.get(layer.type, ()))
        layer.made_by = layer.made_by or call
        if "layer" in layer.config:
            layer.attributes["layer"] = layer.config["layer"]  # what a wrapper of the program wraps
    return NONE


@method(Layer, "__call__")
def call_layer(call: Call, run: Run) -> Value:
    """`layer(x)`."""
    layer = call.receiver
    assert isinstance(layer, Layer)
    inputs, arguments = inputs_of(layer, call)
    return apply_layer(run, layer, inputs, arguments, call)


@method(Layer, "add_weight", "add_variable", parameters="shape initializer dtype trainable")
def add_weight(call: Call, run: Run) -> Value:
    """`self.add_weight(shape=...)`; older code gives the name first."""
    layer = call.receiver
    assert isinstance(layer, Layer)
    arguments = call.arguments
    given = call.value("shape")
    if isinstance(given, Const) and isinstance(given.value, str) and len(arguments) > 1:
        given = deref(arguments[1].value)
    empty = isinstance(given, Sequence) and given.items == []
    shape: Shape | None = () if given is None or empty else shape_of(given)
    kind = call.const("dtype")
    dtype = kind if isinstance(kind, str) else "float32"
    trained = call.const("trainable", True) is not False
    name = f"_weight{len(layer.attributes)}" + ("" if trained else "/moving_mean")
    value = Array("variable", shape, dtype, symbolic(shape, dtype, None, call).origin, producer=layer)
    layer.attributes[name] = value
    return value


@method(Layer, "build", "get_weights", "set_weights", "get_config", "adapt", "add_loss", "count_params")
def other_methods(call: Call, run: Run) -> Value:
    """Methods whose result is not needed."""
    return Unknown()


@attribute(Layer, "output")
def layer_output(value: Value, run: Run) -> Value:
    """The symbolic output of a layer that has been called."""
    assert isinstance(value, Layer)
    node = value.attributes.get("_node")
    if value.output is None and node is None:
        return symbolic(None, None, None, value.made_by)
    return symbolic(value.output, "float32", node or Node(value), value.made_by)


@attribute(Layer, "input")
def layer_input(value: Value, run: Run) -> Value:
    """The symbolic input of a layer that has been called."""
    assert isinstance(value, Layer)
    node = value.attributes.get("_node")
    if isinstance(node, Node) and len(node.inputs) == 1:
        return node.inputs[0]
    return symbolic(value.inputs[0] if value.inputs else None, None, None, value.made_by)


@attribute(Layer, "output_shape")
def layer_output_shape(value: Value, run: Run) -> Value:
    """The output's shape as a tuple."""
    assert isinstance(value, Layer)
    return _tuple(value.output)


@attribute(Layer, "name")
def layer_name(value: Value, run: Run) -> Value:
    """The name, where it was given."""
    assert isinstance(value, Layer)
    return value.config.get("name") or Unknown(type="str")


@attribute(Layer, "weights", "variables", "trainable_weights", "trainable_variables", "non_trainable_weights")
def layer_weights(value: Value, run: Run) -> Value:
    """The weights, one by one where they are known."""
    assert isinstance(value, Layer)
    weights = trained_weights(value)
    if weights is None:
        return Sequence("list", element=Array("variable", None, "float32", producer=value))
    return Sequence(
        "list", items=[Array("variable", shape, "float32", producer=value) for shape in weights.values()]
    )


def _weight(name: str) -> AttributeHandler:
    """What `layer.kernel` and the like give."""

    def weight(value: Value, run: Run) -> Value:
        assert isinstance(value, Layer)
        shape = (value.weights or {}).get(name)
        if shape is None and name == "embeddings":  # known before it is called
            config = config_of(value)
            shape = (config.dim("input_dim"), config.dim("output_dim"))
        if shape is None or None in shape:
            return Unknown()
        return Array("variable", shape, "float32", producer=value)

    return weight


for _name in ("kernel", "bias", "embeddings", "recurrent_kernel"):
    attribute(Layer, _name)(_weight(_name))


@attribute(Model, "output_shape")
def model_output_shape(value: Value, run: Run) -> Value:
    """The output's shape as a tuple."""
    assert isinstance(value, Model)
    return _tuple(value.output_shape)


@attribute(Model, "input_shape")
def model_input_shape(value: Value, run: Run) -> Value:
    """The input's shape as a tuple."""
    assert isinstance(value, Model)
    return _tuple(value.input_shape)


def _tuple(shape: Shape | None) -> Value:
    if shape is None:
        return Sequence("tuple", element=Unknown(type="int"))
    return Sequence("tuple", items=[NONE if dim is None else dim for dim in shape])


@attribute(Model, "layers")
def model_layers(value: Value, run: Run) -> Value:
    """The layers of a model, the input layer of a functional one first."""
    assert isinstance(value, Model)
    if value.layers is None:
        return Sequence("list", element=Layer())
    return Sequence("list", items=list(value.layers))


@attribute(Model, "output", "outputs")
def model_outputs(value: Value, run: Run) -> Value:
    """The symbolic output of a model."""
    assert isinstance(value, Model)
    if value.outputs is not None:
        return value.outputs
    return symbolic(value.output_shape, None, Node(value), value.made_by)


@attribute(Model, "input", "inputs")
def model_inputs(value: Value, run: Run) -> Value:
    """The symbolic input of a model."""
    assert isinstance(value, Model)
    if value.inputs is not None:
        return value.inputs
    return symbolic(value.input_shape, None, Node(), value.made_by)


@attribute(
    Model, "weights", "variables", "trainable_weights", "trainable_variables", "non_trainable_variables"
)
def model_weights(value: Value, run: Run) -> Value:
    """The variables of a model; each knows the model that it belongs to."""
    return Sequence("list", element=Array("variable", None, "float32", producer=value))


@attribute(Model, "losses")
def model_losses(value: Value, run: Run) -> Value:
    """Penalties of the weights and activations: the same on every replica of a strategy."""
    return Sequence(
        "list", element=Array("tensor", (), "float32", tags=frozenset({"penalty"}), producer=value)
    )


@attribute(Model, "metrics")
def model_lists(value: Value, run: Run) -> Value:
    """Lists about which nothing is known but their owner."""
    return Sequence("list", element=Array("tensor", (), "float32", producer=value))
