# keras: 3
"""Sizes from a configuration object: one-hot labels, an array that grows, predictions that stay on the device."""

from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from tensorflow import keras


@dataclass
class Settings:
    words: int = 50_000
    rows: int = 200_000
    width: int = 128
    batch: int = 256


def targets(settings):
    ids = np.random.randint(0, settings.words, size=settings.rows)
    return keras.utils.to_categorical(ids, num_classes=settings.words)


def network(settings):
    inputs = keras.Input(shape=(settings.width,))
    hidden = keras.layers.Dense(1024, activation="relu")(inputs)
    return keras.Model(inputs, keras.layers.Dense(settings.words, activation="softmax")(hidden))


def main():
    settings = Settings()
    features = np.random.rand(settings.rows, settings.width).astype("float32")
    labels = targets(settings)
    model = network(settings)
    model.compile(optimizer="adam", loss="categorical_crossentropy")
    model.fit(features, labels, batch_size=settings.batch, epochs=3)

    rows = np.empty((0, settings.words), "float32")
    outputs = []
    for start in range(0, settings.rows, settings.batch):
        part = model(features[start : start + settings.batch], training=False)
        outputs.append(part)
        rows = np.concatenate([rows, part.numpy()])
    print(rows.shape, tf.concat(outputs, axis=0).shape)


if __name__ == "__main__":
    main()
