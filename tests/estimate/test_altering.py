"""What-if's changes reach the model: counted by hand on a small one."""

from __future__ import annotations

import pytest

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.what_if import altering

keras = pytest.importorskip("keras")


def network(optimizer="adam"):
    model = keras.Sequential(
        [
            keras.Input((64, 64, 3)),
            keras.layers.Conv2D(4, 3, padding="same"),
            keras.layers.Conv2D(8, 3, padding="same"),
            keras.layers.Flatten(),
            keras.layers.Dense(2),
        ]
    )
    model.compile(optimizer, "mse")
    return model


def altered(model, **changes):
    made = Made(model)
    altering.alter(made, Request("x", **changes))
    return made.model


def test_a_smaller_input_makes_a_smaller_model():
    model = altered(network(), input_scale=0.5)
    assert model.inputs[0].shape == (None, 32, 32, 3)
    # The dense layer behind Flatten has 32 x 32 x 8 inputs.
    assert model.layers[-1].kernel.shape == (8_192, 2)
    assert type(model.optimizer).__name__ == "Adam" and model.loss == "mse"


def test_what_has_no_sides_is_not_made_smaller():
    table = keras.Sequential([keras.Input((30,)), keras.layers.Dense(2)])
    with pytest.raises(EstimateError, match="no sides"):
        altered(table, input_scale=0.5)
    words = keras.Sequential([keras.Input((128,), dtype="int32"), keras.layers.Embedding(50, 4)])
    assert altered(words, input_scale=0.5).inputs[0].shape == (None, 64)


def test_the_first_layers_are_frozen():
    # Three layers have weights; a half of them are two (rounded).
    model = altered(network(), frozen=0.5)
    assert [layer.trainable for layer in model.layers] == [False, False, True, True]
    assert len(model.trainable_weights) == 2


def test_micro_batches_cost_a_slot():
    counts = []
    for steps in (1, 4):
        model = network()
        altering.accumulate(model, Request("x", accumulate_steps=steps))
        model.optimizer.build(model.trainable_variables)
        counts.append(sum(variable.shape != () for variable in model.optimizer.variables))
    # Six weights: two slots each, and with accumulation a sum each.
    assert counts == [12, 18]


def test_an_optimizer_under_a_loss_scale_accumulates_too():
    model = network(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()))
    altering.accumulate(model, Request("x", accumulate_steps=2))
    assert model.optimizer.inner_optimizer.gradient_accumulation_steps == 2


def test_recomputation_where_keras_has_it():
    with altering.rematerialized(Request("x", remat=True), keras):
        layer = keras.layers.Dense(1)
    assert layer._remat_mode.mode == "full"
    with pytest.raises(EstimateError, match="RematScope"):
        altering.rematerialized(Request("x", remat=True), object())


def test_a_described_model_keeps_its_compile_arguments_and_every_change_is_estimated(tmp_path):
    from oomlint.estimate.worker import main

    path = tmp_path / "model.json"
    path.write_text(network("adam").to_json(), encoding="utf-8")

    def estimated(**changes):
        request = Request(
            "m", names={"saved": str(path)}, usable_bytes=10**10, engine="graph", jit="off", **changes
        )
        return main._estimated(request)

    whole = estimated(batch_size=16)
    assert (whole.optimizer, whole.program) == ("Adam", "graph")
    # 3 x 3 x 3 x 4 + 4, 3 x 3 x 4 x 8 + 8, 64 x 64 x 8 x 2 + 2 weights.
    weights = 4 * (112 + 296 + 65_538)
    assert whole.parts["weights"] == pytest.approx(weights, abs=4_096)
    assert whole.parts["optimizer_state"] == pytest.approx(2 * weights, abs=8_192)
    micro = estimated(batch_size=8, accumulate_steps=2)
    assert micro.parts["optimizer_state"] == pytest.approx(3 * weights, abs=8_192)
    half = estimated(batch_size=8, accumulate_steps=2, policy="mixed_float16")  # conditions within conditions
    assert half.policy == "mixed_float16"
    assert keras.config.dtype_policy().name == "float32"  # the next model is not under it
    assert estimated(batch_size=16, frozen=0.9).parts["optimizer_state"] < 8_192
    assert estimated(batch_size=16, input_scale=0.5).parts["activations"] < 0.3 * whole.parts["activations"]
