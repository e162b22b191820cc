"""What is assumed where nothing tells it: it changes the last layer, or what the optimizer keeps, and is said.

That is the number of classes, an optimizer and a dropout's rate; sizes that the memory depends on (an image's, a
vocabulary) are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from oomlint.estimate.result import ASSUMED_OPTIMIZER

ASSUMED = 10

_NAME = re.compile(
    r"(n|nb|nr|num|no|number|count|total)?_?(of)?_?(all|unique|distinct|output|target|different)?_?"
    r"(class|classes|classses|label|labels|category|categories|tags|intents|genres)"
    r"_?(n|num|number|count|size|name|names|list|indices|to_idx|dim)?_?"
    r"|unique|n?_?(actions?|action_(size|dim|num|space|count|list|names))"
    r"|(n|nb|num)?_?(gesture|emotion|breed|disease|sign)s?_?(num|count|name|names|list)?"
)


class Entry(str):
    """One of them: a name, or what a table says of a column that is not known, `column["vocabulary_size"]`."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        from oomlint.estimate.worker.tries.usual import argument

        return argument(key, {})


class Classes(int):
    """A count of things, and the things: code takes its length, walks over it, looks it up or calculates with it."""

    def __len__(self) -> int:
        return int(self)

    def __iter__(self) -> Iterator[str]:
        return (Entry(f"class {number}") for number in range(int(self)))

    def __getitem__(self, key: Any) -> Any:
        return list(self)[key] if isinstance(key, int | slice) else 0

    def __setitem__(self, key: Any, value: Any) -> None:
        """A word that the script adds by itself is one of them."""

    def get(self, key: Any, default: Any = None) -> int:
        """As a dict's: the number of a word."""
        return 0

    def __contains__(self, key: object) -> bool:
        return True

    def __call__(self, *args: Any, **kwargs: Any) -> Classes:
        """For `tokenizer.vocab_size()`."""
        return self

    def keys(self) -> list[str]:
        """As a dict's, such as a tokenizer's word index."""
        return list(self)

    def values(self) -> range:
        """As a dict's."""
        return range(int(self))

    def items(self) -> list[tuple[str, int]]:
        """As a dict's."""
        return list(zip(self, range(int(self)), strict=True))


# A size's class is looked up by its name in Keras before 3.13 (`standardize_shape`), which takes NumPy's integers so.
Classes.__name__ = "int64"


def counts_classes(name: str) -> bool:
    """Whether a name is what people call the number or the list of classes."""
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return _NAME.fullmatch(snake) is not None


def is_spread(name: str) -> bool:
    """Whether a name is what people call a variance or deviation: whatever its value, it takes no memory."""
    return re.fullmatch(r"(?:\w+_)?(?:variance|var|std|std_?dev)", name.lower()) is not None


# What changes nothing of the memory but the optimizer's own slots, or nothing at all.
_OPTIMIZER = re.compile(r"(?:\w+_)?(?:optimi[sz]er|optim|opt)(?:_?(?:name|type|choice))?")
_RATE = re.compile(
    r"(?:\w+_)?(?:dropout|drop_out|drop)(?:_?(?:rate|prob|probability|ratio|p))?|keep_prob(?:ability)?"
)


_PATH = re.compile(
    r"(?:\w+_)?(?:(?:output|out|log|save|saving|results?|checkpoints?|ckpt|tensorboard|model|export)s?_?)"
    r"(?:dir|directory|folder|path|prefix)|log_?dir|run_?name|exp(?:eriment)?_?name"
)

_ROUNDS = re.compile(
    r"(?:(?:n|nb|nr|num|number|no|max|total|train(?:ing)?|end|final)_?)?(?:of_?)?epochs?(?:_?(?:num|number|count|max))?"
)


def assumption(asked: str) -> tuple[str, Any, str] | None:
    """For a value that is asked for: its name, what is assumed, and what is said of it; None where that may not be.

    `y.shape` asks for the shape of labels, of which the classes are the last size; `n.classes` for a number of them.
    """
    name, _, attribute = asked.partition(".")
    if attribute == "shape":
        return name, (None, ASSUMED), _said(name, f"'{name}=(None, 20)'")
    if attribute == "classes" or counts_classes(name):
        return name, Classes(ASSUMED), _said(name, f"{name}=20")
    if attribute:
        return None
    if _OPTIMIZER.fullmatch(name.lower()):
        return name, "adam", f"{ASSUMED_OPTIMIZER}Adam: {name} is not known (another: --arg {name}=sgd)"
    if _PATH.fullmatch(name.lower()):
        return name, "out", f"a name of a folder, {name}, is not known: it takes no memory"
    if _ROUNDS.fullmatch(name.lower()):
        return name, ASSUMED, f"how often the data is gone through, {name}, is not known: it takes no memory"
    if _RATE.fullmatch(name.lower()):
        return name, 0.5, f"a rate of 0.5: {name} is not known (another: --arg {name}=0.1)"
    return None


def _said(name: str, option: str) -> str:
    return f"{ASSUMED} classes: {name} comes from data (another number: --arg {option})"


def given(value: Any) -> Any:
    """What `--arg` gave: a number also stands for that many classes, or words."""
    return Classes(value) if isinstance(value, int) and not isinstance(value, bool) else value
