"""The program's own things: functions, classes, instances, modules; and names of libraries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import libcst as cst

from oomlint.dryrun.values.base import Value
from oomlint.syntax.records import plain_record

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.dryrun.state import Scope
    from oomlint.dryrun.trace import Call
    from oomlint.syntax.place import Place
    from oomlint.syntax.source import Source


@plain_record
class Library(Value):
    """A name of a library, canonical (`keras.layers.Dense`, `tf.data.Dataset`, `numpy.load`).

    `spelled` is the name before it was made canonical (`tensorflow.keras.layers.Dense`), which tells the
    Keras generation. `builtins.len` and the like are library names too.
    """

    name: str
    spelled: str = field(default="", compare=False)


@dataclass(slots=True, eq=False)
class Function(Value):
    """A function or lambda of the program, with the scope it closes over."""

    name: str
    node: cst.FunctionDef | cst.Lambda
    source: Source
    scope: Scope
    defaults: dict[str, Value] = field(default_factory=dict)
    decorators: tuple[Value, ...] = ()
    owner: Class | None = None  # the class whose body defines it
    entered: bool = False
    flags: set[str] = field(default_factory=set)  # tf.function, jit, staticmethod, property, ...
    result: Value | None = None  # what it returned last
    traced: Call | None = None  # the `tf.function` that it went through
    plain: Function | None = None  # what `tf.function(step)` was given: `step` itself stays as it is
    wrapper: Function | None = None  # and the other way round

    def joined(self, other: Function) -> Function:
        """The value where two ways meet: one function cannot be mixed with another, so what holds on this way."""
        return self

    def __repr__(self) -> str:
        return f"<function {self.name}>"


@dataclass(slots=True, eq=False)
class Class(Value):
    """A class of the program."""

    name: str
    node: cst.ClassDef
    source: Source
    scope: Scope
    bases: tuple[Value, ...] = ()
    flags: set[str] = field(default_factory=set)  # dataclass, namedtuple
    fields: dict[str, Value | None] = field(default_factory=dict)  # dataclass fields and defaults, in order
    instance: Instance | None = None  # the last one made: methods nobody calls are entered with it
    line: tuple[Class, ...] | None = None  # its ancestry, once that was asked for: bases do not change

    def joined(self, other: Class) -> Class:
        """The value where two ways meet: one class cannot be mixed with another, so what holds on this way."""
        return self

    def __repr__(self) -> str:
        return f"<class {self.name}>"

    def ancestry(self) -> tuple[Class, ...]:
        """The class and its bases of the program, in lookup order (depth first)."""
        if self.line is None:
            bases = [base for base in self.bases if isinstance(base, Class)]
            seen: dict[int, Class] = {id(self): self}
            for base in bases:
                for ancestor in base.ancestry():
                    seen.setdefault(id(ancestor), ancestor)
            self.line = tuple(seen.values())
        return self.line

    def library_bases(self) -> list[str]:
        """Canonical names of the library classes it derives from."""
        return [base.name for cls in self.ancestry() for base in cls.bases if isinstance(base, Library)]


@dataclass(slots=True, eq=False)
class Instance(Value):
    """An object of a class of the program. `facet` is what a library base makes of it (a Model, a Layer).

    Its attributes live in the state under `(instance, name)`.
    """

    cls: Class
    facet: Value | None = None
    place: Place | None = None
    constructed: bool = True  # false: made by the dry run itself to enter methods that nobody calls

    def joined(self, other: Instance) -> Instance:
        """The value where two ways meet: one object cannot be mixed with another, so what holds on this way."""
        return self

    def __repr__(self) -> str:
        return f"<{self.cls.name} object>"


@dataclass(slots=True, eq=False)
class ProjectModule(Value):
    """A module of the checked project. `document` tells a package where its submodules are."""

    scope: Scope
    document: Document


@plain_record
class Method(Value):
    """A bound method: of the program (`function` is a Function) or of a typed value (`name` only)."""

    api: ClassVar[str] = "method"
    receiver: Value
    name: str
    function: Function | None = None


@plain_record
class Partial(Value):
    """`functools.partial`: a callable with arguments already given."""

    function: Value
    arguments: tuple[Any, ...] = ()  # tuple[Argument, ...]


@plain_record
class Super(Value):
    """`super()` inside a method."""

    instance: Value
    after: Class


@dataclass(slots=True, eq=False)
class ExitStack(Value):
    """`contextlib.ExitStack`. `perhaps` are the managers that are entered on some of the ways only."""

    perhaps: list[Value] = field(default_factory=list)
