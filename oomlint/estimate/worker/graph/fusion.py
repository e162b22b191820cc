"""Which operations of a step XLA:GPU makes one kernel of: a program again, of the kernels that write memory.

XLA's priority fusion (openxla/xla, xla/service/gpu/transforms/priority_fusion.cc) puts an element-wise operation into
all its readers where that moves fewer bytes, most gain first; what is fused is computed again where it is read and has
no memory. Products, convolutions, pooling and loops write theirs, and their inputs must have been written. The costs
are a model of XLA's; the constants were fitted to compilations (benchmarks/estimate/compare_xla.py).
"""

from __future__ import annotations

import heapq
import math

from oomlint.estimate.worker.graph.cards import HOPPER, Card
from oomlint.estimate.worker.graph.convolutions import CONVOLUTIONS
from oomlint.estimate.worker.graph.kinds import ALIASES, LOOPS, NOTHING, READS
from oomlint.estimate.worker.graph.loops import stacked_bytes
from oomlint.estimate.worker.graph.lowering import RELUS, ROWS, summed_rows
from oomlint.estimate.worker.graph.operations import Operation, Output, Program, waits_for
from oomlint.estimate.worker.graph.products import by_cublas, is_lent_memory

# Values that are another's under a new name or shape, or a variable's.
_SAME = ALIASES | READS
# Small results that no kernel computes twice.
_REDUCTIONS = frozenset(
    "Sum Mean Max Min Prod Any All ArgMax ArgMin BiasAddGrad L2Loss EuclideanNorm".split()
)
# Kernels that compute their inputs' elements themselves, too.
_POOLS = frozenset("MaxPool AvgPool MaxPool3D AvgPool3D PoolWindows PoolScatter Base Pad Difference".split())
# Of operations with scratch: how many of their outputs are results.
_RESULTS = {
    "PoolWindows": 1,
    "Conv2DBackpropInput": 1,
    "Conv3DBackpropInputV2": 1,
    "DepthwiseConv2dNativeBackpropInput": 1,
    "If": 1,
    "StatelessIf": 1,
    "SparseSoftmaxCrossEntropyWithLogits": 2,
}
# What windows that overlap compute again for each.
_LIGHT = RELUS | {"BiasAdd", "Cast", "ConcatV2", "Pad", "PadV2"}
# What stays in the second-level cache (40 MiB on an A100, 50 on an H100) is read again at no cost.
_CACHE = 40 << 20
_WHOLE = tuple(
    """
    Conv MatMul BatchMatMul _FusedMatMul _FusedConv DepthwiseConv _FusedBatch FusedBatchNorm Einsum Zeros
    While StatelessWhile PartitionedCall StatefulPartitionedCall Sort TopK FFT Cumsum Cumprod Unsorted Scatter
    TensorScatter TensorList Resize Cudnn Segment
    """.split()
)
# Updates in place, and branches that hold only such (a loss scale's check).
_UPDATES = ("Assign", "Resource", "If", "StatelessIf", "Case", "StatelessCase")

_BY_ROW = ("Softmax", "LogSoftmax", "SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits")
# Longer rows are summed in two steps (ReductionDimensionRaceFreeBound in xla/service/gpu/reduction_utils.cc: 1,024
# threads of sixteen elements), and no kernel of Triton's is made of them.
_LONGEST_ROW = 1024 * 16

# What a kernel's start costs, as bytes that could have been moved meanwhile (about 1 us at 3 TB/s).
_START = 3_000_000
# What computing an element costs, in bytes: a counter-based random number, the error function of gelu, tanh and elu.
_RANDOM, _ERF, _TANH = 40, 24, 12
# The error function of what a kernel wrote in that very shape is computed again (two_branches_of_functions), that of a
# product which has another shape meanwhile is kept.
_AT_ONCE = 0.25
# All else is computed while memory is waited for, but for a twentieth (kMemoryComputeParallelism in
# xla/service/gpu/model/gpu_performance_model_base.h): 1.5 TB/s beside 10 T operations/s.
_STEP = 0.05 * 1.5 / 10


