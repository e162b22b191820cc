"""What the rewritings make of small programs means the same: both are run, and print the same."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import types

import pytest
from metamorphic.code import NEW, Code, Rewriting, Traced, joined
from metamorphic.everything import TRANSFORMATIONS
from metamorphic.notebook import notebook_of

STEPS = '''\
# keras: 3
"""Numbers in steps."""
import math
from collections import deque

# How many.
COUNT = 5
SHAPE = (2, 3)
NAME = 'steps'
rate = 0.5
other = -2


class Numbers:
    def __init__(self, values, scale=2):
        self.values = list(values)
        self.scale = scale
        self._made_of = tuple(self.values)

    def map(self, function):
        # Called for each.
        return Numbers([function(value) for value in self.values], scale=self.scale)

    def take(self, count):
        return Numbers(self.values[:count], self.scale)

    def total(self):
        total = 0
        for value in self._made_of: total += value
        return total


def area(shape, factor=1):
    a, b = shape
    return a * b * factor


def describe(numbers, name):
    """Three rows:
  not indented."""
    text = """\\
  {}
 end""".format(name)
    first = numbers.total()
    return f"{name}: {first:04d} {numbers.scale!r}{text}"


numbers = Numbers(range(COUNT)).map(lambda value: value + COUNT).take(3)  # the first three
halves = (
    numbers
    # each of them
    .map(lambda value: value / 2)
    .take(2)
)
seen = deque([], maxlen=4)
for value in numbers.map(float).values:
    seen.append(value)
    rate += value
print(describe(numbers, NAME))
print(area(SHAPE), area(shape=SHAPE, factor=3), sep=" and ", end=".\\n")
print(halves.total(), sorted(seen), round(rate, 3), math.floor(abs(other)))
'''

FLOW = """\
import json
import os.path as paths

LIMIT = 3
total = 0


def load(name, size=LIMIT * 2):
    if name.endswith("x"):
        return [name] * size
    parts = [piece.upper() for piece in name.split(",")]
    return parts


def summary(rows, title='none'):
    lengths = {row: len(row) for row in rows}
    lines = [f"{row}={length}" for row, length in lengths.items()]
    return paths.join(title, *lines)


def run(count):
    found = []
    for index in range(count):
        name = "a,b" if index % 2 else "x"
        try:
            found.extend(load(name))
        except ValueError as error:
            print(error)
        else:
            found.append(str(index))
    return found


result = run(LIMIT)
longest = max(load("ab,cde"), key=lambda text: len(text))
with open(paths.devnull) as nothing:
    total += len(nothing.read()) + len(longest)
if total > 2:
    message = json.dumps({"total": total, "names": result}, sort_keys=True)
else:
    message = "little"
print(summary(result[:2], title="t"), message)
while total:
    total -= 1
print(total)
"""

ONCE = """\
SIZE = 4


def squares(count, start=1):
    made = []
    for number in range(start, count):
        made.append(number * number)
    return made


def show(values):
    for value in values:
        print(value)
    print(len(values))


