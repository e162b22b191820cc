"""The dry run against Python itself: what it says of a value must be what running the snippet gives.

Each snippet calls `probe(x)` on values; it is executed for real, and dry-run. `FOLLOWED` snippets must be known
exactly; in `SOUND` ones a value may be unknown but never wrong.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.trace import Call
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Value, deref
from oomlint.syntax.parse import parse

UNKNOWN = object()


def concrete(value: Value) -> Any:
    """The Python object that an abstract value stands for exactly, or UNKNOWN."""
    value = deref(value)
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Sequence) and value.items is not None:
        items = [concrete(item) for item in value.items]
        if any(item is UNKNOWN for item in items):
            return UNKNOWN
        return {"tuple": tuple, "set": set}.get(value.kind, list)(items)
    if isinstance(value, Mapping) and value.complete:
        entries = {key: concrete(item) for key, item in value.entries.items()}
        return UNKNOWN if any(item is UNKNOWN for item in entries.values()) else entries
    return UNKNOWN


def dry(text: str) -> list[Any]:
    trace = dry_run(parse(document_from_text(text, "snippet.py")))
    return [
        concrete(event.arguments[0].value)
        for event in trace.events
        if isinstance(event, Call) and event.name == "unresolved" and event.path == "probe"
    ]


def real(text: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "argv", ["snippet.py"])
    exec(compile(text, "snippet.py", "exec"), {"probe": seen.append, "__name__": "__main__"})
    return seen


FOLLOWED = {
    "arithmetic": "n = 3\nprobe(n * 4 + 2 ** 5 - 7 // 2)\nprobe(10 / 4)\nprobe(-n % 5)\nprobe(1 << 10)",
    "chained": "a = b = 7\nprobe(a + b)",
    "unpacking": "a, (b, *c), d = 1, (2, 3, 4), 5\nprobe(a)\nprobe(b)\nprobe(c)\nprobe(d)",
    "swap": "a, b = 1, 2\na, b = b, a\nprobe(a)\nprobe(b)",
    "augmented": "n = 8\nn *= 4\nn -= 1\nprobe(n)\nx = [1]\nx += [2, 3]\nprobe(x)",
    "walrus": "if (n := 12) > 10:\n    probe(n)",
    "self": """
class Config:
    size = 64
    def __init__(self, batch=16):
        self.batch = batch
        self.total = self.batch * self.size
    @property
    def double(self):
        return self.total * 2
    @classmethod
    def small(cls):
        return cls(batch=2)
    @staticmethod
    def fixed():
        return 11
c = Config(batch=32)
probe(c.total)
probe(c.double)
probe(Config.small().total)
probe(Config.fixed())
probe(Config.size)
c.batch = 5
probe(c.batch)
""",
    "inheritance": """
class Base:
    width = 3
    def __init__(self, depth):
        self.depth = depth
    def area(self):
        return self.width * self.depth
class Wide(Base):
    width = 10
    def __init__(self):
        super().__init__(depth=4)
        self.more = super().area() + 1
class Old(Wide):
    def area(self):
        return super(Old, self).area() * 2
probe(Wide().area())
probe(Wide().more)
probe(Old().area())
""",
    "dataclass": """
from dataclasses import dataclass, field
@dataclass
class Config:
    buffer: int = 10_000
    shape: tuple = (224, 224, 3)
    rate: float = 0.1
    def scaled(self):
        return self.buffer * 2
@dataclass
class More(Config):
    extra: int = 3
probe(Config().buffer)
probe(Config(5).scaled())
probe(Config(rate=0.5).rate)
probe(Config().shape)
probe(More(extra=9).buffer + More(extra=9).extra)
""",
    "namedtuple": """
from typing import NamedTuple
class Size(NamedTuple):
    height: int
    width: int = 32
s = Size(64)
probe(s.height * s.width)
h, w = s
probe(h)
probe(s[1])
""",
    "dict config": """
