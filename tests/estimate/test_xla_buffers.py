"""Reading XLA's dumps: a small assignment written out by hand, its sums worked out by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from oomlint.estimate.worker.keras.layers import Names
from oomlint.estimate.worker.xla import attribution, buffers, compile, tensorflow_step

ASSIGNMENT = """BufferAssignment:
allocation 0: size 400, parameter 0, shape |f32[10,10]| at ShapeIndex {}, maybe-live-out:
 value: <1 w @0> (size=400,offset=0): f32[10,10]{1,0}
allocation 1: size 1280, parameter 1, shape |f32[32,10]| at ShapeIndex {}:
 value: <2 x @0> (size=1280,offset=0): f32[32,10]{1,0}
allocation 2: size 4, maybe-live-out:
 value: <3 loss @0> (size=4,offset=0): f32[]
allocation 3: size 8, constant:
 value: <4 table @0> (size=8,offset=0): f32[2]{0}
allocation 4: size 4, thread-local:
 value: <5 sum @0> (size=4,offset=0): f32[]
allocation 5: size 5120, preallocated-temp:
 value: <6 dense @0> (size=1280,offset=0): f32[32,10]{1,0}
 value: <7 relu @0> (size=1280,offset=1280): f32[32,10]{1,0}
 value: <8 scratch @0> (size=2048,offset=2560): f32[512]{0}
 value: <9 grad (phi) @0> (size=400,offset=2560): f32[10,10]{0,1}

Total bytes: 6812
"""
RANGES = """HloLiveRange (max 6):
  InstructionSequence:
    0:dense
    1:relu
    2:scratch
    3:back
    4:grad
    5:update
  BufferLiveRange:
    dense{}:0-4
    relu{}:1-3
    scratch{}:2-2
    grad{}:4-5
