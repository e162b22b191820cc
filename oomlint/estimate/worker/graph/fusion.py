"""Which operations of a step XLA:GPU makes one kernel of: a program again, of the kernels that write memory.

XLA's priority fusion (openxla/xla, xla/service/gpu/transforms/priority_fusion.cc) puts an element-wise operation into
all its readers where that moves fewer bytes, most gain first; what is fused is computed again where it is read and has
no memory. Products, convolutions, pooling and loops write theirs, and their inputs must have been written. The costs
are a model of XLA's; the constants were fitted to compilations (benchmarks/estimate/compare_xla.py).
"""

from __future__ import annotations

import heapq
import math

from oomlint.estimate.worker.graph.kinds import ALIASES, LOOPS, NOTHING, READS
from oomlint.estimate.worker.graph.loops import stacked_bytes
from oomlint.estimate.worker.graph.operations import Operation, Output, Program

# Values that are another's under a new name or shape, or a variable's.
_SAME = ALIASES | READS
# Small results that no kernel computes twice.
_REDUCTIONS = frozenset(
    "Sum Mean Max Min Prod Any All ArgMax ArgMin BiasAddGrad L2Loss EuclideanNorm".split()
)
_WHOLE = tuple(
    """
    Conv MatMul BatchMatMul _FusedMatMul _FusedConv DepthwiseConv _FusedBatch FusedBatchNorm MaxPool AvgPool Einsum
    While StatelessWhile PartitionedCall StatefulPartitionedCall Sort TopK FFT Cumsum Cumprod Unsorted Scatter
    TensorScatter TensorList Resize Cudnn Segment
    """.split()
)
# Updates in place, and branches that hold only such (a loss scale's check).
_UPDATES = ("Assign", "Resource", "If", "StatelessIf", "Case", "StatelessCase")

# What a kernel's start costs, as bytes that could have been moved meanwhile (about 1 us at 3 TB/s).
_START = 3_000_000
# What computing an element costs, in bytes: a counter-based random number, and the error function of gelu.
_RANDOM, _ERF = 40, 24
# A kernel of one input may write into it; of several, XLA shares none where they are read in different places.
_IN_PLACE = 1


def kernels(program: Program) -> Program:
    """The program of the kernels: what is fused has gone, aliases are resolved, variables take nothing."""
    return _Fusion(program).run()


