"""What the pages of the device rules (1xx) claim, asked of TensorFlow's own context with two stand-in GPUs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("tf_keras")


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """Every probe's outcome, from one process."""
    script = Path(__file__).with_name("probe_device.py")
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=True
    )
    results: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return results


class TestWhatMakesTheDevices:
    def test_importing_makes_none(self, measured: dict[str, Any]) -> None:
        assert measured["at import"] is False

    def test_variables_datasets_strategies_and_listing_do(self, measured: dict[str, Any]) -> None:
        assert [name for name, made in measured["makes"].items() if made is not True] == []
        assert len(measured["makes"]) >= 35

    def test_inputs_losses_seeds_and_unbuilt_layers_do_not(self, measured: dict[str, Any]) -> None:
        assert [name for name, made in measured["makes none"].items() if made is not False] == []
        assert len(measured["makes none"]) >= 30


class TestMemoryGrowthAfterInit:
    @pytest.mark.parametrize("what", ["growth", "limit", "visible"])
    def test_a_change_raises(self, measured: dict[str, Any], what: str) -> None:
        outcome = measured["configuring"][f"{what} after"]
        assert outcome.startswith("RuntimeError")
        assert "cannot be modified after being initialized" in outcome

    def test_asking_again_for_what_is_set_does_not(self, measured: dict[str, Any]) -> None:
        assert measured["configuring"]["growth twice"] == "accepted"


class TestMemoryGrowthPartial:
    def test_growth_on_every_gpu_works(self, measured: dict[str, Any]) -> None:
        assert measured["configuring"]["growth on all"] == "allow_growth=True"

    def test_growth_on_one_of_two_raises_at_the_first_operation(self, measured: dict[str, Any]) -> None:
        assert measured["configuring"]["growth on one"].startswith("ValueError: Memory growth cannot differ")

    def test_growth_on_the_only_visible_gpu_works(self, measured: dict[str, Any]) -> None:
        assert measured["configuring"]["growth on the visible one"] == "allow_growth=True"

    def test_a_memory_limit_on_any_gpu_switches_the_comparison_off(self, measured: dict[str, Any]) -> None:
        assert measured["configuring"]["growth and a limit"] == "allow_growth=False"


class TestGpuConfigConflict:
    @pytest.mark.parametrize("how", ["a limit, then growth", "a limit, then growth refused"])
    def test_growth_on_a_gpu_with_a_limit_raises(self, measured: dict[str, Any], how: str) -> None:
        outcome = measured["configuring"][how]
        assert outcome == "ValueError: Cannot set memory growth on device when virtual devices configured"

    @pytest.mark.parametrize("how", ["growth, then a limit", "a limit, then growth elsewhere"])
    def test_a_limit_drops_growth_for_every_gpu_without_a_word(
        self, measured: dict[str, Any], how: str
    ) -> None:
        assert measured["configuring"][how] == "allow_growth=False"

    def test_so_does_splitting_the_cpu(self, measured: dict[str, Any]) -> None:
        assert measured["configuring"]["growth and a split CPU"] == "allow_growth=False"

    def test_a_logical_gpu_needs_a_limit(self, measured: dict[str, Any]) -> None:
        outcome = measured["configuring"]["no limit"]
        assert outcome == "ValueError: Setting memory limit is required for GPU virtual devices"

    def test_keras_3_keeps_no_session(self, measured: dict[str, Any]) -> None:
        assert measured["set_session"]["keras 3"] is False
        assert measured["set_session"]["compat.v1"] is False
