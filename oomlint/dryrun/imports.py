"""Import statements: libraries become canonical names, the project's own modules are run.

A module of the project is found, parsed and run only when a name from it is used: a script pays for what it
reaches into, not for everything that its imports import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.catalog.names import canonical, rooted
from oomlint.dryrun.modules import module_name
from oomlint.dryrun.state import Scope
from oomlint.dryrun.trace import Context
from oomlint.dryrun.values.base import Unknown, Value
from oomlint.dryrun.values.program import Library, ProjectModule
from oomlint.project.modules import LIBRARIES

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.syntax.source import Source


@dataclass(slots=True, eq=False, kw_only=True)
class Deferred(Value):
    """What a module binds, not looked at yet. Subclasses say how to find it."""

    source: Source
    context: Context  # of the statement that binds it, where Python finds it
    at: int  # how many events there were before it
    value: Value | None = None

    def find(self, run: Run) -> Value:
        """The value itself."""
        raise NotImplementedError


@dataclass(slots=True, eq=False, kw_only=True)
class Imported(Deferred):
    """A name imported from what may be a module of the project."""

    package: str
    level: int
    name: str | None = None  # None: the module itself

    def find(self, run: Run) -> Value:
        """The module, or its member."""
        if self.name is None:
            return module(run, self.package, self.level)
        source = module(run, self.package, self.level) if self.package or self.level else Unknown()
        return member(run, source, self.package, self.level, self.name)


def resolve(run: Run, value: Value) -> Value:
    """The value of a binding; what was put off is done now."""
    if not isinstance(value, Deferred):
        return value
    if value.value is None:
        value.value = Unknown()  # what an import cycle sees
        before, run.source = (run.source, run.context), value.source
        run.context, start = value.context, len(run.trace.events)
        try:
            value.value = value.find(run)
        finally:
            run.source, run.context = before
            run.trace.put_off(start, value.at)
    return value.value


def defer(run: Run, package: str, level: int, name: str | None = None) -> Value:
    """The value of an import: at once for libraries, on first use for what may be the project's own."""
    if run.resolver is None or (level == 0 and package.partition(".")[0] in LIBRARIES):
        source: Value = Library(canonical(package), package) if level == 0 and package else Unknown()
        return source if name is None else member(run, source, package, level, name)
    return Imported(
        source=run.source,
        context=run.context,
        at=len(run.trace.events),
        package=package,
        level=level,
        name=name,
    )


def dotted(node: cst.CSTNode | None) -> str:
    """The dotted name of a Name or Attribute chain, or `` if it is anything else."""
    # LibCST's nodes are abstract base classes: where the answer is no, `isinstance` takes ten times as long as `is`.
    if type(node) is cst.Name:
        return node.value
    parts: list[str] = []
    while type(node) is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if not parts or type(node) is not cst.Name:
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


def path_of(node: cst.CSTNode) -> str | None:
    """The dotted name of a plain name or attribute expression."""
    return dotted(node) or None


def execute_import(run: Run, node: cst.Import) -> None:
    """`import a.b as c, d`."""
    for alias in node.names:
        name = dotted(alias.name)
        note_library(run, name, node)
        if alias.asname is not None:
            bind(run, dotted(alias.asname.name), defer(run, name, 0))
        else:
            root = name.partition(".")[0]
            bind(run, root, defer(run, root, 0))


def execute_from(run: Run, node: cst.ImportFrom) -> None:
    """`from a.b import c as d`, with any number of dots."""
    package = dotted(node.module)
    level = len(node.relative)
    if level == 0:
        note_library(run, package, node)
    if isinstance(node.names, cst.ImportStar):
        source = resolve(run, defer(run, package, level))
        if isinstance(source, ProjectModule):
            for name, is_bound in list(source.scope.names.items()):
                value = run.state.get((source.scope, name)) if is_bound else None
                if value is not None and not name.startswith("_"):
                    bind(run, name, value)
            run.scope.stars += source.scope.stars
        elif isinstance(source, Library):
            run.scope.stars += (source.spelled or source.name,)
        return
    for alias in node.names:
        name = dotted(alias.name)
        bound = dotted(alias.asname.name) if alias.asname is not None else name
        bind(run, bound, defer(run, package, level, name))


