"""The architectures of keras.applications, rebuilt in `fixtures/models` as people write them.

Keras executes each script without giving any weight a value: that its models have the parameters of Keras' own shows
that the script is right. The dry run of the same text must then give every layer of every model the same parameters
and the same output shape.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun.catalog.keras.graph import inner_layers
from oomlint.dryrun.interpreter import dry_run
from oomlint.dryrun.trace import Trace
from oomlint.dryrun.values.base import Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.training import Model
from oomlint.syntax.parse import parse

from .test_keras_shapes import count, plain

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Keras 3 builds a layer of layers by tracing it, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:`build\\(\\)` was called:UserWarning")

MODELS = Path(__file__).parents[2] / "fixtures" / "models"

# Per script: the name a model is bound to, and Keras' own way to make it.
SCRIPTS = {
    "convnext": {
        "tiny": "ConvNeXtTiny",
        "small": "ConvNeXtSmall",
        "base": "ConvNeXtBase",
        "large": "ConvNeXtLarge",
        "xlarge": "ConvNeXtXLarge",
    },
    "densenet": {
        "densenet121": "DenseNet121",
        "densenet169": "DenseNet169",
        "densenet201": "DenseNet201",
    },
    "efficientnet": {f"b{number}": f"EfficientNetB{number}" for number in range(8)},
    "efficientnet_v2": {
        f"v2_{name.lower()}": f"EfficientNetV2{name}" for name in "B0 B1 B2 B3 S M L".split()
    },
    "inception_resnet_v2": {"inception_resnet_v2": "InceptionResNetV2"},
    "inception_v3": {"inception_v3": "InceptionV3"},
    "mobilenet": {
        "mobilenet_100": "MobileNet",
        "mobilenet_75": "MobileNet(alpha=0.75)",
        "mobilenet_50": "MobileNet(alpha=0.5)",
        "mobilenet_25": "MobileNet(alpha=0.25, input_shape=(128, 128, 3))",
    },
    "mobilenet_v2": {
        "mobilenet_v2_100": "MobileNetV2",
        "mobilenet_v2_130": "MobileNetV2(alpha=1.3)",
        "mobilenet_v2_140": "MobileNetV2(alpha=1.4)",
        "mobilenet_v2_75": "MobileNetV2(alpha=0.75, input_shape=(192, 192, 3))",
        "mobilenet_v2_50": "MobileNetV2(alpha=0.5, input_shape=(160, 160, 3))",
        "mobilenet_v2_35": "MobileNetV2(alpha=0.35, input_shape=(96, 96, 3), classes=10)",
    },
    "mobilenet_v3": {
        "small": "MobileNetV3Small",
        "large": "MobileNetV3Large",
        "small_75": "MobileNetV3Small(alpha=0.75)",
        "large_125": "MobileNetV3Large(alpha=1.25)",
        "small_minimalistic": "MobileNetV3Small(minimalistic=True)",
        "large_minimalistic": "MobileNetV3Large(minimalistic=True)",
    },
    "nasnet": {"nasnet_mobile": "NASNetMobile", "nasnet_large": "NASNetLarge"},
    "resnet": {"resnet50": "ResNet50", "resnet101": "ResNet101", "resnet152": "ResNet152"},
    "resnet_v2": {
        "resnet50v2": "ResNet50V2",
        "resnet101v2": "ResNet101V2",
        "resnet152v2": "ResNet152V2",
    },
    "vgg": {"vgg16": "VGG16", "vgg19": "VGG19"},
    "xception": {"xception": "Xception"},
}
VARIANTS = [(script, name) for script, names in SCRIPTS.items() for name in names]
Row = tuple[str, Any, int | None]


@contextmanager
def symbolically() -> Iterator[Any]:
    """Keras makes variables that have a shape and no value: the largest models need no memory to speak of."""
    keras = pytest.importorskip("keras", minversion="3.0")
    from keras.src.backend.common.stateless_scope import StatelessScope

    with StatelessScope(initialize_variables=False):
        yield keras


@contextmanager
def noted_shapes() -> Iterator[dict[int, Any]]:
    """The shape of what each layer gave at its last call, also of layers inside the `call` of others."""
    keras = pytest.importorskip("keras", minversion="3.0")
    shapes: dict[int, Any] = {}
    original = keras.layers.Layer.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        shapes[id(self)] = tuple(getattr(result, "shape", ()))
        return result

    keras.layers.Layer.__call__ = call
    try:
        yield shapes
    finally:
        keras.layers.Layer.__call__ = original


@functools.cache
def executed(script: str) -> tuple[dict[str, Any], dict[int, Any]]:
    """The names that Keras' run of a script leaves, and the shapes that its layers gave."""
    path = MODELS / f"{script}.py"
    names: dict[str, Any] = {"__name__": script}
    with symbolically(), noted_shapes() as shapes:
        exec(compile(path.read_text("utf-8"), str(path), "exec", dont_inherit=True), names)
    return names, shapes


