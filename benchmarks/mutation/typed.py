"""Which survivors does the type check refuse? `mypy --strict` has to pass, so nobody could commit such a change.

    python benchmarks/mutation/typed.py SITE [--results FILE] [--only WORD ...]

SITE is a folder with the package as it is installed, `oomlint/` with `oomlint/rules/` in it (a copy: it is written
to, and mypy keeps its cache there). All survivors are checked in one run, each as a module of its own beside the
original. Those refused are written to the results as `refused`, with what mypy says.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from pathlib import Path

from operators import applied, mutants
from run import HERE, ROOT, read
from subjects import SUBJECTS, path_of

_ERROR = re.compile(r"mutant_(\d+)\.py:\d+: error: (.*)")


def main() -> None:
    """Check the survivors that are in the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", type=Path)
    parser.add_argument("--results", type=Path, default=HERE / "results.jsonl")
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    known = read(options.results)
    written, files = {}, []
    for module in [module for subject in SUBJECTS for module in subject.modules]:
        if options.only and not any(word in module for word in options.only):
            continue
        text = path_of(module).read_text("utf-8")
        for mutant in mutants(module, text):
            row = known.get(mutant.key, {})
            if row.get("status") not in ("survived", "uncovered") or "typed" in row:
                continue
            beside = options.site.joinpath(*module.split(".")[:-1]) / f"mutant_{len(written)}.py"
            beside.write_text(ast.unparse(applied(ast.parse(text), mutant)), "utf-8")
            written[len(written)] = row
            files.append(str(beside.relative_to(options.site)))
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *files]
    said = subprocess.run(command, cwd=options.site, capture_output=True, text=True).stdout
    for file in files:
        (options.site / file).unlink()
    errors: dict[int, str] = {}
    for line in said.splitlines():
        if found := _ERROR.search(line):
            errors.setdefault(int(found[1]), found[2])
    print(f"{len(written)} survivors, {len(errors)} refused by the type check")
    print(said.splitlines()[-1] if said else "mypy said nothing")
    with options.results.open("a", encoding="utf-8") as results:
        for number, row in written.items():
            said_of_it = {"status": "refused", "by": errors[number]} if number in errors else {}
            results.write(f"{json.dumps({**row, 'typed': True, **said_of_it})}\n")


if __name__ == "__main__":
    main()
