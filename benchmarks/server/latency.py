"""The latency of a keystroke: from didChange to publishDiagnostics, with the real server, and what it is made of.

    python benchmarks/server/latency.py [--lines 1000] [--keys 15]

Times are medians of one run, beside their ratios to one parse by LibCST in the same run. The parts are processor time;
what the editor waits for is time by the clock, which other processes lengthen: run it on a machine that is idle. Where
Linux tells, the processor time of the server is given too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from lsprotocol import types as lsp
from training_script import script

import oomlint.dryrun
from oomlint.documents.python_file import Document, document_from_text
from oomlint.engine import document as engine
from oomlint.engine.live_run import LiveRun
from oomlint.findings.registry import load_rules
from oomlint.project.configuration import Configurations
from oomlint.syntax.gates import parse_ast
from oomlint.syntax.parse import parse

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))
from editor import Editor
from measuring import so_far

MS = 1000


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=15)
    arguments = parser.parse_args()
    text = script(arguments.lines)
    print(
        f"{text.count(chr(10))} lines, {arguments.keys} keystrokes each; milliseconds, and parses by LibCST"
    )
    with tempfile.TemporaryDirectory() as name:
        unit = parts(text, Path(name), arguments.keys)
        keystrokes(text, Path(name), arguments.keys, unit)


def row(name: str, seconds: float, unit: float, more: str = "") -> None:
    print(f"  {name:44}{seconds * MS:9.1f}{seconds / unit:8.2f}{more}")


def timed(work: Callable[[int], object], times: int, clock: Callable[[], float] = time.thread_time) -> float:
    """The median of several runs. The thread's own time is what other processes do not lengthen."""
    found = []
    for number in range(times):
        start = clock()
        work(number)
        found.append(clock() - start)
    return median(found)


def typed(text: str, number: int) -> str:
    """The script after some keystrokes: a comment grows in the middle of it."""
    middle = text.index("\n", len(text) // 2)
    return f"{text[:middle]}  # {'x' * number}{text[middle:]}"


def parts(text: str, folder: Path, keys: int) -> float:
    """The parts of a check, in this process; the seconds of a parse."""
    load_rules()
    run = LiveRun(Configurations())
    spent: dict[str, list[float]] = {}

    def document(number: int) -> Document:
        found = document_from_text(typed(text, number), str(folder / "parts.py"))
        found.path = folder / "parts.py"
        return found

    def check(number: int) -> None:
        run.put(document(number))
        run.examined(next(iter(run.documents.values())))

    unit = timed(lambda number: parse(document(number)), keys)
    check(0)
    print("\nparts of a check")
    with watched(spent):
        whole = timed(lambda number: check(number + 1), keys)
    row(
        "parse by Python (is it worth a look?)", timed(lambda number: parse_ast(document(number)), keys), unit
    )
    row("parse by LibCST, all of it", unit, unit)
    row("parse as the server does it", median(spent["tree"]), unit)
    row("dry run", median(spent["dry_run"]), unit)
    row("rules", median(spent["_run"]) - median(spent["dry_run"]), unit)
    row("places and fixes of what is found", median(spent["locate"]), unit)
    row("the whole", whole, unit)
    return unit


@contextmanager
def watched(spent: dict[str, list[float]]) -> Iterator[None]:
    """Note the seconds of the parts."""
    places = ((LiveRun, "tree"), (oomlint.dryrun, "dry_run"), (engine, "_run"), (engine, "locate"))
    before = [getattr(place, name) for place, name in places]

    def watching(function: Callable[..., object], name: str) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            start = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                spent.setdefault(name, []).append(time.thread_time() - start)

        return call

    for place, name in places:
        setattr(place, name, watching(getattr(place, name), name))
    yield
    for (place, name), function in zip(places, before):
        setattr(place, name, function)


def keystrokes(text: str, folder: Path, keys: int, unit: float) -> None:
    """Latencies with the real server."""
    plain = text.replace("tensorflow", "somewhere").replace("keras", "models")
    broken = text + "\nx = [\n"
    editor = Editor(folder)
    server = editor.client._server
    assert server is not None
    print("\nfrom a keystroke to the diagnostics, with the server")
    for name, start in (
        ("the training script", text),
        ("without Keras", plain),
        ("that does not parse", broken),
    ):
        uri = (folder / f"{name.replace(' ', '-')}.py").as_uri()
        editor.open(uri, start)
        keystroke(editor, uri, start, 0)
        used = so_far(server.pid)
        key = partial(keystroke, editor, uri, start)
        waited = timed(lambda number, key=key: key(number + 1), keys, time.perf_counter)
        spent = (so_far(server.pid) - used) / keys
        row(name, waited, unit, f"   ({spent * MS:.0f} ms of processor time)" if spent else "")
    uri = (folder / "the-training-script.py").as_uri()
    at_rest = timed(lambda number: editor.hover(uri, 3, 0), keys, time.perf_counter)
    before = len(editor.published[uri])
    hovers = []
    for number in range(keys):
        editor.change(uri, lsp.TextDocumentContentChangeWholeDocument(typed(text, 100 + number)))
        start = time.perf_counter()
        editor.hover(uri, 3, 0)
        hovers.append(time.perf_counter() - start)
        time.sleep(max(0.0, 0.1 - hovers[-1]))
    start = time.perf_counter()
    editor.diagnostics(uri)
    print(f"\n{keys} keystrokes at ten a second")
    row("from the last to its diagnostics", time.perf_counter() - start, unit)
    row("a hover at rest, median", at_rest, unit)
    row("a hover meanwhile, median", median(hovers), unit)
    row("a hover meanwhile, longest", max(hovers), unit)
    print(f"  {'checks that were finished':44}{len(editor.published[uri]) - before:9}")
    editor.quit()


def keystroke(editor: Editor, uri: str, text: str, number: int) -> None:
    """One more character, as editors send it: the part that changed."""
    lines = typed(text, number).split("\n")
    line = next(index for index, content in enumerate(lines) if content.endswith(f"  # {'x' * number}"))
    at = lsp.Position(line, len(lines[line]) - 1)
    if number:
        change: lsp.TextDocumentContentChangeEvent = lsp.TextDocumentContentChangePartial(
            range=lsp.Range(at, at), text="x"
        )
    else:
        change = lsp.TextDocumentContentChangeWholeDocument("\n".join(lines))
    editor.change(uri, change)
    editor.diagnostics(uri)


if __name__ == "__main__":
    main()
