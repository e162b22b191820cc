"""From a script to the part of it that makes the model: the entry of the slicing."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oomlint.documents.python_file import DocumentError
from oomlint.documents.python_syntax import unwarned
from oomlint.documents.reading import read
from oomlint.dryrun import dry_run
from oomlint.estimate.assumed import GRADIENTS, STEP, plain_step
from oomlint.estimate.errors import NO_TRAINING, EstimateError
from oomlint.estimate.places import row_of
from oomlint.estimate.slicing.batch import find_batch, said_of_batch
from oomlint.estimate.slicing.beside import beside, one_after_the_other, skipped
from oomlint.estimate.slicing.branches import Branches
from oomlint.estimate.slicing.clustering import switched_on
from oomlint.estimate.slicing.emission import Emission
from oomlint.estimate.slicing.functions import Functions, statements
from oomlint.estimate.slicing.inner_gradients import inner_gradient
from oomlint.estimate.slicing.known import Known
from oomlint.estimate.slicing.learned_inputs import learned_input
from oomlint.estimate.slicing.losses import loss_by_hand
from oomlint.estimate.slicing.needs import Needs
from oomlint.estimate.slicing.order import Order
from oomlint.estimate.slicing.program import Program, blocks
from oomlint.estimate.slicing.replication import replicate
from oomlint.estimate.slicing.samples import length_named, sample_named
from oomlint.estimate.slicing.several_passes import several_passes
from oomlint.estimate.slicing.taint import Taint
from oomlint.estimate.slicing.trainings import Training, trainings_of
from oomlint.estimate.slicing.vocabulary import TF_KERAS
from oomlint.estimate.slicing.ways import Step, functions_of
from oomlint.estimate.slicing.whole_steps import keep_whole
from oomlint.project.configuration import project_root
from oomlint.project.settings import Settings
from oomlint.syntax.gates import SyntaxFault
from oomlint.syntax.parse import parse
from oomlint.syntax.recursion import with_room

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.dryrun import Trace
    from oomlint.syntax.source import Source


@dataclass(slots=True)
class Slice:
    """The part of a script that is run. `names` goes to the child with it: modules, generation, where things were."""

    text: str
    names: dict[str, str] = field(default_factory=dict)
    replicas: int = 0
    training: Training | None = None


class _Modules:
    """A ModuleResolver that reads each module once."""

    def __init__(self, program: Program) -> None:
        self._finder = program.finder
        self._sources: dict[Path, Source | None] = {}

    def resolve(self, importer: Document, module: str, level: int) -> Source | None:
        """The parsed module, or None."""
        place = importer.path or Path(importer.filename)
        path = self._finder.find(place.absolute().parent, module, level)
        if path is None:
            return None
        if path not in self._sources:
            try:
                self._sources[path] = parse(read(path))
            except (DocumentError, SyntaxFault, OSError):
                self._sources[path] = None
        return self._sources[path]


def slice_script(
    path: Path,
    *,
    function: str = "",
    model: str | None = None,
    values: dict[str, Any] | None = None,
    settings: Settings | None = None,
    fallback: bool = False,
    root: Path | None = None,
    attributes: Collection[str] = (),
) -> Slice:
    """The slice of a script for its training call, or for a function of it. Raises EstimateError.

    `settings` are its project's. `fallback`: a step that cannot be followed may be a plain one, which is said. `root`
    is where its modules are looked for, `attributes` are what is asked of what the function gives back.
    """
    path = path.resolve()

    def sliced() -> Slice:
        document = read(path)
        program = Program(path, root or project_root(path.parent))
        trace = with_room(lambda: dry_run(parse(document), _Modules(program)))
        return with_room(
            lambda: _sliced(
                program, trace, settings or Settings(), function, model, values or {}, fallback, attributes
            )
        )

    return _or_error(path, sliced)


def slice_trace(trace: Trace, settings: Settings, read: Callable[[Path], Document]) -> Slice:
    """The slice for the training call of a script that was dry-run already. Raises EstimateError.

    `settings` are its project's, `read` gives the texts of modules as the dry run had them.
    """
    document = trace.source.document
    path = (document.path or Path(document.filename)).resolve()

    def text_of(file: Path) -> Document:
        return document if file == path else read(file)

    return _or_error(
        path,
        lambda: with_room(
            lambda: _sliced(Program(path, settings.root, text_of), trace, settings, "", None, {})
        ),
    )


@unwarned()
def _or_error(path: Path, sliced: Callable[[], Slice]) -> Slice:
    try:
        return sliced()
    except SyntaxFault as fault:
        raise EstimateError(
            f"Python cannot parse it: {fault.message}", "slice", str(path), fault.line
        ) from None
    except SyntaxError as error:
        raise EstimateError(
            f"Python cannot parse it: {error.msg}", "slice", str(path), error.lineno
        ) from None
    except (DocumentError, OSError, ValueError) as error:
        raise EstimateError(f"cannot be read: {error}", "slice", str(path)) from None


def _sliced(
    program: Program,
    trace: Trace,
    settings: Settings,
    function: str,
    model: str | None,
    values: dict[str, Any],
    fallback: bool = False,
    attributes: Collection[str] = (),
) -> Slice:
    for one in list(ast.walk(program.main.tree)):  # so that the units are there before anything asks for them
        if isinstance(one, ast.ImportFrom):
            program.module(program.main, one.module or "", one.level)
        elif isinstance(one, ast.Import):
            for alias in one.names:
                program.module(program.main, alias.name, 0)
    known = Known(trace, program)
    functions = Functions(program)
    taint = Taint(functions, known, values)
    needs = Needs(program, functions, taint)
    names = _facts(trace, settings, program)
    taint.survey([program.main])
    if function:
        needs.attributes.update(attributes)
        _require_function(program, needs, function)
        emission = Emission(needs, None, [])
        text = emission.text(program.main)
        return Slice(
            text, names | {"function": function, "path": str(program.main.path)} | emission.modules()
        )
    trained = trainings_of(trace, program, known)
    branches = Branches(program, values)
    training = choose(trained, model, program.main.path, branches)
    if model is None and (learned := learned_input(training, functions)) is not None:
        raise learned
    if model is None and not all(map(branches.taken, trained)) and branches.taken(training):
        names["branch"] = branches.words()
    if not training.reached and _runs_something(program, functions):
        where = getattr(training.way[-1].scope.node, "name", "the module")
        names["unreached"] = (
            f"no training was found in what the script calls: estimated is that of {where} (line {training.line}), "
            "which nothing calls (another: --model LINE)"
        )
    if training.batch is None:
        find_batch(training, trace, functions)
    names |= said_of_batch(training, trace, functions)
    training.others = beside(training, trained)
    if model is None and (more := one_after_the_other(training, list(filter(branches.taken, trained)))):
        names["more"] = more
        names |= {"skipped": str(count)} if (count := skipped(training, trained)) else {}
    for step in training.way:
        allowed = needs.on_path[id(step.scope)] = before(step)
        needs.order[id(step.scope)] = Order(step.scope.node.body, allowed)
    if (inner := inner_gradient(training, functions)) is not None:
        message = (
            "the loss takes a gradient with regard to its inputs there, and what that takes is not followed"
        )
        hint = "It is in the train_step of a keras.Model: write the step as one to have it estimated."
        if not keep_whole(training, needs):
            error = EstimateError(message, "slice", str(inner[0].path), inner[1], hint)
            if inner[2] or not fallback:
                raise error
            names |= {"plainly": "1", "assumed": plain_step(error, GRADIENTS).to_json()}
    elif (again := several_passes(training, functions)) is not None and not keep_whole(training, needs):
        message = "the tape records several passes of the model there, and one is followed"
        error = EstimateError(message, "slice", str(again[0].path), again[1], _OWN_FUNCTION)
        if not fallback:
            raise error
        names |= {"plainly": "1", "assumed": plain_step(error, STEP).to_json()}
    elif training.by_hand and training.others:
        whole = _in_one_function(training) and keep_whole(training, needs)
        names["together" if whole else "apart"] = "1"
    names |= loss_by_hand(training, trace, known) if training.by_hand else {}
    names |= replicate(training, trace)
    names |= {"element_named": training.element_named} if training.element_named else {}
    if (sample := sample_named(trace)) is not None:
        names |= {"sample": ",".join(map(str, sample[0])), "sample_named": sample[1]}
    if (length := length_named(trace)) is not None:
        names |= {"length": str(length[0]), "length_named": length[1]}
    emission = Emission(needs, training, list(values))
    emission.seed()
    needs.settle()
    emission.settle()
    text = emission.text(program.main)
    names |= {"path": str(program.main.path), "line": str(training.line)} | emission.modules()
    names["way"] = json.dumps(functions_of(training.way))
    if training.unit is not program.main:
        names["trained_in"] = str(training.unit.path)
    return Slice(text, names, training.replicas or 0, training)


_OWN_FUNCTION = "Write the step as a function of its own, which is given a batch, to have it followed whole."


def _in_one_function(training: Training) -> bool:
    return all(one.way[-1].scope is training.way[-1].scope for one in training.others)


def _require_function(program: Program, needs: Needs, function: str) -> None:
    root = function.partition(".")[0]
    scope = program.main.scope
    if root not in scope.bound:
        import difflib

        near = difflib.get_close_matches(root, scope.bound, n=1)
        raise EstimateError(
            f"{program.main.path.name} has no {root!r}",
            "target",
            hint=f"Did you mean {near[0]!r}?" if near else "",
        )
    needs.require(root, scope)
    needs.attributes.update(function.split(".")[1:])
    needs.settle()


def choose(
    trainings: list[Training], model: str | None, path: Path, branches: Branches | None = None
) -> Training:
    """The training call that is meant: by its model's name or line, else the one with the largest model.

    Those that the script's options, with their defaults, do not lead to are left out.
    """
    if not trainings:
        raise EstimateError(
            f"{NO_TRAINING}: nothing is fitted, no gradient is taken, no Keras model is made",
            "slice",
            str(path),
            hint=f"Name the function that builds the model: {path.name}:build_model",
        )
    if model is not None:
        if model.isdigit():
            found = [one for one in trainings if one.line == int(model)]
        else:
            found = [one for one in trainings if model in (one.name, one.name.rpartition(".")[2])]
        if not found:
            rows = ((one.name, row_of(str(path), one.line)) for one in trainings)
            known = ", ".join(
                dict.fromkeys(f"{name} ({row if ':' in row else f'line {row}'})" for name, row in rows)
            )
            raise EstimateError(
                f"no model {model!r} is trained", "slice", str(path), hint=f"There is {known}."
            )
        trainings = found
    if branches is not None and model is None:
        trainings = [one for one in trainings if branches.taken(one)] or trainings
    whole = [one for one in trainings if one.reached] or trainings
    # Of several ways to one call the last: what was frozen for the first rounds is trained by then.
    return max(whole, key=lambda one: (one.parameters or 0, one.compiled, one.line, _rows(one)))


def _rows(training: Training) -> list[int]:
    """The rows on the way to a call, from the module on."""
    return [0 if step.statement is None else step.statement.lineno for step in training.way]


def _runs_something(program: Program, functions: Functions) -> bool:
    """Whether the script calls functions of the program when it is run."""
    scope = program.main.scope
    return any(
        isinstance(node, ast.Call) and functions.callees(scope.unit, scope, node)
        for one in statements(program.main.tree.body)
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(one)
    )


def before(step: Step) -> set[int]:
    """The statements that may have run when a step's statement begins, as ids."""
    node = step.scope.node
    if step.statement is None:
        return {id(one) for one in statements(node.body)}
    allowed: set[int] = set()
    _collect(node.body, step.statement, allowed)
    return allowed


