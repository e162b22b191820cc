"""The order in which Grappler leaves the operations, beside that of the graph that TensorFlow itself runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from fixture_files import ROOT

pytest.importorskip("tensorflow")

SCRIPT = """
import json
import keras, numpy, tensorflow as tf
from tensorflow.python.eager import context
from oomlint.estimate.worker.graph.tracing import traced
from oomlint.estimate.worker.subject import Spec, Subject

ids = keras.Input((4,), dtype="int32")
x = keras.layers.Flatten()(keras.layers.Embedding(50, 8)(ids))
for width in (32, 16):
    x = keras.layers.Dense(width, activation="relu")(x)
model = keras.Model(ids, keras.layers.Dense(1, activation="sigmoid")(x))
model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "binary_crossentropy", jit_compile=False)
model.optimizer.build(model.trainable_variables)

ours = traced(Subject(model, (Spec((6, 4), "int32"), Spec((6, 1), "float32"))), as_run=True, on_cpu=True)
step = tf.function(lambda *parts: model.train_step(parts), autograph=False)
context.enable_run_metadata()
step(tf.zeros((6, 4), tf.int32), tf.zeros((6, 1)))
graphs = [one.post_optimization_graph for one in context.export_run_metadata().function_graphs]
real = max(graphs, key=lambda graph: len(graph.node))
print(json.dumps({
    "ours": [[one.name, [ours.operations[number].name for number, _ in one.inputs]] for one in ours.operations],
    "real": [[one.name, [name.partition(":")[0] for name in one.input if name[0] != "^"]] for one in real.node],
}))
"""


def pairs(operations: list[tuple[str, list[str]]]) -> dict[frozenset[str], tuple[str, str]]:
    """Of any two that read the same: which comes first."""
    readers: dict[str, list[str]] = {}
    for name, inputs in operations:
        for source in dict.fromkeys(inputs):
            readers.setdefault(source, []).append(name)
    return {
        frozenset((first, second)): (first, second)
        for those in readers.values()
        for place, first in enumerate(those)
        for second in those[place + 1 :]
    }


def test_what_becomes_ready_together_is_in_the_order_of_the_graph_that_runs():
    environment = os.environ | {
        "KERAS_BACKEND": "tensorflow",
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    ours, real = pairs(found["ours"]), pairs(found["real"])
    both = ours.keys() & real.keys()
    assert len(both) > 40
    assert [ours[pair] for pair in both if ours[pair] != real[pair]] == []


def test_a_table_that_rmsprop_trains_is_traced_as_a_cpu_runs_it():
    # Its update adds rows in a branch, where Grappler puts a cast in a reshape's place with the reshape's attributes.
    model, _, _ = SCRIPT.partition("step = tf.function")
    script = model.replace("SGD(0.1, momentum=0.9)", "RMSprop()") + "print(len(ours.operations))"
    environment = os.environ | {"KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.strip().splitlines()[-1]) > 40
