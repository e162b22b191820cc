"""The output formats by name. Only the one that is asked for is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oomlint.report.reported import Reported

# Name -> the module whose `report(run)` makes the text.
FORMATS = {
    "full": "full",
    "concise": "concise",
    "grouped": "grouped",
    "json": "json_report",
    "json-lines": "json_lines",
    "github": "github",
    "gitlab": "gitlab",
    "sarif": "sarif",
    "junit": "junit",
}
# Those whose reader would choke on a table of counts: name -> what `--statistics` gives there, or nothing.
STATISTICS = {
    "full": "text",
    "concise": "text",
    "grouped": "text",
    "json": "json",
    "json-lines": "json_lines",
}


def render(name: str, run: Reported) -> str:
    """The whole report in a format."""
    import importlib

    text: str = importlib.import_module(f"oomlint.report.{FORMATS[name]}").report(run)
    return text


def render_statistics(name: str, run: Reported) -> str:
    """The counts by code in a format that has a form for them."""
    from oomlint.report import statistics, summary

    match STATISTICS[name]:
        case "json":
            return statistics.render_json(run.diagnostics)
        case "json_lines":
            return statistics.render_json_lines(run.diagnostics)
    return statistics.render_text(run.diagnostics) + summary.closing(run)
