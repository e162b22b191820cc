"""The training calls of a script: which model, where, and through which calls of the program it is reached."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oomlint.dryrun.queries.tape_training import model_of, tape_trainings
from oomlint.dryrun.queries.trained_models import FIT, trained_models
from oomlint.dryrun.trace import Body
from oomlint.dryrun.values.base import Const, deref
from oomlint.estimate.slicing.functions import Functions, calls_in, statements
from oomlint.estimate.slicing.known import element, first, rest
from oomlint.estimate.slicing.program import Program, Scope, Unit, dotted, own_expressions, root_name
from oomlint.estimate.slicing.receivers import applying, models_in
from oomlint.estimate.slicing.threads import in_thread
from oomlint.estimate.slicing.ways import METHODS, Step, way_by_name

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Context, Trace
    from oomlint.dryrun.values.training import Model
    from oomlint.estimate.slicing.known import Known
    from oomlint.syntax.place import Place


@dataclass(slots=True)
class Training:
    """One training call. `way` leads from the module to the function that holds it."""

    receiver: ast.expr
    unit: Unit
    line: int
    way: list[Step]
    parameters: int | None = None
    batch: Any = None  # a number, or the expression that the call is given
    batch_named: str = ""  # where it was found, if not in the call
    element: Any = None
    element_named: str = ""  # where that was found, if not in what the call is given
    arguments: list[Any] = field(default_factory=list)  # where the model is called on several things
    named: dict[str, Any] = field(default_factory=dict)
    rest: Any = None  # of each batch: labels and weights, or what a step of the model's own is given there
    optimizer: ast.expr | None = None
    by_hand: str = ""
    replicas: int | None = None
    compiled: bool = True  # false: nothing is seen of it but the making
    seen: Call | None = None  # what the dry run saw of it
    step: ast.stmt | None = None  # the function that is followed whole
    handed: dict[str, Any] = field(default_factory=dict)  # and what it is given: shapes and dtypes
    others: list[Training] = field(default_factory=list)  # other models that the same rounds train

    @property
    def name(self) -> str:
        """What the script calls the model there."""
        return ast.unparse(self.receiver)

    @property
    def reached(self) -> bool:
        """Whether running the script comes to it."""
        return self.way[0].statement is not None or len(self.way) == 1


def trainings_of(trace: Trace, program: Program, known: Known) -> list[Training]:
    """All training calls, those that the dry run saw first; else what looks like one."""
    found = [*_compiled(trace, program, known), *_taped(trace, program, known)]
    seen_there = bool(trace.calls(*FIT)) or any(True for _ in tape_trainings(trace))
    if not found and seen_there and program.read_on():
        known.read()  # a class that trains as it is made, whose base is in a module of a module
        found = [*_compiled(trace, program, known), *_taped(trace, program, known)]
    seen = {(id(one.unit), one.line) for one in found}
    written = [one for one in _written(program) if (id(one.unit), one.line) not in seen]
    if not found and not written and program.read_on():
        written = list(_written(program))  # in a module of a module: a class that fits, and its base
    written = _without_wrappers(found, written)
    if not found and not written:
        written = list(_gradients(program))
    return [*found, *written] if found or written else list(_made(program))


def _without_wrappers(found: list[Training], written: list[Training]) -> list[Training]:
    """Those whose call is not on the way to another: `reader.fit(...)` may be a method of the script's that fits."""
    ways = {id(step.call) for one in (*found, *written) for step in one.way[:-1] if step.call is not None}
    return [one for one in written if id(one.way[-1].call) not in ways]


def _batches(trace: Trace) -> dict[int, tuple[Any, int | None]]:
    batches: dict[int, tuple[Any, int | None]] = {}
    for trained in trained_models(trace):
        count = None if trained.batch is None else trained.batch.value
        batches[id(trained.model)] = (count or None, None)  # none of a list that nothing has filled yet
    return batches


def _compiled(trace: Trace, program: Program, known: Known) -> Iterator[Training]:
    batches = _batches(trace)
    for call in trace.calls(*FIT):
        training = _of_call(call, program, known)
        if training is None:
            continue
        model = model_of(call.receiver)
        if model is not None:
            _tell(training, model)
            training.batch = batches.get(id(model), (None, None))[0]
        data = next((call.value(name) for name in ("x", "generator", "data") if call.argument(name)), None)
        if data is not None:
            training.element = first(data)
            training.rest = rest(data, call)
        if model is not None and _is_open(training.element):
            before = _called_on(trace, model, call)  # `model(tf.ones((1, 416, 416, 3)))` made its weights
            if before is not None:
                training.element, training.element_named = before, "the model is called on that before"
        if training.batch is None:
            training.batch = _argument(training, "batch_size")
        yield training


def _tell(training: Training, model: Model) -> None:
    count = None if model.parameters is None else model.parameters.value
    training.parameters = count if isinstance(count, int) else None


def _argument(training: Training, name: str) -> ast.expr | None:
    statement = training.way[-1].statement
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.Call) and node.lineno <= training.line <= (node.end_lineno or 0):
            for keyword in node.keywords:
                if keyword.arg == name:
                    return keyword.value
    return None


