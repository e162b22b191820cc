"""The orders that XLA compares, and what decides them: operands, results of one kernel, what a ReLU is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.cards import Card
from oomlint.estimate.worker.graph.compiled import compiled, occupied
from oomlint.estimate.worker.graph.costs import cost_of
from oomlint.estimate.worker.graph.fusion import kernels
from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.schedules import depth_first, frees_most, post_order
from oomlint.estimate.worker.graph.together import together


def names(made: Program, order: list[int]) -> list[str]:
    return [made.operations[number].name for number in order]


def test_the_third_order_is_that_of_what_each_reads():
    # The two other orders begin with what is read twice and small, and hold what comes of it when the dear is written.
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=64, name="dear", shape=(2048, 8192)),
        op("MatMul", 1, mib=8, name="of the dear", shape=(2048, 1024)),
        op("MatMul", 0, mib=1, name="small", shape=(256, 1024)),
        op("MatMul", 3, mib=1, name="one", shape=(256, 1024)),
        op("MatMul", 3, mib=1, name="two", shape=(256, 1024)),
        op("MatMul", 4, 5, mib=32, name="of both", shape=(1024, 8192)),
        op("MatMul", 2, 6, mib=1, name="last", shape=(256, 1024)),
    )
    third = ["Argument", "dear", "of the dear", "small", "one", "two", "of both", "last"]
    assert names(made, post_order(made)) == third
    for order in (depth_first(made), frees_most(made)):
        found = names(made, order)
        assert found.index("of both") < found.index("dear")
        assert occupied(made, order).peak == (8 + 32 + 64 + 8) * MIB
    assert compiled(made)[1].peak == (8 + 64 + 8) * MIB


def test_a_walk_begins_with_the_results_and_goes_on_with_the_variables_in_their_order():
    made = Program(
        [
            op("Argument", mib=1, name="first"),
            op("Argument", mib=1, name="second"),
            replace(op("Update", 1), variable="second"),
            replace(op("Update", 0), variable="first"),
            op("MatMul", 0, mib=4, name="loss"),
        ],
        ((4, 0),),
    )
    assert post_order(made) == [0, 1, 4, 3, 2]


def test_what_is_fused_gives_its_place_up_and_what_it_read_comes_last():
    # CloneAndAppendInstructionIntoCalledComputation in hlo_instructions.cc.
    made = kernels(
        program(
            op("Argument", mib=1),
            op("Sort", 0, mib=16, name="a"),
            op("Sort", 0, mib=16, name="b"),
            op("Sort", 0, mib=16, name="c"),
            op("Mul", 1, 2, mib=16),
            op("AddV2", 4, 3, mib=16, name="sum"),
            op("Sort", 5, mib=16),
        )
    ).operations
    (total,) = [one for one in made if one.name == "sum"]
    assert [made[number].name for number, _ in total.inputs] == ["c", "a", "b"]


def test_of_equals_that_goes_later_which_has_several_results():
    # They come in a tuple, whose pointers count: copies of zeros go before the next block in landmarks.
    made = program(
        op("Argument", mib=8),
        op("Fusion", 0, mib=16, name="one of two"),
        op("Beside", 1, mib=16, name="other of two"),
        op("MatMul", 0, mib=32, name="alone", shape=(1024, 8192)),
        op("MatMul", 1, 2, 3, mib=1, name="last", shape=(256, 1024)),
    )
    assert names(made, frees_most(made)) == ["Argument", "alone", "one of two", "other of two", "last"]


def test_what_is_drawn_counts_as_read_by_many():
    # The kernels of a generator have several results each: of two branches the one that is masked goes first.
    def begins_with_the_masked(name: str) -> bool:
        made = program(
            op("Argument", mib=1),
            op("Fusion", 0, mib=1, name=name),
            op("MatMul", 1, mib=16, name="masked", shape=(512, 8192)),
            op("MatMul", 0, mib=1, name="shared", shape=(256, 1024)),
            op("MatMul", 3, mib=1, name="once", shape=(256, 1024)),
            op("MatMul", 3, 4, mib=16, name="plain", shape=(512, 8192)),
            op("MatMul", 5, 2, mib=1, name="last", shape=(256, 1024)),
        )
        found = names(made, depth_first(made))
        return found.index("masked") < found.index("plain")

    assert begins_with_the_masked("dropout/StatelessRandomGetKeyCounter")
    assert not begins_with_the_masked("dropout/Shape")


@pytest.mark.parametrize(("kind", "asked"), [("Relu", "conv"), ("Relu6", "unit")])
def test_a_relu_s_mask_is_taken_of_what_it_is_given_one_with_a_limit_s_of_what_it_gives(
    kind: str, asked: str
):
    # XLA simplifies max(x, 0) > 0, no clamp: loop_and_clamp_fusion with two results in that of signs_of_hands.
    sides = (8, 32, 32, 512)
    made = program(
        op("Argument", mib=1),
        op("Conv2D", 0, mib=16, name="conv", shape=sides),
        op(kind, 1, mib=16, name="unit", shape=sides),
        op("Conv2D", 2, mib=16, shape=sides),
        op(f"{kind}Grad", 3, 2, mib=16, shape=sides),
        op("Sum", 4, mib=1),
    )
    found = lowered(made).operations
    (mask,) = [one for one in found if one.type == "Compare"]
    assert found[mask.inputs[0][0]].name == asked


@pytest.mark.parametrize(("channels", "copies"), [(3, 1), (1, 0)])
def test_one_channel_lies_first_and_last_at_once(channels: int, copies: int):
    sides = (8, 256, 128, channels)
    made = program(
        op("Argument", mib=channels, shape=sides),
        op("Sort", 0, mib=1, name="kernel", shape=(3, 3, channels, 8)),
        op("Conv2D", 0, 1, mib=8, shape=(8, 256, 128, 8)),
        op("Sum", 2, mib=1),
    )
    found = lowered(made, Card(channels_first=True)).operations
    assert sum(one.name.endswith("/pad") for one in found) == copies


def of_one(inner: int) -> list[Operation]:
    """Two passes' gradients through a layer with so many results."""
    weight = replace(op("ReadVariableOp", 1, mib=1, shape=(inner, 8192)), variable="handle")
    gradients = [op("Sort", 0, mib=1, shape=(512, inner)) for _ in range(2)]
    products = [op("MatMul", one, 2, mib=16, shape=(512, 8192)) for one in (3, 4)]
    made = program(
        op("Argument", mib=1), op("Placeholder", name="handle"), weight, *gradients, *products,
        op("Concat", 5, 6, mib=1),
    )  # fmt: skip
    return lowered(made).operations


