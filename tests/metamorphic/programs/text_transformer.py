"""A small transformer over long texts with a large vocabulary, and GPUs set up twice."""

import tensorflow as tf
from tensorflow import keras

VOCABULARY = 250_000
LENGTH = 8192
WIDTH = 1024
HEADS = 16
BATCH = 8

gpus = tf.config.list_physical_devices("GPU")
tf.config.experimental.set_memory_growth(gpus[0], True)
tf.config.set_logical_device_configuration(
    gpus[0],
    [tf.config.LogicalDeviceConfiguration(memory_limit=8192)],
)


def block(x, heads, width):
    attended = keras.layers.MultiHeadAttention(num_heads=heads, key_dim=width // heads)(x, x)
    x = keras.layers.LayerNormalization()(keras.layers.Add()([x, attended]))
    hidden = keras.layers.Dense(4 * width, activation="gelu")(x)
    return keras.layers.LayerNormalization()(keras.layers.Add()([x, keras.layers.Dense(width)(hidden)]))


def build():
    tokens = keras.Input((LENGTH,), dtype="int32", batch_size=BATCH)
    x = keras.layers.Embedding(VOCABULARY, WIDTH)(tokens)
    for _ in range(4):
        x = block(x, HEADS, WIDTH)
    logits = keras.layers.Dense(VOCABULARY)(x)
    return keras.Model(tokens, logits)


model = build()
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=1e-4),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
dataset = tf.data.TFRecordDataset("tokens.tfrecord")
dataset = dataset.map(lambda record: tf.io.parse_tensor(record, tf.int32))
dataset = dataset.map(lambda row: (tf.ensure_shape(row, (LENGTH,)), row))
dataset = dataset.batch(BATCH, drop_remainder=True)
model.fit(dataset, epochs=1, callbacks=[keras.callbacks.TensorBoard("logs", histogram_freq=1)])