@functools.cache
def read(script: str) -> Trace:
    """The dry run of a script."""
    path = MODELS / f"{script}.py"
    return dry_run(parse(document_from_text(path.read_text("utf-8"), path.name)))


def found(script: str, name: str) -> Model:
    """The model that the dry run binds to a name."""
    value: Value | None = [event.value for event in read(script).assigns() if event.path == name][-1]
    value = None if value is None else deref(value)
    if isinstance(value, Instance):
        value = value.facet
    assert isinstance(value, Model)
    return value


def keras_rows(keras: Any, model: Any, shapes: dict[int, Any]) -> Counter[Row]:
    rows: Counter[Row] = Counter()
    for layer in model._flatten_layers(include_self=False, recursive=True):
        if isinstance(layer, keras.layers.InputLayer) or layer._layers:
            continue
        shape = shapes.get(id(layer))
        if shape is None:  # nobody calls it
            rows[type(layer).__name__, None, 0] += 1
        else:
            rows[type(layer).__name__, shape[1:], layer.count_params()] += 1
    return rows


def dry_rows(model: Model) -> Counter[Row]:
    rows: Counter[Row] = Counter()
    for layer in inner_layers(model):
        name = layer.type.rpartition(".")[2]
        if isinstance(layer.inner, Instance):
            if any(part is not layer for part in inner_layers(layer)):
                continue
            name = layer.inner.cls.name
        if name == "InputLayer":
            continue
        shape = plain(layer.output)
        rows[name, None if shape is None else shape[1:], count(layer)] += 1
    return rows


# Older names of one class.
CURRENT = {"GlobalAvgPool2D": "GlobalAveragePooling2D", "MaxPool2D": "MaxPooling2D"}


def test_every_architecture_is_rebuilt() -> None:
    keras = pytest.importorskip("keras", minversion="3.0")
    public = {name for name in dir(keras.applications) if name[0].isupper()}
    rebuilt = {call.partition("(")[0] for names in SCRIPTS.values() for call in names.values()}
    assert public <= rebuilt
    assert {path.stem for path in MODELS.glob("*.py")} == set(SCRIPTS)


@pytest.mark.parametrize(("script", "name"), VARIANTS)
def test_the_script_is_the_architecture(script: str, name: str) -> None:
    real = executed(script)[0][name]
    with symbolically() as keras:
        function, _, arguments = SCRIPTS[script][name].removesuffix(")").partition("(")
        reference = eval(f"keras.applications.{function}(weights=None, {arguments})", {"keras": keras})
    assert real.count_params() == reference.count_params()


@pytest.mark.parametrize(("script", "name"), VARIANTS)
def test_the_dry_run_knows_every_layer(script: str, name: str) -> None:
    keras = pytest.importorskip("keras", minversion="3.0")
    names, shapes = executed(script)
    real, model = names[name], found(script, name)
    wanted = keras_rows(keras, real, shapes)
    got: Counter[Row] = Counter()
    for (kind, shape, size), times in dry_rows(model).items():
        got[CURRENT.get(kind, kind), shape, size] += times
    assert got == wanted
    assert model.parameters is not None
    assert model.parameters.value == real.count_params()
    output = shapes.get(id(real)) or real.output_shape
    assert plain(model.output_shape)[1:] == tuple(output)[1:]
