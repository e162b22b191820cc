"""What each part of a module uses, from the standard library's `ast`: its names, and which other parts they lead to.

Parts are the module's body, each class's body, and each function and method with all that is nested in it. What they
use is kept as bits, one for each group of names that somebody asks for: 2,000 modules are kept in a run.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from oomlint.engine.module_parts import Import, Part, Uses, but_for, dotted, is_called


@dataclass(slots=True, eq=False)
class _Names:
    """What is collected of a part, while its module is read."""

    names: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)  # attributes that are set, or have a method called
    changed: set[str] = field(default_factory=set)  # the same of plain names
    bits: int = 0


def uses_of(tree: ast.Module, groups: Mapping[str, int], outside: int = 0) -> Uses:
    """The parts of a module. `groups` gives the bits of what is asked for; those `outside` do not count here.

    What is asked for is a name (`fit`), an attribute or imported name (`.fit`), a keyword (`fit=`), or one of `for`,
    `while`, `except`, `[]=` and `+=`.
    """
    return _Reader(groups, ~outside).read(tree)


class _Reader:
    def __init__(self, groups: Mapping[str, int], mask: int) -> None:
        self.groups = groups
        self.mask = mask
        self.parts: list[Part] = []
        self.found: list[_Names] = []
        self.top: defaultdict[str, list[int]] = defaultdict(list)
        self.members: defaultdict[str, list[int]] = defaultdict(list)
        self.imports: defaultdict[str, list[Import]] = defaultdict(list)
        self.stars: list[Import] = []
        self.objects: defaultdict[int, list[int]] = defaultdict(list)  # of methods: what makes their objects
        self.set: set[str] = set()  # attributes that are set somewhere
        self.globals: set[str] = set()
        self.calling: set[int] = set()  # bodies of classes in which something is called
        self.bases: dict[str, list[str]] = {}
        self.classes: list[tuple[str, str | None, int, int]] = []  # name, class around, body, bases

    def read(self, tree: ast.Module) -> Uses:
        self.block(tree.body, self.part(None, None), None)
        self.made()
        words: set[str] = set().union(*(found.names | found.attributes for found in self.found))
        if self.stars:
            # What comes by a star is named without its module.
            for found in self.found:
                for name in found.names:
                    found.bits |= self.groups.get(f".{name}", 0)
                for star in self.stars:
                    found.bits |= star.bits
        for at, (part, found) in enumerate(zip(self.parts, self.found)):
            leads = {at for name in found.names & self.top.keys() for at in self.top[name]}
            leads |= {at for name in found.attributes & self.members.keys() for at in self.members[name]}
            leads |= {at for name in found.attributes & self.top.keys() for at in self.top[name]}
            leads.update(self.objects[at])
            part.leads = tuple(leads)
            part.imports = tuple(found.names & self.imports.keys())
            part.bits = found.bits & self.mask
        self.shared()
        return Uses(
            self.parts,
            [0, *(body for _, _, body, _ in self.classes if body in self.calling)],
            dict(self.top),
            dict(self.members),
            dict(self.imports),
            tuple(self.stars),
            frozenset(words),
        )

    def part(self, owner: str | None, name: str | None) -> int:
        self.parts.append(Part(owner, name))
        self.found.append(_Names())
        return len(self.parts) - 1

    # --- statements outside of functions ----------------------------------------------------------

    def block(self, statements: Iterable[ast.stmt], at: int, owner: str | None) -> None:
        for statement in statements:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    number = self.part(owner, statement.name)
                    (self.top if owner is None else self.members)[statement.name].append(number)
                    self.collect([statement], number)
                    now = [*statement.decorator_list, *statement.args.defaults]
                    now += [one for one in statement.args.kw_defaults if one is not None]
                    self.collect(now, at)
                case ast.ClassDef():
                    number, above = self.part(statement.name, None), self.part(statement.name, None)
                    self.classes.append((statement.name, owner, number, above))
                    self.say(at, statement.name)
                    self.collect([*statement.bases, *statement.keywords], above)
                    self.bases[statement.name] = [dotted(base) for base in statement.bases]
                    self.collect(statement.decorator_list, at)
                    self.block(statement.body, number, statement.name)
                    self.found[at].bits |= self.found[above].bits | self.found[number].bits
                case _:
                    inner = [
                        (name, value)
                        for name, value in ast.iter_fields(statement)
                        if isinstance(value, list)
                        and name in ("body", "orelse", "finalbody", "handlers", "cases")
                    ]
                    if not inner:
                        self.collect([statement], at, owner)
                        continue
                    self.word(statement, at)
                    for _, value in inner:
                        for one in value:
                            if isinstance(one, ast.stmt):
                                self.block([one], at, owner)
                            else:  # a handler or a case
                                self.word(one, at)
                                self.collect(but_for(one, {"body"}), at, owner)
                                self.block(one.body, at, owner)
                    self.collect(but_for(statement, {name for name, _ in inner}), at, owner)

    # --- names -------------------------------------------------------------------------------------

    def say(self, at: int, name: str) -> None:
        self.found[at].bits |= self.groups.get(name, 0)

    def word(self, node: ast.AST, at: int) -> None:
        word = _WORDS.get(type(node))
        if word is not None:
            self.say(at, word)
        elif type(node) in _LOOPS:
            self.say(at, "for")
            self.say(at, "loop")
            if isinstance(node, ast.While):
                self.say(at, "while")

    def collect(self, nodes: Iterable[ast.AST], at: int, owner: str | None = None) -> None:
        """Names below some nodes. What is bound outside of functions is a global, or a member of the class."""
        groups, found = self.groups, self.found[at]
        names, attributes = found.names, found.attributes
        outside = self.parts[at].name is None
        bits, few = 0, groups.get("16+", 0)
        number = groups.get("64+", 0) | groups.get("16+", 0)
        stack: list[ast.AST] = list(nodes)
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is ast.Name:
                name = node.id  # type: ignore[attr-defined]
                names.add(name)
                bits |= groups.get(name, 0)
                if outside and type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]
                    self.bind(name, at, owner)
                continue
            if kind is ast.Constant:
                value = node.value  # type: ignore[attr-defined]
                if type(value) is str:
                    if len(value) < 40:
                        bits |= groups.get(f"'{value}'", 0)
                        if value.isdigit() and len(value) > 1:
                            bits |= number
                elif type(value) in _NUMBERS and value >= 16:
                    bits |= number if value >= 64 else few
                continue
            if kind is ast.Attribute:
                name = node.attr  # type: ignore[attr-defined]
                attributes.add(name)
                bits |= groups.get(name, 0) | groups.get(f".{name}", 0)
                if type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]
                    self.set_attribute(name, at)
                stack.append(node.value)  # type: ignore[attr-defined]
                continue
            word = _WORDS.get(kind)
            if word is not None:
                bits |= groups.get(word, 0)
            elif kind in _LOOPS:
                bits |= groups.get("for", 0) | groups.get("loop", 0)
                if kind is ast.While:
                    bits |= groups.get("while", 0)
            match node:
                case ast.Call(
                    func=ast.Name(id="getattr" | "hasattr" | "setattr"),
                    args=[_, ast.Constant(value=str() as name), *_],
                ):
                    attributes.add(name)
                    bits |= groups.get(name, 0) | groups.get(f".{name}", 0)
                    self.set_attribute(name, at)
                case ast.Call() if outside:
                    self.calling.add(at)
                case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name))):
                    found.written.add(name)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
                    found.changed.add(name)
                case (
                    ast.BinOp(op=ast.Pow() | ast.LShift())
                    | ast.BinOp(left=ast.Constant(), op=ast.Mult(), right=ast.Constant())
                ):
                    bits |= number
                case (
                    ast.BinOp(left=ast.List() | ast.Tuple(), op=ast.Mult())
                    | ast.BinOp(op=ast.Mult(), right=ast.List() | ast.Tuple())
                ):
                    bits |= groups.get("[]*", 0)
                case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements) if (
                    len(elements) > 7
                ):
                    bits |= groups.get("[..]", 0)
                case ast.Subscript(value=inner, ctx=ast.Store() | ast.Del()):
                    bits |= groups.get("[]=", 0)
                    while isinstance(inner, ast.Subscript):
                        inner = inner.value
                    if isinstance(inner, ast.Name):
                        found.changed.add(inner.id)
                    elif isinstance(inner, ast.Attribute):
                        found.written.add(inner.attr)
                        bits |= groups.get(".[]=", 0)
                case ast.ListComp(elt=ast.Call()) | ast.GeneratorExp(elt=ast.Call()):
                    bits |= groups.get("[f()]", 0)
                case ast.Global(names=globals_):
                    for name in globals_:
                        found.changed.add(name)
                        self.bind(name, at, None)
                case ast.keyword(arg=str() as name):
                    bits |= groups.get(name, 0) | groups.get(f"{name}=", 0)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    bits |= groups.get(name, 0)
                case ast.Import() | ast.ImportFrom():
                    bits |= self.imported(node)
                    continue
                case ast.ExceptHandler(name=str() as name) if outside:
                    self.bind(name, at, owner)
                case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name) if outside:
                    self.bind(name, at, owner)
            for value in node.__dict__.values():
                if isinstance(value, ast.AST):
                    # `Load()` and such are one object for all trees of the process, on which pyflakes leaves notes.
                    if type(value)._fields:
                        stack.append(value)
                elif type(value) is list:
                    stack += [one for one in value if isinstance(one, ast.AST) and type(one)._fields]
        found.bits |= bits

    def bind(self, name: str, at: int, owner: str | None) -> None:
        where = self.top if owner is None else self.members
        if owner is None:
            self.globals.add(name)
        if at not in where[name]:
            where[name].append(at)

    def set_attribute(self, name: str, at: int) -> None:
        self.set.add(name)
        self.found[at].written.add(name)
        if at not in self.members[name]:
            self.members[name].append(at)

    def imported(self, node: ast.Import | ast.ImportFrom) -> int:
        """Note what an import binds, and give its bits."""
        groups, all_bits = self.groups, 0
        if isinstance(node, ast.Import):
            for alias in node.names:
                bits = self.words(alias.name) | groups.get(alias.asname or "", 0)
                all_bits |= bits
                root = alias.name.partition(".")[0]
                module = alias.name if alias.asname else root
                self.imports[alias.asname or root].append(Import(module, 0, None, bits))
                if not alias.asname and module != alias.name:
                    self.imports[root].append(Import(alias.name, 0, None, bits))
            return all_bits
        package = node.module or ""
        base = self.words(package, of_keras=not node.level and package.partition(".")[0] in _KERAS)
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(Import(package, node.level, None, base))
                all_bits |= base
                continue
            bits = base | groups.get(alias.name, 0) | groups.get(f".{alias.name}", 0)
            bits |= groups.get(alias.asname or "", 0)
            all_bits |= bits
            self.imports[alias.asname or alias.name].append(Import(package, node.level, alias.name, bits))
        return all_bits

    def words(self, module: str, of_keras: bool = True) -> int:
        bits = 0
        for word in module.split("."):
            if not of_keras and word in _FOLDERS:
                continue  # a folder of the project, from which anything may come
            bits |= self.groups.get(word, 0) | self.groups.get(f".{word}", 0)
        return bits

    # --- what belongs together ----------------------------------------------------------------------

    def made(self) -> None:
        """A class that is used leads to its body, its bases and what Python and Keras call; a method to its object."""
        methods: defaultdict[str, list[int]] = defaultdict(list)
        for at, part in enumerate(self.parts):
            if part.name is not None and part.owner is not None:
                methods[part.owner].append(at)
        for name, owner, *rows in self.classes:
            if self.is_layer(name, set()):
                for at in methods[name]:
                    self.parts[at].of_a_layer = True
            called = [at for at in methods[name] if is_called(self.parts[at].name or "")]
            self.top[name] += [*rows, *called]
            if owner is not None:
                self.members[name] += [*rows, *called]
            start = [at for at in called if self.parts[at].name == "__init__"]
            for at in methods[name]:
                self.objects[at] += [*rows, *start]

    def is_layer(self, name: str, seen: set[str]) -> bool:
        """Whether a class derives from a layer of Keras, as far as its module shows."""
        if name in seen:
            return False
        seen.add(name)
        for base in self.bases.get(name, ()):
            root, _, rest = base.partition(".")
            if not rest and root in self.bases and root not in self.imports:
                if self.is_layer(root, seen):
                    return True
                continue
            for one in self.imports.get(root, ()):
                full = ".".join(filter(None, (one.package, one.name, rest)))
                words = full.split(".")
                if not one.level and words[0] in _KERAS and "layers" in words and words[-1][:1].isupper():
                    return True
        return False

    def shared(self) -> None:
        """What is left on an object or in a global by one part and used by another."""
        writers: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for at, (part, found) in enumerate(zip(self.parts, self.found)):
            if part.name is None:
                continue
            for name in found.written if part.owner is not None else ():
                writers[part.owner or "", name].append(at)
            for name in found.changed & self.globals:
                writers["", name].append(at)
        makers: dict[str, list[int]] = {}
        for at, (part, found) in enumerate(zip(self.parts, self.found)):
            if part.name is None:
                continue
            beside = {one for name in found.names & self.globals for one in writers.get(("", name), ())}
            if part.owner is not None:
                for name in found.attributes & self.set:
                    beside.update(writers.get((part.owner, name), ()))
                if part.owner not in makers:
                    makers[part.owner] = [
                        number
                        for number, other in enumerate(self.found)
                        if part.owner in other.names and self.parts[number].name is not None
                    ]
                part.makers = tuple(makers[part.owner])
            part.beside = tuple(beside - {at})


_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FOLDERS = frozenset(("layers", "losses", "metrics", "models", "applications", "datasets"))
_KERAS = ("keras", "tensorflow", "tf_keras")
_NUMBERS = (int, float)
_WORDS: dict[type[ast.AST], str] = {
    ast.comprehension: "for",
    ast.ExceptHandler: "except",
    ast.AugAssign: "+=",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}
