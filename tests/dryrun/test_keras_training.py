"""What compile and the training calls do: optimizer slots as Keras makes them, data that builds a model."""

from __future__ import annotations

import inspect
from importlib import import_module
from math import prod
from typing import Any

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun.catalog.keras.training import slots_of
from oomlint.dryrun.catalog.registry import CATALOG
from oomlint.dryrun.interpreter import dry_run
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Sequence
from oomlint.dryrun.values.training import Model
from oomlint.syntax.parse import parse

from .test_keras_shapes import IMPORTS, dry, plain

OPTIMIZERS = (
    "'adam'",
    "'SGD'",
    "'rmsprop'",
    "keras.optimizers.SGD()",
    "keras.optimizers.SGD(0.1, 0.9)",
    "keras.optimizers.SGD(momentum=0.0, nesterov=False)",
    "keras.optimizers.Adam(1e-3)",
    "keras.optimizers.Adam(amsgrad=True)",
    "keras.optimizers.AdamW(weight_decay=1e-4)",
    "keras.optimizers.Nadam()",
    "keras.optimizers.Adamax()",
    "keras.optimizers.Adadelta()",
    "keras.optimizers.Adagrad()",
    "keras.optimizers.Ftrl()",
    "keras.optimizers.Lion()",
    "keras.optimizers.RMSprop()",
    "keras.optimizers.RMSprop(momentum=0.9)",
    "keras.optimizers.RMSprop(centered=True, momentum=0.9)",
    "keras.optimizers.Adam(use_ema=True)",
    "keras.optimizers.SGD(gradient_accumulation_steps=4)",
    "keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())",
)


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_slots(text: str) -> None:
    """Built on one variable of 1,000 numbers: whatever is larger than a few scalars is a slot."""
    keras = pytest.importorskip("keras", minversion="3.0")
    optimizer = keras.optimizers.get(eval(text, {"keras": keras}))
    optimizer.build([keras.Variable([0.0] * 1000)])
    kept = sum(prod(variable.shape) for variable in optimizer.variables)
    model = dry(f"model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile({text}, 'mse')\n")
    assert model.compiled is not None
    assert slots_of(model.compiled.value("optimizer")) == kept // 1000


def test_positional_reduction_of_losses() -> None:
    """Where Keras' own constructors have `reduction` there the catalog has it, for each loss that has one."""
    pytest.importorskip("keras", minversion="3.0")
    # Not what `keras.losses` has: an estimate in the same process adds names of Keras 2 to it.
    module = import_module("keras.src.losses.losses")
    checked = 0
    for cls in vars(module).values():
        own = isinstance(cls, type) and cls.__module__ == module.__name__
        if own and cls.__name__ != "LossFunctionWrapper":
            parameters = list(inspect.signature(cls).parameters)
            known = parameters[: parameters.index("reduction") + 1]
            assert CATALOG.signatures[f"keras.losses.{cls.__name__}"] == tuple(known)
            checked += 1
    assert checked >= 20


def test_slots_of_what_is_not_known() -> None:
    model = dry("model = keras.Sequential()\nmodel.compile(optimizer=pick(), loss='mse')\n")
    assert model.compiled is not None
    assert slots_of(model.compiled.value("optimizer")) is None


BUILT_ON_DATA = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.flat = keras.layers.Flatten()
        self.out = keras.layers.Dense(4)

    def call(self, inputs):
        return self.out(self.flat(inputs))


model = Net()
model.compile("adam", "mse")
"""


@pytest.mark.parametrize(
    "fit",
    [
        "model.fit(np.zeros((50, 6, 7), dtype='float32'), np.zeros((50, 4)))",
        "model.fit(x=tf.zeros((50, 6, 7)), y=tf.zeros((50, 4)), epochs=2)",
        "model.fit(tf.data.Dataset.from_tensor_slices((np.zeros((50, 6, 7)), np.zeros((50, 4)))).batch(5))",
        "model.predict(np.zeros((50, 6, 7)))",
        "model.train_on_batch(np.zeros((5, 6, 7)), np.zeros((5, 4)))",
        "model.build((None, 6, 7))",
    ],
)
def test_a_subclass_is_built_on_its_data(fit: str) -> None:
    model = dry(BUILT_ON_DATA + fit + "\n")
    assert plain(model.output_shape) == (None, 4)
    assert model.parameters is not None
    assert model.parameters.value == 6 * 7 * 4 + 4


def test_unknown_layers_give_unknown_shapes() -> None:
    text = """
from somewhere import Mystery
inputs = keras.Input((8, 8, 3))
x = Mystery(12)(inputs)
model = keras.Model(inputs, keras.layers.Dense(4)(keras.layers.Flatten()(x)))
"""
    model = dry(text)
    assert model.parameters is None
    assert model.output_shape is None or plain(model.output_shape)[0] is None


def test_a_loop_of_unknown_length_gives_no_layers() -> None:
    text = """
import sys
model = keras.Sequential([keras.Input((8,))])
for _ in range(int(sys.argv[1])):
    model.add(keras.layers.Dense(8))
"""
    model = dry(text)
    assert model.layers is None
    assert model.parameters is None


def test_either_of_two_branches_is_not_counted() -> None:
    text = """
import sys
x = inputs = keras.Input((8,))
if len(sys.argv) > 1:
    x = keras.layers.Dense(8)(x)
model = keras.Model(inputs, keras.layers.Dense(2)(x))
"""
    model = dry(text)
    assert plain(model.output_shape) == (None, 2)
    assert model.parameters is None


def calls(text: str, name: str) -> list[Any]:
    return dry_run(parse(document_from_text(IMPORTS + text, "case.py"))).calls(name)


def test_searches_train_in_loops_of_their_own() -> None:
    text = """
