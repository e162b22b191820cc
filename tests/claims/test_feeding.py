"""What the pages of the feeding rules claim, tried on TensorFlow itself.

The fixes are applied to small scripts under a small budget, and both scripts are run: the same elements come out,
and training on them gives the same numbers where the fix is called safe.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import tensorflow as tf

from oomlint.project.settings import Budget, Settings
from oomlint.testing import fix_text, rules_named, run_rules

TINY = Budget(host=64 * 1024, gpu=64 * 1024, gpu_label="64 KiB", host_label="64 KiB")


def mended(code: str, text: str) -> str:
    """The script after its fix, which there must be."""
    rules = rules_named([code])
    settings = Settings(select=(code,), preview=True, budget=TINY)
    assert run_rules(rules, text, settings=settings), "nothing found"
    after = fix_text(rules, text, settings=settings)
    assert after != text, "nothing mended"
    return after


def run(text: str) -> dict[str, Any]:
    tf.random.set_seed(
        None
    )  # with the seed of a test before this one, random elements would be the same each time
    names: dict[str, Any] = {}
    exec(compile(text, "script.py", "exec"), names)
    return names


def elements(dataset: tf.data.Dataset) -> Counter[bytes]:
    """The elements of a pipeline, batches taken apart, however often and in whatever order."""
    found: Counter[bytes] = Counter()
    for element in dataset:
        parts = [np.asarray(part) for part in tf.nest.flatten(element)]
        found[b"|".join(part.tobytes() for part in parts)] += 1
    return found


START = """\
import tensorflow as tf

def widen(i):
    return tf.reshape(tf.repeat(tf.cast(i, tf.float32), 16 * 16 * 3), (16, 16, 3)), i

"""

SHUFFLES = {
    "one chain": START + "ds = tf.data.Dataset.range(100).map(widen).shuffle(64)\n",
    "a chain in rows": START
    + """ds = (
    tf.data.Dataset.range(100)
    # every number becomes a picture
    .map(widen, num_parallel_calls=2)
    .shuffle(64, seed=3)  # mixes
)
""",
    "statements": START + "ds = tf.data.Dataset.range(100)\nds = ds.map(widen)\nds = ds.shuffle(64)\n",
    "a chain and a statement": START + "ds = tf.data.Dataset.range(100).map(widen)\nds = ds.shuffle(64)\n",
    "two maps": START
    + "ds = tf.data.Dataset.range(100).map(widen).map(lambda x, i: (x + 1.0, i)).shuffle(64)\n",
    "in a function": START
    + """def build(count, window=64):
    ds = tf.data.Dataset.range(count)
    ds = ds.map(widen)
    ds = ds.shuffle(window)
    return ds

ds = build(100)
""",
}


@pytest.mark.parametrize("text", SHUFFLES.values(), ids=SHUFFLES.keys())
def test_a_moved_shuffle_gives_the_same_elements(text: str) -> None:
    after = mended("OOM301", text)
    assert elements(run(text)["ds"]) == elements(run(after)["ds"])
    assert after.index("shuffle(") < after.index("map(widen")


def test_a_shuffle_before_batch_gives_the_same_examples() -> None:
    text = START + "ds = tf.data.Dataset.range(96).map(lambda i: (widen(i)[0][:4], i)).batch(8).shuffle(12)\n"
    before, after = run(text)["ds"], run(mended("OOM301", text))["ds"]
    assert elements(before.unbatch()) == elements(after.unbatch())
    assert before.element_spec == after.element_spec


CACHES = {
    "a cast": START
    + "ds = tf.data.Dataset.range(30).map(lambda i: tf.cast(widen(i)[0], tf.uint8))\n"
    + "ds = ds.map(lambda x: tf.cast(x, tf.float32)).cache()\n",
    "a file": START + "ds = tf.data.Dataset.range(100).map(widen).cache()\n",
}


@pytest.mark.parametrize("text", CACHES.values(), ids=CACHES.keys())
def test_a_smaller_cache_gives_the_same_elements(
    text: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before, after = run(text)["ds"], run(mended("OOM302", text))["ds"]
    first = elements(before)
    assert first == elements(after) == elements(after)


def test_repeat_then_cache_never_reads_back_and_the_swap_does() -> None:
    text = """\
