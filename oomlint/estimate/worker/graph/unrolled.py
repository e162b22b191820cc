"""Loops as TensorFlow's executor runs them: round after round, with operations of their own.

Before a graph is run, each loop is lowered to Enter, Merge, Switch, NextIteration and Exit
(tensorflow/core/common_runtime/lower_while_op.cc); here one Switch stands for the three in the middle. A round may
begin before the one before it has ended, but only so many are under way at once.
"""

from __future__ import annotations

from oomlint.estimate.worker.graph.kinds import LOOPS
from oomlint.estimate.worker.graph.operations import Operation, Output, Program

AT_ONCE = 32  # `parallel_iterations` of tf.while_loop unless told otherwise; Keras does not tell
MOST = 300_000  # operations; a loop that would make more stays one operation

Place = tuple[int, ...]  # what comes first where several are ready: the order in which they were made


def unrolled(program: Program) -> Program:
    """The same with every loop in rounds."""
    if not any(operation.type in LOOPS for operation in program.operations):
        return program
    return _Unrolling().run(program)


def _length(program: Program) -> int:
    total = len(program.operations)
    for operation in program.operations:
        if operation.type in LOOPS and operation.body is not None:
            inside = _length(operation.body) + 3 * len(operation.inputs) + 2
            total += operation.rounds * inside
    return total


class _Unrolling:
    def __init__(self) -> None:
        self.made: list[Operation] = []  # inputs and controls name places in this list
        self.places: list[Place] = []
        self.orders: dict[int, list[int]] = {}  # of the functions, by identity

    def run(self, program: Program) -> Program:
        results, _ = self._copied(program, (), None, {})
        order = sorted(range(len(self.made)), key=lambda number: self.places[number])
        numbers = {old: new for new, old in enumerate(order)}
        operations = []
        for old in order:
            operation = self.made[old]
            operation.inputs = tuple((numbers[number], position) for number, position in operation.inputs)
            operation.controls = tuple(numbers[number] for number in operation.controls)
            operations.append(operation)
        fetched = tuple((numbers[results[one][0]], results[one][1]) for one in program.fetched)
        return Program(operations, fetched, unknown=program.unknown, bounded=program.bounded)

    def _add(self, place: Place, operation: Operation) -> int:
        self.made.append(operation)
        self.places.append(place)
        return len(self.made) - 1

    def _copied(
        self,
        program: Program,
        place: Place,
        given: list[Output] | None,
        handles: dict[str, str],
        gate: int | None = None,
        rounds: int = 1,
    ) -> tuple[dict[Output, Output], list[int]]:
        """Where the program's outputs are now, and all operations that were made of it.

        What needs nothing that this copy made or that came after `gate` waits for the gate.
        """
        outputs: dict[Output, Output] = {}
        last: dict[int, int] = {}  # what to wait for where an operation is waited for
        added: list[int] = []
        if given is not None:
            for number, value in zip(program.arguments, given, strict=False):
                outputs[number, 0] = value
                last[number] = value[0]
        order = self.orders.get(id(program))
        if order is None:
            order = self.orders[id(program)] = _sorted(program)
        for number in order:
            operation = program.operations[number]
            if (number, 0) in outputs and operation.type == "Given":
                continue
            inputs = tuple(outputs[source] for source in operation.inputs)
            controls = tuple(last[source] for source in operation.controls)
            if gate is not None and all(source < gate for source, _ in inputs):
                controls = (*controls, gate)
            here = (*place, number)
            body, condition = operation.body, operation.condition
            if body is not None and condition is not None and operation.rounds * _length(body) <= MOST:
                ends, inner = self._rounds(program, operation, inputs, controls, here, handles)
                added += inner
                for position, end in enumerate(ends):
                    outputs[number, position] = end
                last[number] = inner[-1]
                continue
            again = Operation(
                operation.name, operation.type, inputs, controls, operation.outputs, operation.shapes,
                operation.dtypes, handles.get(operation.variable, operation.variable), body, condition,
                operation.rounds * rounds, operation.overlap, operation.equation, operation.whole,
                operation.strides, operation.dilations, operation.padded,
            )  # fmt: skip
            made = last[number] = self._add(here, again)
            added.append(made)
            for position in range(len(operation.outputs)):
                outputs[number, position] = made, position
        return outputs, added

    def _rounds(
        self,
        program: Program,
        loop: Operation,
        inputs: tuple[Output, ...],
        controls: tuple[int, ...],
        place: Place,
        handles: dict[str, str],
    ) -> tuple[list[Output], list[int]]:
        assert loop.body is not None
        assert loop.condition is not None
        body, condition = loop.body, loop.condition
        inner: list[int] = []

        def add(
            kind: str, at: Place, sources: tuple[Output, ...], waits: tuple[int, ...], like: int
        ) -> Output:
            made = Operation(
                f"{loop.name}/{kind}", kind, sources, waits,
                (loop.outputs[like],), (loop.shapes[like],), (loop.dtypes[like],),
            )  # fmt: skip
            inner.append(self._add((*place, *at), made))
            return inner[-1], 0

        names = {}
        for position, (number, _) in enumerate(loop.inputs):
            outer = program.operations[number].name
            for function in (body, condition):
                if position < len(function.arguments):
                    name = function.operations[function.arguments[position]].name
                    names[name] = handles.get(outer, outer)
        # What a round hands on as it got it stays where it is.
        changing = [
            body.fetched[position] != (body.arguments[position], 0) for position in range(len(inputs))
        ]
        values = [
            add("Enter", (-1, position), (value,), controls, position)
            for position, value in enumerate(inputs)
        ]
        ends: list[int] = []
        for turn in range(loop.rounds + 1):
            waits = (ends[turn - AT_ONCE],) if turn >= AT_ONCE else ()
            begun = len(inner)
            found, added = self._copied(condition, (*place, turn, 0), values, names, None, loop.rounds)
            inner += added
            goes_on = Operation(
                f"{loop.name}/LoopCond",
                "LoopCond",
                (found[condition.fetched[0]],),
                waits,
                (1,),
                ((),),
                ("bool",),
            )
            gate = self._add((*place, turn, 1), goes_on)
            inner.append(gate)
            values = [
                add("Switch", (turn, 2, position), (value, (gate, 0)), (), position)
                if changing[position]
                else value
                for position, value in enumerate(values)
            ]
            if turn == loop.rounds:
                break
            found, added = self._copied(body, (*place, turn, 3), values, names, gate, loop.rounds)
            inner += added
            values = [found[one] for one in body.fetched]
            end = Operation(f"{loop.name}/round", "NoOp", (), (*inner[begun:], *ends[-1:]))
            inner.append(self._add((*place, turn, 4), end))
            ends.append(inner[-1])
        return [
            add("Exit", (loop.rounds + 1, position), (value,), (), position)
            for position, value in enumerate(values)
        ], inner


def _sorted(program: Program) -> list[int]:
    """Every operation after those that it waits for."""
    done: list[int] = []
    seen: set[int] = set()
    for root in range(len(program.operations)):
        stack = [root]
        while stack:
            number = stack[-1]
            if number in seen:
                stack.pop()
                continue
            operation = program.operations[number]
            missing = [
                one
                for one in (*(source for source, _ in operation.inputs), *operation.controls)
                if one not in seen
            ]
            if missing:
                stack += missing
            else:
                seen.add(number)
                done.append(number)
                stack.pop()
    return done
