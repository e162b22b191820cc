"""What XLA makes one kernel of, on programs small enough to follow by hand."""

from __future__ import annotations

from dataclasses import replace

from estimate.graph_programs import MIB, op, program

from oomlint.estimate.worker.graph.cards import Card
from oomlint.estimate.worker.graph.compiled import compiled, occupied
from oomlint.estimate.worker.graph.fusion import kernels
from oomlint.estimate.worker.graph.leaky import MASK
from oomlint.estimate.worker.graph.lowering import lowered
from oomlint.estimate.worker.graph.operations import Operation, Program
from oomlint.estimate.worker.graph.schedules import depth_first, frees_most


def kinds(made: Program) -> list[str]:
    return [operation.type for operation in kernels(made).operations]


def test_a_chain_of_elements_is_one_kernel():
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=64),
        op("Mul", 1, mib=64),
        op("Tanh", 2, mib=64),
        op("MatMul", 3, mib=8),
    )
    assert kinds(made) == ["Argument", "MatMul", "Fusion", "MatMul"]
    # The input, the product, which the only kernel that reads it writes over, and the result.
    assert compiled(made)[1].peak == (8 + 64 + 8) * MIB


def test_what_a_product_reads_is_written():
    made = program(op("Argument", mib=8), op("Mul", 0, mib=64), op("MatMul", 1, mib=8), op("Tanh", 1, mib=64))
    assert kinds(made) == ["Argument", "Fusion", "MatMul", "Fusion"]


def test_an_element_is_computed_again_where_it_is_read_twice():
    made = program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=64),
        op("Mul", 1, mib=64),
        op("Sum", 2, mib=1),
        op("Max", 2, mib=1),
    )
    assert kinds(made) == ["Argument", "MatMul", "Sum", "Max"]


def test_an_element_of_many_inputs_with_many_readers_is_written():
    # Four readers would read three tensors each, 12 x 64 MiB, in place of 3 + 1 + 4 x 64.
    sources = [op("MatMul", 0, mib=64, name=f"product {number}") for number in range(3)]
    made = program(
        op("Argument", mib=8), *sources, op("AddN", 1, 2, 3, mib=64), *(op("Sum", 4, mib=1) for _ in range(4))
    )
    assert "Fusion" in kinds(made)


def test_random_numbers_are_not_drawn_twice():
    made = program(
        op("Argument", mib=8),
        op("StatelessRandomUniformV2", 0, mib=64),
        op("Sum", 1, mib=1),
        op("Max", 1, mib=1),
    )
    assert kinds(made) == ["Argument", "Fusion", "Sum", "Max"]


def relu_behind(kind: str) -> set[str]:
    """What the kernel of the gradient reads, of a ReLU behind an operation of that kind."""
    made = program(
        op("Argument", mib=8),
        op(kind, 0, mib=64),
        op("Relu", 1, mib=64),
        op("MatMul", 2, mib=64),
        op("ReluGrad", 3, 2, mib=64),
        op("MatMul", 4, mib=8),
    )
    return read_by("ReluGrad", compiled(made)[0])


def read_by(name: str, found: Program) -> set[str]:
    reader = next(operation for operation in found.operations if operation.name == name)
    return {found.operations[number].name for number, _ in reader.inputs}


def test_the_gradient_of_a_relu_reads_the_convolution_before_it():
    assert relu_behind("Conv2D") == {"Conv2D", "MatMul"}


def test_the_gradient_of_a_relu_in_a_product_s_kernel_reads_the_relu():
    assert relu_behind("MatMul") == {"Relu", "MatMul"}


def test_a_relu_s_gradient_that_two_kernels_compute_reads_a_mask_of_a_byte_each():
    made = program(
        op("Argument", mib=8),
        op("Conv2D", 0, mib=64),
        op("Relu", 1, mib=64),
        op("MatMul", 2, mib=64),
        op("ReluGrad", 3, 2, mib=64),
        op("Sum", 4, mib=1),
        op("Max", 4, mib=1),
    )
    found, _ = compiled(made)
    masks = [operation for operation in found.operations if operation.name == "ReluGrad/positive"]
    assert [operation.outputs[0] for operation in masks] == [
        16 * MIB
    ]  # 64 MiB are 16 Mi elements of four bytes


