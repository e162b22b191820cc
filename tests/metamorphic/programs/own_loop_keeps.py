"""A loop of its own: losses are kept with what they came from, a tape is persistent, and a model is made per fold."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

FOLDS = 5
WIDTH = 512


class Net(keras.Model):
    def __init__(self, width):
        super().__init__()
        self.hidden = keras.layers.Dense(width, activation="relu")
        self.out = keras.layers.Dense(1)

    def call(self, inputs):
        return self.out(self.hidden(inputs))


class Trainer:
    def __init__(self, model, rate):
        self.model = model
        self.optimizer = keras.optimizers.Adam(rate)
        self.history = []

    def step(self, x, y):
        with tf.GradientTape(persistent=True) as tape:
            error = tf.reduce_mean(tf.square(self.model(x, training=True) - y))
        grads = tape.gradient(error, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return error

    def fit(self, data, epochs):
        for epoch in range(epochs):
            for x, y in data:
                error = self.step(x, y)
                self.history.append(error)
            print(f"{epoch:02d} {float(error):.3f}")


x = np.random.default_rng(1).normal(size=(4000, 64)).astype("float32")
y = x.sum(axis=1, keepdims=True)

for fold in range(FOLDS):
    chosen = np.arange(len(x)) % FOLDS != fold
    data = tf.data.Dataset.from_tensor_slices((x[chosen], y[chosen])).shuffle(1000).batch(32)
    trainer = Trainer(Net(WIDTH), 1e-3)
    trainer.fit(data, epochs=10)
