"""Where a script's devices can be set up: after its imports, before anything that makes them."""

from __future__ import annotations

from collections.abc import Iterable

from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.trace import Body, Trace
from oomlint.findings.model import Fix, Safety
from oomlint.syntax.blocks import imports_of, index_of, names_bound
from oomlint.syntax.edits import AddImport, Edit, InsertAfter
from oomlint.syntax.source import Source

# What a GPU is called in the lines that are put in, if the script has no other use for the name.
NAMES = ("gpu", "device", "one_gpu")


def name_of_a_gpu(source: Source) -> str:
    """A name that the script binds to nothing."""
    bound = names_bound(source.module)
    return next((name for name in NAMES if name not in bound), "each_gpu")


def after_imports(trace: Trace, lines: Iterable[str], message: str) -> Fix | None:
    """Insert lines (`{tf}`: TensorFlow, `{gpu}`: a free name) after the imports of TensorFlow, Keras or data sets."""
    imports = imports_of(trace.source, "tensorflow", ("keras", "tf_keras", "tensorflow_datasets"))
    if imports is None or any(module.startswith("tensorflow.compat.v1") for module, _ in trace.imports):
        return None  # a session has its own options
    last = _visible_set(trace, imports.index)
    if last is None:
        return None
    name = imports.name or "tf"
    gpu = name_of_a_gpu(trace.source)
    block = ["", *(line.replace("{tf}", name).replace("{gpu}", gpu) for line in lines)]
    statements = trace.source.module.body
    if last + 1 < len(statements) and not getattr(
        trace.source.written(statements[last + 1]), "leading_lines", ()
    ):
        block.append("")
    place = trace.source.place(imports.neighbour)
    edits: list[Edit] = [InsertAfter(trace.source.place(statements[last]), tuple(block))]
    if imports.name is None:
        edits.insert(0, AddImport(place, "import tensorflow as tf"))
    return Fix(message, Safety.UNSAFE, tuple(edits))


def _visible_set(trace: Trace, index: int) -> int | None:
    """The number of the statement after which the visible GPUs are settled, from a statement of the module on.

    Listing the GPUs makes CUDA read CUDA_VISIBLE_DEVICES, so the script has to have set it by then.
    """
    block = trace.source.module.body
    for call, _ in environment(trace, "CUDA_VISIBLE_DEVICES"):
        at = index_of(block, call.node) if call.source is trace.source else None
        if at is None or call.context.innermost(Body) is not None:
            return None
        index = max(index, at)
    return index
