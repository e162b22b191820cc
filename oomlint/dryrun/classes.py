"""Classes of the program, their instances, and what decorators and annotations say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun import objects
from oomlint.dryrun.state import Scope
from oomlint.dryrun.trace import Argument, Call
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Opaque, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.program import Class, Function, Instance, Library, Method, Partial
from oomlint.dryrun.values.training import Layer, Model, Strategy

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.syntax.place import Place

# Annotations that tell what a parameter is, where nobody passes it.
ANNOTATIONS: dict[str, Any] = {
    "tf.data.Dataset": Dataset,
    "keras.Model": Model,
    "keras.Sequential": Model,
    "keras.Layer": Layer,
    "tf.distribute.Strategy": Strategy,
    "numpy.ndarray": Array,
    "numpy.array": Array,
    "tf.Tensor": lambda: Array(library="tensor"),
}
BUILTIN_TYPES = {
    "builtins.int": "int",
    "builtins.str": "str",
    "builtins.float": "float",
    "builtins.bool": "bool",
}


def define_class(run: Run, node: cst.ClassDef) -> Value:
    """A class statement: its body is run in a scope of its own."""
    bases = tuple(run.evaluate(base.value) for base in node.bases)
    scope = Scope("class", run.scope, run.scope.outermost)
    cls = Class(node.name.value, node, run.source, scope, bases)
    run.classes.append(cls)
    if any(isinstance(base, Library) and base.name == "typing.NamedTuple" for base in bases):
        cls.flags.add("namedtuple")
    known = len(run.functions)
    before, run.scope = run.scope, scope
    try:
        run.execute_suite(node.body)
    finally:
        run.scope = before
    for function in run.functions[known:]:
        if function.scope is scope:
            function.owner = cls
    made_by = [(decorator, run.evaluate(decorator.decorator)) for decorator in node.decorators]
    for _, made in made_by:
        name = made.name if isinstance(made, Library) else made.type if isinstance(made, Opaque) else ""
        if name.endswith(
            (
                "dataclasses.dataclass",
                "attr.s",
                "attrs.define",
                "attr.define",
                "attrs.frozen",
                "flax.struct.dataclass",
            )
        ):
            cls.flags.add("dataclass")
    if any(base in ("pydantic.BaseModel", "pydantic_settings.BaseSettings") for base in cls.library_bases()):
        cls.flags.add("dataclass")
    if cls.flags & {"dataclass", "namedtuple"} or any("dataclass" in base.flags for base in cls.ancestry()):
        cls.fields = _fields(run, cls)
    _announce(run, cls, node)
    value: Value = cls
    for decorator, made in reversed(made_by):
        value = _decorated(run, made, value, run.place(decorator))
    return value


def _announce(run: Run, cls: Class, node: cst.ClassDef) -> None:
    """A base class is told of its new subclass (`__init_subclass__`), which it may keep by its name."""
    for base in cls.bases:
        told = objects.class_attribute(run, base, "__init_subclass__") if isinstance(base, Class) else None
        if isinstance(told, Function):
            place = run.place(node)
            keywords = [
                Argument(run.evaluate(keyword.value), place, keyword.keyword.value)
                for keyword in node.keywords
                if keyword.keyword is not None and keyword.keyword.value != "metaclass"
            ]
            run.enter(told, (Argument(cls, place), *keywords), place)


def _decorated(run: Run, decorator: Value, value: Value, place: Place) -> Value:
    """What a class's name is bound to: a decorator of the program may keep the class in a registry."""
    if isinstance(decorator, Method) and decorator.function is None:
        return value
    if isinstance(decorator, Function | Class | Partial | Method):
        result = deref(run.apply(decorator, (Argument(value, place),), place))
        return result if isinstance(result, Class) else value
    return value


def _fields(run: Run, cls: Class) -> dict[str, Value | None]:
    """Annotated names of a dataclass' or NamedTuple's body, base classes first, with their defaults."""
    fields: dict[str, Value | None] = {}
    for base in reversed(cls.ancestry()[1:]):
        fields.update(base.fields)
    body = cls.node.body.body
    for statement in body:
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                name = small.target.value
                default = run.state.get((cls.scope, name)) if small.value is not None else None
                if isinstance(default, Opaque) and default.type == "dataclasses.field":
                    default = default.attributes.get("default")
                fields[name] = default
    return fields


def instantiate(
    run: Run, cls: Class, arguments: tuple[Argument, ...], place: Place, known: bool = True
) -> Value:
    """An object of a class of the program."""
    if not run.spend() and known:
        return Unknown()
    instance = Instance(cls, place=place, constructed=known)
    cls.instance = instance if cls.instance is None or known else cls.instance
    for base in cls.library_bases():
        maker = run.catalog.facets.get(base)
        if maker is not None:
            instance.facet = maker(instance, base, run)
            break
    initialiser = objects.class_attribute(run, instance, "__init__")
    if isinstance(initialiser, Method) and initialiser.function is not None:
        run.enter(initialiser.function, (Argument(instance, place), *arguments), place, called=known)
    elif cls.fields:
        _fill_fields(run, cls, instance, arguments, known)
    elif instance.facet is not None:
        call = Method(instance.facet, "__init__")
        run.call_method(call, arguments, place)
    return instance


