"""Processor time and memory of processes, for the benchmarks: the clock tells of a machine's other work as well."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def compiled_in(folder: Path) -> dict[str, str]:
    """The environment of a run whose modules are compiled once, as installers do it, into a folder."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return environment | {"PYTHONPYCACHEPREFIX": str(folder)}


def seconds(
    arguments: Sequence[str],
    folder: Path,
    *,
    environment: dict[str, str] | None = None,
    verdict: tuple[int, ...] = (0,),
) -> float:
    """Processor time of one run of this Python in a folder, which ends with a status of the verdict."""
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, env=environment, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in verdict, (process.returncode, arguments)
    return usage.ru_utime + usage.ru_stime


def so_far(pid: int) -> float:
    """Seconds of processor time that a process has taken, where Linux tells; 0 when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak() -> int:
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
