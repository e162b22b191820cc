"""The child process that builds the model: no GPU, no network, no input, a folder of its own, and limits.

It is a process of its own because TensorFlow can be imported once only and under one setting of the environment, and
because what it runs is the user's code. The limits are against accidents (a script that loads its data set, an
import that writes a cache), not against malice.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate
from oomlint.estimate.without_gpu import NO_AUTOTUNING, VARIABLES
from oomlint.project.gpus import GIB, write_bytes

DEFAULT_TIMEOUT = 600.0  # seconds; a language model of 6.7 billion parameters takes about 60
DEFAULT_MEMORY = 12 * GIB
_LOOK_EVERY = 0.2  # seconds between looks at the child's memory
_SHOWN = 4_000  # characters of the user's own output that a report shows

# Variables that the child must not inherit, and what it gets.
_SET = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "PYTHONUNBUFFERED": "1",
    "MPLBACKEND": "Agg",
    # Libraries that would fetch something say so at once instead.
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "WANDB_MODE": "disabled",
    **VARIABLES,
}
_UNSET = ("PYTHONSTARTUP", "PYTHONINSPECT", "TF_XLA_FLAGS", "TF_CONFIG", "TF_FORCE_GPU_ALLOW_GROWTH")


def estimate(
    request: Request,
    *,
    python: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    memory_limit: int = DEFAULT_MEMORY,
    folders: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
) -> Estimate:
    """The answer to a request, from a child process. Raises EstimateError.

    `folders` are where the user's own modules are; `environment` is set on top of the child's.
    """
    with tempfile.TemporaryDirectory(prefix="oomlint-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        answer = folder / "answer.json"
        work = folder / "work"
        work.mkdir()
        with (folder / "output.txt").open("w+b") as output:
            status, why = _run(
                request,
                [python or sys.executable, "-m", "oomlint.estimate.worker", str(answer)],
                _environment(work, folders, environment or {}),
                work,
                output,
                timeout,
                memory_limit,
            )
            output.seek(0)
            said = output.read().decode("utf-8", "replace")
        try:
            content = json.loads(answer.read_text("utf-8")) if not why else None
        except (OSError, ValueError):
            content = None
    return _answer(content, status, why, said, python, timeout, memory_limit)


def _answer(
    content: Any, status: int, why: str, said: str, python: str | None, timeout: float, memory_limit: int
) -> Estimate:
    tail = said[-_SHOWN:].strip()
    if why == "timeout":
        message = f"the estimate was not ready after {timeout:g} s"
        raise EstimateError(message, "timeout", hint="Give it more with --timeout SECONDS.", output=tail)
    if why == "memory":
        message = f"building the model took more than {write_bytes(memory_limit)} of the host's memory"
        hint = "Give it more with --memory-limit SIZE, or name the function that builds the model: FILE.py:function."
        raise EstimateError(message, "memory", hint=hint, output=tail)
    if isinstance(content, dict) and "estimate" in content:
        return Estimate.from_json(json.dumps(content["estimate"]))
    if isinstance(content, dict) and "error" in content:
        raise EstimateError(**{"output": tail, **content["error"]})
    if re.search(r"No module named '?oomlint", said):
        message = f"{python} cannot import oomlint"
        hint = f'Install it there: {python} -m pip install "oomlint[estimate]"'
        raise EstimateError(message, "extra", hint=hint, output=tail)
    died = f"signal {-status}" if status < 0 else f"exit status {status}"
    raise EstimateError(f"the process that builds the model ended with {died}", "internal", output=tail)


def _environment(work: Path, folders: Sequence[Path], more: Mapping[str, str]) -> dict[str, str]:
    """The child's environment. The user's own folders come last: a `keras.py` there must not hide the library."""
    environment = {name: value for name, value in os.environ.items() if name not in _UNSET} | _SET
    own = Path(__file__).resolve().parents[2]  # in a checkout oomlint may not be installed
    paths = [str(own), *filter(None, [os.environ.get("PYTHONPATH", "")])]
    environment |= {
        "PYTHONPATH": os.pathsep.join(paths),
        "OOMLINT_FOLDERS": os.pathsep.join(str(folder) for folder in folders),
        "OOMLINT_WORK": str(work),
        "TMPDIR": str(work),
        "TEMP": str(work),
        "TMP": str(work),
    }
    flags = environment.get("XLA_FLAGS", "")
    if NO_AUTOTUNING.partition("=")[0] not in flags:
        environment["XLA_FLAGS"] = f"{flags} {NO_AUTOTUNING}".strip()
    return environment | dict(more)


def _run(
    request: Request,
    command: list[str],
    environment: dict[str, str],
    work: Path,
    output: Any,
    timeout: float,
    memory_limit: int,
) -> tuple[int, str]:
    """Run the child to its end, or to a limit: its status, and the limit that it met."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=work,
            env=environment,
            start_new_session=os.name == "posix",
        )
    except OSError as error:
        raise EstimateError(f"cannot start {command[0]}: {error.strerror}", "target") from None
    assert process.stdin is not None
    try:
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(request.to_json().encode())
        end = time.monotonic() + timeout
        while True:
            try:
                return process.wait(_LOOK_EVERY), ""
            except subprocess.TimeoutExpired:
                pass
            if time.monotonic() > end:
                return 0, "timeout"
            if _resident(process.pid) > memory_limit:
                return 0, "memory"
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it started."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _resident(pid: int) -> int:
    """Bytes of memory that the child holds; 0 where the system does not tell.

    A limit on its address space would not do: TensorFlow and XLA reserve far more than they ever touch.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def backend_environment(request: Request) -> dict[str, str]:
    """What chooses Keras' generation and backend in the child."""
    names = request.names
    if names.get("legacy"):
        return {"KERAS_BACKEND": "tensorflow", "TF_USE_LEGACY_KERAS": "1"}
    chosen = names.get("backend", "tensorflow") if request.backend == "auto" else request.backend
    return {"KERAS_BACKEND": "jax" if chosen == "jax" else "tensorflow"}
