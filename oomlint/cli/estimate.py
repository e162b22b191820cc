"""`oomlint estimate`: the peak GPU memory of a training step, without a GPU."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from oomlint.cli.estimate_output import add_output_flags, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oomlint.estimate.result import Estimate

_TARGETS = """
targets:
  train.py, a.ipynb     the script's or notebook's own training call, found and sliced out of it
  train.py:build_model  a function of a file or notebook that returns a model
  package.module:fn     the same, importable
  model.keras           a saved model (.keras, .h5, .json, a SavedModel folder)
  keras:ResNet50        a model of keras.applications

what only the data tells:
  --data "x=32x128 int32 <20000, y=32 <10"   a batch: sizes, dtype, and what its numbers are below. Names that
                        are called after it (maxlen, vocab_size, num_classes, X_train) get their values from it
  --data "maxlen=128, vocab_size=20000"      values of the script by name
  --data batch.npz      a batch that was saved: numpy.savez("batch.npz", x=x, y=y)
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "estimate",
        help="estimate the GPU memory of a training step",
        description="Estimate the peak GPU memory of a training step on a CPU, without running it.",
        epilog=_TARGETS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument("target", metavar="TARGET", help="what trains: see below")
    training = parser.add_argument_group("the training")
    training.add_argument("--batch-size", type=_count, metavar="N", help="samples in a step, on each GPU")
    training.add_argument("--optimizer", metavar="NAME", help="adam, momentum, 'SGD(momentum=0.9)', ...")
    training.add_argument("--loss", metavar="NAME")
    training.add_argument("--policy", choices=("float32", "mixed_float16", "mixed_bfloat16"))
    training.add_argument("--input-shape", metavar="SIZES", help="one sample's shape: 224,224,3")
    training.add_argument("--replicas", type=_count, default=1, metavar="N", help="GPUs that train together")
    training.add_argument("--mode", choices=("train", "predict"), default="train")
    choice = parser.add_argument_group("what to estimate")
    choice.add_argument(
        "--model", metavar="NAME", help="of several models that a script trains: a name or a line"
    )
    choice.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the function, or a value of the script that comes from its data",
    )
    choice.add_argument(
        "--data", action="append", default=[], metavar="BATCH", help="what only the data tells: see below"
    )
    choice.add_argument("--show-slice", action="store_true", help="show what of the script is run, and stop")
    how = parser.add_argument_group("how")
    how.add_argument("--gpu", metavar="NAME", help="T4, A100-40GB, 16GB, ... (default: as configured)")
    how.add_argument(
        "--jit", choices=("auto", "on", "off"), default="auto", help="XLA; auto: as Keras decides"
    )
    how.add_argument("--backend", choices=("auto", "tensorflow", "jax"), default="auto")
    how.add_argument("--engine", choices=("auto", "graph", "xla"), default="auto")
    how.add_argument("--max-batch", action="store_true", help="find the largest batch that fits")
    how.add_argument("--what-if", action="store_true", help="try what would save memory")
    how.add_argument("--python", metavar="PATH", help="the interpreter that has the script's libraries")
    how.add_argument("--timeout", type=float, metavar="SECONDS", help="default: 600")
    how.add_argument("--memory-limit", metavar="SIZE", help="host memory for the estimate (default: 12GiB)")
    add_output_flags(parser)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Estimate, and print the answer."""
    from oomlint.estimate.errors import EstimateError
    from oomlint.project.configuration import ConfigurationError
    from oomlint.project.gpus import MemoryAmountError

    try:
        if arguments.show_slice:
            from oomlint.estimate.asking import request_of

            print(request_of(arguments).source, end="")
            return 0
        estimate = estimated(arguments)
    except (EstimateError, MemoryAmountError, ConfigurationError) as error:
        print(f"oomlint: {error}", file=sys.stderr)
        needs = getattr(error, "needs", ())
        if needs:
            print(f"\n  {command_with(arguments, needs)}\n", file=sys.stderr)
            print("The sizes in it are examples: put your own there.", file=sys.stderr)
            return 2
        output = getattr(error, "output", "")
        if output:
            print(f"The script's own last output:\n{output}", file=sys.stderr)
        return 2
    try:
        return write(estimate, arguments)
    except OSError as error:
        print(f"oomlint: {arguments.output}: {error.strerror or error}", file=sys.stderr)
        return 2


def command_with(arguments: argparse.Namespace, needs: Sequence[str]) -> str:
    """The command as it was given, with what it lacks: a line to paste."""
    import shlex

    words = ["oomlint", "estimate", arguments.target]
    for name, value in vars(arguments).items():
        if name in ("target", "data", "run", "command") or value in (None, False, [], _DEFAULTS.get(name)):
            continue
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, list) else [value]:
            words += [option] if one is True else [option, str(one)]
    return shlex.join([*words, "--data", ", ".join([*arguments.data, *needs])])


_DEFAULTS = {"replicas": 1, "mode": "train", "jit": "auto", "backend": "auto", "engine": "auto"}


def estimated(arguments: argparse.Namespace) -> Estimate:
    """The answer. Raises EstimateError, MemoryAmountError and ConfigurationError."""
    from pathlib import Path

    from oomlint.estimate import launch
    from oomlint.estimate.asking import folders_of, request_of
    from oomlint.project.gpus import parse_memory

    request = request_of(arguments)
    limit = arguments.memory_limit
    return launch.estimate(
        request,
        python=arguments.python,
        timeout=launch.DEFAULT_TIMEOUT if arguments.timeout is None else arguments.timeout,
        memory_limit=launch.DEFAULT_MEMORY if limit is None else parse_memory(limit),
        folders=folders_of(arguments.target, Path.cwd()),
        environment=launch.backend_environment(request),
    )
