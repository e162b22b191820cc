"""The lives of the buffers of a program, in a given order of its operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from oomlint.estimate.worker.graph.kinds import (
    ALIASES,
    ASSIGNS,
    BY_ROW,
    FORWARDING,
    FREE,
    OVER,
    READS,
    UPDATES,
)
from oomlint.estimate.worker.graph.lists import Elements, Lists
from oomlint.estimate.worker.graph.operations import Operation, Output, Program

ROUNDING = 256  # bytes: kMinAllocationSize in xla/tsl/framework/bfc_allocator.h


@dataclass(slots=True, eq=False)
class Buffer:
    """A piece of memory: who made it, and how many uses are still to come."""

    size: int
    maker: int
    uses: int = 0
    kept: bool = False  # an input of the step, or what a variable holds
    variable: str = ""  # the variable whose value it is
    apart: bool = False  # counted with the weights, not here
    holders: list[int] = field(default_factory=list)  # the operations whose output lies in it
    born: int = 0  # in steps of the order, first and last
    died: int = -1


Held = list["Buffer | Elements | None"]  # what inputs or outputs are


@dataclass(slots=True)
class Lives:
    """What the simulation found. `timeline`: bytes while each operation of `order` ran. `at_peak`: who was alive."""

    peak: int = 0
    peak_at: int = -1
    order: list[int] = field(default_factory=list)
    timeline: list[int] = field(default_factory=list)
    at_peak: tuple[Buffer, ...] = ()
    buffers: list[Buffer] = field(default_factory=list)  # all of the step
    # Beside the buffers, while each operation of `order` ran.
    scratch: list[int] = field(default_factory=list)


def rounded(size: int, to: int = ROUNDING) -> int:
    """As the allocator rounds."""
    return -(-size // to) * to if size > 0 else 0


def simulate(
    program: Program,
    order: Iterable[int],
    *,
    scratch: Callable[[Operation], int] = lambda operation: 0,
    inside: Callable[[Program], int] = lambda body: 0,
    rounding: int = ROUNDING,
    aliasing: bool = True,
    forwarding: bool = True,
    over: Mapping[str, tuple[int, int]] = OVER,
) -> Lives:
    """Bytes that the step takes beside its variables.

    `scratch` is what an operation takes while it runs and gives back; `inside` the peak of a loop's body. Without
    `forwarding` nothing is written over an input that ends. Without `aliasing` every output has a buffer of its own:
    what plain liveness would say, for comparison.
    """
    simulation = _Simulation(program, scratch, inside)
    simulation.rounding, simulation.aliasing, simulation.over = rounding, aliasing, over
    simulation.forwarding = forwarding and aliasing
    return simulation.run(order)


class _Simulation:
    rounding = ROUNDING
    aliasing = True
    forwarding = True
    over: Mapping[str, tuple[int, int]] = OVER

    def __init__(
        self,
        program: Program,
        scratch: Callable[[Operation], int],
        inside: Callable[[Program], int],
    ) -> None:
        self.operations = program.operations
        self.scratch, self.inside = scratch, inside
        self.uses: dict[Output, int] = {}
        for operation in program.operations:
            for source in operation.inputs:
                self.uses[source] = self.uses.get(source, 0) + 1
        for source in program.fetched:
            self.uses[source] = self.uses.get(source, 0) + 1
        self.buffers: dict[Output, Buffer | Elements | None] = {}
        self.lists = Lists(self._allocate, self._leave)
        self.variables: dict[str, Buffer] = {}
        self.copied = {one.variable for one in program.operations if one.type.startswith(BY_ROW)}
        self.alive: dict[int, Buffer] = {}
        self.bytes = self.step = self.last = 0
        self.found = Lives()

    def run(self, order: Iterable[int]) -> Lives:
        peak_step = -1
        for step, number in enumerate(order):
            self.step, self.last = step, step - 1
            operation = self.operations[number]
            given = [self.buffers.get(source) for source in operation.inputs]
            made = self._outputs(number, operation, given)
            meanwhile = self.bytes + self.scratch(operation)
            if operation.body is not None:
                meanwhile += self.inside(operation.body)
            self.found.order.append(number)
            self.found.timeline.append(meanwhile)
            if meanwhile > self.found.peak:
                self.found.peak, self.found.peak_at, peak_step = meanwhile, number, step
            self.last = step
            for position, buffer in enumerate(made):
                self.buffers[number, position] = buffer
                if buffer is not None:
                    buffer.uses += self.uses.get((number, position), 0)
                if isinstance(buffer, Buffer):
                    buffer.holders.append(number)
            for buffer in given:
                if buffer is not None:
                    buffer.uses -= 1
            for buffer in {id(one): one for one in [*given, *made] if one is not None}.values():
                self._leave(buffer)
        for buffer in self.alive.values():
            buffer.died = len(self.found.order)
        self.found.at_peak = tuple(
            buffer for buffer in self.found.buffers if buffer.born <= peak_step <= buffer.died
        )
        return self.found

    def _outputs(self, number: int, operation: Operation, given: Held) -> Held:
        if operation.type == "Argument":  # of the step: it stays for as long as the step runs
            return [self._allocate(size, number, kept=True) for size in operation.outputs]
        if operation.type in READS:
            if operation.variable in self.copied and self.aliasing:
                return [self._allocate(operation.outputs[0], number)]
            return [self._value(operation.variable, operation.outputs[0], number)]
        if operation.type in ASSIGNS:
            self._assign(operation, given)
            return []
        if operation.type in UPDATES:
            self._update(operation, number)
            return []
        if operation.type in ALIASES and self.aliasing:
            return [
                given[min(position, len(given) - 1)] if given else None
                for position in range(len(operation.outputs))
            ]
        if operation.whole >= 0 and self.aliasing:
            return [given[operation.whole]] * len(operation.outputs)
        if self.aliasing:
            in_lists = self.lists.outputs(number, operation, given, *self._first(operation))
            if in_lists is not None:
                return in_lists
        if operation.type in FREE:
            return [None] * len(operation.outputs)
        at, candidates = -1, given
        if operation.type in FORWARDING:
            at = 0
        elif operation.type in self.over:
            at, source = self.over[operation.type]
            candidates = given[source : source + 1]
        forwarded = None
        if self.forwarding and 0 <= at < len(operation.outputs):
            forwarded = self._forwarded(operation.outputs[at], candidates, given)
        return [
            forwarded if position == at and forwarded is not None else self._allocate(size, number)
            for position, size in enumerate(operation.outputs)
        ]

    def _forwarded(self, size: int, candidates: Held, given: Held) -> Buffer | None:
        """An input that ends here and is as large as the output."""
        size = rounded(size, self.rounding)
        for buffer in candidates:
            if (
                isinstance(buffer, Buffer)
                and not buffer.kept
                and buffer.size == size
                and buffer.uses == sum(other is buffer for other in given)
            ):
                return buffer
        return None

    def _value(self, variable: str, size: int, number: int) -> Buffer:
        """What a variable holds; its first value is counted apart, with the weights."""
        if variable not in self.variables:
            self.variables[variable] = Buffer(
                rounded(size, self.rounding), number, kept=True, variable=variable, apart=True
            )
        return self.variables[variable]

    def _assign(self, operation: Operation, given: Held) -> None:
        """The variable takes over the new value's buffer; the old one goes when nothing reads it any more.

        The old one's bytes were counted with the weights, so the sum is less by them from there on.
        """
        new = given[-1]
        if not isinstance(new, Buffer) or new.kept:
            return
        old = self.variables.get(operation.variable)
        new.kept, new.variable = True, operation.variable
        self.variables[operation.variable] = new
        if old is None:
            self.bytes -= new.size
        else:
            old.kept = False
            self._leave(old)

    def _update(self, operation: Operation, number: int) -> None:
        """In place, unless something holds the value that was read: it keeps the old one, and the update makes a copy.

        PrepareToUpdateVariable in tensorflow/core/kernels/training_op_helpers.h.
        """
        old = self.variables.get(operation.variable)
        if old is None or old.uses == 0 or not self.aliasing:
            return
        new = self._allocate(old.size, number, kept=True)
        assert new is not None
        new.variable = operation.variable
        self.variables[operation.variable] = new
        old.kept = False

    def _allocate(self, size: int, number: int, kept: bool = False) -> Buffer | None:
        if size <= 0:
            return None
        buffer = Buffer(rounded(size, self.rounding), number, kept=kept, born=self.step)
        self.alive[id(buffer)] = buffer
        self.found.buffers.append(buffer)
        self.bytes += buffer.size
        return buffer

    def _first(self, operation: Operation) -> tuple[int, int]:
        """Bytes and length of its first input."""
        if not operation.inputs:
            return 0, 0
        number, position = operation.inputs[0]
        source = self.operations[number]
        if position >= min(len(source.outputs), len(source.shapes)):
            return 0, 0
        return source.outputs[position], next(iter(source.shapes[position]), 0)

    def _leave(self, buffer: Buffer | Elements) -> None:
        if buffer.uses > 0 or buffer.kept:
            return
        if isinstance(buffer, Elements):
            self.lists.drop(buffer)
            return
        if buffer.apart:
            buffer.apart = False
            self.bytes -= buffer.size
        elif self.alive.pop(id(buffer), None) is not None:
            buffer.died = self.last
            self.bytes -= buffer.size
