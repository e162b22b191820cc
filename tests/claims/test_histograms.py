"""What the page of OOM414 claims: a histogram of a weight takes 264 bytes for each of its numbers, for a moment.

Weighed in a process of its own, whose highest resident memory is that of the histogram.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("tensorboard")

PROBE = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import tensorflow as tf

def kib(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1])

with tf.summary.create_file_writer(sys.argv[1]).as_default():
    tf.summary.histogram("first", tf.random.normal((100,)), step=0)
    weight = tf.random.normal((1_000_000,))
    before = kib("VmRSS")
    tf.summary.histogram("weight", weight, step=0)
    print((kib("VmHWM") - before) * 1024 / 1e6, (kib("VmRSS") - before) * 1024 / 1e6)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's account of memory")
def test_264_bytes_for_each_number_and_given_back(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROBE, str(tmp_path)], capture_output=True, text=True, timeout=300, check=True
    )
    peak, after = map(float, run.stdout.split())
    assert 240 <= peak <= 290
    assert after < 30
