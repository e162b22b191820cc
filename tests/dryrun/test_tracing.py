"""What the dry run says of graph functions, TF1 graphs, and of expressions that change from round to round."""

from __future__ import annotations

import libcst as cst
import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import Trace, dry_run
from oomlint.dryrun.queries.changing import Change, Changes
from oomlint.dryrun.trace import Call
from oomlint.dryrun.values.base import deref
from oomlint.dryrun.values.graph import Symbol
from oomlint.dryrun.values.program import Function
from oomlint.syntax.parse import parse


def trace_of(text: str) -> Trace:
    return dry_run(parse(document_from_text(text, "script.py")))


def graph_calls(text: str) -> list[Call]:
    return trace_of("import tensorflow as tf\n" + text).calls("tf.function.call")


@pytest.mark.parametrize(
    "text",
    [
        "@tf.function\ndef f(x): return x\nf(1)",
        "@tf.function(jit_compile=True)\ndef f(x): return x\nf(1)",
        "def f(x): return x\ng = tf.function(f)\ng(1)",
        "def f(x): return x\ng = tf.function(jit_compile=True)(f)\ng(1)",
        "g = tf.function(lambda x: x)\ng(1)",
        "class A:\n    def f(self, x): return x\na = A()\na.g = tf.function(a.f)\na.g(1)",
        "class A:\n    @tf.function\n    def f(self, x): return x\nA().f(1)",
        "import functools\n@functools.partial(tf.function, jit_compile=True)\ndef f(x): return x\nf(1)",
    ],
)
def test_calls_of_graph_functions_are_events(text: str) -> None:
    (call,) = graph_calls(text)
    assert isinstance(call.receiver, Function)
    made = call.receiver.traced
    assert made is not None
    assert made.name == "tf.function"


def test_the_plain_function_stays_eager() -> None:
    text = "def f(x):\n    return tf.sin(x)\ng = tf.function(f)\nf(1.0)\ng(2.0)\n"
    trace = trace_of("import tensorflow as tf\n" + text)
    assert [call.context.role("tf.function") is not None for call in trace.calls("tf.sin")] == [False, True]


def test_a_wrapped_function_that_nobody_calls_is_entered_as_a_graph() -> None:
    trace = trace_of("import tensorflow as tf\ndef f(x):\n    return tf.sin(x)\ng = tf.function(f)\n")
    assert [call.context.role("tf.function") is not None for call in trace.calls("tf.sin")] == [True]


@pytest.mark.parametrize(
    ("expression", "symbolic"),
    [
        ("x", True),
        ("x + 1", True),
        ("1 - x", True),
        ("-x", True),
        ("x[0]", True),
        ("tf.nn.softmax(x)", True),
        ("tf.matmul(x, tf.Variable(tf.zeros([3, 3])))", True),
        ("x.get_shape()", False),
        ("x.shape", False),
        ("sess.run(x)", False),
        ("x.eval()", False),
    ],
)
def test_what_a_graph_is_made_of(expression: str, symbolic: bool) -> None:
    text = f"import tensorflow as tf\nsess = tf.Session()\nx = tf.placeholder(tf.float32, [None, 3])\ny = {expression}\n"
    (bound,) = [assign for assign in trace_of(text).assigns() if assign.path == "y"]
    assert isinstance(deref(bound.value), Symbol) == symbolic


PRELUDE = """
import random
import time
import tensorflow as tf

def fade(n):
    return 1.0 / (1 + n)

class Agent:
    def __init__(self):
        self.count = 0
        self.rate = 0.5

agent = Agent()
fixed = 3
total = 0
seen = []
for outer in range(10):
    for step in range(100):
        total += 1
        agent.count += 1
        seen.append(step)
        once = 1e-3 if step < 50 else 1e-4
        later = fade(step)
        tf.identity({expression})
"""


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("step", 100),
        ("outer", 10),
        ("step / 100", 100),
        ("outer + fixed", 10),
        ("total", None),
        ("agent.count", None),
        ("len(seen)", None),
        ("later", 100),
        ("fade(step)", 100),
        ("float(step)", 100),
        ("f'step {step}'", 100),
        ("'%d' % step", 100),
        ("(fixed, step)", 100),
        ("random.random()", 100),
        ("time.time()", 100),
        ("step % 1000", 100),
    ],
)
def test_expressions_that_change(expression: str, values: int | None) -> None:
    change = _change(expression)
    assert change is not None
    assert change.values == values


@pytest.mark.parametrize(
    "expression",
    [
        "fixed",
        "agent.rate",
        "once",
        "step % 2",
        "step > 5",
        "not step",
        "bool(step)",
        "fade(fixed)",
        "random.choice([1, 2, 3])",
        "random.randint(0, 4)",
        "len('abc')",
        "1 if step else 2",
    ],
)
def test_expressions_that_stay_or_take_few_values(expression: str) -> None:
    assert _change(expression) is None


def _change(expression: str) -> Change | None:
    trace = trace_of(PRELUDE.replace("{expression}", expression))
    call = trace.calls("tf.identity")[0]
    assert isinstance(call.node, cst.Call)
    return Changes(trace).of(call.node.args[0].value, call.context)
