"""Pipelines put together at random: the dry run says of each what TensorFlow says."""

from __future__ import annotations

import random
import warnings

import pytest

from .test_element_specs import INFINITE, UNKNOWN, by_dry_run, by_tensorflow, closed, said, told

SOURCES = [
    "tf.data.Dataset.range({a})",
    "tf.data.Dataset.from_tensor_slices(np.zeros(({a}, {b}, 3), np.float32))",
    "tf.data.Dataset.from_tensors(np.zeros(({a}, {b}), np.uint8))",
    "tf.data.Dataset.from_tensor_slices((np.zeros(({a}, {b})), [1] * {a}))",
    "tf.data.Dataset.from_tensor_slices({{'u': np.ones(({a}, 2), np.int32), 'v': np.zeros({a})}})",
    "tf.data.Dataset.random(seed=1)",
]
STAGES = """\
.take({k})
.take(-1)
.skip({k})
.repeat({k})
.repeat()
.batch({k})
.batch({k}, drop_remainder=True)
.batch({k}).unbatch()
.padded_batch({k})
.rebatch({k})
.unbatch()
.shuffle({k})
.shard({k}, 0)
.prefetch({k})
.cache()
.enumerate()
.filter(lambda *a: True)
.ignore_errors()
.map(lambda *a: a[0])
.map(lambda *a: (a[-1], a))
.concatenate(tf.data.Dataset.range({k}))
.window({k}, drop_remainder=True)
.window({k}, shift=1)
.interleave(lambda *a: tf.data.Dataset.from_tensors(a[0]))
.flat_map(lambda *a: tf.data.Dataset.from_tensor_slices(tf.zeros([4, 2])))
.apply(tf.data.experimental.assert_cardinality({k}))
""".splitlines()


def pipelines(seed: int, count: int) -> list[str]:
    """Snippets that TensorFlow accepts."""
    draw = random.Random(seed)
    found: list[str] = []
    while len(found) < count:
        code = "ds = " + draw.choice(SOURCES).format(a=draw.randint(1, 12), b=draw.randint(1, 5))
        for _ in range(draw.randint(1, 5)):
            code += draw.choice(STAGES).format(k=draw.randint(1, 5))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                by_tensorflow(code)
        except Exception:
            continue  # stages that do not fit together
        found.append(code)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_random_pipelines(seed: int) -> None:
    for code in pipelines(seed, 40):
        truth, found = by_tensorflow(code), by_dry_run(code)
        assert said(found.element) == told(truth.element_spec), code
        certain = closed(found.count)
        count = INFINITE if found.infinite else UNKNOWN if certain is None else certain
        cardinality = int(truth.cardinality())
        # TensorFlow gives up on the length of what is regrouped; that an endless source stays endless is known.
        regrouped = any(stage in code for stage in (".interleave(", ".flat_map(", ".rebatch("))
        endless = count == INFINITE and regrouped
        assert count == cardinality or (endless and cardinality == UNKNOWN), code