class _Fusion:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.operations = program.operations
        self.kinds = [_kind(operation) for operation in self.operations]
        self.sizes = [_size(operation) for operation in self.operations]
        self.costs = [_cost(operation) for operation in self.operations]
        self.reads: list[set[int]] = [set() for _ in self.operations]
        self.readers: list[set[int]] = [set() for _ in self.operations]
        for number, operation in enumerate(self.operations):
            if self.kinds[number] in ("same", "nothing"):
                continue
            sources = {self._origin(source) for source in self._inputs(operation)}
            self.reads[number] = {one for one in sources if self.kinds[one] != "nothing"}
            for source in self.reads[number]:
                self.readers[source].add(number)
        self.fetched = {self._origin(source) for source in program.fetched}
        self.gone: set[int] = set()

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

    def _origin(self, source: Output) -> int:
        number, position = source
        while self.kinds[number] == "same" and self.operations[number].inputs:
            inputs = self.operations[number].inputs
            number, position = inputs[min(position, len(inputs) - 1)]
        return number

    def _inputs(self, operation: Operation) -> tuple[Output, ...]:
        """XLA asks of a ReLU's input where it was positive, which leaves its output to the next layer alone.

        Not behind a product of matrices, whose kernel ends with the ReLU.
        """
        if operation.type in ("ReluGrad", "Relu6Grad") and len(operation.inputs) > 1:
            relu = self.operations[self._origin(operation.inputs[1])]
            if relu.type in ("Relu", "Relu6") and not self._is_product(relu.inputs[0]):
                return operation.inputs[0], relu.inputs[0]
        return operation.inputs

    def _is_product(self, source: Output) -> bool:
        operation = self.operations[self._origin(source)]
        if operation.type in ("BiasAdd", "Add", "AddV2") and operation.inputs:
            operation = self.operations[self._origin(operation.inputs[0])]
        return "MatMul" in operation.type

    def _gain(self, number: int) -> float:
        """Bytes that need not be moved if all readers compute it themselves; negative where one of them cannot."""
        readers = self.readers[number]
        if number in self.fetched or not readers:
            return -1
        if any(self.kinds[reader] == "whole" for reader in readers):
            return -1
        size, cost = self.sizes[number], self.costs[number]
        alone = _START + size + cost + sum(self.sizes[source] for source in self.reads[number])
        fused = 0.0
        for reader in readers:
            alone += size
            fused += cost + sum(self.sizes[one] for one in self.reads[number] - self.reads[reader])
        return alone - fused

    def _fuse(self, number: int) -> set[int]:
        """Its readers read what it read. Gives back those whose gain is another now."""
        sources, readers = self.reads[number], self.readers[number]
        for reader in readers:
            self.reads[reader].discard(number)
            self.reads[reader] |= sources
            self.costs[reader] += self.costs[number]
        for source in sources:
            self.readers[source].discard(number)
            self.readers[source] |= readers
        self.gone.add(number)
        return sources | readers

    def _remaining(self) -> Program:
        left = [
            number
            for number, kind in enumerate(self.kinds)
            if kind not in ("same", "nothing") and number not in self.gone
        ]
        zeros = self._zeros()
        made: list[Operation] = []
        places: dict[int, int] = {}
        shared: dict[int, int] = {}  # where the zeros of a size are
        for number in left:
            places[number] = len(made)
            kernel = self._kernel(number, places)
            if number in zeros and kernel.outputs and kernel.outputs[0] in shared:
                kernel.inputs += ((shared[kernel.outputs[0]], 0),)
            made.append(kernel)
            for size in zeros.get(number, ()):
                if size not in shared:
                    shared[size] = len(made)
                    made.append(Operation("zeros", "Zeros", ((places[number], 0),), (), (size,)))
        fetched = sorted(places[number] for number in self.fetched if number in places)
        return Program(made, tuple((place, 0) for place in fetched))

    def _zeros(self) -> dict[int, tuple[int, ...]]:
        """The zeros that max pooling's gradient is scattered into are those that a ReLU before it compared with.

        They are written once for a size, and live from the ReLU on. By the kernel after which they are there.
        """
        found: dict[int, tuple[int, ...]] = {}
        for number, operation in enumerate(self.operations):
            if is_pooling_gradient(operation) and operation.inputs:
                source = self._origin(operation.inputs[0])
                if self.operations[source].type in ("Relu", "Relu6"):
                    found[source] = (self.sizes[source],)
                    found.setdefault(number, ())
        return found

    def _kernel(self, number: int, places: dict[int, int]) -> Operation:
        operation, kind = self.operations[number], self.kinds[number]
        inputs = tuple((places[source], 0) for source in sorted(self.reads[number]) if source in places)
        size = 0 if kind == "update" else self.sizes[number]
        written = {"mapped": "Fusion" if len(inputs) <= _IN_PLACE else "Kernel", "update": "Update"}
        return Operation(
            operation.name,
            written.get(kind if size else "update", operation.type),
            inputs,
            (),
            (size,) if size else (),
            operation.shapes[:1],
            operation.dtypes[:1],
        )


def is_pooling_gradient(operation: Operation) -> bool:
    """Of max pooling: a scatter in XLA."""
    return operation.type.startswith("MaxPool") and "Grad" in operation.type


def _kind(operation: Operation) -> str:
    kind = operation.type
    if kind == "Argument":
        return "argument"
    if kind in NOTHING:
        return "nothing"
    if kind in _SAME:
        return "same"
    if kind in _REDUCTIONS:
        return "reduction"
    if kind.startswith(_UPDATES):
        return "update"
    return "whole" if kind.startswith(_WHOLE) else "mapped"


def _size(operation: Operation) -> int:
    if operation.type in LOOPS and operation.body is not None:
        return stacked_bytes(operation)
    return sum(operation.outputs)


def _cost(operation: Operation) -> float:
    elements = sum(math.prod(shape) for shape in operation.shapes)
    if operation.type in ("Erf", "Erfc"):
        return _ERF * elements
    if operation.type.startswith(("Stateless", "Random")) and operation.type not in LOOPS:
        return _RANDOM * elements
    return 0.0
