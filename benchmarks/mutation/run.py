"""Do the tests notice when a rule, or the arithmetic of sizes, is changed?

    python benchmarks/mutation/run.py [--only WORD ...] [--sample N] [--seed N] [--results FILE]
    python benchmarks/mutation/run.py --show [--only WORD ...]

Each mutant is one small change in the memory of a child process; see session.py. Results are appended to FILE, one JSON
object a line, and mutants that are there already are not run again: a run that was stopped goes on. `--again` runs
those anew that survived. `--show` prints the table and the survivors, and runs nothing.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
sys.path[:] = [
    str(HERE),
    str(ROOT / "tests"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() not in (ROOT, HERE)),
]

from operators import Mutant, applied, mutants  # noqa: E402
from subjects import SUBJECTS, Subject, path_of  # noqa: E402

DEAD = ("killed", "timeout")


def main() -> None:
    """Run or show."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="WORD", help="modules whose name has a word in it"
    )
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="at most N mutants of a module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=HERE / "results.jsonl", metavar="FILE")
    parser.add_argument("--again", action="store_true", help="run anew what survived")
    parser.add_argument("--show", action="store_true", help="the table and the survivors of the results")
    parser.add_argument("--most-tests", type=int, default=0, metavar="N", help="at most N tests for a mutant")
    options = parser.parse_args()
    known = read(options.results)
    chosen: dict[str, list[Mutant]] = {}
    for subject in SUBJECTS:
        for module in subject.modules:
            if not options.only or any(word in module for word in options.only):
                chosen[module] = mutants(module, path_of(module).read_text("utf-8"))
    if not options.show:
        for subject in SUBJECTS:
            todo = []
            for found in (chosen.get(module, []) for module in subject.modules):
                if options.again:
                    states = {one: known.get(one.key, {}).get("status") for one in found}
                    todo += [one for one in found if states[one] not in (None, *DEAD, "refused")]
                else:
                    sample = _sample(found, options.sample, options.seed)
                    todo += [one for one in sample if one.key not in known]
            if todo:
                _in_process(subject, todo, options)
        known = read(options.results)
        # The files may have changed meanwhile.
        chosen = {module: mutants(module, path_of(module).read_text("utf-8")) for module in chosen}
    _show(chosen, known)


def _sample(found: list[Mutant], most: int, seed: int) -> list[Mutant]:
    """Some of a module's mutants: the first ones of a fixed order, so that a larger sample contains a smaller one."""
    if not most or len(found) <= most:
        return found
    order = list(range(len(found)))
    random.Random(f"{seed} {found[0].module}").shuffle(order)
    return [found[index] for index in sorted(order[:most])]


def _in_process(subject: Subject, todo: list[Mutant], options: argparse.Namespace) -> None:
    """A process for each subject: pytest keeps what it has collected."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        _run(subject, todo, options)
    finally:
        sys.stdout.flush()
        os._exit(0)


def _run(subject: Subject, todo: list[Mutant], options: argparse.Namespace) -> None:
    import pytest
    from kept import keep_markers
    from session import Outcome, Session

    keep_markers()
    os.chdir(ROOT)
    print(f"\n{subject.name}: {len(todo)} mutants of {len({one.module for one in todo})} modules", flush=True)
    counts: Counter[str] = Counter()
    with options.results.open("a", encoding="utf-8") as results:

        def report(outcome: Outcome) -> None:
            counts[outcome.status] += 1
            row = {
                "key": outcome.mutant.key,
                "operator": outcome.mutant.operator,
                "status": outcome.status,
                "by": outcome.by,
                "tests": outcome.tests,
                "seconds": outcome.seconds,
                "seen_in": outcome.seen_in,
            }
            results.write(f"{json.dumps(row)}\n")
            results.flush()
            if sum(counts.values()) % 100 == 0:
                print(dict(counts), flush=True)

        session = Session(
            sorted({one.module for one in todo}),
            todo,
            subject.wanted(todo),
            report,
            keep_traces=subject.keep_traces,
            most_tests=options.most_tests or subject.most_tests,
            last=subject.last,
        )
        arguments = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "-W", "ignore"]
        pytest.main([*arguments, *subject.tests], plugins=[session])
    print(dict(counts), flush=True)


def read(path: Path) -> dict[str, Any]:
    """What is known of each mutant: the last word on it."""
    if not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return {row["key"]: row for row in rows}


def equivalents() -> dict[str, str]:
    """Mutants that no test can kill, with the reason: blocks of keys below a line that starts with `# `."""
    found, reason = {}, ""
    for line in (HERE / "equivalents.txt").read_text("utf-8").splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            found[line.strip()] = reason
    return found


def _show(chosen: dict[str, list[Mutant]], known: dict[str, Any]) -> None:
    same = equivalents()
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for module, found in chosen.items():
        left = []
        for mutant in found:
            if mutant.key in same:
                rows[module]["equivalent"] += 1
            elif mutant.key in known:
                status = known[mutant.key]["status"]
                rows[module][status] += 1
                if status not in (*DEAD, "refused"):
                    left.append((mutant, status))
        if left:
            print(f"\n== {module}")
            for mutant, status in left:
                print(f"\n{status}: {mutant.key}  (row {mutant.row})")
                print("\n".join(_difference(mutant)))
                if seen_in := known[mutant.key].get("seen_in"):
                    print(f"  seen in {seen_in}")
    print()
    total: Counter[str] = Counter()
    families: dict[str, Counter[str]] = defaultdict(Counter)
    heads = ("killed", "timeout", "survived", "uncovered", "equivalent", "refused")
    print(f"{'':58}" + "".join(f"{head:>11}" for head in heads) + f"{'killed':>9}")
    for module, counts in rows.items():
        print(_line(module.removeprefix("oomlint."), counts, heads))
        families[_family(module)].update(counts)
        total.update(counts)
    print()
    for family, counts in families.items():
        print(_line(family, counts, heads))
    print(_line("all", total, heads))


def _family(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[1:3]) if parts[1] == "rules" else "size arithmetic"


def _line(name: str, counts: Counter[str], heads: Iterable[str]) -> str:
    dead = sum(counts[one] for one in DEAD)
    all_of_them = dead + counts["survived"] + counts["uncovered"]
    share = f"{dead / all_of_them:8.1%}" if all_of_them else ""
    return f"{name:58}" + "".join(f"{counts[head]:11}" for head in heads) + f" {share}"


def _difference(mutant: Mutant) -> list[str]:
    """The rows that a mutant changes, as Python writes them."""
    import ast

    text = path_of(mutant.module).read_text("utf-8")
    before, after = ast.parse(text), ast.parse(text)
    index = mutant.path[0][1] or 0
    one = ast.unparse(before.body[index]).splitlines()
    two = ast.unparse(applied(after, mutant).body[index]).splitlines()
    return [
        line[:230]
        for line in list(difflib.unified_diff(one, two, n=0, lineterm=""))[2:]
        if not line.startswith("@@")
    ]


if __name__ == "__main__":
    main()
