"""What the reports of an estimate call things."""

from __future__ import annotations

from oomlint.estimate.result import PARTS, Estimate
from oomlint.estimate.verdicts import MOST_BATCH, amount

PART_WORDS = {name: name.replace("_", " ") for name in PARTS}

PROGRAM_WORDS = {
    "xla": "one XLA program",
    "graph": "a TensorFlow graph, without XLA",
    "eager": "eagerly, operation by operation",
}

BACKEND_WORDS = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}

CERTAINTY_WORDS = {
    "exact": "counted, not estimated",
    "estimated": "by the engine's rules, whose error is in the range",
    "assumed": "assumed, see below",
}


def subject(estimate: Estimate) -> str:
    """What was estimated, in one line."""
    parts = [f"batch {estimate.batch_size:,}"]
    if estimate.mode == "predict":
        parts.insert(0, "prediction only")
    elif estimate.optimizer:
        parts.append(estimate.optimizer)
    parts += [estimate.policy, f"Keras on {BACKEND_WORDS.get(estimate.backend, estimate.backend)}"]
    if estimate.replicas > 1:
        parts.append(f"{estimate.replicas} replicas")
    return ", ".join(parts)


def program(estimate: Estimate) -> str:
    """Which program runs, and why."""
    words = f"runs as {PROGRAM_WORDS[estimate.program]}"
    return f"{words}: {estimate.reason}" if estimate.reason else words


def engine(estimate: Estimate) -> str:
    """Which engine said so, and what that means."""
    if estimate.engine == "xla":
        return "engine xla: XLA's own compiler for this GPU, its buffer assignment"
    how = "the traced step, the life of each buffer followed"
    if estimate.program == "xla":
        how += "; what XLA fuses by rules, since XLA's compiler (pip install 'oomlint[xla]') was not used"
    return f"engine graph: {how}"


def assumed_besides(estimate: Estimate) -> list[str]:
    """The assumptions that no report says first."""
    return [text for text in estimate.assumptions if text not in estimate.instead]


def largest(estimate: Estimate) -> str:
    """The largest batch in words; empty where nobody asked."""
    row = estimate.max_batch
    if row is None:
        return ""
    if not row["batch_size"]:
        return f"not even one sample fits: it needs {amount(row['peak_bytes'])}"
    if row["batch_size"] >= MOST_BATCH:
        return f"{MOST_BATCH:,} and more"
    words = f"{row['batch_size']:,} ({amount(row['peak_bytes'])})"
    sure, friendly = row.get("sure_batch_size", 0), row.get("friendly_batch_size", 0)
    if 0 < sure < row["batch_size"]:
        words += f", for sure {sure:,}"
    elif not sure:
        words += ", and none for sure"
    if friendly and friendly != row["batch_size"]:
        words += f"; fast and safe: {friendly:,} ({amount(row['friendly_peak_bytes'])})"
    return words


def of_the_card(estimate: Estimate) -> str:
    """How much of the card the usable memory is; empty where an amount was given instead of a card."""
    total = int(estimate.gpu.get("memory_bytes") or 0)
    return f"  of the card's {amount(total)}" if total > int(estimate.gpu["usable_bytes"]) else ""


def share(part: int, whole: int) -> float:
    """A part of a whole, also of none."""
    return part / whole if whole > 0 else 0.0


def shape_words(shape: tuple[int | None, ...] | None, batch: int) -> str:
    """`64 x 112 x 112 x 64`; layers leave the batch open, which is their first size."""
    if not shape:
        return ""
    sides = [batch if shape[0] is None else shape[0], *shape[1:]]
    return " x ".join("?" if side is None else f"{side}" for side in sides)
