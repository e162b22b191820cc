"""Sizes that people usually give, by what they call them: of networks themselves, and of what networks take."""

from __future__ import annotations

import re
from typing import Any

from oomlint.estimate.worker.values.named_values import spelled

# What people call the sizes of a network's own, and what they usually give them; the first that fits holds.
_OF_NETWORKS: tuple[tuple[str, Any], ...] = (
    (r"(?:(?:n|nb|num|number_of)_?)?(?:\w+_)?(?:layers?|blocks?)(?:_?(?:num|count|n))?|depth", 4),
    (r"(?:(?:n|nb|num|number_of)_?)?(?:\w+_)?heads?(?:_?(?:num|count))?", 8),
    (
        r"d_?model|model_?(?:dim|size)|(?:embed|embedding|emb|hidden|projection|attention)_?(?:dims?|size|units)|dim|units|\w+_units|"
        r"rnn_\w+|hidden(?:_\w+)?|enc_units|dec_units|n_hidden|features|d",
        256,
    ),
    (
        r"(?:\w+_)?(?:d_?ff|dff|ffn?(?:_?(?:dim|size))?|mlp_?(?:dim|size)|intermediate_size|fc_?(?:dim|size|units))",
        1024,
    ),
    (r"(?:z|latent|noise|code|random)_?(?:dims?|size|shape|vector\w*)?|n_?latent", 100),
    (
        r"(?:n|nb|num)?_?(?:\w+_)?filters?(?:_?(?:num|count|size))?|base_?(?:channels|filters)|out_?(?:channels|filters)|ch|"
        r"growth(?:_rate)?|width_multiplier",
        64,
    ),
    (r"kernel(?:_?size)?|k|ksize|filter_size|kernels", 3),
    (r"strides?|scale|up_?scale\w*|scale_factor|factor|upsampling", 2),
)
_OTHERS: tuple[tuple[str, Any], ...] = (
    # Of sound: 16,000 is what speech is mostly taken with, 22,050 what librosa reads everything as.
    (r"\w*(?:sample|sampling)_?rate|sr|fs", 16_000),
    (r"(?:\w+_)?v_?size", 10_000),
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
        r"\w*(?:voc\w*|(?:n|nb|num|number_of)_?(?:words|tokens|users|items|movies|films|books|songs|tracks|artists|products|"
        r"customers|articles|goods|ads|shops|stores|nodes|entities)|max_?features|(?:user|item)_?(?:num|count|size))\w*",
        10_000,
    ),
    (r"\w+_(?:num|count|cardinality|size)|cardinality|count", 1000),
)


def usual_size(name: str) -> Any:
    """The usual size for a name; None for one that is no size's."""
    plain = spelled(name)
    return next((size for words, size in (*_OF_NETWORKS, *_OTHERS) if re.fullmatch(words, plain)), None)


def is_of_network(name: str) -> bool:
    """Whether a name is of a size of the network itself: twice as wide, it has four times the weights."""
    return any(re.fullmatch(words, spelled(name)) for words, _ in _OF_NETWORKS)
