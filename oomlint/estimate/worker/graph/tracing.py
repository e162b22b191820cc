"""From a Keras model to the graph of its training step, with static shapes and as Grappler leaves it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from oomlint.estimate.worker.graph.chosen import all_chosen
from oomlint.estimate.worker.graph.conversion import Converter
from oomlint.estimate.worker.graph.kinds import CHANGES
from oomlint.estimate.worker.graph.large_constants import put_back, set_aside
from oomlint.estimate.worker.graph.operations import Program
from oomlint.estimate.worker.graph.parts import BACKWARD
from oomlint.estimate.worker.keras.generation import tree
from oomlint.estimate.worker.keras.inner_functions import traced_in_place
from oomlint.estimate.worker.keras.inner_layers import one_generator
from oomlint.estimate.worker.subject import Spec, Subject, packed

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
RETURNED = "returned_"
ARGUMENT = "_Arg"
# What Grappler puts in another operation's place is a copy with that one's attributes, its shape among them, which may
# not be the copy's (ReorderCastLikeAndValuePreserving in tensorflow/core/grappler/optimizers/arithmetic_optimizer.cc).
_COPIED = "ArithmeticOptimizer/"
_INLINED = re.compile(r"/(?:body|cond)/_\d+/")  # what Grappler puts before the names of a loop's operations


def traced(subject: Subject, optimized: bool = True, as_run: bool = False, on_cpu: bool = False) -> Program:
    """The program of one step. Nothing is run: variables need no values.

    Without `optimized` the operations are those that Python called, one by one: what runs eagerly. They are in the
    order in which Python called them; `as_run` in the one that Grappler leaves, which TensorFlow's executor keeps to.
    `on_cpu`: with what Grappler does where memory is short, of which it believes a CPU to have 256 MiB.
    """
    function, bounded = _bounded(subject)
    graph = function.graph
    fetched = [tensor.name for tensor in graph.outputs]
    effects = [operation.name for operation in graph.get_operations() if _changes_something(operation)]
    definition = graph.as_graph_def(add_shapes=True)
    shapes = {one.name: [tensor.shape for tensor in one.outputs] for one in graph.get_operations()}
    branching = [node for node in _nodes(definition) if "_lower_using_switch_merge" in node.attr]
    for node in branching:  # loops stay single operations with a body, in place of jumps
        node.attr["_lower_using_switch_merge"].b = False
    if not optimized:
        # What Python calls runs, asked for or not; of gradients the tape asks for those only that it needs.
        effects = [name for name in shapes if not name.startswith(f"{BACKWARD}/")]
        order = list(shapes)
        inner = []
    elif as_run:
        fetched = [f"{RETURNED}{number}:0" for number in range(len(graph.outputs))]
        shapes |= {f"{RETURNED}{number}": [tensor.shape] for number, tensor in enumerate(graph.outputs)}
        definition = _as_run(definition, graph, effects, on_cpu)
        order = [node.name for node in definition.node]
        inner = _inner_order(graph, effects, on_cpu) if branching else []
    else:
        large = set_aside(definition, graph)
        roots = [name.partition(":")[0] for name in fetched] + effects
        before, definition = definition, _optimized(definition, graph, roots)
        put_back(definition, before, large)
        order, inner = list(shapes), []
    converter = Converter(definition, shapes, order, inner)
    return replace(converter.program(fetched, effects), unknown=converter.unknown, bounded=bounded)


def _nodes(definition: Any) -> Iterator[Any]:
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


def _inner_order(graph: Any, effects: list[str], on_cpu: bool) -> list[str]:
    """The operations of loops in the order of the graph in which their bodies are inlined, by their names inside."""
    lowered = _as_run(graph.as_graph_def(add_shapes=True), graph, effects, on_cpu)
    return [_INLINED.split(node.name)[-1] for node in lowered.node if _INLINED.search(node.name)]


def _as_run(definition: Any, graph: Any, effects: list[str], on_cpu: bool) -> Any:
    """As the runtime has Grappler work on a function: what it returns comes out of nodes of their own.

    What the function must do besides, the ends of its control flow, is kept and not fetched. The order that Grappler
    leaves depends on both.
    """
    for node in _nodes(definition) if on_cpu else ():
        node.device = CPU
    _tell_variables(definition, graph)
    for number, tensor in enumerate(graph.outputs):
        node = definition.node.add()
        node.name, node.op, node.device = f"{RETURNED}{number}", "Identity", CPU if on_cpu else ""
        node.input.append(tensor.name.removesuffix(":0"))
        node.attr["T"].type = tensor.dtype.as_datatype_enum
    fetch = [f"{RETURNED}{number}" for number in range(len(graph.outputs))]
    kept = dict.fromkeys([*(operation.name for operation in graph.control_outputs), *effects])
    better = _optimized(definition, graph, fetch, list(kept), on_cpu)
    for node in better.node:
        if node.op == ARGUMENT:
            node.op = "Placeholder"
            node.attr["dtype"].type = node.attr["T"].type
    return better


def _tell_variables(definition: Any, graph: Any) -> None:
    """Says how large the variables are that the step is given, as the runtime does of a function's arguments.

    Of a placeholder Grappler knows no such thing: then it does not know the shape of anything that weights are in, and
    leaves what needs equal shapes, such as a product with one (the beta of `swish`).
    """
    from tensorflow.python.ops import handle_data_util

    nodes = {node.name: node for node in definition.node}
    for number, tensor in enumerate(graph.inputs):
        told = handle_data_util.get_resource_handle_data(tensor)
        if told is None or not told.is_set:
            continue
        node = nodes[tensor.op.name]
        node.op = ARGUMENT
        for name in ("dtype", "shape"):
            node.attr.pop(name, None)
        node.attr["T"].type = tensor.dtype.as_datatype_enum
        node.attr["index"].i = number
        node.attr["_handle_dtypes"].list.type.extend(one.dtype for one in told.shape_and_type)
        node.attr["_handle_shapes"].list.shape.extend(one.shape for one in told.shape_and_type)


def _bounded(subject: Subject) -> tuple[Any, int]:
    """The traced step, and how many outputs are as large in it as their data lets them be."""
    with all_chosen() as bounded:
        try:
            return _concrete(subject), len(bounded)
        except Exception:  # a shape that the code knows better may contradict the bound
            if not bounded:
                raise
    return _concrete(subject), 0


def _concrete(subject: Subject) -> Any:
    import tensorflow as tf

    def spec(leaf: Spec) -> Any:
        return tf.TensorSpec(leaf.shape, leaf.dtype)

    data = tuple(tree().map_structure(spec, part) for part in subject.data)
    if subject.mode == "predict":
        step = tf.function(lambda x: subject.model(x, training=False), autograph=False)
    else:
        step = tf.function(lambda *parts: subject.model.train_step(packed(parts)), autograph=False)
    with traced_in_place(everywhere=True), one_generator():
        return step.get_concrete_function(*data)


def _changes_something(operation: Any) -> bool:
    return bool(operation.type.startswith(CHANGES))


def _optimized(
    definition: Any, graph: Any, fetch: list[str], kept: list[str] | None = None, on_cpu: bool = False
) -> Any:
    """What TensorFlow runs instead: constants folded, dead operations gone, functions inlined, operations fused."""
    from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
    from tensorflow.python.framework import errors, meta_graph
    from tensorflow.python.grappler import tf_optimizer

    described = meta_graph.create_meta_graph_def(graph_def=definition, graph=graph)
    # The collection of initializers is the one whose operations Grappler keeps without fetching them.
    for collection, names in (("train_op", fetch), ("table_initializer", kept or [])):
        nodes = meta_graph_pb2.CollectionDef()
        nodes.node_list.value.extend(names)
        described.collection_def[collection].CopyFrom(nodes)
    config = config_pb2.ConfigProto()
    if not on_cpu:  # its swapping and summing in place depends on the memory of a device that is not here
        config.graph_options.rewrite_options.memory_optimization = (
            rewriter_config_pb2.RewriterConfig.NO_MEM_OPT
        )
    try:
        better = tf_optimizer.OptimizeGraph(config, described)
    except (errors.OpError, ValueError):  # it only makes the graph better; the graph itself is right
        return definition
    for node in _nodes(better):
        if _COPIED in node.name:
            node.attr.pop("_output_shapes", None)
    return better
