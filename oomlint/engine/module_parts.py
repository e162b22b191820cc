"""What is kept of a module: its parts, what each uses and leads to, and what its imports stand for."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

# Of a class that is used these are called without being named.
CALLED_BY_NAME = frozenset(
    """build call train_step test_step predict_step make_train_function make_test_function make_predict_function
    compute_loss compute_metrics compute_output_shape run setUp setUpClass get_config from_config update_state result
    reset_state reset_states on_epoch_begin on_epoch_end on_train_begin on_train_end on_batch_begin on_batch_end
    on_train_batch_begin on_train_batch_end on_test_begin on_test_end on_predict_begin on_predict_end""".split()
)


@dataclass(slots=True, eq=False)
class Part:
    """One part. `owner` is the innermost class around it, `name` None for the body of a module or class."""

    owner: str | None
    name: str | None
    bits: int = 0
    leads: tuple[int, ...] = ()  # parts of the module that its names may mean
    imports: tuple[str, ...] = ()  # imported names that it uses
    of_a_layer: bool = False  # a method of a class that derives from one of Keras' layers
    beside: tuple[int, ...] = ()  # parts that leave something on its object, or in a global, that it uses
    makers: tuple[int, ...] = ()  # parts that name its class


@dataclass(frozen=True, slots=True)
class Import:
    """What an imported name stands for."""

    package: str
    level: int
    name: str | None  # None: the module itself
    bits: int


@dataclass(slots=True, eq=False)
class Uses:
    """A module's parts, the first of which is its own body, and what its names mean."""

    parts: list[Part]
    at_once: list[int]  # what runs when the module does: its body, and what the bodies of classes call
    top: dict[str, list[int]]  # functions, classes and globals
    members: dict[str, list[int]]  # methods, attributes that are set, what class bodies bind
    imports: dict[str, list[Import]]
    stars: tuple[Import, ...]
    words: frozenset[str]  # every name and attribute that is used
    # Where imported names lead to, once that was asked.
    crossings: dict[str, Any] = field(default_factory=dict)


def but_for(node: ast.AST, fields: set[str]) -> list[ast.AST]:
    """What stands in a node, but for some of its fields."""
    found: list[ast.AST] = []
    for name, value in ast.iter_fields(node):
        if name not in fields:
            found += [
                one for one in (value if isinstance(value, list) else [value]) if isinstance(one, ast.AST)
            ]
    return found


def dotted(node: ast.expr) -> str:
    """`a.b.c` as text; empty for anything else."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(words))) if isinstance(node, ast.Name) else ""


def is_called(name: str) -> bool:
    """Whether Python or Keras calls a method of that name."""
    return name.startswith("__") or name in CALLED_BY_NAME
