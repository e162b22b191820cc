"""keras.applications: the dry run against the built models, for the architectures that build in a second or two.

All of them are measured by `benchmarks/keras_applications.py`.
"""

from __future__ import annotations

import pytest

from oomlint.dryrun.catalog.keras.applications import TABLE

from .test_keras_shapes import dry, plain

CALLS = (
    "MobileNet(weights=None, include_top=False, input_shape=(97, 131, 3))",
    "MobileNetV2(weights=None, classes=7, input_shape=(128, 96, 3))",
    "MobileNetV2(weights=None, include_top=False, pooling='avg', input_shape=(99, 99, 1))",
    "MobileNetV3Small(weights=None, classes=4, input_shape=(224, 224, 3))",
    "MobileNetV3Small(weights=None, include_top=False, input_shape=(111, 60, 3))",
    "MobileNet(input_shape=(64, 64, 3), alpha=0.5, weights=None, depth_multiplier=2, classes=7)",
    "MobileNet((97, 131, 1), 0.25, include_top=False, weights=None)",
    "MobileNetV2((64, 96, 3), 1.4, False, None, pooling='max')",
    "MobileNetV2(alpha=0.35, weights=None, classes=5, input_shape=(96, 96, 3))",
    "MobileNetV3Large(alpha=0.75, include_top=False, weights=None, input_shape=(64, 64, 4))",
    "MobileNetV3Small(alpha=1.25, minimalistic=True, weights=None, classes=4, input_shape=(96, 96, 3))",
    "VGG16(weights=None, include_top=False, input_shape=(225, 100, 3))",
    "VGG16(weights=None, include_top=True, input_shape=(64, 70, 1), classes=3)",
    "ResNet50(include_top=False, weights=None, input_shape=(77, 90, 3))",
    "InceptionV3(include_top=False, weights=None, input_shape=(151, 180, 3))",
    "DenseNet121(include_top=False, weights=None, input_shape=(95, 140, 3))",
    "EfficientNetB0(include_top=False, weights=None, input_shape=(113, 64, 3))",
    "ConvNeXtTiny(include_top=False, weights=None, input_shape=(75, 130, 3))",
)


@pytest.mark.parametrize("call", CALLS)
def test_shape_and_parameters(call: str) -> None:
    keras = pytest.importorskip("keras", minversion="3.0")
    real = eval(f"keras.applications.{call}", {"keras": keras})
    found = dry(f"model = keras.applications.{call}\n")
    assert plain(found.output_shape) == real.output_shape
    assert found.parameters is not None
    assert found.parameters.value == real.count_params()


@pytest.mark.parametrize("name", ["MobileNetV2"])
def test_keras_2_counts_the_same(name: str) -> None:
    keras = pytest.importorskip("tf_keras")
    real = getattr(keras.applications, name)(weights=None, include_top=False, input_shape=(97, 64, 3))
    found = dry(
        f"model = keras.applications.{name}(weights=None, include_top=False, input_shape=(97, 64, 3))\n"
    )
    assert plain(found.output_shape) == real.output_shape
    assert found.parameters is not None
    assert found.parameters.value == real.count_params()


def test_every_architecture_is_known() -> None:
    keras = pytest.importorskip("keras", minversion="3.0")
    public = {name for name in dir(keras.applications) if name[0].isupper()}
    assert public <= set(TABLE)


def test_applied_to_another_size() -> None:
    found = dry(
        "base = keras.applications.ResNet50(include_top=False, weights=None)\n"
        "inputs = keras.Input((300, 200, 3))\n"
        "model = keras.Model(inputs, base(inputs))\n"
    )
    assert plain(found.output_shape) == (None, 10, 7, 2048)
    assert found.parameters is not None
    assert found.parameters.value == 23_587_712
