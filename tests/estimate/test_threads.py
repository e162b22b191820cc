"""Trainings that a thread or a process of their own runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build

FUNCTION = """
import threading
from multiprocessing import Process
import keras

def train(width, deep=False):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(width)])
    if deep:
        model.add(keras.layers.Dense(2))
    model.compile("sgd", "mse")
    model.fit(load(), epochs=1)

def main():
    def quietly():
        train(3)

    worker = MADE
    worker.start()
    window.mainloop()

main()
"""
CLASS = """
from threading import Thread
import keras

class Agent(Thread):
    def __init__(self, width):
        Thread.__init__(self)
        self.model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(width)])
        self.model.compile("sgd", "mse")

    def run(self):
        while True:
            self.train()

    def train(self):
        self.model.fit(load(), epochs=1)

agents = [Agent(3) for _ in range(4)]
for agent in agents:
    agent.start()
for agent in agents:
    agent.join()
"""


@pytest.mark.parametrize(
    ("made", "size"),
    [
        ("threading.Thread(target=quietly)", 4 * 3 + 3),
        ("threading.Thread(target=train, args=(5,), daemon=True)", 4 * 5 + 5),
        ("Process(target=train, args=[5], kwargs={'deep': True})", 4 * 5 + 5 + 5 * 2 + 2),
    ],
)
def test_a_function_that_a_thread_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, size: int):
    assert build(tmp_path, FUNCTION.replace("MADE", made), monkeypatch).model.count_params() == size


def test_a_class_that_is_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert build(tmp_path, CLASS, monkeypatch).model.count_params() == 4 * 3 + 3
