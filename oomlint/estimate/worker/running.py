"""Runs a slice, statement by statement: one that fails binds "not known" to its names, and the rest goes on.

So that what the slice kept without need (a path that is not there, a library that is not installed) does not
matter, while what the model needs is reported with the line where it was lost.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.slicing.steps import trains_itself
from oomlint.estimate.worker import classes, making, project_modules, stand_ins
from oomlint.estimate.worker.harmless import harmless
from oomlint.estimate.worker.making import Made
from oomlint.estimate.worker.older.layers import OF_OLD_KERAS
from oomlint.estimate.worker.stand_ins import Missing, NeededError, TrainedSignal

FAILED = "oomlint_failed"


def run(request: Request, assumptions: list[str]) -> Made:
    """The model that the slice trains, or that its function makes; a number of classes that is not known is assumed."""
    assumed: dict[str, Any] = {}
    notes: list[str] = []
    while True:
        said: list[str] = []
        try:
            made = _run(request, assumed, said)
        except EstimateError as error:
            found = classes.assumption(error.asked)
            if found is None or found[0] in assumed or found[0] in request.arguments:
                raise
            name, assumed[found[0]], option = found
            notes.append(f"{classes.ASSUMED} classes: {name} comes from data (another number: {option})")
            continue
        assumptions += said + notes
        return made


def _run(request: Request, assumed: dict[str, Any], assumptions: list[str]) -> Made:
    path = request.names.get("path", "script.py")
    stand_ins.GIVEN.clear()
    stand_ins.OF_CLASSES.clear()
    stand_ins.LINES.clear()
    stand_ins.EXAMPLES.clear()
    stand_ins.GIVEN.update(assumed | request.arguments)
    old = request.names.get("keras") == "2" and not re.search(r"\b(tensorflow|tf)\.keras\b", request.source)
    OF_OLD_KERAS[0] = old and re.search(r"(?m)^\s*(import|from) keras\b", request.source) is not None
    stand_ins.INPUT_SHAPE[:] = [request.input_shape] if request.input_shape is not None else []
    failures: list[Missing] = []
    lines = json.loads(request.names.get("lines:__main__", "[]"))
    module = ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=builtins, **{FAILED: _failed_in(failures)})
    before = sys.modules.get("__main__")
    arguments = sys.argv
    sys.modules["__main__"], sys.argv = module, [path]
    try:
        with project_modules.provided(request.names, compiled), harmless(request.arguments, assumptions):
            exec(compiled(request.source, path, lines), module.__dict__)
            if "function" in request.names:
                return _of_function(module, request)
    except TrainedSignal as signal:
        made = _made(signal, request, failures, path)
        named = signal.facts.get("batch_named")
        if made.batch is not None and named and not request.batch_size:
            assumptions.append(f"batch size {made.batch}, as {named} says (another: --batch-size)")
        return made
    except NeededError as error:
        raise _asked(error.value, path, failures) from error
    except EstimateError:
        raise
    except (Exception, SystemExit) as error:
        raise _broken(error, path, failures) from error
    finally:
        sys.argv = arguments
        if before is not None:
            sys.modules["__main__"] = before
    if failures:
        raise _first(failures, path)
    raise EstimateError("the training call was not reached", "slice", path, _line_of(request))


def _line_of(request: Request) -> int | None:
    line = request.names.get("line", "")
    return int(line) if line.isdigit() else None


def _of_function(module: ModuleType, request: Request) -> Made:
    value: Any = module
    for part in request.names["function"].split("."):
        value = getattr(value, part, None)
    if value is None or isinstance(value, Missing):
        raise EstimateError(f"{request.target} could not be defined", "build")
    return Made(making.model_of(value, request, request.names["function"]))


def _made(signal: TrainedSignal, request: Request, failures: list[Missing], path: str) -> Made:
    model, facts = signal.model, signal.facts
    if isinstance(model, Missing):
        raise _asked(model, path, failures)
    try:
        model = making.model_in(model, "what the script trains")
    except EstimateError as error:
        if failures:
            raise _first(failures, path) from error
        error.file, error.line = path, _line_of(request)
        raise
    batch, optimizer = facts.get("batch_size"), facts.get("optimizer")
    element = facts.get("element")
    return Made(
        model,
        optimizer=None if isinstance(optimizer, Missing) else optimizer,
        batch=batch if isinstance(batch, int) and not isinstance(batch, bool) else None,
        element=element,
        by_hand=facts.get("by_hand", ""),
        others=list(facts.get("others", ())),
    )


def _failed_in(failures: list[Missing]) -> Any:
    """What the guarded statements call: remembers the failure, and gives what stands for the value."""

    def failed(error: BaseException, name: str, line: int) -> Missing:
        missing = Missing(name, line, error)
        failures.append(missing)
        return missing

    return failed


def _first(failures: list[Missing], path: str) -> EstimateError:
    """The failure that the others follow from."""
    return _asked(failures[0], path, failures)


_NAMED = re.compile(r"<not known: ([^>]*)>")


def _asked(value: Missing, path: str, failures: list[Missing]) -> EstimateError:
    """What a value that is not known follows from, as an error: another value, or an exception."""
    seen: set[int] = set()
    while id(value) not in seen:
        seen.add(id(value))
        cause = value.oomlint_cause
        if cause is None:
            break
        before = cause.value if isinstance(cause, NeededError) else _named_in(cause, failures)
        if before is None and isinstance(cause, FileNotFoundError) and cause.filename:
            message = f"{value.oomlint_name} is read from {cause.filename}, which is not there"
            plain = _plain(value.oomlint_name)
            hint = f"Run it where the file is, or give the value: --arg {plain}=VALUE"
            return EstimateError(message, "build", path, value.oomlint_line or None, hint, asked=plain)
        if before is None:
            return _broken(cause, path, failures, value.oomlint_line or None)
        if not before.oomlint_line:
            before.oomlint_line = value.oomlint_line
        value = before
    line = value.oomlint_line or None
    name = value.oomlint_name
    plain = _plain(name)
    if ".shape" in name and stand_ins.of_targets(plain):
        hint = f"Give its shape, with what is not known as None: --arg '{plain}=(None, 10)'"
        message = f"{name} comes from data, and the model needs it"
        return EstimateError(message, "build", path, line, hint, asked=f"{plain}.shape")
    if ".shape" in name or stand_ins.side_of(plain) is not None:
        hint = "Give one sample's shape, for example --input-shape 224,224,3"
        return EstimateError(f"{name} comes from data, and the model needs it", "build", path, line, hint)
    message = f"{name} comes from data or from outside, and the model needs it"
    asked = f"{plain}.classes" if plain in stand_ins.OF_CLASSES else plain
    return EstimateError(message, "build", path, line, f"Give it: --arg {plain}=VALUE", asked=asked)


def _plain(name: str) -> str:
    """The name that `--arg` takes for a value: `classes` of `data.classes`, `y` of `y.shape[1]`."""
    before, called, _ = name.partition("[")[0].partition("(")
    parts: list[str] = re.findall(r"\w+", before) or [name]
    if called and len(parts) > 1 and hasattr(str, parts[-1]):  # `args.model.lower()`
        parts.pop()
    return parts[-1] if len(parts) > 1 and parts[-1] not in ("shape", "pop", "get") else parts[0]


def _named_in(error: BaseException, failures: list[Missing]) -> Missing | None:
    """The value that is not known and that an exception complains of."""
    found = _NAMED.search(str(error))
    if found is None:
        return Missing.touched if "Missing" in str(error) else None
    name = found[1]
    root = re.split(r"[.(\[]", name)[0]
    for missing in reversed(failures):
        if missing.oomlint_name in (name, root):
            return missing
    return Missing(name, stand_ins.LINES.get(root, 0))


def _broken(
    error: BaseException, path: str, failures: list[Missing], line: int | None = None
) -> EstimateError:
    import traceback

    named = _named_in(error, failures)
    if named is not None and named.oomlint_cause is not error:
        return _asked(named, path, failures)
    file = path
    for frame in traceback.extract_tb(error.__traceback__):
        if "site-packages" not in frame.filename and "oomlint/estimate" not in frame.filename.replace(
            "\\", "/"
        ):
            if Path(frame.filename).suffix == ".py" and not frame.filename.startswith(sys.base_prefix):
                file, line = frame.filename, frame.lineno
    if (
        failures
        and isinstance(error, NameError | AttributeError)
        and "oomlint_followed" not in error.__dict__
    ):
        error.__dict__["oomlint_followed"] = True  # it may be why the first one is reported
        first = failures[0]
        if (
            isinstance(error, NameError)
            or "NoneType" in str(error)
            or "object has no attribute" in str(error)
        ):
            return _asked(first, path, failures)
    words = " ".join(str(error).split())[:600]
    hint = "Name the function that builds the model instead: FILE.py:function, with --arg name=value."
    if isinstance(error, ModuleNotFoundError):
        hint = f"Install {error.name}, or use the interpreter that has it: --python PATH."
    return EstimateError(f"{type(error).__name__}: {words}", "build", file, line, hint)


# --- guarding statements -------------------------------------------------------------------------------------


def compiled(text: str, path: str, lines: list[int]) -> Any:
    """The slice as code whose statements are guarded, and whose lines are those of the user's file."""
    tree = ast.parse(text)
    _today(tree)
    for node in ast.walk(tree):
        number = getattr(node, "lineno", None)
        if number is not None and number < len(lines):
            node.lineno = lines[number]  # type: ignore[attr-defined]
            node.end_lineno = lines[number]  # type: ignore[attr-defined]
            node.end_col_offset = node.col_offset  # type: ignore[attr-defined] # what ended lines below ends here now
    tree.body = _guarded(tree.body, top=True)
    ast.fix_missing_locations(tree)
    return compile(tree, path, "exec", dont_inherit=True)


