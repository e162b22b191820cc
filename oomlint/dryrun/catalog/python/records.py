"""Objects with named fields: namedtuples, dataclasses, namespaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from oomlint.dryrun.catalog.python.builtin_functions import items_of, positional
from oomlint.dryrun.catalog.registry import Iteration, function, item, iteration, method
from oomlint.dryrun.values.base import Const, Mapping, Namespace, Opaque, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.shapes import number

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


@dataclass(slots=True, eq=False)
class Record(Value):
    """An object of a `collections.namedtuple`."""

    api: ClassVar[str] = "collections.namedtuple"
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class RecordType(Value):
    """What `collections.namedtuple` makes."""

    api: ClassVar[str] = "collections.namedtuple"
    names: tuple[str, ...] = ()
    defaults: tuple[Value, ...] = ()


@function("collections.namedtuple", parameters="typename field_names rename defaults module")
def namedtuple(call: Call, run: Run) -> Value:
    """A class of tuples with names."""
    value = call.value("field_names")
    if isinstance(value, Const) and isinstance(value.value, str):
        names: list[Any] = value.value.replace(",", " ").split()
    else:
        items = items_of(run, value).items
        names = [name.value if isinstance(name, Const) else None for name in map(deref, items or [])]
    defaults = items_of(run, call.value("defaults")).items or []
    if not names or not all(isinstance(name, str) for name in names):
        return Unknown()
    return RecordType(tuple(names), tuple(defaults))


@method(RecordType, "__call__")
def record(call: Call, run: Run) -> Value:
    """A tuple with names."""
    made = call.receiver
    assert isinstance(made, RecordType)
    entries: dict[str, Value] = dict(zip(reversed(made.names), reversed(made.defaults)))
    entries.update(zip(made.names, positional(call)))
    entries.update((argument.name, deref(argument.value)) for argument in call.arguments if argument.name)
    return Record({name: entries.get(name, Unknown()) for name in made.names})


@item(Record)
def record_item(value: Value, key: Value, call: Call, run: Run) -> Value:
    """One of its values by position."""
    assert isinstance(value, Record)
    values, at = list(value.attributes.values()), number(key)
    return values[at] if at is not None and -len(values) <= at < len(values) else Unknown()


@iteration(Record)
def record_items(value: Value, run: Run) -> Iteration:
    """Its values, in order."""
    assert isinstance(value, Record)
    return Iteration(items=list(value.attributes.values()))


@function(
    "types.SimpleNamespace",
    "argparse.Namespace",
    "easydict.EasyDict",
    "ml_collections.ConfigDict",
    "munch.Munch",
)
def namespace(call: Call, run: Run) -> Value:
    """An object with attributes."""
    entries: dict[str, Value] = {}
    for argument in call.arguments:
        value = deref(argument.value)
        if argument.name is not None:
            entries[argument.name] = value
        elif isinstance(value, Mapping):
            entries.update({str(key): inner for key, inner in value.entries.items()})
    if not call.name.endswith("Namespace"):
        entries = {name: _nested(value) for name, value in entries.items()}
    return Namespace(entries)


def _nested(value: Value) -> Value:
    """Dictionaries inside such an object are objects of its kind too."""
    if isinstance(value, Mapping) and value.complete:
        return Namespace({str(key): _nested(deref(inner)) for key, inner in value.entries.items()})
    return value


# --- dataclasses --------------------------------------------------------------------------------------


@function("dataclasses.dataclass", "attrs.define", "attr.define", "attr.s", "attrs.frozen")
def dataclass_options(call: Call, run: Run) -> Value:
    """`@dataclass(frozen=True)`: the decorator with its options."""
    return Opaque(call.name, call)


@function("dataclasses.field", "attr.ib", "attrs.field", "pydantic.Field", parameters="default")
def dataclass_field(call: Call, run: Run) -> Value:
    """A field with its default, made by a factory perhaps."""
    made = Opaque("dataclasses.field", call)
    factory = call.value("default_factory") or call.value("factory")
    default = call.value("default")
    if default is not None:
        made.attributes["default"] = default
    elif factory is not None:
        made.attributes["default"] = run.call(factory, [], call)
    return made


@function("dataclasses.replace", parameters="obj")
def dataclass_replace(call: Call, run: Run) -> Value:
    """Another object with some fields changed."""
    value = call.value("obj")
    if not isinstance(value, Instance):
        return Unknown()
    other = Instance(value.cls, value.facet, call.place)
    for name in value.cls.fields:
        run.set_attribute(other, name, run.attribute(value, name, call.place))
    for argument in call.arguments:
        if argument.name is not None:
            run.set_attribute(other, argument.name, deref(argument.value))
    return other


@function("dataclasses.asdict", "dataclasses.astuple", parameters="obj")
def dataclass_asdict(call: Call, run: Run) -> Value:
    """The fields as a dictionary."""
    value = call.value("obj")
    if not isinstance(value, Instance):
        return Unknown()
    entries = {name: run.attribute(value, name, call.place) for name in value.cls.fields}
    return (
        Mapping(dict(entries)) if "asdict" in call.name else Sequence("tuple", items=list(entries.values()))
    )
