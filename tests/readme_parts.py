"""The parts of the README that are generated; `python tests/readme_parts.py` writes them into it."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from page_examples import output_of

from oomlint.cli.rule import fix_words
from oomlint.findings.model import Rule
from oomlint.findings.own import PAGES
from oomlint.findings.registry import load_rules

README = Path(__file__).parent.parent / "README.md"
_SCRIPT = re.compile(r"<!-- example script -->\n```python\n(.*?)```", re.DOTALL)
_OUTPUT = re.compile(r"(<!-- example output -->\n```text\n)(.*?)(```)", re.DOTALL)
_RULES = re.compile(r"(<!-- rules -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def example_output(readme: str) -> str:
    """What oomlint says of the README's script."""
    script = _SCRIPT.search(readme)
    assert script is not None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(script[1], encoding="utf-8")
        return output_of("oomlint check train.py", Path(folder))


def rules_table() -> str:
    """All rules, one in a row."""
    pages: dict[Rule, str] = dict(PAGES) | {entry.rule: entry.page for entry in load_rules()}
    rows = ["| code | name | severity | fix | what it finds |", "|---|---|---|---|---|"]
    for rule in sorted(pages, key=lambda rule: rule.code):
        summary = pages[rule].partition("\n")[0].replace("|", "\\|")
        severity = f"{rule.severity}, in preview" if rule.preview else str(rule.severity)
        rows.append(f"| {rule.code} | {rule.name} | {severity} | {fix_words(rule)} | {summary} |")
    return "\n".join(rows) + "\n"


def with_parts(readme: str) -> str:
    """The README as it should be."""
    output = example_output(readme)
    table = rules_table()
    readme = _OUTPUT.sub(lambda part: part[1] + output + part[3], readme)
    return _RULES.sub(lambda part: part[1] + table + part[3], readme)


if __name__ == "__main__":
    README.write_text(with_parts(README.read_text(encoding="utf-8")), encoding="utf-8")
