"""The dry run: abstract values, sizes, scopes, interpreter and trace."""

from oomlint.dryrun.interpreter import dry_run, release
from oomlint.dryrun.modules import ModuleResolver
from oomlint.dryrun.trace import Trace

__all__ = ["ModuleResolver", "Trace", "dry_run", "release"]