def kernels(program: Program, card: Card = HOPPER) -> Program:
    """The program of the kernels: what is fused has gone, aliases are resolved, variables take nothing."""
    return _Fusion(program, card).run()


class _Fusion:
    def __init__(self, program: Program, card: Card) -> None:
        self.channels_first = card.channels_first
        self.operations = program.operations
        self.kinds = [_kind(operation) for operation in self.operations]
        self._end_with_bias()
        self._keep_before_erf()
        self._keep_masks_of_merged()
        self.sizes = [_size(operation) for operation in self.operations]
        self.scratch = [_scratch(operation) for operation in self.operations]
        if by_cublas(program, card):
            for number, operation in enumerate(self.operations):
                if is_lent_memory(operation, program):
                    self.scratch[number] = card.lent_to_cublas
        self.costs = [_cost(operation) for operation in self.operations]
        for number, operation in enumerate(self.operations):
            half = "16" in "".join(operation.dtypes)
            if operation.type in ("Erf", "Erfc") and not half and not self._is_reshaped(number):
                self.costs[number] *= _AT_ONCE
        self.reads: list[set[int]] = [set() for _ in self.operations]
        self.readers: list[set[int]] = [set() for _ in self.operations]
        for number, operation in enumerate(self.operations):
            if self.kinds[number] in ("same", "nothing"):
                continue
            sources = {self._origin(source) for source in operation.inputs}
            self.reads[number] = {one for one in sources if self.kinds[one] != "nothing"}
            for source in self.reads[number]:
                self.readers[source].add(number)
        self.fetched = {self._origin(source) for source in program.fetched}
        self.gone: set[int] = set()
        # Kernels of Triton, which write beside what they read.
        self.by_row = {
            number for number, one in enumerate(self.operations) if card.triton and _is_by_row(one)
        }
        self.grown: set[int] = set()  # with others in it that are not light

    def run(self) -> Program:
        candidates = [
            (-self._gain(number), number) for number, kind in enumerate(self.kinds) if kind == "mapped"
        ]
        heapq.heapify(candidates)
        while candidates:
            negative, number = heapq.heappop(candidates)
            if number in self.gone:
                continue
            gain = self._gain(number)
            if gain < 0:
                continue
            if gain < -negative:  # less than it was when it was put there
                heapq.heappush(candidates, (-gain, number))
                continue
            for other in self._fuse(number):
                if self.kinds[other] == "mapped" and other not in self.gone:
                    heapq.heappush(candidates, (-self._gain(other), other))
        return self._remaining()

    def _end_with_bias(self) -> None:
        """A convolution's kernel adds the bias, too."""
        uses = [0] * len(self.operations)
        for operation in self.operations:
            for number, _ in operation.inputs:
                uses[number] += 1
        for number, operation in enumerate(self.operations):
            if operation.type == "BiasAdd":
                source = self._origin(operation.inputs[0])
                if self.operations[source].type.startswith(CONVOLUTIONS) and uses[source] == 1:
                    self.kinds[number] = "same"

    def _keep_before_erf(self) -> None:
        """What the error function is taken of in 16 bits is written and kept for the gradient (in XLA's buffers)."""
        for operation in self.operations:
            if operation.type in ("Erf", "Erfc") and operation.dtypes and "16" in operation.dtypes[0]:
                number = self._origin(operation.inputs[0])
                if self.kinds[number] == "mapped":
                    self.kinds[number] = "reduction"

    def _keep_masks_of_merged(self) -> None:
        """Where leaky units behind a merged product are positive is written with them: the product need not stay."""
        for number, operation in enumerate(self.operations):
            if operation.type == "Compare" and "LeakyRelu" in operation.name:
                source = self._origin(operation.inputs[0])
                if self.operations[source].type == "BiasAdd":
                    source = self._origin(self.operations[source].inputs[0])
                if self.operations[source].type == "Slice":
                    self.kinds[number] = "reduction"

    def _is_reshaped(self, number: int) -> bool:
        """Whether a product is given another shape between its kernel and this, element by element."""
        while self.operations[number].inputs:
            sources = (source for source, _ in self.operations[number].inputs)
            number = max(sources, key=lambda source: sum(self.operations[source].outputs))
            if self.operations[number].type == "Reshape":
                return True
            if self.kinds[number] not in ("mapped", "same"):
                return False
        return False

    def _origin(self, source: Output) -> int:
        number, position = source
        while self.kinds[number] == "same" and self.operations[number].inputs:
            inputs = self.operations[number].inputs
            number, position = inputs[min(position, len(inputs) - 1)]
        return number

    def _gain(self, number: int) -> float:
        """Bytes that need not be moved if all readers compute it themselves; negative where one of them cannot."""
        readers = self.readers[number]
        if number in self.fetched or not readers:
            return -1
        if any(self.kinds[reader] == "whole" or self._computes_again(number, reader) for reader in readers):
            return -1
        if len(readers) > 1 and any(self._is_summed_at_once(number, reader) for reader in readers):
            return -1
        size, cost = self.sizes[number], self.costs[number]
        alone = _START + size + cost + sum(self.sizes[source] for source in self.reads[number])
        fused = 0.0
        for reader in readers:
            alone += size
            fused += cost + sum(self.sizes[one] for one in self.reads[number] - self.reads[reader])
        return alone - fused

    def _is_summed_at_once(self, number: int, reader: int) -> bool:
        """Few rows: the sum's kernel writes what it sums for the others, too. Not where that is a cast alone."""
        if self.operations[number].type in _LIGHT:
            return False
        dtypes, shapes = self.operations[number].dtypes, self.operations[number].shapes
        if self.channels_first and len(shapes[0] if shapes else ()) > 3 and "16" not in "".join(dtypes):
            return False  # rows lie in a row there
        given, made = self.operations[number].shapes, self.operations[reader].shapes
        if self.operations[reader].type not in ("Mean", "Sum") or not given or not made:
            return False
        return 1 < summed_rows(given[0], made[0]) <= ROWS

    def _computes_again(self, number: int, reader: int) -> bool:
        """Whether windows that overlap would compute too much more than once."""
        if self.operations[reader].overlap <= 1:
            return False
        return self.sizes[number] > _CACHE or number in self.grown

    def _fuse(self, number: int) -> set[int]:
        """Its readers read what it read. Gives back those whose gain is another now."""
        sources, readers = self.reads[number], self.readers[number]
        for reader in readers:
            self.reads[reader].discard(number)
            self.reads[reader] |= sources
            self.costs[reader] += self.costs[number]
            if number in self.by_row:
                self.by_row.add(reader)
            if self.sizes[reader] >= self.scratch[number]:  # not what only sums it
                self.scratch[reader] = max(self.scratch[reader], self.scratch[number])
        for source in sources:
            self.readers[source].discard(number)
            self.readers[source] |= readers
        self.gone.add(number)
        if number in self.grown or self.operations[number].type not in _LIGHT:
            self.grown |= readers
        return sources | readers

    def _remaining(self) -> Program:
        left = [
            number
            for number, kind in enumerate(self.kinds)
            if kind not in ("same", "nothing") and number not in self.gone
        ]
        made: list[Operation] = []
        places: dict[int, int] = {}
        for number in left:
            if self.operations[number].type == "Compare":
                self._with_its_sum(number)
        self._place_zeros(left)
        for number in self._in_order(left):
            places[number] = len(made)
            made.append(self._kernel(number, places))
        fetched = sorted(places[number] for number in self.fetched if number in places)
        return Program(made, tuple((place, 0) for place in fetched))

    def _in_order(self, left: list[int]) -> list[int]:
        """After what they read, also where that was added."""
        order: list[int] = []
        seen: set[int] = set()
        for root in left:
            stack = [root]
            while stack:
                waits = [one for one in sorted(self.reads[stack[-1]]) if one not in seen]
                if waits and stack[-1] not in seen:
                    stack += waits
                elif (number := stack.pop()) not in seen:
                    seen.add(number)
                    order.append(number)
        return order

    def _with_its_sum(self, number: int) -> None:
        """A mask that the sum for a bias' gradient reads comes out of the sum's kernel."""
        for reader in self.readers[number]:
            if self.operations[reader].type == "BiasAddGrad":
                self.reads[number] |= {one for one in self.reads[reader] if one < number}

    def _place_zeros(self, left: list[int]) -> None:
        """Zeros that ReLUs compare with come out of the first ReLU's kernel, and are copied for what is put on them.

        That is a ReLU that is written, or a sum of its elements: the zeros are another result of it. Without either
        they are a kernel of their own, and XLA has it write the copies, too
        (xla/service/gpu/transforms/copy_fusion.cc).
        """
        written: dict[int, int] = {}
        for one in left:
            if self.operations[one].type in RELUS:
                written.setdefault(self.sizes[one], one)
        for one in left:
            if self.operations[one].type != "Zeros" or not self._copies(one):
                continue
            sums = (reader for reader in self.readers[one] if self.operations[reader].type in _REDUCTIONS)
            relu = written.get(self.sizes[one])
            for first in sorted({*sums, *(() if relu is None else (relu,))}):
                reads = one in self.reads[first]
                self.reads[first].discard(one)
                # It does where it comes after a pooling that reads the zeros.
                if not waits_for(first, {one}, self.reads.__getitem__):
                    self.reads[one].add(first)
                    break
                if reads:
                    self.reads[first].add(one)

    def _copies(self, number: int) -> list[int]:
        return [reader for reader in self.readers[number] if self.operations[reader].type == "ZerosCopy"]

    def _kernel(self, number: int, places: dict[int, int]) -> Operation:
        operation, kind = self.operations[number], self.kinds[number]
        inputs = tuple((places[source], 0) for source in sorted(self.reads[number]) if source in places)
        size = 0 if kind == "update" else self.sizes[number]
        scratch = self.scratch[number]
        written = {"mapped": "Kernel" if number in self.by_row else "Fusion", "update": "Update"}
        return Operation(
            operation.name,
            written.get(kind if size else "update", operation.type),
            inputs,
            (),
            (size, scratch) if size or scratch else (),
            operation.shapes[:1],
            operation.dtypes[:1],
        )


