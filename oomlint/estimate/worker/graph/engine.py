"""The footprint of a step that TensorFlow runs from a graph, or operation by operation."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from oomlint.estimate.worker.graph import order
from oomlint.estimate.worker.graph.cards import card_of
from oomlint.estimate.worker.graph.chosen import WORDS
from oomlint.estimate.worker.graph.compiled import compiled
from oomlint.estimate.worker.graph.convolutions import CONVOLUTIONS
from oomlint.estimate.worker.graph.eager import as_run_eagerly
from oomlint.estimate.worker.graph.einsums import copied
from oomlint.estimate.worker.graph.kinds import LOOPS
from oomlint.estimate.worker.graph.lives import Lives, simulate
from oomlint.estimate.worker.graph.of_data import require_gradients_of_data
from oomlint.estimate.worker.graph.operations import Program
from oomlint.estimate.worker.graph.parts import layers_of, parts_of, timeline_of
from oomlint.estimate.worker.graph.tracing import traced
from oomlint.estimate.worker.graph.unrolled import unrolled
from oomlint.estimate.worker.keras.state import state_bytes
from oomlint.estimate.worker.subject import Footprint, Subject

# Far wider than what the engine is off by beside steps measured on a CPU (benchmarks/estimate/compare_cpu.py): a GPU's
# pool has fragments, and cuDNN scratch memory. Of the published runs whose steps have convolutions and were estimated
# at 80 to 86% of the pool, four fitted and two died, ResNet152 and InceptionResNetV2 at 83% (published.jsonl).
GRAPH_RANGE = (0.17, 0.2)
WITH_CONVOLUTIONS = 0.25
GRAPH_WORDS = (
    "the order of the operations is that of TensorFlow's executor on a GPU, from its source; what each operation takes "
    "and gives back was compared with real steps on a CPU: half of them within 1%"
)
EAGER_WORDS = (
    "the step runs operation by operation: a GradientTape keeps what gradients ask for, Python every gradient until "
    "the step returns; compared with real steps on a CPU: half of them within 1%"
)
# benchmarks/estimate/compare_xla.py: of the tenth set 46 of 49 lay within at first, before anything was mended for it.
XLA_RANGE = (0.15, 0.2)
XLA_WORDS = (
    "what XLA fuses is estimated by rules: beside its own compiler half of the models of new kinds were within "
    "5%, one in eight off by more than 15% when they were first compared; oomlint[xla] asks the compiler itself"
)


def footprint(subject: Subject, program: str, gpu: str = "") -> Footprint:
    """Peak, parts and layers of a step. `program` is `graph`, `xla` or `eager`; `gpu` a card's name, or an amount."""
    lower, upper = XLA_RANGE if program == "xla" else GRAPH_RANGE
    if program == "xla":
        whole = traced(subject)
        step, lives = compiled(whole, card_of(gpu))
    elif program == "eager":
        step, one_order = eagerly(subject)
        whole, lives = step, _followed(step, one_order, forwarding=False)
    else:
        whole = step = unrolled(traced(subject, as_run=True))
        lives = _followed(step, order.queued(step))
    if subject.mode == "train":
        require_gradients_of_data(whole, subject)
    if program != "xla" and any(one.type.startswith(CONVOLUTIONS) for one in step.operations):
        upper = WITH_CONVOLUTIONS
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
        assumptions=[
            {"xla": XLA_WORDS, "eager": EAGER_WORDS}.get(program, GRAPH_WORDS),
            *_unknown(whole),
        ],
    )


def eagerly(subject: Subject) -> tuple[Program, list[int]]:
    """What runs of a step operation by operation, and in which order."""
    step = traced(subject, optimized=False)
    if any(operation.type in LOOPS for operation in step.operations):
        step = traced(subject)  # how many rounds a loop has shows once constants are folded
    return as_run_eagerly(step, _run_layer_by_layer(subject))


def _run_layer_by_layer(subject: Subject) -> set[str]:
    """The names of the functional and sequential models in a model, itself among them."""
    import keras

    functional = import_module("keras.src.models.functional").Functional
    layers = subject.model._flatten_layers()
    return {layer.name for layer in layers if isinstance(layer, (functional, keras.Sequential))}


def _unknown(step: Program) -> list[str]:
    words = f"{step.unknown} tensors have no static shape: their sides of unknown length are taken as one, "
    words += "so that more may be needed"
    return [WORDS] * bool(step.bounded) + [words] * bool(step.unknown)


def inside(body: Program) -> int:
    """What a loop's body, or a function that is called, takes at its own peak beside what it is given."""
    return peak_of(body).peak


def peak_of(program: Program) -> Lives:
    """The lives of a program's buffers on a GPU."""
    return _followed(program, order.queued(program))


def _followed(program: Program, one_order: list[int], forwarding: bool = True) -> Lives:
    scratch = partial(copied, program)
    return simulate(program, one_order, scratch=scratch, inside=inside, forwarding=forwarding)
