"""What a check costs beside other tools, in one run over the same public files.

    python benchmarks/speed/compare.py [--sample N] [--only NAME,...] [--rounds N] [--folder FOLDER] [-o FILE]

Checks the files of keras, keras-hub and tf-models-official that name TensorFlow or Keras (`--sample N`: every Nth of
them), one tool after another, and prints a table in Markdown. What counts is processor time, the tool's child processes
included: the clock on the wall says more about what else the machine does. A machine that shares its processors with
others may be twice as slow from one minute to the next: with `--rounds N` the tools take turns, and the least time of
each counts.

It needs Linux, Python 3.10 or later and an index that pip can reach. In FOLDER (default: `oomlint-speed` among the
system's temporary files) it makes three environments, one for oomlint as this checkout has it, one for ruff, flake8,
pylint and Fixit, one for torch-preflight, and unpacks the packages there without their dependencies. A folder that is
there is used again; only oomlint is installed anew each time. With a sample oomlint still reads the modules that the
files import, as pylint does, so that both cost more per file than over everything.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measuring import so_far

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = ("keras==3.15.1", "keras-hub==0.32.0", "tf-models-official==2.20.0")
ENVIRONMENTS = {
    "oomlint": (),
    "linters": ("ruff", "flake8", "pylint", "fixit"),
    "preflight": ("torch-preflight",),
}
AST = """
import ast, sys, warnings
warnings.simplefilter("ignore")
for name in map(str.strip, sys.stdin):
    with open(name, "rb") as file:
        ast.parse(file.read())
"""
LIBCST = """
import sys, libcst
for name in map(str.strip, sys.stdin):
    with open(name, "rb") as file:
        libcst.parse_module(file.read())
"""
# The second gate as a check asks it, modules that a file imports included.
PREFILTER = """
import sys
from pathlib import Path
from oomlint.engine.candidates import is_relevant
from oomlint.engine.project import Run
from oomlint.findings.registry import load_rules
from oomlint.project.configuration import Configurations
run = Run(Configurations(isolated=True))
run.add_files([Path(name.strip()) for name in sys.stdin])
literals = frozenset().union(*(entry.rule.literals for entry in load_rules()))
for name, document in run.documents.items():
    settings = run._configuration(document).settings
    if is_relevant(document, literals, run._consulted(settings.root)):
        print(name)
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a command took: processor seconds of it and its children, the clock, and the largest process in MB.

    `longest` is its own processor time and that of the child with the most: with nothing else on the machine nobody
    would wait for less.
    """

    seconds: float
    wall: float
    megabytes: int
    longest: float = 0.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table."""

    name: str
    title: str
    environment: str
    command: tuple[str, ...]
    input: str = "arguments"  # files are arguments, or lines of the standard input: all, or those that pass


CHECK = ("bin/oomlint", "check", "--isolated", "--exit-zero", "--quiet", "--output-format", "concise")
ENTRIES = (
    Entry("ast", "`ast` alone", "oomlint", ("bin/python", "-c", AST), "all"),
    Entry("libcst-all", "LibCST's parse alone, of all files", "oomlint", ("bin/python", "-c", LIBCST), "all"),
    Entry(
        "libcst",
        "LibCST's parse alone, of the files that pass oomlint's prefilter",
        "oomlint",
        ("bin/python", "-c", LIBCST),
        "passing",
    ),
    Entry("ruff", "ruff", "linters", ("bin/ruff", "check", "--isolated", "--no-cache", "--exit-zero", "-q")),
    Entry("flake8", "flake8", "linters", ("bin/flake8", "--isolated", "-j1", "--exit-zero", "-q")),
    Entry("pylint", "pylint", "linters", ("bin/pylint", "-j1", "--exit-zero", "--rcfile=/dev/null")),
    Entry("fixit", "Fixit", "linters", ("bin/fixit", "--quiet", "lint")),
    Entry(
        "preflight",
        "torch-preflight",
        "preflight",
        ("bin/torch-preflight", "check", "-q", "--no-color", "-j1"),
    ),
    Entry("cold", "oomlint, nothing kept", "oomlint", (*CHECK, "--jobs", "1")),
    Entry("warm", "oomlint, again", "oomlint", (*CHECK, "--jobs", "1")),
    Entry("two", "oomlint, nothing kept, two processes", "oomlint", (*CHECK, "--no-cache", "--jobs", "2")),
)
# What is to hold: the entry, at most so many times another.
BARS = (
    ("cold", 1.5, "libcst"),
    ("cold", 1.0, "flake8"),
    ("cold", 1 / 20, "fixit"),
    ("cold", 1 / 20, "pylint"),
    ("cold", 1 / 10, "preflight"),
    ("warm", 1 / 20, "cold"),
)


