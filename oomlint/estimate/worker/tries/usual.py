"""Arguments for what makes a model, where nothing tells them: the project's value of that name, else a usual one."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

from oomlint.estimate.request import Request
from oomlint.estimate.worker.absent import stand_ins
from oomlint.estimate.worker.absent.stand_ins import Missing
from oomlint.estimate.worker.values import classes, project_values, roles
from oomlint.estimate.worker.values.named_values import spelled
from oomlint.estimate.worker.values.sizes import usual_size

# What else is given to what makes a model, by its name.
_WORDS: tuple[tuple[str, Any], ...] = (
    (
        r"(?:is|use|with|include|has|do|return|pre_?train|freeze|train|training|trainable|verbose|debug|bidirectional)(?:_\w+)?|\w*bias|attention|residual|bn|norm",
        False,
    ),
    (r"\w*activation\w*|act|nonlinearity", "relu"),
    (r"\w*initiali[sz]er\w*|init|kernel_init", "glorot_uniform"),
    (r"padding", "same"),
    (r"name|prefix|scope|model_name|\w+_name|block|stage", "model"),
    (
        r"\w*weights\w*|\w*path\w*|\w*file\w*|\w*dir\w*|checkpoint\w*|pretrained\w*|\w*regulari[sz]er\w*|callback\w*|logger",
        None,
    ),
    (r"optimi[sz]er\w*|opt", "adam"),
    (r"loss\w*", "mse"),
    (r"data_format", "channels_last"),
)


def argument(name: str, said: dict[str, Any]) -> Any:
    """What to give for a parameter; what is no more than usual goes into what is to be said."""
    plain = spelled(name)
    if name in stand_ins.GIVEN:
        return classes.given(stand_ins.GIVEN[name])
    if _ARE_SETTINGS.fullmatch(plain):
        return Settings(name)  # what the project has under that name is a file's name, say
    if (known := project_values.of(name)) is not None:
        return known
    if classes.counts_classes(plain):
        said[name] = classes.ASSUMED
        return classes.Classes(classes.ASSUMED)
    if plain.endswith("shape") or plain in ("input_size", "img_dims", "image_dims"):
        said[name] = stand_ins.INPUT_SHAPE[0] if stand_ins.INPUT_SHAPE else (224, 224, 3)
        return said[name]
    for words, value in _WORDS:
        if re.fullmatch(words, plain):
            return value
    if (size := usual_size(plain)) is not None:
        said[name] = size
        return classes.given(size)
    role = roles.value(name, stand_ins.USUAL)
    if isinstance(role, int):
        said[name] = role
        return classes.given(role)
    return Settings(name)


_ARE_SETTINGS = re.compile(r"(?:\w+_)?(?:config|cfg|conf|settings|hparams|params|opts?|args|flags)")
_SECTION = re.compile(r"model|net|network|data|dataset|data_loader|train|trainer|training|experiment|exp")
# What else is taken of settings and makes a layer or a training, and has a usual value.
_OF_SETTINGS = re.compile(
    r"\w+shape|\w*activation\w*|\w*initiali[sz]er\w*|padding|optimi[sz]er|loss|loss_(?:function|fn|name)"
)


class Settings(Missing):
    """An argument that is not known, a configuration perhaps: what is taken of it by a size's name has a usual one."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, str) and _SECTION.fullmatch(name):
            project_values.TAKEN.pop(name, None)  # a name of something else, that the project has elsewhere
            return Settings(f"{self.oomlint_name}.{name}")
        if not isinstance(found, Missing):
            return found
        if _OF_SETTINGS.fullmatch(spelled(name)):
            said: dict[str, Any] = {}
            value = argument(name, said)
            project_values.USUAL.update(said)
            return value
        size = classes.ASSUMED if classes.counts_classes(name) else usual_size(name)
        if size is None:
            return Settings(found.oomlint_name)
        project_values.USUAL[name] = size
        return classes.given(size)


def with_arguments(function: Callable[..., Any], request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments for a function or class, and of these what is only assumed."""
    given: dict[str, Any] = json.loads(request.names.get("maker", "{}")) | request.arguments
    said: dict[str, Any] = {}
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}, {}
    arguments: dict[str, Any] = {}
    for name, one in parameters.items():
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD, one.POSITIONAL_ONLY):
            continue
        if name in given:
            value = given[name]
            arguments[name] = (
                tuple(value) if isinstance(value, list) and name.endswith(("shape", "size")) else value
            )
        elif one.default is one.empty:
            arguments[name] = argument(name, said)
    return arguments, said
