"""The command line: one module per command; the only place that prints or exits.

argparse rather than click: a hook starts this on every commit, and click's import alone takes three times
as long as the interpreter needs to start. For the same reason commands import what they need when they run.
"""

from oomlint.cli.main import main

__all__ = ["main"]
