"""XLA's own figures for the models of the comparisons, by a way that shares nothing with oomlint: the step written
out by hand for JAX, compiled to the end in one process, and what the compiler reports of its memory.

    python benchmarks/estimate/xla_reference.py OUT.jsonl [NAME:BATCH:OPTIMIZER:POLICY:GPU ...]

Without configurations it makes those of `xla_configurations.py` that OUT does not have yet. Needs jax,
jax-cuda13-plugin and jax-cuda13-pjrt; no GPU. One configuration takes 5 to 60 s on two cores.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.update(
    KERAS_BACKEND="jax",
    JAX_PLATFORMS="cpu",
    JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1",
    XLA_FLAGS="--xla_gpu_autotune_level=0",
)

import jax
import keras
import models
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding
from keras.src.backend.jax import core

# Two cards as XLA describes them (openxla/xla, xla/backends/gpu/target_config/specs): what differs between them.
_CARDS = {
    "H100-80GB": (9, 0, 132, 128, 233472, 232448, 2048, 3352320000000, 52428800, 1.98, 84942979072),
    "A100-40GB": (8, 0, 108, 64, 167936, 166912, 2048, 1555200000000, 41943040, 1.41, 42331013120),
}


def _device(gpu: str) -> Any:
    major, minor, cores, fpus, shared, optin, threads, bandwidth, cache, clock, memory = _CARDS[gpu]
    proto = f"""gpu_device_info {{
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: {shared} threads_per_core_limit: {threads} core_count: {cores} fpus_per_core: {fpus}
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: {bandwidth} l2_cache_size: {cache} clock_rate_ghz: {clock} device_memory_size: {memory}
  shared_memory_per_block_optin: {optin} cuda_compute_capability {{ major: {major} minor: {minor} }}
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  driver_version: "13.0.0" runtime_version: "13.0.0" compile_time_toolkit_version: "13.0.0"
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
device_description_str: "{gpu}"
"""
    found = topologies.get_topology_desc(
        platform="cuda", topology_name=gpu, target_config=proto, topology="1x1x1"
    )
    return found.devices[0]


def _optimizer(name: str) -> Any:
    if name == "momentum":
        return keras.optimizers.SGD(0.1, momentum=0.9)
    return keras.optimizers.get(name)


def _shapes(variables: Any) -> list[Any]:
    return [jax.ShapeDtypeStruct(tuple(v.shape), v._dtype) for v in variables]


def reference(name: str, batch: int, optimizer_name: str, policy: str, gpu: str) -> dict[str, Any]:
    """One row: bytes of arguments, temporaries, results and aliases as XLA reports them."""
    keras.utils.clear_session()
    keras.config.set_dtype_policy(policy)
    case = models.case(name)
    optimizer = _optimizer(optimizer_name)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    optimizer.build(case.model.trainable_variables)
    loss_of = keras.losses.get(case.loss)
    if not isinstance(loss_of, keras.losses.Loss):
        plain = loss_of

        def loss_of(y: Any, predicted: Any) -> Any:
            return keras.ops.mean(plain(y, predicted))

    def step(weights: Any, others: Any, slots: Any, xs: Any, y: Any) -> Any:
        def forward(weights: Any, others: Any) -> Any:
            out, others, added = case.model.stateless_call(
                weights, others, xs if len(xs) > 1 else xs[0], training=True, return_losses=True
            )
            value = loss_of(y, out) + sum(added)
            with keras.StatelessScope(state_mapping=list(zip(optimizer.variables, slots))):
                return optimizer.scale_loss(value), (value, others)

        (_, (value, others)), gradients = jax.value_and_grad(forward, has_aux=True)(weights, others)
        weights, slots = optimizer.stateless_apply(slots, gradients, weights)
        return value, weights, others, slots

    xs, y = case.specs(batch)
    arguments = (
        _shapes(case.model.trainable_variables),
        _shapes(case.model.non_trainable_variables),
        _shapes(optimizer.variables),
        [jax.ShapeDtypeStruct(*spec) for spec in xs],
        jax.ShapeDtypeStruct(*y),
    )
    place = SingleDeviceSharding(_device(gpu))
    started = time.time()
    jitted = jax.jit(
        step, donate_argnums=(0, 1, 2), in_shardings=place, out_shardings=place, keep_unused=True
    )
    figures = jitted.lower(*arguments).compile().memory_analysis()
    row = {
        "model": name,
        "batch": batch,
        "optimizer": optimizer_name,
        "policy": policy,
        "gpu": gpu,
        "arguments": figures.argument_size_in_bytes,
        "temporaries": figures.temp_size_in_bytes,
        "results": figures.output_size_in_bytes,
        "aliases": figures.alias_size_in_bytes,
        "xla_peak": getattr(figures, "peak_memory_in_bytes", None),
    }
    row["total"] = row["arguments"] + row["temporaries"] + row["results"] - row["aliases"]
    row["seconds"] = round(time.time() - started, 1)
    row["versions"] = f"jax {jax.__version__}, keras {keras.__version__}"
    return row


def _without_values() -> None:
    """Variables of a shape and no memory: the language model would not fit."""

    def from_value(self: Any, value: Any) -> None:
        self._shape = tuple(value.shape)
        seed = self._dtype == "uint32"
        self._value = value if seed else jax.ShapeDtypeStruct(self._shape, self._dtype)

    whole = core.Variable._initialize_with_initializer

    def from_initializer(self: Any, initializer: Any) -> None:
        if self._dtype == "uint32":  # a seed: drawn from while the model is built
            whole(self, initializer)
            return
        self._value = jax.ShapeDtypeStruct(tuple(self._shape), self._dtype)

    core.Variable._initialize = from_value
    core.Variable._initialize_with_initializer = from_initializer


def main(out: str, *wanted: str) -> None:
    from xla_configurations import REFERENCE, write_rows

    _without_values()
    write_rows(Path(out), wanted or REFERENCE, reference, "total", after=jax.clear_caches)


if __name__ == "__main__":
    main(*sys.argv[1:])
