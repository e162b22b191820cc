"""Calls moved within a chain: what stands between them stays, and every byte outside of them."""

from __future__ import annotations

import pytest

from oomlint.project.settings import Budget, Settings
from oomlint.testing import fix_text, rules_named

START = """\
import tensorflow as tf

N = 50_000
source = tf.data.Dataset.list_files("*.jpg")


def f(path):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (224, 224))


"""

MOVED = {
    "one line": ("ds = source.map(f).shuffle(N)\n", "ds = source.shuffle(N).map(f)\n"),
    "something follows": (
        "ds = source.map(f).shuffle(N, seed=1).batch(8)  # why\n",
        "ds = source.shuffle(N, seed=1).map(f).batch(8)  # why\n",
    ),
    "rows and comments": (
        "ds = (\n    source\n    .map(f)  # decodes\n    # all of them\n    .shuffle(\n        N,\n    )\n    .batch(8)\n)\n",
        "ds = (\n    source\n    .shuffle(\n        N,\n    )  # decodes\n    # all of them\n    .map(f)\n    .batch(8)\n)\n",
    ),
    "rows held by a call": (
        "print(\n    source\n    .map(f)\n    .shuffle(N)\n)\n",
        "print(\n    source\n    .shuffle(N)\n    .map(f)\n)\n",
    ),
    "backslashes": (
        "ds = source \\\n    .map(f) \\\n    .shuffle(N)\n",
        "ds = source \\\n    .shuffle(N) \\\n    .map(f)\n",
    ),
    "over two": (
        "ds = source.map(f).map(lambda x: x + 1).shuffle(N)\n",
        "ds = source.shuffle(N).map(f).map(lambda x: x + 1)\n",
    ),
    "statements": (
        "ds = source\nds = ds.map(f)\n# mix\nds = ds.shuffle(N)  # well\nds = ds.batch(2)\n",
        "ds = source\n# mix\nds = ds.shuffle(N)  # well\nds = ds.map(f)\nds = ds.batch(2)\n",
    ),
    "a statement into a chain": (
        "ds = source.take(10 * N).map(f)\nds = ds.shuffle(N)\n",
        "ds = source.take(10 * N).shuffle(N).map(f)\n",
    ),
}

LEFT_ALONE = {
    "the part between is used": "ds = source.map(f)\nvalid = ds.take(100)\nds = ds.shuffle(N)\n",
    "the size comes later": "ds = source.map(f)\nM = N + 1\nds = ds.shuffle(M)\n",
    "two names": "decoded = source.map(f)\nmixed = decoded.shuffle(N)\n",
    "one of two ways": "ds = source\nif N > int(input()):\n    ds = ds.map(f)\nds = ds.shuffle(N)\n",
}


def mended(text: str) -> str:
    settings = Settings(select=("OOM301",), budget=Budget(host=2**30))
    return fix_text(rules_named(["OOM301"]), START + text, settings=settings)


@pytest.mark.parametrize(("before", "after"), MOVED.values(), ids=MOVED.keys())
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_call_moves_and_nothing_else(before: str, after: str, newline: str) -> None:
    settings = Settings(select=("OOM301",), budget=Budget(host=2**30))
    text = (START + before).replace("\n", newline)
    found = fix_text(rules_named(["OOM301"]), text, settings=settings)
    assert found == (START + after).replace("\n", newline)


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE.keys())
def test_what_may_change_more_is_left_alone(text: str) -> None:
    assert mended(text) == START + text