def test_an_element_wise_kernel_does_not_write_into_a_convolution_s_result():
    for kind, mib in (("Conv2D", 8 + 64 + 64), ("MatMul", 8 + 64 + 8)):
        made = program(
            op("Argument", mib=8), op(kind, 0, mib=64), op("Tanh", 1, mib=64), op("MatMul", 2, mib=8)
        )
        assert compiled(made)[1].peak == mib * MIB


def test_a_convolution_adds_the_bias_itself():
    made = program(
        op("Argument", mib=8), op("Conv2D", 0, mib=64), op("BiasAdd", 1, mib=64), op("Conv2D", 2, mib=8)
    )
    assert [operation.type for operation in compiled(made)[0].operations] == ["Argument", "Conv2D", "Conv2D"]


def test_the_argument_of_the_error_function_is_kept_in_16_bits_only():
    for dtype, expected in (("float16", ["Mul", "Erfc"]), ("float32", ["Erfc"])):
        made = program(
            op("Argument", mib=8),
            op("MatMul", 0, mib=64),
            op("Mul", 1, mib=64, dtype=dtype),
            op("Erfc", 2, mib=64, dtype=dtype),
            op("MatMul", 3, mib=8),
        )
        names = [operation.name for operation in compiled(made)[0].operations]
        assert [name for name in names if name in ("Mul", "Erfc")] == expected


def pooled(*more: Operation) -> tuple[Program, list[str], int]:
    """A convolution, ReLU, max pooling and its gradient: kernels, their order by the list, the peak in MiB."""
    made = program(
        op("Argument", mib=8),
        op("Conv2D", 0, mib=64),
        op("Relu", 1, mib=64),
        op("MaxPool", 2, mib=16),
        op("MaxPoolGrad", 2, 3, 3, mib=64),
        *more,
        op("MatMul", 4, mib=8),
    )
    found, _ = compiled(made)
    lives = occupied(found, frees_most(found))
    return found, [found.operations[number].type for number in lives.order], lives.peak // MIB


def test_pooling_s_gradient_holds_two_zeros_where_pooling_computes_the_relu_itself():
    _, order, peak = pooled()
    assert order == "Argument Conv2D Zeros ZerosCopy MaxPool PoolWindows PoolScatter MatMul".split()
    # The input, the convolution, both zeros, the pooled, and the windows: an index (shapes have one axis), the value.
    assert peak == 8 + 64 + 2 * 64 + 16 + 16 + 16


def test_pooling_s_gradient_copies_zeros_when_the_relu_s_kernel_writes_them():
    _, order, peak = pooled(op("MatMul", 2, mib=1))
    assert order.index("Zeros") == order.index("Fusion") + 1
    assert order.index("ZerosCopy") == order.index("PoolScatter") - 1
    # While the windows are searched: the input, the ReLU, the zeros, the pooled, an index and the value.
    assert peak == 8 + 64 + 64 + 16 + 16 + 16


def test_pooling_s_gradient_is_put_on_another_gradient_without_zeros():
    made = program(
        op("Argument", mib=8),
        op("Conv2D", 0, mib=64),
        op("Relu", 1, mib=64),
        op("MaxPool", 2, mib=16),
        op("MatMul", 3, mib=64, name="other"),
        op("MaxPoolGrad", 2, 3, 3, mib=64),
        op("AddN", 4, 5, mib=64),
        op("MatMul", 6, mib=8),
    )
    found, _ = compiled(made)
    assert not [operation for operation in found.operations if operation.name == "zeros"]
    assert "MaxPoolGrad/others" in read_by("MaxPoolGrad", found)


