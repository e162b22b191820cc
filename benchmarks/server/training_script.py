"""A training script of any length, for measurements: what people write, with findings in it."""

from __future__ import annotations

_HEAD = '''\
"""Train classifiers on pictures, one experiment after another."""

import argparse
import os

import numpy as np
import tensorflow as tf
from tensorflow import keras

NUM_TRAIN = 1_281_167
IMAGE_SIZE = 224
CLASSES = 1000


class Config:
    """What an experiment needs to know."""

    batch_size = 64
    epochs = 90
    learning_rate = 0.1
    folder = os.environ.get("DATA", "data")


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=Config.batch_size)
    parser.add_argument("--epochs", type=int, default=Config.epochs)
    parser.add_argument("--folder", default=Config.folder)
    return parser.parse_args()
'''

_PART = '''

def decode_{n}(path, label):
    """Read a picture of experiment {n} and bring it to its size."""
    raw = tf.io.read_file(path)
    image = tf.io.decode_jpeg(raw, channels=3)
    image = tf.image.resize(image, (IMAGE_SIZE, IMAGE_SIZE))
    return tf.cast(image, tf.float32) / 255.0, label


def augment_{n}(image, label):
    if {n} % 2 == 0:
        image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.{n})
    return image, tf.one_hot(label, CLASSES)


def dataset_{n}(folder, batch_size):
    paths = sorted(tf.io.gfile.glob(os.path.join(folder, "part{n}", "*.jpg")))
    labels = [hash(path) % CLASSES for path in paths]
    train = tf.data.Dataset.from_tensor_slices((paths, labels))
    train = train.shuffle(len(paths)).map(decode_{n}, num_parallel_calls=tf.data.AUTOTUNE)
    train = train.map(augment_{n}).batch(batch_size, drop_remainder=True)
    return train.prefetch(tf.data.AUTOTUNE)


def model_{n}(classes=CLASSES):
    inputs = keras.Input((IMAGE_SIZE, IMAGE_SIZE, 3))
    x = keras.layers.Conv2D(32, 3, strides=2, padding="same", use_bias=False)(inputs)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.ReLU()(x)
    for width in (64, 128, 256):
        shortcut = keras.layers.Conv2D(width, 1, strides=2)(x)
        x = keras.layers.SeparableConv2D(width, 3, padding="same", use_bias=False)(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.ReLU()(x)
        x = keras.layers.MaxPooling2D(3, strides=2, padding="same")(x)
        x = keras.layers.Add()([x, shortcut])
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.layers.Dropout(0.{n})(x)
    outputs = keras.layers.Dense(classes, activation="softmax")(x)
    return keras.Model(inputs, outputs, name="model_{n}")


def evaluate_{n}(model, images, labels):
    scores = []
    for start in range(0, len(images), 32):
        batch = images[start : start + 32]
        predicted = model.predict_on_batch(batch)
        scores.append(float(np.mean(np.argmax(predicted, 1) == labels[start : start + 32])))
    return sum(scores) / max(1, len(scores))


def run_{n}(args):
    train = dataset_{n}(args.folder, args.batch_size)
    model = model_{n}()
    model.compile(
        optimizer=keras.optimizers.SGD(Config.learning_rate, momentum=0.9),
        loss="categorical_crossentropy",
        metrics=["accuracy"],
    )
    callbacks = [
        keras.callbacks.ModelCheckpoint("best_{n}.keras", save_best_only=True),
        keras.callbacks.EarlyStopping(patience=5),
    ]
    model.fit(train, epochs=args.epochs, callbacks=callbacks)
    images = np.zeros((256, IMAGE_SIZE, IMAGE_SIZE, 3), "float32")
    print("experiment {n}", evaluate_{n}(model, images, np.zeros(256, "int64")))
'''

_TAIL = """

def whole(folder):
    paths = tf.data.Dataset.list_files(os.path.join(folder, "*.jpg"))
    pictures = paths.map(lambda path: decode_1(path, 0)[0])
    return pictures.shuffle(NUM_TRAIN).batch(Config.batch_size)


if __name__ == "__main__":
    arguments = parse_args()
{calls}
    for batch in whole(arguments.folder):
        print(batch.shape)
"""


def script(lines: int) -> str:
    """A script of about so many lines; it trains, and one shuffle buffer in it is too large."""
    parts = max(1, (lines - _HEAD.count("\n") - _TAIL.count("\n")) // (_PART.count("\n") + 1))
    body = "".join(_PART.replace("{n}", str(number)) for number in range(1, parts + 1))
    calls = "\n".join(f"    run_{number}(arguments)" for number in range(1, parts + 1))
    return _HEAD + body + _TAIL.replace("{calls}", calls)
