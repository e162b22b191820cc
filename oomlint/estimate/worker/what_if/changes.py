"""What-if: the changes that people make when a run does not fit, each estimated anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from oomlint.estimate.errors import plain
from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate, Remedy
from oomlint.project.gpus import find_gpu

Estimator = Callable[[Request], Estimate]
# The largest batch with a change made, or None where nobody asked.
Largest = Callable[[Request, Estimate], int | None]

# A part below this share of the peak is not worth a change of its own.
_WORTH = 0.05


@dataclass(frozen=True, slots=True)
class Change:
    """A changed request, in words."""

    words: str
    request: Request
    cost: str
    changes_the_batch: bool = False


def what_if(
    request: Request, answer: Estimate, estimate: Estimator, largest: Largest
) -> tuple[list[Remedy], list[str]]:
    """The changes that save memory, the largest saving first; and what could not be tried, with the reason."""
    remedies: list[Remedy] = []
    left_out: list[str] = []
    for change in changes(request, answer):
        try:
            then = estimate(change.request)
            saved = answer.peak_bytes - then.peak_bytes
            if saved <= 0:
                left_out.append(f"{change.words} saves nothing here")
                continue
            batch = None if change.changes_the_batch else largest(change.request, then)
        except Exception as error:  # the user's own code runs in there
            left_out.append(f"{change.words}: {_reason(error)}")
            continue
        remedies.append(Remedy(change.words, then.peak_bytes, saved, batch, change.cost))
    remedies.sort(key=lambda remedy: -remedy.saved_bytes)
    return remedies, left_out


def _reason(error: Exception) -> str:
    """What went wrong, without Keras' words around it ("Exception encountered when calling ...")."""
    lines = [line.strip() for line in plain(str(error)).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("Exception encountered")] or lines
    return said[0][:160] if said else type(error).__name__


def changes(request: Request, answer: Estimate) -> Iterator[Change]:
    """What may be worth a try, from where the bytes are."""
    training = answer.mode == "train"
    share = {part: size / max(1, answer.peak_bytes) for part, size in answer.parts.items()}
    moving = share.get("activations", 0) + share.get("temporaries", 0)
    if answer.policy == "float32" and moving + share.get("gradients", 0) > _WORTH:
        yield _half_precision(request)
    if training and share.get("optimizer_state", 0) > _WORTH:
        yield from _fewer_slots(request, answer)
    if training and moving > _WORTH:
        yield Change(
            "recompute activations (keras.RematScope)",
            dataclasses.replace(request, remat=True),
            "the forward pass runs twice: about a third more time a step",
        )
        yield from _accumulation(request, answer)
    if moving + share.get("input", 0) > _WORTH:
        for scale in (0.75, 0.5):
            yield Change(
                f"input {scale:.0%} as long on each side{_sides(answer, scale)}",
                dataclasses.replace(request, input_scale=request.input_scale * scale),
                "sees less detail or context: accuracy may drop",
            )
    if training and request.frozen == 0:
        yield Change(
            "freeze the first half of the layers",
            dataclasses.replace(request, frozen=0.5),
            "they no longer learn: for fine-tuning pretrained weights",
        )


def _half_precision(request: Request) -> Change:
    gpu = find_gpu(request.gpu)
    policy = gpu.half_policy if gpu else "mixed_float16"
    cost = "coarser activations; keep the last layer's dtype float32"
    if policy == "mixed_float16":
        cost = "needs loss scaling, which compile() adds; keep the last layer's dtype float32"
    if gpu is not None and gpu.capability < (7, 0):
        cost += "; no faster on this GPU"
    return Change(
        f'mixed precision (set_global_policy("{policy}"))', dataclasses.replace(request, policy=policy), cost
    )


def _fewer_slots(request: Request, answer: Estimate) -> Iterator[Change]:
    """By what the optimizer keeps for each byte of the weights. Adafactor is none: Keras' keeps a full velocity."""
    kept = answer.parts["optimizer_state"] / max(1, answer.parts["weights"])
    name = (answer.optimizer or "").lower()
    if kept > 1.2 and name != "lion":
        yield Change(
            f"optimizer Lion instead of {answer.optimizer}",
            dataclasses.replace(request, optimizer="lion"),
            "one slot for each weight; wants a learning rate 3 to 10 times smaller than Adam's",
        )
    yield Change(
        f"optimizer SGD without momentum instead of {answer.optimizer}",
        dataclasses.replace(request, optimizer="sgd"),
        "no slot at all; slower to converge, and wants a learning rate of its own",
    )


def _accumulation(request: Request, answer: Estimate) -> Iterator[Change]:
    """The fewest micro-batches that may fit by a line through the estimate; two where it fits already."""
    fixed = sum(answer.parts.get(part, 0) for part in ("weights", "optimizer_state", "gradients"))
    fixed += answer.parts.get("gradients", 0)  # the sums that the optimizer keeps
    room = int(answer.gpu["usable_bytes"]) - fixed
    grows = max(1, answer.peak_bytes - fixed)
    steps = 2
    while steps * 2 <= answer.batch_size and room > 0 and grows / steps > room:
        steps *= 2
    if answer.batch_size // steps < 1 or answer.batch_size < 2:
        return
    micro = answer.batch_size // steps
    yield Change(
        f"{steps} micro-batches of {micro} (gradient_accumulation_steps={steps})",
        dataclasses.replace(request, batch_size=micro, accumulate_steps=request.accumulate_steps * steps),
        "smaller kernels, so more time an epoch; BatchNormalization sees the micro-batch",
        changes_the_batch=True,
    )


def _sides(answer: Estimate, scale: float) -> str:
    """The sides before and after, where the report's first layer is an image's input."""
    for layer in answer.layers:
        shape = layer.output_shape
        if layer.class_name == "InputLayer" and shape and len(shape) == 4 and shape[1] and shape[2]:
            sides = [(side, scaled(side, scale)) for side in shape[1:3] if side]
            return ": " + " to ".join("x".join(str(pair[which]) for pair in sides) for which in (0, 1))
    return ""


def scaled(side: int, scale: float) -> int:
    """A side of the input as `Request.input_scale` makes it: still a multiple of 32 (or 16, or 8) where it was one."""
    for step in (32, 16, 8):
        then = round(side * scale / step) * step
        if side % step == 0 and 0 < then < side:
            return then
    return max(1, round(side * scale))
