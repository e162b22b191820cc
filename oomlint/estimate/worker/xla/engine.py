"""The footprint of a step that XLA compiles, from XLA's own buffer assignment for that GPU."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec

from oomlint.estimate.result import Certainty
from oomlint.estimate.worker.keras.layers import layer_rows, leaves
from oomlint.estimate.worker.keras.state import state_bytes
from oomlint.estimate.worker.subject import Footprint, Subject
from oomlint.estimate.worker.xla import buffers
from oomlint.estimate.worker.xla.attribution import shares
from oomlint.estimate.worker.xla.compile import Compilation, CompilerError, refused
from oomlint.estimate.worker.xla.lowered import Program
from oomlint.estimate.worker.xla.target_config import Target, target_for

# The packages that bring XLA's GPU compiler.
PLUGINS = ("jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12")

# What the assignment cannot say without the GPU: which kernels autotuning will pick there, and their scratch. Without
# convolutions little depends on it.
_CONVOLUTION = re.compile(r"conv_general_dilated|convolution|Conv[23]D")
UPPER, UPPER_WITH_CONVOLUTIONS, LOWER = 0.03, 0.10, 0.02


def available() -> str:
    """Why this engine cannot be used here, or nothing."""
    if sys.platform != "linux":
        return "XLA's GPU compiler comes as a package for Linux only"
    if find_spec("jax") is None:
        return "JAX, whose packages hold XLA's GPU compiler, is not installed"
    if not _plugin():
        return "JAX is installed without XLA's GPU compiler (jax-cuda13-plugin and jax-cuda13-pjrt)"
    return ""


def _plugin() -> bool:
    try:
        return any(find_spec(name) is not None for name in PLUGINS)
    except ModuleNotFoundError:  # no jax_plugins at all
        return False


def footprint(subject: Subject, gpu_name: str, usable_bytes: int) -> Footprint:
    """Compile the step for the GPU and read what it will occupy. Raises EstimateError."""
    target = target_for(gpu_name, usable_bytes)
    with Compilation(target.proto) as compilation:
        program = exported(subject)
        try:
            found = buffers.read(compilation.dump(program.module))
        except CompilerError as error:
            raise refused(error, target.name) from error
        with_cublas = compilation.with_cublas
    result = _footprint(subject, program, found, target)
    if with_cublas:
        result.assumptions.append(
            "matrix products are computed by cuBLAS: XLA's own kernels need autotuning here"
        )
    return result


def exported(subject: Subject) -> Program:
    """The step in the compiler's input language."""
    if os.environ.get("KERAS_BACKEND", "tensorflow") == "jax":
        from oomlint.estimate.worker.xla import jax_step

        return jax_step.exported(subject)
    from oomlint.estimate.worker.xla import tensorflow_step

    return tensorflow_step.exported(subject)


def _footprint(subject: Subject, program: Program, found: buffers.Assignment, target: Target) -> Footprint:
    model = subject.model
    state = state_bytes(model, None if subject.mode == "predict" else getattr(model, "optimizer", None))
    fixed = {
        "weights": state["weights"],
        "optimizer_state": state["optimizer_state"] + program.captured,
        "input": program.inputs,
    }
    split = shares(found, model, sum(fixed.values()))
    parts = fixed | split.parts
    parts["temporaries"] += found.results + found.constants
    certainty: dict[str, Certainty] = dict.fromkeys(parts, "exact")
    for part in ("gradients", "activations", "temporaries"):
        certainty[part] = "estimated"
    assumptions = [target.assumption] if target.assumption else []
    convolutions = any(_CONVOLUTION.search(name) for name in found.op_names.values())
    if convolutions:
        assumptions.append(
            "the scratch memory of the convolution kernels that autotuning picks on the GPU is not included"
        )
    return Footprint(
        peak=sum(parts.values()),
        parts=parts,
        certainty=certainty,
        layers=layer_rows(leaves(model), split.saved),
        timeline=split.timeline,
        peak_at=split.peak_at,
        lower=LOWER,
        upper=UPPER_WITH_CONVOLUTIONS if convolutions else UPPER,
        assumptions=assumptions,
    )
