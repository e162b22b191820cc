"""`oomlint server`: the language server, for editors."""

from __future__ import annotations

import argparse
import sys


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "server",
        help="serve an editor: findings while typing",
        description="A language server (LSP) on standard input and output. An editor starts it; docs/editors.md "
        "says how. Needs the extra lsp.",
    )
    parser.set_defaults(run=run)
    # Editors' clients add this to every server that they start.
    parser.add_argument("--stdio", action="store_true", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Serve until the editor says exit."""
    try:
        import pygls.lsp.server  # noqa: F401
    except ImportError:
        print('oomlint: the language server needs pygls 2: pip install "oomlint[lsp]"', file=sys.stderr)
        return 2
    from oomlint.server.server import serve

    return serve()
