"""Whether a step learns anything of its data: one whose gradients are those of penalties on weights alone does not.

Nothing of the forward pass would be kept for the backward pass then, and the figure would be that of a prediction. No
script trains so; where the trace shows it, something of the script's own loss was lost on the way.
"""

from __future__ import annotations

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.graph.kinds import LOOPS, NOTHING
from oomlint.estimate.worker.graph.operations import Program
from oomlint.estimate.worker.graph.parts import BACKWARD
from oomlint.estimate.worker.graph.tracing import traced
from oomlint.estimate.worker.keras.generation import tree
from oomlint.estimate.worker.keras.weightless import backend_name
from oomlint.estimate.worker.subject import Subject


def require_gradients_of_data(step: Program, subject: Subject) -> None:
    """Raise an EstimateError for a training step whose gradients follow from nothing that it is given."""
    given = tree().flatten(subject.data)
    if not given or not getattr(subject.model, "trainable_variables", None) or learns_of_data(step):
        return
    message = "the step, as it was traced, takes no gradient of anything that depends on its data"
    hint = "Give the loss that the script trains with: --loss mean_squared_error, for example."
    raise EstimateError(message, "engine", hint=hint)


def require_in_trace(subject: Subject) -> None:
    """The same where the step was compiled and not traced: of TensorFlow's it is traced for that."""
    if backend_name() == "tensorflow":
        require_gradients_of_data(traced(subject), subject)


def learns_of_data(step: Program) -> bool:
    """Whether an operation of a backward pass reads, through whatever, an argument of the step or random numbers."""
    if any(one.type in LOOPS for one in step.operations):
        return True  # the pass may be inside
    waiting = [number for number, one in enumerate(step.operations) if _begins(one.type)]
    readers: list[set[int]] = [set() for _ in step.operations]
    for number, one in enumerate(step.operations):
        for source, _ in one.inputs:
            readers[source].add(number)
    reached = set(waiting)
    while waiting:
        for number in readers[waiting.pop()]:
            operation = step.operations[number]
            if number in reached or operation.type in NOTHING:
                continue  # of a shape nothing is learned
            if BACKWARD in operation.name:
                return True
            reached.add(number)
            waiting.append(number)
    return False


def _begins(kind: str) -> bool:
    return kind == "Argument" or "Random" in kind or "StatelessTruncated" in kind