import tensorflow as tf

reads = []

def read(i):
    reads.append(int(i))
    return i

ds = tf.data.Dataset.range(4).map(lambda i: tf.py_function(read, [i], tf.int64)).repeat().cache()
"""
    counts = []
    for version in (text, mended("OOM302", text)):
        names = run(version)
        for _ in range(2):
            assert len(list(names["ds"].take(20))) == 20
        counts.append(len(names["reads"]))
    before, after = counts
    assert before >= 40, "each pass makes its elements anew"
    assert after == 4


def test_random_augmentation_is_frozen_by_a_cache_and_not_before_it() -> None:
    text = """\
import tensorflow as tf

def jitter(x):
    return tf.image.random_brightness(x, 0.5)

ds = tf.data.Dataset.from_tensors(tf.zeros((8, 8, 3))).repeat(4).map(jitter).cache()
"""
    # The repeat is another finding of the rule; here only the random map counts.
    text = text.replace(
        "from_tensors(tf.zeros((8, 8, 3))).repeat(4)", "from_tensor_slices(tf.zeros((4, 8, 8, 3)))"
    )
    before, after = run(text)["ds"], run(mended("OOM302", text))["ds"]
    assert elements(before) == elements(before)
    assert elements(after) != elements(after)


@pytest.mark.parametrize(
    ("training", "frozen"), [("", True), (", training=True", True), (", training=False", False)]
)
def test_random_layers_are_random_in_a_map_unless_told_not_to_be(training: str, frozen: bool) -> None:
    text = f"""\
import keras
import tensorflow as tf

