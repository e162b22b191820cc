"""A case of models.py as what an engine works on: compiled and built, its variables without memory."""

from __future__ import annotations

from typing import Any

from oomlint.estimate.worker.keras.weightless import without_memory
from oomlint.estimate.worker.subject import Spec, Subject

# Optimizers with more than a name.
OPTIMIZERS = {
    "momentum": lambda optimizers: optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda optimizers: optimizers.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=1e-4),
    "adamw_clipped": lambda optimizers: optimizers.AdamW(1e-3, global_clipnorm=1.0),
    "adam_clipped": lambda optimizers: optimizers.Adam(1e-3, clipnorm=1.0),
    "adam_averaged": lambda optimizers: optimizers.Adam(1e-3, use_ema=True),
    "adam_accumulated": lambda optimizers: optimizers.Adam(1e-3, gradient_accumulation_steps=4),
}


def subject(name: str, batch: int, optimizer: Any, policy: str, jit: bool = False) -> Subject:
    """`optimizer` is a name (of OPTIMIZERS, too) or a function that makes one. Keras' backend is chosen before."""
    import keras
    import models

    keras.utils.clear_session()
    keras.config.set_dtype_policy(policy)
    with without_memory():
        case = models.case(name)
        chosen = optimizer() if callable(optimizer) else optimizer
        if chosen in OPTIMIZERS:
            chosen = OPTIMIZERS[chosen](keras.optimizers)
        case.model.compile(optimizer=chosen, loss=case.loss, jit_compile=jit, **case.options)
        case.model.optimizer.build(case.model.trainable_variables)
    xs, y = case.specs(batch)
    x = [Spec(*spec) for spec in xs]
    data: list[Any] = [x if len(x) > 1 else x[0]]
    if y is not None:
        data.append([Spec(*one) for one in y] if isinstance(y, list) else Spec(*y))
    if case.weight is not None:
        data.append(Spec((batch, *case.weight[0]), case.weight[1]))
    return Subject(case.model, tuple(data))
