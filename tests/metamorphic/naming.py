"""Rewritings of names: other names for what a script defines, names for literals, literals for names."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator

from metamorphic.code import (
    COMPREHENSIONS,
    DEFINITIONS,
    IMPORTS,
    Code,
    Rewriting,
    Traced,
    joined,
    keywords,
    opaque,
    single,
    transformation,
)

# Libraries ask functions for parameters of these names, or pass them by name.
ASKED_FOR = {
    "features", "labels", "mode", "params", "config", "training", "mask", "trial", "hp", "logs", "epoch", "batch",
}  # fmt: skip
# What Keras' own classes have: an attribute of such a name is more than the script's.
OF_KERAS = {
    "optimizer", "model", "loss", "metrics", "built", "dtype", "name", "trainable", "units", "stateful", "params",
    "losses", "layers", "weights", "variables", "input_spec", "compiled", "jit_compile", "supports_masking",
    "trainable_variables", "loss_tracker",
}  # fmt: skip


def _inside_strings(code: Code) -> set[ast.AST]:
    return {part for node in code.of(ast.JoinedStr) for part in ast.walk(node)}


def _renamable(code: Code) -> set[str]:
    bound: set[str] = set()
    kept = set(dir(builtins)) | {name for node in code.of(*IMPORTS) for name in code.binds(node)}
    passed = keywords([code.tree])
    for node in code.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, DEFINITIONS):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
            owner = code.parents[code.parents[node]]
            is_method = isinstance(owner, ast.FunctionDef) and isinstance(code.parents[owner], ast.ClassDef)
            # `self` is what everybody calls it, and no variable.
            if node.arg in passed or node.arg in ASKED_FOR or is_method or node.arg == "self":
                kept.add(node.arg)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
            kept |= code.binds(node)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            kept.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            kept.add(node.value)  # may be asked for by name
        if isinstance(node, ast.ClassDef):
            kept.update(name for one in node.body for name in code.binds(one))
    return {
        name for name in bound - kept if not name.startswith(("__", "test")) and name not in ("_", "setUp")
    }


def renamed(code: Code, names: dict[str, str]) -> Traced | None:
    """The names of variables, functions and classes replaced, wherever they stand; None where one cannot be found."""
    changes: list[tuple[int, int, Traced | str]] = []
    strings = _inside_strings(code)

    def change(start: int, old: str) -> bool:
        if code.text[start : start + len(old)] != old:
            return False
        changes.append((start, start + len(old), names[old]))
        return True

    for node in code.nodes:
        done = True
        if isinstance(node, ast.Name) and node.id in names:
            done = change(code.span(node)[0], node.id)
            if not done and node in strings:
                return None
        elif isinstance(node, ast.arg) and node.arg in names:
            done = change(code.span(node)[0], node.arg)
        elif isinstance(node, DEFINITIONS) and node.name in names:
            found = re.compile(rf"\b{node.name}\b").search(code.text, code.span(node)[0])
            done = found is not None and change(found.start(), node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            start, end = code.span(node)
            words = re.finditer(r"\w+", code.text[start:end])
            for word in words:
                if word[0] in names:
                    done &= change(start + word.start(), word[0])
        if not done:
            return None
    return code.traced.put(changes)


@transformation
def variables_renamed(code: Code) -> Rewriting | None:
    """Each name that the script gives is one that says nothing."""
    if opaque(code):
        return None
    names = {old: f"v{number}_zq" for number, old in enumerate(sorted(_renamable(code)))}
    text = renamed(code, names)
    if text is None or not names:
        return None
    return single(text, {new: old for old, new in names.items()})


@transformation
def attributes_renamed(code: Code) -> Rewriting | None:
    """`self.x` of the script's own classes."""
    if opaque(code):
        return None
    stored: set[str] = set()
    kept = set(OF_KERAS) | keywords([code.tree])
    for node in code.nodes:
        if isinstance(node, ast.Attribute):
            of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
            if of_self and isinstance(node.ctx, ast.Store) and not node.attr.startswith("__"):
                stored.add(node.attr)
            elif not of_self:
                kept.add(node.attr)
        elif isinstance(node, ast.ClassDef):
            kept.update(name for one in node.body for name in code.binds(one))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            kept.add(node.value)
    names = {old: f"v{number}_zq" for number, old in enumerate(sorted(stored - kept))}
    changes: list[tuple[int, int, Traced | str]] = []
    for node in code.of(ast.Attribute):
        if node.attr in names:
            end = code.span(node)[1]
            if code.text[end - len(node.attr) : end] != node.attr:
                return None
            changes.append((end - len(node.attr), end, names[node.attr]))
    return single(code.traced.put(changes), {new: old for old, new in names.items()}) if changes else None


