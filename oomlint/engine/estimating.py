"""Estimates for `check --estimate`: which scripts get one, and each question asked once in a run.

Nothing else of the engine starts a process, and nobody imports this module unless estimates are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.built import learn
from oomlint.dryrun.queries.gpu_setup import on_a_tpu
from oomlint.dryrun.queries.tape_training import tape_trainings
from oomlint.dryrun.queries.trained_models import FIT, tries_sizes
from oomlint.dryrun.queries.unit_tests import in_test, is_test_module
from oomlint.dryrun.trace import Body
from oomlint.estimate import launch
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.places import row_of
from oomlint.estimate.request import Request
from oomlint.estimate.slicing.script import slice_trace
from oomlint.estimate.slicing.ways import METHODS
from oomlint.findings.estimates import Estimated
from oomlint.project.gpus import write_bytes
from oomlint.syntax.positions import Positions

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.dryrun.trace import Call, Trace
    from oomlint.estimate.result import Estimate
    from oomlint.estimate.slicing.script import Slice
    from oomlint.estimate.slicing.trainings import Training
    from oomlint.project.settings import Settings

Ask = Callable[[Request, Sequence[Path]], "Estimate"]
Read = Callable[[Path], "Document"]


def ask_child(request: Request, folders: Sequence[Path]) -> Estimate:
    """The answer of a child process. Raises EstimateError."""
    return launch.estimate(request, folders=folders, environment=launch.backend_environment(request))


class Estimator:
    """Estimates the training step of scripts. `remarks` are the reasons where it could not, a line for each."""

    def __init__(self, read: Read, ask: Ask | None = None) -> None:
        self.remarks: list[str] = []
        self._read = read
        self._ask = ask or ask_child
        self._answers: dict[str, Estimate | EstimateError] = {}
        self._missing: set[object] = set()  # Keras of a kind that is not installed: others would fail as well

    def __call__(self, trace: Trace, settings: Settings) -> Estimated | None:
        """The estimate of a script that trains, at its own batch size; None where there is none to make."""
        if is_test_module(trace.source) or on_a_tpu(trace) or not any(map(_runs, _training_calls(trace))):
            return None
        try:
            return self._estimated(trace, settings)
        except EstimateError as error:
            self._remark(trace.source.document, error)
        except Exception as error:  # a slice that fails must not cost the other findings
            reason = EstimateError(f"{type(error).__name__}: {error} (this is a bug of oomlint)")
            self._remark(trace.source.document, reason)
        return None

    def _estimated(self, trace: Trace, settings: Settings) -> Estimated | None:
        sliced = slice_trace(trace, settings, self._read)
        training = sliced.training
        if training is None or not training.reached:
            return None
        call = training.seen or _unseen(trace, training)
        if call is None or in_test(call) or tries_sizes(call.context) or _elsewhere(sliced.names):
            return None
        if sliced.names.get("strategy:whole") and not sliced.names.get("strategy:count"):
            raise EstimateError("how many replicas share the batch is not known", "slice", line=training.line)
        kind = sliced.names.get("backend"), sliced.names.get("keras")
        if kind in self._missing:
            return None
        try:
            found = Estimated(self._answer(request_for(sliced, trace, settings), trace), call)
        except EstimateError as error:
            if error.kind == "extra":
                self._missing.add(kind)
            raise
        estimate = found.estimate
        learn(trace, call, estimate.layers, estimate.batch_size if found.batch_known else None)
        return found

    def _answer(self, request: Request, trace: Trace) -> Estimate:
        key = request.to_json()
        if key not in self._answers:
            document = trace.source.document
            folder = (document.path or Path(document.filename)).resolve().parent
            try:
                self._answers[key] = self._ask(request, [folder, Path.cwd()])
            except EstimateError as error:
                self._answers[key] = error
        found = self._answers[key]
        if isinstance(found, EstimateError):
            raise found
        return found

    def _remark(self, document: Document, error: EstimateError) -> None:
        if error.kind == "extra":
            line = f"no estimates: {error.message}. {error.hint}".rstrip(" .")
        else:
            row = f":{row_of(error.file or document.filename, error.line)}" if error.line else ""
            own = (document.path or Path(document.filename)).resolve()
            elsewhere = error.file is not None and Path(error.file).resolve() != own
            where, what = ("", f"{error.file}{row}: ") if elsewhere else (row, "")
            line = f"{document.filename}{where}: no estimate: {what}{' '.join(error.message.split())}"
        if line not in self.remarks:
            self.remarks.append(line)


def request_for(sliced: Slice, trace: Trace, settings: Settings) -> Request:
    """The question: the script's step as it is, on the GPU that is configured."""
    budget = settings.budget
    return Request(
        trace.source.document.filename,
        source=sliced.text,
        names=sliced.names,
        gpu=budget.gpu_name or write_bytes(budget.gpu),
        usable_bytes=budget.gpu,
        replicas=sliced.replicas or 1,
        max_batch_if_over=True,
    )


def _training_calls(trace: Trace) -> list[Call]:
    calls = [*trace.calls(*FIT), *(one.gradient for one in tape_trainings(trace))]
    return [*calls, *(call for call in trace.loose if call.name in METHODS)]


def _runs(call: Call) -> bool:
    """Whether running the file comes to a call. What only importers call is theirs to be estimated for."""
    return all(body.called for body in call.context.all(Body))


def _elsewhere(names: Mapping[str, str]) -> bool:
    """Whether what trains is on TPUs, or its variables are spread over parameter servers."""
    return names.get("strategy", "").startswith(("TPU", "ParameterServer"))


def _unseen(trace: Trace, training: Training) -> Call | None:
    """The call of a training on what the dry run does not know, by where the slicing met it."""
    calls = [
        call for call in trace.loose if call.name in METHODS and _file(call) == training.unit.path.resolve()
    ]
    if not calls:
        return None
    positions = Positions(calls[0].source, [call.node for call in calls])
    lines = calls[0].source.document.lines
    return next((call for call in calls if lines.row(positions.span(call.node)[0]) == training.line), None)


def _file(call: Call) -> Path:
    document = call.source.document
    return (document.path or Path(document.filename)).resolve()
