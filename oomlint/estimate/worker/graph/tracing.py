"""From a Keras model to the graph of its training step, with static shapes and as Grappler leaves it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oomlint.estimate.worker.graph.conversion import Converter
from oomlint.estimate.worker.graph.operations import Program
from oomlint.estimate.worker.subject import Spec, Subject, packed


def traced(subject: Subject, optimized: bool = True) -> Program:
    """The program of one step. Nothing is run: variables need no values.

    Without `optimized` the operations are those that Python called, one by one: what runs eagerly.
    """
    function = _concrete(subject)
    graph = function.graph
    fetched = [tensor.name for tensor in graph.outputs]
    effects = [operation.name for operation in graph.get_operations() if _changes_something(operation)]
    definition = graph.as_graph_def(add_shapes=True)
    for nodes in (definition.node, *(inner.node_def for inner in definition.library.function)):
        for node in nodes:  # loops stay single operations with a body, in place of jumps
            if "_lower_using_switch_merge" in node.attr:
                node.attr["_lower_using_switch_merge"].b = False
    if optimized:
        definition = _optimized(definition, graph, [name.partition(":")[0] for name in fetched] + effects)
    shapes = {one.name: [tensor.shape for tensor in one.outputs] for one in graph.get_operations()}
    converter = Converter(definition, shapes)
    return replace(converter.program(fetched, effects), unknown=converter.unknown)


def _concrete(subject: Subject) -> Any:
    import keras
    import tensorflow as tf

    def spec(leaf: Spec) -> Any:
        return tf.TensorSpec(leaf.shape, leaf.dtype)

    data = tuple(keras.tree.map_structure(spec, part) for part in subject.data)
    if subject.mode == "predict":
        step = tf.function(lambda x: subject.model(x, training=False), autograph=False)
        return step.get_concrete_function(*data)
    step = tf.function(lambda *parts: subject.model.train_step(packed(parts)), autograph=False)
    return step.get_concrete_function(*data)


def _changes_something(operation: Any) -> bool:
    return bool(
        operation.type.startswith(("Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter"))
    )


def _optimized(definition: Any, graph: Any, roots: list[str]) -> Any:
    """What TensorFlow runs instead: constants folded, dead operations gone, functions inlined, operations fused."""
    from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
    from tensorflow.python.framework import errors, meta_graph
    from tensorflow.python.grappler import tf_optimizer

    described = meta_graph.create_meta_graph_def(graph_def=definition, graph=graph)
    nodes = meta_graph_pb2.CollectionDef()
    nodes.node_list.value.extend(roots)
    described.collection_def["train_op"].CopyFrom(nodes)
    config = config_pb2.ConfigProto()
    # Its swapping and summing in place depends on the memory of a device that is not here.
    config.graph_options.rewrite_options.memory_optimization = rewriter_config_pb2.RewriterConfig.NO_MEM_OPT
    try:
        return tf_optimizer.OptimizeGraph(config, described)
    except (errors.OpError, ValueError):  # it only makes the graph better; the graph itself is right
        return definition