def _kind(operation: Operation) -> str:
    kind = operation.type
    if kind == "Argument":
        return "argument"
    if kind in NOTHING:
        return "nothing"
    if kind in _SAME:
        return "same"
    if kind in _REDUCTIONS or kind in _POOLS:
        return "reduction"
    if kind.startswith(_UPDATES):
        return "whole" if operation.body is not None and any(operation.outputs[:1]) else "update"
    return "whole" if kind.startswith(_WHOLE) else "mapped"


def _is_by_row(operation: Operation) -> bool:
    return operation.type in _BY_ROW and max(shape[-1:] for shape in operation.shapes) <= (_LONGEST_ROW,)


def _size(operation: Operation) -> int:
    if operation.type in LOOPS and operation.body is not None:
        return stacked_bytes(operation)
    return sum(operation.outputs) - _scratch(operation)


def _scratch(operation: Operation) -> int:
    """What a kernel writes beside its result and gives back at once."""
    return sum(operation.outputs[_RESULTS.get(operation.type, len(operation.outputs)) :])


def _cost(operation: Operation) -> float:
    elements = sum(math.prod(shape) for shape in operation.shapes)
    if operation.type in ("Erf", "Erfc"):
        return _ERF * elements
    if operation.type in ("Tanh", "Elu"):
        return _TANH * elements
    if operation.type.startswith(("Stateless", "Random")) and operation.type not in LOOPS:
        return _RANDOM * elements
    return _STEP * elements
