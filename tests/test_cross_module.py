"""The same findings when a script's functions, classes and constants lie in a module that it imports."""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixture_files import FIXTURES, WITH_RECORDS, Fixture, by_id, fixtures, modules, settings

from oomlint.documents.python_file import document_from_text
from oomlint.testing import expectations, mismatches, run_rules
from oomlint.testing.harness import MemoryModules

PARTS = "parts"


def _names(node: ast.AST, kind: type[ast.expr_context]) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, kind)}


def _binds(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return _names(node, ast.Store)


def _needs(node: ast.stmt) -> set[str]:
    """The names that a definition or constant takes from around it."""
    own = _names(node, ast.Store) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else set()
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            own.add(part.arg)
        elif (
            isinstance(part, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)) and part is not node
        ):
            own |= _binds(part)
        elif isinstance(part, ast.ExceptHandler) and part.name:
            own.add(part.name)
    return _names(node, ast.Load) - own - _binds(node)


def _movable(node: ast.stmt) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return not any(isinstance(part, (ast.Global, ast.Nonlocal)) for part in ast.walk(node))
    # A constant: nothing runs in it.
    return isinstance(node, ast.Assign) and not any(
        isinstance(part, (ast.Call, ast.Attribute, ast.Subscript, ast.comprehension))
        for part in ast.walk(node)
    )


def split(text: str) -> tuple[str, str] | None:
    """A script and the module of what it defines, or None where it defines nothing that can stand alone."""
    body = ast.parse(text).body
    if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in body):
        return None
    imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    known = set(dir(builtins)).union(*map(_binds, imports))
    bound = [name for node in body for name in _binds(node)]
    moved = [node for node in body if _movable(node) and all(bound.count(name) == 1 for name in _binds(node))]
    while True:
        there = known.union(*map(_binds, moved))
        kept = [node for node in moved if _needs(node) <= there]
        if len(kept) == len(moved):
            break
        moved = kept
    if not any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in moved):
        return None
    lines = text.splitlines(keepends=True)

    def source(node: ast.stmt) -> str:
        decorators = getattr(node, "decorator_list", [])
        start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        return "".join(lines[start - 1 : node.end_lineno])

    header = lines[0] if lines[0].startswith("# keras:") else ""
    module = header + "".join(source(node) for node in [*imports, *moved])
    names = sorted(set().union(*map(_binds, moved)))
    rest = [node for node in body if node not in moved and node not in imports]
    script = header + "".join(map(source, imports)) + f"from {PARTS} import {', '.join(names)}\n"
    return script + "".join(map(source, rest)), module


def _split_fixtures() -> list[Fixture]:
    return [fixture for fixture in fixtures("bad", "good", "like") if split(fixture.document().text)]


@pytest.mark.parametrize("fixture", **by_id(_split_fixtures()))
def test_verdict_does_not_depend_on_the_module(fixture: Fixture, tmp_path: Path):
    parts = split(fixture.document().text)
    assert parts is not None
    script, module = parts
    folder = fixture.path.parent
    neighbours = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    resolver: Any = MemoryModules({**neighbours, PARTS: module})
    root = FIXTURES
    if fixture.code in WITH_RECORDS:  # an estimate's slice is made of files
        root = folder = tmp_path
        for name, text in {**neighbours, PARTS: module}.items():
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        resolver = modules(folder)
    # As `oomlint check .` does: both files are checked, and the same finding from both counts once.
    found = {
        (name, diagnostic.location.row, diagnostic.code): diagnostic
        # A module by itself is judged without its callers: asked only where it is wrong whoever calls it.
        for name, text in ((f"{PARTS}.py", module), ("script.py", script))[fixture.kind != "bad" :]
        for diagnostic in run_rules(
            fixture.rules,
            document_from_text(text, str(folder / name)),
            settings=replace(settings(fixture.code, text), root=root),
            resolver=resolver,
            estimate=fixture.estimate if fixture.code in WITH_RECORDS else None,
        )
        for name in [Path(diagnostic.filename).stem]
    }
    in_script = [diagnostic for (name, *_), diagnostic in found.items() if name == "script"]
    in_module = [diagnostic for (name, *_), diagnostic in found.items() if name == PARTS]
    if fixture.code.startswith("OOM1"):
        # What a process does with its GPUs is the script's affair, and said there: at what leads to the mistake.
        expected = {(marker.code, marker.severity) for marker in expectations(fixture.document().text)}
        assert {(diagnostic.code, str(diagnostic.severity)) for diagnostic in found.values()} == expected
        return
    wrong = mismatches(script, in_script) + mismatches(module, in_module)
    assert not wrong, "\n".join([*wrong, script, "# parts.py", module])


def test_a_script_is_split_at_what_it_defines():
    text = """\
import tensorflow as tf

SIZE = 128
COUNT = len(list_files())


def image(path, size=SIZE):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), (size, size))


def count():
    return COUNT


ds = tf.data.Dataset.list_files("*").map(image).shuffle(count())
"""
    script, module = split(text)
    assert (
        module
        == text[: text.index("\n\nSIZE") + 1]
        + text[text.index("SIZE") : text.index("COUNT")]
        + text[text.index("def image") : text.index("\n\n\ndef count")]
        + "\n"
    )
    assert "from parts import SIZE, image\nCOUNT = len" in script
    assert "def count():" in script
    assert "def image" not in script
