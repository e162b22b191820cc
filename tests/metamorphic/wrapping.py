"""Rewritings that put a script, or its statements, into something: a function, a class, a block."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

from metamorphic.code import (
    DEFINITIONS,
    IMPORTS,
    Code,
    Rewriting,
    Traced,
    is_preamble,
    joined,
    loaded,
    opaque,
    single,
    transformation,
)


def cut(
    code: Code, stop: type[ast.stmt] | tuple[type[ast.stmt], ...] = ()
) -> tuple[int, list[ast.stmt]] | None:
    """The row where the script's own work starts, and the statements from there on.

    Docstring and imports stay above, and what else is of the types given.
    """
    body = code.tree.body
    for index, node in enumerate(body):
        if is_preamble(node) or isinstance(node, (*IMPORTS, *((stop,) if isinstance(stop, type) else stop))):
            continue
        if index and not code.own_rows(node):
            return None
        return code.comment_row(node) if index else code.first_row(node), body[index:]
    return None


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _is_library(rest: list[ast.stmt]) -> bool:
    """Whether it does nothing by itself: what its import makes is there for who calls its functions."""
    own = {node.name for node in rest if isinstance(node, ast.FunctionDef)}
    still = all(isinstance(node, (ast.Assign, ast.AnnAssign, *IMPORTS, *DEFINITIONS)) for node in rest)
    return still and bool(own - loaded(rest))


def movable(code: Code, rest: list[ast.stmt]) -> bool:
    """Whether statements of the module mean the same in a function."""
    if opaque(code):
        return False
    # Processes that are started, and `getattr(sys.modules[...], name)`, find functions by their names in the module.
    words = ("multiprocessing", "concurrent.futures", "spawn(", "joblib", "sys.modules")
    if any(word in code.text for word in words):
        return False
    own = {name for node in rest for name in code.binds(node)}
    above = {name for node in code.tree.body if node not in rest for name in code.binds(node)}
    if own & (above | set(dir(builtins))):
        return False
    return not any(isinstance(part, ast.Global) for node in rest for part in ast.walk(node))


def _below(code: Code, row: int, header: str, by: str, footer: str = "") -> Traced:
    return joined(
        [code.rows(1, row - 1), header, code.indented(row, code.last_row, by), _newline(code), footer]
    )


def _newline(code: Code) -> str:
    return "" if code.text.endswith("\n") else "\n"


@transformation
def under_name_is_main(code: Code) -> Rewriting | None:
    """`if __name__ == "__main__":` before the first statement that is no import or definition."""
    found = cut(code, DEFINITIONS)
    if found is None or all(map(_is_guard, found[1])) or _is_library(found[1]):
        return None
    if any(
        isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in code.of(ast.ImportFrom)
    ):
        return None
    return single(_below(code, found[0], 'if __name__ == "__main__":\n', "    "))


@transformation
def in_main(code: Code) -> Rewriting | None:
    """All but the imports in `def main():`, definitions too."""
    found = cut(code)
    if found is None or not movable(code, found[1]):
        return None
    return single(_below(code, found[0], "def main_zq():\n", "    ", "\n\nmain_zq()\n"))


@transformation
def in_main_with_imports(code: Code) -> Rewriting | None:
    """Imports and all in `def main():`, called under `if __name__ == "__main__":`."""
    row = code.after_preamble()
    rest = [node for node in code.tree.body if not is_preamble(node)]
    if not rest or not movable(code, rest) or not all(map(code.own_rows, rest)) or _is_library(rest):
        return None
    guard = '\n\nif __name__ == "__main__":\n    main_zq()\n'
    return single(_below(code, row, "def main_zq():\n", "    ", guard))


@transformation
def work_in_main(code: Code) -> Rewriting | None:
    """What is no import or definition in `def main():`, where no definition needs a name from there."""
    found = cut(code, DEFINITIONS)
    if found is None or not movable(code, found[1]):
        return None
    row, rest = found
    own = {name for node in rest for name in code.binds(node)}
    if own & loaded(node for node in code.tree.body if node not in rest):
        return None
    return single(_below(code, row, "def main_zq():\n", "    ", "\n\nmain_zq()\n"))


def _private(code: Code) -> bool:
    """Names that a class would change."""
    names = [getattr(node, "id", None) or getattr(node, "attr", None) or "" for node in code.nodes]
    return any(name.startswith("__") and not name.endswith("__") for name in names)


@transformation
def in_a_method(code: Code) -> Rewriting | None:
    """All but the imports in a method of a class, whose object is made and run at the end."""
    found = cut(code)
    if found is None or not movable(code, found[1]) or _private(code):
        return None
    header = "class Run_zq:\n    def run_zq(self_zq):\n"
    return single(_below(code, found[0], header, "        ", "\n\nRun_zq().run_zq()\n"))


@transformation
def variables_on_self(code: Code) -> Rewriting | None:
    """The work in a method, its variables attributes of `self`."""
    found = cut(code, DEFINITIONS)
    if found is None or not movable(code, found[1]) or _private(code):
        return None
    row, rest = found
    inner = {part for node in code.of(ast.JoinedStr) for part in ast.walk(node)}
    own = {name for node in rest for name in code.binds(node)}
    if own & loaded(node for node in code.tree.body if node not in rest):
        return None
    kept: set[str] = set()
    names: list[ast.Name] = []
    for node in rest:
        for part in ast.walk(node):
            if isinstance(
                part, (ast.arg, *DEFINITIONS, *IMPORTS, ast.ExceptHandler, ast.AnnAssign, ast.NamedExpr)
            ):
                kept.update([part.arg] if isinstance(part, ast.arg) else code.binds(part))
            elif isinstance(part, ast.Name):
                names.append(part)
                nested = any(
                    isinstance(one, (*DEFINITIONS, ast.Lambda, ast.comprehension))
                    for one in code.ancestors(part)
                )
                if isinstance(part.ctx, ast.Store) and nested:
                    kept.add(part.id)
            elif isinstance(part, ast.pattern):
                return None
            if isinstance(part, ast.ClassDef):  # whose methods have a self of their own
                kept |= loaded([part])
    own = {name for name in own - kept if f"self.{name}" not in code.text}
    changes: list[tuple[int, int, Traced | str]] = []
    for part in names:
        if part.id in own:
            start, end = code.span(part)
            if code.text[start:end] != part.id:
                if part in inner:
                    return None
                raise AssertionError(part.id)
            changes.append((start, end, f"self.{part.id}"))
    if not changes:
        return None
    other = Code(code.traced.put(changes))
    header = "class Run_zq:\n    def run_zq(self):\n"
    names_back = {f"self.{name}": name for name in own}
    return single(_below(other, row, header, "        ", "\n\nRun_zq().run_zq()\n"), names_back)


def _runs(code: Code) -> Iterator[tuple[int, int, str]]:
    """Rows of statements that work, in the module and in functions, with their indent."""
    for owner, body in code.bodies():
        if not isinstance(owner, (ast.Module, ast.FunctionDef)):
            continue
        held: list[ast.stmt] = []
        for node in [*body, None]:
            still = node is not None and not (
                is_preamble(node) or isinstance(node, (*IMPORTS, *DEFINITIONS, ast.Global, ast.Nonlocal))
            )
            if still and (code.own_rows(node) and node.lineno > getattr(owner, "lineno", 0)):
                held.append(node)
            elif held:
                yield code.first_row(held[0]), held[-1].end_lineno, code.indent_of(held[0])
                held = []


def _wrapped(code: Code, header: str, footer: Sequence[str] = (), top: str = "") -> Rewriting | None:
    """The outermost runs of statements that work, each in a block of its own."""
    text = code.traced
    runs = sorted(_runs(code), reverse=True)
    runs = [run for run in runs if not any(one[0] < run[0] <= one[1] for one in runs)]
    if not runs or opaque(code) or not code.text.endswith("\n"):
        return None
    current = code
    for first, last, indent in runs:
        # From the last row to the first, so that rows above stay where they are.
        block = current.indented(first, last, "    ")
        before, after = current.rows(1, first - 1), text[current.row_start(last + 1) :]
        text = joined([before, indent + header, block, *(indent + row for row in footer), after])
        current = Code(text)
    if top:
        at = current.row_start(current.after_preamble())
        text = text.put([(at, at, Traced.new(top))])
    return single(text)


@transformation
def in_a_with(code: Code) -> Rewriting | None:
    """`with contextlib.nullcontext():` around what a module and its functions do."""
    return _wrapped(code, "with contextlib.nullcontext():\n", top="import contextlib\n")


@transformation
def in_a_try(code: Code) -> Rewriting | None:
    """`try: ... finally: pass`."""
    return _wrapped(code, "try:\n", ("finally:\n", "    pass\n"))


@transformation
def under_if_true(code: Code) -> Rewriting | None:
    return _wrapped(code, "if True:\n")