def main() -> None:
    """Prepare, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every Nth file")
    parser.add_argument(
        "--only", default="", metavar="NAME,...", help=", ".join(entry.name for entry in ENTRIES)
    )
    parser.add_argument(
        "--rounds", type=int, default=1, metavar="N", help="take turns N times; the least time of each counts"
    )
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "oomlint-speed")
    parser.add_argument("-o", "--output", type=Path, help="write the table there, too")
    given = parser.parse_args()
    wanted = [entry for entry in ENTRIES if entry.name in given.only.split(",") or not given.only]
    folder = given.folder.resolve()
    prepare(folder, {entry.environment for entry in wanted} | {"oomlint"})
    sources = folder / "packages"
    files = [path for path in sorted(sources.rglob("*.py")) if names_keras(path.read_bytes())][
        :: given.sample
    ]
    names = [str(path) for path in files]
    passing = prefiltered(folder, names)
    taken: dict[str, Taken] = {}
    for entry in wanted * given.rounds:
        if entry.name == "cold":
            shutil.rmtree(folder / "kept", ignore_errors=True)
        now = run(entry, folder, passing if entry.input == "passing" else names)
        taken[entry.name] = min(now, taken.get(entry.name, now), key=lambda one: one.seconds)
        print(f"{entry.title}: {now}", file=sys.stderr, flush=True)
    text = "\n".join([*table(taken, folder, files, len(passing)), "", *bars(taken), ""])
    print(text)
    if given.output is not None:
        given.output.write_text(text, encoding="utf-8")


def names_keras(raw: bytes) -> bool:
    """Whether a file is one of those that are compared."""
    return b"tensorflow" in raw or b"keras" in raw


def prepare(folder: Path, environments: set[str]) -> None:
    """The environments and the packages; what is there stays, but for oomlint."""
    for name in sorted(environments):
        place = folder / name
        new = not (place / "bin/python").exists()
        if new:
            venv.create(place, with_pip=True)
        if name == "oomlint":
            with tempfile.TemporaryDirectory() as copy:  # building would leave its files in the checkout
                for part in ("oomlint", "rules", "pyproject.toml", "README.md", "LICENSE"):
                    source = CHECKOUT / part
                    if source.is_dir():
                        shutil.copytree(
                            source, Path(copy) / part, ignore=shutil.ignore_patterns("__pycache__")
                        )
                    else:
                        shutil.copy(source, copy)
                pip(place, "uninstall", "--yes", "oomlint")
                pip(place, "install", copy)
        elif new:
            pip(place, "install", *ENVIRONMENTS[name])
    if not (folder / "packages").exists():
        pip(
            folder / "oomlint",
            "install",
            "--no-deps",
            "--no-compile",
            "--target",
            str(folder / "unpacked"),
            *PACKAGES,
        )
        (folder / "unpacked").rename(folder / "packages")


def pip(environment: Path, *arguments: str) -> None:
    """Run pip; what it says goes to the error stream."""
    command = [
        str(environment / "bin/python"),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--quiet",
        *arguments,
    ]
    subprocess.run(command, check=True, stdout=sys.stderr)


def prefiltered(folder: Path, names: Sequence[str]) -> list[str]:
    """The files that oomlint parses with LibCST."""
    command = [str(folder / "oomlint/bin/python"), "-c", PREFILTER]
    done = subprocess.run(command, input="\n".join(names), text=True, capture_output=True, check=True)
    return done.stdout.splitlines()


def run(entry: Entry, folder: Path, names: Sequence[str]) -> Taken:
    """One command over the files."""
    command = [str(folder / entry.environment / entry.command[0]), *entry.command[1:]]
    if entry.command[:2] == CHECK[:2]:
        command += ["--config", f"cache-dir = {json.dumps(str(folder / 'kept'))}"]
    if entry.input == "arguments":
        command += names
    before = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYLINTHOME": str(folder / "pylint"), "PYTHONHASHSEED": "0"},
    )
    assert process.stdin is not None
    if entry.input != "arguments":
        process.stdin.write("\n".join(names).encode())
    process.stdin.close()
    seen: dict[int, float] = {}
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        for pid in (process.pid, *children(process.pid)):
            seen[pid] = max(seen.get(pid, 0.0), so_far(pid))
        time.sleep(0.05)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - before
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode < 0 or (process.returncode and entry.environment == "oomlint"):
        raise SystemExit(f"{entry.title} ended with {process.returncode}")
    own = seen.pop(process.pid, 0.0)
    longest = own + max(seen.values(), default=0.0)
    return Taken(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss // 1024, longest)


def children(pid: int) -> list[int]:
    """The processes that one has started."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:  # it has ended
        pass
    return found


