"""The compiler's own process: `python -m oomlint.estimate.worker.xla.compiler FOLDER`.

It loads XLA's GPU compiler while the caller still traces, waits for a line on standard input, compiles
FOLDER/module.mlir and leaves the compiler's text dumps in FOLDER/dump. What matters is there once buffers are assigned,
long before machine code is made; the caller then ends this process. A process of its own too because the compiler
aborts on what it does not know.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

CUBLAS = "cublas"  # a file that says: matrix products are left to cuBLAS


def main(folder: Path) -> int:
    """Compile to the end, where nobody stops it; the exit status."""
    device = _device((folder / "target.txtpb").read_text())
    if not sys.stdin.readline():
        return 1
    module, dump = (folder / "module.mlir").read_bytes(), folder / "dump"
    try:
        executable = _compile(device, module, dump, {})
    except Exception as error:
        # The tile sizes that are taken without autotuning do not suit every matrix product; autotuning on the GPU takes
        # others, or cuBLAS, which suits them all.
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        (folder / CUBLAS).touch()
        executable = _compile(device, module, dump, {"xla_gpu_enable_triton_gemm": False})
    stats = executable.get_compiled_memory_stats()
    figures = {
        name: getattr(stats, f"{name}_size_in_bytes") for name in ("argument", "temp", "output", "alias")
    }
    (folder / "figures.json").write_text(json.dumps(figures))
    return 0


def _device(proto: str) -> Any:
    from jax.experimental import topologies

    found = topologies.get_topology_desc(
        platform="cuda", topology_name="gpu", target_config=proto, topology="1x1x1"
    )
    return found.devices[0]


def _compile(device: Any, module: bytes, dump: Path, more: dict[str, Any]) -> Any:
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir

    options = compiler.get_compile_options(
        num_replicas=1,
        num_partitions=1,
        device_assignment=np.array([[0]]),
        env_options_overrides={
            "xla_dump_to": str(dump),
            "xla_dump_hlo_as_text": True,
            "xla_gpu_autotune_level": 0,
            **more,
        },
    )
    with mlir.make_ir_context():
        parsed = ir.Module.parse(module)
        client = device.client
        # What it takes changed with the version: a parsed module from jaxlib 0.7 on, no devices before 0.6.1.
        devices = xla_client.DeviceList((device,))
        for given in ((parsed, devices), (module, devices)):
            with suppress(TypeError):
                return client.compile(*given, options)
        return client.compile(module, options)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
