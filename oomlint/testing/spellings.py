"""The ways in which people import TensorFlow, Keras and NumPy: one script, rewritten for each.

Scripts are written with `import tensorflow as tf`, `from tensorflow import keras` and `import numpy as np`.
A rewrite changes names only, never the number of lines, so markers stay where they are.
"""

from __future__ import annotations

import io
import re
import token
import tokenize
from collections.abc import Callable, Iterable
from dataclasses import dataclass

TF, KERAS, NP = "import tensorflow as tf", "from tensorflow import keras", "import numpy as np"

_MODULES = (
    "layers",
    "models",
    "optimizers",
    "losses",
    "metrics",
    "callbacks",
    "applications",
    "utils",
    "datasets",
)
_HEADER = re.compile(r"#\s*keras:\s*([23])")


def generation(text: str) -> int | None:
    """The Keras generation that a script's header asks for: a comment `# keras: 3` above the code."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            break
        if found := _HEADER.match(line):
            return int(found[1])
    return None


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way. `keras`: the generation that it is bound to, if any."""

    name: str
    rewrite: Callable[[str], str]
    keras: int | None = None

    def suits(self, wanted: int | None) -> bool:
        """Whether a script whose verdict holds for that generation can be spelled so."""
        return wanted is None or self.keras is None or self.keras == wanted


def spelled(text: str) -> list[tuple[str, str]]:
    """The script in all ways that differ from how it is written, each with its name."""
    wanted = generation(text)
    seen = {text}
    ways = []
    for spelling in SPELLINGS:
        other = spelling.rewrite(text) if spelling.suits(wanted) else text
        if other not in seen:
            seen.add(other)
            ways.append((spelling.name, other))
    return ways


def _line(old: str, new: str) -> Callable[[str], str]:
    """Another import statement for the same name."""
    pattern = re.compile(rf"^([ \t]*){re.escape(old)}(?=[ \t]*(?:[#;\r\n]|$))", re.MULTILINE)
    return lambda text: pattern.sub(lambda found: found[1] + new, text)


def _both(*rewrites: Callable[[str], str]) -> Callable[[str], str]:
    def rewrite(text: str) -> str:
        for one in rewrites:
            text = one(text)
        return text

    return rewrite


def _names(text: str) -> Iterable[tuple[tokenize.TokenInfo, tokenize.TokenInfo | None, tokenize.TokenInfo]]:
    """Tokens with the one before and the one after, line breaks and comments left out."""
    skipped = (token.NL, token.COMMENT)
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in skipped]
    for index, current in enumerate(tokens[:-1]):
        yield current, tokens[index - 1] if index else None, tokens[index + 1]


