"""Arguments for what makes a model, where nothing tells them: the project's value of that name, else a usual one."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

from oomlint.estimate.request import Request
from oomlint.estimate.worker import classes, project_values, roles, stand_ins
from oomlint.estimate.worker.named_values import spelled
from oomlint.estimate.worker.needed import USUAL
from oomlint.estimate.worker.stand_ins import Missing

# What people call the sizes of a network's own, and what they usually give them; the first that fits holds.
_SIZES: tuple[tuple[str, Any], ...] = (
    (r"(?:(?:n|nb|num|number_of)_?)?(?:\w+_)?(?:layers?|blocks?)(?:_?(?:num|count|n))?|depth", 4),
    (r"(?:(?:n|nb|num|number_of)_?)?(?:\w+_)?heads?(?:_?(?:num|count))?", 8),
    (
        r"d_?model|model_?(?:dim|size)|(?:embed|embedding|emb|hidden|projection|attention)_?(?:dims?|size|units)|dim|units|\w+_units|"
        r"rnn_\w+|hidden(?:_\w+)?|enc_units|dec_units|n_hidden|features|d",
        256,
    ),
    (r"d_?ff|dff|ffn?(?:_?(?:dim|size))?|mlp_?(?:dim|size)|intermediate_size|fc_?(?:dim|size)", 1024),
    (r"(?:z|latent|noise|code|random)_?(?:dims?|size|shape|vector\w*)?|n_?latent", 100),
    (
        r"(?:n|nb|num)?_?(?:\w+_)?filters?(?:_?(?:num|count|size))?|base_?(?:channels|filters)|out_?(?:channels|filters)|ch|"
        r"growth(?:_rate)?|width_multiplier",
        64,
    ),
    (r"kernel(?:_?size)?|k|ksize|filter_size|kernels", 3),
    (r"strides?|scale|up_?scale\w*|scale_factor|factor|upsampling", 2),
    (r"\w*dropout\w*|drop\w*|rate|\w+_rate|prob", 0.1),
    (
        r"alpha|beta|gamma|lambda\w*|epsilon|eps|tau|temperature|momentum|learning_rate|lr|weight_decay|decay",
        0.1,
    ),
    (r"\w*batch_?(?:size|sz)|bs", 32),
    (
        r"(?:img|image|input|im|crop|patch_?grid)_?(?:size|dim|res|resolution|height|width|h|w|rows|cols)|height|width|h|w|size|rows|cols",
        224,
    ),
    (r"patch_?size", 16),
    (r"(?:in|input|img|image|n|num|nb)?_?channels?|c|in_ch", 3),
    (r"(?:n|num|nb)?_?anchors?(?:_?(?:num|per_\w+))?|anchors_per_\w+", 3),
    (r"(?:n|num|nb)?_?(?:experts|codes|embeddings|clusters|groups|mixtures|agents)", 8),
    (
        r"(?:state|obs|observation|input|feature|in)s?_?(?:dims?|size|shape|space|count|num)|n_?(?:inputs|features|obs|states)",
        16,
    ),
    (r"(?:output|out|target)s?_?(?:dims?|size|count|num|len(?:gth)?)|n_?(?:outputs|out)", 10),
    (r"(?:action|act)s?_?(?:dims?|size|space|count|num|n)|n_?actions?", 4),
    (
        r"\w*(?:max_?len|maxlen|length|seq_?len|time_?steps?|window|horizon|look_?back|maximum_position_\w+|pe_\w+)\w*",
        100,
    ),
    (
        r"\w*(?:voc\w*|num_?(?:words|tokens|users|items)|n_?(?:users|items|words)|max_?features|(?:user|item)_?(?:num|count|size))\w*",
        10_000,
    ),
    (r"\w+_(?:num|count|cardinality|size)|cardinality|count", 1000),
)
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
    if (size := _size(plain)) is not None:
        said[name] = size
        return classes.given(size)
    role = roles.value(name, USUAL)
    if isinstance(role, int):
        said[name] = role
        return classes.given(role)
    return Settings(name)


def _size(plain: str) -> Any:
    return next((value for words, value in _SIZES if re.fullmatch(words, plain)), None)


class Settings(Missing):
    """An argument that is not known, a configuration perhaps: what is taken of it by a size's name has a usual one."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if not isinstance(found, Missing):
            return found
        size = classes.ASSUMED if classes.counts_classes(name) else _size(spelled(name))
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
