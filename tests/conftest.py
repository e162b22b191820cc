"""Tests run against the package that is installed."""

from __future__ import annotations

import sys
from pathlib import Path

# `python -m pytest` puts the checkout first on the path, where oomlint/ lies without its rules: those are in
# rules/ beside it until they are installed.
_ROOT = Path(__file__).parent.parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _ROOT]
