"""Fixes that move a stage of a tf.data pipeline, where nothing else sees the pipeline in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.queries.pipelines import between, uses_of
from oomlint.dryrun.trace import Assign, Call
from oomlint.syntax.blocks import imports_of, in_one_block
from oomlint.syntax.method_chains import Stage, before
from oomlint.syntax.uses import names_in

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.syntax.edits import Edit


def moved_before(trace: Trace, moving: Call, over: Sequence[Call]) -> tuple[Edit, ...]:
    """The edits that put a stage in front of the stages directly before it; none where that may change more."""
    if any(stage.place.source is not trace.source for stage in (*over, moving)):
        return ()
    if any(len(getattr(call.node, "args", ())) != len(call.arguments) for call in (*over, moving)):
        return ()  # `tf.data.Dataset.shuffle(dataset, n)` has its dataset among the arguments
    if any(stage.context.frame is not moving.context.frame for stage in over):
        return ()  # in another block: not every way leads through both
    statements = [call.statement.node for call in (*over, moving) if call.statement is not None]
    if not in_one_block(trace.source.module, statements):
        return ()  # `if training: ds = ds.shuffle(n)` must stay under its test
    if _seen_between(trace, moving, over) or _rebound_between(trace, moving, over[0]):
        return ()
    stages = [Stage(stage.place, stage.statement) for stage in over]
    return before(Stage(moving.place, moving.statement), stages) or ()


def _seen_between(trace: Trace, moving: Call, over: Sequence[Call]) -> bool:
    """Whether anything else uses the pipeline between those stages."""
    own = {id(stage) for stage in (*over, moving)}
    for event, dataset in uses_of(trace, over[0]):
        if id(event) not in own and not any(stage is moving for stage in dataset.stages):
            return True
    return False


def _rebound_between(trace: Trace, moving: Call, first: Call) -> bool:
    """Whether a name in the moved call's arguments is bound after the place it moves to."""
    node = moving.node
    assert isinstance(node, cst.Call)
    names = {name for argument in node.args for name in names_in(argument.value)}
    if not names:
        return False
    return any(isinstance(event, Assign) and event.path in names for event in between(trace, first, moving))


def tensorflow_name(trace: Trace) -> str | None:
    """What the document calls TensorFlow (`tf`), if it imports it as a module."""
    for module in ("tensorflow", "tensorflow.compat.v2", "tensorflow.compat.v1"):
        imports = imports_of(trace.source, module)
        if imports is not None and imports.name is not None:
            return imports.name
    return None