def test_windows_that_overlap_read_what_is_more_than_a_bias_and_a_relu():
    def relus(overlap: float) -> list[str]:
        made = program(
            op("Argument", mib=1),
            op("Conv2D", 0, mib=8),
            op("Mul", 1, mib=8),
            op("Relu", 2, mib=8),
            op("MaxPool", 3, mib=2),
        )
        made.operations[4].overlap = overlap
        return [operation.name for operation in compiled(made)[0].operations if operation.name == "Relu"]

    assert relus(1.0) == []
    assert relus(2.25) == ["Relu"]


def convolution(kind: str, given: tuple[int, ...], kernel: tuple[int, ...], made: tuple[int, ...]) -> Program:
    """With 16 MiB on each side; the padding follows from the shapes."""
    shapes = {"x": given, "w": kernel, "y": made}
    order = {"Conv2D": "xwy", "Conv2DBackpropFilter": "xwyw", "Conv2DBackpropInput": "xwyx"}[kind]
    first = [op("Argument", mib=16, shape=shapes[one], name=one) for one in order[:-1]]
    numbers = range(len(first))
    return Program([*first, op(kind, *numbers, mib=16, shape=shapes[order[-1]])], ((len(first), 0),))


def sizes(made: Program, channels_first: bool = False) -> dict[str, tuple[int, ...]]:
    return {one.name: one.outputs for one in lowered(made, Card(channels_first=channels_first)).operations}


