"""How the cost of the parts of a dry run grows with what they work on, counted in visits and not in seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run, state
from oomlint.dryrun.catalog.keras import graph
from oomlint.dryrun.queries.changing import MAX_LOOKS, Changes, value_of
from oomlint.dryrun.values.base import Const, Sequence, Unknown, deref
from oomlint.dryrun.values.program import Class
from oomlint.dryrun.values.training import Layer
from oomlint.syntax.parse import parse


def counting(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> Callable[[str], int]:
    """A function that says how often another is called during the dry run of a script."""
    calls = 0
    real = getattr(owner, name)

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return real(*arguments)

    monkeypatch.setattr(owner, name, counted)

    def during(text: str) -> int:
        nonlocal calls
        calls = 0
        dry_run(parse(document_from_text(text, "snippet.py")))
        return calls

    return during


@pytest.mark.parametrize(
    "step", ["h = h + h", "h = h + keras.layers.Dense(64)(h)", "h = keras.layers.Add()([h, h])"]
)
def test_a_graph_is_walked_once_however_many_ways_lead_to_a_tensor(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = counting(monkeypatch, graph, "tensors")

    def cost(steps: int) -> int:
        rows = f"{step}\n" * steps
        return visits(f"import keras\nh = i = keras.Input((64,))\n{rows}m = keras.Model(i, h)\nm.fit(x, y)\n")

    small, large = cost(8), cost(16)
    assert 0 < large <= 2 * small


@pytest.mark.parametrize(
    "script",
    [
        lambda n: "if a:\n    x = 0\n" + "".join(f"elif a{i}:\n    x{i} = {i}\n" for i in range(n)),
        lambda n: "x = f()\nif a:\n    y = 0\n" + "".join(f"elif a{i}:\n    x = {i}\n" for i in range(n)),
        lambda n: "match a:\n" + "".join(f"    case {i}:\n        x{i} = {i}\n" for i in range(n)),
        lambda n: "try:\n    x = f()\n" + "".join(f"except E{i}:\n    x{i} = {i}\n" for i in range(n)),
    ],
)
def test_ways_meet_at_the_cost_of_what_they_wrote(
    script: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    joins = counting(monkeypatch, state, "join")
    small, large = joins(script(100)), joins(script(200))
    # Each name was there before on some ways, and is written on others.
    assert small <= large <= 3 * 200 + 10


def test_what_ways_leave_alone_counts_once_in_its_place() -> None:
    store = state.State()
    key = (state.Scope("module"), "x")
    store.set(key, Const(1))
    store.meet([{}, {}, {key: Const(2)}, {}])
    joined = store.get(key)
    assert isinstance(joined, Unknown) and joined.type == "int"
    store.set(key, Const(1))
    store.meet([{}, {key: Const(1)}, {}])
    assert store.get(key) == Const(1)
    other = (key[0], "y")
    store.meet([{}, {other: Const(3)}, {}])
    assert store.get(other) == Const(3)


def test_the_ancestry_of_a_class_is_worked_out_once() -> None:
    text = "class A: ...\nclass B(A): ...\nclass C(A): ...\nclass D(B, C): ...\nprobe(D)\n"
    (call,) = [
        one
        for one in dry_run(parse(document_from_text(text, "snippet.py"))).all_calls()
        if one.path == "probe"
    ]
    found = deref(call.arguments[0].value)
    assert isinstance(found, Class)
    assert [one.name for one in found.ancestry()] == ["D", "B", "A", "C"]  # depth first, each once
    assert found.ancestry() is found.ancestry()


def test_a_layer_that_comes_on_several_ways_counts_each_of_them_once() -> None:
    rounds = "".join(
        f"if a{i}:\n    head = one\nelif b{i}:\n    head = other\nlast = head if c{i} else last\nhead = last\n"
        for i in range(24)
    )
    before = "import keras\none = last = keras.layers.Dense(1)\nother = head = keras.layers.Dense(2)\n"
    trace = dry_run(parse(document_from_text(f"{before}{rounds}keras.Sequential([head])\n", "snippet.py")))
    (made,) = trace.calls("keras.Sequential")
    given = deref(made.arguments[0].value)
    assert isinstance(given, Sequence) and given.items is not None
    head = deref(given.items[0])
    assert isinstance(head, Layer)
    widths = sorted(way.config["units"].value for way in head.ways())  # type: ignore[attr-defined]
    assert widths == [1, 2]


def test_a_question_what_changes_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty objects keep what the one around them keeps: each of forty ways back leads to forty more, six times over."""
    blocks = "".join(f"        self.block_{number} = Block(self.rates)\n" for number in range(40))
    text = f"""
class Block:
    def __init__(self, rates):
        self.rates = rates
        self.drop = self.rates.drop
class Net:
    def __init__(self, rates):
        self.rates = rates
{blocks}
Net(read())
"""
    trace = dry_run(parse(document_from_text(text, "snippet.py")))
    changes = Changes(trace)
    looks = 0
    real = Changes.of

    def counted(self: Changes, node: Any, context: Any, depth: int = 0) -> Any:
        nonlocal looks
        looks += 1
        if looks > 10 * MAX_LOOKS:
            pytest.fail("there is no end to it")
        return real(self, node, context, depth)

    monkeypatch.setattr(Changes, "of", counted)
    last = [assign for assign in trace.assigns() if assign.path == "self.drop"][-1]
    value = value_of(last)
    assert value is not None
    assert changes.of(value, last.context) is None
