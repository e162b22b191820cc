"""Pictures of terminal sessions, from real runs: `python docs/pictures/make.py [NAME ...]` writes NAME.svg here.

Needs `pip install ".[docs,estimate]"`. The picture of the estimate takes a minute, for the model is built.
"""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE = Path(__file__).resolve().parent
TRAIN = """\
import tensorflow as tf
from tensorflow import keras

BATCH = 64


def decode(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


train = (
    tf.data.Dataset.list_files("train/*.jpg")
    .map(decode)
    .shuffle(100_000)
    .batch(BATCH)
    .prefetch(64)
)

model = keras.applications.ResNet50(weights=None, classes=10)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(train, epochs=20)
"""
# What is typed in each.
SESSIONS = {
    "check": ["oomlint check train.py"],
    "diff": ["oomlint check --diff --unsafe-fixes train.py"],
    "fix": ["oomlint check --fix train.py --output-format concise", "oomlint check --statistics train.py"],
    "estimate": ["oomlint estimate train.py --gpu T4"],
    "rule": ["oomlint rule OOM303"],
}
COLUMNS = 104
THEME = TerminalTheme(
    (24, 27, 33),
    (216, 222, 233),
    [
        (59, 66, 82), (232, 104, 114), (152, 195, 121), (229, 192, 123),
        (97, 175, 239), (198, 120, 221), (86, 182, 194), (216, 222, 233),
    ],
    [
        (127, 138, 158), (255, 128, 136), (176, 214, 148), (240, 210, 150),
        (130, 196, 255), (215, 150, 235), (120, 205, 215), (255, 255, 255),
    ],
)  # fmt: skip
# Rich's own template loads a font from a public host; the reader's own will do.
TEMPLATE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def session(commands: list[str]) -> str:
    """What stands on the terminal after these."""
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(TRAIN, encoding="utf-8")
        for command in commands:
            said += f"\033[1;32m$\033[0m \033[1m{command}\033[0m\n{run(command, Path(folder))}"
    return said.replace(folder + os.sep, "")


def run(command: str, folder: Path) -> str:
    """The output of one, in colour, with both streams as on a terminal."""
    oomlint = f"{shlex.quote(sys.executable)} -m oomlint"
    done = subprocess.run(
        ["bash", "-c", f"{command.replace('oomlint', oomlint, 1)} 2>&1"],
        cwd=folder,
        env={
            **os.environ,
            "FORCE_COLOR": "1",
            "NO_COLOR": "",
            "COLUMNS": str(COLUMNS),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def picture(name: str) -> str:
    """The session as SVG."""
    console = Console(
        width=COLUMNS, file=io.StringIO(), record=True, force_terminal=True, color_system="truecolor"
    )
    for line in Text.from_ansi(session(SESSIONS[name])).split(allow_blank=True):
        # As terminals do it: at the last column, not between words.
        for start in range(0, max(len(line), 1), COLUMNS):
            console.print(line[start : start + COLUMNS], no_wrap=True)
    return console.export_svg(title="", theme=THEME, code_format=TEMPLATE, unique_id=f"oomlint-{name}")


def main(*names: str) -> None:
    """Write them."""
    for name in names or SESSIONS:
        (HERE / f"{name}.svg").write_text(picture(name), encoding="utf-8")
        print(f"{name}.svg", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
