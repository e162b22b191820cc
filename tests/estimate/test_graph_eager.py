"""What a step run operation by operation keeps: by hand, and beside one that TensorFlow really ran."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.eager import as_run_eagerly
from oomlint.estimate.worker.graph.lives import simulate

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "estimate"


def peak(made, functional=()) -> int:
    eager, order = as_run_eagerly(made, functional)
    return simulate(eager, order, forwarding=False).peak


def test_nothing_is_written_over_an_input():
    made = program(op("Argument", mib=1), op("Conv2D", 0, mib=8), op("Relu", 1, mib=8))
    assert simulate(made, [0, 1, 2]).peak == 9 * MIB
    assert peak(made) == 17 * MIB


def test_the_tape_keeps_what_a_gradient_asks_for_if_only_for_a_shape():
    # The gradient of a sum asks for the shapes of its inputs, that of an addition of a bias for nothing.
    def step(adding: str):
        return program(
            replace(op("ReadVariableOp", name="read", mib=2), variable="w"),  # counted with the weights
            op("MatMul", 0, name="product", mib=8),
            op(adding, 1, name="sum", mib=8),
            op("Tanh", 2, name="out", mib=8),  # asks for its output
            op("Neg", 3, name="gradient_tape/out/Neg", mib=8),
            op("Mul", 4, 0, name="gradient_tape/product/MatMul", mib=2),
        )

    # At the gradient of `out`: its output and the gradient, and of the addition what the tape kept: the product.
    assert peak(step("BiasAdd")) == 16 * MIB
    assert peak(step("AddV2")) == 24 * MIB


def test_a_softmax_keeps_its_logits():
    def step(activation: str):
        return program(
            replace(op("ReadVariableOp", name="read", mib=2), variable="w"),
            op("MatMul", 0, name="logits", mib=8),
            op(activation, 1, name="out", mib=8),
            op("Neg", 2, name="gradient_tape/out/Neg", mib=8),
        )

    # At the gradient: it and the output, which both ask for, and what Keras hung on a softmax.
    assert peak(step("Tanh")) == 16 * MIB
    assert peak(step("Softmax")) == 24 * MIB


@pytest.mark.parametrize(("largest", "at_once"), [(1, 32), (20, 44)])
def test_what_computes_a_result_with_a_gradient_of_its_own_is_let_go_before_the_first_gradient(
    largest, at_once
):
    def given(*sources: int, name: str, mib: int):
        made = op("IdentityN", *sources, name=name, mib=mib)
        return replace(
            made, **{field: getattr(made, field) * len(sources) for field in ("outputs", "shapes", "dtypes")}
        )

    made = program(
        replace(op("ReadVariableOp", name="read", mib=2), variable="w"),
        op("MatMul", 0, name="x", mib=8),
        op("Sigmoid", 1, name="swish/Sigmoid", mib=8),
        op("Mul", 1, 2, name="swish/mul", mib=8),
        given(3, 1, name="swish/IdentityN", mib=8),  # the result and what it was given
        op("Relu", 4, name="out", mib=8),
        op("ReluGrad", 5, name="gradient_tape/out/ReluGrad", mib=largest),
        op("Mul", 1, 6, name="mul_9", mib=1),  # the function's own gradient
        op("MatMul", 7, name="gradient_tape/x/MatMul", mib=1),
    )
    # While `out` is computed: x, the sigmoid, the result and `out`. At the first gradient it is in the sigmoid's place:
    # the function's closure has what it was given and what it gave.
    assert peak(made) == at_once * MIB


def test_a_functional_model_holds_what_its_layers_gave_until_its_call_returns():
    made = program(
        replace(op("ReadVariableOp", name="net_1/dense/read", mib=2), variable="w"),
        op("MatMul", 0, name="net_1/dense/MatMul", mib=8),
        op("BiasAdd", 1, name="net_1/dense/BiasAdd", mib=8),  # a rectifier asks for its own output only
        op("Relu", 2, name="net_1/first/Relu", mib=8),
        op("Relu", 3, name="net_1/second/Relu", mib=8),
        op("ReluGrad", 4, name="gradient_tape/net_1/second/ReluGrad", mib=1),
        op("ReluGrad", 5, 3, name="gradient_tape/net_1/first/ReluGrad", mib=1),
    )
    # Of a class of one's own: both rectifiers' outputs, and a gradient. The product is the layer's own in both.
    assert peak(made) == 17 * MIB
    # The sum as well, while the second rectifier runs; what another model is called says nothing of this one.
    assert peak(made, ["net"]) == 24 * MIB
    assert peak(made, ["ne", "et_1", "dense"]) == 17 * MIB


def test_gradients_are_there_until_the_step_returns():
    made = program(
        replace(op("ReadVariableOp", name="read", mib=1), variable="w"),
        op("MatMul", 0, name="product", mib=1),
        op("MatMul", 1, name="gradient_tape/product/MatMul", mib=8),
        op("Mul", 2, name="sgd/Mul", mib=8),
        op("Mul", 3, name="sgd/Mul_1", mib=8),
    )
    # The gradient, what is read and what is made of it.
    assert peak(made) == 24 * MIB


@pytest.mark.parametrize(
    ("rounds", "weights", "at_once"),
    [
        (4, 40, 4 * 40),
        # Added up are more than four of more than 128 MiB: the fifth makes one of all.
        (100, 40, 4 * 40),
        # Of 1 MiB 128 are there, and the next makes one of all.
        (200, 1, 128),
    ],
)
def test_each_round_of_a_loop_has_a_gradient_of_its_own_for_the_weights(rounds, weights, at_once):
    read = replace(op("ReadVariableOp", mib=weights), variable="w")
    body = replace(program(op("Given", mib=1), read, op("MatMul", 0, 1, mib=1)), arguments=(0,))
    condition = replace(program(op("Given", mib=1), op("Less", 0, mib=1)), arguments=(0,))
    made = program(
        op("Argument", mib=1),
        replace(op("While", 0, name="rnn/while", mib=1), body=body, condition=condition, rounds=rounds),
        op("Mul", 1, name="gradient_tape/rnn/while", mib=1),
    )
    eager, _ = as_run_eagerly(made)
    assert [sum(one.outputs) for one in eager.operations if one.type == "Kept"] == [at_once * MIB]


@pytest.mark.parametrize(
    "model",
    ["mlp_norm_dropout:8:adam", "cifar_resnet20:2:momentum", "simple_rnn:4:adam", "quantiles:256:rmsprop"],
)
def test_beside_steps_that_tensorflow_ran(model, tmp_path):
    # What the allocator gave out and took back while the step ran, as the profiler tells it.
    environment = os.environ | {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    told = subprocess.run(
        [sys.executable, SCRIPTS / "measure_allocations.py", f"eager:{model}"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = tmp_path / "rows.jsonl"
    rows.write_text(told.stdout.splitlines()[-1])
    compared = subprocess.run(
        [sys.executable, "-c", f"""
