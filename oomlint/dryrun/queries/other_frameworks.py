"""What other frameworks do with the GPU in the same script: JAX, which takes most of it, and PyTorch, where told to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.queries.gpu_setup import uncalled

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Trace

_JAX_TRAINS = ("jax.grad", "jax.value_and_grad", "jax.pmap")
_JAX = ("jax.", "optax.", "flax.", "haiku.", "equinox.", "brax.")
_TORCH_TRAINERS = ("pytorch_lightning.", "lightning.", "accelerate.", "transformers.Trainer")
_GPUS = ("gpu", "cuda", "rocm")


def jax_on_the_gpu(trace: Trace) -> Call | None:
    """The first use of JAX by what the script runs, unless it is sent elsewhere than to the GPU."""
    if "jax" not in trace.libraries or trace.calls_under("jax.tools.colab_tpu."):
        return None
    for name in ("JAX_PLATFORMS", "JAX_PLATFORM_NAME"):
        if any(_elsewhere(getattr(value, "value", None)) for _, value in environment(trace, name)):
            return None
    for call in trace.calls("jax.config.update"):
        values = [argument.const() for argument in call.arguments]
        if values and "platform" in str(values[0]) and _elsewhere(values[-1]):
            return None
    return next((call for call in _under(trace, *_JAX) if uncalled(call.context) is None), None)


def jax_trains(trace: Trace) -> Call | None:
    """Where JAX computes gradients, on the GPU as far as is known."""
    training = trace.calls(*_JAX_TRAINS) or _under(trace, "optax.")
    return training[0] if training and jax_on_the_gpu(trace) is not None else None


def torch_on_the_gpu(trace: Trace) -> Call | None:
    """The first sign that PyTorch uses the GPU. Nobody who does not ask for it gets it there."""
    if "torch" not in trace.libraries:
        return None
    asked = [call for call in (*_methods(trace), *trace.calls("torch.device")) if _cuda(call)]
    signs = [*trace.calls_under("torch.cuda."), *asked, *_under(trace, *_TORCH_TRAINERS)]
    return min(signs, key=trace.position, default=None)


def torch_trains(trace: Trace) -> Call | None:
    """Where PyTorch trains, on the GPU."""
    if torch_on_the_gpu(trace) is None:
        return None
    steps = [call for call in _methods(trace) if _method(call) == "backward"]
    training = steps or _under(trace, *_TORCH_TRAINERS) or trace.calls_under("torch.optim.")
    return training[0] if training else None


def _elsewhere(platform: object) -> bool:
    """Whether a platform is not the GPU (None: which, is not known)."""
    return platform != "" and not any(name in str(platform).lower() for name in _GPUS)


def _methods(trace: Trace) -> list[Call]:
    """Methods of what nobody knows, as PyTorch's objects are here."""
    return [*trace.loose, *trace.calls("unresolved")]


def _method(call: Call) -> str:
    return (call.path or "").rpartition(".")[2] if call.name == "unresolved" else call.name


def _cuda(call: Call) -> bool:
    """`model.cuda()`, `torch.device("cuda")`, `model.to("cuda:0")`."""
    if _method(call) == "cuda":
        return True
    given = call.arguments[0].const() if call.arguments else None
    return (call.name == "torch.device" or _method(call) == "to") and str(given).startswith("cuda")


def _under(trace: Trace, *prefixes: str) -> list[Call]:
    return [call for prefix in prefixes for call in trace.calls_under(prefix)]
