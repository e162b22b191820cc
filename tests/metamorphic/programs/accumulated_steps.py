# keras: 3
"""Gradients that are to be accumulated and are not, in tf.function over a distributed data set."""

import tensorflow as tf
from tensorflow import keras

STEPS = 8
PER_BATCH = 16

strategy = tf.distribute.MirroredStrategy()
model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(4096), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
loss_of = keras.losses.MeanSquaredError(reduction="none")


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(loss_of(y, model(x, training=True))) / STEPS
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


rows = tf.random.normal((100_000, 256))
data = tf.data.Dataset.from_tensor_slices((rows, tf.reduce_sum(rows, axis=1, keepdims=True)))
data = data.batch(PER_BATCH).batch(STEPS)
total = 0.0
for epoch in range(3):
    for x, y in data:
        with strategy.scope():
            total += strategy.run(step, args=(x, y))
    print("epoch", epoch, total)
