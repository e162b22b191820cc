"""The footprint of a step that TensorFlow runs from a graph, or operation by operation."""

from __future__ import annotations

from oomlint.estimate.worker.graph import order
from oomlint.estimate.worker.graph.cards import card_of
from oomlint.estimate.worker.graph.compiled import compiled
from oomlint.estimate.worker.graph.lives import Lives, simulate
from oomlint.estimate.worker.graph.operations import Program
from oomlint.estimate.worker.graph.parts import layers_of, parts_of, timeline_of
from oomlint.estimate.worker.graph.tracing import traced
from oomlint.estimate.worker.graph.unrolled import unrolled
from oomlint.estimate.worker.state import state_bytes
from oomlint.estimate.worker.subject import Footprint, Subject

# benchmarks/estimate/compare_cpu.py: all but a few of its 60 rows lie within. The order that differs from run to run on
# a CPU makes no difference in the queue of a GPU (order.queued with any draw).
GRAPH_RANGE = (0.17, 0.2)
GRAPH_WORDS = (
    "the order of the operations is that of TensorFlow's executor on a GPU, from its source; what each operation takes "
    "and gives back was compared with real steps on a CPU: half of them within 3%"
)
# benchmarks/estimate/compare_xla.py: six in seven of the models that the rules were not made for lay within at first,
# and nineteen in twenty since.
XLA_RANGE = (0.15, 0.2)
XLA_WORDS = (
    "what XLA fuses is estimated by rules: beside its own compiler half of the models of new kinds were within "
    "4%, one in five off by more than 15% when they were first compared; oomlint[xla] asks the compiler itself"
)


def footprint(subject: Subject, program: str, gpu: str = "") -> Footprint:
    """Peak, parts and layers of a step. `program` is `graph`, `xla` or `eager`; `gpu` a card's name, or an amount."""
    eager = program == "eager"
    step = traced(subject, optimized=not eager, as_run=program == "graph")
    unknown = step.unknown
    if program == "xla":
        lower, upper = XLA_RANGE
        step, lives = compiled(step, card_of(gpu))
    else:
        lower, upper = GRAPH_RANGE
        step = unrolled(step)
        lives = simulate(step, order.as_made(step) if eager else order.queued(step), inside=inside)
    state = state_bytes(subject.model, None if subject.mode == "predict" else subject.model.optimizer)
    parts = parts_of(step, lives) | {"weights": state["weights"], "optimizer_state": state["optimizer_state"]}
    return Footprint(
        peak=sum(parts.values()),
        parts=parts,
        certainty={
            name: "exact" if name in ("weights", "optimizer_state", "input") else "estimated"
            for name in parts
        },
        layers=layers_of(step, lives, subject.model),
        timeline=timeline_of(step, lives, sum(state.values()), subject.model),
        peak_at=step.operations[lives.peak_at].name if lives.peak_at >= 0 else "",
        lower=lower,
        upper=upper,
        assumptions=[XLA_WORDS if program == "xla" else GRAPH_WORDS, *_unknown(unknown)],
    )


def _unknown(outputs: int) -> list[str]:
    if not outputs:
        return []
    return [f"{outputs} tensors have no static shape: their sides of unknown length are taken as one"]


def inside(body: Program) -> int:
    """What a loop's body, or a function that is called, takes at its own peak beside what it is given."""
    return peak_of(body).peak


def peak_of(program: Program) -> Lives:
    """The lives of a program's buffers on a GPU."""
    return simulate(program, order.queued(program), inside=inside)
