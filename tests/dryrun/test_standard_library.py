"""The catalog of the standard library against Python itself: each snippet is run for real and dry-run.

`probe(x)` must see the same values in both. What depends on the disk, the clock or chance is not probed.
"""

from __future__ import annotations

import pytest

from .test_interpreter import UNKNOWN, dry, real

FOLLOWED = {
    "math": """
import math
from math import ceil, prod
probe(math.ceil(10 / 3))
probe(math.floor(-0.5))
probe(ceil(50_000 / 128))
probe(prod((224, 224, 3)))
probe(math.sqrt(16))
probe(math.log2(1024))
probe(math.gcd(12, 18))
probe(int(math.pow(2, 10)))
probe(math.pi)
""",
    "len": """
probe(len("abc"))
probe(len({"a": 1, "b": 2}))
probe(len([i for i in range(20)]))
probe(len(range(0, 1_000_000, 7)))
probe(len((1, 2) * 3))
class Box:
    def __init__(self, n):
        self.n = n
    def __len__(self):
        return self.n // 2
probe(len(Box(9)))
""",
    "sorting": """
probe(sorted([3, 1, 2]))
probe(sorted([3, 1, 2], reverse=True))
probe(sorted({"b": 1, "a": 2}))
probe(list(reversed([1, 2, 3])))
probe(tuple([1, 2]))
probe(set([1, 1, 2]))
""",
    "conversions": """
probe(int("64"))
probe(int(3.9))
probe(float("0.25"))
probe(str(5))
probe(bool([]) or bool(3))
probe(int(0.8 * 60_000))
probe(round(2.567, 2))
probe(divmod(17, 5))
probe(abs(-3.5))
""",
    "reductions": """
probe(max([4, 9, 2]))
probe(min(4, 9))
probe(sum((1, 2, 3)))
probe(max(1.5, 2))
probe(sum(x * x for x in (1, 2, 3)))
""",
    "dict": """
probe(dict(a=1, b=2))
probe(dict([("a", 1)], b=2))
probe(dict(zip(["x", "y"], [1, 2])))
probe(dict({"a": 1}, a=3))
""",
    "map": """
probe(list(map(lambda x: x + 1, [1, 2, 3])))
probe(list(map(int, ("1", "2"))))
def double(x):
    return 2 * x
probe(sum(map(double, range(4))))
""",
    "next": "probe(next(iter([7, 8])))",
    "slice": "probe([1, 2, 3, 4][slice(1, 3)] if False else [1, 2, 3, 4][1:3])",
    "partial": """
from functools import partial
def f(a, b=2, c=3):
    return a * 100 + b * 10 + c
g = partial(f, 1, c=9)
probe(g())
probe(g(b=5))
probe(partial(g, 7)())
""",
    "itertools": """
import itertools
from itertools import chain, product
probe([a * b for a, b in product((1, 2), (10, 20))])
probe(list(itertools.repeat(4, 3)))
probe(list(chain([1], (2, 3))))
probe(list(itertools.islice([1, 2, 3, 4], 2)))
probe(list(itertools.islice(range(10), 2, 8, 3)))
probe(len(list(itertools.combinations(range(6), 2))))
probe(list(chain.from_iterable([[1, 2], [3]])))
""",
    "collections": """
from collections import OrderedDict, deque, namedtuple
q = deque([1, 2], maxlen=10)
q.append(3)
probe(len(q))
Size = namedtuple("Size", "height width depth", defaults=(3,))
s = Size(224, width=100)
probe(s.height * s.width * s.depth)
h, w, d = s
probe(w)
probe(s[0])
Pair = namedtuple("Pair", ["left", "right"])
probe(Pair(1, 2).right)
probe(OrderedDict(a=1)["a"])
""",
    "defaultdict": """
from collections import defaultdict
d = defaultdict(int)
probe("kept")
""",
    "namespace": """
import argparse
from types import SimpleNamespace
c = SimpleNamespace(batch=8, shape=(32, 32, 3))
c.batch *= 2
probe(c.batch)
probe(c.shape[-1])
probe(argparse.Namespace(lr=0.5).lr)
probe(vars(SimpleNamespace(a=1)))
""",
    "dataclasses": """
import dataclasses
from dataclasses import dataclass, field
@dataclass(frozen=True)
class Config:
    batch: int = 32
    sizes: list = field(default_factory=lambda: [1, 2])
    rate: float = field(default=0.5)
c = Config()
probe(c.batch)
probe(c.sizes)
probe(c.rate)
probe(dataclasses.replace(c, batch=64).batch)
probe(dataclasses.replace(c, batch=64).rate)
probe(dataclasses.asdict(c)["rate"])
""",
    "argparse": """
import argparse
parser = argparse.ArgumentParser(description="Train")
parser.add_argument("--buffer-size", type=int, default=10_000)
parser.add_argument("-e", "--epochs", default=5, type=int)
parser.add_argument("--no-cache", dest="cache", action="store_false")
parser.add_argument("--amp", action="store_true")
parser.add_argument("--sizes", nargs="+", type=int, default=[224, 224])
parser.add_argument("--scale", type=lambda text: int(text) * 2, default="21")
parser.add_argument("--name", default=None)
group = parser.add_mutually_exclusive_group()
group.add_argument("--steps", type=int, default=100)
parser.set_defaults(seed=7)
args, rest = parser.parse_known_args([])
probe(args.buffer_size)
probe(args.epochs)
probe(args.cache)
probe(args.amp)
probe(args.sizes)
probe(args.scale)
probe(args.steps)
probe(args.seed)
probe(vars(args)["epochs"])
probe(parser.parse_args(["--epochs", "9"]).epochs)
probe(parser.parse_args(["--buffer-size", "128", "-e", "2"]).buffer_size)
""",
    "subcommands": """
import argparse
parser = argparse.ArgumentParser()
commands = parser.add_subparsers(dest="command")
train = commands.add_parser("train")
train.add_argument("--batch", type=int, default=16)
probe(parser.parse_args(["train"]).batch)
""",
    "parents": """
import argparse
common = argparse.ArgumentParser(add_help=False)
common.add_argument("--width", type=int, default=12)
parser = argparse.ArgumentParser(parents=[common])
probe(parser.parse_args([]).width)
""",
    "environment": """
import os
probe(int(os.environ.get("OOMLINT_NOT_SET", 64)))
probe(os.getenv("OOMLINT_NOT_SET", "a") + "b")
""",
    "paths": """
import os
from pathlib import Path
probe(os.path.join("data", "train", "x.npy"))
probe(os.path.basename("a/b.txt"))
probe(os.path.splitext("a/b.tar.gz"))
probe(os.path.dirname("a/b.txt"))
probe(str(Path("data") / "x.npy"))
""",
    "text": """
probe("a,b,c".split(","))
probe("{}_{}.npy".format("x", 3))
probe("Train".lower())
probe("x.jpg".endswith((".jpg", ".png")))
probe("_".join(["a", "b"]))
probe(" a ".strip())
probe("7".zfill(3))
probe("a-b".replace("-", "_"))
""",
    "copies": """
import copy
base = {"batch": 4, "sizes": [1]}
other = copy.deepcopy(base)
other["batch"] = 8
probe(base["batch"])
probe(other["batch"])
""",
}

