"""What the pages of the distribution rules (5xx) claim, trained under a mirrored strategy of two logical CPUs.

Updates are measured in units of the right step: the gradient of the mean over the global batch, computed with NumPy.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tensorflow")


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """Every probe's outcome, from one process."""
    script = Path(__file__).with_name("probe_distribution.py")
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=True
    )
    results: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return results


class TestBatchNotScaled:
    def test_a_distributed_dataset_splits_its_batch(self, measured: dict[str, Any]) -> None:
        assert measured["batch, distributed dataset"] == [4, 4]

    def test_a_dataset_function_makes_the_batch_of_one_replica(self, measured: dict[str, Any]) -> None:
        assert max(measured["batch, from function"]) == 8
        assert measured["batch, from function, share"] == [4, 4]


class TestLossNotScaled:
    def test_a_mean_per_replica_doubles_the_step_of_two_replicas(self, measured: dict[str, Any]) -> None:
        assert measured["loss, mean"] == 2.0
        assert measured["fit, own mean"] == 2.0
        assert measured["fit, scalar loss"] == 2.0

    def test_both_fixes_give_the_right_step(self, measured: dict[str, Any]) -> None:
        assert measured["loss, average"] == 1.0
        assert measured["loss, mean over replicas"] == 1.0
        assert measured["fit, own mean over replicas"] == 1.0
        assert measured["fit, scalar loss over replicas"] == 1.0

    def test_keras_scales_its_loss_objects_and_per_sample_functions(self, measured: dict[str, Any]) -> None:
        assert measured["loss, object"] == 1.0
        assert measured["fit, per-sample loss"] == 1.0

    def test_a_loss_object_divided_again_halves_the_step(self, measured: dict[str, Any]) -> None:
        assert measured["loss, object divided"] == 0.5
        assert measured["loss, object averaged"].startswith("ValueError")

    def test_a_weight_penalty_counts_once_per_replica(self, measured: dict[str, Any]) -> None:
        assert measured["penalty, as it is"] == 2.0
        assert measured["penalty, scaled"] == 1.0


class TestBuiltOutsideScope:
    def test_a_model_from_outside_raises(self, measured: dict[str, Any]) -> None:
        assert "Error" in measured["scope, model outside"]

    def test_a_model_and_an_optimizer_from_outside_train_on_one_replica(
        self, measured: dict[str, Any]
    ) -> None:
        assert measured["scope, only compiled inside"] == 1

    @pytest.mark.parametrize("kind", ["adam", "name", "momentum"])
    def test_an_optimizer_with_slots_from_outside_raises(self, measured: dict[str, Any], kind: str) -> None:
        assert "Mixing different tf.distribute.Strategy objects" in measured[f"scope, {kind} outside"]

    @pytest.mark.parametrize("kind", ["sgd", "metric"])
    def test_what_has_no_slots_may_come_from_outside(self, measured: dict[str, Any], kind: str) -> None:
        assert measured[f"scope, {kind} outside"] == "trained"


class TestDatasetNotDistributed:
    def test_a_plain_dataset_gives_every_replica_the_whole_batch(self, measured: dict[str, Any]) -> None:
        # Each of the two means is over all eight rows: halved and summed they make one right step, at twice the work.
        assert measured["batch, plain dataset"] == [8, 8]
        assert measured["loss, plain dataset"] == 1.0

    def test_a_loop_in_the_scope_without_run_raises(self, measured: dict[str, Any]) -> None:
        assert "Error" in measured["loop without run"]

    def test_a_dataset_may_be_distributed_inside_a_function(self, measured: dict[str, Any]) -> None:
        assert measured["distributed in tf.function"] == [4, 4]


class TestRemovedMultiGpuModel:
    def test_neither_keras_nor_tensorflow_has_it(self) -> None:
        import keras
        import tensorflow as tf

        for module in (keras.utils, tf.keras.utils):
            assert not hasattr(module, "multi_gpu_model")
        assert not hasattr(tf, "contrib")

    def test_strategies_have_lost_the_methods(self) -> None:
        import tensorflow as tf

        assert hasattr(tf.distribute.Strategy, "run")
        assert not hasattr(tf.distribute.Strategy, "experimental_run_v2")
        assert not hasattr(tf.distribute.Strategy, "experimental_make_numpy_dataset")


class TestJitWithStrategy:
    def test_auto_leaves_xla_off_on_several_replicas(self, measured: dict[str, Any]) -> None:
        assert measured["jit, by itself"] is True
        assert measured["jit, by itself in the scope"] is False

    def test_asked_for_the_step_stops_on_logical_cpus(self, measured: dict[str, Any]) -> None:
        assert measured["jit, asked for"].startswith("InvalidArgumentError")


class TestReplicasDoNotSplitTheModel:
    def test_every_replica_holds_every_variable_of_both_models(self, measured: dict[str, Any]) -> None:
        assert measured["copies"] == [2, 2]
