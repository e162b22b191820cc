"""Trainings that somebody else calls, a thread, a process or a strategy: a slice calls them where that is said."""

from __future__ import annotations

import ast

_KINDS = ("Thread", "Process")
_REPLICATING = ("run", "experimental_run_v2", "experimental_run")


def called_in_place(tree: ast.Module) -> None:
    """`Thread(target=train, args=(data,))` becomes `train(data)`, and so does `strategy.run(train, args=(data,))`.

    `worker.start()` becomes `worker.run()` in a module with a class that is a thread.
    """
    own = any(isinstance(node, ast.ClassDef) and _runs_itself(node) for node in ast.walk(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if own and isinstance(node.func, ast.Attribute) and node.func.attr == "start" and not node.args:
            node.func.attr = "run"
            node.oomlint_in_thread = True  # type: ignore[attr-defined]
        elif _last_name(node.func) in _KINDS:
            _call_target(node)
        elif _last_name(node.func) in _REPLICATING and isinstance(node.func, ast.Attribute):
            _call_replica(node)


def in_thread(call: ast.Call | None) -> bool:
    """Whether a call stands for what a thread runs: nobody else sees that it is made."""
    return getattr(call, "oomlint_in_thread", False)


def _runs_itself(node: ast.ClassDef) -> bool:
    methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    return "run" in methods and any(_last_name(base) in _KINDS for base in node.bases)


def _call_target(call: ast.Call) -> None:
    """Only where all that the function gets is written there."""
    given = {one.arg: one.value for one in call.keywords}
    target, args, options = given.get("target"), given.get("args"), given.get("kwargs")
    if call.args or not isinstance(target, ast.Name | ast.Attribute):
        return
    if not isinstance(args, ast.Tuple | ast.List | None) or not isinstance(options, ast.Dict | None):
        return
    keywords = [] if options is None else _as_keywords(options)
    if keywords is None:
        return
    call.oomlint_in_thread = True  # type: ignore[attr-defined]
    call.func = target
    call.args = [] if args is None else list(args.elts)
    call.keywords = keywords


def _call_replica(call: ast.Call) -> None:
    """`strategy.run(step, args=(batch,))`; a session's `run` and a subprocess' have no such arguments."""
    given = {one.arg: one.value for one in call.keywords}
    if not call.args or not given.keys() <= {"args", "kwargs"}:
        return
    target, handed = call.args[0], call.args[1:]
    args, options = given.get("args", handed[0] if handed else None), given.get("kwargs")
    if (
        not isinstance(target, ast.Name | ast.Attribute)
        or len(handed) > 1
        or (args is None and options is None)
    ):
        return
    if not isinstance(args, ast.Tuple | ast.List | None) or not isinstance(options, ast.Dict | None):
        return
    keywords = [] if options is None else _as_keywords(options)
    if keywords is not None:
        call.func, call.args, call.keywords = target, [] if args is None else list(args.elts), keywords


def _as_keywords(options: ast.Dict) -> list[ast.keyword] | None:
    found = []
    for key, value in zip(options.keys, options.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return None
        found.append(ast.copy_location(ast.keyword(key.value, value), value))
    return found


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
