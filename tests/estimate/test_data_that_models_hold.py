"""Models that hold data of the script's: a graph's nodes, of which a batch is numbers; only their own step calls them."""

from __future__ import annotations

import pytest
from estimate.scripts import answered, build

from oomlint.estimate.descriptions import read_data
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.subject import Spec

pytest.importorskip("tensorflow")

GRAPH = """
    import pandas as pd
    import tensorflow as tf
    from tensorflow import keras

    links = pd.read_csv("links.csv", names=["source", "target"])
    papers = pd.read_csv("papers.csv")
    edges = tf.convert_to_tensor(links[["source", "target"]])
    nodes = tf.convert_to_tensor(papers.iloc[:, 1:-1])
    picked = papers["number"].to_numpy()

    class OnGraph(keras.Model):
        def __init__(self, nodes, edges):
            super().__init__()
            self.nodes, self.edges = nodes, edges
            self.first = keras.layers.Dense(8, activation="relu")
            self.last = keras.layers.Dense(7)

        def call(self, inputs):
            nodes, edges = inputs
            hidden = self.first(nodes)
            sent = tf.gather(hidden, edges[:, 0])
            return self.last(tf.math.unsorted_segment_sum(sent, edges[:, 1], num_segments=tf.shape(hidden)[0]))

        def train_step(self, data):
            numbers, labels = data
            with tf.GradientTape() as tape:
                outputs = tf.gather(self([self.nodes, self.edges]), numbers)
                loss = self.compute_loss(y=labels, y_pred=outputs)
            gradients = tape.gradient(loss, self.trainable_weights)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_weights))
            return {"loss": loss}

    model = OnGraph(nodes, edges)
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.SGD(0.3, momentum=0.9),
        jit_compile=False,
    )
    model.fit(picked, papers["subject"].to_numpy(), batch_size=256)
"""
WEIGHTS = 4 * (1433 * 8 + 8 + 8 * 7 + 7)


def given(text):
    return {"data": read_data([text]).arrays}


def test_the_step_is_the_judge_of_what_a_model_is_called_on(tmp_path, monkeypatch):
    data = given("nodes=2708x1433, edges=5429x2 int32")
    found = answered(tmp_path, GRAPH, monkeypatch, **data)
    assert found.parts["weights"] == WEIGHTS + 8  # with the mean of the losses: a sum and a count
    # The velocities, a learning rate and the iterations (an int64).
    assert found.parts["optimizer_state"] == WEIGHTS + 4 + 8
    # The graph is there throughout, once, with the numbers of a batch and its labels; buffers are of 256 bytes.
    held = 4 * (2708 * 1433 + 5429 * 2 + 256 + 256)
    assert held <= found.parts["input"] <= held + 4 * 256


def test_what_a_step_asks_for_twice_is_held_once(tmp_path, monkeypatch):
    """The edges are given to the model, and weigh the loss besides."""
    asked = "self.edges, self.edges"
    text = GRAPH.replace(
        "y_pred=outputs)", f"y_pred=outputs) + tf.reduce_mean(tf.cast(tf.concat([{asked}], 0), 'float32'))"
    )
    assert asked in text
    found = answered(tmp_path, text, monkeypatch, **given("nodes=2708x1433, edges=5429x2 int32"))
    held = 4 * (2708 * 1433 + 5429 * 2 + 256 + 256)
    assert held <= found.parts["input"] <= held + 4 * 256


def test_what_nobody_knows_of_single_values_is_their_number(tmp_path, monkeypatch):
    subject = build(tmp_path, GRAPH, monkeypatch, **given("nodes=2708x1433, edges=5429x2 int32"))
    assert subject.data[0] == Spec((256,), "int32")
    assert tuple(subject.model.first.kernel.shape) == (1433, 8)


def test_all_that_the_step_needs_is_asked_for_at_once(tmp_path, monkeypatch):
    with pytest.raises(EstimateError) as caught:
        answered(tmp_path, GRAPH, monkeypatch, fallback=False)
    # Two columns are named in the script, and edges are looked up by.
    assert caught.value.needs == ("nodes=1000x16", "edges=1000x2 int32")
    found = answered(tmp_path, GRAPH, monkeypatch, fallback=False, **given(", ".join(caught.value.needs)))
    assert found.parts["weights"] == 4 * (16 * 8 + 8 + 8 * 7 + 7) + 8


def test_a_step_that_fails_is_told_by_what_it_fails_with(tmp_path, monkeypatch):
    """A model whose own step calls it on numbers, which it does not take."""
    text = GRAPH.replace("self([self.nodes, self.edges])", "self([numbers, labels])")
    with pytest.raises(EstimateError, match="min_ndim=2, found ndim=1") as caught:
        answered(tmp_path, text, monkeypatch, fallback=False, **given("nodes=2708x1433, edges=5429x2 int32"))
    assert text.splitlines()[caught.value.line - 1].strip() == "hidden = self.first(nodes)"
    assert "\x1b" not in caught.value.message  # Keras puts colours into what it says
