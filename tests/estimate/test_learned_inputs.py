"""Scripts in which a picture learns and no model: there is no training to estimate, which is said."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.slicing.script import slice_script

STYLE = """
import keras, tensorflow as tf
net = keras.applications.VGG19(include_top=False, weights=None)
looks = keras.Model(net.inputs, net.layers[5].output)
optimizer = keras.optimizers.SGD(100.0)
@tf.function
def step(mixed, style):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((looks(mixed) - looks(style)) ** 2)
    return loss, tape.gradient(loss, mixed)
style = tf.zeros((1, 400, 500, 3))
picture = tf.Variable(tf.zeros((1, 400, 500, 3)))
for _ in range(4000):
    loss, slope = step(picture, style)
    optimizer.apply_gradients([(slope, picture)])
"""
DREAM = """
import keras, tensorflow as tf
whole = keras.applications.InceptionV3(include_top=False, weights=None)
net = keras.Model(whole.inputs, whole.get_layer("mixed3").output)
def dream(image):
    with tf.GradientTape() as tape:
        tape.watch(image)
        loss = tf.reduce_mean(net(image))
    return image + 0.1 * tape.gradient(loss, image)
"""
ATTACKED = """
net.compile("adam", "mse")
net.fit(tf.zeros((64, 96, 96, 3)), tf.zeros((64, 1, 1, 2048)))
"""


@pytest.mark.parametrize(("text", "line", "name"), [(STYLE, 10, "mixed"), (DREAM, 9, "image")])
def test_a_picture_that_learns_is_no_model(tmp_path: Path, text: str, line: int, name: str):
    path = tmp_path / "learn.py"
    path.write_text(text)
    with pytest.raises(EstimateError) as caught:
        slice_script(path)
    assert caught.value.line == line
    assert caught.value.message.startswith(f"what learns there is {name}, no weight of a model")
    model = "looks" if text is STYLE else "net"
    assert caught.value.hint.endswith(f"--model {model}")
    assert f"oomlint_trained({model}" in slice_script(path, model=model).text


def test_a_model_that_is_trained_beside_it_is_the_answer(tmp_path: Path):
    path = tmp_path / "learn.py"
    path.write_text(DREAM + textwrap.dedent(ATTACKED))
    assert "oomlint_trained(net, " in slice_script(path).text


def test_weights_under_a_name_are_no_picture(tmp_path: Path):
    """`variables` may be anything: a class of the script's hands them out."""
    path = tmp_path / "learn.py"
    path.write_text(
        "import tensorflow as tf, keras\nfrom helpers import parts\n"
        "net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])\n"
        "held = parts(net)\n"
        "with tf.GradientTape() as tape:\n    loss = tf.reduce_mean(net(tf.zeros((8, 4))))\n"
        "slopes = tape.gradient(loss, held)\n"
    )
    assert "oomlint_trained(net" in slice_script(path).text