def member(run: Run, source: Value, package: str, level: int, name: str) -> Value:
    """What `from source import name` binds."""
    if isinstance(source, ProjectModule):
        value = run.state.get((source.scope, name))
        if value is not None:
            return resolve(run, value)
        below = module(run, f"{package}.{name}" if package else name, level)
        return (
            below if isinstance(below, ProjectModule) else star_member(run, source.scope, name) or Unknown()
        )
    if isinstance(source, Library):
        if run.resolver is None or package.partition(".")[0] in LIBRARIES:
            return library_member(run, source, name)
        below = module(run, f"{package}.{name}", 0)
        return below if isinstance(below, ProjectModule) else library_member(run, source, name)
    if level:  # from . import sibling: the package itself is no module of its own
        return module(run, f"{package}.{name}" if package else name, level)
    return Unknown()


def module_member(run: Run, owner: ProjectModule, name: str) -> Value:
    """`module.name` of a module of the project: a name it binds, or a module of the package it is."""
    value = run.state.get((owner.scope, name))
    if value is not None:
        return resolve(run, value)
    starred = star_member(run, owner.scope, name)
    if starred is not None or run.resolver is None:
        return starred or Unknown()
    below = run.resolver.resolve(owner.document, name, 1)
    return project_module(run, below) if below is not None else Unknown()


def library_member(run: Run, library: Library, name: str) -> Value:
    """An attribute of a library name."""
    spelled = f"{library.spelled or library.name}.{name}"
    full = canonical(spelled)
    constant = run.catalog.constants.get(full)
    if constant is not None:
        return constant(library, run)
    return Library(full, spelled)


def star_member(run: Run, scope: Scope, name: str) -> Value | None:
    """A name that a `from library import *` may have brought: only names that the catalog knows."""
    for spelled in reversed(scope.stars):
        full = canonical(f"{spelled}.{name}")
        if run.catalog.knows(full):
            return Library(full, f"{spelled}.{name}")
    return None


def bind(run: Run, name: str, value: Value) -> None:
    """Bind a name where the statement stands."""
    scope = run.scope.outermost if name in run.scope.globals else run.scope
    run.state.bind(scope, name, value)


def note_library(run: Run, name: str, node: cst.CSTNode) -> None:
    """Remember which libraries the document imports, and how."""
    run.trace.imports.append((name, run.place(node)))
    run.trace.imported.setdefault(name.partition(".")[0], len(run.trace.events))
    run.trace.libraries.setdefault(rooted(name).partition(".")[0], name)


def module(run: Run, name: str, level: int) -> Value:
    """A module by name: one of the project's, run on first import, or a library."""
    look = run.resolver is not None and not (level == 0 and name.partition(".")[0] in LIBRARIES)
    source = (
        run.resolver.resolve(run.source.document, name, level) if look and run.resolver is not None else None
    )
    if source is None:
        return Library(canonical(name), name) if level == 0 and name else Unknown()
    return project_module(run, source)


def project_module(run: Run, source: Source) -> ProjectModule:
    """A module of the project with its names bound. An import cycle sees what is bound so far, as in Python."""
    known = run.modules.get(id(source))
    if known is not None:
        return known
    scope = Scope("module")
    value = run.modules[id(source)] = ProjectModule(scope, source.document)
    context, targets, layers = run.context, run.targets, run.state.layers
    run.state.layers = layers[:1]  # module state is global, whichever branch imported it first
    start = len(run.trace.events)
    try:
        run.run_module(source, scope, module_name(source))
    finally:
        run.context, run.targets, run.state.layers = context, targets, layers
        run.imported.append(range(start, len(run.trace.events)))
    return value
