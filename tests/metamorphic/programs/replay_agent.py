"""An agent that keeps its frames as Python objects and predicts in a loop."""

import random
from collections import deque

import numpy as np
import tensorflow as tf
from tensorflow import keras


class Agent:
    def __init__(self, actions, capacity=1_000_000, batch=32):
        self.actions = actions
        self.batch = batch
        self.memory = deque(maxlen=capacity)
        self.network = self.build()
        self.target = self.build()

    def build(self):
        network = keras.Sequential(
            [
                keras.Input((84, 84, 4)),
                keras.layers.Conv2D(32, 8, strides=4, activation="relu"),
                keras.layers.Conv2D(64, 4, strides=2, activation="relu"),
                keras.layers.Flatten(),
                keras.layers.Dense(512, activation="relu"),
                keras.layers.Dense(self.actions),
            ]
        )
        network.compile("adam", "mse")
        return network

    def act(self, state):
        return int(np.argmax(self.network.predict(state[None])[0]))

    def remember(self, state, action, reward, following):
        self.memory.append((state, action, reward, following))

    def replay(self):
        rows = random.sample(self.memory, self.batch)
        states = np.array([row[0] for row in rows])
        targets = self.network.predict(states)
        self.network.fit(states, targets, epochs=1, verbose=0)


agent = Agent(6)
state = np.zeros((84, 84, 4), "float32")
for step in range(10_000_000):
    action = agent.act(state)
    following = np.random.rand(84, 84, 4).astype("float32")
    agent.remember(state, action, 0.0, following)
    if step > 1000:
        agent.replay()
    state = following
print(len(agent.memory), tf.__version__)
