"""Steps of models' own, followed, beside the plain step that is estimated where one cannot be followed.

    python plain_steps.py [--batch 32] [NAME ...]

Prints what both need (engine graph, without XLA) and the share; `oomlint/estimate/assumed.py` has its limits from that.
"""

from __future__ import annotations

import argparse
import importlib
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import models

from oomlint.estimate.request import Request
from oomlint.estimate.worker.graph import engine
from oomlint.estimate.worker.keras import generation
from oomlint.estimate.worker.keras.weightless import without_memory
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.step import beside, compiling, data_specs, plain_step
from oomlint.estimate.worker.subject import Spec, Subject

MIB = 1 << 20


def followed(case: models.Case, batch: int) -> int:
    """What the model's own step needs."""
    x, y = specs(case, batch)
    with without_memory():
        loss = {} if case.loss is None else {"loss": case.loss}
        options = {"optimizer": keras.optimizers.Adam(), **loss, **case.options, "jit_compile": False}
        case.model.compile(**options)
        if not Made(case.model).has_no_call:
            compiling.built_outputs(case.model, x)
        compiling.build_slots(case.model, x, y)
    return engine.footprint(Subject(case.model, (x,) if y is None else (x, y)), "graph", "T4").peak


def plain(case: models.Case, batch: int) -> int:
    """What one pass of it needs, or of the models in it."""
    request = Request("", batch_size=batch)
    with without_memory():
        made = Made(case.model, by_hand="graph")
        plain_step.make(made)
        made.optimizer = made.optimizer or keras.optimizers.Adam()
        known = generation.inputs_of(made.model)
        x = data_specs.inputs(made, request, batch, []) if known else specs(case, batch)[0]
        outputs = compiling.built_outputs(made.model, x)
        compiling.compile_model(made, request, outputs, [])
        y = data_specs.targets(made, outputs, batch, [])
        compiling.build_slots(made.model, x, y)
        others = beside.subjects(made, x, outputs, request, batch, [])
    subject = Subject(made.model, (x,) if y is None else (x, y), others=others, one_step=True)
    found = engine.footprint(subject, "graph", "T4")
    if others:
        found = beside.together(subject, found, lambda one: engine.footprint(one, "graph", "T4"))
    return found.peak


def specs(case: models.Case, batch: int) -> tuple[object, object]:
    """Shapes and dtypes of a batch."""
    x, y = case.specs(batch)
    given = [Spec(*one) for one in x]
    wanted = [Spec(*one) for one in y] if isinstance(y, list) else y and Spec(*y)
    return given[0] if len(given) == 1 else given, wanted


def main() -> None:
    """Each model with a step of its own, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--batch", type=int, default=32)
    arguments = parser.parse_args()
    for module in models.SETS:
        importlib.import_module(module)
    for name in arguments.names or list(models.BUILDERS):
        try:
            with without_memory():
                case = models.case(name)
            if compiling.own_step(case.model):
                whole = followed(case, arguments.batch)
                with without_memory():
                    again = models.case(name)
                part = plain(again, arguments.batch)
                print(f"{name:28} {whole / MIB:9.1f} {part / MIB:9.1f} {whole / part:6.2f}", flush=True)
        except Exception as error:  # a model that one of the two cannot take
            print(f"{name:28} {type(error).__name__}: {' '.join(str(error).split())[:90]}", flush=True)


if __name__ == "__main__":
    main()
