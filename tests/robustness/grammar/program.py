"""Whole programs: imports in one of the ways, scenes and statements, wrapped, written in odd ways, laid out oddly."""

from __future__ import annotations

import ast
import random
import textwrap
import warnings

from hypothesis import strategies as st
from robustness.grammar.data import DATA
from robustness.grammar.engine import Grammar
from robustness.grammar.layout import laid_out
from robustness.grammar.models import MODELS
from robustness.grammar.rewriting import rewritten
from robustness.grammar.scenes import SCENES
from robustness.grammar.training import TRAINING

from oomlint.testing import SPELLINGS

PRODUCTIONS = {**DATA, **MODELS, **TRAINING}

IMPORTS = (
    "import argparse, collections, concurrent.futures, dataclasses, functools, glob, itertools, os, sys",
    "import tensorflow as tf",
    "from tensorflow import keras",
    "import numpy as np",
)
# In the order in which each is more seldom needed: a program takes some of them.
MORE = (
    "import pandas as pd",
    "import cv2",
    "import h5py, scipy.sparse",
    "from pathlib import Path",
    "from PIL import Image",
    "from tqdm import tqdm",
    "from sklearn.feature_extraction.text import TfidfVectorizer",
    "from sklearn.model_selection import GridSearchCV",
    "from scikeras.wrappers import KerasClassifier",
    "import tensorflow_datasets as tfds",
    "from tensorflow.keras.layers import *",
    "from .helpers import load_tokens, load_labels as load_labels",
    "from __future__ import annotations",
)

WRAPPERS = (
    "{}",
    "def main(argv=None, *, flag=False):\n{i}\n\n\nif __name__ == '__main__':\n    main()",
    "def main():\n{i}\n    return 0\n\n\nsys.exit(main())",
    "class Experiment:\n    flag = False\n\n    def run(self, n=32):\n{ii}\n\n\nExperiment().run(n=64)",
    "if __name__ == '__main__':\n{i}",
    "if flag:\n{i}\nelse:\n{i}",
    "for attempt in range(3):\n{i}",
    "try:\n{i}\nexcept tf.errors.ResourceExhaustedError as error:\n    print(error)\nelse:\n    pass\nfinally:\n    keras.backend.clear_session()",
    "with tf.device('/GPU:0'):\n{i}",
    "while True:\n{i}\n    break",
    "async def main():\n{i}\n\n\nimport asyncio\nasyncio.run(main())",
    "def outer(n):\n    def inner(*args, **kwargs):\n{ii}\n\n    return inner\n\n\nouter(3)(1, 2, key=4)",
    "match sys.argv:\n    case [_, *rest] if rest:\n{ii}\n    case _:\n        pass",
    "@functools.lru_cache(maxsize=None)\ndef cached():\n{i}\n\n\ncached()",
)


def program(chance: random.Random) -> str:
    """A program of the grammar."""
    grammar = Grammar(PRODUCTIONS, chance)
    parts = []
    for _ in range(chance.choice((1, 1, 2, 2, 3))):
        if chance.random() < 0.55:
            part = grammar.text(SCENES[chance.choice(sorted(SCENES))])
        else:
            part = "\n".join(grammar.text("{statement}") for _ in range(chance.randint(1, 5)))
        if chance.random() < 0.4:
            part = _wrapped(chance.choice(WRAPPERS), part)
        parts.append(part)
        grammar.forget()
    text = "\n".join([*_imports(chance), *parts, ""])
    if not parses(text):
        return text  # never: a test looks
    if chance.random() < 0.5:
        text = chance.choice(SPELLINGS).rewrite(text)
    text = rewritten(text, chance)
    return laid_out(text, chance)


def programs() -> st.SearchStrategy[str]:
    """The grammar as a strategy: Hypothesis picks each production, and looks for the shortest failing program."""
    return st.randoms(use_true_random=False).map(program)


def seeded(seed: int) -> str:
    """The program of a seed."""
    return program(random.Random(seed))


def parses(text: str) -> bool:
    """Whether it is Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _imports(chance: random.Random) -> list[str]:
    rows = [*IMPORTS, *(row for row in MORE if chance.random() < 0.5)]
    chance.shuffle(rows)
    return sorted(rows, key=lambda row: not row.startswith("from __future__"))


def _wrapped(wrapper: str, part: str) -> str:
    deep = part if part.strip() else "pass"
    wrapper = wrapper.replace("{ii}", textwrap.indent(deep, " " * 8))
    wrapper = wrapper.replace("{i}", textwrap.indent(deep, " " * 4))
    return deep if wrapper == "{}" else wrapper
