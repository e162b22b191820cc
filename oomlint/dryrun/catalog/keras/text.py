"""Keras' text tools: the Tokenizer with its matrices, and vocabularies, whose size the data decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import FEW_WORDS, VOCABULARY, dense, made, tags_of_all
from oomlint.dryrun.catalog.registry import attribute, function, method
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import NONE, Const, Opaque, Sequence, Unknown, Value
from oomlint.dryrun.values.shapes import dim_of, dimension_at, number
from oomlint.dryrun.values.training import Layer

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

TOKENIZER = "keras.preprocessing.text.Tokenizer"


@function(TOKENIZER, parameters="num_words filters lower split char_level oov_token")
def tokenizer(call: Call, run: Run) -> Value:
    """An object that learns words."""
    return Opaque(TOKENIZER, call)


@attribute(Opaque, "word_index", "index_word", "word_counts", "word_docs")
def words(value: Value, run: Run) -> Value:
    """All the words, also those beyond `num_words`; of characters there are few."""
    assert isinstance(value, Opaque)
    kept = value.attributes.get("word_index")
    if kept is not None or value.type != TOKENIZER:
        return kept if kept is not None else Unknown()
    few = value.made_by is not None and value.made_by.const("char_level", False) is True
    return Unknown(tags=frozenset() if few else frozenset({VOCABULARY}))


@method(Opaque, "fit_on_texts", "fit_on_sequences")
def learned(call: Call, run: Run) -> Value:
    """Nothing comes back."""
    return NONE


@method(Opaque, "texts_to_sequences", parameters="texts")
def sequences(call: Call, run: Run) -> Value:
    """One list of numbers per text."""
    row = Sequence("list", element=Unknown(type="int"))
    return Sequence("list", element=row, count=_rows(call), context=run.context)


@method(Opaque, "texts_to_matrix", "sequences_to_matrix", parameters="texts mode")
def matrix(call: Call, run: Run) -> Value:
    """One row of float64 per text: `num_words` wide, or as wide as there are words."""
    if not isinstance(call.receiver, Opaque) or call.receiver.type != TOKENIZER:
        return Unknown(tags=tags_of_all(*(argument.value for argument in call.arguments)))
    source = call.receiver.made_by
    limit = source.argument("num_words") if source is not None else None
    columns = dim_of(limit.value) if limit is not None else None
    return made(call, (_rows(call), columns), "float64", dense(call))


def _rows(call: Call) -> Dim:
    value = call.value("texts") or call.value("sequences")
    if isinstance(value, Array):
        return dimension_at(value.shape, 0)
    return value.length if isinstance(value, Sequence) else None


@method(Layer, "get_vocabulary", "vocabulary_size")
def vocabulary(call: Call, run: Run) -> Value:
    """The words, or how many there are."""
    layer = call.receiver
    assert isinstance(layer, Layer)
    most = number(layer.config.get("max_tokens"))
    tags = frozenset() if most is not None and most < FEW_WORDS else frozenset({VOCABULARY})
    if call.name.endswith("vocabulary_size"):
        return Unknown(type="int", tags=tags)
    return Sequence("list", element=Unknown(type="str"), tags=tags)


# What `len` and arithmetic make of a vocabulary is its number of words, and the tag goes along.
def is_vocabulary(value: Value | None) -> bool:
    """Whether a number is one of words that the data decides."""
    return value is not None and not isinstance(value, Const) and VOCABULARY in tags_of_all(value)