def test_a_convolution_reads_a_copy_with_a_row_more_where_padding_is_odd():
    # 4 rows, 3 x 3 windows, every second: 2 results need (2 - 1) * 2 + 3 = 5 rows, on both axes.
    odd = convolution("Conv2D", (1, 4, 4, 8), (3, 3, 8, 8), (1, 2, 2, 8))
    assert sizes(odd)["x/pad"] == (16 * MIB * 25 // 16,)
    even = convolution("Conv2D", (1, 4, 4, 8), (3, 3, 8, 8), (1, 4, 4, 8))
    assert "x/pad" not in sizes(even)
    without = convolution("Conv2D", (1, 8, 8, 8), (4, 4, 8, 8), (1, 5, 5, 8))
    assert "x/pad" not in sizes(without)


def test_the_gradient_of_the_input_has_that_row_too():
    made = convolution("Conv2DBackpropInput", (1, 8, 8, 8), (3, 3, 8, 8), (1, 4, 4, 8))
    assert sizes(made)["Conv2DBackpropInput"][0] == 16 * MIB * 81 // 64


def test_channels_first_needs_the_step_s_input_transposed():
    made = convolution("Conv2D", (1, 4, 4, 8), (3, 3, 8, 8), (1, 4, 4, 8))
    assert sizes(made, channels_first=True)["x/pad"] == (16 * MIB,)


def test_a_filter_s_gradient_in_one_dimension_reads_both_tensors_exchanged():
    made = convolution("Conv2DBackpropFilter", (8, 1, 100, 4), (1, 3, 4, 4), (8, 1, 98, 4))
    assert {"x/exchanged", "y/exchanged"} <= set(sizes(made))


def test_the_gradient_of_a_depthwise_convolution_s_input_pads_the_gradient():
    made = convolution("Conv2DBackpropInput", (1, 4, 4, 8), (3, 3, 8, 1), (1, 2, 2, 8))
    made.operations[3].type = "DepthwiseConv2dNativeBackpropInput"
    found = lowered(made).operations
    assert found[3].outputs == (16 * MIB, 16 * MIB * 36 // 16)  # 6 x 6 in place of 4 x 4


def test_that_gradient_is_padded_by_the_convolution_where_steps_are_one_and_both_sides_alike():
    # Without padding, 8 rows to 6: two rows of zeros on each side; with it and an even width, one more on one side.
    for kernel, gradient, scratch in ((3, 6, 0), (3, 8, 0), (2, 8, 16 * MIB * 81 // 64)):
        made = convolution(
            "Conv2DBackpropInput", (1, 8, 8, 8), (kernel, kernel, 8, 1), (1, gradient, gradient, 8)
        )
        made.operations[3].type = "DepthwiseConv2dNativeBackpropInput"
        assert sum(lowered(made).operations[3].outputs) == 16 * MIB + scratch


def test_a_filter_s_gradient_no_larger_than_the_filter_reads_both_tensors_exchanged():
    # All rows in one step: 64 to 1. With steps of eight on both axes the gradient would have to be small on both.
    for given, kernel, gradient, exchanged in (
        ((8, 64, 256, 16), (64, 1, 16, 2), (8, 1, 256, 32), True),
        ((8, 64, 256, 16), (8, 8, 16, 2), (8, 8, 32, 32), False),
        ((8, 64, 64, 16), (8, 8, 16, 2), (8, 8, 8, 32), True),
        ((8, 64, 64, 16), (3, 3, 16, 2), (8, 64, 64, 32), False),
    ):
        found = sizes(convolution("Conv2DBackpropFilter", given, kernel, gradient))
        assert ({"x/exchanged", "y/exchanged"} <= set(found)) == exchanged


def test_a_kernel_larger_than_the_gradient_is_padded_in_its_place():
    # 9 x 9 of 20 x 20 in steps of two: 6 x 6, spread out 11 x 11, slides over 20 + 11 - 1 rows and columns.
    made = sizes(convolution("Conv2DBackpropInput", (4, 20, 20, 8), (9, 9, 8, 16), (4, 6, 6, 16)))
    assert made["w/turned"] == (16 * MIB * 30 * 30 * 8 * 16 // (4 * 20 * 20 * 8),)
    assert made["Conv2DBackpropInput"] == (16 * MIB,)
    made = sizes(convolution("Conv2DBackpropInput", (4, 20, 20, 8), (9, 9, 8, 16), (4, 12, 12, 16)))
    assert "w/turned" not in made
    assert sum(made["Conv2DBackpropInput"]) == 16 * MIB


def test_the_turned_kernel_is_one_copy_for_all_who_read_the_variable():
    made = convolution("Conv2DBackpropInput", (4, 20, 20, 8), (9, 9, 8, 16), (4, 6, 6, 16))
    sizes_of_it, kernel, gradient, first = made.operations
    kernel.variable = "kernel"
    again = replace(kernel, name="w again")
    second = replace(first, name="second", inputs=((0, 0), (4, 0), (2, 0)))
    made = Program([sizes_of_it, kernel, gradient, first, again, second], ((3, 0), (5, 0)))
    assert sum(one.name.endswith("/turned") for one in lowered(made).operations) == 1
    again.variable = "another"
    assert sum(one.name.endswith("/turned") for one in lowered(made).operations) == 2


def test_odd_padding_of_a_filter_s_gradient_is_written_and_the_gradient_spread_out():
    """5 x 5 over 8 x 8 in steps of two, three rows of padding: 11 x 11; four rows of gradient are seven with zeros."""
    made = sizes(convolution("Conv2DBackpropFilter", (1, 8, 8, 8), (5, 5, 8, 8), (1, 4, 4, 8)))
    whole, gradient = 16 * MIB * 121 // 64, 16 * MIB * 49 // 16
    assert made["x/pad"] == made["x/pad/exchanged"] == (whole,)
    assert made["y/spread"] == made["y/spread/exchanged"] == (gradient,)
    # Even padding is cuDNN's, steps too: 16 x 16 over 224 x 224 without any.
    made = sizes(convolution("Conv2DBackpropFilter", (1, 224, 224, 8), (16, 16, 8, 8), (1, 14, 14, 8)))
    assert made["x/exchanged"] == made["y/exchanged"] == (16 * MIB,)


def test_a_forward_convolution_with_odd_padding_reads_all_of_it_written():
    made = sizes(convolution("Conv2D", (1, 16, 16, 8), (5, 5, 8, 8), (1, 8, 8, 8)))
    assert made["x/pad"] == (16 * MIB * 19 * 19 // 256,)
    made = sizes(convolution("Conv2DBackpropFilter", (1, 16, 16, 8), (5, 5, 8, 8), (1, 8, 8, 8)))
    assert made["x/pad"] == (16 * MIB * 17 * 17 // 256,)  # one row more makes both sides alike


def test_rows_that_are_counted_as_it_runs_have_room_for_all_that_a_branch_is_given():
    """RMSprop's step for rows of a table, in a branch that takes those that are there."""
    body = Program([Operation("there", "Where"), Operation("rows", "GatherV2")])
    rows = op("Mul", mib=64, name="rows")
    rows.shapes = ((1024, 64),)
    branch = op("StatelessIf", 0, mib=0, name="branch")
    branch.shapes, branch.outputs, branch.body = ((1, 64),), (256,), body
    made = lowered(program(rows, branch)).operations
    assert made[1].outputs == (64 * MIB, 64 * MIB)
    branch.body = Program([Operation("rows", "GatherV2")])
    assert lowered(program(rows, branch)).operations[1].outputs == (0, 0)


def test_relus_share_the_zeros_of_a_pooling_behind_something_else():
    """The first ReLU's sum writes the zeros; with them a ReLU costs two reads to compute, so that six readers get it."""

    def normalized(start: int, more: int) -> list[Operation]:
        return [op("Sum", start, mib=1, name=f"sum {start} {number}") for number in range(more)]

    def written(readers: int) -> bool:
        made = program(
            op("Argument", mib=8),
            op("Conv2D", 0, mib=64),
            op("Relu", 1, mib=64),
            *normalized(2, readers),
            op("Mul", 2, mib=64, name="scaled"),
            op("MaxPool", readers + 3, mib=16),
            op("MaxPoolGrad", readers + 3, readers + 4, readers + 4, mib=64),
            op("MatMul", readers + 5, *range(3, readers + 3), mib=8),
        )
        found, _ = compiled(made)
        return any(one.name == "Relu" for one in found.operations)

    # Of n readers each reads 64 MiB more, and the ReLU itself 64 + 64, and writes 64: worth it up to three, beside what
    # a kernel's start is worth. Two read it through the product.
    assert [written(readers) for readers in (1, 2)] == [False, True]


def test_a_tangent_is_computed_once_for_two_readers():
    for kind, count in (("Tanh", 1), ("Neg", 0)):
        made = program(
            op("Argument", mib=8),
            op("MatMul", 0, mib=64),
            op(kind, 1, mib=64),
            op("Sum", 2, mib=1),
            op("Max", 2, mib=1),
        )
        assert kinds(made).count("Fusion") == count


def test_a_loss_over_a_convolution_with_channels_first_writes_its_terms_beside_the_gradient():
    entropy = op("SparseSoftmaxCrossEntropyWithLogits", 1, mib=64)
    entropy.outputs = (MIB, 64 * MIB)
    scaled = Operation(
        "scaled", "Mul", ((2, 1),), outputs=(64 * MIB,), shapes=((16 * MIB,),), dtypes=("float32",)
    )
    made = program(
        op("Argument", mib=8),
        op("Conv2D", 0, mib=64),
        entropy,
        scaled,
        op("Sum", 2, mib=1, name="loss"),
        op("MatMul", 3, 4, mib=1),
    )
    last, first = (compiled(made, Card(channels_first=layout))[1].peak // MIB for layout in (False, True))
    # The loss is summed by the kernel that scales the gradient.
    assert (last, first) == (8 + 64 + 64 + 1, 8 + 64 + 64 + 64 + 1)


def test_what_is_summed_over_few_rows_and_read_again_is_written():
    for rows, expected in ((4096, ["Tanh"]), (6272, [])):
        made = program(
            op("Argument", mib=8),
            op("MatMul", 0, mib=64, shape=(rows, 64)),
            op("Tanh", 1, mib=64, shape=(rows, 64)),
            op("Mean", 2, mib=1, shape=(64,)),
            op("Max", 2, 3, mib=1),
        )
        assert [one.name for one in compiled(made)[0].operations if one.name == "Tanh"] == expected


def test_rows_that_lie_in_a_row_are_summed_from_what_is_computed_again():
    made = program(
        op("Argument", mib=8),
        op("Conv2D", 0, mib=64, shape=(1, 64, 64, 4)),
        op("Tanh", 1, mib=64, shape=(1, 64, 64, 4)),
        op("Mean", 2, mib=1, shape=(1, 4)),
        op("Max", 2, 3, mib=1),
    )
    for channels_first, expected in ((False, ["Tanh"]), (True, [])):
        found, _ = compiled(made, Card(channels_first))
        assert [one.name for one in found.operations if one.name == "Tanh"] == expected


def test_products_of_one_tensor_with_several_weights_are_one():
    def products(mib: int, name: str = "") -> list[tuple[str, int]]:
        made = program(
            op("Argument", mib=8),
            op("ReadVariableOp", mib=1, name="query"),
            op("ReadVariableOp", mib=1, name="key"),
            op("MatMul", 0, 1, mib=mib, name=f"{name}first"),
            op("MatMul", 0, 2, mib=mib, name=f"{name}second"),
            op("BatchMatMulV2", 3, 4, mib=1),
        )
        found = compiled(made)[0].operations
        return [(one.type, one.outputs[0] // MIB) for one in found if one.type in ("MatMul", "Fusion")]

    assert products(16) == [("MatMul", 32), ("Fusion", 16), ("Fusion", 16)]
    # As where one gradient goes to several layers whose results were added.
    assert products(16, "gradient_tape/") == products(16)
    assert products(64) == [("MatMul", 64), ("MatMul", 64)]  # beyond XLA's limit of 32 MiB


def test_products_of_several_tensors_with_one_weight_are_one_where_none_waits_for_another():
    def products(*second: int) -> int:
        made = program(
            op("Argument", mib=8),
            op("Argument", mib=8, name="other"),
            op("ReadVariableOp", mib=1),
            op("MatMul", 0, 2, mib=16),
            op("MatMul", *second, mib=16),
            op("BatchMatMulV2", 3, 4, mib=1),
        )
        return [one.type for one in compiled(made)[0].operations].count("MatMul")

    assert (products(1, 2), products(3, 2)) == (1, 2)


def test_a_softmax_is_written_beside_what_it_reads():
    for kind, mib in (("Softmax", 8 + 64 + 64), ("Tanh", 8 + 64 + 8)):
        made = program(
            op("Argument", mib=8),
            op("MatMul", 0, mib=64),
            op(kind, 1, mib=64, shape=(16384, 1024)),
            op("MatMul", 2, mib=8),
        )
        assert compiled(made)[1].peak == mib * MIB


def test_zeros_of_another_shape_are_not_the_relu_s():
    made = program(
        op("Argument", mib=8),
        op("Conv2D", 0, mib=64, shape=(8, 64, 4)),
        op("Relu", 1, mib=64, shape=(8, 64, 4)),
        op("Reshape", 2, mib=64, shape=(8, 1, 64, 4)),
        op("MaxPool", 3, mib=16, shape=(8, 1, 16, 4)),
        op("MaxPoolGrad", 3, 4, 4, mib=64, shape=(8, 1, 64, 4)),
        op("MatMul", 5, mib=8),
    )
    zeros = [operation.type for operation in compiled(made)[0].operations if operation.name == "zeros"]
    assert zeros == ["Zeros"]


def test_what_a_mean_of_few_rows_is_taken_from_is_written_once_for_both_passes():
    for rows, expected in ((4096, 1), (6272, 0)):
        made = program(
            op("Argument", mib=8),
            op("MatMul", 0, mib=64, shape=(rows, 64)),
            op("Mean", 1, mib=1, shape=(1, 64)),
            op("SquaredDifference", 1, 2, mib=64, shape=(rows, 64)),
            op("Mean", 3, mib=1, shape=(1, 64), name="variance"),
            op("Sub", 1, 2, mib=64, shape=(rows, 64)),
            op("Sum", 5, 4, mib=1, shape=(1, 64), name="backward"),
        )
        found, _ = compiled(made)
        written = [one for one in found.operations if one.name == "SquaredDifference/difference"]
        assert len(written) == expected
        both = read_by("variance", found) & read_by("backward", found)
        assert ("SquaredDifference/difference" in both) == bool(expected)


def test_a_table_s_gradient_and_an_enlargement_s_are_put_on_zeros():
    for kind in ("UnsortedSegmentSum", "ResizeBilinearGrad"):
        made = program(
            op("Argument", mib=8), op("Square", 0, mib=8), op(kind, 1, mib=64), op("Sum", 2, mib=1)
        )
        found, lives = compiled(made)
        assert "zeros" in read_by(kind, found)
        assert lives.peak == (8 + 64 + 1) * MIB  # in place
    twice = program(
        op("Argument", mib=8),
        op("UnsortedSegmentSum", 0, mib=64),
        op("UnsortedSegmentSum", 0, mib=64),
        op("AddN", 1, 2, mib=1),
    )
    order = [compiled(twice)[0].operations[number].type for number in compiled(twice)[1].order]
    assert order[1:3] == ["Zeros", "ZerosCopy"]  # one kernel writes both


def test_what_frees_the_most_goes_next():
    made = Program(
        [
            op("Argument", mib=8),
            op("MatMul", 0, mib=4, name="small"),
            op("MatMul", 0, mib=64, name="large"),
            op("Sum", 2, mib=1, name="of the large"),
            op("MatMul", 0, mib=16, name="middle"),
            op("Sum", 1, 3, 4, mib=1, name="last"),
        ],
        ((5, 0),),
    )
    names = [made.operations[number].name for number in frees_most(made)]
    assert names == ["Argument", "small", "middle", "large", "of the large", "last"]


def two_branches(*more: Operation) -> Program:
    """Of two branches the one that is cheaper to begin with is needed last."""
    return program(
        op("Argument", mib=8),
        op("MatMul", 0, mib=64, name="dear", shape=(2048, 8192)),
        op("MatMul", 0, mib=63, name="cheap", shape=(2016, 8192)),
        op("MatMul", 1, mib=8, name="of the dear", shape=(2048, 1024)),
        *more,
        op("MatMul", 3, 2, *range(4, 4 + len(more)), mib=1, name="last", shape=(256, 1024)),
    )


def test_of_two_walks_xla_takes_what_needs_less():
    made = two_branches()
    names = [made.operations[number].name for number in depth_first(made)]
    assert names == ["Argument", "dear", "of the dear", "cheap", "last"]
    names = [made.operations[number].name for number in frees_most(made)]
    assert names == ["Argument", "cheap", "dear", "of the dear", "last"]
    # By the list 8 + 63 + 64 + 8.
    assert compiled(made)[1].peak == (8 + 64 + 8) * MIB


def test_also_with_loops():
    # next_in_session, read_from_pictures: XLA's assignments have the walk's order.
    made = two_branches(op("While", 0, mib=1))
    assert compiled(made)[1].peak < (8 + 1 + 63 + 64 + 8) * MIB


def test_updates_take_nothing_and_come_as_soon_as_they_can():
    made = Program(
        [
            op("Argument", mib=8),
            op("MatMul", 0, mib=64, name="gradient"),
            op("MatMul", 0, mib=64, name="next"),
            op("Sum", 2, mib=1),
            op("ResourceApplyAdam", 1),
        ],
        ((3, 0),),
    )
    assert compiled(made)[1].peak == (8 + 64 + 1) * MIB


def test_a_loop_keeps_the_kernel_for_each_round_where_lists_are_arrays():
    body = Program(
        [
            op("Given"),
            op("ReadVariableOp", mib=4),
            op("MatMul", 1, mib=2),
            op("TensorListPushBack", 0, 1),
            op("TensorListPushBack", 0, 2),
        ]
    )
    loop = Operation(
        "loop", "While", ((0, 0),), (), (0, 0), ((), ()), ("variant", "variant"), body=body, rounds=10
    )
    made = Program([op("Argument", mib=8), loop, op("Sum", 1, mib=1)], ((2, 0),))
    assert compiled(made)[1].peak == (8 + 10 * (4 + 2) + 1) * MIB


def test_a_loop_keeps_a_result_once_that_it_also_pushes():
    body = Program(
        [
            op("Given"),
            op("Given"),
            op("MatMul", 0, mib=2),
            op("TensorListSetItem", 0, 1, 2),
            op("TensorListPushBack", 0, 2),
        ]
    )
    loop = Operation(
        "loop", "While", ((0, 0),), (), (0, 0), ((), ()), ("variant", "variant"), body=body, rounds=10
    )
    made = Program([op("Argument", mib=8), loop, op("Sum", 1, mib=1)], ((2, 0),))
    assert compiled(made)[1].peak == (8 + 10 * 2 + 1) * MIB
    body.operations[1] = op("Const")  # the last result alone is kept, in a list of one
    assert compiled(made)[1].peak == (8 + 10 * 2 + 1) * MIB
    del body.operations[4]
    assert compiled(made)[1].peak == (8 + 1) * MIB


def test_products_with_a_variable_that_two_operations_read_are_one_until_it_is_changed():
    """A network that is called twice; between the calls its kernel may be assigned (a step uphill)."""

    def products(changed: bool) -> int:
        made = program(
            op("Argument", mib=8, name="x"),
            op("Argument", mib=8, name="y"),
            op("ReadVariableOp", mib=1, name="w"),
            op("ReadVariableOp", mib=1, name="w again"),
            op("AssignVariableOp", 2, name="change"),
            op("MatMul", 0, 2, mib=16, name="first"),
            op("MatMul", 1, 3, mib=16, name="second"),
            op("AddN", 5, 6, mib=16),
        )
        for number in (2, 3):
            made.operations[number].variable = "kernel"
        if changed:
            made.operations[3].controls = (4,)
        return sum(one.type == "MatMul" for one in lowered(made).operations if "merged" not in one.name)

    assert products(False) == 0  # both are slices of the one
    assert products(True) == 2


def test_the_error_function_is_kept_where_a_product_is_given_another_shape_before_it():
    """Three readers: 16 MiB written and read three times, or computed three times. In 16 bits it is kept."""

    def kept(reshaped: bool, dtype: str = "float32") -> bool:
        made = program(
            op("Argument", mib=8),
            op("MatMul", 0, mib=16),
            op("Reshape" if reshaped else "BiasAdd", 1, mib=16),
            op("Erfc", 2, mib=16, dtype=dtype),
            op("Mul", 2, 3, mib=16, name="forward"),
            op("MatMul", 4, mib=16, name="next"),
            op("Mul", 5, 3, mib=16, name="backward"),
            op("MatMul", 6, mib=8, name="last"),
        )
        return any(one.name == "Erfc" for one in compiled(made)[0].operations)

    assert kept(True) and not kept(False)


def test_leaky_units_behind_a_merged_product_leave_a_mask_a_quarter_as_large():
    """Two calls of one layer: what backward asks is where each result is positive, so the merged product ends."""
    made = program(
        op("Argument", mib=8, name="x"),
        op("Argument", mib=8, name="y"),
        op("ReadVariableOp", mib=1, name="w"),
        op("MatMul", 0, 2, mib=16, name="first"),
        op("MatMul", 1, 2, mib=16, name="second"),
        op("LeakyRelu", 3, mib=16, name="leaky first"),
        op("LeakyRelu", 4, mib=16, name="leaky second"),
        op("MatMul", 5, mib=16, name="up first"),
        op("MatMul", 6, mib=16, name="up second"),
        op("LeakyReluGrad", 7, 3, mib=16, name="LeakyReluGrad"),
        op("LeakyReluGrad", 8, 4, mib=16, name="LeakyReluGrad_1"),
        op("MatMul", 9, 10, mib=8, name="last"),
    )
    masks = [one for one in compiled(made)[0].operations if one.name.endswith(MASK)]
    assert [sum(one.outputs) for one in masks] == [4 * MIB, 4 * MIB]
