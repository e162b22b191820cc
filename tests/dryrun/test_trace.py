"""The trace: order, contexts, evidence trails, what is entered, and how the cost grows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import Trace, dry_run
from oomlint.dryrun.interpreter import FUEL_FLOOR, FUEL_PER_STATEMENT
from oomlint.dryrun.trace import Body, Branch, Call, Handler, Loop, Try, Within
from oomlint.dryrun.values.base import Const, Sequence, deref
from oomlint.syntax.parse import parse


def trace_of(text: str) -> Trace:
    return dry_run(parse(document_from_text(text, "snippet.py")))


def probes(text: str) -> list[Call]:
    return [call for call in trace_of(text).all_calls() if call.path == "probe"]


def kinds(call: Call) -> list[str]:
    return [type(frame).__name__ for frame in call.context.frames()]


def test_contexts_are_innermost_first_and_cross_calls() -> None:
    (call,) = probes(
        """
def inner():
    try:
        if flag:
            probe()
    except ValueError:
        raise
def outer(items):
    for item in items:
        with manager() as m:
            inner()
outer(unknown)
"""
    )
    assert kinds(call) == ["Branch", "Try", "Body", "Within", "Loop", "Body"]


@pytest.mark.parametrize(
    ("header", "trip", "endless"),
    [
        ("for i in range(3, 1000, 7):", len(range(3, 1000, 7)), False),
        ("for x in [f(i) for i in range(100)]:", 100, False),
        ("for i, x in enumerate(range(500)):", 500, False),
        ("for a, b in zip(range(90), range(80)):", 80, False),
        ("for x in unknown:", None, False),
        ("while True:", None, True),
        ("while a < b:", None, False),
    ],
)
def test_loops_know_their_trip_count(header: str, trip: int | None, endless: bool) -> None:
    (call,) = probes(f"{header}\n    probe()\n")
    loop = call.context.innermost(Loop)
    assert loop is not None
    assert (loop.trip.value if loop.trip else None, loop.endless) == (trip, endless)


def test_building_loop_is_unrolled_and_training_loop_is_not() -> None:
    assert len(probes("for n in (8, 16, 32):\n    probe(n)\n")) == 3
    assert len(probes("for n in (8, 16, 32):\n    probe(n)\n    model.fit(x, epochs=n)\n")) == 1


def test_handlers_say_what_they_catch_and_whether_they_leave() -> None:
    (call, other) = probes(
        """
while True:
    try:
        probe()
        break
    except (MemoryError, ValueError):
        size //= 2
        if size < 1:
            raise
    except KeyError:
        probe()
        raise
"""
    )
    attempt = call.context.innermost(Try)
    assert attempt is not None
    first, second = attempt.handlers
    assert [deref(kind).name for kind in first.types] == ["builtins.MemoryError", "builtins.ValueError"]
    assert (first.leaves, second.leaves, second.raises) == (False, True, True)
    handler = other.context.innermost(Handler)
    assert handler is not None and handler.attempt is attempt


def test_functions_nobody_calls_are_entered_once_with_unknown_arguments() -> None:
    calls = probes(
        "def train(model, batch=32):\n    probe(batch, model)\n\nclass A:\n    def go(self):\n        probe(self.x)\n"
    )
    assert len(calls) == 2
    body = calls[0].context.innermost(Body)
    assert body is not None and not body.called
    batch = deref(calls[0].arguments[0].value)
    assert isinstance(batch, Const) and batch.value == 32 and batch.soft


def test_called_functions_are_not_entered_again() -> None:
    assert len(probes("def f(x):\n    probe(x)\nf(1)\n")) == 1


def test_trail_names_every_stop() -> None:
    (call,) = probes(
        """
BUFFER = 50_000
class Config:
    def __init__(self, size):
        self.size = size
def make(buffer_size):
    probe(buffer_size)
make(buffer_size=Config(BUFFER).size)
"""
    )
    value = deref(call.arguments[0].value)
    assert isinstance(value, Const) and value.value == 50_000
    assert [step.text for step in value.trail] == ["BUFFER", "size", "size", "buffer_size"]


def test_list_filled_in_a_loop_counts_its_rounds() -> None:
    (call,) = probes(
        "xs = []\nfor i in range(300):\n    for j in range(20):\n        xs.append(i)\nprobe(xs)\n"
    )
    value = deref(call.arguments[0].value)
    assert isinstance(value, Sequence) and value.count == Const(6000) and value.items is None


def test_list_filled_conditionally_has_no_count() -> None:
    (call,) = probes("xs = []\nfor i in range(300):\n    if test(i):\n        xs.append(i)\nprobe(xs)\n")
    value = deref(call.arguments[0].value)
    assert isinstance(value, Sequence) and value.length is None


def test_early_return_keeps_what_it_wrote() -> None:
    (call,) = probes(
        """