import json, sys
sys.path.insert(0, {str(SCRIPTS)!r})
import compare_cpu
print(json.dumps(compare_cpu.estimates(json.load(open({str(rows)!r})))["ours"]))
"""],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert abs(json.loads(compared.stdout.splitlines()[-1])) < 0.03


def test_what_a_second_tape_records_is_kept_as_well_and_the_gradients_of_the_first_are_there():
    def trained(before: int, letter: str):
        return (
            replace(op("ReadVariableOp", name=f"read_{letter}", mib=1), variable=letter),
            op("MatMul", before, name=f"product_{letter}", mib=8),
            op("AddV2", before + 1, name=f"sum_{letter}", mib=8),
            op("Mean", before + 2, name=f"loss_{letter}", mib=1),
            op("Tile", before + 3, name=f"gradient_tape/loss_{letter}/Tile", mib=8),
            op("MatMul", before + 4, name=f"gradient_tape/product_{letter}/MatMul", mib=2),
            replace(op("AssignSubVariableOp", before + 5), variable=letter),
        )

    once, twice = program(*trained(0, "v")), program(*trained(0, "v"), *trained(7, "w"))
    # Product and sum (a mean asks for the shape of what it is of), loss and gradient.
    assert peak(once) == (8 + 8 + 1 + 8) * MIB
    assert peak(twice) == peak(once) + 2 * MIB