import keras_tuner

def build(hp):
    model = keras.Sequential([keras.layers.Dense(hp.Int("units", 8, 64))])
    model.compile("adam", "mse")
    return model

tuner = keras_tuner.RandomSearch(build, objective="val_loss", max_trials=30)
tuner.search(np.zeros((10, 3)), np.zeros(10), epochs=2)
"""
    [fit] = calls(text, "keras.Model.fit")
    assert isinstance(fit.receiver, Model)
    [loop] = fit.context.loops()
    assert (loop.kind, loop.trip.value) == ("trials", 30)
    assert fit.receiver.context.loops() == [loop]


def test_frozen_layers_are_noted_when_the_model_is_compiled() -> None:
    text = """
body = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
body.trainable = False
model = keras.Sequential([body, keras.layers.Dense(2)])
model.compile("adam", "mse")
body.trainable = True
"""
    model = dry(text)
    frozen = model.attributes["_frozen"].items  # type: ignore[attr-defined]
    assert [layer.type for layer in frozen] == ["keras.layers.Dense"]
    assert plain(frozen[0].output) == (None, 3)


@pytest.mark.parametrize(
    "layer",
    [
        "keras.layers.Convolution2D(64, 3, 3, border_mode='same')",
        "keras.layers.Convolution2D(64, 5, 5)",
        "keras.layers.Conv2D(64, 3, subsample=(2, 2))",
    ],
)
def test_keras_1_means_something_else(layer: str) -> None:
    model = dry(f"model = keras.Sequential([keras.Input((30, 30, 3)), {layer}])\n")
    assert model.parameters is None
    assert model.output_shape is None or None in plain(model.output_shape)[1:]


def test_channels_first_by_default() -> None:
    text = """
keras.backend.set_image_data_format("channels_first")
model = keras.Sequential([keras.Input((3, 20, 24)), keras.layers.Conv2D(8, 5), keras.layers.MaxPooling2D()])
"""
    model = dry(text)
    assert plain(model.output_shape) == (None, 8, 8, 10)
    assert model.parameters is not None
    assert model.parameters.value == 5 * 5 * 3 * 8 + 8


def test_a_layer_that_is_perhaps_added() -> None:
    text = """
import sys
model = keras.Sequential([keras.Input((30, 30, 3)), keras.layers.Conv2D(4, 3)])
if len(sys.argv) > 1:
    model.add({layer})
model.add(keras.layers.Flatten())
"""
    kept = dry(text.format(layer="keras.layers.BatchNormalization()"))
    assert plain(kept.output_shape) == (None, 28 * 28 * 4)
    assert kept.parameters is None
    assert dry(text.format(layer="keras.layers.MaxPooling2D()")).output_shape is None


PREDICTING = """
import numpy as np
import tensorflow as tf
inputs = keras.Input((6, 7))
model = keras.Model(inputs, [keras.layers.Dense(3)(inputs), keras.layers.Flatten()(inputs)])
data = tf.data.Dataset.from_tensor_slices(np.zeros((50, 6, 7), dtype="float32"))
"""


@pytest.mark.parametrize(
    "call",
    [
        "model.predict(np.zeros((50, 6, 7), dtype='float32'), batch_size=8)",
        "model.predict(data.batch(10))",
        "model.predict(data.batch(10), steps=3)",
        "model.predict(data.repeat().batch(10), steps=7)",
        "model.predict(data.map(lambda x: (x, x)).take(20).batch(5))",
    ],
)
def test_predictions_have_a_row_for_each_sample(call: str) -> None:
    """As many rows as Keras gives for each output, from arrays and from batches."""
    names: dict[str, Any] = {}
    exec(IMPORTS + PREDICTING + f"result = {call}\n", names)
    source = parse(document_from_text(IMPORTS + PREDICTING + f"result = {call}\n", "script.py"))
    made = next(one for one in dry_run(source).assigns() if one.path == "result").value
    assert isinstance(made, Sequence)
    shapes = [plain(part.shape) for part in made.items or [] if isinstance(part, Array)]
    assert shapes == [part.shape for part in names["result"]]


OPEN = """
inputs = keras.Input((None, None, 3))
x = keras.layers.Conv2D(4, 3, strides=2)(inputs)
x = keras.layers.Concatenate()([x, keras.layers.AveragePooling2D(3, 2)(inputs)])
model = keras.Model(inputs, keras.layers.Conv2DTranspose(2, 4, strides=2)(x))
"""


@pytest.mark.parametrize(
    "data", ["np.zeros((6, 20, 31, 3))", "tf.data.Dataset.from_tensors(np.zeros((6, 9, 9, 3)))"]
)
def test_predictions_of_a_network_without_sizes_have_those_of_the_data(data: str) -> None:
    text = IMPORTS + OPEN + f"result = model.predict({data})\n"
    names: dict[str, Any] = {}
    exec(text, names)
    source = parse(document_from_text(text, "script.py"))
    made = next(one for one in dry_run(source).assigns() if one.path == "result").value
    assert isinstance(made, Array)
    assert plain(made.shape) == names["result"].shape
    assert plain(dry(OPEN).output_shape) == (None, None, None, 2)


def test_a_predict_step_may_give_anything() -> None:
    text = BUILT_ON_DATA.replace(
        "model = Net()", "    def predict_step(self, data):\n        return 0\n\n\nmodel = Net()"
    )
    source = parse(
        document_from_text(IMPORTS + text + "result = model.predict(np.zeros((50, 6, 7)))\n", "script.py")
    )
    made = next(one for one in dry_run(source).assigns() if one.path == "result").value
    assert isinstance(made, Array)
    assert made.shape is None
