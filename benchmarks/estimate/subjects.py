"""A case of models.py as what an engine works on: compiled and built, its variables without memory."""

from __future__ import annotations

from typing import Any

from oomlint.estimate.worker.subject import Spec, Subject
from oomlint.estimate.worker.weightless import without_memory


def subject(name: str, batch: int, optimizer: Any, policy: str, jit: bool = False) -> Subject:
    """`optimizer` is a name (`momentum` too) or a function that makes one. Keras' backend is chosen before."""
    import keras
    import models

    keras.utils.clear_session()
    keras.config.set_dtype_policy(policy)
    with without_memory():
        case = models.case(name)
        chosen = optimizer() if callable(optimizer) else optimizer
        if chosen == "momentum":
            chosen = keras.optimizers.SGD(0.1, momentum=0.9)
        case.model.compile(optimizer=chosen, loss=case.loss, jit_compile=jit)
        case.model.optimizer.build(case.model.trainable_variables)
    xs, y = case.specs(batch)
    x = [Spec(*spec) for spec in xs]
    return Subject(case.model, (x if len(x) > 1 else x[0], *(() if y is None else (Spec(*y),))))
