"""What an optimizer keeps for a convolution's weights, written beside its place until the step's end: by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from estimate.graph_programs import MIB, op

from oomlint.estimate.worker.graph.compiled import compiled, occupied
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.schedules import depth_first, frees_most
from oomlint.estimate.worker.graph.slots import write_beside

KERNEL = (1, 1, 1024, 1024)  # 4 MiB


def update(variable: str, *inputs: int, shape: tuple[int, ...] = KERNEL) -> Operation:
    return replace(op("Update", *inputs, name=f"change {variable}"), variable=variable, shapes=(shape,))


def kernels(gradient: str = "Conv2DBackpropFilter", shape: tuple[int, ...] = KERNEL) -> Program:
    """A convolution's weights with two slots: the kernels of their changes, and another kernel behind."""
    arguments = [
        replace(op("Argument", name=name), outputs=(0,)) for name in ("weights", "slot", "other slot")
    ]
    found = [
        *arguments,
        op("Sort", mib=8, name="pictures", shape=(2, 1024, 1024)),
        replace(op("Padded", 0, mib=4, name="copy", shape=KERNEL), variable="weights"),
        op("Conv2D", 3, 4, mib=8, shape=(2, 1024, 1024)),
        op(gradient, 3, 5, mib=4, shape=shape),
        update("weights", 6, 4, shape=shape),
        update("slot", 6, 1, shape=shape),
        update("other slot", 6, 2, shape=shape),
        op("Sort", 5, mib=16, name="behind", shape=(4, 1024, 1024)),
    ]
    return Program(found, ((10, 0),))


def test_slots_of_a_convolution_stay_until_they_are_copied():
    made = write_beside(kernels())
    sizes = {one.name: one.outputs for one in made.operations if one.type == "Update"}
    # The weights were copied for the convolution, and are written in their place.
    assert sizes == {"change weights": (), "change slot": (4 * MIB,), "change other slot": (4 * MIB,)}
    copies = [(one.variable, one.inputs) for one in made.operations if one.type == "SlotCopy"]
    assert copies == [("slot", ((8, 0),)), ("other slot", ((9, 0),))]
    # Not of another product's weights, whose gradient comes as they lie.
    assert write_beside(kernels("MatMul")).operations == kernels("MatMul").operations
    # Nor of what the gradient is only summed for: a bias.
    narrow = kernels().operations
    narrow[8:10] = [update("slot", 6, 1, shape=(1024,)), update("other slot", 6, 2, shape=(1024,))]
    assert not any(one.outputs for one in write_beside(Program(narrow)).operations if one.type == "Update")


def test_both_slots_are_there_at_once_where_the_copies_come_last():
    made = write_beside(kernels())
    first = list(range(10))  # all up to the changes
    # What was convolved (8), what comes behind it (16), and both slots (4 each) where they are not copied yet.
    assert occupied(made, [*first, 10, 11, 12]).timeline[10] == (8 + 16 + 4 + 4) * MIB
    assert occupied(made, [*first, 11, 12, 10]).timeline[12] == (8 + 16) * MIB
    assert occupied(kernels(), [*first, 10]).timeline[10] == (8 + 16) * MIB


@pytest.mark.parametrize("order", [frees_most, depth_first])
def test_every_kernel_comes_after_what_it_reads(order):
    made = write_beside(kernels())
    place = {number: at for at, number in enumerate(order(made))}
    assert len(place) == len(made.operations)
    for number, one in enumerate(made.operations):
        assert all(place[source] < place[number] for source, _ in one.inputs)


@pytest.mark.parametrize("kind", ["Conv2DBackpropFilter", "MatMul"])
def test_a_compiled_step_has_them(kind):
    pictures = (2, 32, 32, 1024)
    made = Program(
        [
            replace(op("Argument", mib=8, name="pictures", shape=pictures), variable="pictures"),
            op("Placeholder", name="slot"),
            replace(op("ReadVariableOp", 1, mib=4, shape=KERNEL), variable="slot"),
            op("Sort", 0, mib=8, shape=pictures),
            op("Const", mib=0),
            op(kind, 0, 4, 3, mib=4, shape=KERNEL),
            op("Sub", 5, 2, mib=4, shape=KERNEL),
            replace(op("AssignAddVariableOp", 1, 6), variable="slot"),
        ],
        ((3, 0),),
    )
    found = [one.type for one in compiled(made)[0].operations]
    assert found.count("SlotCopy") == (kind != "MatMul")