def _literals(code: Code) -> Iterator[ast.Constant]:
    """Numbers and texts that may as well be named."""
    strings = _inside_strings(code)
    for node in code.of(ast.Constant):
        if node in strings or isinstance(node.value, bool) or not isinstance(node.value, (int, float, str)):
            continue
        if node.lineno != node.end_lineno or isinstance(code.parents[node], ast.Expr):
            continue
        above = list(code.ancestors(node))
        if any(isinstance(one, (ast.pattern, ast.arg)) for one in above):
            continue
        if any(isinstance(one, ast.Compare) and "__name__" in ast.unparse(one) for one in above):
            continue
        yield node


def _annotations(code: Code) -> set[ast.AST]:
    found: set[ast.AST] = set()
    for node in code.nodes:
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                found.update(ast.walk(part))
    return found


def _literals_named(code: Code, top: str, row: str, use: str) -> Rewriting | None:
    changes: list[tuple[int, int, Traced | str]] = []
    annotations = _annotations(code)
    pieces: list[Traced | str] = [top]
    names: dict[str, str] = {}
    for number, node in enumerate(_literals(code)):
        if node in annotations:
            continue
        literal = code.source(node).text
        name = f"K{number}_ZQ"
        pieces += [row.format(name=name), code.source(node), "\n"]
        changes.append((*code.span(node), use.format(name=name)))
        names[use.format(name=name)] = names[name] = literal
    if not changes:
        return None
    at = code.row_start(code.after_preamble())
    return single(code.traced.put([*changes, (at, at, joined(pieces))]), names)


@transformation
def literals_named(code: Code) -> Rewriting | None:
    """`K1 = 224` on top, and `K1` where 224 was."""
    return _literals_named(code, "", "{name} = ", "{name}")


@transformation
def literals_in_a_dict(code: Code) -> Rewriting | None:
    """`CONFIG["K1"]`."""
    return _literals_named(code, "CONFIG_ZQ = {}\n", 'CONFIG_ZQ["{name}"] = ', 'CONFIG_ZQ["{name}"]')


@transformation
def literals_in_a_class(code: Code) -> Rewriting | None:
    """`Config.K1`, with the values in a class."""
    return _literals_named(code, "class Config_zq:\n", "    {name} = ", "Config_zq.{name}")


@transformation
def literals_in_a_dataclass(code: Code) -> Rewriting | None:
    """`config.K1`, with the values as defaults of a dataclass."""
    rewritten = _literals_named(
        code,
        "import dataclasses\n\n\n@dataclasses.dataclass\nclass Config_zq:\n",
        "    {name}: object = ",
        "config_zq.{name}",
    )
    if rewritten is None:
        return None
    text = rewritten.script
    at = text.text.rindex("_ZQ: object = ")
    at = text.text.index("\n", at) + 1
    return single(text.put([(at, at, Traced.new("\n\nconfig_zq = Config_zq()\n"))]), rewritten.names)


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float, str, bool))
    if isinstance(node, (ast.Tuple, ast.UnaryOp, ast.BinOp)):
        return all(_is_literal(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
    return False


def constants(code: Code) -> dict[str, ast.Assign]:
    """The module's names for literals, bound once in the whole script."""
    times = Counter(
        name for node in code.nodes if isinstance(node, ast.stmt) for name in _bound_names(code, node)
    )
    times.update(node.arg for node in code.of(ast.arg))
    found = {}
    for node in code.tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if _is_literal(node.value) and times[name] == 1 and name != "__all__" and code.own_rows(node):
                found[name] = node
    return found


def _bound_names(code: Code, node: ast.stmt) -> list[str]:
    """What a statement by itself binds, not what is in its blocks."""
    if isinstance(node, (*DEFINITIONS, *IMPORTS)):
        return sorted(code.binds(node))
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return list(node.names)
    found: list[str] = []
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del)):
            owner = next((one for one in code.ancestors(part) if isinstance(one, ast.stmt)), None)
            if owner is node:
                found.append(part.id)
    return found


@transformation
def constants_inlined(code: Code) -> Rewriting | None:
    """The literal wherever its name was, and no assignment."""
    if opaque(code):
        return None
    strings = _inside_strings(code)
    found = constants(code)
    uses: dict[str, list[ast.Name]] = {name: [] for name in found}
    for node in code.of(ast.Name):
        if node.id in found and isinstance(node.ctx, ast.Load):
            uses[node.id].append(node)
            if node in strings:
                del found[node.id]
    changes: list[tuple[int, int, Traced | str]] = []
    for name, node in found.items():
        if not uses[name]:
            continue
        literal = code.source(node.value)
        if not isinstance(node.value, ast.Constant):
            literal = "(" + literal + ")" if literal.text[0] != "(" else literal
        # What was said of the constant is said of where it is used.
        changes += ((*code.span(use), literal.text) for use in uses[name])
        changes.append((code.row_start(node.lineno), code.row_start(node.end_lineno + 1), ""))
    return single(code.traced.put(changes)) if changes else None


def shadowed(code: Code) -> set[str]:
    """Names that comprehensions and lambdas bind."""
    found: set[str] = set()
    for node in code.of(*COMPREHENSIONS, ast.Lambda):
        for part in ast.walk(node):
            if isinstance(part, ast.arg):
                found.add(part.arg)
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                found.add(part.id)
    return found
