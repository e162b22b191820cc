"""What is read of a variable after it was changed waits for the change, under XLA as for a graph.

TensorFlow says so by a control edge. XLA has the new value in the variable's place (tf2xla's ReadVariableOp gives what
the last assignment left), so a second pass through a network that was trained in the same step comes after its update:
an actor's loss by the critic of that step, a generator's by its judge.
"""

from __future__ import annotations

from dataclasses import replace

from oomlint.estimate.worker.graph.kinds import READS
from oomlint.estimate.worker.graph.operations import Operation


def read_after_updates(operations: list[Operation]) -> None:
    """Such reads take the change as their input."""
    for number, operation in enumerate(operations):
        if operation.type not in READS:
            continue
        changes = [one for one in operation.controls if _changes(operations[one], operation.variable)]
        if changes:
            values = (value for one in changes for value in operations[one].inputs[1:])
            operations[number] = replace(operation, inputs=tuple(values))


def _changes(operation: Operation, variable: str) -> bool:
    return operation.type.startswith(("Assign", "Resource")) and operation.variable == variable
