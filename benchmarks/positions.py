"""What positions cost, in parses: LibCST's provider against positions of the reported nodes only.

    python benchmarks/positions.py [FILE ...]

Times are the best of several runs, interleaved in one process; what counts are the ratios.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import libcst as cst
import libcst.metadata

from oomlint.documents.python_file import read_document
from oomlint.syntax.parse import parse
from oomlint.syntax.positions import Positions

RUNS = 5
REPORTED = 20


def main() -> None:
    """Measure the files given, or a file of LibCST itself."""
    paths = [Path(name) for name in sys.argv[1:]] or [
        Path(libcst.metadata.__file__).parent / "scope_provider.py"
    ]
    print(f"{'file':32} {'lines':>6} {'parse ms':>9} {'provider':>9} {'ours':>9} {'code':>9}   (in parses)")
    for path in paths:
        measure(path)


def measure(path: Path) -> None:
    """One row: the parse in milliseconds, the rest as multiples of it."""
    document = read_document(path)
    source = parse(document)
    calls = [node for node in _nodes(source.module) if isinstance(node, cst.Call)]
    reported = calls[:: max(1, len(calls) // REPORTED)]

    def provider() -> object:
        wrapper = libcst.metadata.MetadataWrapper(source.module, unsafe_skip_copy=True)
        return wrapper.resolve(libcst.metadata.PositionProvider)

    jobs: list[Callable[[], object]] = [
        lambda: parse(document),
        provider,
        lambda: Positions(source, reported),
        lambda: source.module.code,
    ]
    best = [float("inf")] * len(jobs)
    for _ in range(RUNS):
        for number, job in enumerate(jobs):
            start = time.process_time()
            job()
            best[number] = min(best[number], time.process_time() - start)
    parsing = best[0]
    ratios = " ".join(f"{cost / parsing:8.2f}x" for cost in best[1:])
    print(f"{path.name:32} {document.lines.count:6} {parsing * 1000:9.1f} {ratios}")


def _nodes(module: cst.Module) -> list[cst.CSTNode]:
    found, stack = [], [module]
    while stack:
        node: cst.CSTNode = stack.pop()
        found.append(node)
        stack += node.children  # type: ignore[arg-type]
    return found


if __name__ == "__main__":
    main()
