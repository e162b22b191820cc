"""Which operations of a step XLA:GPU makes one kernel of: a program again, of the kernels that write memory.

XLA's priority fusion (openxla/xla, xla/service/gpu/transforms/priority_fusion.cc) puts an element-wise operation into
all its readers where that moves fewer bytes, most gain first; what is fused is computed again where it is read and has
no memory. Products, convolutions, pooling and loops write theirs, and their inputs must have been written.
"""

from __future__ import annotations

import heapq
import math

from oomlint.estimate.worker.graph.cards import HOPPER, Card
from oomlint.estimate.worker.graph.convolutions import CONVOLUTIONS
from oomlint.estimate.worker.graph.costs import (
    JOINED,
    REDUCTIONS,
    WARP,
    cost_of,
    is_by_row,
    is_joined_anywhere,
    kind_of,
    scratch_of,
    size_of,
)
from oomlint.estimate.worker.graph.kinds import LOOPS, READS
from oomlint.estimate.worker.graph.leaky import keep_leaky
from oomlint.estimate.worker.graph.operands import Operands
from oomlint.estimate.worker.graph.operations import Operation, Output, Program
from oomlint.estimate.worker.graph.products import PRODUCTS, by_cublas, in_another_shape, is_lent_memory
from oomlint.estimate.worker.graph.reading import Reading, pieces_of, share_of
from oomlint.estimate.worker.graph.rows import ROWS, summed_rows
from oomlint.estimate.worker.graph.units import RELUS, is_sum_of_products
from oomlint.estimate.worker.graph.zeros import place_zeros

# What windows that overlap compute again for each.
_LIGHT = RELUS | {"BiasAdd", "Cast", "ConcatV2", "Pad", "PadV2", "Padded"}
# At how many places one kernel reads the same (kAllowedCodeDuplication in
# xla/service/fusion_node_indexing_evaluation.cc).
_TIMES = 15
# What reads zeros that the unit before it compares with, only since the two may be one kernel.
_WINDOWS = ("MaxPool", "MaxPool3D", "PoolWindows")
# Sums that keep fewer multiprocessors busy than an A100 has (108): a block of threads makes as many as a warp has
# threads. What is computed in there again takes long, so it is written, at once with the sum; by many only what reads
# more than it writes: gelu in answers_normalized, not the normalizations of speakers_by_statistics.
_FEW_SUMS, _MORE = 108 * WARP, 1.5
# Functions of one argument that Triton computes (xla/backends/gpu/codegen/triton/support.cc).
_OF_ONE = frozenset("Sin Cos Exp Log Log1p Expm1 Tanh Sqrt Rsqrt Neg Abs".split())
# The error function of what a kernel wrote in that very shape is computed again (two_branches_of_functions), that of a
# product which has another shape meanwhile is kept.
_AT_ONCE = 0.25


def kernels(program: Program, card: Card = HOPPER) -> Program:
    """The program of the kernels: what is fused has gone, aliases are resolved, variables take nothing."""
    return _Fusion(program, card).run()


