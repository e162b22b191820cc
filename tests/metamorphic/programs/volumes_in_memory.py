"""Volumes that are read into a list, made float64, and predicted all at once."""

import os
import pathlib

import numpy as np
import tensorflow as tf
from tensorflow import keras

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

SHAPE = (128, 128, 128)
COUNT = 400


def normalise(volume):
    return (volume - volume.mean()) / volume.std()


volumes = []
for path in sorted(pathlib.Path("volumes").iterdir())[:COUNT]:
    volumes.append(np.load(path))
images = np.stack(volumes)

masks = np.zeros((COUNT, *SHAPE, 1))
train = tf.data.Dataset.from_tensor_slices((np.ones((COUNT, *SHAPE, 1), "float32"), masks))
train = train.batch(2).cache()

inputs = keras.Input((*SHAPE, 1))
x = inputs
for filters in (32, 64, 128):
    x = keras.layers.Conv3D(filters, 3, padding="same", activation="relu")(x)
    x = keras.layers.Conv3D(filters, 3, padding="same", activation="relu")(x)
    x = keras.layers.MaxPooling3D()(x)
x = keras.layers.Flatten()(x)
outputs = keras.layers.Dense(4096)(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer="adam", loss="mse")
model.fit(train, epochs=20)

scores = model(tf.constant(masks))
print(scores.shape, images.shape)
