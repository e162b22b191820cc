"""Amounts of memory and GPUs by name."""

from __future__ import annotations

import pytest

from oomlint.project.gpus import GPUS, MemoryAmountError, find_gpu, parse_memory, write_bytes


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("16GB", 16_000_000_000),
        ("16 gb", 16_000_000_000),
        ("24GiB", 25_769_803_776),
        ("1.5 GiB", 1_610_612_736),
        ("512MiB", 536_870_912),
        (1_000_000, 1_000_000),
        ("T4", 13_584 * 1_048_576),
        ("tesla t4", 13_584 * 1_048_576),
        ("NVIDIA A100 80GB", 78_945 * 1_048_576),
        ("a100", 38_068 * 1_048_576),
    ],
)
def test_parse_memory(text, count):
    assert parse_memory(text) == count


@pytest.mark.parametrize(
    ("text", "said"),
    [("16", "unit"), ("16G", "unit"), ("", "unknown"), ("-1GB", "unknown"), ("0GB", "no memory"), (0, "0")],
)
def test_what_is_no_amount_is_refused(text, said):
    with pytest.raises(MemoryAmountError, match=said):
        parse_memory(text)


def test_every_pool_is_smaller_than_the_label_on_the_card():
    labels = {
        "T4": 16,
        "V100-16GB": 16,
        "A100-40GB": 40,
        "A100-80GB": 80,
        "H100-80GB": 80,
        "L4": 24,
        "RTX-3060": 12,
    }
    for name, label in labels.items():
        assert 0.7 * label * 2**30 < GPUS[name].usable < label * 2**30
    assert find_gpu("nothing") is None


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (16_000_000_000, "16 GB"),
        (17_179_869_184, "16 GiB"),
        (13_584 * 1_048_576, "13.3 GiB"),
        (602_112, "588 KiB"),
        (500, "500 B"),
    ],
)
def test_write_bytes(count, words):
    assert write_bytes(count) == words