def table(taken: dict[str, Taken], folder: Path, files: Sequence[Path], passing: int) -> list[str]:
    """The rows in Markdown."""
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    versions = {name: installed(folder / name) for name in ENVIRONMENTS if (folder / name).exists()}
    said = ", ".join(package.replace("==", " ") for package in PACKAGES)
    rows = [
        f"{len(files):,} files of {said} that name TensorFlow or Keras, {lines:,} lines;",
        f"{passing:,} pass the prefilter. Python {sys.version.split()[0]}, LibCST {versions['oomlint'].get('libcst')}.",
        "",
        "| | processor time | beside LibCST's parse | beside oomlint | largest process |",
        "|---|---:|---:|---:|---:|",
    ]
    for entry in ENTRIES:
        if entry.name in taken:
            what = taken[entry.name]
            title = f"{entry.title} {versions[entry.environment].get(entry.title.lower(), '')}".rstrip()
            times = f"{ratio(what, taken, 'libcst')} | {ratio(what, taken, 'cold')}"
            rows.append(f"| {title} | {what.seconds:,.1f} s | {times} | {what.megabytes:,} MB |")
    return rows


def installed(environment: Path) -> dict[str, str]:
    """Versions by name."""
    command = [
        environment / "bin/python",
        "-m",
        "pip",
        "--disable-pip-version-check",
        "list",
        "--format=json",
    ]
    listed: list[dict[str, str]] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {item["name"].lower(): item["version"] for item in listed}


def ratio(what: Taken, taken: dict[str, Taken], other: str) -> str:
    """How many times another's time."""
    return f"{what.seconds / taken[other].seconds:.2f}" if other in taken else ""


def bars(taken: dict[str, Taken]) -> list[str]:
    """What was to hold, and whether it does."""
    titles = {entry.name: entry.title for entry in ENTRIES}
    rows = ["| what was to hold | it is | |", "|---|---:|---|"]
    for name, most, other in BARS:
        if name in taken and other in taken:
            times = taken[name].seconds / taken[other].seconds
            wanted = f"at most {most:g} times" if most >= 1 else f"at most 1/{1 / most:.0f} of"
            shown = f"{times:.2f} times" if most >= 1 else f"1/{1 / times:.1f}"
            rows.append(
                f"| {titles[name]}: {wanted} {titles[other]} | {shown} | {'yes' if times <= most else 'no'} |"
            )
    if "two" in taken and "cold" in taken:
        alone, two = taken["cold"], taken["two"]
        faster = alone.seconds / two.longest
        rows.append(
            f"| two processes: at least 1.7 times faster than one | {faster:.2f} times, by the {two.longest:.1f} s of"
            f" the busiest process ({alone.wall / two.wall:.2f} by the clock) | {'yes' if faster >= 1.7 else 'no'} |"
        )
    return rows


if __name__ == "__main__":
    main()
