"""Calls: arguments, libraries through the catalog, functions of the program, unknown receivers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun import classes, generators, imports, objects
from oomlint.dryrun.state import Scope, Writes
from oomlint.dryrun.trace import Argument, Call
from oomlint.dryrun.values.arrays import SYMBOLIC, computed_from
from oomlint.dryrun.values.base import (
    NONE,
    Const,
    Mapping,
    Namespace,
    Opaque,
    Pending,
    Sequence,
    Unknown,
    Value,
    deref,
    join_all,
    tags_of,
)
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.program import (
    Class,
    Function,
    Instance,
    Library,
    Method,
    Partial,
    ProjectModule,
    Super,
)
from oomlint.syntax.place import Place, Several

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run

Arguments = tuple[Argument, ...]


class Activation:
    """One running function: what it has returned and yielded so far."""

    __slots__ = ("counted", "function", "in_order", "leaving", "returned", "times", "yielded")

    def __init__(self, function: Function | None) -> None:
        self.function = function
        self.counted = 0  # how often it was entered within itself, given a number
        self.returned: list[Value] = []
        self.yielded: list[Value] = []
        self.in_order = True  # each of them was yielded once, under no branch
        self.times: list[Const | None] = []  # how often, where that is known
        self.leaving: list[Writes] = []  # what branches that returned had written


def evaluate_call(run: Run, node: cst.Call) -> Value:
    """A call expression."""
    if not run.spend():
        return Unknown()
    targets = run.targets[1] if run.targets[0] is node else ()
    before, run.called = run.called, node.func
    function = run.evaluate(node.func)
    run.called = before
    path = imports.dotted(node.func.value) or None if type(node.func) is cst.Attribute else None
    arguments = evaluate_arguments(run, node.args)
    return apply(run, function, arguments, Place(run.source, node), targets, path)


def evaluate_arguments(run: Run, nodes: Iterable[cst.Arg]) -> Arguments:
    """The arguments of a call; `*` and `**` of known content are spread out."""
    arguments: list[Argument] = []
    for arg in nodes:
        value = run.evaluate(arg.value)
        place = Place(run.source, arg.value)
        if arg.star == "*":
            items = value.items if isinstance(value, Sequence) else None
            if items is not None:
                spread = Several(run.source, arg.value)
                arguments.extend(Argument(item, spread, arg=arg) for item in items)
                continue
        elif arg.star == "**" and (held := objects.dictionary_of(value)) is not None and held.complete:
            if all(isinstance(key, str) for key in held.entries):
                spread = Several(run.source, arg.value)
                arguments.extend(
                    Argument(item, spread, name=key, arg=arg) for key, item in held.entries.items()
                )
                continue
        name = arg.keyword.value if arg.keyword is not None else None
        arguments.append(Argument(value, place, name, arg.star, imports.dotted(arg.value) or None, arg))
    return tuple(arguments)


def apply(
    run: Run,
    function: Value,
    arguments: Arguments,
    place: Place,
    targets: tuple[str, ...] = (),
    path: str | None = None,
) -> Value:
    """The value of calling `function`."""
    function = _callee(run, deref(function))
    match function:
        case Function():
            return enter(run, function, arguments, place)
        case Class():
            return classes.instantiate(run, function, arguments, place)
        case Library():
            owner, _, name = function.name.rpartition(".")
            first = arguments[0] if arguments and not arguments[0].star and not arguments[0].name else None
            if first is not None and isinstance(deref(first.value), Dataset) and owner == Dataset.api:
                if run.catalog.method(Dataset, name) is not None:  # `tf.data.Dataset.prefetch(dataset, 8)`
                    bound = Method(deref(first.value), name)
                    return method_call(run, bound, arguments[1:], place, targets, first.path)
            call = Call(
                function.name,
                place,
                run.context,
                None,
                arguments,
                result=NONE,
                spelled=function.spelled,
                path=path,
            )
            return library_call(run, call, targets)
        case Method(function=Function() as inner):
            receiver = Argument(function.receiver, place)
            return enter(run, inner, (receiver, *arguments), place)
        case Method():
            return method_call(run, function, arguments, place, targets, path)
        case Partial():
            return apply(run, function.function, (*function.arguments, *arguments), place, targets, path)
        case Instance():
            if function.facet is not None:
                return method_call(run, Method(function.facet, "__call__"), arguments, place, targets, path)
        case Unknown():
            tags = function.tags | tags_into(arguments)
            call = Call(
                "unresolved",
                place,
                run.context,
                None,
                arguments,
                result=Unknown(tags=tags),
                path=function.name,
            )
            call.statement, call.targets = run.statement, targets
            return run.trace.made(run.record(call)).result
        case Const() | Sequence() | Mapping() | Namespace() | ProjectModule() | Super():
            return Unknown()
        case _:
            return method_call(run, Method(function, "__call__"), arguments, place, targets, path)
    return Unknown()


def _callee(run: Run, function: Value) -> Value:
    """What is called where an object is, by the `__call__` of its class; not known where that leads in a circle."""
    seen: set[int] = set()
    while isinstance(function, Instance):
        method = objects.class_attribute(run, function, "__call__")
        if method is None:
            break
        if id(function) in seen:  # `A.__call__ = A()`
            return Unknown()
        seen.add(id(function))
        function = deref(method)
    return function


def tags_into(arguments: Arguments) -> frozenset[str]:
    """What flows into the unknown result of a call: its arguments' tags, and whether tensors of a graph are in them."""
    tags: set[str] = set()
    for argument in arguments:
        value = deref(argument.value)
        tags |= tags_of(value)
        inner = value.items if isinstance(value, Sequence) else None
        if inner and any(SYMBOLIC in tags_of(deref(item)) for item in inner):
            tags.add(SYMBOLIC)
    return frozenset(tags)


