"""The environment of a process that traces or compiles with JAX for a GPU that is not there."""

from __future__ import annotations

VARIABLES = {"JAX_PLATFORMS": "cpu", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
NO_AUTOTUNING = "--xla_gpu_autotune_level=0"  # of XLA_FLAGS: autotuning would run kernels on the GPU
