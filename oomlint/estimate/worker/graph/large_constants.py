"""Large constants that operations compute, the masks of attention above all: kept from Grappler, which would fold them.

XLA never sees a folded mask: it is handed the step as it was traced, and computes masks where they are used. Grappler
takes seven seconds and half a GiB for each block of a decoder with 32 heads and 2048 tokens.
"""

from __future__ import annotations

from typing import Any

# What stands for them: an operation with a shape and no inputs that Grappler does not fold, as it has effects. For a
# Placeholder it makes a value to feed, 128 MiB for each mask of such a decoder (GrapplerItemFromMetaGraphDef in
# tensorflow/core/grappler/grappler_item_builder.cc).
STAND_IN = "InfeedDequeue"
SMALL = 100 * 1024  # `kMaxConstantSize` of tensorflow/core/grappler/optimizers/constant_folding.cc, bytes


def set_aside(definition: Any, graph: Any) -> dict[str, Any]:
    """Stand-ins for the operations that depend on constants alone and give much; the operations by name."""
    fixed: set[str] = set()
    large = set()
    for operation in graph.get_operations():
        if operation.op_def.is_stateful or not (operation.inputs or operation.type == "Const"):
            continue
        if not all(one.op.name in fixed for one in operation.inputs):
            continue
        fixed.add(operation.name)
        if operation.type != "Const" and len(operation.outputs) == 1 and _is_large(operation.outputs[0]):
            large.add(operation.name)
    kept = {}
    for node in definition.node:
        if node.name in large:
            kept[node.name] = type(node).FromString(node.SerializeToString())
            output = graph.get_tensor_by_name(f"{node.name}:0")
            del node.input[:]
            node.op = STAND_IN
            node.attr.clear()
            node.attr["dtype"].type = output.dtype.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(output.shape.as_proto())
    return kept


def put_back(optimized: Any, definition: Any, kept: dict[str, Any]) -> None:
    """The operations in place of their stand-ins, with all that they are computed from."""
    original = {node.name: node for node in definition.node} | kept
    there = {node.name for node in optimized.node}
    open_nodes = []
    for node in optimized.node:
        if node.name in kept:
            node.CopyFrom(kept[node.name])
            open_nodes.append(node)
    while open_nodes:
        for name in open_nodes.pop().input:
            name = name.lstrip("^").partition(":")[0]
            if name not in there:
                there.add(name)
                added = optimized.node.add()
                added.CopyFrom(original[name])
                open_nodes.append(added)


def _is_large(tensor: Any) -> bool:
    count = tensor.shape.num_elements()
    return count is not None and count * tensor.dtype.size > SMALL
