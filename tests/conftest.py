"""Tests run against the package that is installed."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import hypothesis
import pytest

# `python -m pytest` puts the checkout first on the path, where oomlint/ lies without its rules: those are in
# rules/ beside it until they are installed.
_ROOT = Path(__file__).parent.parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _ROOT]

# New examples are looked for at home; a change is judged by the same ones each time.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("home", deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture(autouse=True, scope="module")
def models_are_let_go():
    """Keras' models are in cycles and their weights are not the collector's to see: a process came to hold 12 GB."""
    yield
    if "keras" in sys.modules:
        sys.modules["keras"].utils.clear_session()
    gc.collect()
