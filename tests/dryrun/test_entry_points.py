"""Functions that a library call runs are entered in its role, with the arguments it hands over."""

from __future__ import annotations

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.trace import Body, Role
from oomlint.dryrun.values.base import Const, deref
from oomlint.syntax.parse import parse

TRAIN = "def train(n=5):\n    probe(n)\n"
CASES = {
    "process": (
        "import multiprocessing as mp\np = mp.Process(target=train, args=(7,))\np.start()\n",
        7,
        "child-process",
    ),
    "context": (
        "import multiprocessing\nc = multiprocessing.get_context('spawn')\nc.Process(target=train, args=(7,)).start()\n",
        7,
        "child-process",
    ),
    "pool map": (
        "from multiprocessing import Pool\nwith Pool(2) as pool:\n    pool.map(train, [7])\n",
        7,
        "child-process",
    ),
    "starmap": (
        "from multiprocessing import Pool\npool = Pool(2)\npool.starmap(train, [(7,)])\n",
        7,
        "child-process",
    ),
    "executor": (
        "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(1) as e:\n    e.submit(train, 7)\n",
        7,
        "child-process",
    ),
    "thread": ("import threading\nthreading.Thread(target=train, args=(7,)).start()\n", 7, "thread"),
    "thread pool": (
        "from multiprocessing.pool import ThreadPool\nThreadPool(2).apply(train, (7,))\n",
        7,
        "thread",
    ),
    "fire": ("import fire\nfire.Fire(train)\n", 5, None),
    "absl": ("from absl import app\ndef main(argv):\n    train(9)\napp.run(main)\n", 9, None),
    "tf app": (
        "import tensorflow as tf\ndef main(_):\n    train(9)\nif __name__ == '__main__':\n    tf.compat.v1.app.run()\n",
        9,
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_target_is_run_in_its_role(name: str) -> None:
    text, expected, role = CASES[name]
    trace = dry_run(parse(document_from_text(TRAIN + text, "snippet.py")))
    (call,) = [call for call in trace.all_calls() if call.path == "probe"]
    value = deref(call.arguments[0].value)
    assert isinstance(value, Const) and value.value == expected
    found = call.context.innermost(Role)
    assert (found.name if found else None) == role
    body = call.context.innermost(Body)
    assert body is not None and body.called == (name != "fire")
