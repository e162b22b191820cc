"""Where a script's settings come from: argparse, absl and TF flags, the environment.

Defaults are soft: good for a size (it is what runs when nobody says otherwise), not for deciding a branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.python.builtin_functions import items_of
from oomlint.dryrun.catalog.registry import CATALOG, function, method
from oomlint.dryrun.trace import Branch
from oomlint.dryrun.values.base import NONE, Const, Namespace, Sequence, Step, Unknown, Value, deref, extend
from oomlint.dryrun.values.program import Function, Library, Method

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call
    from oomlint.syntax.place import Place

_TYPES = {"builtins.int": "int", "builtins.float": "float", "builtins.str": "str", "builtins.bool": "bool"}


def soft(value: Value, text: str, place: Place) -> Value:
    """A default with where it stands."""
    value = deref(value)
    if isinstance(value, Const):
        return Const(value.value, extend(value.trail, Step(text, place)), True)
    return value


# --- argparse -----------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Option:
    """One option of a parser: its flags and its default, already of its type."""

    names: tuple[str, ...]
    default: Value
    type: Value | None = None


@dataclass(slots=True, eq=False)
class Parser(Value):
    """An ArgumentParser or one of its groups: they share the options. Sub-commands have their own."""

    api: ClassVar[str] = "argparse.ArgumentParser"
    options: dict[str, Option] = field(default_factory=dict)
    commands: list[Parser] = field(default_factory=list)

    def every(self) -> Iterator[Parser]:
        """Its sub-commands, and theirs."""
        for command in self.commands:
            yield command
            yield from command.every()


@dataclass(slots=True, eq=False)
class Chosen(Value):
    """What `args.func` is: the function of whichever sub-command was given, with the options that it has then."""

    api: ClassVar[str] = "argparse.command"
    ways: list[tuple[Value, dict[str, Value]]] = field(default_factory=list)


@method(Chosen, "__call__")
def run_chosen(call: Call, run: Run) -> Value:
    """One of the functions runs: each is followed, as on the sides of a branch."""
    chosen = call.receiver
    assert isinstance(chosen, Chosen)
    for named, options in chosen.ways:
        arguments = tuple(
            replace(argument, value=Namespace({**value.attributes, **options}))
            if isinstance(value := deref(argument.value), Namespace)
            and any(held is chosen for held in value.attributes.values())
            else argument
            for argument in call.arguments
        )
        with run.inside(run.context.inside(Branch(call.place, Unknown(), True))):
            run.apply(named, arguments, call.place)
    return Unknown()


@function("argparse.ArgumentParser", "configargparse.ArgumentParser", "configargparse.ArgParser")
def parser(call: Call, run: Run) -> Value:
    """A parser; with `parents` their options are its own."""
    return _made(call, run)


def _made(call: Call, run: Run) -> Parser:
    made = Parser()
    for parent in items_of(run, call.value("parents")).items or []:
        inherited = deref(parent)
        if isinstance(inherited, Parser):
            made.options.update(inherited.options)
    return made


@method(Parser, "add_parser")
def sub_command(call: Call, run: Run) -> Value:
    """A parser of a sub-command's own options."""
    made = _made(call, run)
    if isinstance(call.receiver, Parser):
        call.receiver.commands.append(made)
    return made


@method(Parser, "add_argument_group", "add_mutually_exclusive_group", "add_subparsers")
def group(call: Call, run: Run) -> Value:
    """A group's options, and those of all sub-commands, are found in the same namespace."""
    dest = call.const("dest")
    receiver = call.receiver
    if isinstance(receiver, Parser) and isinstance(dest, str):
        receiver.options.setdefault(dest, Option((), Unknown(type="str")))
    return receiver or Unknown()


@method(Parser, "add_argument", "add")
def add_argument(call: Call, run: Run) -> Value:
    """An option or positional argument."""
    receiver = call.receiver
    given = [item.const() for item in call.arguments if item.name is None]
    names = tuple(name for name in given if isinstance(name, str))
    if not isinstance(receiver, Parser) or not names:
        return Unknown()
    long = next((name for name in names if name.startswith("--")), names[0])
    dest = call.const("dest") or long.lstrip("-").replace("-", "_")
    if isinstance(dest, str):
        receiver.options[dest] = Option(names, _default(call, run, long), call.value("type"))
    return Unknown()


def _default(call: Call, run: Run, name: str) -> Value:
    action = call.const("action")
    given = call.argument("default")
    if given is None and action in ("store_true", "store_false"):
        return Const(action == "store_false", (Step(f"{name} default", call.place),), True)
    kind = call.value("type")
    type_ = _TYPES.get(kind.name) if isinstance(kind, Library) else None
    if given is None:
        # An option that is not given is None; a positional argument or a required option is always given.
        optional = name.startswith("-") and call.const("required", False) is False
        return NONE.softened() if optional and kind is None else Unknown(type=type_)
    value = deref(given.value)
    if isinstance(value, Const) and isinstance(value.value, str) and kind is not None:
        value = deref(run.call(kind, [value], call))  # argparse converts defaults that are strings
    if isinstance(value, Const) and value.value is None:
        return Unknown(type=type_)
    return soft(value, f"{name} default", given.place)


