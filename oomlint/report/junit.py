"""JUnit's XML, which Jenkins, GitLab and most other servers show as test results.

Servers tell a new failure from an old one by its name, so a name holds no row: moving a line breaks no test.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping

from oomlint.findings.diagnostic import Diagnostic
from oomlint.findings.fingerprints import path_from
from oomlint.findings.own import INTERNAL_ERROR
from oomlint.report import explaining
from oomlint.report.file_rows import row_in_file
from oomlint.report.paths import spot
from oomlint.report.reported import Reported
from oomlint.report.summary import plural

# What XML 1.0 has no way to write, not even as a reference.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONG = 80


def report(run: Reported) -> str:
    """A suite for the run and a case for each finding; one that passes where there is nothing to say."""
    cases, names = [], Counter[tuple[str, str]]()
    failures = errors = skipped = 0
    for diagnostic in run.diagnostics:
        path = path_from(diagnostic.filename, run.root)
        name = _name(diagnostic)
        names[path, name] += 1
        count = names[path, name]
        if diagnostic.code == INTERNAL_ERROR.code:
            kind, errors = "error", errors + 1
        elif run.fails(diagnostic):
            kind, failures = "failure", failures + 1
        else:  # below `fail-on`: to be seen, and no reason for a red build
            kind, skipped = "skipped", skipped + 1
        cases.append(_case(diagnostic, path, f"{name} ({count})" if count > 1 else name, kind, run))
    for text in run.troubles:
        errors += 1
        inner = _tag("error", {"message": text, "type": "problem"})
        cases.append(_tag("testcase", {"classname": "oomlint", "name": text, "time": "0"}, inner))
    if not cases:
        name = f"no findings in {plural(run.files, 'file')}"
        cases.append(_tag("testcase", {"classname": "oomlint", "name": name, "time": "0"}))
    counts = {"tests": len(cases), "failures": failures, "errors": errors, "skipped": skipped, "time": "0"}
    suite = _tag("testsuite", {"name": "oomlint", **counts}, "\n".join(cases))
    whole = _tag("testsuites", {"name": "oomlint", **counts}, suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{whole}\n'


def _name(diagnostic: Diagnostic) -> str:
    """The rule, and the line that it speaks of."""
    line = " ".join(diagnostic.lines[0].split()) if diagnostic.lines else ""
    line = line if len(line) <= _LONG else f"{line[: _LONG - 1]}…"
    return f"{diagnostic.code} {diagnostic.name}" + (f": {line}" if line else "")


def _case(diagnostic: Diagnostic, path: str, name: str, kind: str, run: Reported) -> str:
    place = f"{path}:{spot(diagnostic.location)}: {diagnostic.severity}"
    text = "\n".join(
        (place, diagnostic.message, *explaining.details(diagnostic, explaining.places(run.root)))
    )
    attributes = {"message": explaining.summary(diagnostic)}
    if kind != "skipped":
        attributes["type"] = diagnostic.code
    row = row_in_file(diagnostic.filename, diagnostic.location)
    owner = {"classname": path, "name": name, "file": path, "line": row, "time": "0"}
    return _tag("testcase", owner, _tag(kind, attributes, _escaped(text)))


def _tag(name: str, attributes: Mapping[str, object], inner: str = "") -> str:
    written = "".join(f' {key}="{_attribute(str(value))}"' for key, value in attributes.items())
    if not inner:
        return f"<{name}{written}/>"
    if inner.startswith("<"):
        inner = f"\n{inner}\n"
    return f"<{name}{written}>{inner}</{name}>"


def _escaped(text: str) -> str:
    """Safe in any encoding: a pipe on Windows is not UTF-8."""
    legal = html.escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text))
    return legal.encode("ascii", "xmlcharrefreplace").decode("ascii").replace("\r", "&#13;")


def _attribute(text: str) -> str:
    return _escaped(text).replace("\n", "&#10;").replace("\t", "&#9;")
