"""What documents show of oomlint, as it is: the commands in their blocks are run and the output is put below them.

A block whose fence has a title (`title="train.py"`) is a file. A block of language `console` has commands after `$ `,
each with its output; they run one after the other in one folder, with the files that stand before them. A block of Python
without a title is run there too, and what it prints is the block after `<!-- prints -->`, if there is one. A line
`...` in the output stands for any lines. A comment `<!-- not run: REASON -->` before a block leaves it as it is.

`python tests/page_examples.py` writes what has changed into README and docs.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from command import oomlint, within

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
# Pages whose Python is oomlint's own interface; elsewhere it is training code.
RUN = ("python.md",)
_BLOCK = re.compile(
    r'(?P<mark><!-- (?:not run: [^>]+|prints) -->\n)?^```(?P<language>[\w-]*)(?: title="(?P<title>[^"]+)")?\n'
    r"(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it is (or ""), and the comment before it."""

    language: str
    title: str
    text: str
    mark: str

    @property
    def run(self) -> bool:
        """Whether it is run where it can be."""
        return "not run" not in self.mark


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for found in _BLOCK.finditer(page):
        yield _block(found)


def _block(found: re.Match[str]) -> Block:
    return Block(found["language"], found["title"] or "", found["text"], found["mark"] or "")


class Session:
    """A page's folder and its Python names."""

    def __init__(self, here: Path, *, python: bool) -> None:
        self.here = here
        self.python = python
        self.names: dict[str, object] = {}
        self.printed = ""

    def replaced(self, found: re.Match[str]) -> str:
        """A block, with its output as it is."""
        block = _block(found)
        said = block.text
        if block.title:
            path = self.here / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif not block.run:
            pass
        elif block.language == "console":
            said = "".join(_said(command, shown, self.here) for command, shown in _commands(block.text))
        elif block.language == "python" and self.python:
            self.printed = self._printed(block.text)
        elif "prints" in block.mark and not _matches(block.text, self.printed):
            said = self.printed
        start, end = (offset - found.start() for offset in found.span("text"))
        return found[0][:start] + said + found[0][end:]

    def _printed(self, text: str) -> str:
        out = io.StringIO()
        with within(self.here), contextlib.redirect_stdout(out):
            exec(compile(text, "the example", "exec"), self.names)
        return out.getvalue()


def as_it_is(page: str, *, python: bool = False) -> str:
    """The page with the output that its commands have, and its Python if that is to be run."""
    with tempfile.TemporaryDirectory() as folder:
        return _BLOCK.sub(Session(Path(folder), python=python).replaced, page)


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with what is shown below it."""
    assert text.startswith("$ "), text
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def _said(command: str, shown: str, here: Path) -> str:
    output = output_of(command, here)
    return f"$ {command}\n{shown if _matches(shown, output) else output}"


def output_of(command: str, here: Path) -> str:
    """What a command says in a folder, both streams as on a terminal."""
    program, *arguments = shlex.split(command, comments=True)
    if program == "cat":
        return (here / arguments[0]).read_text("utf-8")
    if program == "flake8":
        # Whatever other plugins are installed.
        return _flake8("--isolated", "--select=OOM", *arguments, cwd=here)
    assert program == "oomlint", f"only oomlint, flake8 and cat are run, not {program}"
    # Only a page that shows a configuration is to be read with one.
    if arguments[0] == "check" and not any(here.glob("*.toml")):
        arguments.append("--isolated")
    done = oomlint(*arguments, cwd=here)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr


def _flake8(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "flake8", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout


def _matches(shown: str, output: str) -> bool:
    pattern = "(?s:.*?)".join(re.escape(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE))
    return re.fullmatch(pattern, output) is not None


def main() -> None:
    """Write the pages anew."""
    for path in PAGES:
        before = path.read_text("utf-8")
        after = as_it_is(before, python=path.name in RUN)
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(path.relative_to(ROOT), file=sys.stderr)


if __name__ == "__main__":
    main()
