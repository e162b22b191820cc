"""Functions with a gradient of their own (`tf.custom_gradient`; `swish` is one), where each operation runs by itself.

Such a function ends in one IdentityN of its results and of what it was given; nobody reads the latter there
(tensorflow/python/ops/custom_gradient.py).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from oomlint.estimate.worker.graph.operations import Operation, Output
from oomlint.estimate.worker.graph.parts import BACKWARD

_ENDS_IN = "IdentityN"


@dataclass(frozen=True, slots=True)
class CustomGradient:
    """What is known of one function, and what keeps its tensors.

    `inner`: the operations that compute the results. The gradient asks for nothing of theirs: the tape lets go of that
    where it finds out which gradients it needs, before it computes the first (PrepareBackprop in
    tensorflow/c/eager/tape.h). `last`: the last operation of its gradient, if that is computed; so long Python's
    closure (`actual_grad_fn`) has the results and what was given, and `named` are there: what the gradient reads more
    than once has a name in it.
    """

    inner: frozenset[int]
    last: int | None
    named: tuple[Output, ...]


def custom_gradients(operations: list[Operation], backward: int) -> dict[int, CustomGradient]:
    """The functions by the operations in which they end; `backward` is where the first gradient is computed."""
    read = {source for one in operations for source in one.inputs}
    found: dict[int, CustomGradient] = {}
    for number, one in enumerate(operations):
        places = range(len(one.inputs)) if one.type == _ENDS_IN else ()
        given = {one.inputs[place][0] for place in places if (number, place) not in read}
        if given:
            found[number] = CustomGradient(
                _computing(operations, number, given), *_gradient(operations, backward, given)
            )
    return found


def _computing(operations: list[Operation], number: int, given: set[int]) -> frozenset[int]:
    scope = f"{operations[number].name.rpartition('/')[0]}/"
    inner: set[int] = set()
    waiting = [maker for maker, _ in operations[number].inputs]
    while waiting:
        maker = waiting.pop()
        if maker not in given and maker not in inner and operations[maker].name.startswith(scope):
            inner.add(maker)
            waiting += [source for source, _ in operations[maker].inputs]
    return frozenset(inner)


def _gradient(
    operations: list[Operation], backward: int, given: set[int]
) -> tuple[int | None, tuple[Output, ...]]:
    """Of the run of operations that no gradient of TensorFlow's made and that reads what was given: end and names."""
    run: list[int] = []
    reading = False
    for number in range(backward, len(operations)):
        one = operations[number]
        if one.name.startswith(f"{BACKWARD}/"):
            if reading:
                break
            run = []
            continue
        run.append(number)
        reading = reading or any(maker in given for maker, _ in one.inputs)
    if not reading:
        return None, ()
    reads = Counter(source for number in run for source in operations[number].inputs)
    return run[-1], tuple(source for source, times in reads.items() if times > 1 and source[0] in run)