@method(Parser, "set_defaults")
def set_defaults(call: Call, run: Run) -> Value:
    """Defaults set together."""
    receiver = call.receiver
    if isinstance(receiver, Parser):
        for argument in call.arguments:
            if argument.name is not None:
                value = soft(argument.value, f"{argument.name} default", argument.place)
                receiver.options[argument.name] = Option((f"--{argument.name}",), value)
    return NONE


@method(Parser, "parse_args", "parse_known_args", "parse_intermixed_args", parameters="args namespace")
def parse_args(call: Call, run: Run) -> Value:
    """The namespace with its defaults, and what a list of arguments written in the script sets."""
    receiver = call.receiver
    assert isinstance(receiver, Parser)
    values = {name: option.default for name, option in receiver.options.items()}
    for command in receiver.every():
        values.update((name, option.default) for name, option in command.options.items())
    values.update(_chosen(receiver))
    words = call.value("args")
    if isinstance(words, Sequence) and words.items is not None:
        values.update(_given(receiver, [deref(word) for word in words.items], call, run))
    namespace = Namespace(values)
    if call.name.endswith("parse_known_args"):
        return Sequence("tuple", items=[namespace, Sequence("list", element=Unknown(type="str"))])
    return namespace


def _chosen(parser: Parser) -> Iterator[tuple[str, Value]]:
    """The defaults by which sub-commands name their functions: `set_defaults(func=train)`."""
    ways: dict[str, list[tuple[Value, dict[str, Value]]]] = {}
    for command in parser.every():
        own = {name: option.default for name, option in command.options.items()}
        for name, value in own.items():
            if isinstance(value, Function | Method):
                ways.setdefault(name, []).append((value, own))
    for name, found in ways.items():
        if len(found) > 1:
            yield name, Chosen(found)


def _given(parser: Parser, words: list[Value], call: Call, run: Run) -> dict[str, Value]:
    """`--name value` pairs of a constant list."""
    every = (parser, *parser.every())
    by_flag = {
        name: (dest, option) for one in every for dest, option in one.options.items() for name in option.names
    }
    given: dict[str, Value] = {}
    for flag, value in pairwise(words):
        if isinstance(flag, Const) and flag.value in by_flag and isinstance(value, Const):
            dest, option = by_flag[flag.value]
            given[dest] = deref(run.call(option.type, [value], call)) if option.type is not None else value
    return given


# --- absl and TF flags --------------------------------------------------------------------------------

_FLAG_TYPES = {
    "integer": "int",
    "float": "float",
    "string": "str",
    "bool": "bool",
    "boolean": "bool",
    "enum": "str",
}
_ROOTS = ("absl.flags", "tf.flags", "tf.app.flags")


def _flags(run: Run) -> Namespace:
    """The one namespace of flags of a run."""
    key = ("absl.flags", "FLAGS")
    found = run.state.get(key)
    if isinstance(found, Namespace):
        return found
    made = Namespace()
    run.state.layers[0][key] = made
    return made


@dataclass(frozen=True, slots=True, eq=False)
class FlagHolder(Value):
    """What a DEFINE function gives: the flag itself."""

    api: ClassVar[str] = "absl.flags.FlagHolder"
    attributes: dict[str, Value] = field(default_factory=dict)


def _define(call: Call, run: Run) -> Value:
    name, default = call.const("name"), call.argument("default")
    kind = _FLAG_TYPES.get(call.name.rpartition("_")[2])
    value: Value = Unknown(type=kind)
    if default is not None and not (isinstance(deref(default.value), Const) and default.const() is None):
        value = soft(default.value, f"--{name} default", default.place)
    if isinstance(name, str):
        _flags(run).attributes[name] = value
    return FlagHolder({"value": value, "default": value})


for _root in _ROOTS:
    CATALOG.constants[f"{_root}.FLAGS"] = lambda _library, run: _flags(run)
    for _kind in (*_FLAG_TYPES, "list", "multi_integer", "multi_string", "spaceseplist"):
        function(f"{_root}.DEFINE_{_kind}", parameters="name default help")(_define)


# --- the environment ----------------------------------------------------------------------------------


@function("os.environ.get", "os.getenv", "os.environ.setdefault", "os.environ.pop", parameters="key default")
def environment(call: Call, run: Run) -> Value:
    """A variable of the environment, or the default."""
    default = call.argument("default")
    if default is None or (isinstance(deref(default.value), Const) and default.const() is None):
        return Unknown()
    key = call.const("key")
    return soft(default.value, f"{key} default" if isinstance(key, str) else "default", default.place)
