"""Peak memory of one training step on the CPU, in units of the tensor that a rule of OOM603 to OOM607 counts.

    python benchmarks/activations.py [--jit] [CASE ...]

Every case runs in a process of its own: traced and run once on one sample, then on a batch whose unit is 96 MiB,
with the peak of resident memory (VmHWM) reset in between. oneDNN is off, for its pool never gives memory back.
`--jit` compiles the step with XLA, as Keras 3 does by itself on a GPU.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB = 1 << 20
UNIT = 96 * MIB
os.environ.update(
    TF_CPP_MIN_LOG_LEVEL="3",
    TF_ENABLE_ONEDNN_OPTS="0",
    CUDA_VISIBLE_DEVICES="",
    MALLOC_MMAP_THRESHOLD_="65536",
)

# A case gives the model and the loss's target, for a batch, and the elements of one unit per sample.
Case = tuple[Any, Callable[[int], tuple[Any, Any]], int]


def _attention(layers: int, dropout: float) -> Case:
    from tensorflow import keras

    steps, heads = 512, 8
    x = inputs = keras.Input((steps, 16))
    for _ in range(layers):
        x = x + keras.layers.MultiHeadAttention(heads, 2, dropout=dropout)(x, x)
    return keras.Model(inputs, x), lambda batch: _ones((batch, steps, 16)), heads * steps * steps


def _single(layers: int, kind: str, dim: int = 8, steps: int = 512, **options: Any) -> Case:
    from tensorflow import keras

    inputs = keras.Input((steps, dim))
    x = keras.layers.Dense(dim)(inputs)  # something to learn before it, so that gradients go through
    for _ in range(layers):
        x = x + getattr(keras.layers, kind)(**options)([x, x])
    wide = dim if kind == "AdditiveAttention" else 1
    return keras.Model(inputs, x), lambda batch: _ones((batch, steps, dim)), steps * steps * wide


def _recurrent(layers: int, kind: str, both: bool = False, **options: Any) -> Case:
    from tensorflow import keras

    steps, units = 256, 64
    x = inputs = keras.Input((steps, units))
    for _ in range(layers):
        layer = getattr(keras.layers, kind)(units, return_sequences=True, **options)
        x = keras.layers.Bidirectional(layer, merge_mode="sum")(x) if both else layer(x)
    return keras.Model(inputs, x), lambda batch: _ones((batch, steps, units)), steps * units * (1 + both)


def _film(layers: int) -> Case:
    from tensorflow import keras

    x = inputs = keras.Input((16, 16, 16, 8))
    for _ in range(layers):
        x = keras.layers.ConvLSTM2D(8, 3, padding="same", return_sequences=True)(x)
    return keras.Model(inputs, x), lambda batch: _ones((batch, 16, 16, 16, 8)), 16**3 * 8


def _pictures(layers: int, block: str, timed: int = 0) -> Case:
    """Convolutions of 8 channels on 64 x 64, with what stands between them."""
    from tensorflow import keras

    L = keras.layers
    shape = (timed, 64, 64, 8) if timed else (64, 64, 8)

    def on(layer: Any) -> Any:
        return L.TimeDistributed(layer) if timed else layer

    x = inputs = keras.Input(shape)
    for _ in range(layers):
        if block == "fused":
            x = on(L.Conv2D(8, 3, padding="same", activation="relu"))(x)
        else:
            x = on(L.Conv2D(8, 3, padding="same", use_bias="bn" not in block))(x)
            if "bn" in block:
                x = on(L.BatchNormalization())(x)
            if "ln" in block:
                x = on(L.LayerNormalization())(x)
            if "relu" in block:
                x = on(L.ReLU())(x)
            if "gelu" in block or "silu" in block:
                x = on(L.Activation("gelu" if "gelu" in block else "silu"))(x)
            if "drop" in block:
                x = on(L.Dropout(0.5))(x)
            if "pool" in block:
                x = on(L.UpSampling2D())(on(L.MaxPooling2D())(x))
    return keras.Model(inputs, x), lambda batch: _ones((batch, *shape)), max(timed, 1) * 64 * 64 * 8


def _volumes(layers: int, dilation: int) -> Case:
    from tensorflow import keras

    x = inputs = keras.Input((32, 32, 32, 8))
    for _ in range(layers):
        x = keras.layers.Conv3D(8, 3, padding="same", dilation_rate=dilation, activation="relu")(x)
    return keras.Model(inputs, x), lambda batch: _ones((batch, 32, 32, 32, 8)), 32**3 * 8


def _dense(layers: int, activation: str | None) -> Case:
    from tensorflow import keras

    x = inputs = keras.Input((64, 64))
    for _ in range(layers):
        x = keras.layers.Dense(64, activation=activation)(x)
    return keras.Model(inputs, x), lambda batch: _ones((batch, 64, 64)), 64 * 64


def _logits(loss: str, activation: str | None) -> Case:
    import numpy as np
    from tensorflow import keras

    steps, words = 32, 4096
    inputs = keras.Input((steps, 4))
    model = keras.Model(inputs, keras.layers.Dense(words, activation=activation)(inputs))
    dense = loss.startswith("Categorical")
    model.loss_object = getattr(keras.losses, loss)(from_logits=activation is None)

    def data(batch: int) -> tuple[Any, Any]:
        x = np.ones((batch, steps, 4), "float32")
        y = np.ones((batch, steps, words), "float32") if dense else np.ones((batch, steps), "int32")
        return x, y

    return model, data, steps * words


BLOCKS = (
    """fused,conv,conv relu,conv bn,conv bn relu,conv gelu,conv silu,conv ln relu,conv relu drop""".split(",")
)

CASES: dict[str, Callable[[], Case]] = {
    **{f"MultiHeadAttention x{n} dropout {d}": (lambda n=n, d=d: _attention(n, d)) for n in (1, 3) for d in (0.0, 0.1)},
    **{f"Attention x{n}": (lambda n=n: _single(n, "Attention")) for n in (1, 3)},
    "Attention dropout": lambda: _single(1, "Attention", dropout=0.1),
    "Attention concat": lambda: _single(1, "Attention", score_mode="concat", steps=256),
    **{f"AdditiveAttention x{n}": (lambda n=n: _single(n, "AdditiveAttention", 16, 256)) for n in (1, 3)},
    **{f"{k} x{n}": (lambda k=k, n=n: _recurrent(n, k)) for k in ("LSTM", "GRU", "SimpleRNN") for n in (1, 3)},
    "LSTM recurrent_dropout": lambda: _recurrent(1, "LSTM", recurrent_dropout=0.2),
    "GRU reset_after=False": lambda: _recurrent(1, "GRU", reset_after=False),
    "GRU recurrent_dropout": lambda: _recurrent(1, "GRU", recurrent_dropout=0.2),
    **{f"ConvLSTM2D x{n}": (lambda n=n: _film(n)) for n in (1, 3)},
    "LSTM relu": lambda: _recurrent(1, "LSTM", activation="relu"),
    "LSTM unroll": lambda: _recurrent(1, "LSTM", unroll=True),
    "Bidirectional LSTM": lambda: _recurrent(1, "LSTM", both=True),
    "sparse from logits": lambda: _logits("SparseCategoricalCrossentropy", None),
    "sparse softmax": lambda: _logits("SparseCategoricalCrossentropy", "softmax"),
    "dense from logits": lambda: _logits("CategoricalCrossentropy", None),
    "dense softmax": lambda: _logits("CategoricalCrossentropy", "softmax"),
    "TimeDistributed conv": lambda: _pictures(1, "fused", 4),
    **{f"{b} x{n}": (lambda b=b, n=n: _pictures(n, b)) for b in BLOCKS for n in (2, 5)},
    **{f"TimeDistributed {b} x{n}": (lambda b=b, n=n: _pictures(n, b, 4)) for b in BLOCKS[:5:4] for n in (2, 5)},
    **{f"Conv3D dilation {d} x{n}": (lambda d=d, n=n: _volumes(n, d)) for d in (1, 2) for n in (2, 5)},
    **{f"Dense {a} x{n}": (lambda a=a, n=n: _dense(n, a)) for a in (None, "relu", "gelu", "tanh") for n in (2, 5)},
}  # fmt: skip


def _ones(shape: tuple[int, ...]) -> tuple[Any, Any]:
    import numpy as np

    return np.ones(shape, "float32"), None


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def measure(name: str, jit: bool) -> float:
    """The peak of one step above what was there before it, in units; inputs and targets are not counted."""
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)  # one order of operations, so one peak
    model, data, elements = CASES[name]()
    loss_object = getattr(model, "loss_object", None)

    @tf.function(jit_compile=jit)
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            out = model(x, training=True)
            loss = tf.reduce_mean(out) if loss_object is None else loss_object(y, out)
        gradients = tape.gradient(loss, model.trainable_variables)
        return [tf.reduce_sum(g) for g in gradients if g is not None]

    batch = max(1, round(UNIT / (elements * 4)))
    small, large = data(1), data(batch)
    convert = [None if part is None else tf.constant(part) for part in large]
    step(*[None if part is None else tf.constant(part) for part in small])
    if jit:
        step.get_concrete_function(*convert)
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    step(*convert)
    return (_status("VmHWM") - before) / (batch * elements * 4)


def main() -> None:
    """Measure the cases whose name contains one of the words given, or all."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    jit = "--jit" in sys.argv
    if "--one" in sys.argv:
        print(f"{measure(words[0], jit):.2f}")
        return
    for name in CASES:
        if words and not any(word in name for word in words):
            continue
        command = [sys.executable, __file__, "--one", *(["--jit"] if jit else []), name]
        done = subprocess.run(command, capture_output=True, text=True)
        print(f"{name:34} {done.stdout.strip() or done.stderr.strip()[-300:]}", flush=True)


if __name__ == "__main__":
    main()