def library_call(run: Run, call: Call, targets: tuple[str, ...]) -> Value:
    """A call of a library's function or class: recorded, and its value taken from the catalog."""
    call.signature = run.catalog.signatures.get(call.name, ())
    if others := run.catalog.other_names.get(call.name):
        call.arguments = tuple(
            replace(argument, name=others[argument.name]) if argument.name in others else argument
            for argument in call.arguments
        )
    call.statement, call.targets = run.statement, targets
    if not call.name.startswith("builtins."):
        run.record(call)
    handler = run.catalog.on(call) or run.catalog.function(call.name)
    if handler is not None:
        call.result = computed_from(handler(call, run), [deref(item.value) for item in call.arguments])
    else:
        call.result = Unknown(tags=tags_into(call.arguments))
    return run.trace.made(call).result


def method_call(
    run: Run,
    method: Method,
    arguments: Arguments,
    place: Place,
    targets: tuple[str, ...] = (),
    path: str | None = None,
) -> Value:
    """A call of a method of a typed value, or of a method on an unknown receiver."""
    receiver = deref(method.receiver)
    if isinstance(receiver, Unknown):
        return unknown_method(run, receiver, method.name, arguments, place, targets, path)
    api = receiver.type if isinstance(receiver, Opaque) else type(receiver).api
    call = Call(f"{api}.{method.name}", place, run.context, receiver, arguments, result=NONE, path=path)
    own = f"{type(receiver).api}.{method.name}"  # an Opaque is named by what it is, its methods by what all have
    call.signature = run.catalog.signatures.get(call.name) or run.catalog.signatures.get(own, ())
    call.statement, call.targets = run.statement, targets
    handler = run.catalog.method(type(receiver), method.name)
    if not api.startswith("builtins.") or method.name in (
        "append",
        "extend",
        "insert",
        "add",
        "update",
        "__setitem__",
        "setdefault",
        "get_next",  # of an iterator: in a TF1 graph, an operation
    ):
        run.record(call)
    if handler is not None:
        call.result = handler(call, run)
    else:
        call.result = Unknown()
    return run.trace.made(call).result


def unknown_method(
    run: Run,
    receiver: Unknown,
    name: str,
    arguments: Arguments,
    place: Place,
    targets: tuple[str, ...],
    path: str | None,
) -> Value:
    """A method call on an unknown: kept, in case its use shows later what the receiver is."""
    call = Call(name, place, run.context, receiver, arguments, path=path)
    call.statement, call.targets = run.statement, targets
    call.index = len(run.trace.events)
    run.trace.loose.append(call)
    result = Unknown(tags=receiver.tags | tags_into(arguments))
    pending = Pending(receiver, name, call, result)
    result.made_by = pending
    if len(receiver.pending) < 256:
        receiver.pending.append(pending)
    for look in run.catalog.ducks:
        role = look(pending, run)
        if role is not None:
            run.infer_receiver(receiver, role) if receiver.made_by is not None else run.infer(receiver, role)
            return deref(result)
    return result


def replay(run: Run, pending: Pending, role: Value) -> None:
    """Turn a kept method call into a real one on `role`, where it stood, and let its result follow."""
    call = pending.call
    call.receiver = role
    call.name = f"{role.type if isinstance(role, Opaque) else type(role).api}.{pending.method}"
    own = (
        f"{type(role).api}.{pending.method}"  # an Opaque is named by what it is, its methods by what all have
    )
    call.signature = run.catalog.signatures.get(call.name) or run.catalog.signatures.get(own, ())
    run.trace.add(call, call.index)
    handler = run.catalog.method(type(role), pending.method)
    if handler is not None:
        with run.inside(call.context):
            call.result = handler(call, run)
        run.infer(pending.result, call.result)
    else:
        call.result = pending.result