CONFIG = {"batch": 64, "model": {"width": 8}}
CONFIG["steps"] = 100
CONFIG.update(epochs=3)
probe(CONFIG["batch"] * CONFIG["model"]["width"])
probe(CONFIG.get("steps"))
probe(CONFIG.get("missing", 7))
probe(CONFIG["epochs"])
probe({**CONFIG, "batch": 1}["batch"])
""",
    "namespace": "from types import SimpleNamespace\nc = SimpleNamespace(batch=4, size=(2, 3))\nc.more = 5\nprobe(c.batch)\nprobe(c.size)\nprobe(c.more)",
    "defaults": "def f(a, b=2, *, c=3):\n    return a * 100 + b * 10 + c\nprobe(f(1))\nprobe(f(1, 5))\nprobe(f(c=9, a=4))",
    "args": "def f(*args, **kwargs):\n    return len(args) + kwargs['k']\nprobe(f(1, 2, k=10))\nxs = (4, 5)\nd = {'k': 7}\nprobe(f(*xs, **d))",
    "argparse": """
import argparse
def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", "-b", type=int, default=64)
    p.add_argument("--lr", default="0.5", type=float)
    p.add_argument("--dest", dest="where", default="out")
    p.add_argument("--flag", action="store_true")
    g = p.add_argument_group("more")
    g.add_argument("--steps", default=3)
    return p.parse_args([])
args = parse()
probe(args.batch_size)
probe(args.lr)
probe(args.where)
probe(args.flag)
probe(args.steps)
""",
    "environ": "import os\nprobe(int(os.environ.get('OOMLINT_TEST_UNSET', '128')))\nprobe(os.getenv('OOMLINT_TEST_UNSET', 'x'))",
    "builtins": "xs = [3, 1, 2]\nprobe(len(xs))\nprobe(max(4, 9))\nprobe(sum([1, 2, 3]))\nprobe(list(range(2, 8, 3)))\nprobe(int('5') + round(2.0))\nprobe(min(xs))\nprobe(abs(-4))",
    "zip": "out = []\nfor a, b in zip([1, 2], [10, 20]):\n    out.append(a * b)\nprobe(out)\nfor i, x in enumerate(['a', 'b'], start=1):\n    probe(i)",
    "fstring": "name, n = 'train', 3\nprobe(f'{name}_{n}.csv')\nprobe('a' 'b')",
    "comprehension": "probe([i * i for i in range(5)])\nprobe({k: v * 2 for k, v in {'a': 1, 'b': 2}.items()})\nprobe([a + b for a in (1, 2) for b in (10, 20)])",
    "closure": """
def outer(n):
    k = n * 2
    def inner(x):
        return x + k
    return inner
probe(outer(10)(1))
add = lambda x, y=5: x + y
probe(add(1))
def counter():
    total = 0
    def bump(by):
        nonlocal total
        total += by
        return total
    bump(3)
    return bump(4)
probe(counter())
""",
    "global": "N = 1\ndef grow():\n    global N\n    N = N + 41\ngrow()\nprobe(N)",
    "decorator": """
import functools
def twice(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) * 2
    return wrapper
@twice
def f(x):
    return x + 1
probe(f(4))
def times(k):
    def decorate(f):
        def wrapper(x):
            return f(x) * k
        return wrapper
    return decorate
@times(3)
def g(x):
    return x
probe(g(5))
""",
    "class registry": """
KINDS = {}
def register(name):
    def keep(cls):
        KINDS[name] = cls
        return cls
    return keep
@register('small')
class Small:
    size = 3
class Registry:
    def __init__(self):
        self.kept = {}
    def register(self, kind):
        self.kept[kind.__name__] = kind
        return kind
registry = Registry()
@registry.register
class Large:
    size = 9
@registry.register
def middle():
    return 6
probe(KINDS['small']().size)
probe(registry.kept['Large']().size + registry.kept['middle']())
""",
    "subclasses kept": """
class Base:
    kinds = {}
    def __init_subclass__(cls, key=None, **more):
        super().__init_subclass__(**more)
        cls.kinds[key or cls.__name__.lower()] = cls
class Small(Base):
    size = 3
class Large(Base, key='big'):
    size = 9
