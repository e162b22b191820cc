"""What one update of a large Embedding holds at its peak, in tables: for each optimizer of Keras 3, or of `--tf-keras`.

    python benchmarks/embedding_updates.py [--tf-keras] [OPTIMIZER ...]

Each optimizer has a process of its own: a table of 128 MiB, two steps on a few rows to make the slots, then the peak of
resident memory (VmHWM) of a third one. The table counts, as do the slots.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROWS, WIDTH = 1 << 18, 128
TABLE = ROWS * WIDTH * 4
os.environ.update(
    TF_CPP_MIN_LOG_LEVEL="3",
    TF_ENABLE_ONEDNN_OPTS="0",
    CUDA_VISIBLE_DEVICES="",
    MALLOC_MMAP_THRESHOLD_="65536",
)
OPTIMIZERS = "SGD,SGD momentum,Adam,AdamW,Nadam,Adamax,RMSprop,Adagrad,Adadelta,Ftrl,Lion,Adafactor".split(
    ","
)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def measure(name: str, old: bool) -> str:
    """Tables kept for good, and at the peak of a step."""
    import tensorflow as tf

    keras: Any = __import__("tf_keras") if old else tf.keras
    before = _status("VmRSS")
    model = keras.Sequential([keras.layers.Embedding(ROWS, WIDTH), keras.layers.GlobalAveragePooling1D()])
    kind, _, momentum = name.partition(" ")
    optimizer = getattr(keras.optimizers, kind)(**({"momentum": 0.9} if momentum else {}))
    x = tf.constant([[1, 2, 3, 4]] * 8)
    model(x)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        )

    step()
    step()
    kept = _status("VmRSS") - before
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    step()
    return f"kept {kept / TABLE:5.2f}   peak {(_status('VmHWM') - before) / TABLE:5.2f}"


def main() -> None:
    """Measure the optimizers given, or all."""
    old = "--tf-keras" in sys.argv
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    if "--one" in sys.argv:
        print(measure(names[0], old))
        return
    for name in names or OPTIMIZERS:
        command = [sys.executable, __file__, "--one", *(["--tf-keras"] if old else []), name]
        done = subprocess.run(command, capture_output=True, text=True)
        print(f"{name:14} {done.stdout.strip() or done.stderr.strip()[-200:]}", flush=True)


if __name__ == "__main__":
    main()