# --- functions of the program --------------------------------------------------------------------


def enter(run: Run, function: Function, arguments: Arguments, place: Place, called: bool = True) -> Value:
    """Run the body of a function of the program with these arguments."""
    if called and "tf.function" in function.flags:
        made = Call("tf.function.call", place, run.context, function, arguments, statement=run.statement)
        run.record(made)
    if called and not (run.depth_allows(function, arguments) and run.spend()):
        return Unknown(tags=tags_into(arguments))
    if run.abroad is not None and run.turn_back is None and function.source is not run.trace.source:
        if run.abroad <= 0:
            run.trace.exhausted = True
            return Unknown(tags=tags_into(arguments))
        start = run.trace.steps
        run.turn_back = start + run.abroad
        try:
            return _run_body(run, function, arguments, place, called)
        finally:
            run.turn_back = None
            run.abroad = max(0, run.abroad - (run.trace.steps - start))
    return _run_body(run, function, arguments, place, called)


def _run_body(run: Run, function: Function, arguments: Arguments, place: Place, called: bool) -> Value:
    function.entered = True
    if function.plain is not None:
        function.plain.entered = True
    scope = Scope("function", function.scope, function.scope.outermost)
    before = (run.source, run.scope, run.statement, run.context, run.targets)
    values = bind_parameters(run, function, arguments, known=called)
    run.context = run.body_context(function, called, place)
    run.source, run.scope = function.source, scope
    for name, value in values.items():
        run.state.bind(scope, name, value)
    activation = Activation(function)
    run.activations.append(activation)
    try:
        node = function.node
        if isinstance(node, cst.FunctionDef):
            run.execute_suite(node.body)
            result = join_all(activation.returned) if activation.returned else NONE
        else:
            result = run.evaluate(node.body)
        function.result = result
    finally:
        run.activations.pop()
        run.source, run.scope, run.statement, run.context, run.targets = before
    if activation.leaving:
        outer = [
            {key: value for key, value in way.items() if key[0] is not scope} for way in activation.leaving
        ]
        run.state.meet([{}, *(way for way in outer if way)])
    if activation.yielded:
        function.flags.add("generator")  # what it makes lives for one step at a time
        return generators.given(activation)
    return result


def bind_parameters(run: Run, function: Function, arguments: Arguments, known: bool) -> dict[str, Value]:
    """Parameter names and their values. Unknown arguments of a function nobody calls take the defaults."""
    parameters = function.node.params
    values: dict[str, Value] = {}
    positional = [argument for argument in arguments if argument.name is None and not argument.star]
    starred = any(argument.star == "*" for argument in arguments)
    keywords = {argument.name: argument for argument in arguments if argument.name is not None}
    extra = any(argument.star == "**" for argument in arguments)
    names = [*parameters.posonly_params, *parameters.params]
    for index, parameter in enumerate(names):
        name = parameter.name.value
        given = positional[index] if index < len(positional) else keywords.pop(name, None)
        values[name] = _parameter(run, function, parameter, given, known and not (starred or extra))
    for parameter in parameters.kwonly_params:
        name = parameter.name.value
        values[name] = _parameter(run, function, parameter, keywords.pop(name, None), known and not extra)
    if type(parameters.star_arg) is cst.Param:
        rest = [argument.value for argument in positional[len(names) :]]
        spread = Sequence("tuple") if starred or not known else Sequence("tuple", items=rest)
        values[parameters.star_arg.name.value] = spread
    if parameters.star_kwarg is not None:
        entries = {name: argument.value for name, argument in keywords.items()}
        values[parameters.star_kwarg.name.value] = Mapping(entries, known and not extra)
    return values


def _parameter(
    run: Run, function: Function, parameter: cst.Param, given: Argument | None, known: bool
) -> Value:
    """What one parameter is: the argument, else the default, else an unknown of the annotated type."""
    name = parameter.name.value
    if given is not None:
        value = deref(given.value)
        return value.bound(name, given.place) if given.arg is not None else value
    default = function.defaults.get(name)
    if default is not None:
        bound = (
            default.bound(name, run.place_in(function, parameter)) if isinstance(default, Const) else default
        )
        return bound if known or not isinstance(bound, Const) else soft_default(bound)
    return classes.annotated(run, function, parameter.annotation)


def soft_default(value: Const) -> Value:
    """A default of a function nobody calls here: good for a size, not for a branch. None says nothing."""
    return Unknown() if value.value is None else value.softened()