class _Fusion:
    def __init__(self, program: Program, card: Card) -> None:
        self.channels_first, self.card = card.channels_first, card
        left_to_cublas = by_cublas(program, card)
        self.operations = program.operations
        self.kinds = [kind_of(operation) for operation in self.operations]
        self._end_with_bias()
        if not left_to_cublas:
            self._keep_before_erf()
        keep_leaky(self.operations, self.kinds, self._origin)
        self.sizes = [size_of(operation) for operation in self.operations]
        self.scratch = [scratch_of(operation) for operation in self.operations]
        if left_to_cublas:
            for number, operation in enumerate(self.operations):
                if is_lent_memory(operation, program):
                    self.scratch[number] = card.lent_to_cublas
        self.costs = [cost_of(operation) for operation in self.operations]
        for number, operation in enumerate(self.operations):
            half = "16" in "".join(operation.dtypes)
            if operation.type in ("Erf", "Erfc") and not half and not self._is_reshaped(number):
                self.costs[number] *= _AT_ONCE
            if operation.type in ("ConcatV2", "Pack") and is_joined_anywhere(operation, self.operations):
                self.costs[number] = JOINED * math.prod(operation.shapes[0])
        self.reads: list[set[int]] = [set() for _ in self.operations]
        self.operands = Operands(self.operations, self.channels_first)
        self.readers: list[set[int]] = [set() for _ in self.operations]
        self.read_as = self._read_as()
        self.weights: list[set[int]] = [set() for _ in self.operations]
        for number, operation in enumerate(self.operations):
            if self.kinds[number] in ("same", "nothing"):
                continue
            sources = [self._origin(source) for source in operation.inputs]
            self.weights[number] = {one for one in sources if one in self.read_as}
            self.reads[number] = {one for one in sources if self.kinds[one] != "nothing"}
            self.operands.begin(number, sources)
            for source in self.reads[number]:
                self.readers[source].add(number)
        self.fetched = {self._origin(source) for source in program.fetched}
        self.gone: set[int] = set()
        # Products beside which an operation may be fused.
        self.beside: list[set[int]] = [set() for _ in self.operations]
        if not left_to_cublas:
            self._begin_products()
            self.beside = in_another_shape(self.operations, self._origin)
        self.reading = Reading(self.operations, self.kinds, self.reads, self.sizes, self._origin, card)
        self.places = self.reading.places
        # Kernels of Triton, which write beside what they read.
        self.by_row = {number for number, one in enumerate(self.operations) if card.triton and is_by_row(one)}
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

    def _read_as(self) -> dict[int, int]:
        """The handles of variables, each with an operation that reads it."""
        found: dict[int, int] = {}
        for number, operation in enumerate(self.operations):
            if operation.type in READS and operation.inputs:
                handle = operation.inputs[0][0]
                if self.kinds[handle] == "nothing":
                    found.setdefault(handle, number)
        return found

    def _end_with_bias(self) -> None:
        """A convolution's kernel adds the bias, too."""
        uses = [0] * len(self.operations)
        for operation in self.operations:
            for number, _ in operation.inputs:
                uses[number] += 1
        for number, operation in enumerate(self.operations):
            if operation.type == "BiasAdd":
                source = self._origin(operation.inputs[0])
                kind = self.operations[source].type
                if kind.startswith(CONVOLUTIONS) and "Backprop" not in kind and uses[source] == 1:
                    self.kinds[number] = "same"

    def _keep_before_erf(self) -> None:
        """What the error function is taken of in 16 bits is written and kept for the gradient (in XLA's buffers).

        Not in a compilation without XLA's own products (scales_of_layers).
        """
        for operation in self.operations:
            if operation.type in ("Erf", "Erfc") and operation.dtypes and "16" in operation.dtypes[0]:
                number = self._origin(operation.inputs[0])
                if self.kinds[number] == "mapped":
                    self.kinds[number] = "reduction"

    def _begin_products(self) -> None:
        """XLA's own products compute functions of one argument as they read, however many others read them.

        What moves no more bytes than it makes is worth it (`IsInputWorthFusing` in
        xla/service/gpu/transforms/gemm_fusion.cc): sines need not be kept beside what they are taken of.
        """
        for number, operation in enumerate(self.operations):
            if operation.type not in _OF_ONE or len(self.reads[number]) != 1 or number in self.fetched:
                continue
            (source,) = self.reads[number]
            if self.readers[source] == {number}:  # then either stays, in the same place
                continue
            for reader in [one for one in self.readers[number] if self.operations[one].type in PRODUCTS]:
                self.reads[reader].discard(number)
                self.reads[reader].add(source)
                self.readers[source].add(reader)
                self.readers[number].discard(reader)
            if not self.readers[number]:
                self.readers[source].discard(number)
                self.gone.add(number)

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

    def _is_of_a_product(self, number: int) -> bool:
        """Whether it is a product of matrices, element by element: channels are last there on all cards."""
        while self.operations[number].inputs:
            if self.operations[number].type in PRODUCTS:
                return True
            if self.kinds[number] not in ("mapped", "same"):
                return False
            sources = (source for source, _ in self.operations[number].inputs)
            number = max(sources, key=lambda source: sum(self.operations[source].outputs))
        return False

    def _origin(self, source: Output) -> int:
        number, position = source
        while self.kinds[number] == "same" and self.operations[number].inputs:
            inputs = self.operations[number].inputs
            number, position = inputs[min(position, len(inputs) - 1)]
        return number

    def _gain(self, number: int) -> float:
        """Bytes that need not be moved if all readers compute it themselves; negative where one of them cannot."""
        readers = self.readers[number] - self.beside[number]
        if number in self.fetched or not readers:
            return -1
        if any(self.kinds[reader] == "whole" or self._computes_again(number, reader) for reader in readers):
            return -1
        if (len(readers) > 1 or self._reads_more(number)) and any(
            self._is_summed_at_once(number, reader) for reader in readers
        ):
            return -1
        if any(pieces_of(self.places[reader][number]) > _TIMES for reader in readers):
            return -1
        # Parts in float32 of a sum in halves would stay for the second, several times as much (cifar_dropout_vgg).
        if len(readers) > 1 and self.operations[number].type == "PartsSum" and self._is_half(number):
            return -1
        cost = self.costs[number]
        alone = fused = 0.0
        if readers == self.readers[number]:  # else it is written all the same
            alone = self.card.start + self.sizes[number] + cost
            alone += sum(self.reading.time(source, ways) for source, ways in self.places[number].items())
        for reader in readers:
            ways = self.places[reader][number]
            alone += self.reading.time(number, ways)
            fused += cost * share_of(ways) * max(self.operations[reader].overlap, 1.0)
            for source in self.reads[number]:
                before = self.places[reader].get(source, {})
                if self.operations[source].type == "Zeros" and self.operations[reader].type in _WINDOWS:
                    before = {}  # it has none of its own
                after = before | self.reading.joined(ways, number, source)
                fused += self.reading.time(source, after) - self.reading.time(source, before)
        return alone - fused

    def _reads_more(self, number: int) -> bool:
        """Whether rows of a table are made of more than one other: even a sum that alone reads them reads them written.

        (loop_add_multiply_fusion.1 and input_reduce_fusion.25 in the assignment of seen_clicked_bought; not seen of
        pictures: attention_gate_cnn.)
        """
        shapes = self.operations[number].shapes
        if not shapes or len(shapes[0]) != 2:
            return False
        read = sum(self.reading.time(source, ways) for source, ways in self.places[number].items())
        return read >= _MORE * self.sizes[number]

    def _is_half(self, number: int) -> bool:
        return "16" in "".join(self.operations[number].dtypes)

    def _is_summed_at_once(self, number: int, reader: int) -> bool:
        """Few rows and few sums: the sum's kernel writes what it sums for the others, too. Not where that is a cast."""
        kind = self.operations[number].type
        if kind in _LIGHT and not (kind in RELUS and self.operations[reader].type == "Mean"):
            return False
        dtypes, shapes = self.operations[number].dtypes, self.operations[number].shapes
        pictures = len(shapes[0] if shapes else ()) > 3 and "16" not in "".join(dtypes)
        if self.channels_first and pictures and not self._is_of_a_product(number):
            return False  # rows lie in a row there
        given, made = self.operations[number].shapes, self.operations[reader].shapes
        if self.operations[reader].type not in ("Mean", "Sum") or not given or not made:
            return False
        read = sum(self.reading.time(source, ways) for source, ways in self.places[number].items())
        # Of pictures only what is made of less (places_by_clusters).
        more = _MORE if len(given[0]) == 3 else 1
        if len(given[0]) > 2 and math.prod(made[0]) > _FEW_SUMS and read < more * self.sizes[number]:
            return False  # by many threads; not so in attention_gate_cnn, where as much is read
        rows = summed_rows(given[0], made[0])
        if rows > ROWS and kind in RELUS:  # two products are read for one that is written
            asked = self.operations[self._origin(self.operations[number].inputs[0])]
            return is_sum_of_products(asked, self.operations)
        return 1 < rows <= ROWS

    def _computes_again(self, number: int, reader: int) -> bool:
        """Whether windows that overlap would compute too much more than once."""
        if self.operations[reader].overlap <= 1:
            return False
        if self.sizes[number] > self.card.cache and self.operations[number].type != "LeakyRelu":
            return True  # leaky units are chosen by a mask (loop_reduce_window_fusion.3 in plankton's assignment)
        return number in self.grown

    def _fuse(self, number: int) -> set[int]:
        """Its readers read what it read. Gives back those whose gain is another now."""
        sources, readers = self.reads[number], self.readers[number] - self.beside[number]
        self.readers[number] = self.readers[number] - readers
        for reader in readers:
            self.reads[reader].discard(number)
            self.reads[reader] |= sources
            self.operands.fuse(number, reader)
            self.weights[reader] |= self.weights[number]
            ways = self.places[reader].pop(number)
            self.costs[reader] += self.costs[number] * share_of(ways)
            for source in sources:
                self.reading.add(reader, source, self.reading.joined(ways, number, source))
            if number in self.by_row:
                self.by_row.add(reader)
            if self.sizes[reader] >= self.scratch[number]:  # not what only sums it
                self.scratch[reader] = max(self.scratch[reader], self.scratch[number])
        for source in sources:
            self.readers[source] |= readers
        if not self.readers[number]:
            self.gone.add(number)
            for source in sources:
                self.readers[source].discard(number)
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
        for number in left:
            if self.operations[number].type == "Compare":
                self._with_its_sum(number)
        place_zeros(left, self.operations, self.kinds, self.sizes, self.reads, self.readers)
        weights = self._place_weights(left, made)
        places: dict[int, int] = {}
        for number in self._in_order(left):
            places[number] = len(made)
            made.append(self._kernel(number, places, weights))
        fetched = sorted(places[number] for number in self.fetched if number in places)
        return Program(made, tuple((place, 0) for place in fetched))

    def _place_weights(self, left: list[int], made: list[Operation]) -> dict[int, int]:
        """Arguments that take nothing here: what reads the same weights may be one kernel."""
        places: dict[int, int] = {}
        for weight in sorted({weight for number in left for weight in self.weights[number]}):
            places[weight] = len(made)
            shapes = self.operations[self.read_as[weight]].shapes[:1]
            made.append(Operation(self.operations[weight].name, "Argument", (), (), (0,), shapes))
        return places

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

    def _kernel(self, number: int, places: dict[int, int], weights: dict[int, int]) -> Operation:
        operation, kind = self.operations[number], self.kinds[number]
        reads = self.operands.of(number, self.reads[number])
        inputs = tuple((places[source], 0) for source in reads if source in places)
        inputs += tuple((weights[one], 0) for one in sorted(self.weights[number]))
        size = 0 if kind == "update" else self.sizes[number]
        scratch = self.scratch[number]
        written = {"mapped": "Kernel" if number in self.by_row else "Fusion", "update": "Update"}
        shapes = operation.shapes[:1]
        if kind == "update" and len(operation.inputs) > 1:
            value, position = operation.inputs[1]
            shapes = self.operations[value].shapes[position : position + 1]
        elif kind == "reduction" and operation.inputs and operation.type in REDUCTIONS:
            value, position = operation.inputs[0]
            shapes += self.operations[value].shapes[position : position + 1]
        return Operation(
            operation.name,
            written.get(kind if size else "update", operation.type),
            inputs,
            (),
            (size, scratch) if size or scratch else (),
            shapes,
            operation.dtypes[:1],
            operation.variable if kind == "update" or operation.type in ("Padded", *LOOPS) else "",
            elsewhere=tuple(
                places[one] for one in reads if one in places and self.reading.is_elsewhere(number, one)
            ),
        )
