"""How much GPU memory a training step takes at its peak, found on a CPU and without running it.

The package can be called: `oomlint.estimate(model, batch_size=64, gpu="T4")` estimates a model that is there
(`oomlint.live` says with which arguments).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """`oomlint.estimate` is a function to users and a package to Python: the same name has to be both."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from oomlint.live import estimate

        return estimate(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
