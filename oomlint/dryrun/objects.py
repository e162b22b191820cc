"""Objects: attributes, items, classes of the program and their instances, decorators, annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun import imports
from oomlint.dryrun.state import Scope
from oomlint.dryrun.trace import Argument, Branch, Call, Context, Loop
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import (
    NONE,
    Const,
    Mapping,
    Namespace,
    Opaque,
    Sequence,
    Slice,
    Unknown,
    Value,
    deref,
    join,
    merge,
    tags_of,
)
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.program import Class, Function, Instance, Library, Method, Partial, ProjectModule, Super
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
BUILTIN_TYPES = {"builtins.int": "int", "builtins.str": "str", "builtins.float": "float", "builtins.bool": "bool"}


# --- attributes ---------------------------------------------------------------------------------------


def get_attribute(run: Run, value: Value, name: str, place: Place) -> Value:
    """`value.name`."""
    value = deref(value)
    match value:
        case Library():
            return imports.library_member(run, value, name)
        case Instance():
            return instance_attribute(run, value, name)
        case Unknown():
            known = value.attributes.get(name)
            if known is None:
                known = Unknown(tags=value.tags, name=name)
                known.made_by = None
                value.attributes[name] = known
            if isinstance(known, Unknown) and known.role is None:
                return Method(value, name) if _looks_called(run, place) else known
            return known
        case ProjectModule():
            return imports.module_member(run, value, name)
        case Class():
            found = class_attribute(run, value, name)
            return found if found is not None else Unknown()
        case Super():
            return super_attribute(run, value, name)
        case Namespace():
            if name in value.attributes:
                return value.attributes[name]
        case Function():
            return Method(value, name)
    handler = run.catalog.attribute(type(value), name)
    if handler is not None:
        return handler(value, run)
    attributes = getattr(value, "attributes", None)
    if attributes is not None and name in attributes:
        kept: Value = attributes[name]
        return kept
    return Method(value, name)


def _looks_called(run: Run, place: Place) -> bool:
    """Whether the attribute expression is what a call calls (known while that call is evaluated)."""
    return run.called is place.node


def instance_attribute(run: Run, instance: Instance, name: str) -> Value:
    """An attribute of an object of the program: its own, its class', its library base's, else unknown."""
    own = run.state.get((instance, name))
    if own is not None:
        return own
    found = class_attribute(run, instance, name)
    if found is not None:
        return found
    if instance.facet is not None:
        handler = run.catalog.attribute(type(instance.facet), name)
        if handler is not None:
            return handler(instance.facet, run)
        kept = getattr(instance.facet, "attributes", {}).get(name)
        if kept is not None:
            return deref(kept)
        if run.catalog.method(type(instance.facet), name) is not None:
            return Method(instance.facet, name)
    if name == "__class__":
        return instance.cls
    if name == "__dict__":
        return Mapping(complete=False)
    fresh = Unknown(name=name)
    run.state.layers[0][instance, name] = fresh
    return fresh


def class_attribute(run: Run, owner: Instance | Class, name: str) -> Value | None:
    """A name from the class or its bases of the program, bound to the instance where it is a method."""
    cls = owner.cls if isinstance(owner, Instance) else owner
    for ancestor in cls.ancestry():
        value = run.state.get((ancestor.scope, name))
        if value is not None:
            return bind_method(run, owner, deref(value), name)
    return None


def bind_method(run: Run, owner: Instance | Class, value: Value, name: str) -> Value:
    """A function found in a class becomes a bound method, a property its value."""
    if not isinstance(value, Function) or "staticmethod" in value.flags:
        return value
    cls = owner.cls if isinstance(owner, Instance) else owner
    if "classmethod" in value.flags:
        return Method(cls, name, value)
    if isinstance(owner, Class):
        return value
    if "property" in value.flags:
        place = run.place_in(value, value.node)
        return run.enter(value, (Argument(owner, place),), place)
    return Method(owner, name, value)


def super_attribute(run: Run, value: Super, name: str) -> Value:
    """`super().name`: the next class in line, then what the library base gives."""
    instance = deref(value.instance)
    if not isinstance(instance, Instance):
        return Unknown()
    line = instance.cls.ancestry()
    after = line.index(value.after) + 1 if value.after in line else 1
    for ancestor in line[after:]:
        found = run.state.get((ancestor.scope, name))
        if found is not None:
            return bind_method(run, instance, deref(found), name)
    return Method(instance.facet, name) if instance.facet is not None else Unknown()


def set_attribute(run: Run, owner: Value, name: str, value: Value) -> None:
    """`owner.name = value`."""
    owner = deref(owner)
    match owner:
        case Instance():
            run.state.set((owner, name), value)
        case Class():
            run.state.set((owner.scope, name), value)
        case ProjectModule():
            run.state.set((owner.scope, name), value)
        case Const() | Library() | Function():
            pass
        case _:
            attributes = getattr(owner, "attributes", None)
            if isinstance(attributes, dict):
                attributes[name] = value


# --- items --------------------------------------------------------------------------------------------


def get_item(run: Run, value: Value, index: Value, node: cst.CSTNode) -> Value:
    """`value[index]`."""
    value, index = deref(value), deref(index)
    handler = run.catalog.items.get(type(value))
    if handler is not None:
        place = run.place(node)
        call = Call("operator.getitem", place, run.context, value, (Argument(value, place), Argument(index, place)))
        call.statement = run.statement
        run.record(call)
        call.result = handler(value, index, call, run)
        return call.result
    match value:
        case Sequence():
            return _sequence_item(value, index)
        case Mapping():
            if isinstance(index, Const) and index.value in value.entries:
                return value.entries[index.value]
            if value.other is not None:
                return value.other
            values = list(value.entries.values())
            same = len(values) > 0 and not isinstance(index, Const)
            return _joined(values) if same else Unknown()
        case Const(value=str() as text):
            return _text_item(text, index)
        case Unknown():
            key = f"[{index.value!r}]" if isinstance(index, Const) else "[]"
            return value.attributes.setdefault(key, Unknown(tags=value.tags))
        case Instance():
            method = class_attribute(run, value, "__getitem__")
            if method is not None:
                return run.apply(method, (Argument(index, run.place(node)),), run.place(node))
            if value.cls.flags & {"namedtuple"} and isinstance(index, Const) and isinstance(index.value, int):
                names = list(value.cls.fields)
                if -len(names) <= index.value < len(names):
                    return instance_attribute(run, value, names[index.value])
    return Unknown(tags=tags_of(value))


def _joined(values: list[Value]) -> Value:
    result = values[0]
    for value in values[1:]:
        result = join(result, value)
    return result


def _sequence_item(value: Sequence, index: Value) -> Value:
    if isinstance(index, Const) and isinstance(index.value, int):
        if value.items is not None:
            inside = -len(value.items) <= index.value < len(value.items)
            return value.items[index.value] if inside else Unknown()
        return value.any
    if isinstance(index, Slice):
        parts = (index.start, index.stop, index.step)
        bounds: list[Any] = [part.value if isinstance(part, Const) else ... for part in parts]
        if value.items is not None and ... not in bounds:
            start, stop, step = bounds
            try:
                return Sequence(value.kind, items=value.items[slice(start, stop, step)], tags=value.tags)
            except (TypeError, ValueError):
                return Unknown()
        return Sequence(value.kind, element=value.any, count=_slice_count(value, bounds), tags=value.tags)
    return value.any


def _slice_count(value: Sequence, bounds: list[Any]) -> Const | None:
    """How many elements a slice has: known when the whole is, or at most its stop is not said here."""
    length = value.length
    if length is None or ... in bounds or not isinstance(length.value, int):
        return None
    try:
        return Const(len(range(*slice(*bounds).indices(length.value))), length.trail, length.soft)
    except (TypeError, ValueError):
        return None


def _text_item(text: str, index: Value) -> Value:
    try:
        if isinstance(index, Const):
            return Const(text[index.value])
        if isinstance(index, Slice) and all(isinstance(part, Const) for part in (index.start, index.stop, index.step)):
            return Const(text[index.start.value : index.stop.value : index.step.value])  # type: ignore[attr-defined]
    except (TypeError, IndexError, ValueError):
        pass
    return Unknown(type="str")


def unknown_item(value: Value) -> Value:
    """What tuple unpacking of an unknown takes apart: items of it, so that tags survive."""
    return Unknown(tags=tags_of(value))


def set_item(run: Run, owner: Value, index: Value, value: Value, node: cst.CSTNode) -> None:
    """`owner[index] = value`."""
    owner, index = deref(owner), deref(index)
    match owner:
        case Mapping():
            if isinstance(index, Const) and not index.soft:
                try:
                    owner.entries[index.value] = value
                except TypeError:
                    owner.complete = False
            else:
                owner.complete = False
                owner.other = value if owner.other is None else join(owner.other, value)
        case Sequence(items=list(items)) if isinstance(index, Const) and isinstance(index.value, int):
            if -len(items) <= index.value < len(items):
                items[index.value] = value
        case Unknown() if isinstance(index, Const):
            owner.attributes[f"[{index.value!r}]"] = value
    place = run.place(node)
    if not isinstance(owner, Const | Sequence):
        name = "os.environ.__setitem__" if isinstance(owner, Library) and owner.name == "os.environ" else "operator.setitem"
        arguments = (Argument(owner, place), Argument(index, place), Argument(value, place))
        call = Call(name, place, run.context, owner, arguments)
        call.statement = run.statement
        base = node.value if isinstance(node, cst.Subscript) else None
        call.path = imports.dotted(base) or None
        run.record(call)


def delete_item(owner: Value) -> None:
    """`del owner[...]`: what is left is not followed item by item."""
    owner = deref(owner)
    if isinstance(owner, Sequence) and owner.items:
        owner.summarise(None)
    elif isinstance(owner, Mapping):
        owner.complete = False


def extend(run: Run, target: Sequence, other: Value) -> None:
    """`target += other` on a list."""
    inner = run.iterate(other)
    for item in inner.items if inner.items is not None else [inner.element or Unknown()]:
        append(run, target, item, None if inner.items is None else Const(1))


def append(run: Run, target: Sequence, item: Value, times: Const | None = Const(1)) -> None:  # noqa: B008 - immutable
    """`target.append(item)`: exact outside loops, else `item` stands for what every round appends."""
    loops = _rounds_since(run, target)
    if loops == [] and times == Const(1) and target.items is not None and len(target.items) < 4096:
        target.items.append(item)
        return
    count: Const | None = target.length
    empty = count is not None and count.value == 0
    if loops is None or times is None:
        count = None
    else:
        product: Const | None = times
        for trip in loops:
            known = product is not None and trip is not None
            product = Const(product.value * trip.value, merge(product.trail, trip.trail)) if known else None  # type: ignore[union-attr]
        count = None if product is None or count is None else Const(count.value + product.value, product.trail)
    element = item if empty and target.items == [] else join(target.any, item)
    if target.items is None and target.element is None:
        element = item
    target.items, target.element, target.count = None, element, count


def _rounds_since(run: Run, target: Sequence) -> list[Const | None] | None:
    """Trip counts of the loops entered since a list was made; None when a branch may skip the append."""
    made = target.context
    depth = made.depth if made is not None else 0
    trips: list[Const | None] = []
    context: Context | None = run.context
    conditional = False
    while context is not None and context.depth > depth:
        if isinstance(context.frame, Loop) and not context.frame.unrolled:
            trips.append(context.frame.trip)
        elif isinstance(context.frame, Branch):
            conditional = True
        context = context.parent
    return None if conditional else trips


# --- classes ------------------------------------------------------------------------------------------


def define_class(run: Run, node: cst.ClassDef) -> Value:
    """A class statement: its body is run in a scope of its own."""
    bases = tuple(run.evaluate(base.value) for base in node.bases)
    scope = Scope("class", run.scope, run.scope.module)
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
    value: Value = cls
    for decorator in reversed(node.decorators):
        made = run.evaluate(decorator.decorator)
        name = made.name if isinstance(made, Library) else made.type if isinstance(made, Opaque) else ""
        if name.endswith(("dataclasses.dataclass", "attr.s", "attrs.define", "attr.define", "attrs.frozen", "flax.struct.dataclass")):
            cls.flags.add("dataclass")
    if cls.flags & {"dataclass", "namedtuple"} or any("dataclass" in base.flags for base in cls.ancestry()):
        cls.fields = _fields(run, cls)
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


def instantiate(run: Run, cls: Class, arguments: tuple[Argument, ...], place: Place, known: bool = True) -> Value:
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
    initialiser = class_attribute(run, instance, "__init__")
    if isinstance(initialiser, Method) and initialiser.function is not None:
        run.enter(initialiser.function, (Argument(instance, place), *arguments), place, called=known)
    elif cls.fields:
        _fill_fields(run, cls, instance, arguments, known)
    elif instance.facet is not None:
        call = Method(instance.facet, "__init__")
        run.call_method(call, arguments, place)
    return instance


def _fill_fields(run: Run, cls: Class, instance: Instance, arguments: tuple[Argument, ...], known: bool) -> None:
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
        run.state.set((instance, name), value)
    post = class_attribute(run, instance, "__post_init__")
    if isinstance(post, Method) and post.function is not None:
        place = run.place_in(post.function, post.function.node)
        run.enter(post.function, (Argument(instance, place),), place)


# --- decorators and annotations -------------------------------------------------------------------------

FLAGS = {
    "builtins.staticmethod": "staticmethod",
    "builtins.classmethod": "classmethod",
    "builtins.property": "property",
    "functools.cached_property": "property",
    "tf.function": "tf.function",
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
            continue
        if isinstance(made, Method) and made.name in ("setter", "deleter"):
            function.flags.add(made.name)
            owner = deref(made.receiver)
            return owner if isinstance(owner, Function) else value
        if isinstance(made, Library | Partial) and run.catalog.function(name) is None and not isinstance(made, Partial):
            run.record(Call(name, run.place(decorator), run.context, None, (Argument(value, run.place(decorator)),)))
            continue
        if isinstance(made, Function | Class | Partial | Library):
            result = run.apply(made, (Argument(value, run.place(decorator)),), run.place(decorator))
            if isinstance(result, Function | Instance | Method | Partial):
                value = result
    return value


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
        if isinstance(base, Library) and base.name == "typing.Optional" and isinstance(node.slice[0].slice, cst.Index):
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


__all__ = ["NONE", "get_attribute", "get_item", "set_attribute", "set_item"]