def _replace(text: str, changes: Iterable[tuple[tuple[int, int], int, str]]) -> str:
    """Replace `length` characters at (row, column); changes do not overlap."""
    lines = text.split("\n")
    for (row, column), length, new in sorted(changes, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + new + line[column + length :]
    return "\n".join(lines)


def _renamed(old: str, new: str) -> Callable[[str], str]:
    """Another name for what was imported, wherever it is used: not attributes, not keywords of calls."""

    def rewrite(text: str) -> str:
        changes = []
        for current, before, after in _names(text):
            if current.type == token.NAME and current.string == old:
                is_attribute = before is not None and before.string == "."
                is_keyword = after.string == "=" and before is not None and before.string in "(,"
                if not is_attribute and not is_keyword:
                    changes.append((current.start, len(old), new))
            elif (
                current.type == token.STRING
                and re.match(r"(?i)r?f", current.string)
                and "\n" not in current.string
            ):
                # Before Python 3.12 an f-string is one token.
                inner = re.sub(rf"(?<=[{{( ]){old}\.", f"{new}.", current.string)
                changes.append((current.start, len(current.string), inner))
        return _replace(text, changes)

    return rewrite


def _imported(old: str, statement: str, new: str) -> Callable[[str], str]:
    """An import statement that binds another name."""
    name = old.split()[-1]

    def rewrite(text: str) -> str:
        # In between, the statement is `import NAME`, whose name is renamed along with its uses.
        plain = _line(old, f"import {name}")(text)
        return text if plain == text else _line(f"import {new}", statement)(_renamed(name, new)(plain))

    return rewrite


def _keras_through_tf(text: str) -> str:
    """`tf.keras.layers.Dense`, and no import of Keras."""
    if _line(KERAS, "")(text) == text:
        return text  # Keras is imported in another way
    if _line(TF, "")(text) == text:
        text = _line(KERAS, TF)(text)
    else:
        text = _line(KERAS, "import tensorflow")(text)
    return _renamed("keras", "tf.keras")(text)


def _chains(text: str) -> list[tuple[tuple[int, int], str, str]]:
    """Uses of `keras.<module>.<Name>` on one line: where, the module and the name."""
    tokens = [current for current, _, _ in _names(text)]
    found = []
    for index in range(len(tokens) - 4):
        first, dot, module, dot2, name = tokens[index : index + 5]
        before = tokens[index - 1].string if index else ""
        if (first.string, dot.string, dot2.string) != ("keras", ".", ".") or before == ".":
            continue
        if module.string in _MODULES and name.type == token.NAME and first.start[0] == name.start[0]:
            if first.end == dot.start and dot2.end == name.start and dot.end == module.start:
                found.append((first.start, module.string, name.string))
    return found


def _bare_names(text: str) -> set[str]:
    return {
        current.string
        for current, before, _ in _names(text)
        if current.type == token.NAME and (before is None or before.string != ".")
    }


def _from_modules(text: str) -> str:
    """`from tensorflow.keras.layers import Dense`."""
    taken = _bare_names(text)
    chains = [chain for chain in _chains(text) if chain[2][0].isupper() and chain[2] not in taken]
    leaves = sorted({(module, name) for _, module, name in chains})
    names = [name for _, name in leaves]
    chains = [chain for chain in chains if names.count(chain[2]) == 1]
    imports = [f"from tensorflow.keras.{m} import {n}" for m, n in leaves if names.count(n) == 1]
    changes = [(at, len(f"keras.{module}.{name}"), name) for at, module, name in chains]
    written = _line(KERAS, "; ".join([KERAS, *imports]))
    return text if written(text) == text else written(_replace(text, changes))  # where Keras is imported so


def _module_aliases(text: str) -> str:
    """`from tensorflow.keras import layers as L`."""
    taken = _bare_names(text)
    aliases = {module: f"{module[0].upper()}{module[1]}" for module in _MODULES}
    chains = [chain for chain in _chains(text) if aliases[chain[1]] not in taken]
    modules = sorted({module for _, module, _ in chains})
    imports = [f"from tensorflow.keras import {module} as {aliases[module]}" for module in modules]
    changes = [(at, len(f"keras.{module}"), aliases[module]) for at, module, _ in chains]
    written = _line(KERAS, "; ".join([KERAS, *imports]))
    return text if written(text) == text else written(_replace(text, changes))


SPELLINGS = (
    Spelling("as written", lambda text: text),
    Spelling("tf.keras", _keras_through_tf),
    Spelling("import tensorflow.keras as keras", _line(KERAS, "import tensorflow.keras as keras")),
    Spelling("import keras", _line(KERAS, "import keras"), keras=3),
    Spelling("import tf_keras as keras", _line(KERAS, "import tf_keras as keras"), keras=2),
    Spelling(
        "from tensorflow.python import keras", _line(KERAS, "from tensorflow.python import keras"), keras=2
    ),
    Spelling(
        "tensorflow.compat.v2",
        _both(
            _line(TF, "import tensorflow.compat.v2 as tf"),
            _line(KERAS, "from tensorflow.compat.v2 import keras"),
        ),
    ),
    Spelling("import tensorflow as flow", _imported(TF, "import tensorflow as flow", "flow")),
    Spelling("import tensorflow", _imported(TF, "import tensorflow", "tensorflow")),
    Spelling("import numpy", _imported(NP, "import numpy", "numpy")),
    Spelling(
        "from tensorflow import keras as K", _imported(KERAS, "from tensorflow import keras as kk", "kk")
    ),
    Spelling("names from modules", _from_modules),
    Spelling("module aliases", _module_aliases),
)
