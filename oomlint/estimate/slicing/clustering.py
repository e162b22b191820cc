"""XLA's auto-clustering, where a script switches it on: TensorFlow then hands XLA what it can of any graph."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.values.base import Const

if TYPE_CHECKING:
    from oomlint.dryrun import Trace

VARIABLE = "TF_XLA_FLAGS"
# tensorflow/compiler/jit/flags.cc: 1 and 2 are for all graphs, `fusible` for what fuses well; 0 and -1 leave it off.
_ON = re.compile(r"--?tf_xla_auto_jit=(?:[12]|fusible)\b")


def switched_on(trace: Trace) -> str:
    """How the script switches it on; empty where it does not."""
    found = ""
    for _, value in environment(trace, VARIABLE):
        found = f"the script's {VARIABLE}" if isinstance(value, Const) and asks(str(value.value)) else ""
    for call in trace.calls("tf.config.optimizer.set_jit"):
        enabled = call.arguments[0].const() if call.arguments else None
        found = "" if enabled in (False, None) else "tf.config.optimizer.set_jit"
    return found


def in_the_shell(variables: Mapping[str, str]) -> str:
    """How the environment that a run inherits switches it on; empty where it does not."""
    return f"{VARIABLE} in the environment" if asks(variables.get(VARIABLE, "")) else ""


def asks(flags: str) -> bool:
    """Whether the value of TF_XLA_FLAGS switches it on."""
    return _ON.search(flags) is not None
