"""Copies and parts of models: clones, saved architectures, loaded files, single layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.models import new_model
from oomlint.dryrun.catalog.registry import function, method, signature
from oomlint.dryrun.values.base import Opaque, Unknown, Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.shapes import number
from oomlint.dryrun.values.training import Layer, Model

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


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
