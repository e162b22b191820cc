"""Attributes: of objects and classes of the program, of modules, libraries and typed values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun import imports
from oomlint.dryrun.trace import Argument
from oomlint.dryrun.values.base import Const, Mapping, Namespace, Unknown, Value, deref
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

if TYPE_CHECKING:
    import libcst as cst

    from oomlint.dryrun.interpreter import Run


# What these say of an array is no part of it: what flowed into the array did not flow into them.
MEASURES = frozenset({"shape", "ndim", "dtype", "size", "nbytes", "itemsize"})


def get_attribute(run: Run, value: Value, name: str, node: cst.CSTNode) -> Value:
    """`value.name`, as the expression `node` asks for it."""
    value = deref(value)
    match value:
        case Library():
            return imports.library_member(run, value, name)
        case Instance():
            return instance_attribute(run, value, name)
        case Unknown():
            known = value.attributes.get(name)
            if known is None:
                known = Unknown(tags=frozenset() if name in MEASURES else value.tags, name=name)
                known.made_by = None
                value.attributes[name] = known
            if isinstance(known, Unknown) and known.role is None:
                return Method(value, name) if run.called is node else known  # what a call calls
            return known
        case ProjectModule():
            return imports.module_member(run, value, name)
        case Class() | Function() if name in ("__name__", "__qualname__"):
            return Const(value.name)
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
    if name == "__setattr__" and instance.place is not None:  # `self.__setattr__(key, value)`
        return Partial(Library("builtins.setattr"), (Argument(instance, instance.place),))
    fresh: Value = Mapping(complete=False) if name == "__dict__" else Unknown(name=name)
    found = None if name.startswith("__") else under_its_keys(run, instance, name)
    if found is not None:
        return found
    run.state.set_attribute(instance, name, fresh, outermost=True)
    if not name.startswith("__"):
        asked = class_attribute(run, instance, "__getattr__")
        if isinstance(asked, Method) and asked.function is not None:
            place = run.place_in(asked.function, asked.function.node)
            found = deref(
                run.enter(asked.function, (Argument(instance, place), Argument(Const(name), place)), place)
            )
            if not isinstance(found, Unknown):
                run.state.set_attribute(instance, name, found, outermost=True)
                return found
    return fresh


def under_its_keys(run: Run, instance: Instance, name: str) -> Value | None:
    """An attribute that is kept as an item: `self.__dict__.update(options)`, `__getattr__ = dict.__getitem__`."""
    held = run.state.get((instance, "__dict__"))
    if held is None and isinstance(instance.facet, Mapping):
        asked = class_attribute(run, instance, "__getattr__")
        held = instance.facet if isinstance(asked, Library) else None
    entries = dictionary_of(held)
    return entries.entries.get(name) if entries is not None else None


def dictionary_of(value: Value | None) -> Mapping | None:
    """The dictionary that a value is, or is an object of a class of."""
    value = deref(value) if value is not None else None
    if isinstance(value, Instance):
        value = value.facet
    return value if isinstance(value, Mapping) else None


def class_attribute(run: Run, owner: Instance | Class, name: str) -> Value | None:
    """A name from the class or its bases of the program, bound to the instance where it is a method."""
    cls = owner.cls if isinstance(owner, Instance) else owner
    for ancestor in cls.ancestry():
        value = run.state.get((ancestor.scope, name)) if name in ancestor.scope.names else None
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
            run.state.set_attribute(owner, name, value)
            if name == "trainable" and owner.facet is not None:
                set_attribute(run, owner.facet, name, value)  # what is trained is asked of the layer or model
        case Class():
            run.state.bind(owner.scope, name, value)
        case ProjectModule():
            run.state.bind(owner.scope, name, value)
        case Const() | Library() | Function():
            pass
        case _:
            attributes = getattr(owner, "attributes", None)
            if isinstance(attributes, dict):
                attributes[name] = value
