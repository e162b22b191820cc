"""A small grammar engine: texts with `{symbols}`, which productions replace, and `$roles`, which names replace."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

Productions = Mapping[str, Sequence[str]]

DEPTH = 6
_TOKEN = re.compile(r"^( *)\{([a-z_]+)\}$|\{([a-z_]+)\}|\$(\w+)", re.MULTILINE)

# Names that people give; the last of each are of other alphabets, or as odd as Python allows.
NAMES: Mapping[str, Sequence[str]] = {
    "model": ("model", "net", "classifier", "m", "modèle", "模型", "_model"),
    "data": ("data", "train_ds", "dataset", "ds", "données", "データ"),
    "x": ("x", "x_train", "images", "X", "features", "ξ"),
    "y": ("y", "y_train", "labels", "targets", "ψ"),
    "i": ("i", "step", "epoch", "number", "_", "индекс"),
    "step": ("step", "train_step", "update", "schritt_für_schritt"),
    "kept": ("kept", "history", "outputs", "résultats", "l"),
    "optimizer": ("optimizer", "opt", "adam"),
    "strategy": ("strategy", "mirrored", "s"),
    "tape": ("tape", "t", "g"),
}


class Grammar:
    """One program in the making: its chance, and the names that it gave."""

    def __init__(self, productions: Productions, chance: random.Random) -> None:
        self.productions = productions
        self.chance = chance
        self.names: dict[str, str] = {}

    def text(self, template: str, depth: int = 0) -> str:
        """The template with all its holes filled and its names given."""

        def filled(token: re.Match[str]) -> str:
            indent, alone, inside, role = token.groups()
            if role is not None:
                return self.name(role)
            if alone is None:
                return self.symbol(inside, depth)
            rows = self.symbol(alone, depth).splitlines()
            return "\n".join(indent + row if row else row for row in rows)

        return _TOKEN.sub(filled, template)

    def symbol(self, name: str, depth: int) -> str:
        """One of a symbol's productions; where it is deep, the first, which has no holes that come back."""
        among = self.productions[name]
        return self.text(among[0] if depth >= DEPTH else self.chance.choice(among), depth + 1)

    def name(self, role: str) -> str:
        """The program's name for a role."""
        if role not in self.names:
            self.names[role] = self.chance.choice(NAMES.get(role, (role,)))
        return self.names[role]

    def forget(self) -> None:
        """Give other names from here on."""
        for role in list(self.names):
            if self.chance.random() < 0.6:
                del self.names[role]