augment = keras.Sequential([keras.layers.RandomFlip(), keras.layers.RandomRotation(0.4)])
ds = tf.data.Dataset.from_tensor_slices(tf.random.uniform((6, 8, 8, 3)))
random = ds.map(lambda x: augment(x{training}))
ds = random.cache()
"""
    random = run(text)["random"]
    assert (elements(random) != elements(random)) is frozen
    found = run_rules(rules_named(["OOM302"]), text)
    assert [str(one.severity) for one in found] == (["error"] if frozen else [])


def test_a_cache_after_shuffle_keeps_the_order() -> None:
    ds = tf.data.Dataset.range(50).shuffle(50)
    assert list(ds.cache().as_numpy_iterator()) != list(ds.cache().as_numpy_iterator())
    kept = ds.cache()
    assert list(kept.as_numpy_iterator()) == list(kept.as_numpy_iterator())
    again = kept.shuffle(50)
    assert list(again.as_numpy_iterator()) != list(again.as_numpy_iterator())


def test_a_cache_that_is_never_read_to_its_end_is_never_used() -> None:
    reads: list[int] = []

    def read(i: Any) -> Any:
        reads.append(int(i))
        return i

    ds = tf.data.Dataset.range(6).map(lambda i: tf.py_function(read, [i], tf.int64)).cache().take(3)
    list(ds), list(ds)
    assert len(reads) == 6


def test_prefetch_counts_batches_and_autotune_keeps_fewer() -> None:
    def ahead(count: int) -> int:
        made: list[int] = []

        def rows() -> Any:
            for number in range(2_000):
                made.append(number)
                yield number

        ds = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((), tf.int32)).batch(5)
        iterator = iter(ds.prefetch(count))
        next(iterator)
        deadline = time.monotonic() + (10 if count > 0 else 1)
        while len(made) < 500 and time.monotonic() < deadline:
            time.sleep(0.05)
        return len(made)

    assert ahead(100) >= 500
    assert ahead(tf.data.AUTOTUNE) <= 100


TRAINING = """\
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(11)
x = np.random.default_rng(5).random((2048, 8), dtype="float32")
y = x.sum(axis=1, keepdims=True)

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256, seed=2)
data = data.map(lambda a, b: (tf.tile(a[None], (1, 1))[0] * 2.0, b)).batch(32).prefetch(50)
history = model.fit(data, epochs=3, verbose=0)
weights = model.get_weights()
"""


def test_the_safe_fix_of_prefetch_trains_to_the_same_numbers() -> None:
    rules, settings = rules_named(["OOM303"]), Settings(select=("OOM303",), budget=TINY)
    safe = fix_text(rules, TRAINING, unsafe=False, settings=settings)
    assert safe == TRAINING.replace("prefetch(50)", "prefetch(tf.data.AUTOTUNE)")
    before, after = run(TRAINING), run(safe)
    assert before["history"].history == after["history"].history
    for one, two in zip(before["weights"], after["weights"], strict=True):
        np.testing.assert_array_equal(one, two)


def test_fit_from_the_cpu_trains_and_predict_agrees_with_a_forward_pass() -> None:
    text = """\
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(3)
x = np.zeros((4096, 8), dtype="float32")
x[:] = np.random.default_rng(5).random((4096, 8))
y = np.zeros((4096, 1), dtype="float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
history = model.fit(x, y, batch_size=64, epochs=2, verbose=0)
scores = model.predict(x, verbose=0)
"""
    after = mended("OOM305", text)
    assert after.count('tf.device("/CPU:0")') == 2
    names = run(after)
    assert names["history"].history["loss"][1] < names["history"].history["loss"][0]
    np.testing.assert_allclose(names["scores"], names["model"](names["x"]).numpy(), atol=1e-6)
    assert keras.backend.backend() == "tensorflow"


RESIDENT = """\
import ctypes, gc, json, os, time
import numpy as np, tensorflow as tf

def anonymous():
    # Without the pages of libraries, which the kernel takes and gives back as it likes.
    with open("/proc/self/statm") as f:
        total, files = map(int, f.read().split()[1:3])
    return (total - files) * os.sysconf("SC_PAGE_SIZE") / 2**20

def resident():
    # Blocks that were freed would serve the next measurement from the heap: back to the system with them.
    # TensorFlow's own threads end an iterator some time after its last reference is gone.
    gc.collect()
    time.sleep(0.5)
    ctypes.CDLL(None).malloc_trim(0)
    return anonymous()

def filled(ds):
    before = resident()
    iterator = iter(ds)
    next(iterator)
    return resident() - before
"""

NUMBERS = (
    RESIDENT
    + """
print(json.dumps(filled(tf.data.Dataset.range(400_000).shuffle(400_000)) * 2**20 / 400_000))
"""
)

MEMORY = (
    RESIDENT
    + """
def slices(side):
    count = int(64 * 2**20 / (side * side * 4))
    ds = tf.data.Dataset.from_tensor_slices(np.zeros((count, side, side), dtype="float32"))
    for _ in ds.take(1):
        pass
    return ds.shuffle(count)

def picture(i):
    return tf.fill((256, 256, 4), tf.cast(i, tf.float32))

found = {"aligned": filled(slices(64)), "unaligned": filled(slices(61))}
cached = tf.data.Dataset.range(64).map(picture).cache()
for _ in cached:
    pass
found["after cache"] = filled(cached.shuffle(64))
found["decoded"] = filled(tf.data.Dataset.range(64).map(picture).shuffle(64))
rows = tf.data.Dataset.from_tensor_slices(np.zeros((4096, 64, 64), dtype="float32"))
for _ in rows.take(1):
    pass
before, kept = resident(), rows.cache()
for _ in kept:
    pass
found["cached slices"] = resident() - before
array = np.ones((4096, 64, 64), dtype="float32")
tensor = tf.ones((4096, 64, 64))
for name, held in (("of an array", array), ("of a tensor", tensor)):
    before = resident()
    dataset = tf.data.Dataset.from_tensor_slices(held)
    for _ in dataset.take(1):
        pass
    found[name] = resident() - before
rows = tf.data.Dataset.from_tensor_slices(np.zeros((4096, 64, 64), dtype="float32"))
for _ in rows.take(1):
    pass
before, taken = resident(), list(rows)
found["list of slices"] = resident() - before
pictures = tf.data.Dataset.range(64).map(lambda i: (picture(i), i))
before, labels = resident(), [label for _, label in pictures]
found["list of labels"] = resident() - before
before, whole = resident(), list(pictures)
found["list of pictures"] = resident() - before
print(json.dumps(found))
"""
)


def measured(script: str) -> Any:
    """What a script prints, in a process of its own: freed memory of one measurement would serve the next."""
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0", "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux' /proc")
def test_what_buffers_and_sources_cost() -> None:
    """64 MiB each: slices of a multiple of 64 bytes and cached elements cost nothing, others all of it.

    A number of eight bytes takes many times that. A dataset of an array holds a copy of it; a dataset of a
    tensor holds the tensor. All or nothing: the line is drawn in the middle, for a third of the 64 MiB was
    now and then served from memory that the process had kept.
    """
    found = measured(MEMORY)
    assert 148 < measured(NUMBERS) < 260
    assert found["aligned"] < 32, found
    assert found["after cache"] < 32, found
    assert found["cached slices"] < 32, found
    assert found["unaligned"] > 32, found
    assert found["of an array"] > 32, found
    assert found["of a tensor"] < 32, found
    assert found["decoded"] > 32, found
    assert found["list of slices"] < 32, found
    assert found["list of labels"] < 32, found
    assert found["list of pictures"] > 32, found


CONVERTING = """\
import tensorflow as tf

def load(image):
    image = tf.image.resize(image, (4, 4){method})
    image = tf.image.convert_image_dtype(image, tf.float32)
    return image

ds = tf.data.Dataset.from_tensors(tf.fill((8, 8, 3), tf.constant(200, tf.uint8))).map(load)
"""


def brightest(text: str) -> float:
    return max(float(tf.reduce_max(image)) for image in run(text)["ds"])


def test_a_conversion_after_resizing_leaves_200_and_the_fix_does_not() -> None:
    text = CONVERTING.format(method="").replace(
        "def load(image):\n", "def load(image):\n    image = tf.image.decode_png(tf.io.encode_png(image))\n"
    )
    assert brightest(text) == 200.0
    assert brightest(mended("OOM311", text)) == pytest.approx(200 / 255)


def test_neighbours_are_converted() -> None:
    assert brightest(CONVERTING.format(method=", method='nearest'")) == pytest.approx(200 / 255)


def test_built_models_refuse_batches_of_batches_and_an_unbuilt_dense_does_not() -> None:
    x, y = np.zeros((64, 6), "float32"), np.zeros((64, 1), "float32")
    twice = tf.data.Dataset.from_tensor_slices((x, y)).batch(8).batch(4)
    unbuilt = keras.Sequential([keras.layers.Dense(1)])
    unbuilt.compile("sgd", "mse")
    unbuilt.fit(twice, verbose=0)
    built = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
    built.compile("sgd", "mse")
    with pytest.raises(ValueError, match="shape"):
        built.fit(twice, verbose=0)


def test_predict_keeps_each_output_until_the_last() -> None:
    """Of ten batches the outputs of all ten are alive at the end, as tensors."""
    alive: list[Any] = []
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.make_predict_function()
    once = model.predict_function

    def counted(data: Any) -> Any:
        outputs = once(data)
        assert tf.is_tensor(outputs)
        alive.append(weakref.ref(outputs))
        return outputs

    class Last(keras.callbacks.Callback):
        def on_predict_end(self, logs: Any = None) -> None:
            self.held = sum(one() is not None for one in alive)

    model.predict_function, last = counted, Last()
    model.predict(np.zeros((40, 4), "float32"), batch_size=4, verbose=0, callbacks=[last])
    assert last.held == 10


def test_padding_to_the_longest_gives_a_shape_for_each_batch() -> None:
    lengths = tf.data.Dataset.range(1, 65).map(lambda n: tf.ones((n,)))
    assert len({tuple(batch.shape) for batch in lengths.padded_batch(8)}) == 8
    limited = lengths.map(lambda row: row[:40]).padded_batch(8, padded_shapes=[40])
    assert {tuple(batch.shape) for batch in limited} == {(8, 40)}
