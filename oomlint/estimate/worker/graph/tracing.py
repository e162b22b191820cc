"""From a Keras model to the graph of its training step, with static shapes and as Grappler leaves it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from oomlint.estimate.worker.graph.conversion import Converter
from oomlint.estimate.worker.graph.large_constants import put_back, set_aside
from oomlint.estimate.worker.graph.operations import Program
from oomlint.estimate.worker.subject import Spec, Subject, packed

_INLINED = re.compile(r"/(?:body|cond)/_\d+/")  # what Grappler puts before the names of a loop's operations


def traced(subject: Subject, optimized: bool = True, as_run: bool = False, on_cpu: bool = False) -> Program:
    """The program of one step. Nothing is run: variables need no values.

    Without `optimized` the operations are those that Python called, one by one: what runs eagerly. They are in the
    order in which Python called them; `as_run` in the one that Grappler leaves, which TensorFlow's executor keeps to.
    `on_cpu`: with what Grappler does where memory is short, of which it believes a CPU to have 256 MiB.
    """
    function = _concrete(subject)
    graph = function.graph
    fetched = [tensor.name for tensor in graph.outputs]
    effects = [operation.name for operation in graph.get_operations() if _changes_something(operation)]
    definition = graph.as_graph_def(add_shapes=True)
    branching = [node for node in _nodes(definition) if "_lower_using_switch_merge" in node.attr]
    for node in branching:  # loops stay single operations with a body, in place of jumps
        node.attr["_lower_using_switch_merge"].b = False
    roots = [name.partition(":")[0] for name in fetched] + effects
    if optimized:
        large = {} if as_run else set_aside(definition, graph)
        before, definition = definition, _optimized(definition, graph, roots, on_cpu)
        put_back(definition, before, large)
    shapes = {one.name: [tensor.shape for tensor in one.outputs] for one in graph.get_operations()}
    order = [node.name for node in definition.node] if as_run else list(shapes)
    inner = _inner_order(graph, roots, on_cpu) if as_run and optimized and branching else []
    converter = Converter(definition, shapes, order, inner)
    return replace(converter.program(fetched, effects), unknown=converter.unknown)


def _nodes(definition: Any) -> Iterator[Any]:
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


def _inner_order(graph: Any, roots: list[str], on_cpu: bool) -> list[str]:
    """The operations of loops in the order of the graph in which their bodies are inlined, by their names inside."""
    lowered = _optimized(graph.as_graph_def(add_shapes=True), graph, roots, on_cpu)
    return [_INLINED.split(node.name)[-1] for node in lowered.node if _INLINED.search(node.name)]


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


def _optimized(definition: Any, graph: Any, roots: list[str], on_cpu: bool = False) -> Any:
    """What TensorFlow runs instead: constants folded, dead operations gone, functions inlined, operations fused."""
    from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
    from tensorflow.python.framework import errors, meta_graph
    from tensorflow.python.grappler import tf_optimizer

    described = meta_graph.create_meta_graph_def(graph_def=definition, graph=graph)
    nodes = meta_graph_pb2.CollectionDef()
    nodes.node_list.value.extend(roots)
    described.collection_def["train_op"].CopyFrom(nodes)
    config = config_pb2.ConfigProto()
    if not on_cpu:  # its swapping and summing in place depends on the memory of a device that is not here
        config.graph_options.rewrite_options.memory_optimization = (
            rewriter_config_pb2.RewriterConfig.NO_MEM_OPT
        )
    try:
        return tf_optimizer.OptimizeGraph(config, described)
    except (errors.OpError, ValueError):  # it only makes the graph better; the graph itself is right
        return definition
