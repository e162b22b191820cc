"""Measures what a training step really takes, on the CPU and without XLA: the truth for engine graph.

    python benchmarks/estimate/measure_cpu.py mlp:512:adam unet:4:momentum ... >> benchmarks/estimate/cpu_truth.jsonl

Each configuration (a case of models.py, a batch, an optimizer, optionally a policy) runs in a process of its own with
one thread and an allocator that gives every larger buffer back to the system at once (MALLOC_MMAP_THRESHOLD_; no
oneDNN, whose pool never gives back). The step runs a few times; then the kernel's high-water mark of resident memory is
reset (5 to /proc/self/clear_refs) and one more step is run, and seen how far it went above what was resident, several
times. `loop:mlp:512:adam`: a loop written by hand.

Whatever its size, malloc takes a buffer out of a hole of the heap that is large enough, and tracing leaves holes
(28 MiB with tabular_transformer). Their pages are resident already, or, once trimmed, are touched by small objects too
and stay: 12 of 38 MiB after a step of cifar_resnet20. So the holes are filled before, and the heap is not trimmed: a
step repeats to 0.2 MiB, and what it took is gone after it. Of steps whose loops make tensors of less than 8 KiB, which
lie in the heap, it says too little: measure_allocations.py is for those.

What is ready at the same time runs in an order that is another for each traced function (order.py says why), and the
peak with it. So the step is traced anew several times: a line has the peak of each, their median, and the order in
which each ran (cpu_orders.py).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": "8192",
    "MALLOC_MMAP_MAX_": "1000000",
    "MALLOC_TRIM_THRESHOLD_": "8192",
    "MALLOC_TOP_PAD_": "0",
    "MALLOC_ARENA_MAX": "1",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "CUDA_VISIBLE_DEVICES": "-1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "KERAS_BACKEND": "tensorflow",
}
DRAWS = 3
STEPS = 5  # for each
HOLE = int(ENVIRONMENT["MALLOC_MMAP_THRESHOLD_"])
BY_HAND = "loop:"
EAGER = "eager:"
OPTIMIZERS = {
    "sgd": "SGD()",
    "momentum": "SGD(0.01, momentum=0.9)",
    "adam": "Adam()",
    "adamw": "AdamW()",
    "rmsprop": "RMSprop()",
    "clipped": "Adam(global_clipnorm=1.0)",
    "ema": "SGD(0.01, use_ema=True)",
}


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise LookupError(key)


def prepared(
    name: str, batch: int, optimizer: str, policy: str
) -> tuple[Any, tuple[Any, ...], dict[str, object]]:
    """The model, a batch of data, and what a line says of both."""
    import keras
    import numpy as np
    import tensorflow as tf

    sys.path.insert(0, str(Path(__file__).parent))
    import models

    keras.config.set_dtype_policy(policy)
    case = models.case(name.removeprefix(BY_HAND).removeprefix(EAGER))
    model = case.model
    made = eval(f"keras.optimizers.{OPTIMIZERS[optimizer]}", {"keras": keras})
    model.compile(optimizer=made, loss=case.loss, jit_compile=False)
    made.build(model.trainable_variables)
    xs, y = case.specs(batch)
    random = np.random.default_rng(0)

    def data(spec: tuple[tuple[int, ...], str]) -> tf.Tensor:
        shape, dtype = spec
        values = random.integers(0, 2, shape) if "int" in dtype else random.random(shape)
        return tf.constant(values.astype(dtype))

    x = [data(spec) for spec in xs]
    batch_of = (x[0] if len(x) == 1 else x,) + (() if y is None else (data(y),))
    inputs = sum(int(np.prod(part.shape)) * part.dtype.size for part in tf.nest.flatten(batch_of))
    about = {
        "model": name, "batch": batch, "optimizer": optimizer, "policy": policy, "input_bytes": inputs,
        "tensorflow": tf.__version__, "keras": keras.__version__,
    }  # fmt: skip
    return model, batch_of, about


def one_thread() -> None:
    """Before TensorFlow does anything."""
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)


def traced_anew(model: Any, by_hand: bool = False) -> Any:
    """The training step as a function of its own, not compiled by XLA."""
    import tensorflow as tf

    if by_hand:
        return tf.function(step_by_hand(model), autograph=False)
    return tf.function(lambda *parts: model.train_step(parts), autograph=False)


def step_by_hand(model: Any) -> Any:
    """A step as in a loop that somebody wrote: no metrics, nothing of `compile` but its loss and optimizer."""
    import keras
    import tensorflow as tf

    loss_of, optimizer = keras.losses.get(model.loss), model.optimizer

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(loss_of(y, model(x, training=True)))
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    return step


def with_median(about: dict[str, object], peaks: list[int], by: str) -> dict[str, object]:
    """A line."""
    return about | {"by": by, "step_bytes": round(statistics.median(peaks)), "peaks": peaks}


@contextlib.contextmanager
def holes_filled() -> Iterator[int]:
    """Takes all free pieces of the heap that a buffer could lie in, without touching them. Gives their bytes."""
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    taken, total, size = [], 0, 64 << 20
    while size >= HOLE:
        piece = library.malloc(size)
        if ctypes.c_size_t.from_address(piece - 8).value & 2:  # IS_MMAPPED in glibc: there was no hole
            library.free(piece)
            size = size * 15 // 16
        else:
            taken.append(piece)
            total += size
    try:
        yield total
    finally:
        for piece in taken:
            library.free(piece)


def _peak(step: Any, batch_of: tuple[Any, ...]) -> int:
    """The middle high-water mark of several steps above the least that was resident before one.

    What an executor held of the step before is at times there until the next: 7 of 82 MB with tokens_of_squares.
    """
    before, high = [], []
    with holes_filled():
        step(*batch_of)
        for _ in range(STEPS):
            time.sleep(0.3)  # until the executor's thread has let go of what it held
            before.append(_status("VmRSS"))
            Path("/proc/self/clear_refs").write_text("5")
            step(*batch_of)
            high.append(_status("VmHWM"))
    return round(statistics.median(high)) - min(before)


def measure(name: str, batch: int, optimizer: str, policy: str = "float32") -> dict[str, object]:
    """One configuration, in this process."""
    one_thread()
    model, batch_of, about = prepared(name, batch, optimizer, policy)
    from cpu_orders import packed, profiled, ran

    steps, peaks = [], []
    for _ in range(DRAWS):
        step = traced_anew(model, name.startswith(BY_HAND))
        step(*batch_of)
        steps.append(step)
        peaks.append(_peak(step, batch_of))
    orders = [ran(profiled(partial(step, *batch_of))) for step in steps]
    return with_median(about, peaks, "resident") | {"orders": packed(orders)}


def split(configuration: str) -> tuple[str, int, str, str]:
    """`keras:ResNet50:8:adam:mixed_float16` is a name with a colon, a batch, an optimizer and a policy."""
    parts = configuration.split(":")
    policy = parts.pop() if "float" in parts[-1] else "float32"
    return ":".join(parts[:-2]), int(parts[-2]), parts[-1], policy


def main(configurations: list[str]) -> None:
    """Each in a child process."""
    for configuration in configurations:
        child = subprocess.run(
            [sys.executable, __file__, "--one", configuration],
            env=os.environ | ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        if child.returncode:
            print(configuration, child.stderr.strip().splitlines()[-1:], file=sys.stderr)
        else:
            print(child.stdout.strip().splitlines()[-1], flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(*split(sys.argv[2]))))
    else:
        main(sys.argv[1:])
