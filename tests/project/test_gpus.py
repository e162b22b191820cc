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
    [
        ("16", "unit"),
        ("16G", "unit"),
        ("", "unknown"),
        ("-1GB", "unknown"),
        ("8IB", "unknown"),
        ("8\u0130B", "unknown"),  # an I with a dot, which is an i and more where letters are made small
        ("0GB", "no memory"),
        (0, "0"),
    ],
)
def test_what_is_no_amount_is_refused(text, said):
    with pytest.raises(MemoryAmountError, match=said):
        parse_memory(text)


@pytest.mark.parametrize(
    ("shown", "name"),
    [
        ("NVIDIA A100-SXM4-40GB", "A100-40GB"),
        ("NVIDIA A100 80GB PCIe", "A100-80GB"),
        ("Tesla V100-SXM2-16GB", "V100-16GB"),
        ("Tesla P100-PCIE-16GB", "P100"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("NVIDIA RTX A6000", "A6000"),
        ("NVIDIA H100 80GB HBM3", "H100-80GB"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"),
        ("NVIDIA A10", "A10"),
        ("rtx4090", "RTX-4090"),
        ("2080ti", "RTX-2080-Ti"),
        ("a100 80g", "A100-80GB"),
    ],
)
def test_names_as_nvidia_smi_and_people_write_them(shown, name):
    found = find_gpu(shown)
    assert found is not None
    assert found.name == name


def test_the_table_is_about_real_cards():
    wanted = """P100 V100-16GB V100-32GB T4 RTX-2080-Ti RTX-3060 RTX-3080 RTX-3090 RTX-4090 RTX-5090 A10 A10G L4 L40S
        A6000 A40 A100-40GB A100-80GB H100-80GB H200 GH200 B200 P4 K80 GTX-1080-Ti RTX-4080 RTX-6000-Ada""".split()
    assert set(wanted) <= set(GPUS)
    for gpu in GPUS.values():
        # What TensorFlow leaves to the system by the card's generation, and something for the context.
        left = {6: 500, 7: 1050, 8: 1536}.get(gpu.capability[0], 500 if gpu.capability[0] < 6 else 1800)
        assert gpu.usable < gpu.memory - left * 2**20 + (100 * 2**20 if gpu.capability[0] < 6 else 0), (
            gpu.name
        )
        assert gpu.observed is None or gpu.usable == gpu.observed[0] <= gpu.observed[1] < gpu.memory
    # Without a log: 46,068 MiB in total, 1,536 left to the system, 1,000 for context and driver.
    assert GPUS["L40S"].usable == 43_532 * 2**20
    # 97,871 less 1,800 and 1.6%.
    assert GPUS["GH200"].usable == (97_871 - 1_800 - 1_566) * 2**20


def test_half_precision_by_generation():
    assert GPUS["T4"].half_policy == "mixed_float16"
    assert GPUS["A100-40GB"].half_policy == GPUS["RTX-3060"].half_policy == "mixed_bfloat16"


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
