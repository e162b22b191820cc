"""In which precision a script computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.queries.environment import environment

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace

_CALLS = (
    "keras.mixed_precision.",
    "keras.DTypePolicy",
    "keras.config.set_dtype_policy",
    "keras.config.set_floatx",
    "keras.backend.set_floatx",
    "keras.quantizers.",
    "tf.train.experimental.enable_mixed_precision",
    "tf.train.enable_mixed_precision",
    "tf.train.experimental.MixedPrecisionLossScale",
    "tf.config.optimizer.set_experimental_options",
)
_VARIABLES = ("TF_ENABLE_AUTO_MIXED_PRECISION", "TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE")


def chooses_precision(trace: Trace) -> bool:
    """Whether a script says anything about precision: a policy, another default type, a layer of its own dtype."""
    if any(trace.calls_under(name) for name in _CALLS):
        return True
    if any(True for name in _VARIABLES for _ in environment(trace, name)):
        return True
    return any(
        argument.name in ("dtype", "dtype_policy") and str(argument.const() or "16").find("16") >= 0
        for call in trace.calls_under("keras.layers.")
        for argument in call.arguments
    )
