"""The description of GPUs for XLA's compiler."""

from __future__ import annotations

import re

import pytest

from oomlint.estimate.worker.xla.target_config import CARDS, target_for
from oomlint.project.gpus import GPUS

ASKED_FOR = (
    "P100 V100-16GB V100-32GB T4 RTX-2080-Ti RTX-3060 RTX-3080 RTX-3090 RTX-4090 RTX-5090 A10 L4 L40S "
    "A100-40GB A100-80GB H100-80GB H200 B200"
).split()


def figure(proto: str, name: str) -> float:
    found = re.search(rf"\b{name}: ([\d.]+)", proto)
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize("name", ASKED_FOR)
def test_each_card_is_described_as_itself(name: str) -> None:
    target = target_for(name, 0)
    assert target.assumption == ""
    assert target.capability == GPUS[name].capability
    assert figure(target.proto, "major") == GPUS[name].capability[0]
    assert figure(target.proto, "device_memory_size") == GPUS[name].memory


def test_figures_of_a_data_sheet() -> None:
    proto = target_for("T4", 0).proto  # 40 multiprocessors of 64 lanes, 320 GB/s, 64 KiB shared, 4 MiB cache
    assert figure(proto, "core_count") * figure(proto, "fpus_per_core") == 2560
    assert figure(proto, "memory_bandwidth") == 320e9
    assert figure(proto, "shared_memory_per_core") == 65536
    assert figure(proto, "l2_cache_size") == 4 << 20


def test_an_amount_is_a_card_of_today_with_that_memory() -> None:
    target = target_for("16GB", 14 * 10**9)
    assert figure(target.proto, "device_memory_size") == 14 * 10**9
    assert "A100-40GB" in target.assumption


def test_a_card_without_figures_is_taken_for_the_nearest() -> None:
    assert "K80" not in CARDS
    target = target_for("K80", 0)
    assert target.capability == (6, 0) and "P100" in target.assumption
    assert figure(target.proto, "device_memory_size") == GPUS["K80"].memory


def test_every_card_is_in_the_table_of_gpus() -> None:
    assert set(CARDS) <= set(GPUS)