class Trainer:
    def build(self):
        if self.cached:
            self.width = 7
            return
        self.width = 7
t = Trainer()
t.build()
probe(t.width)
"""
    )
    assert deref(call.arguments[0].value) == Const(7)


def test_with_manager_and_name() -> None:
    (call,) = probes("with open('x') as handle:\n    probe()\n")
    within = call.context.innermost(Within)
    assert within is not None and within.name == "handle"


def test_both_sides_of_a_branch_are_taken() -> None:
    one, two = probes("if unknown:\n    probe(1)\nelse:\n    probe(2)\n")
    sides = [call.context.innermost(Branch) for call in (one, two)]
    assert [side.taken for side in sides if side] == [True, False]


def test_constant_tests_take_one_side() -> None:
    assert len(probes("DEBUG = False\nif DEBUG:\n    probe(1)\nelse:\n    probe(2)\n")) == 1


def _flat(n: int) -> str:
    return "".join(f"x{i} = {i}\n" for i in range(n))


def _branches(n: int) -> str:
    return _flat(n) + "".join(f"if a{i}:\n    x{i} = 3\nelse:\n    x{i} = 4\n" for i in range(n))


def _doubling(n: int) -> str:
    functions = "".join(f"def f{i}(x):\n    return f{i - 1}(f{i - 1}(x))\n" for i in range(1, n))
    return f"def f0(x):\n    return x\n{functions}f{n - 1}(1)\n"


def _doubling_uncalled(n: int) -> str:
    return "".join(f"def f{i}(x):\n    y = x\n    return g{i}(y)\n" for i in range(n))


def _callers(n: int) -> str:
    body = "".join(f"    y{i} = x\n" for i in range(n))
    return f"def f(x):\n{body}" + "".join(f"f({i})\n" for i in range(n))


def _loops(n: int) -> str:
    return "".join(f"for i in range(60):\n    x{k} = i\n" for k in range(n))


def _nested_comprehensions(n: int) -> str:
    return "x = [a * b * c for a in range(64) for b in range(64) for c in range(64)]\n" * n


def _mutual(n: int) -> str:
    return (
        "".join(f"def f{i}(x):\n    f{(i + 1) % n}(x)\n    f{(i * 7 + 3) % n}(x)\n" for i in range(n))
        + "f0(1)\n"
    )


def _classes(n: int) -> str:
    return "".join(
        f"class C{i}:\n    def __init__(self):\n        self.a = C{max(0, i - 1)}()\n        self.b = self.a\n"
        for i in range(n)
    )


@pytest.mark.parametrize(
    "shape", [_flat, _branches, _doubling, _callers, _loops, _nested_comprehensions, _mutual, _classes]
)
def test_cost_is_linear_in_the_size_of_the_script(shape: Callable[[int], str]) -> None:
    """Steps (statements, rounds and calls), not seconds: twice the script costs at most about twice as much."""
    small, large = trace_of(shape(100)).steps, trace_of(shape(200)).steps
    # Short scripts may spend the floor, whatever their shape; the rest grows with the script.
    allowed = FUEL_FLOOR + 3 * FUEL_PER_STATEMENT * len(shape(200).splitlines())
    assert large <= max(2.3 * small, allowed)


def test_a_function_that_calls_itself_twice_with_numbers_costs_no_power_of_two() -> None:
    search = "def search(low, high):\n    middle = (low + high) // 2\n    search(low, middle)\n    search(middle, high)\n"
    assert trace_of(search + "search(0, 1_000_000)\n").steps <= 220  # 34 entries of six; 2**8 were 1,533


@pytest.mark.parametrize("shape", [_flat, _branches, _doubling_uncalled])
def test_plain_scripts_cost_a_few_steps_per_line(shape: Callable[[int], str]) -> None:
    assert trace_of(shape(300)).steps <= 4 * len(shape(300).splitlines())