def _fill_fields(
    run: Run, cls: Class, instance: Instance, arguments: tuple[Argument, ...], known: bool
) -> None:
    """What a dataclass' or NamedTuple's generated `__init__` does."""
    positional = [argument for argument in arguments if argument.name is None and not argument.star]
    keywords = {argument.name: argument for argument in arguments if argument.name is not None}
    opaque = any(argument.star for argument in arguments)
    for index, (name, default) in enumerate(cls.fields.items()):
        given = positional[index] if index < len(positional) else keywords.get(name)
        if given is not None:
            value: Value = deref(given.value).bound(name, given.place)
        elif default is not None:
            value = default.softened() if isinstance(default, Const) and (opaque or not known) else default
        else:
            value = Unknown(name=name)
        run.state.set_attribute(instance, name, value)
    post = objects.class_attribute(run, instance, "__post_init__")
    if isinstance(post, Method) and post.function is not None:
        place = run.place_in(post.function, post.function.node)
        run.enter(post.function, (Argument(instance, place),), place)


FLAGS = {
    "builtins.staticmethod": "staticmethod",
    "builtins.classmethod": "classmethod",
    "builtins.property": "property",
    "functools.cached_property": "property",
    "tf.function": "tf.function",
    "tf.contrib.eager.defun": "tf.function",
    "contextlib.contextmanager": "contextmanager",
}


def decorate(run: Run, function: Function, decorators: Any) -> Value:
    """What the name of a decorated function is bound to.

    A decorator of the program is called; one of a library that the catalog does not know is taken to keep
    what the function does.
    """
    value: Value = function
    evaluated = [run.evaluate(decorator.decorator) for decorator in decorators]
    function.decorators = tuple(evaluated)
    for made, decorator in zip(reversed(evaluated), reversed(decorators), strict=True):
        name = made.name if isinstance(made, Library) else made.type if isinstance(made, Opaque) else ""
        if name in FLAGS:
            function.flags.add(FLAGS[name])
            if FLAGS[name] == "tf.function":
                function.traced = _traced(run, made, function, run.place(decorator))
            continue
        if isinstance(made, Method) and made.name in ("setter", "deleter"):
            function.flags.add(made.name)
            owner = deref(made.receiver)
            return owner if isinstance(owner, Function) else value
        if isinstance(made, Method) and made.function is None:
            continue
        if (
            isinstance(made, Library | Partial)
            and run.catalog.function(name) is None
            and not isinstance(made, Partial)
        ):
            run.record(
                Call(name, run.place(decorator), run.context, None, (Argument(value, run.place(decorator)),))
            )
            continue
        if isinstance(made, Function | Class | Partial | Library | Method):
            result = run.apply(made, (Argument(value, run.place(decorator)),), run.place(decorator))
            if isinstance(result, Function | Instance | Method | Partial):
                value = result
    return value


def _traced(run: Run, decorator: Value, function: Function, place: Place) -> Call:
    """The call that `@tf.function` is, with arguments or without."""
    if isinstance(decorator, Opaque) and decorator.made_by is not None:
        return decorator.made_by
    call = Call("tf.function", place, run.context, None, (Argument(function, place),), ("func",), function)
    call.statement, call.targets = run.statement, (function.name,)
    return run.record(call)


def annotated(run: Run, function: Function, annotation: cst.Annotation | None) -> Value:
    """An unknown parameter, of the type that its annotation says."""
    if annotation is None:
        return Unknown()
    source, scope = run.source, run.scope
    run.source, run.scope = function.source, function.scope
    try:
        return of_annotation(run, annotation) or Unknown()
    finally:
        run.source, run.scope = source, scope


def of_annotation(run: Run, annotation: cst.Annotation) -> Value | None:
    """A value of an annotated type, where the type is one that matters."""
    node = annotation.annotation
    if isinstance(node, cst.Subscript):  # Optional[Dataset]
        base = run.evaluate(node.value)
        if (
            isinstance(base, Library)
            and base.name == "typing.Optional"
            and isinstance(node.slice[0].slice, cst.Index)
        ):
            node = node.slice[0].slice.value
    if not isinstance(node, cst.Name | cst.Attribute):
        return None
    made = run.evaluate(node)
    if isinstance(made, Library):
        if made.name in BUILTIN_TYPES:
            return Unknown(type=BUILTIN_TYPES[made.name])
        maker = ANNOTATIONS.get(made.name)
        if maker is not None:
            value: Value = maker()
            return value
    if isinstance(made, Class):
        if not made.fields and made.instance is None:
            return Unknown()
        return made.instance if made.instance is not None else run.instance_of(made)
    return None
