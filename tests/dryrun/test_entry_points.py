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
    "another thread": (
        "import asyncio\nasync def main():\n    await asyncio.to_thread(train, n=7)\nasyncio.run(main())\n",
        7,
        "thread",
    ),
    "executor of a loop": (
        "import asyncio\nasync def main():\n    loop = asyncio.get_running_loop()\n"
        "    await loop.run_in_executor(None, train, 7)\nasyncio.run(main())\n",
        7,
        "thread",
    ),
    "processes of a loop": (
        "import asyncio\nfrom concurrent.futures import ProcessPoolExecutor\nasync def main():\n"
        "    with ProcessPoolExecutor(1) as one:\n"
        "        await asyncio.get_event_loop().run_in_executor(one, train, 7)\nasyncio.run(main())\n",
        7,
        "child-process",
    ),
    "thread pool": (
        "from multiprocessing.pool import ThreadPool\nThreadPool(2).apply(train, (7,))\n",
        7,
        "thread",
    ),
    "process keywords": (
        "import multiprocessing as mp\nmp.Process(target=train, kwargs={'n': 7}).start()\n",
        7,
        "child-process",
    ),
    "dummy process": (
        "import multiprocessing.dummy\nmultiprocessing.dummy.Process(target=train, args=(7,)).start()\n",
        7,
        "thread",
    ),
    "submit keywords": (
        "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor().submit(train, n=7)\n",
        7,
        "child-process",
    ),
    "apply keywords": (
        "from multiprocessing import Pool\nPool().apply_async(train, kwds={'n': 7})\n",
        7,
        "child-process",
    ),
    "class of processes": (
        "import multiprocessing as mp\nclass Own(mp.Process):\n    def run(self):\n        train(7)\nOwn().start()\n",
        7,
        "child-process",
    ),
    "joblib": (
        "from joblib import Parallel, delayed\nParallel(n_jobs=2)(delayed(train)(n) for n in [7])\n",
        7,
        "child-process",
    ),
    "joblib threads": (
        "from joblib import Parallel, delayed\nParallel(2, prefer='threads')(delayed(train)(n=n) for n in [7])\n",
        7,
        "thread",
    ),
    "joblib here": (
        "from joblib import Parallel, delayed\nParallel(n_jobs=1)([delayed(train)(7)])\n",
        7,
        None,
    ),
    "ray": (
        "import ray\nlater = ray.remote(train)\nlater.remote(7)\n",
        7,
        "child-process",
    ),
    "ray decorator": (
        "import ray\n@ray.remote(num_gpus=1)\ndef task(n):\n    train(n)\ntask.options(num_cpus=2).remote(n=7)\n",
        7,
        "child-process",
    ),
    "jax": ("import jax\nstep = jax.jit(lambda n: train(n))\nstep(7)\n", 7, None),
    "jax decorator": (
        "import functools\nimport jax\n@functools.partial(jax.jit, static_argnums=0)\ndef step(n):\n    train(n)\nstep(7)\n",
        7,
        None,
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


def test_workers_get_what_their_items_have_in_common() -> None:
    """One run stands for all workers, so it cannot be that of the first item."""
    text = TRAIN + "from multiprocessing import Pool\nPool(2).map(train, [7, 8])\n"
    trace = dry_run(parse(document_from_text(text, "snippet.py")))
    (call,) = [call for call in trace.all_calls() if call.path == "probe"]
    assert not isinstance(deref(call.arguments[0].value), Const)
