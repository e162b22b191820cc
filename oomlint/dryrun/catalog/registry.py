"""The catalog's register: which library calls are known, and what they do to abstract values.

A module of the catalog writes one function per call or family of calls and registers it with a
decorator. Handlers get the call (with its arguments) and the run, and return the value that
the call gives; what they do not know they return as :class:`Unknown`, never as a guess.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from oomlint.dryrun.values.base import Const, Value

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call
    from oomlint.dryrun.values.base import Pending
    from oomlint.dryrun.values.program import Instance


@dataclass(slots=True)
class Iteration:
    """What a loop over a value gives: every item, or one that stands for all, and how many."""

    items: list[Value] | None = None
    element: Value | None = None
    count: Const | None = None


Handler = Callable[["Call", "Run"], Value]
AttributeHandler = Callable[[Value, "Run"], Value]
H = TypeVar("H", bound=Callable[..., object])


@dataclass(slots=True)
class Catalog:
    """Everything registered. Lookups follow the value classes' inheritance."""

    functions: dict[str, Handler] = field(default_factory=dict)
    prefixes: dict[str, Handler] = field(default_factory=dict)
    signatures: dict[str, tuple[str, ...]] = field(default_factory=dict)
    other_names: dict[str, dict[str, str]] = field(default_factory=dict)
    methods: dict[tuple[type, str], Handler] = field(default_factory=dict)
    attributes: dict[tuple[type, str], AttributeHandler] = field(default_factory=dict)
    constants: dict[str, AttributeHandler] = field(default_factory=dict)
    operators: dict[type, Handler] = field(default_factory=dict)
    operands: dict[tuple[type, str], Handler] = field(default_factory=dict)
    items: dict[type, Callable[[Value, Value, Call, Run], Value]] = field(default_factory=dict)
    iterations: dict[type, Callable[[Value, Run], Iteration]] = field(default_factory=dict)
    entries: dict[type, Callable[[Value, Run], Value]] = field(default_factory=dict)
    facets: dict[str, Callable[[Instance, str, Run], Value]] = field(default_factory=dict)
    ducks: list[Callable[[Pending, Run], Value | None]] = field(default_factory=list)
    iterated: Callable[[Pending, Run], Value | None] | None = None
    loaded: bool = False
    # What was looked up: the same few hundred names come all through a check.
    _of_names: dict[str, Handler | None] = field(default_factory=dict)
    _of_types: dict[tuple[str, type, str], Callable[..., Any] | None] = field(default_factory=dict)

    def function(self, name: str) -> Handler | None:
        """The handler of a canonical name: its own, or that of the longest prefix."""
        if name not in self._of_names:
            self._of_names[name] = self._function(name)
        return self._of_names[name]

    def _function(self, name: str) -> Handler | None:
        handler = self.functions.get(name)
        if handler is not None:
            return handler
        prefix = name
        while "." in prefix:
            prefix = prefix.rpartition(".")[0]
            handler = self.prefixes.get(prefix + ".")
            if handler is not None:
                return handler
        return None

    def on(self, call: Call) -> Handler | None:
        """The handler of a function for the kind of value it is called on, where that kind has one."""
        for argument in call.arguments[:2]:
            kind = type(argument.value)
            handler = self.operands.get((kind, call.name)) or self.operands.get((kind, "*"))
            if handler is not None:
                return handler
        return None

    def method(self, kind: type, name: str) -> Handler | None:
        """The handler of a method, or the type's `*` handler for methods without one of their own."""
        key = "method", kind, name
        if key not in self._of_types:
            found = self._by_type(self.methods, kind, name) or self._by_type(self.methods, kind, "*")
            self._of_types[key] = found
        return self._of_types[key]

    def attribute(self, kind: type, name: str) -> AttributeHandler | None:
        """The handler of an attribute."""
        key = "attribute", kind, name
        if key not in self._of_types:
            self._of_types[key] = self._by_type(self.attributes, kind, name)
        return self._of_types[key]

    def knows(self, name: str) -> bool:
        """Whether a canonical name is registered by itself (for `from x import *`)."""
        return (
            name in self.functions or name in self.signatures or name in self.constants or name in self.facets
        )

    @staticmethod
    def _by_type(table: dict[tuple[type, str], H], kind: type, name: str) -> H | None:
        for cls in kind.__mro__:
            found = table.get((cls, name))
            if found is not None:
                return found
        return None