def _of_call(call: Call, program: Program, known: Known) -> Training | None:
    row, column = known.where(call.place)
    unit = _unit(program, call.place)
    if unit is None:
        return None
    way = _way(call.context, call.place, program, known)
    if way is None:
        return None
    node = _call_at(way[-1].statement, row, column)
    if node is None or not isinstance(node.func, ast.Attribute):
        return None
    way[-1].call = node
    receiver = node.func.value
    if isinstance(receiver, ast.Call) and dotted(receiver.func) == "super":
        return None
    return Training(receiver, unit, row, way, seen=call)


def _taped(trace: Trace, program: Program, known: Known) -> Iterator[Training]:
    batches = _batches(trace)
    seen: set[tuple[int, int]] = set()
    for training in tape_trainings(trace):
        call = training.gradient
        unit = _unit(program, call.place)
        way = _way(call.context, call.place, program, known) if unit is not None else None
        if unit is None or way is None:
            continue
        scope = way[-1].scope
        if trace.calls(*FIT) and any(_is_step(one.scope) for one in way):
            continue  # `fit` runs it
        row, column = known.where(call.place)
        node = _call_at(way[-1].statement, row, column)
        receivers = models_in(node, scope) if node is not None else []
        if (id(call), len(receivers)) in seen:
            continue  # the sum of several models' variables, once for each of them
        seen |= {(id(call), len(receivers))} if len(receivers) > 1 else set()
        for receiver in receivers:
            made = Training(receiver, unit, row, way, seen=call)
            _tell(made, training.model)
            made.batch = batches.get(id(training.model), (None, None))[0]
            made.element = _called_on(trace, training.model, call) if len(receivers) == 1 else None
            if len(receivers) == 1:
                made.arguments, made.named = _called_on_several(trace, training.model, call)
            made.by_hand = "graph" if call.context.role("tf.function") else "eager"
            if training.applied is not None and training.applied.path:
                named = ast.parse(training.applied.path, mode="eval").body
                made.optimizer = named if scope.of(root_name(named)) is not None else None
            elif training.applied is None and len(receivers) == 1:
                made.optimizer = applying(scope)
            yield made


def _is_open(nest: Any) -> bool:
    """Whether nothing, or not every size, is known of what is handed over."""
    if isinstance(nest, tuple) and len(nest) == 2 and isinstance(nest[1], str):
        return None in nest[0][1:]
    if isinstance(nest, dict):
        nest = list(nest.values())
    return nest is None or any(map(_is_open, nest))


def _is_step(scope: Scope) -> bool:
    """Whether Keras calls it for a step."""
    names = ("train_step", "compute_gradients")
    return scope.owner is not None and getattr(scope.node, "name", "") in names


def _called_on(trace: Trace, model: Model, gradient: Call) -> Any:
    """What the model was last called on before its gradient was taken."""
    for call in reversed(trace.calls("keras.Model.__call__")):
        if call.index < gradient.index and model_of(call.receiver) is model:
            value = call.value("inputs") or (call.arguments[0].value if call.arguments else None)
            found = element(value)
            if found is not None:
                return found
    return None


def _called_on_several(trace: Trace, model: Model, gradient: Call) -> tuple[list[Any], dict[str, Any]]:
    """The same of a model that is called on several things: shapes, numbers, and None for what is not known."""
    for call in reversed(trace.calls("keras.Model.__call__")):
        if call.index < gradient.index and model_of(call.receiver) is model and len(call.arguments) > 1:
            if any(one.star for one in call.arguments):
                return [], {}
            plain = [_said(one.value) for one in call.arguments if one.name is None]
            return plain, {one.name: _said(one.value) for one in call.arguments if one.name is not None}
    return [], {}


def _said(value: Any) -> Any:
    value = None if value is None else deref(value)
    if isinstance(value, Const):
        return value.value if isinstance(value.value, bool | int | float) else None
    return element(value)


def _gradients(program: Program) -> Iterator[Training]:
    """Gradients of a model's variables, where the dry run does not know the tape or the model."""
    functions = Functions(program)
    for unit in program.units:
        for scope in unit.scopes.values():
            name = "" if isinstance(scope.node, ast.Module) else scope.node.name
            of_keras = scope.owner is not None and not functions.of_program(scope.owner, scope.unit)
            if of_keras and name in ("train_step", "get_gradients", "compute_gradients"):
                called = way_by_name(program, scope, scope.node.body[0])
                if called is None or called[0].statement is None:
                    continue  # `fit` calls it there
            for statement, call in calls_in(scope):
                if not isinstance(call.func, ast.Attribute):
                    continue
                if call.func.attr not in ("gradient", "minimize", "apply_gradients"):
                    continue
                receivers = models_in(call, scope)
                way = way_by_name(program, scope, statement) if receivers else None
                if way is None:
                    continue
                by_hand = "graph" if _is_graph(way) else "eager"
                optimizer = applying(scope) if len(receivers) == 1 else None
                for receiver in receivers:
                    yield Training(receiver, unit, call.lineno, way, by_hand=by_hand, optimizer=optimizer)


