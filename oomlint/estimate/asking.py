"""From what the user wrote on the command line to a request: reads the target, slices the script."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oomlint.estimate.descriptions import read_data
from oomlint.estimate.errors import NO_TRAINING, EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.slicing import clustering
from oomlint.estimate.targets import Target, read_arguments, read_shape, read_target
from oomlint.project.configuration import Configurations
from oomlint.project.gpus import find_gpu, parse_memory, write_bytes

if TYPE_CHECKING:
    import argparse

    from oomlint.project.settings import Settings


def request_of(arguments: argparse.Namespace) -> Request:
    """The request. Raises EstimateError, MemoryAmountError and ConfigurationError."""
    target = read_target(arguments.target)
    settings = _settings(target)
    budget = settings.budget
    gpu = arguments.gpu or budget.gpu_name or write_bytes(budget.gpu)
    shape = read_shape(arguments.input_shape) if arguments.input_shape else None
    described = read_data(arguments.data)
    values = described.values | read_arguments(arguments.arg)
    found = find_gpu(gpu)
    options: dict[str, Any] = {
        "arguments": values,
        "data": described.arrays,
        "batch_size": arguments.batch_size,
        "optimizer": arguments.optimizer,
        "loss": arguments.loss,
        "policy": arguments.policy,
        "input_shape": shape,
        "gpu": gpu if found is None else found.name,
        "usable_bytes": parse_memory(gpu) if arguments.gpu else budget.gpu,
        "replicas": arguments.replicas,
        "jit": arguments.jit,
        "backend": arguments.backend,
        "engine": arguments.engine,
        "mode": arguments.mode,
        "max_batch": arguments.max_batch,
        "what_if": arguments.what_if,
        "layers": arguments.layers,
        "fallback": True,
    }
    request = request_for(target, arguments.model, options, settings)
    more = {"data_file": described.file} if described.file else {}
    if how := clustering.in_the_shell(os.environ):
        more["clustering"] = how
    return replace(request, names=more | request.names)


def _settings(target: Target) -> Settings:
    """What is configured where the target's file is, or here."""
    folder = target.path.parent if target.path is not None else Path()
    return Configurations().for_document(folder.absolute()).settings


def request_for(
    target: Target, model: str | None, options: dict[str, Any], settings: Settings | None = None
) -> Request:
    """The request for a target that was read, with the request's other fields."""
    named = settings.keras_backend if settings is not None else None
    names: dict[str, str] = {"backend": named} if named is not None else {}
    if target.form == "application":
        return Request(f"keras:{target.name}", names=names, **options)
    if target.form == "module":
        return Request(target.text, names=names, **options)
    assert target.path is not None
    if target.form == "saved":
        return Request(target.text, names=names | {"saved": str(target.path.resolve())}, **options)
    from oomlint.estimate.slicing.script import slice_script

    values = options["arguments"]
    fallback = options.get("fallback", False)
    try:
        sliced = slice_script(
            target.path,
            function=target.name,
            model=model,
            values=values,
            settings=settings,
            fallback=fallback,
        )
    except EstimateError as error:
        if not fallback or target.name or not error.message.startswith(NO_TRAINING):
            raise
        names |= {"path": str(target.path.resolve()), "unsliced": json.dumps(error.to_dict())}
        return Request(target.text, names=names, **options)
    if sliced.replicas and options["replicas"] == 1:
        options["replicas"] = sliced.replicas
    return Request(target.text, source=sliced.text, names=sliced.names, **options)


def folders_of(target: str, here: Path) -> list[Path]:
    """Where the user's own modules may be imported from."""
    before = target.rpartition(":")[0] or target
    path = Path(before)
    own = [path.resolve().parent] if path.suffix in (".py", ".ipynb") else []
    return [*own, here.resolve()]


__all__ = ["EstimateError", "folders_of", "request_for", "request_of"]