# What has no bound, or more memory than a linter may take, is not computed.
UNBOUNDED = {
    "width": 'probe("7".zfill(10 ** 12))',
    "format": 'probe("{:>1000000000000}".format(1))',
    "factorial": "import math\nprobe(math.factorial(10 ** 9))",
    "power": "probe(pow(10, 10 ** 9))",
    "repeat": 'probe("a" * 10 ** 12)',
    "join": 'probe(("a" * 9_000).replace("a", "b" * 9_000))',
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_is_followed_is_what_python_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dry(FOLLOWED[name]) == real(FOLLOWED[name], monkeypatch)


@pytest.mark.parametrize("name", UNBOUNDED)
def test_what_has_no_bound_is_not_computed(name: str) -> None:
    assert dry(UNBOUNDED[name]) == [UNKNOWN]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("import glob\nprobe(len(glob.glob('*.png')))", None),
        ("import os\nprobe(len(os.listdir('.')))", None),
        ("import random\nprobe(len(random.sample(range(10_000), 64)))", 64),
        ("import itertools\nfor i in itertools.count():\n    probe(i)\n    break", None),
        ("import random\nx = [3, 1]\nrandom.shuffle(x)\nprobe(len(x))", 2),
    ],
)
def test_what_depends_on_disk_or_chance(text: str, count: int | None) -> None:
    assert dry(text) == [UNKNOWN if count is None else count]
