"""Which library Keras computes with: TensorFlow, JAX or PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.queries.once import once_per_trace
from oomlint.dryrun.values.base import Const

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Trace
    from oomlint.project.settings import Settings

VARIABLE = "KERAS_BACKEND"


def keras_backend(trace: Trace, settings: Settings) -> str | None:
    """`tensorflow`, `jax`, `torch`, another that is named, or None: the script chooses one that is not known.

    What the script sets counts first, then the project's settings (the configuration, the environment,
    `keras.json`), then what it imports: JAX or PyTorch beside Keras, without TensorFlow, is what Keras runs on.
    """
    decided, chosen = _by_the_script(trace)
    if decided:
        return chosen
    if settings.keras_backend is not None:
        return settings.keras_backend
    others = [name for name in ("jax", "torch") if name in trace.libraries]
    tensorflow = "tf" in trace.libraries or trace.libraries.get("keras", "").startswith("tensorflow")
    return others[0] if others and not tensorflow else "tensorflow"


@once_per_trace
def _by_the_script(trace: Trace) -> tuple[bool, str | None]:
    """Whether the script chooses, and what: None for what is not known."""
    for call, value in environment(trace, VARIABLE):
        if _in_time(trace, call):
            return True, str(value.value) if isinstance(value, Const) else None
    for call in trace.calls("keras.config.set_backend"):
        chosen = call.arguments[0].const() if call.arguments else None
        return True, chosen if isinstance(chosen, str) else None
    return False, None


def _in_time(trace: Trace, call: Call) -> bool:
    """Whether Keras is not imported yet: it reads the variable then, and never again (keras/src/backend/config.py)."""
    imported = trace.imported.get("keras")
    return imported is None or call.source is not trace.source or trace.position(call) < imported
