"""A TensorFlow graph as a `Program`."""

from __future__ import annotations

import math
from typing import Any

from oomlint.estimate.worker.graph.convolutions import CONVOLUTIONS
from oomlint.estimate.worker.graph.kinds import LOOPS
from oomlint.estimate.worker.graph.operations import Operation, Output, Program
from oomlint.estimate.worker.graph.pieces import source_of, whole_of
from oomlint.estimate.worker.keras.state import item_size

# Calls and choices whose functions are taken as one operation with an inside.
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_CHOICES = ("If", "StatelessIf", "Case", "StatelessCase")
_DEEPEST = 8  # functions within functions


class Converter:
    """Reads a graph definition. Shapes come from the traced graph where Grappler's inference loses them."""

    def __init__(
        self,
        definition: Any,
        shapes: dict[str, list[Any]],
        order: list[str],
        inner: list[str],
        library: dict[str, Any] | None = None,
    ) -> None:
        self._definition = definition
        self._library = library or {one.signature.name: one for one in definition.library.function}
        self._shapes = shapes
        self._stand_ins: dict[str, str] = {}
        # What is ready at the same time runs in this order.
        self._made = {name: number for number, name in enumerate(order)}
        self._inner = inner  # the same of the functions
        self.unknown = 0  # outputs whose shape is not static

    def program(self, fetched: list[str], effects: list[str]) -> Program:
        """The operations that the fetched tensors and the effects need."""
        graph = self._imported()
        tensors = [graph.get_tensor_by_name(name) for name in fetched]
        roots = [tensor.op for tensor in tensors]
        present = {operation.name: operation for operation in graph.get_operations()}
        roots += [present[name] for name in effects if name in present]
        return self._converted(graph, roots, tensors, 0)

    def _imported(self) -> Any:
        """The graph again, with shapes: what is read from a variable has the variable's."""
        import tensorflow as tf

        graph = tf.Graph()
        with graph.as_default():
            reads = {}
            for node in self._definition.node:
                shapes = self._shapes.get(node.name)
                if node.op == "ReadVariableOp" and shapes:
                    # A stand-in only for the inference; the operation itself stays in the graph.
                    reads[f"{node.name}:0"] = tf.compat.v1.placeholder(node.attr["dtype"].type, shapes[0])
            self._stand_ins = {tensor.op.name: name.partition(":")[0] for name, tensor in reads.items()}
            tf.import_graph_def(self._definition, name="", input_map=reads)
        return graph

    def _converted(self, graph: Any, roots: list[Any], fetched: list[Any], depth: int) -> Program:
        needed = self._needed(graph, roots)
        operations = [operation for operation in graph.get_operations() if operation.name in needed]
        operations.sort(key=lambda operation: self._made.get(operation.name, len(self._made)))
        numbers = {operation.name: number for number, operation in enumerate(operations)}
        converted = [self._operation(operation, numbers, graph, depth) for operation in operations]
        for operation, made in zip(operations, converted, strict=True):
            source = source_of(made.type)
            if source is not None:
                number, position = made.inputs[source]
                item = item_size(converted[number].dtypes[position])
                made.whole = whole_of(operation, converted[number].shapes[position], made.shapes[0], item)

        def output(tensor: Any) -> Output:
            return numbers[self._name(tensor.op)], tensor.value_index

        return Program(
            converted, tuple(output(tensor) for tensor in fetched if self._name(tensor.op) in numbers)
        )

    def _name(self, operation: Any) -> str:
        return str(self._stand_ins.get(operation.name, operation.name))

    def _needed(self, graph: Any, roots: list[Any]) -> set[str]:
        seen: set[str] = set()
        pending = list(roots)
        while pending:
            operation = pending.pop()
            read = self._stand_ins.get(operation.name)
            if read is not None:
                operation = graph.get_operation_by_name(read)
            if operation.name in seen:
                continue
            seen.add(operation.name)
            pending += [tensor.op for tensor in operation.inputs]
            pending += list(operation.control_inputs)
        return seen

    def _operation(self, operation: Any, numbers: dict[str, int], graph: Any, depth: int) -> Operation:
        inputs = tuple((numbers[self._name(tensor.op)], tensor.value_index) for tensor in operation.inputs)
        controls = tuple(numbers[self._name(control)] for control in operation.control_inputs)
        shapes = [self._shape(operation, position) for position in range(len(operation.outputs))]
        dtypes = tuple(tensor.dtype.base_dtype.name for tensor in operation.outputs)
        sizes = tuple(math.prod(shape) * item_size(dtype) for shape, dtype in zip(shapes, dtypes))
        kind = operation.type
        if kind == "Placeholder" and dtypes[0] != "resource":
            kind = "Argument"
        made = Operation(operation.name, kind, inputs, controls, sizes, tuple(shapes), dtypes)
        if operation.type.startswith(("ReadVariable", "Assign", "Resource")) and operation.inputs:
            made.variable = operation.inputs[0].op.name
        if operation.type in ("MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D"):
            window, steps = operation.get_attr("ksize"), operation.get_attr("strides")
            made.overlap = math.prod(window) / math.prod(steps)
        if operation.type.startswith(CONVOLUTIONS):
            made.strides, made.dilations = _sides(operation, "strides"), _sides(operation, "dilations")
            made.padded = operation.get_attr("padding") != b"VALID"
        if operation.type == "Einsum":
            made.equation = operation.get_attr("equation").decode()
        if depth < _DEEPEST:
            self._enter(made, operation, graph, depth)
        return made

    def _shape(self, operation: Any, position: int) -> tuple[int, ...]:
        shape = self._static(operation.outputs[position])
        if shape.is_fully_defined():
            return tuple(shape.as_list())
        if operation.outputs[position].dtype.base_dtype.name not in ("resource", "variant", "string"):
            self.unknown += 1
        return tuple(size or 1 for size in shape.as_list()) if shape.rank is not None else ()

    def _static(self, tensor: Any) -> Any:
        """A tensor's shape, as the traced graph has it where that of this one is open."""
        known = () if tensor.shape.is_fully_defined() else self._shapes.get(tensor.op.name, ())
        return known[tensor.value_index] if tensor.value_index < len(known) else tensor.shape

    def _enter(self, made: Operation, operation: Any, graph: Any, depth: int) -> None:
        """Loops, calls and branches: the program inside, and how often it runs."""
        if operation.type in LOOPS:
            made.body = self._function(operation, "body", depth)
            made.condition = self._function(operation, "cond", depth)
            made.rounds = _rounds(operation)
            if made.body is not None:
                from oomlint.estimate.worker.graph.loops import list_bytes

                made.outputs = list_bytes(made)
        elif operation.type in _CALLS:
            made.body = self._function(operation, "f", depth)
        elif operation.type in _CHOICES:
            branches = [self._function(operation, name, depth) for name in ("then_branch", "else_branch")]
            known = [branch for branch in branches if branch is not None]
            made.body = max(known, key=lambda branch: len(branch.operations), default=None)

    def _function(self, operation: Any, attribute: str, depth: int) -> Program | None:
        from tensorflow.python.framework import function_def_to_graph

        try:
            name = operation.node_def.attr[attribute].func.name
        except (KeyError, ValueError):
            return None
        definition = self._library.get(name)
        if definition is None:
            return None
        given = [self._static(tensor) for tensor in operation.inputs]
        if attribute in ("then_branch", "else_branch"):
            given = given[1:]
        for about in definition.arg_attr.values():  # Grappler's, in place of the shapes that are given
            about.attr.pop("_output_shapes", None)
        with operation.graph.as_default():  # where the functions that this one calls are known
            graph = function_def_to_graph.function_def_to_graph(
                definition, input_shapes=given, structured_input_signature=None
            )
        inner = Converter(self._definition, {}, self._inner, self._inner, self._library)
        roots = [tensor.op for tensor in graph.outputs] + [
            one for one in graph.get_operations() if one.type.startswith(("Assign", "ResourceApply"))
        ]
        roots += [tensor.op for tensor in graph.inputs]
        program = inner._converted(graph, roots, list(graph.outputs), depth + 1)
        places = {one.name: number for number, one in enumerate(program.operations)}
        program.arguments = tuple(places[tensor.op.name] for tensor in graph.inputs)
        for number in program.arguments:  # the caller holds them
            program.operations[number].type = "Given"
        self.unknown += inner.unknown
        return program


def _sides(operation: Any, attribute: str) -> tuple[int, ...]:
    """What a convolution says of each of its axes, batch and channels left out."""
    by_axis = tuple(operation.get_attr(attribute))
    return by_axis[2:] if operation.get_attr("data_format").startswith(b"NC") else by_axis[1:-1]


def _rounds(operation: Any) -> int:
    """How often a loop runs: tf.while_loop passes the bound as its second input, a constant for a static sequence."""
    from tensorflow.python.framework import tensor_util

    if len(operation.inputs) > 1 and operation.inputs[1].dtype.is_integer:
        value = tensor_util.constant_value(operation.inputs[1])
        if value is not None and value.shape == () and value > 0:
            return int(value)
    return 1