def test_products_over_one_are_not_merged():
    # They are multiplications by then: no such tensor in the assignment of rooms_of_noise.
    assert any(one.name.endswith("/merged") for one in of_one(16))
    assert not any(one.name.endswith("/merged") for one in of_one(1))


@pytest.mark.parametrize(("kept", "together_with"), [((512,), True), ((64, 512), False)])
def test_a_sum_to_a_vector_is_written_by_the_kernel_of_its_sides(kept: tuple[int, ...], together_with: bool):
    # input_add_reduce_fusion in landmarks; not what keeps several sides (involutions).
    sides = (64, 128, 512)
    total = replace(op("Sum", 1, mib=1, shape=kept), shapes=(kept, sides))
    made = together(
        Program(
            [
                op("Argument", mib=8),
                op("Sort", 0, mib=16, shape=sides),
                op("Fusion", 1, mib=16, shape=sides),
                total,
                op("MatMul", 2, 3, mib=1, name="end"),
            ],
            ((4, 0),),
        ),
        False,
    )
    assert any(one.type == "Beside" for one in made.operations) == together_with


def test_an_exponential_unit_costs_what_its_exponential_costs():
    # xla/service/gpu/model/hlo_op_profiles_data.h has Expm1; units of 256,000 elements are computed again (collisions).
    assert cost_of(op("Elu", mib=1)) == cost_of(op("Expm1", mib=1))


def test_a_softplus_costs_an_exponential_and_a_logarithm():
    # As tf2xla has it: log1p(exp(x)), chosen from with two comparisons; mish's tanh of it is kept (moves_of_markets).
    exponential, logarithm = (cost_of(op(kind, mib=1)) for kind in ("Exp", "Log1p"))
    assert 1.0 < cost_of(op("Softplus", mib=1)) / (exponential + logarithm) < 1.1