CATALOG = Catalog()


def load() -> Catalog:
    """The catalog with every module of this package registered (imported once, on first use)."""
    if not CATALOG.loaded:
        CATALOG.loaded = True
        package = importlib.import_module("oomlint.dryrun.catalog")
        found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        for module in sorted(found, key=lambda item: item.name):
            importlib.import_module(module.name)
    return CATALOG


def signature(names: str, parameters: str) -> None:
    """Declare the parameters of calls whose result nobody needs: `signature("tf.a tf.b", "x y")`."""
    for name in names.split():
        CATALOG.signatures[name] = tuple(parameters.split())


def function(*names: str, parameters: str = "") -> Callable[[H], H]:
    """Register the handler of library functions or classes, with their parameters in order."""

    def register(handler: H) -> H:
        for name in names:
            CATALOG.functions[name] = handler  # type: ignore[assignment]
            if parameters:
                CATALOG.signatures[name] = tuple(parameters.split())
        return handler

    return register


def function_on(kind: type[Value], *names: str) -> Callable[[H], H]:
    """Register what library functions do with a kind among their first two arguments (`tf.divide` of gradients)."""

    def register(handler: H) -> H:
        for name in names:
            CATALOG.operands[kind, name] = handler  # type: ignore[assignment]
        return handler

    return register


def prefix(*names: str) -> Callable[[H], H]:
    """Register a handler for every name below a package (`keras.applications.`)."""

    def register(handler: H) -> H:
        for name in names:
            CATALOG.prefixes[name] = handler  # type: ignore[assignment]
        return handler

    return register


def method(kind: type[Value], *names: str, parameters: str = "") -> Callable[[H], H]:
    """Register the handler of methods of a value class. Events are named `kind.api` dot method."""

    def register(handler: H) -> H:
        for name in names:
            CATALOG.methods[kind, name] = handler  # type: ignore[assignment]
            if parameters:
                CATALOG.signatures[f"{kind.api}.{name}"] = tuple(parameters.split())
        return handler

    return register


def attribute(kind: type[Value], *names: str) -> Callable[[H], H]:
    """Register what an attribute of a value class is."""

    def register(handler: H) -> H:
        for name in names:
            CATALOG.attributes[kind, name] = handler  # type: ignore[assignment]
        return handler

    return register


def constant(name: str, value: Value) -> None:
    """Register a library constant (`math.pi`)."""
    CATALOG.constants[name] = lambda _value, _run: value


def operator(*kinds: type[Value]) -> Callable[[H], H]:
    """Register the handler of binary and unary operators on a value class.

    The call is named `operator.truediv` and so on; its arguments are the operands, in order.
    """

    def register(handler: H) -> H:
        for kind in kinds:
            CATALOG.operators[kind] = handler  # type: ignore[assignment]
        return handler

    return register


def item(*kinds: type[Value]) -> Callable[[H], H]:
    """Register what a subscript of a value class gives: handler(value, index, call, run)."""

    def register(handler: H) -> H:
        for kind in kinds:
            CATALOG.items[kind] = handler  # type: ignore[assignment]
        return handler

    return register


def iteration(*kinds: type[Value]) -> Callable[[H], H]:
    """Register what a loop over a value class gives: handler(value, run) -> Iteration."""

    def register(handler: H) -> H:
        for kind in kinds:
            CATALOG.iterations[kind] = handler  # type: ignore[assignment]
        return handler

    return register


def entry(*kinds: type[Value]) -> Callable[[H], H]:
    """Register what `with value as x` binds: handler(value, run)."""

    def register(handler: H) -> H:
        for kind in kinds:
            CATALOG.entries[kind] = handler  # type: ignore[assignment]
        return handler

    return register


def facet(*bases: str) -> Callable[[H], H]:
    """Register what a library base class makes of an instance: handler(instance, base, run)."""

    def register(handler: H) -> H:
        for base in bases:
            CATALOG.facets[base] = handler  # type: ignore[assignment]
        return handler

    return register


def duck(handler: H) -> H:
    """Register a look at a method call on an unknown receiver: the value it must be, or None."""
    CATALOG.ducks.append(handler)  # type: ignore[arg-type]
    return handler


def iterated(handler: H) -> H:
    """Register the look at an unknown that a loop goes over: what its first receiver must be, or None."""
    CATALOG.iterated = handler  # type: ignore[assignment]
    return handler
