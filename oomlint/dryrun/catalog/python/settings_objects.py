"""Settings that libraries hold: yacs, OmegaConf, Box and their kin, click's options, dataclasses from a command line.

What a file or the command line may replace is soft: good for a size, not for deciding a branch.
"""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

from oomlint.dryrun.catalog.python.command_line import soft
from oomlint.dryrun.catalog.registry import attribute, function, item, method
from oomlint.dryrun.values.base import NONE, Const, Mapping, Namespace, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.program import Class, Function, Library, Partial

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

# Names that the namespace of `types.SimpleNamespace` and EasyDict stands for as well.
_OBJECTS = (
    "attrdict.AttrDict", "attrdict.AttrMap", "box.Box", "dotmap.DotMap", "munch.munchify", "munch.Munch.fromDict",
    "omegaconf.OmegaConf.create", "omegaconf.DictConfig", "yacs.config.CfgNode", "fvcore.common.config.CfgNode",
)  # fmt: skip


@function(*_OBJECTS)
def settings(call: Call, run: Run) -> Value:
    """An object whose attributes are the items of a dictionary; dictionaries in it are such objects too."""
    entries: dict[str, Value] = {}
    for argument in call.arguments:
        value = deref(argument.value)
        if argument.name is None and isinstance(value, Mapping | Namespace):
            held = value.entries if isinstance(value, Mapping) else value.attributes
            entries.update({str(key): inner for key, inner in held.items()})
        elif argument.name is not None and not call.name.startswith(("yacs", "omegaconf", "fvcore")):
            entries[argument.name] = value
        elif argument.name is None and not isinstance(value, Const):
            return Unknown()
    return Namespace({name: _nested(value) for name, value in entries.items()})


def _nested(value: Value) -> Value:
    value = deref(value)
    if isinstance(value, Mapping) and value.complete:
        return Namespace({str(key): _nested(inner) for key, inner in value.entries.items()})
    return value


@method(Namespace, "clone", "copy")
def cloned(call: Call, run: Run) -> Value:
    """Another object with the same settings."""
    assert isinstance(call.receiver, Namespace)
    return _copied(call.receiver)


def _copied(value: Value) -> Value:
    value = deref(value)
    return (
        Namespace({name: _copied(inner) for name, inner in value.attributes.items()})
        if isinstance(value, Namespace)
        else value
    )


@method(Namespace, "merge_from_file", "merge_from_list", "merge_from_other_cfg", "merge_with_dotlist")
def replaced(call: Call, run: Run) -> Value:
    """The command line may say otherwise of each; a file certainly does of some."""
    assert isinstance(call.receiver, Namespace)
    _doubt(call.receiver, call.name.endswith("list"))
    return NONE


def _doubt(settings: Namespace, defaults: bool) -> None:
    for name, value in settings.attributes.items():
        value = deref(value)
        if isinstance(value, Namespace):
            _doubt(value, defaults)
        elif isinstance(value, Const):
            unknown = Unknown(type=type(value.value).__name__)
            settings.attributes[name] = value.softened() if defaults else unknown


@item(Namespace)
def setting(value: Value, key: Value, call: Call, run: Run) -> Value:
    """`cfg["side"]`."""
    assert isinstance(value, Namespace)
    name = deref(key)
    known = (
        value.attributes.get(name.value) if isinstance(name, Const) and isinstance(name.value, str) else None
    )
    return known if known is not None else Unknown()


@attribute(Namespace, "__dict__")
def as_dictionary(value: Value, run: Run) -> Value:
    """`parser.parse_args().__dict__`."""
    assert isinstance(value, Namespace)
    return Mapping(dict(value.attributes))


@function("json.loads", "ast.literal_eval", parameters="s")
def parsed(call: Call, run: Run) -> Value:
    """What a text of the script says."""
    text = deref(call.arguments[0].value) if call.arguments else None
    if not isinstance(text, Const) or not isinstance(text.value, str) or len(call.arguments) > 1:
        return Unknown()
    try:
        return _value((json.loads if call.name == "json.loads" else ast.literal_eval)(text.value), text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return Unknown()


def _value(made: Any, text: Const) -> Value:
    if isinstance(made, dict):
        return Mapping({key: _value(inner, text) for key, inner in made.items()})
    if isinstance(made, list | tuple):
        return Sequence(type(made).__name__, items=[_value(inner, text) for inner in made])
    return (
        Const(made, text.trail, text.soft)
        if isinstance(made, str | int | float | bool) or made is None
        else Unknown()
    )


# --- command lines made of dataclasses and decorators -------------------------------------------------


@function("tyro.cli", "simple_parsing.parse", parameters="component")
def from_command_line(call: Call, run: Run) -> Value:
    """A function with its defaults, or an object of a dataclass with its own: the command line may replace them."""
    target = deref(call.arguments[0].value) if call.arguments else Unknown()
    if isinstance(target, Function):
        return run.enter(target, (), call.place, called=False)
    return _from_defaults(target, call, run)


@function("transformers.HfArgumentParser")
def argument_classes(call: Call, run: Run) -> Value:
    """A parser that makes an object of each dataclass."""
    return Partial(Library("transformers.HfArgumentParser.parse"), call.arguments)


@method(Partial, "parse_args_into_dataclasses")
def objects_of_classes(call: Call, run: Run) -> Value:
    """One object for each of them, with its defaults."""
    parser = call.receiver
    assert isinstance(parser, Partial)
    given = deref(parser.arguments[0].value) if parser.arguments else Unknown()
    classes = given.items if isinstance(given, Sequence) and given.items is not None else [given]
    return Sequence("tuple", items=[_from_defaults(deref(one), call, run) for one in classes])


def _from_defaults(target: Value, call: Call, run: Run) -> Value:
    if not isinstance(target, Class):
        return Unknown()
    made = run.apply(target, (), call.place)
    for name in target.fields:
        value = deref(run.attribute(made, name, call.place))
        if isinstance(value, Const):
            run.set_attribute(made, name, soft(value, f"--{name} default", call.place))
    return made


@function("click.option", "click.argument")
def click_option(call: Call, run: Run) -> Value:
    """The decorator, which gives the function a default."""
    return Partial(Library("click.option.of"), call.arguments)


@function("click.option.of")
def with_default(call: Call, run: Run) -> Value:
    """The function, whose parameter has the option's default where the command line says nothing."""
    decorated = deref(call.arguments[-1].value)
    names = [item.const() for item in call.arguments[:-1] if item.name is None]
    words = [name for name in names if isinstance(name, str)]
    if isinstance(decorated, Function) and words:
        plain = next((word for word in words if not word.startswith("-")), None)
        long = max(words, key=lambda word: (word.startswith("--"), len(word)))
        name = plain or long.partition("/")[0].lstrip("-").replace("-", "_").lower()
        given = next((item for item in call.arguments if item.name == "default"), None)
        if given is not None and not (isinstance(deref(given.value), Const) and given.const() is None):
            decorated.defaults.setdefault(name, soft(given.value, f"{long} default", given.place))
    return decorated


@function("typer.Option", "typer.Argument", parameters="default")
def typer_option(call: Call, run: Run) -> Value:
    """A parameter's default, written into the function's head."""
    given = call.argument("default") or (call.arguments[0] if call.arguments else None)
    return soft(given.value, "default", given.place) if given is not None else Unknown()