"""
PROGRAM = """ENTRY %main {
  %dense = f32[32,10]{1,0} fusion(%x, %w), metadata={op_name="jit(train_step)/jvp(first)/dot_general"}
  %relu = f32[32,10]{1,0} fusion(%dense), metadata={op_name="jit(train_step)/jvp(second)/max"}
  %scratch = f32[512]{0} fusion(%relu), metadata={op_name="jit(train_step)/jvp(second)/sort"}
  %back = f32[32,10]{1,0} fusion(%relu), metadata={op_name="jit(train_step)/transpose(jvp(second))/select_n"}
  %grad = f32[10,10]{0,1} fusion(%back), metadata={op_name="jit(train_step)/transpose(jvp(first))/dot_general"}
  ROOT %update = f32[10,10]{1,0} fusion(%w, %grad), metadata={op_name="jit(train_step)/sub"}
}
"""


def _written(folder: Path, ranges: str, apart: bool) -> Path:
    """The dumps; jaxlib 0.6 writes the ranges behind the assignment, newer ones into a file of their own."""
    start = "module_0001.jit_train_step.sm_9.0a_gpu_after_optimizations"
    (folder / f"{start}-buffer-assignment.txt").write_text(ASSIGNMENT + ("" if apart else "\n" + ranges))
    if apart:
        (folder / f"{start}-live-range.txt").write_text(ranges)
    (folder / f"{start}.txt").write_text(PROGRAM)
    return folder


@pytest.fixture(params=[True, False], ids=["file of its own", "behind the assignment"])
def dump(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return _written(tmp_path, RANGES, request.param)


def model() -> SimpleNamespace:
    layers = [SimpleNamespace(name=name) for name in ("first", "second")]
    return SimpleNamespace(layers=layers, trainable_variables=[SimpleNamespace(shape=(10, 10))])


def test_totals_leave_out_what_lives_in_registers(dump: Path) -> None:
    found = buffers.read(dump)
    assert (found.arguments, found.temporaries, found.results, found.constants) == (1680, 5120, 4, 8)
    assert found.total == 6812
    assert found.parameters == {0: 400, 1: 1280}


def test_bytes_in_use_at_each_step(dump: Path) -> None:
    # dense 0-4, relu 1-3, scratch at 2, grad 4-5
    assert buffers.alive(buffers.read(dump)) == [1280, 2560, 4608, 2560, 1680, 400]


def test_the_block_is_split_where_it_is_fullest(dump: Path) -> None:
    split = attribution.shares(buffers.read(dump), model(), 1000)
    # At step 2: both activations are read by the backward pass, the scratch is not; 512 bytes lie between.
    assert split.parts == {"gradients": 0, "activations": 2560, "temporaries": 2048 + 512}
    assert split.saved == {"first": 1280, "second": 1280}
    assert split.peak_at == "second"
    assert split.timeline == [
        ("first", 2280),
        ("second", 3560),
        ("second", 5608),
        ("second", 3560),
        ("first", 2680),
        ("sub", 1400),
    ]


@pytest.mark.parametrize("apart", [True, False])
def test_a_gradient_is_known_by_the_shape_of_its_weight(tmp_path: Path, apart: bool) -> None:
    ranges = RANGES.replace("scratch{}:2-2", "scratch{}:5-5").replace("relu{}:1-3", "relu{}:1-4")
    found = buffers.read(_written(tmp_path, ranges, apart))
    # The fullest step is the gradient's: 1280 + 1280 + 400.
    assert buffers.alive(found) == [1280, 2560, 2560, 2560, 2960, 2448]
    split = attribution.shares(found, model(), 0)
    assert split.parts == {"gradients": 400, "activations": 2560, "temporaries": 2160}


@pytest.mark.parametrize(
    ("op_name", "phase"),
    [
        ("jit(train_step)/jvp(conv1)/conv_general_dilated", "forward"),
        ("jit(train_step)/transpose(jvp(conv1))/dot_general", "backward"),
        ("jit(train_step)/sub", "update"),
        ("functional_1/conv1_1/convolution", "forward"),
        ("gradient_tape/functional_1/conv1_1/convolution/Conv2DBackpropFilter", "backward"),
    ],
)
def test_phases(op_name: str, phase: str) -> None:
    assert attribution.phase_of(op_name) == phase


def test_layers_by_scope() -> None:
    names = Names([SimpleNamespace(name=n) for n in ("conv1", "conv1_1")])
    assert names.layer("jit(train_step)/jvp(conv1)/add") == "conv1"
    assert names.layer("functional_1/conv1_1/convolution") == "conv1_1"
    assert names.layer("functional_1/conv1_2/convolution") == "conv1"  # TensorFlow's number
    assert names.layer("adam/Sqrt_3") == ""


def test_an_assignment_is_whole_once_a_later_file_is_there(dump: Path) -> None:
    assert not compile.assigned(dump)
    (dump / "module_0001.jit_train_step.1.ptx").touch()
    assert compile.assigned(dump)


def test_copies_become_reshapes_of_the_same_shape() -> None:
    text = (
        "%5 = mhlo.copy %4 : tensor<3x16xf32> loc(#loc8)\n"
        '%6 = "mhlo.copy"(%5#1) : (tensor<f32>) -> tensor<f32>\n'
    )
    assert tensorflow_step.readable(text) == (
        "%5 = stablehlo.reshape %4 : (tensor<3x16xf32>) -> tensor<3x16xf32> loc(#loc8)\n"
        "%6 = stablehlo.reshape %5#1 : (tensor<f32>) -> tensor<f32>\n"
    )


@pytest.mark.parametrize("digits", ["05", "0100010000000000"])
def test_masks_are_bytes_whichever_way_they_were_packed(digits: str) -> None:
    pytest.importorskip("numpy")
    text = f'    %c_1 = stablehlo.constant dense<"0x{digits}"> : tensor<2x4xi1> loc(#loc3)'
    assert tensorflow_step.readable(text).splitlines() == [
        '    %c_1_bytes = stablehlo.constant dense<"0x0100010000000000"> : tensor<2x4xi8> loc(#loc3)',
        "    %c_1 = stablehlo.convert %c_1_bytes : (tensor<2x4xi8>) -> tensor<2x4xi1> loc(#loc3)",
    ]


def test_a_choice_between_two_precisions_is_one_between_values_of_the_result_s() -> None:
    types = "(tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf16>) -> tensor<2x3xf32>"
    text = f'  %9 = "stablehlo.select"(%7, %8#1, %5) : {types} loc(#loc4)\n'
    assert tensorflow_step.readable(text).splitlines() == [
        "  %precise_9_1 = stablehlo.convert %5 : (tensor<2x3xf16>) -> tensor<2x3xf32> loc(#loc4)",
        "  %9 = stablehlo.select %7, %8#1, %precise_9_1 : tensor<2x3xi1>, tensor<2x3xf32> loc(#loc4)",
    ]


def test_a_choice_by_one_mask_for_all_keeps_the_shape_of_what_is_chosen() -> None:
    types = "(tensor<i1>, tensor<2x3xf16>, tensor<2x3xf32>) -> tensor<2x3xf32>"
    assert tensorflow_step.readable(f'%9 = "stablehlo.select"(%7, %8, %5) : {types}').splitlines() == [
        "%precise_9_0 = stablehlo.convert %8 : (tensor<2x3xf16>) -> tensor<2x3xf32>",
        "%9 = stablehlo.select %7, %precise_9_0, %5 : tensor<i1>, tensor<2x3xf32>",
    ]


def test_what_xla_has_no_operation_for_is_named_with_its_layer() -> None:
    said = (
        "Failed getting HLO text: 'Detected unsupported operations when trying to compile graph __inference_1[] on "
        "XLA_CPU_JIT: ResizeBicubic (No registered 'ResizeBicubic' OpKernel for XLA_CPU_JIT devices compatible with "
        "node {{node functional_1/up_1/resize/ResizeBicubic}}){{node functional_1/up_1/resize/ResizeBicubic}}\n'"
    )
    error = tensorflow_step._refused(ValueError(said))
    assert error.message.startswith("XLA has no ResizeBicubic (in functional_1/up_1/resize): ")
    assert "--jit off" in error.hint
    other = tensorflow_step._refused(ValueError("a tensor list has no fixed size\nat a/b"))
    assert other.message == "TensorFlow does not lower the step to XLA: a tensor list has no fixed size"


def test_the_error_is_the_line_that_names_one() -> None:
    said = "Traceback\n  File x\njax.errors.JaxRuntimeError: INTERNAL: no such thing\n  /a/b.py:1:2 [f]\n"
    found = compile.refused(compile.CompilerError(said), "T4")
    assert "INTERNAL: no such thing" in str(found) and "/a/b.py" not in str(found)