found = squares(SIZE)
show(found)
"""

PROGRAMS = {"steps": STEPS, "flow": FLOW, "once": ONCE}
RUNNABLE = [name for name in TRANSFORMATIONS if not name.startswith("imports: ") and name != "notebook"]


def printed(rewriting: Rewriting) -> str:
    """What a program prints, except for what a rewriting adds."""
    made = []
    out = io.StringIO()
    try:
        for name, text in rewriting.files.items():
            if name != "script":
                made.append(name)
                module = types.ModuleType(name)
                exec(compile(text.text, name, "exec"), module.__dict__)
                sys.modules[name] = module
        main = types.ModuleType("__main__")
        with contextlib.redirect_stdout(out):
            exec(compile(rewriting.script.text, "script", "exec"), main.__dict__)
    finally:
        for name in made:
            sys.modules.pop(name, None)
    return out.getvalue().replace("so far\n", "")


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_program_prints_the_same(name: str):
    applied = 0
    for text in PROGRAMS.values():
        code = Code(Traced.first(text))
        before = printed(Rewriting({"script": code.traced}))
        assert before
        rewriting = TRANSFORMATIONS[name](code)
        if rewriting is not None:
            applied += 1
            assert rewriting.script.text != text
            assert printed(rewriting) == before, "\n# ----\n".join(
                one.text for one in rewriting.files.values()
            )
    assert applied


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_what_is_copied_is_what_it_was(name: str):
    """Characters that say where they are from are there, or stand for a span that starts there."""
    for text in PROGRAMS.values():
        rewriting = TRANSFORMATIONS[name](Code(Traced.first(text)))
        for made in rewriting.files.values() if rewriting else ():
            assert len(made.text) == len(made.origins)
            assert all(NEW <= origin < len(text) for origin in made.origins)
            same = sum(
                origin != NEW and text[origin] == letter for letter, origin in zip(made.text, made.origins)
            )
            kept = {origin for one in rewriting.files.values() for origin in one.origins}
            assert len(kept) > 0.4 * len(text)
            assert same > 0


REWRITTEN = {
    "chains split": (
        "ds = (\n    tf.data.Dataset.range(8)\n    .map(f)  # each\n    .batch(2)\n)\n",
        "step1_zq = (tf.data.Dataset.range(8))\nstep2_zq = (step1_zq\n    .map(f))\n"
        "ds = (\n    step2_zq  # each\n    .batch(2)\n)\n",
    ),
    "arguments named": (
        "model.add(keras.layers.Dense(4, name='a'))\n",
        "part1_zq = (keras.layers.Dense(4, name='a'))\nmodel.add(part1_zq)\n",
    ),
    "lambdas defined": (
        "if a:\n    ds = ds.map(lambda x: x + 1)\n",
        "if a:\n    def function1_zq(x):\n        return (x + 1)\n    ds = ds.map(function1_zq)\n",
    ),
    "positional to keyword": (
        "x = keras.layers.Dense(4, 'relu')(x)\nds = tf.data.Dataset.range(9).shuffle((8), seed=1)\n",
        "x = keras.layers.Dense(units=4, activation='relu')(x)\n"
        "ds = tf.data.Dataset.range(9).shuffle(buffer_size=(8), seed=1)\n",
    ),
    "keyword to positional": (
        "ds = tf.data.Dataset.range(9).batch(batch_size=8, drop_remainder=True, name='a')\n",
        "ds = tf.data.Dataset.range(9).batch(8, True, name='a')\n",
    ),
    "constants inlined": ("SIZE = (2, 3)\nx = f(SIZE, SIZE[0])\n", "x = f((2, 3), (2, 3)[0])\n"),
    "literals named": (
        '"""Text."""\nx = f(224, "a", True)\n',
        '"""Text."""\nK0_ZQ = 224\nK1_ZQ = "a"\nx = f(K0_ZQ, K1_ZQ, True)\n',
    ),
    "quotes": ("x = f('a', \"b\", 'it\\'s')\n", "x = f(\"a\", 'b', 'it\\'s')\n"),
    "imports: tf.keras": (
        "import tensorflow as tf\nfrom tensorflow import keras\n\nkeras.Input((2,))\n",
        "import tensorflow as tf\nimport tensorflow\n\ntf.keras.Input((2,))\n",
    ),
    "steps in functions": (
        "import a\nx = a.b()\ny = x + 1\nfor z in y:\n    pass\n",
        "import a\ndef step0_zq():\n    x = a.b()\n    y = x + 1\n    return x, y\n\n\nx, y = step0_zq()\n"
        "for z in y:\n    pass\n",
    ),
    "variables on self": (
        "import a\nx = a.b()\nprint(x)\n",
        "import a\nclass Run_zq:\n    def run_zq(self):\n        self.x = a.b()\n        print(self.x)\n\n\n"
        "Run_zq().run_zq()\n",
    ),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_what_becomes_of_a_few_rows(name: str):
    before, after = REWRITTEN[name]
    rewriting = TRANSFORMATIONS[name](Code(Traced.first(before)))
    assert rewriting is not None
    assert rewriting.script.text == after


REFUSED = {
    "variables renamed": ("x = 1\nprint(globals()['x'])\n", "from a import *\nx = 1\n", "import x\n", "def f(*, a): ...\nf(a=1)\n"),
    "constants inlined": ("SIZE = 2\nSIZE = f(SIZE)\n", "SIZE = 2\ndef f():\n    global SIZE\n    SIZE = 3\n"),
    "in main": ("import multiprocessing\nmultiprocessing.Process().start()\n", "def f():\n    global x\n    x = 1\n"),
    "work in main": ("def f():\n    return x\nx = 1\nf()\n",),
    "steps in functions": ("x = 1\ny = 2\ndef f():\n    return x\nf()\n",),
    "definitions in a module": ("x = open('a')\ndef f():\n    return x\n",),
    "independent swapped": ("x = 1\ny = x\n", "x = f()\ny = 1\n"),
    "function inlined": ("def f(a):\n    if a:\n        return 1\n    return 2\nx = f(1)\n", "def f(): ...\nf()\nf()\n"),
    "arguments named": ("x = f(g(), h + i())\n",),
    "annotations": ("(x) = 1\n",),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_rewritten_with_certainty_is_left_alone(name: str):
    for text in REFUSED[name]:
        rewriting = TRANSFORMATIONS[name](Code(Traced.first(text)))
        if name == "variables renamed" and rewriting is not None:  # what else there is may be
            assert "a" not in rewriting.names.values()
            continue
        assert rewriting is None, rewriting.script.text


def test_text_knows_where_it_is_from():
    text = Traced.first("abcdef")
    assert text.put([(1, 3, "XYZ"), (4, 4, "+")]).origins == (0, 1, 1, 1, 3, NEW, 4, 5)
    assert ("-" + text[2:4] + "-").text == "-cd-"
    assert joined(["a", text[5:]]).origins == (NEW, 5)
    with pytest.raises(AssertionError):
        text.put([(0, 3, "x"), (2, 4, "y")])


def test_cells_are_the_script():
    text = PROGRAMS["steps"]
    cells = notebook_of(text, "a.ipynb").sources()
    assert len(cells) > 4
    assert "".join(cells.values()) == text
    assert all(ast.parse(cell) for cell in cells.values())
