"""What described data says of names that are called after it: `maxlen` is the length of `x`, `vocab_size` its limit.

So one description of a batch answers for all that a script takes from its data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from oomlint.estimate.worker.values.classes import counts_classes

_SAMPLES = re.compile(r"(?:x|inputs?|data|images?|features|samples|sequences|texts?|sentences)(?:_?(?:\w+))?")
_LABELS = re.compile(r"(?:y|targets?|labels?|classes|outputs?)(?:_?(?:\w+))?")
_PREFIXED = re.compile(r"(?:train|tr|training|padded|my|all|the)_(.+)")

# Of two languages each: `vocab_in`, `vocab_size_src`, `vocab_de`.
_SIDE = r"(?:_(?:inp?|input|out|output|targ?|target|tgt|src|source|enc(?:oder)?|dec(?:oder)?|[a-z]{2}))?"
_VOCABULARY = re.compile(
    rf"(?:\w+_)?voc(?:ab(?:ulary)?)?{_SIDE}(?:_?(?:size|len|length|count|dim|inv))?{_SIDE}"
    r"|(?:\w+_)?(?:word|char|token)_?(?:index|count|counts|dict|indices)"
    r"|(?:\w+_)?index_?(?:word|char|token)s?|(?:\w+_)?v_?size"
    r"|(?:n|nb|num|max|number_of|total)_?(?:words|tokens|chars|vocab|features_?words|unique_words|symbols)"
    r"|(?:i|id|idx|ix|index)2(?:w|word|c|char|t|token)s?|(?:w|c|t|tok)2(?:i|id|idx|ix|index)s?"
    r"|(?:word|char|token|word2id|word2idx|char2idx)s?(?:_?(?:size|num|to_(?:id|idx|index|int)))?|max_features|dict_?size"
)
_LENGTH = re.compile(
    r"(?:\w+_)?(?:max|seq|sequence|sent|sentence|input|text|word|title|pad|document|query)(?:_?(?:seq|sequence|sent|"
    r"sentence|input|text|word|token|doc|review))*_?(?:len|length|size_of_sentence)s?"
    r"|maxlen|(?:n_?|num_?|time)_?steps?(?:_in)?|look_?back|window(?:_?(?:size|len|length))?|seq_?len|input_length"
)
_FEATURES = re.compile(
    r"(?:n|nb|num|number_of)_?(?:_?input)?_?(?:features|inputs|columns|cols|vars|variables|dims?|channels)"
    r"|(?:input|feature|data|in)s?_?(?:dims?|size|dimension|features)|features?_?(?:count|num|size|dim)|original_dim"
)


_WEIGHTS = re.compile(
    r"(?:\w+_)?(?:emb|embed|embedding|embeddings|glove|w2v|word2vec)s?(?:_\w+)?|\w+_(?:mat|matrix|vectors)"
)


def is_samples(name: str) -> bool:
    """Whether a name is what people call what a model is called on."""
    return _SAMPLES.fullmatch(_plain(name)) is not None


def is_weights(name: str) -> bool:
    """Whether a name is what people call the matrix that an embedding begins with."""
    return _WEIGHTS.fullmatch(name.lower()) is not None


_ANCHORS = re.compile(r"(?:\w+_)?(?:anchors?|priors?)(?:_\w+)?")


def is_anchors(name: str) -> bool:
    """Whether a name is what people call the boxes that a detector begins with: nine pairs of sides, say."""
    return _ANCHORS.fullmatch(name.lower()) is not None


_ADJACENCY = re.compile(r"(?:\w+_)?(?:adj|adjacency|laplacian|laplace|a_mat|a_hat|graph)(?:_\w+)?")


def is_adjacency(name: str) -> bool:
    """Whether a name is what people call the square matrix of a graph."""
    return _ADJACENCY.fullmatch(name.lower()) is not None


_INDICES = re.compile(
    r"(?:\w+_)?(?:edges?|pairs|links|index|indices|idxs?|ids?|senders|receivers)(?:_(?:list|index|\d))?"
)


def usual_dtype(name: str) -> str:
    """Of an array of that name: int32 for numbers that something is looked up by, as a graph's edges are."""
    return "int32" if _INDICES.fullmatch(name.lower()) else "float32"


def description(name: str, value: Any) -> str:
    """A value, or an array by its sizes, as `--data` takes it; with many samples where nobody knows how many."""
    if not isinstance(value, tuple):
        return f"{name}={value}"
    whole = "x".join(str(1000 if size is None else size) for size in value)
    dtype = usual_dtype(name)
    return f"{name}={whole}" if dtype == "float32" else f"{name}={whole} {dtype}"


def example(name: str) -> str:
    """A description of an array of that name."""
    kinds = ((is_adjacency, "1000x1000"), (is_anchors, "9x2"), (is_weights, "20000x300"))
    return f"{name}={next((sizes for is_one, sizes in kinds if is_one(name)), '1000x16')}"


def is_labels(name: str) -> bool:
    """Whether a described array holds labels."""
    return _LABELS.fullmatch(_plain(name)) is not None


def _plain(name: str) -> str:
    plain = name.lower()
    found = _PREFIXED.fullmatch(plain)
    return found[1] if found else plain


def samples_of(described: Mapping[str, Any]) -> Any:
    """The array that the model is called on: the first that is called so, else the first that holds no labels."""
    called = (one for name, one in described.items() if _SAMPLES.fullmatch(_plain(name)))
    other = (
        one
        for name, one in described.items()
        if not is_labels(name) and not is_weights(name) and not is_anchors(name)
    )
    return next((one for group in (called, other) for one in group), None)


def labels_of(described: Mapping[str, Any]) -> Any:
    """The labels, if there are any."""
    return next((one for name, one in described.items() if is_labels(name)), None)


def value(name: str, described: Mapping[str, Any], classes: bool = False) -> Any:
    """What a name of the script stands for, as its data was described; None where that does not say it."""
    if not described:
        return None
    if name in described:
        return described[name]
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    x, y = samples_of(described), labels_of(described)
    if classes or counts_classes(snake):
        return None if y is None else _count(y)
    if x is not None:
        if x.below is not None and _VOCABULARY.fullmatch(snake):
            return x.below
        if _LENGTH.fullmatch(snake):
            return x.sizes[1] if len(x.sizes) > 1 else None
        if _FEATURES.fullmatch(snake):
            return x.sizes[-1] if len(x.sizes) > 1 else None
    if y is not None and _LABELS.fullmatch(_plain(snake)):
        return y
    if x is not None and _SAMPLES.fullmatch(_plain(snake)):
        return x
    return None


def _count(y: Any) -> int | None:
    """How many classes labels tell apart."""
    if y.below is not None:
        return int(y.below)
    return y.sizes[-1] if len(y.sizes) > 1 else None


def of_targets(name: str) -> bool:
    """Whether a name is what people call labels."""
    word = name.rpartition(".")[2].lower()
    return word.startswith(("y", "label", "target")) or "label" in word


_SIDES = re.compile(
    r"(?:(?:im|img|image|input)_?)?(?:(h|height|rows?)|(w|width|cols?|columns)|(c|ch|channels?))"
)


def side_of(name: str) -> int | None:
    """Which size of an image a name stands for: its height, width or channels."""
    found = _SIDES.fullmatch(name.lower())
    return None if found is None or len(name) < 2 else (found.lastindex or 0) - 1
