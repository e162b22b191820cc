"""Functions whose arguments a command line gives by decorators or defaults: Click's and Typer's options.

Nobody gives any when a script is estimated, so an option has its default. One without stays open, and is asked for.
A function that Hydra calls is handed what its files of settings say.
"""

from __future__ import annotations

import ast

from oomlint.estimate.slicing.missing import missing

SETTINGS = "oomlint_settings"  # what stands for Hydra's files, in `worker/absent/hydra.py`
_OPTIONS = ("option", "argument", "Option", "Argument")


def with_options(tree: ast.Module) -> None:
    """Give the parameters of such functions the defaults of their options."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(_is_option(one) for one in node.args.defaults):
                _of_typer(node.args)
            if any(_is_option(one) for one in node.decorator_list):
                _of_click(node.args, node.decorator_list)
            for one in node.decorator_list:
                if isinstance(one, ast.Call) and ast.unparse(one.func) == "hydra.main":
                    _of_hydra(node.args, one)


def _is_option(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _OPTIONS


def _of_click(arguments: ast.arguments, decorators: list[ast.expr]) -> None:
    defaults: dict[str, ast.expr] = {}
    for one in decorators:
        if isinstance(one, ast.Call) and _is_option(one):
            name = _name_of([part.value for part in one.args if isinstance(part, ast.Constant)])
            default = _default_of(one)
            if name and default is not None:
                defaults[name] = default
    _by_name(arguments, [defaults.get(one.arg) for one in arguments.args])


def _name_of(declared: list[object]) -> str:
    """The parameter that an option is handed to: a name without dashes, or that of the option with most of them."""
    texts = [one for one in declared if isinstance(one, str)]
    plain = next((one for one in texts if one.isidentifier()), None)
    longest = max(texts, key=lambda one: len(one) - len(one.lstrip("-")), default="")
    return plain or longest.partition("/")[0].lstrip("-").replace("-", "_").lower()


def _default_of(option: ast.Call) -> ast.expr | None:
    given = {one.arg: one.value for one in option.keywords}
    if "default" in given:
        return given["default"]
    return ast.copy_location(ast.Constant(False), option) if "is_flag" in given else None


def _of_typer(arguments: ast.arguments) -> None:
    """`epochs: int = typer.Option(10)` is ten; an option that must be given has three dots there."""
    told = [_told(one) for one in arguments.defaults]
    _by_name(arguments, [*[None] * (len(arguments.args) - len(told)), *told])


def _told(default: ast.expr) -> ast.expr | None:
    if not isinstance(default, ast.Call) or not _is_option(default):
        return default
    given = [*default.args, *(one.value for one in default.keywords if one.arg == "default")]
    first = given[0] if given else None
    return None if isinstance(first, ast.Constant) and first.value is ... else first


def _of_hydra(arguments: ast.arguments, main: ast.Call) -> None:
    """`@hydra.main(config_path="conf", config_name="train")`: its one parameter is what these say."""
    places = dict(zip(("config_path", "config_name"), main.args))
    places |= {one.arg: one.value for one in main.keywords if one.arg}
    if len(arguments.args) == 1 and not arguments.defaults:
        names = [places.get(one, ast.Constant(None)) for one in ("config_path", "config_name")]
        call = ast.Call(ast.Name(SETTINGS, ast.Load()), [ast.Name("__file__", ast.Load()), *names], [])
        arguments.defaults = [ast.fix_missing_locations(ast.copy_location(call, main))]


def _by_name(arguments: ast.arguments, defaults: list[ast.expr | None]) -> None:
    """Take what was positional by name, as command lines hand it over, so that the user may give any of it."""
    if not arguments.posonlyargs and arguments.vararg is None:
        known = [default or missing(one.arg, one) for one, default in zip(arguments.args, defaults)]
        arguments.kwonlyargs = [*arguments.args, *arguments.kwonlyargs]
        arguments.kw_defaults = [*known, *arguments.kw_defaults]
        arguments.args, arguments.defaults = [], []
