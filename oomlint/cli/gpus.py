"""`oomlint gpus`: the GPUs that oomlint knows, and the memory TensorFlow can use on each."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oomlint.project.gpus import Gpu


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "gpus",
        help="list the GPUs it knows",
        description="List the GPUs that --gpu knows by name, with the memory that TensorFlow can use on each.",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--format", "--output-format", choices=("text", "json"), default="text", help="default: text"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the table."""
    from oomlint.project.gpus import GPUS

    if arguments.format == "json":
        print(json.dumps([record(gpu) for gpu in GPUS.values()], indent=2))
    else:
        print(text(list(GPUS.values())))
    return 0


def record(gpu: Gpu) -> dict[str, Any]:
    """A card as data."""
    return {
        "name": gpu.name,
        "kind": gpu.kind,
        "compute_capability": ".".join(map(str, gpu.capability)),
        "memory_bytes": gpu.memory,
        "usable_bytes": gpu.usable,
        "observed_bytes": list(gpu.observed) if gpu.observed else None,
        "memory_from": gpu.memory_from,
    }


def text(gpus: list[Gpu]) -> str:
    """The table, a section for each kind of card."""
    from oomlint.project.gpus import GIB

    width = max(len(gpu.name) for gpu in gpus)
    lines = [f"{'GPU':{width}}  {'has':>7}  {'usable':>7}  capability  usable is"]
    kind = ""
    for gpu in gpus:
        if gpu.kind != kind:
            kind = gpu.kind
            lines += ["", kind]
        seen = "worked out from its total"
        if gpu.observed:
            low, high = (amount / GIB for amount in gpu.observed)
            seen = f"seen, {low:.1f}" + (f" to {high:.1f}" if f"{low:.1f}" != f"{high:.1f}" else "")
        capability = ".".join(map(str, gpu.capability))
        lines.append(
            f"{gpu.name:{width}}  {gpu.memory / GIB:7.1f}  {gpu.usable / GIB:7.1f}  {capability:>10}  {seen}"
        )
    lines += [
        "",
        "GiB. Usable: TensorFlow's own pool on a card that serves nothing else; a desktop on it takes more away.",
        "Any amount will do as well: --gpu 16GB, --gpu 10.5GiB.",
    ]
    return "\n".join(lines)