_PRIVATE = "tensorflow.python.keras"


def _today(tree: ast.Module) -> None:
    """`tensorflow.python.keras`, a Keras of its own that nobody should import, as the Keras of today."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            if node.module == "tensorflow.python" and any(alias.name == "keras" for alias in node.names):
                node.module = "tensorflow"
            elif f"{node.module}.".startswith(f"{_PRIVATE}."):
                node.module = node.module.replace("tensorflow.python", "tensorflow", 1)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if f"{alias.name}.".startswith(f"{_PRIVATE}.") and alias.asname:
                    alias.name = alias.name.replace("tensorflow.python", "tensorflow", 1)


def _guarded(body: list[ast.stmt], top: bool) -> list[ast.stmt]:
    # What leads on to the training call is the last statement of its block.
    apart = [one for statement in body for one in _one_by_one(statement)]
    last = len(apart) - 1
    return [_guard(statement, top, index == last) for index, statement in enumerate(apart)]


def _one_by_one(statement: ast.stmt) -> list[ast.stmt]:
    """An import of several names as several imports: one that is not there any more takes no other along."""
    if not isinstance(statement, ast.ImportFrom) or statement.module == "__future__":
        return [statement]
    return [
        ast.copy_location(ast.ImportFrom(statement.module, [alias], statement.level), statement)
        for alias in statement.names
    ]


# Of a layer: what fails in them must not be left out in silence.
_STEPS = ("call", "build", "__call__")


def _guard(statement: ast.stmt, top: bool, last: bool = False) -> ast.stmt:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            way = _leads_on(statement)
            statement.body = _guarded(statement.body, way)
            return statement
        case ast.ClassDef() if trains_itself(statement):
            return statement  # a step that fails in part must not be estimated in part
        case ast.ClassDef():
            statement.body = [
                _guard(one, False) if isinstance(one, ast.FunctionDef) and one.name not in _STEPS else one
                for one in statement.body
            ]
            return statement
        case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try():
            for name in ("body", "orelse", "finalbody"):
                block = getattr(statement, name, None)
                if block:
                    setattr(statement, name, _guarded(block, top))
            if isinstance(statement, ast.If | ast.With) and not _leads_on(statement):
                return _attempt(statement) if top else statement
            return statement
        case ast.Expr(value=ast.Call(func=ast.Name(id="oomlint_trained"))):
            return statement
        case ast.ImportFrom(module="__future__"):
            return statement
        case ast.Import() | ast.ImportFrom():
            if any(alias.name == "*" for alias in statement.names):
                return _attempt(statement)
            return _attempt(statement)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() if top:
            return _attempt(statement)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="compile" | "add"))):
            return statement
        case ast.Expr(value=ast.Call()):
            return statement if top and last else _attempt(statement)
    return statement


def _leads_on(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "oomlint_trained" for one in ast.walk(node))


def _attempt(statement: ast.stmt) -> ast.stmt:
    """`try: statement / except Exception as error: names = failed(error, name, line)`."""
    names = _names(statement)
    line = getattr(statement, "lineno", 0)
    handler: list[ast.stmt] = []
    for name in names or [""]:
        call = f"{FAILED}(oomlint_error, {name!r}, {line})"
        handler += ast.parse(f"{name} = {call}" if name else call).body
    attempt = ast.parse("try:\n    pass\nexcept Exception as oomlint_error:\n    pass").body[0]
    assert isinstance(attempt, ast.Try)
    attempt.body = [statement]
    attempt.handlers[0].body = handler
    return ast.copy_location(attempt, statement)


def _names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Import(names=aliases):
            return [alias.asname or alias.name.partition(".")[0] for alias in aliases]
        case ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name for alias in aliases if alias.name != "*"]
        case ast.If() | ast.With():
            return sorted(
                {name for one in ast.walk(statement) if isinstance(one, ast.Assign) for name in _names(one)}
            )
    found: list[str] = []
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    for target in targets:
        for node in ast.walk(target) if target is not None else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.append(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.append(ast.unparse(node))
    return found
