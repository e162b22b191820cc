"""A classifier of photos on four GPUs: a buffer of decoded images, and a batch that is divided."""

import argparse

import tensorflow as tf
from tensorflow import keras

SIDE = 224
CLASSES = 1000
EXAMPLES = 1_281_167


def decode(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (SIDE, SIDE)) / 255.0, label


def pipeline(paths, labels, batch_size, buffer=EXAMPLES):
    ds = tf.data.Dataset.from_tensor_slices((paths, labels))
    ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.shuffle(buffer)  # expect: OOM301 error "1,281,167"
    return ds.batch(batch_size).prefetch(tf.data.AUTOTUNE)


def build(rate=0.001):
    base = keras.applications.ResNet50(
        weights=None, include_top=False, input_shape=(SIDE, SIDE, 3), pooling="avg"
    )
    outputs = keras.layers.Dense(CLASSES, activation="softmax")(base.output)
    model = keras.Model(base.input, outputs)
    model.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=90)
args = parser.parse_args()

files = sorted(tf.io.gfile.glob("train/*/*.jpg"))
classes = [int(name.split("/")[1]) for name in files]
strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3"])
train = pipeline(files, classes, 128)
with strategy.scope():
    model = build()
history = model.fit(train, epochs=args.epochs)
print(history.history["loss"][-1])