def _is_graph(way: list[Step]) -> bool:
    """Whether a function on the way is a `tf.function`."""
    return any(
        "function" in ast.unparse(decorator)
        for step in way
        if not isinstance(step.scope.node, ast.Module)
        for decorator in step.scope.node.decorator_list
    )


def _unit(program: Program, place: Place) -> Unit | None:
    document = place.source.document
    return program.unit_of(str(document.path or document.filename))


def _way(context: Context, place: Place, program: Program, known: Known) -> list[Step] | None:
    """From the module to the place, through the calls that the dry run took."""
    bodies = list(context.all(Body))[::-1]
    way: list[Step] = []
    scope = program.main.scope
    for body in bodies:
        inner = _scope_of(body, program, known)
        if inner is None:
            return None
        if not body.called or body.site is None:
            if inner.unit is not program.main:
                return None
            way = [Step(program.main.scope, None)]
        else:
            row, _ = known.where(body.statement or body.site)
            statement = _statement_in(scope, row)
            if statement is None:
                return None
            call_row, call_column = known.where(body.site)
            call = _call_at(statement, call_row, call_column)
            way.append(Step(scope, statement, call))
        scope = inner
    row, _ = known.where(place)
    statement = _statement_in(scope, row)
    if statement is None:
        return None
    way.append(Step(scope, statement))
    if way[0].statement is None and len(way) > 1 and way[1].statement is not None:
        before = way_by_name(program, way[1].scope, way[1].statement) or []
        if any(in_thread(step.call) for step in before):  # the dry run sees no call there
            way[:1] = before[:-1]
    return way


def _scope_of(body: Body, program: Program, known: Known) -> Scope | None:
    unit = _unit(program, body.place)
    if unit is None:
        return None
    row, _ = known.where(body.place)
    for scope in unit.scopes.values():
        node = scope.node
        if not isinstance(node, ast.Module):
            rows = {node.lineno, *(one.lineno for one in node.decorator_list)}
            if row in rows:
                return scope
    return None


def _statement_in(scope: Scope, row: int) -> ast.stmt | None:
    """The innermost statement of a scope that spans a row."""
    found = None
    for one in statements(scope.node.body):
        if one.lineno <= row <= (one.end_lineno or 0) and not isinstance(one, ast.FunctionDef | ast.ClassDef):
            found = one
    return found


def _call_at(statement: ast.stmt | None, row: int, column: int) -> ast.Call | None:
    if statement is None:
        return None
    calls = [
        node
        for expression in own_expressions(statement)
        for node in ast.walk(expression)
        if isinstance(node, ast.Call) and node.lineno == row
    ]
    exact = [node for node in calls if node.col_offset == column - 1]
    # `a.b().fit()` begins where `a.b()` does; the outermost is the one that the dry run names last.
    named = [node for node in exact if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS]
    return next(iter(named or exact or calls), None)


def _written(program: Program) -> Iterator[Training]:
    """Calls that are written like a training call, where the dry run does not know the receiver."""
    for unit in program.units:
        for scope in unit.scopes.values():
            for statement, call in calls_in(scope):
                way = way_by_name(program, scope, statement) if _is_fit(call) else None
                if way is not None:
                    assert isinstance(call.func, ast.Attribute)
                    way[-1].call = call
                    training = Training(call.func.value, unit, call.lineno, way)
                    training.batch = _argument(training, "batch_size")
                    yield training


def _is_fit(node: ast.Call) -> bool:
    if not (isinstance(node.func, ast.Attribute) and node.func.attr in METHODS):
        return False
    words = {keyword.arg for keyword in node.keywords}
    telling = set(
        "epochs nb_epoch batch_size validation_data steps_per_epoch callbacks validation_split".split()
    )
    name = ast.unparse(node.func.value).lower()
    return bool(words & telling) or node.func.attr != "fit" or ("model" in name and len(node.args) > 1)


_MODELS = ("Sequential", "Model", "load_model", "model_from_json")


def _made(program: Program) -> Iterator[Training]:
    """Models that are compiled, or just made, in a script that does not train them itself."""
    unit = program.main
    for find in (_compiled_there, _made_there):
        for scope in unit.scopes.values():
            for statement in statements(scope.node.body):
                receiver = find(statement)
                way = way_by_name(program, scope, statement) if receiver is not None else None
                if receiver is not None and way is not None:
                    way[-1].statement = None  # the end of the function: what is added to it comes after
                    yield Training(receiver, unit, statement.lineno, way, compiled=find is _compiled_there)


def _compiled_there(statement: ast.stmt) -> ast.expr | None:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="compile", value=value))):
            return None if dotted(value) in ("re", "regex") or isinstance(value, ast.Call) else value
    return None


def _made_there(statement: ast.stmt) -> ast.expr | None:
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=ast.Call(func=function)):
            if dotted(function).rpartition(".")[2] in _MODELS:
                return ast.parse(ast.unparse(target), mode="eval").body
    return None
