"""Bindings: which name, or attribute of which object, holds which value.

One flat store for the whole run, keyed by (scope, name) and (object, attribute). A branch writes into
an overlay of its own, so taking both sides costs what they write, not what exists: a script
with ten thousand names and ten thousand branches stays linear.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from oomlint.dryrun.values.base import Value, join

Key = tuple[Any, str]
Writes = dict[Key, Value]


@dataclass(slots=True, eq=False)
class Scope:
    """A module, function call or class body, by identity; `parent` is where free names are looked up.

    One is made for each call of a function of the program: what most of them have nothing of is made when it comes.
    """

    kind: str  # module, function, class, comprehension
    parent: Scope | None = None
    module: Scope | None = (
        None  # the module scope it belongs to; none for a module (`outermost` gives either)
    )
    globals: frozenset[str] = frozenset()
    nonlocals: frozenset[str] = frozenset()
    stars: tuple[str, ...] = ()  # libraries imported with `*`
    # The names that were ever bound here, on whichever way, in the order of the first time; false: one that is only
    # asked for. A name that is not among them need not be looked for in the store.
    names: dict[str, bool] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<scope {self.kind}>"

    @property
    def outermost(self) -> Scope:
        """The scope of the module that it is in, or is."""
        return self.module or self


class State:
    """The store with its overlays."""

    __slots__ = ("_attributes", "layers")

    def __init__(self) -> None:
        self.layers: list[Writes] = [{}]
        # Of each object the names of its attributes, in order of their first writing, on whichever way.
        self._attributes: dict[Any, dict[str, None]] = {}

    def get(self, key: Key) -> Value | None:
        """The value under a key, from the innermost overlay that has it."""
        for layer in reversed(self.layers):
            value = layer.get(key)
            if value is not None:
                return value
        return None

    def set(self, key: Key, value: Value) -> None:
        """Write into the innermost overlay."""
        self.layers[-1][key] = value

    def binder(self, scope: Scope | None, name: str) -> Scope | None:
        """The innermost scope, from one outwards, that binds a name."""
        while scope is not None and self.get((scope, name)) is None:
            scope = scope.parent
        return scope

    def bind(self, scope: Scope, name: str, value: Value) -> None:
        """Bind a name, into the innermost overlay."""
        scope.names[name] = True
        self.layers[-1][scope, name] = value

    def set_attribute(self, owner: Any, name: str, value: Value, outermost: bool = False) -> None:
        """Write an attribute of an object; into the outermost overlay what holds on every way."""
        self._attributes.setdefault(owner, {})[name] = None
        self.layers[0 if outermost else -1][owner, name] = value

    def attributes(self, owner: Any) -> list[Value]:
        """The values of an object's attributes, as far as they are written here."""
        found = (self.get((owner, name)) for name in self._attributes.get(owner, ()))
        return [value for value in found if value is not None]

    def push(self) -> None:
        """Begin a branch."""
        self.layers.append({})

    def pop(self) -> Writes:
        """End a branch; what it wrote is returned, not kept."""
        return self.layers.pop()

    def adopt(self, writes: Writes) -> None:
        """Take over what one branch wrote (it is the only way on)."""
        self.layers[-1].update(writes)

    def meet(self, ways: list[Writes]) -> None:
        """Several branches meet: each key any of them wrote is joined with what the others have there."""
        if len(ways) == 1:
            self.adopt(ways[0])
            return
        written: dict[Key, list[tuple[int, Value]]] = {}
        for number, way in enumerate(ways):
            for key, value in way.items():
                written.setdefault(key, []).append((number, value))
        for key, values in written.items():
            # In the order of the ways, with what was there before once for all the ways side by side that leave it.
            before = self.get(key) if len(values) < len(ways) else None
            known: list[Value] = []
            expected = 0
            for number, value in values:
                if number > expected and before is not None:
                    known.append(before)
                known.append(value)
                expected = number + 1
            if expected < len(ways) and before is not None:
                known.append(before)
            result = known[0]
            for value in known[1:]:
                result = join(result, value)
            self.set(key, result)
