"""Rewritings that change how a script looks: comments, rows, quotes, annotations, statements that do nothing."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import lru_cache

from metamorphic.code import (
    DEFINITIONS,
    NEW,
    TRANSFORMATIONS,
    Code,
    Rewriting,
    Traced,
    Transformation,
    is_preamble,
    joined,
    single,
    transformation,
)

from oomlint.testing import SPELLINGS, spelled
from oomlint.testing.spellings import Spelling

Changes = list[tuple[int, int, "Traced | str"]]


def _changed(code: Code, changes: Changes) -> Rewriting | None:
    return single(code.traced.put(changes)) if changes else None


@transformation
def comments_and_blank_lines(code: Code) -> Rewriting | None:
    """A comment and a blank row before each statement that has no comment above it, one behind each row that ends."""
    changes: Changes = []
    for _, body in code.bodies():
        for node in body:
            row = code.first_row(node)
            if code.own_rows(node) and row > 1 and code.comment_row(node) == row and not is_preamble(node):
                start = code.row_start(row)
                changes.append((start, start, f"\n{code.indent_of(node)}# batch_size = 1_000_000\n"))
            end = code.span(node)[1]
            if code.own_rows(node) and code.text[end : end + 1] in ("\n", "") and not hasattr(node, "body"):
                changes.append((end, end, "  # model.fit(x)"))
    return _changed(code, changes)


@transformation
def pass_added(code: Code) -> Rewriting | None:
    """`pass` behind each statement."""
    changes: Changes = []
    for _, body in code.bodies():
        for node in body:
            if code.own_rows(node) and not is_preamble(node) and code.text.endswith("\n"):
                end = code.row_start(node.end_lineno + 1)
                changes.append((end, end, f"{code.indent_of(node)}pass\n"))
    # Blocks that end on one row: the inner statement first.
    changes.sort(key=lambda change: (change[0], -len(str(change[2]))))
    return _changed(code, changes)


@transformation
def print_added(code: Code) -> Rewriting | None:
    """`print("...")` before each statement of the module and of functions."""
    changes: Changes = []
    for owner, body in code.bodies():
        if isinstance(owner, ast.ClassDef):
            continue
        for node in body:
            # In tf.function and in map a print is a call at tracing.
            if code.own_rows(node) and not is_preamble(node):
                start = code.row_start(code.first_row(node))
                if code.comment_row(node) == code.first_row(node):
                    changes.append((start, start, f'{code.indent_of(node)}print("so far", end="\\n")\n'))
    return _changed(code, changes)


@transformation
def docstrings_added(code: Code) -> Rewriting | None:
    changes: Changes = []
    for node in code.of(*DEFINITIONS):
        first = node.body[0]
        if (
            ast.get_docstring(node, clean=False) is None
            and first.lineno > node.lineno
            and code.own_rows(first)
        ):
            start = code.row_start(code.first_row(first))
            if code.comment_row(first) == code.first_row(first):
                changes.append(
                    (start, start, f'{code.indent_of(first)}"""Calls model.fit(x, batch_size=8)."""\n')
                )
    return _changed(code, changes)


@transformation
def crlf(code: Code) -> Rewriting | None:
    return _changed(code, [(found.start(), found.end(), "\r\n") for found in re.finditer("\n", code.text)])


_PLAIN_STRING = re.compile(r"""(?P<prefix>[rRbBuU]*)(?P<quote>["'])(?P<inner>[^"'\\\n{}]*)(?P=quote)""")


@transformation
def quotes(code: Code) -> Rewriting | None:
    """'a' for "a" and the other way round."""
    changes: Changes = []
    for token in tokenize.generate_tokens(io.StringIO(code.text).readline):
        if token.type == tokenize.STRING and (found := _PLAIN_STRING.fullmatch(token.string)):
            row, column = token.start
            start = code.row_start(row) + column
            other = "'" if found["quote"] == '"' else '"'
            new = f"{found['prefix']}{other}{found['inner']}{other}"
            changes.append(
                (start, start + len(new), Traced(new, code.traced.origins[start : start + len(new)]))
            )
    return _changed(code, changes)


@transformation
def arguments_on_rows(code: Code) -> Rewriting | None:
    """Each argument of a call on a row of its own, with a comma behind the last."""
    inside = {part for node in code.of(ast.JoinedStr) for part in ast.walk(node)}
    changes: Changes = []
    for node in code.of(ast.Call):
        arguments = [*node.args, *node.keywords]
        if (
            node in inside
            or not arguments
            or isinstance(node.args[0] if node.args else None, ast.GeneratorExp)
        ):
            continue
        if node.lineno != node.end_lineno:  # as people wrote it
            continue
        # Keywords may stand before starred arguments.
        arguments.sort(key=lambda one: (one.lineno, one.col_offset))
        opening = code.text.index("(", code.span(node.func)[1])
        for argument in arguments:
            start = code.span(argument)[0]
            while code.text[start - 1] == "(" and start - 1 > opening:
                start -= 1
            changes.append((start, start, "\n        "))
    # A comma at the end is left out: the arguments may end with one.
    return _changed(code, changes)


@transformation
def annotations(code: Code) -> Rewriting | None:
    """`x: "object" = 1`, and the same for parameters and results."""
    declared = {name for node in code.of(ast.Global, ast.Nonlocal) for name in node.names}
    changes: Changes = []
    for owner, body in code.bodies():
        if isinstance(owner, ast.ClassDef):
            continue
        seen: set[str] = set()
        for node in body:
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                name = node.targets[0].id
                if name not in declared and name not in seen:
                    seen.add(name)
                    end = code.span(node.targets[0])[1]
                    # `(x) = 1` cannot be annotated so.
                    if code.text[end : end + 2] == " =":
                        changes.append((end, end, ': "object"'))
    for node in code.of(ast.FunctionDef):
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            if argument.annotation is None and argument.arg not in ("self", "cls"):
                end = code.span(argument)[1]
                changes.append((end, end, ': "object"'))
        if node.returns is None:
            end = code.span(node.body[0])[0]
            colon = code.text.rfind(")", code.span(node)[0], _header_end(code, node))
            if 0 <= colon < end:
                changes.append((colon + 1, colon + 1, ' -> "object"'))
    return _changed(code, changes)


def _header_end(code: Code, node: ast.FunctionDef) -> int:
    """Behind the colon of a def: the last one before the body that comments do not hide."""
    row, column = node.lineno, node.col_offset
    depth = 0
    body = node.body[0]
    end = code.offset(body.lineno, body.col_offset) if not getattr(body, "decorator_list", ()) else None
    end = code.row_start(code.first_row(body)) if end is None else end
    text = code.text[code.offset(row, column) : end] + "pass\n"
    at = code.offset(row, column)
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string in "([{" and token.type == tokenize.OP:
            depth += 1
        elif token.string in ")]}" and token.type == tokenize.OP:
            depth -= 1
        elif token.string == ":" and depth == 0 and token.type == tokenize.OP:
            return at + sum(len(line) + 1 for line in lines[: token.start[0] - 1]) + token.end[1]
    raise AssertionError(text)


@transformation
def f_strings(code: Code) -> Rewriting | None:
    """`"{} {:04d}".format(a, b)` for f"{a} {b:04d}"."""
    changes: Changes = []
    for node in code.of(ast.JoinedStr):
        if (
            isinstance(code.parents[node], (ast.FormattedValue, ast.JoinedStr))
            or node.lineno != node.end_lineno
        ):
            continue
        # Implicit concatenation with other literals is one node.
        if not re.fullmatch(r"""[fF]("[^"]*"|'[^']*')""", code.source(node).text):
            continue
        written, values = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                written += str(part.value).replace("{", "{{").replace("}", "}}")
                continue
            spec = ""
            if part.format_spec is not None:
                if not all(isinstance(one, ast.Constant) for one in part.format_spec.values):
                    break
                spec = ":" + "".join(str(one.value) for one in part.format_spec.values)
            conversion = "" if part.conversion < 0 else f"!{chr(part.conversion)}"
            written += "{" + conversion + spec + "}"
            values.append(ast.unparse(part.value))
        else:
            changes.append((*code.span(node), f"{written!r}.format({', '.join(values)})"))
    return _changed(code, changes)


def _by_rows(code: Code, other: str) -> Traced:
    """A text with as many rows: each row stands for the row that it was."""
    pieces: list[Traced | str] = []
    for number, row in enumerate(other.splitlines(keepends=True), 1):
        at = code.row_start(number)
        at += len(code.text[at:]) - len(code.text[at:].lstrip())
        pieces.append(Traced.new(row, code.traced.origins[at] if at < len(code.text) else NEW))
    return joined(pieces)


@lru_cache(maxsize=4)
def _spelled(text: str) -> dict[str, str]:
    return dict(spelled(text))


def _import_style(spelling: Spelling) -> Transformation:
    def rewrite(code: Code) -> Rewriting | None:
        other = _spelled(code.text).get(spelling.name)
        return None if other is None else single(_by_rows(code, other))

    return rewrite


for _spelling in SPELLINGS[1:]:
    TRANSFORMATIONS[f"imports: {_spelling.name}"] = _import_style(_spelling)
