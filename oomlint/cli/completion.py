"""`oomlint completion`: scripts with which a shell completes commands, flags and their values."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")
_USE = """
to set it up:
  bash   oomlint completion bash > ~/.local/share/bash-completion/completions/oomlint
  zsh    oomlint completion zsh > ~/.zfunc/_oomlint   (a folder of $fpath)
  fish   oomlint completion fish > ~/.config/fish/completions/oomlint.fish

Write it again after an update: it holds the rules' codes and the GPUs.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "completion",
        help="complete commands and flags in a shell",
        description="Print a script that completes commands, flags, codes and GPUs in a shell.",
        epilog=_USE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from oomlint.cli.completion_scripts import script
    from oomlint.cli.main import build_parser

    print(script(arguments.shell, build_parser()))
    return 0
