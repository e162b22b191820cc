"""Documents shared out to processes: each begins in a region of its own, and nothing is done twice or left."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from multiprocessing import get_context
from pathlib import Path

from oomlint.documents.reading import document_of_text, read
from oomlint.dryrun.interpreter import Run as Interpreter
from oomlint.dryrun.state import Scope
from oomlint.dryrun.trace import Call, Trace
from oomlint.engine.pool import Regions, shared_out
from oomlint.engine.project import Run
from oomlint.project.configuration import Configurations
from oomlint.syntax.parse import parse

CONTEXT = get_context("spawn")


def regions(count: int, names: int = 100) -> Regions:
    made = Regions([f"{number:03}.py" for number in range(names)], count, CONTEXT)
    assert [made.worker() for _ in range(count)] == list(range(count))
    return made


def test_a_process_reads_neighbours_and_then_the_last_of_the_other() -> None:
    two = regions(2)
    first = [name for _ in range(10) for name in two.take(0)]
    second = [name for _ in range(4) for name in two.take(1)]
    assert first == [f"{number:03}.py" for number in range(len(first))]
    assert second == [f"{number:03}.py" for number in range(50, 50 + len(second))]
    own = [name for share in iter(lambda: two.take(0), ()) for name in share]
    # What is left of its own half, and the rest of the other's from behind.
    assert own[: 50 - len(first)] == [f"{number:03}.py" for number in range(len(first), 50)]
    assert own[50 - len(first)] > "096.py"
    assert sorted(first + second + own) == [f"{number:03}.py" for number in range(100)]
    assert two.take(1) == ()


def test_more_processes_than_names_do_each_name_once() -> None:
    many = regions(8, names=3)
    assert len(many) == 3
    assert sorted(name for worker in range(8) for name in many.take(worker)) == ["000.py", "001.py", "002.py"]


SPAWNING = """
import sys
from pathlib import Path
from oomlint.engine.project import Run
from oomlint.project.configuration import Configurations

if __name__ == "__main__":
    sys.platform = "darwin"
    for jobs in (1, 3):
        run = Run(Configurations(isolated=True), jobs=jobs)
        run.add_files(sorted(Path(sys.argv[1]).glob("*.py")))
        print([(found.filename, found.code) for found in run.check().diagnostics])
"""


def test_processes_that_are_started_anew_find_the_same(tmp_path: Path) -> None:
    for number in range(5):
        tmp_path.joinpath(f"train_{number}.py").write_text(
            "import tensorflow as tf\nds = tf.data.Dataset.list_files('*.jpg').batch(32).prefetch(1000)\n"
        )
    script = tmp_path / "spawning.txt"
    script.write_text(SPAWNING)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=True, timeout=120
    )
    one, three = done.stdout.splitlines()
    assert one.count("OOM303") == 5
    assert one == three


def test_what_the_dry_run_of_a_document_made_is_gone_when_it_is_done() -> None:
    # Only the youngest objects are gone through between documents: what outlives that is there until the end.
    rows = [
        "import keras",
        "model = keras.Sequential([keras.layers.Dense(1)])",
        "model.compile('adam', 'mse')",
    ]
    text = "\n".join([*rows, "for step in range(9):", "    model.fit(load(), epochs=step)", ""])
    run = Run(Configurations(isolated=True))
    for number in range(3):
        run.put(document_of_text(text, f"train_{number}.py"))
    gc.collect()
    before = {id(one) for one in gc.get_objects()}
    for report in shared_out(run, list(run.documents.values()), 1):
        assert report.diagnostics
        left = [one for one in gc.get_objects() if isinstance(one, Call | Trace) and id(one) not in before]
        assert not left


def test_most_of_it_is_gone_without_the_garbage_collector() -> None:
    # Calls know what they gave and what they gave knows them; an interpreter holds what evaluates for it; a test of
    # something unknown is a call as well. Each would leave all of a document's objects to the collector.
    rows = [
        "import keras, settings",
        "def rate(step):",
        "    return settings.of(step).rate * 2 if step > settings.warm else 1",
        "model = keras.Sequential([keras.layers.Dense(1)])",
        "model.compile(settings.optimizer(rate(3)), 'mse')",
        "model.fit(settings.data())",
    ]
    run = Run(Configurations(isolated=True))
    documents = [document_of_text("\n".join([*rows, ""]), f"train_{number}.py") for number in range(2)]
    for document in documents:
        run.put(document)
    run.examined(documents[0])  # loads the catalog
    gc.collect()
    before = {id(one) for one in gc.get_objects()}
    gc.disable()
    try:
        assert run.examined(documents[1]).diagnostics
        kinds = Call | Trace | Scope | Interpreter
        left = [one for one in gc.get_objects() if isinstance(one, kinds) and id(one) not in before]
    finally:
        gc.enable()
    assert not left


def test_after_a_run_the_collector_sees_everything_again() -> None:
    run = Run(Configurations(isolated=True))
    run.put(document_of_text("import keras\nkeras.Input((3,)).fit()\n", "train.py"))
    thresholds = gc.get_threshold()
    (_,) = shared_out(run, list(run.documents.values()), 1)
    assert gc.get_threshold() == thresholds
    assert gc.get_freeze_count() == 0


def test_a_tree_that_is_given_up_is_gone_without_the_garbage_collector(tmp_path: Path) -> None:
    # While documents are checked trees are frozen: one in a circle would be there until the end.
    module = tmp_path / "parts.py"
    module.write_text("import keras\ndef head(x):\n    return keras.layers.Dense(1)(x)\n")
    document = read(module)
    source = parse(document, imported=True)
    gone = weakref.ref(source)
    gc.disable()
    try:
        del source
        assert gone() is None
    finally:
        gc.enable()
