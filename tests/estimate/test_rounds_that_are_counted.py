"""The number of a round that a step is handed is a number, and no picture."""

from __future__ import annotations

import pytest
from estimate.scripts import answered

pytest.importorskip("keras")

_SCRIPT = """
    import tensorflow as tf
    layers = tf.keras.layers
    def pictures(channels):
        return tf.keras.Input((16, 16, channels))
    def network(channels, out):
        image = pictures(channels)
        return tf.keras.Model(image, layers.Conv2D(out, 3, padding="same")(image))
    generator, discriminator = network(3, 3), network(6, 1)
    first, second = tf.keras.optimizers.Adam(1e-4), tf.keras.optimizers.Adam(1e-4)
    writer = tf.summary.create_file_writer("logs")
    rows = tf.zeros((40, 16, 16, 3))
    data = tf.data.Dataset.from_tensor_slices((rows, rows)).batch(4, drop_remainder=True)
    @tf.function
    def train_step(image, target, {name}):
        with tf.GradientTape() as one, tf.GradientTape() as other:
            made = generator(image, training=True)
            real = discriminator(tf.concat([image, target], -1), training=True)
            fake = discriminator(tf.concat([image, made], -1), training=True)
            of_first = -tf.reduce_mean(fake)
            of_second = tf.reduce_mean(fake) - tf.reduce_mean(real)
        first.apply_gradients(zip(one.gradient(of_first, generator.trainable_variables), generator.trainable_variables))
        second.apply_gradients(
            zip(other.gradient(of_second, discriminator.trainable_variables), discriminator.trainable_variables))
        with writer.as_default():
            tf.summary.scalar("loss", of_first, step={name} // 1000)
    {loop}
    """
_OF_DATA = (
    "for number, (image, target) in data.repeat().take(100).enumerate(): train_step(image, target, number)"
)
_OF_RANGE = """
    for epoch in range(5):
        for image, target in data:
            train_step(image, target, epoch)
"""


@pytest.mark.parametrize(("name", "loop"), [("which", _OF_DATA), ("epoch", _OF_RANGE)])
def test_it_is_a_scalar_of_the_step_that_is_followed_whole(tmp_path, monkeypatch, name, loop):
    found = answered(tmp_path, _SCRIPT.format(name=name, loop=loop), monkeypatch)
    said = next(one for one in found.assumptions if "followed whole" in one)
    assert f"image float32[4, 16, 16, 3], target float32[4, 16, 16, 3], {name} int64[]" in said
    assert not found.instead