def _collect(body: list[ast.stmt], stop: ast.stmt, allowed: set[int]) -> bool:
    """Gather what precedes a statement; true once it was met."""
    for statement in body:
        if statement is stop:
            return True
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            allowed.add(id(statement))
            continue
        inside = [block for block in blocks(statement) if _holds(block, stop)]
        if inside:
            _collect(inside[0], stop, allowed)
            return True
        allowed.add(id(statement))
        for block in blocks(statement):
            allowed.update(id(one) for one in statements(block))
    return False


def _holds(block: list[ast.stmt], stop: ast.stmt) -> bool:
    return any(one is stop for one in statements(block))


# What no Keras after 2.3 has, in a script of the package `keras`.
_OLD = re.compile(
    r"\bConvolution[123]D\(|dim_ordering|\b(border_mode|nb_epoch)\s*=|\bkeras\.layers\.convolutional\b"
)


def _facts(trace: Trace, settings: Settings, program: Program) -> dict[str, str]:
    """Keras' generation and backend, as the script or its project chooses them."""
    from oomlint.dryrun.queries.backend import keras_backend
    from oomlint.dryrun.queries.keras_version import asks_for_tf_keras, for_keras_2

    names = {"backend": keras_backend(trace, settings) or "tensorflow"}
    text = trace.source.document.text
    texts = [text, *(one.text for one in program.units if one is not program.main)]
    old = any(_OLD.search(one) and not TF_KERAS.search(one) for one in texts)
    if for_keras_2(trace) or (old and not TF_KERAS.search(text)):
        names["keras"] = "2"
    if asks_for_tf_keras(trace):
        names["legacy"] = "1"
    if how := switched_on(trace):
        names["clustering"] = how
    return names
