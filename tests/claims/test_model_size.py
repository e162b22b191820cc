"""What the rules of model size claim about TensorFlow and Keras, shown by running them."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.catalog.keras.dims import Config
from oomlint.dryrun.queries.recurrent_states import off_cudnn
from oomlint.dryrun.queries.saved_activations import saved_activations
from oomlint.dryrun.queries.trained_models import trained_models
from oomlint.dryrun.values.base import Const
from oomlint.syntax.parse import parse

tf = pytest.importorskip("tensorflow")
keras = tf.keras

BLOCKS = {
    "convolutions": """
x = keras.layers.Conv2D(5, 3, padding="same", activation="relu")(inputs)
x = keras.layers.Conv2D(6, 3, padding="same", activation="relu")(x)
""",
    "normalised": """
x = inputs
for filters in (5, 6, 7):
    x = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.ReLU()(x)
""",
    "gelu": """
x = keras.layers.Conv2D(5, 1, activation="gelu")(inputs)
x = keras.layers.Conv2D(6, 1)(x)
x = keras.layers.Activation("silu")(x)
""",
    "pooled and joined": """
one = keras.layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
two = keras.layers.UpSampling2D()(keras.layers.MaxPooling2D()(one))
x = keras.layers.Concatenate()([one, two])
x = keras.layers.Dropout(0.5)(x)
x = keras.layers.Dense(3, activation="softmax")(x)
""",
    "residual": """
x = keras.layers.Conv2D(8, 3, padding="same")(inputs)
for _ in range(3):
    y = keras.layers.LayerNormalization()(x)
    y = keras.layers.Dense(16, activation="tanh")(y)
    x = x + keras.layers.Dense(8)(y)
""",
}
BATCH = 2


def _script(block: str) -> str:
    return f"from tensorflow import keras\n\ninputs = keras.Input((8, 8, 3))\n{block}model = keras.Model(inputs, x)\n"


def _counted(text: str) -> int:
    """Bytes that oomlint says wait for the backward pass."""
    training = f"model.compile('sgd', 'mse')\nmodel.fit(load(), load(), batch_size={BATCH})\n"
    trace = dry_run(parse(document_from_text(text + training, "script.py")))
    (trained,) = trained_models(trace)
    return sum(saved.bytes for saved in saved_activations(trained) or [])


def _kept(text: str) -> int:
    """Bytes of the tensors of a batch that TensorFlow hands from the forward to the backward function."""
    scope: dict[str, Any] = {}
    exec(text, scope)
    model = scope["model"]
    step = tf.function(lambda x: model(x, training=True)).get_concrete_function(tf.zeros((BATCH, 8, 8, 3)))
    forward, _ = step._delayed_rewrite_functions.forward_backward(1)
    weights = {tuple(weight.shape) for weight in model.weights}
    kept = {id(tensor): tensor for tensor in forward.graph.outputs}
    return sum(
        prod(tensor.shape) * tensor.dtype.size
        for tensor in kept.values()
        if tensor.shape.rank and tensor.shape[0] == BATCH and tuple(tensor.shape) not in weights
    )


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_tensors_counted_are_no_more_than_tensorflow_keeps(block: str):
    text = _script(block)
    counted, kept = _counted(text), _kept(text)
    assert 0 < counted <= kept


def test_mixed_precision_halves_activations_and_nothing_else():
    layer = keras.layers.Dense(4, dtype="mixed_float16")
    output = layer(tf.zeros((2, 3)))
    optimizer = keras.optimizers.Adam()
    optimizer.build(layer.trainable_variables)
    assert output.dtype == "float16"
    assert {str(weight.dtype) for weight in layer.weights} == {"float32"}
    slots = [slot for slot in optimizer.variables if tuple(slot.shape) == (3, 4)]
    assert [str(slot.dtype) for slot in slots] == ["float32", "float32"]


@pytest.mark.parametrize(("name", "moved"), [("Adam", True), ("SGD", False)])
def test_adam_goes_through_rows_that_nobody_looked_up(name: str, moved: bool):
    table = keras.layers.Embedding(3, 2)
    table.build(None)
    optimizer = getattr(keras.optimizers, name)(0.1)

    def step(row: int) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(table(tf.constant([row])) ** 2)
        (gradient,) = tape.gradient(loss, table.trainable_variables)
        optimizer.apply_gradients([(gradient, table.trainable_variables[0])])
        return gradient

    assert isinstance(step(0), tf.IndexedSlices)  # the gradient itself has only the rows that were looked up
    before = table.embeddings.numpy()
    step(1)
    assert bool((table.embeddings.numpy()[0] != before[0]).any()) is moved


def test_keras_has_no_flash_attention_on_tensorflow():
    attention = keras.layers.MultiHeadAttention(2, 4, flash_attention=True)
    with pytest.raises((ValueError, RuntimeError), match=r"(?i)flash attention"):
        attention(tf.zeros((1, 4, 8)), tf.zeros((1, 4, 8)))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"activation": "relu"},
        {"recurrent_activation": "hard_sigmoid"},
        {"use_bias": False},
        {"unroll": True},
        {"reset_after": False},
    ],
    ids=str,
)
def test_what_takes_a_layer_off_cudnn(changed: dict[str, Any]):
    rnn = pytest.importorskip("keras.src.backend.tensorflow.rnn")
    functions = {"tanh": keras.activations.tanh, "sigmoid": keras.activations.sigmoid}
    functions |= {"relu": keras.activations.relu, "hard_sigmoid": keras.activations.hard_sigmoid}
    arguments: dict[str, Any] = {
        "activation": "tanh",
        "recurrent_activation": "sigmoid",
        "use_bias": True,
        "unroll": False,
        "reset_after": True,
    } | changed
    given = {key: functions.get(value, value) for key, value in arguments.items()}
    supported = rnn._do_gru_arguments_support_cudnn(**given)
    config = Config({key: Const(value) for key, value in changed.items()})
    assert (off_cudnn("GRU", "GRU", config) is None) == supported
