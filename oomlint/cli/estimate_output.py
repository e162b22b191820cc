"""Where the report of an estimate goes, and in which format."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from oomlint.estimate.result import Estimate

FORMATS = ("text", "json", "html")


def add_output_flags(parser: argparse.ArgumentParser) -> None:
    """The options that concern the report."""
    report = parser.add_argument_group("the report")
    report.add_argument("--layers", action="store_true", help="show every layer")
    report.add_argument(
        "--format", "--output-format", choices=FORMATS, help="default: text, or by the ending of --output"
    )
    report.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the report there")
    report.add_argument("--exit-zero", action="store_true", help="exit with 0 even if it does not fit")


def write(estimate: Estimate, arguments: argparse.Namespace) -> int:
    """Print the report or write it to its file; 1 where the step does not fit, else 0. Raises OSError."""
    path: Path | None = arguments.output
    chosen = arguments.format or {".json": "json", ".html": "html", ".htm": "html"}.get(
        path.suffix.lower() if path else "", "text"
    )
    text = rendered(estimate, chosen, arguments.layers, sys.stdout if path is None else None)
    if path is None:
        sys.stdout.write(text)
    else:
        from oomlint.documents.replacing import write_file
        from oomlint.estimate.verdicts import headline

        write_file(path, text.encode("utf-8", "backslashreplace"))
        print(f"{headline(estimate)} (report: {path})")
    return 1 if estimate.verdict == "does-not-fit" and not arguments.exit_zero else 0


def rendered(estimate: Estimate, chosen: str, layers: bool, stream: TextIO | None) -> str:
    """The report; `stream` is the terminal that it is for, None for a file."""
    if chosen == "json":
        from oomlint.report import estimate_json

        return estimate_json.render(estimate)
    if chosen == "html":
        from oomlint.report import estimate_html

        return estimate_html.render(estimate)
    from oomlint.report import estimate_text
    from oomlint.report.style import Style, wants_colour

    if stream is None:
        return estimate_text.render(estimate, width=100, all_layers=layers)
    width = shutil.get_terminal_size((100, 24)).columns
    plain = not _shows_blocks(stream)
    return estimate_text.render(estimate, Style(wants_colour(stream)), width, plain, layers)


def _shows_blocks(stream: TextIO) -> bool:
    """Whether block characters come out as such."""
    if os.environ.get("TERM") == "dumb":
        return False
    try:
        "\u2588\u2591\u258f\u2502".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
