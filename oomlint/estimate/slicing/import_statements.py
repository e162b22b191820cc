"""Import statements of a slice: which are kept, what of other modules they need, and how they are written.

One is kept for the names that it binds, or for what the module does while it is imported: `import nets.small` puts the
networks of that module into a registry (`@register("small")`), and nobody uses the name `nets`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from oomlint.estimate.slicing.program import Scope, Unit
from oomlint.estimate.slicing.writing import at

if TYPE_CHECKING:
    from oomlint.estimate.slicing.needs import Needs

_LEVELS = 4  # packages whose own modules import others
Import = ast.Import | ast.ImportFrom


def is_wanted(statement: Import, scope: Scope, needs: Needs) -> bool:
    """Whether anything that a statement imports is needed."""
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return True
    return any(_is_needed(statement, alias, scope, needs) for alias in statement.names)


def _is_needed(statement: Import, alias: ast.alias, scope: Scope, needs: Needs) -> bool:
    if alias.name == "*":
        assert isinstance(statement, ast.ImportFrom)
        target = needs.program.module(scope.unit, statement.module or "", statement.level)
        return target is None or any(needs.names.get(id(one.scope)) for one in needs.functions.all_of(target))
    return _binds(alias, scope, needs) or _fills(statement, alias, scope.unit, needs)


def _binds(alias: ast.alias, scope: Scope, needs: Needs) -> bool:
    return needs.requires(alias.asname or alias.name.partition(".")[0], scope)


def _fills(statement: Import, alias: ast.alias, importer: Unit, needs: Needs) -> bool:
    """Whether a module of the project puts something into a registry that is needed, as it is imported."""
    level = list(_modules(statement, alias, importer, needs))
    seen: set[Unit] = set()
    for _ in range(_LEVELS):
        level = [unit for unit in dict.fromkeys(level) if unit not in seen]
        seen.update(level)
        statements = [(one, unit) for unit in level for one in unit.tree.body]
        if any(
            isinstance(one, ast.FunctionDef | ast.ClassDef)
            and one.decorator_list
            and needs.is_registered(one, unit.scope)
            for one, unit in statements
        ):
            return True
        level = [
            further
            for one, unit in statements
            if isinstance(one, Import)
            for name in one.names
            if name.name != "*"
            for further in _modules(one, name, unit, needs)
        ]
    return False


def _modules(statement: Import, alias: ast.alias, importer: Unit, needs: Needs) -> Iterator[Unit]:
    """The project's modules that run for one name of a statement: the one it is taken of, and itself if it is one."""
    if isinstance(statement, ast.Import):
        names, level = [alias.name], 0
    else:
        names, level = [statement.module or "", _inner(statement, alias)], statement.level
    for name in filter(None, names):
        unit = needs.program.module(importer, name, level)
        if unit is not None and unit is not importer:
            yield unit


def _inner(statement: ast.ImportFrom, alias: ast.alias) -> str:
    """What a name that is taken of a package is called if it is a module."""
    return f"{statement.module}.{alias.name}" if statement.module else alias.name


def use(statement: Import, scope: Scope, needs: Needs) -> None:
    """Require what a statement that is kept takes from other modules."""
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            if _binds(alias, scope, needs):
                needs.program.module(scope.unit, alias.name, 0)
            continue
        if alias.name != "*" and not _binds(alias, scope, needs):
            continue
        base = statement.module or ""
        target = needs.program.module(scope.unit, base, statement.level)
        if target is None or alias.name == "*":
            continue
        provider = needs.functions.starred(target, alias.name)
        if provider is not None and provider is not scope.unit:
            needs.require(alias.name, provider.scope)
        else:
            needs.program.module(scope.unit, _inner(statement, alias), statement.level)


def written(statement: Import, scope: Scope, needs: Needs) -> list[ast.stmt]:
    """The statement with the names that are needed, by the modules' own names."""
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return [statement]
    names = [
        alias for alias in statement.names if alias.name == "*" or _is_needed(statement, alias, scope, needs)
    ]
    if not names:
        return []
    if isinstance(statement, ast.Import):
        return [at(ast.Import([alias]), statement) for alias in names]
    module, level = statement.module, statement.level
    if level:
        target = needs.program.module(scope.unit, module or "", level)
        if target is not None:
            module, level = target.name or None, 0
        if module is None:  # `from . import models` beside the script
            return [at(ast.Import([alias]), statement) for alias in names]
    return [at(ast.ImportFrom(module, names, level), statement)]
