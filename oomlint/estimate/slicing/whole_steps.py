"""Steps by hand that are followed whole, as the function that they are: where the loss takes a gradient of its own.

The function is kept beside the place where its model is trained, as a function of the data that it is given; models,
optimizers and the object itself it finds around it.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, Any

from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const
from oomlint.estimate.slicing.arguments import matched
from oomlint.estimate.slicing.functions import statements
from oomlint.estimate.slicing.program import FunctionNode, Scope, bound_names, root_name

if TYPE_CHECKING:
    from oomlint.estimate.slicing.known import Known
    from oomlint.estimate.slicing.needs import Needs
    from oomlint.estimate.slicing.trainings import Training

STEP = "oomlint_step"
_DEEP = 4  # functions within functions
_OF_OBJECTS = frozenset(
    "trainable_variables trainable_weights variables weights apply_gradients minimize layers".split()
)


def keep_whole(training: Training, needs: Needs) -> bool:
    """Keep the function of a step, and those that it calls, as they stand; whether that can be done."""
    if not _up_to_what_applies(training, needs):
        return False
    scope = training.way[-1].scope
    node = scope.node
    if isinstance(node, ast.Module) or len(training.way) < 2:
        return False
    inner = {one for one in scope.bound if one not in scope.parameters}
    receivers = [training.receiver, *(one.receiver for one in training.others)]
    if node.args.vararg or node.args.kwarg or any(root_name(one) in inner for one in receivers):
        return False
    objects = set(_objects(node, scope))
    _use(node, scope, objects, needs)
    waiting, seen = [(scope, 0)], {id(scope)}
    while waiting:
        where, depth = waiting.pop()
        for call in ast.walk(where.node):
            for callee in (
                needs.functions.callees(where.unit, where, call) if isinstance(call, ast.Call) else ()
            ):
                if id(callee) in seen or depth >= _DEEP or _builds(callee):
                    continue
                seen.add(id(callee))
                assert not isinstance(callee.node, ast.Module)
                needs.verbatim.add(id(callee.node))
                needs.use(callee.node, callee)
                waiting.append((callee, depth + 1))
    training.step = node
    training.handed = _handed(training, needs.taint.known)
    return True


def _up_to_what_applies(training: Training, needs: Needs) -> bool:
    """Take the function that applies the gradients for the step, where that is the caller of the one that takes them.

    Nothing is left of a step that only gives back what it computed: nobody asks for it.
    """
    way = training.way
    scope = way[-1].scope
    if _applies(scope):
        return True
    above = way[-2].scope if len(way) > 2 else None
    of_one = above is not None and above.owner is scope.owner and root_name(training.receiver) == "self"
    if above is None or not of_one or not _applies(above):
        return False
    for known in (needs.on_path, needs.order):
        known.pop(id(scope), None)
    way.pop()
    return True


def _applies(scope: Scope) -> bool:
    calls = (one.func for one in ast.walk(scope.node) if isinstance(one, ast.Call))
    updates = ("apply_gradients", "minimize", "assign", "assign_sub", "assign_add", "apply")
    return any(isinstance(one, ast.Attribute) and one.attr in updates for one in calls)


def _handed(training: Training, known: Known) -> dict[str, Any]:
    """Shapes and dtypes of what the step is given, where its callers are known to hand over arrays of known sizes."""
    last = len(training.way) - 1
    found = {name: _array(name, last, training, known) for name in training.way[-1].scope.parameters}
    return {name: array for name, array in found.items() if array is not None}


def _array(name: str, place: int, training: Training, known: Known) -> tuple[tuple[int, ...], str] | None:
    call = training.way[place - 1].call if place else None
    outer, inner = training.way[place - 1].scope, training.way[place].scope
    if call is None:
        return None
    value = next((one for parameter, one in matched(call, inner) if parameter == name), None)
    if not isinstance(value, ast.Name):
        return None
    bound = [one for one in statements(outer.node.body) if value.id in bound_names(one)]
    if not bound and value.id in outer.parameters:
        return _array(value.id, place - 1, training, known)
    values = known.values(outer.unit, bound[-1], value.id) if bound else []
    arrays = [_sizes(one) for one in values if isinstance(one, Array)]
    found = [one for one in arrays if one is not None]
    # The last of several batches may be what is left over.
    return max(found) if found and len(found) == len(values) else None


def _sizes(array: Array) -> tuple[tuple[int, ...], str] | None:
    if array.shape == () and array.dtype is not None:  # the number that `dataset.enumerate()` gives
        return (), array.dtype
    sizes = [one.value if isinstance(one, Const) else None for one in array.shape or ()]
    whole = tuple(one for one in sizes if isinstance(one, int))
    return (whole, array.dtype or "float32") if whole and len(whole) == len(sizes) else None


def _builds(scope: Scope) -> bool:
    return scope.owner is not None and getattr(scope.node, "name", "") in ("__init__", "build", "call")


def _objects(node: FunctionNode, scope: Scope) -> list[str]:
    """The parameters that are no data: the object itself, models that are called, what has variables or applies."""
    found = [*scope.parameters[:1]] if scope.owner is not None else []
    for one in ast.walk(node):
        match one:
            case ast.Call(func=ast.Name(id=name)) if name in scope.parameters:
                found.append(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if (
                name in scope.parameters and attribute in _OF_OBJECTS
            ):
                found.append(name)
    return found


def _use(node: FunctionNode, scope: Scope, objects: set[str], needs: Needs) -> None:
    for statement in node.body:
        for one in ast.walk(statement):
            if isinstance(one, ast.Name) and (scope.of(one.id) is not scope or one.id in objects):
                needs.require(one.id, scope)
            elif isinstance(one, ast.Attribute):
                needs.use(ast.Attribute(ast.Constant(None), one.attr, ast.Load()), scope)


def written(training: Training, scope: Scope, call: ast.Call) -> list[ast.stmt]:
    """The function for a step, and the call that hands it over."""
    node = scope.node
    assert not isinstance(node, ast.Module)
    objects = set(_objects(node, scope))
    step = copy.copy(node)
    step.name, step.decorator_list, step.returns = STEP, [], None
    plain = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    data = [ast.arg(name) for name in plain if name not in objects]
    step.args = ast.arguments([], data, None, [], [], None, [])
    call.keywords.append(ast.keyword("step", ast.Name(STEP, ast.Load())))
    if training.handed:
        call.keywords.append(ast.keyword("handed", ast.parse(repr(training.handed), mode="eval").body))
    handed = ast.copy_location(ast.Expr(call), node.body[0])
    return [step, ast.fix_missing_locations(handed)]