probe(Base.kinds['small'].size)
probe(Base.kinds['big']().size)
""",
    "partial": "from functools import partial\ndef f(a, b, c=0):\n    return a - b + c\nprobe(partial(f, 10, c=5)(3))",
    "branches": "x = 5\nif x > 3:\n    y = 'big'\nelif x > 1:\n    y = 'mid'\nelse:\n    y = 'small'\nprobe(y)\nprobe(1 if x == 5 else 2)",
    "early return": "def f(x):\n    if x is None:\n        return 1\n    return x * 2\nprobe(f(None))\nprobe(f(4))",
    "match": "def f(kind):\n    match kind:\n        case 'a':\n            return 1\n        case other:\n            return 1\nprobe(f('a'))",
    "while": "n = 10\nwhile False:\n    n = 0\nprobe(n)",
    "with": "import contextlib\nwith contextlib.suppress(ValueError):\n    n = 3\nprobe(n)",
    "try": "try:\n    n = 4\nexcept ValueError:\n    n = 4\nfinally:\n    m = 6\nprobe(n + m)",
    "main": "def main():\n    probe(3)\nif __name__ == '__main__':\n    main()",
    "subscripts": "xs = [10, 20, 30, 40]\nprobe(xs[-1])\nprobe(xs[1:3])\nprobe('abc'[1])\nprobe((1, 2, 3)[::2])",
    "star list": "a = [1, 2]\nprobe([0, *a, 3])\nprobe((*a, 9))",
    "boolean": "x = 0\nprobe(x or 5)\nprobe(3 and 4)\nprobe(not x)\nprobe(1 < 2 < 3)\nprobe(2 in (1, 2))",
    "string long chain": "s = " + " + ".join(["'x'"] * 300) + "\nprobe(len(s))",
    "unrolled": "n = 1\nfor k in (2, 3, 4):\n    n *= k\nprobe(n)\nwidths = []\nfor i in range(4):\n    widths.append(32 * 2 ** i)\nprobe(widths)",
    "recursion": "def depth(n):\n    return n\nprobe(depth(3))",
    "list methods": "xs = [1]\nxs.append(2)\nxs.extend([3, 4])\nxs.insert(0, 0)\nprobe(xs)\nprobe(xs.pop())\nprobe(len(xs))",
    "class counter": "class A:\n    n = 0\nA.n = 5\nprobe(A.n)\nprobe(A().n)",
    "call object": "class F:\n    def __init__(self, k):\n        self.k = k\n    def __call__(self, x):\n        return x * self.k\nprobe(F(3)(4))",
    "math": "import math\nprobe(math.ceil(10 / 3))\nprobe(int(math.sqrt(16)))",
    "while a list is taken apart": "xs = [1, 2, 3]\nys = []\nwhile xs:\n    ys.append(xs.pop() * 2)\nprobe(ys)\nprobe(xs)",
    "while there is something": "xs = [1, 2]\nn = 1\nwhile len(xs) > 0:\n    n = n * 10 + xs.pop(0)\nprobe(n)",
    "while it halves": "side, widths = 64, []\nwhile side > 4:\n    widths.append(side)\n    side //= 2\nprobe(widths)\nprobe(side)",
    "while it doubles": "def f(side, top):\n    n = 0\n    while side < top:\n        side *= 2\n        n += 1\n    return n, side\nprobe(f(4, 64))\nprobe(f(8, 9))",
    "type checking": "from typing import TYPE_CHECKING\nn = 1\nif TYPE_CHECKING:\n    n = 2\nprobe(n)",
}

SOUND = {
    "soft branch": "import os\nn = 1\nif os.environ.get('OOMLINT_TEST_UNSET') == 'x':\n    n = 2\nprobe(n)",
    "loop carried": "first = True\nn = 0\nfor i in range(1000):\n    if first:\n        first = False\n    else:\n        n = 1\nprobe(n)\nprobe(first)",
    "while counts": "n = 1\nwhile n < 1000:\n    n *= 2\nprobe(n)",
    "while it fails": "n, k = 9, 1\ntry:\n    while n > 4:\n        n //= 0\nexcept ZeroDivisionError:\n    k = 2\nprobe(k)",
    "while it is too large": "n, k = 10 ** 400, 1\ntry:\n    while n > 4:\n        n /= 2\nexcept OverflowError:\n    k = 2\nprobe(k)",
    "counted loop": "n = 0\nfor i in range(500):\n    n += 1\nprobe(n)",
    "handler": "n = 1\ntry:\n    int('x')\n    n = 2\nexcept ValueError:\n    pass\nprobe(n)",
    "mutated list": "xs = []\nfor i in range(200):\n    xs.append(i)\nprobe(len(xs))\nprobe(xs)",
    "appended by key": "import os\nd = {}\nfor i in range(200):\n    k = os.environ.get('OOMLINT_TEST_UNSET', 'a')\n    if k in d:\n        d[k].append(i)\n    else:\n        d[k] = [i]\nprobe(len(d['a']))",
    "conditional append": "import os\nxs = []\nfor i in range(3):\n    if os.path.exists('/nowhere'):\n        xs.append(i)\nprobe(len(xs))",
    "recursive": "def fact(n):\n    if n <= 1:\n        return 1\n    return n * fact(n - 1)\nprobe(fact(20))",
    "generator": "def gen():\n    yield 1\n    yield 2\nprobe(list(gen()))",
    "break": "for i in range(10):\n    if i == 3:\n        break\nprobe(i)",
    "shadowed builtin": "def len(x):\n    return 99\nprobe(len([1]))",
    "deleted": "x = 1\nx = [x]\ndel x[0]\nprobe(x)",
    "sort": "xs = [3, 1, 2]\nxs.sort()\nprobe(xs)\nprobe(sorted([2, 1]))",
    "setattr": "class A:\n    pass\na = A()\nsetattr(a, 'n', 3)\nprobe(a.n)\nprobe(getattr(a, 'm', 4))",
    "dict loop": "d = {}\nfor k in ('a', 'b'):\n    d[k] = len(d)\nprobe(d)",
    "aliased list": "a = [1]\nb = a\nb.append(2)\nprobe(a)",
    "big power": "probe(2 ** 10 ** 6 > 1)",
    "nested function default": "n = 1\ndef f(x=n):\n    return x\nn = 2\nprobe(f())",
    "try return": "def f():\n    try:\n        return 1\n    finally:\n        pass\nprobe(f())",
    "while one of two counts": "import os\nn, m = 0, 0\nwhile n < 4:\n    if os.path.exists('/'):\n        n += 2\n    else:\n        n += 1\n    m += 1\nprobe(n)\nprobe(m)",
    "while put back": "xs, n = [1, 2, 3], 0\nwhile xs:\n    x = xs.pop()\n    n += 1\n    if n == 2:\n        xs.append(x)\nprobe(n)",
    "while put back by another name": "xs, n = [1, 2, 3], 0\nys = xs\nwhile xs:\n    x = xs.pop()\n    n += 1\n    if n == 2:\n        ys.append(x)\nprobe(n)",
    "while set in a call": "xs, n = [1, 2, 3], 0\ndef cut():\n    global xs\n    xs = xs[:1]\nwhile xs:\n    xs.pop()\n    n += 1\n    cut()\nprobe(n)",
    "while the end moves": "n, end = 0, 4\nwhile n < end:\n    n += 1\n    if n == 2:\n        end = 3\nprobe(n)",
    "while the step changes": "n, by, m = 1, 1, 0\nwhile n < 20:\n    n += by\n    by *= 2\n    m += 1\nprobe(n)\nprobe(m)",
    "while counted in a call": "n, m = 0, 0\ndef more():\n    global n\n    n += 1\nwhile n < 6:\n    n += 1\n    more()\n    m += 1\nprobe(m)",
    "while counted by floats": "x, m = 0.0, 0\nwhile x < 1.0:\n    x += 0.1\n    m += 1\nprobe(m)",
    "while else": "n = 0\nwhile n < 3:\n    n += 1\nelse:\n    n = 50\nprobe(n)",
    "unequal branches": "import os\nif os.path.exists('/nowhere'):\n    n = 1\nelse:\n    n = 2\nprobe(n)",
    "list aliasing in loop": "rows = [[0] * 2] * 2\nrows[0][0] = 1\nprobe(rows[1][0])",
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_followed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = real(FOLLOWED[name], monkeypatch)
    assert expected, "the snippet must probe something"
    assert dry(FOLLOWED[name]) == expected


@pytest.mark.parametrize("name", SOUND)
def test_never_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = real(SOUND[name], monkeypatch)
    found = dry(SOUND[name])
    assert len(found) == len(expected)
    for said, truth in zip(found, expected, strict=True):
        assert said is UNKNOWN or said == truth
