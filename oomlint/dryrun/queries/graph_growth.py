"""Operations that a script of TensorFlow 1 adds to its graph while a session runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.queries.each_variable import goes_over_variables_once
from oomlint.dryrun.queries.rounds import guarded, loops_around, rounds_of, site_in
from oomlint.dryrun.trace import Body, Branch, Call, Context, Loop, Role, Within
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Opaque, Sequence, deref
from oomlint.dryrun.values.graph import Symbol
from oomlint.syntax.children import code_children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Trace
    from oomlint.syntax.place import Place

RUNS = (
    "tf.Session.run", "tf.InteractiveSession.run", "tf.Tensor.eval", "array.eval", "keras.backend.eval",
    "keras.backend.function.__call__",
)  # fmt: skip
SESSIONS = ("tf.Session", "tf.InteractiveSession")
_GRAPHS = ("tf.Graph", "tf.get_default_graph")

# Packages whose lower-case functions all make operations.
_PACKAGES = (
    "tf.nn.", "tf.math.", "tf.linalg.", "tf.image.", "tf.layers.", "tf.contrib.layers.", "tf.strings.", "tf.signal.",
    "tf.spectral.", "tf.sparse.", "tf.random.", "tf.bitwise.", "tf.quantization.", "tf.contrib.seq2seq.",
    "tf.contrib.image.", "tf.contrib.slim.",
)  # fmt: skip
_NAMED = frozenset(
    """tf.Variable tf.Print tf.train.Saver tf.train.exponential_decay tf.train.cosine_decay
    tf.train.cosine_decay_restarts tf.train.linear_cosine_decay tf.train.noisy_linear_cosine_decay
    tf.train.natural_exp_decay tf.train.inverse_time_decay tf.train.polynomial_decay tf.train.piecewise_constant
    tf.train.batch tf.train.shuffle_batch tf.train.string_input_producer tf.train.slice_input_producer
    tf.summary.scalar tf.summary.histogram tf.summary.image tf.summary.audio tf.summary.text tf.summary.merge
    tf.summary.merge_all tf.train.create_global_step tf.data.make_one_shot_iterator
    tf.data.make_initializable_iterator tf.data.Dataset.make_one_shot_iterator
    tf.data.Dataset.make_initializable_iterator builtins.list.get_next tf.Tensor.assign tf.Tensor.assign_add
    tf.Tensor.assign_sub tf.Tensor.initialized_value tf.Tensor.value tf.Tensor.read_value array.assign
    array.assign_add array.assign_sub keras.Optimizer.minimize keras.Optimizer.apply_gradients
    keras.Optimizer.compute_gradients""".split()
)
# `tf.` functions that make no operation (or, with `reuse`, perhaps none).
_NOT_OPS = frozenset(
    """reset_default_graph get_default_graph get_default_session get_collection get_collection_ref
    add_to_collection add_to_collections trainable_variables global_variables local_variables all_variables
    model_variables moving_average_variables variable_scope name_scope device control_dependencies colocate_with
    variable_op_scope op_scope set_random_seed get_variable_scope get_variable executing_eagerly is_tensor get_seed
    as_dtype load_op_library load_library function init_scope get_logger report_uninitialized_variables_
    add_check_numerics_ops_ enable_eager_execution disable_eager_execution disable_v2_behavior enable_v2_behavior
    disable_v2_tensorshape enable_resource_variables disable_resource_variables get_static_value make_template
    custom_gradient fixed_size_partitioner no_regularizer train_ as_string_ get_session_handle""".split()
)
_BACKEND = frozenset(
    """gradients mean sum max min argmax argmin abs square sqrt log exp clip softmax sigmoid relu dot batch_dot
    cast concatenate stack reshape flatten expand_dims squeeze permute_dimensions transpose one_hot random_normal
    random_uniform constant variable zeros ones zeros_like ones_like update update_add update_sub placeholder
    categorical_crossentropy binary_crossentropy sparse_categorical_crossentropy l2_normalize equal not_equal greater
    greater_equal less less_equal switch in_train_phase in_test_phase ctc_decode ctc_batch_cost pow maximum
    minimum round sign sin cos var std prod any all gather repeat_elements tile""".split()
)
_TF1_ONLY = (
    "Session", "InteractiveSession", "placeholder", "global_variables_initializer", "ConfigProto", "get_variable",
    "get_default_graph", "initialize_all_variables", "reset_default_graph", "app.run", "train.Saver",
)  # fmt: skip
# Methods of a model that make its function at their first call.
_MADE_ONCE = tuple(
    f"keras.Model.{name}"
    for name in (
        "fit", "fit_generator", "train_on_batch", "evaluate", "evaluate_generator", "test_on_batch", "predict",
        "predict_generator", "predict_on_batch",
    )
)  # fmt: skip
FEW = 4
MANY = 32  # a comprehension runs once, over variables or layers: so many of them are none
INITIALIZERS = ("_initializer", ".initialize_all_variables", ".initialize_local_variables")


@dataclass(frozen=True, slots=True)
class Growth:
    """Operations that one statement adds in every round of a loop, or in every call of a function."""

    place: Place
    op: Call
    loop: Loop | None
    run: Call
    whole: bool = False  # the graph is built anew in the loop, and added to the one that is there
    rounds: int | None = None  # of all loops around it, where that is known


def graph_growth(trace: Trace) -> Iterator[Growth]:
    """Each place once, in order."""
    runs = trace.calls(*RUNS)
    if not runs:
        return
    running = _running_loops(trace, runs)
    legacy = is_legacy(trace)
    fresh = _fresh_loops(trace)
    once = {id(call.node) for call in trace.calls(*_MADE_ONCE)}
    in_loops: dict[int, Growth] = {}
    for call in trace.all_calls():
        if not is_op(call) or _in_a_function(call, once):
            continue
        loop = next((one for one in loops_around(call.context) if id(one) in running), None)
        if loop is not None:
            if _counts(trace, call, loop, legacy, fresh):
                growth = _in_loop(trace, call, loop, running[id(loop)])
                in_loops[id(growth.place.node)] = growth  # the last one of a place is the whole expression
        elif (run := _per_call(call, runs)) is not None and (legacy or in_graph(call.context)):
            if not _builds_more(trace, run):
                in_loops[id(run.node)] = Growth(call.place, call, None, run)
    yield from _without_inner(sorted(in_loops.values(), key=lambda one: one.op.index))


def _in_a_function(call: Call, once: set[int]) -> bool:
    """Whether it is part of a graph that is made once, whoever runs it and how often.

    What a dataset maps is a function's graph, and one operation here. Keras of the time builds a model's layers and
    the function of `predict_on_batch` at their first use (`_make_predict_function` in keras/engine/training.py).
    """
    return any(
        role.name.startswith("tf.data.") or (role.name == "keras.call" and id(role.place.node) in once)
        for role in call.context.all(Role)
    )


def is_op(call: Call) -> bool:
    """Whether a call adds an operation to the graph."""
    name = call.name
    if name in _NAMED:
        return True
    if name.startswith("operator."):
        return name != "operator.setitem" and any(_in_tensors(one.value) for one in call.arguments)
    if name.startswith("keras.backend."):
        return name.rpartition(".")[2] in _BACKEND
    short = name.rpartition(".")[2]
    if short[:1].isupper() or short[:1] == "_":
        return False
    if name.startswith(("tf.losses.", "keras.losses.")):
        return call.spelled.startswith("tensorflow.") and any(
            _in_tensors(one.value) for one in call.arguments
        )
    if name.startswith(_PACKAGES):
        return True
    if name.count(".") == 1 and name.startswith("tf."):
        if short.endswith("_initializer"):
            return short.startswith(("global_", "local_", "tables_", "variables_"))
        return short not in _NOT_OPS
    return False


def _in_tensors(value: object) -> bool:
    value = deref(value)  # type: ignore[arg-type]
    return isinstance(value, Symbol) or (
        isinstance(value, Array) and value.library in ("tensor", "variable", "keras")
    )


def _running_loops(trace: Trace, runs: list[Call]) -> dict[int, Call]:
    """Loops in whose rounds a session computes, with the call."""
    found: dict[int, Call] = {}
    for run in runs:
        if _either_mode(run) or _only_initializes(trace, run):
            continue
        for loop in loops_around(run.context):
            found.setdefault(id(loop), run)
    return found


def _either_mode(run: Call) -> bool:
    """Whether the code asks itself first which mode it is in: nothing says that it is the graph's."""
    tests = [branch.test_node for branch in run.context.all(Branch) if branch.test_node is not None]
    return any("executing_eagerly" in run.source.words(test) for test in tests)


def _only_initializes(trace: Trace, run: Call) -> bool:
    """Whether it gives variables their first values and no more, as a loop does that builds a metric."""
    fetch = deref(run.arguments[0].value) if run.arguments else None
    fetches = fetch.items if isinstance(fetch, Sequence) and fetch.items is not None else [fetch]
    made = [trace.maker(one) for one in fetches if one is not None]
    return bool(made) and all(call is not None and call.name.endswith(INITIALIZERS) for call in made)


def is_legacy(trace: Trace) -> bool:
    """Whether the script is TensorFlow 1 through and through: no operation in it runs eagerly."""
    if trace.calls(
        "tf.disable_eager_execution", "tf.disable_v2_behavior", "tf.placeholder", "keras.backend.get_session"
    ):
        return True
    if any(not call.context.role("tf.function") for call in trace.calls("keras.backend.gradients")):
        return True  # raises where operations run eagerly
    if trace.calls("tf.enable_eager_execution"):
        return False
    return any(
        call.spelled == f"tensorflow.{name}" for name in _TF1_ONLY for call in trace.calls(f"tf.{name}")
    )


def in_graph_mode(trace: Trace, context: Context) -> bool:
    """Whether operations give no values there: in a `tf.function`, a graph or session, a script of TensorFlow 1."""
    return context.role("tf.function") is not None or in_graph(context) or is_legacy(trace)


def in_graph(context: Context) -> bool:
    """Whether it happens in a `with` of a graph or session, which turns eager execution off."""
    return any(
        isinstance(manager := deref(frame.manager), Opaque) and manager.type in (*SESSIONS, *_GRAPHS)
        for frame in context.all(Within)
    )


def _fresh_loops(trace: Trace) -> set[int]:
    """Loops that throw the graph away in each round."""
    resets = trace.calls("tf.reset_default_graph", "keras.backend.clear_session", "keras.utils.clear_session")
    return {id(loop) for call in resets for loop in loops_around(call.context)}


def _counts(trace: Trace, call: Call, loop: Loop, legacy: bool, fresh: set[int]) -> bool:
    if id(loop) in fresh or not (legacy or in_graph(call.context)):
        return False
    around = loops_around(call.context)
    rounds = rounds_of(around[around.index(loop) :])
    if loop.kind == "comprehension" and (rounds is None or rounds <= MANY):
        return False
    if (rounds is not None and rounds <= FEW) or goes_over_variables_once(trace, around):
        return False
    return not _in_fresh_graph(call.context, loop) and not guarded(call.context, loop, call.node)


def _in_fresh_graph(context: Context, loop: Loop) -> bool:
    """Whether a graph made in the same round takes the operation in."""
    for frame in context.since(loop):
        manager = deref(frame.manager) if isinstance(frame, Within) else None
        if not isinstance(manager, Opaque) or manager.made_by is None:
            continue
        graph = manager
        if manager.type in SESSIONS:
            given = manager.made_by.value("graph")
            graph = given if isinstance(given, Opaque) else graph
        if graph.type == "tf.Graph" and graph.made_by is not None and loop in graph.made_by.context.loops():
            return True
    return False


def _in_loop(trace: Trace, call: Call, loop: Loop, run: Call) -> Growth:
    """The finding's place: the statement's operation, or the call of a function that builds and runs nothing."""
    site = site_in(call.context, loop)
    bodies = [frame for frame in call.context.since(loop) if isinstance(frame, Body)]
    place = call.place
    if site is not None and not any(
        body in other.context.frames() for body in bodies for other in trace.calls(*RUNS)
    ):
        place = site
    sessions = any(loop in one.context.loops() for one in trace.calls(*SESSIONS))
    inputs = trace.calls("tf.placeholder", *(("tf.Variable", "tf.get_variable") if sessions else ()))
    whole = any(loop in one.context.loops() for one in inputs)
    called = all(body.called for body in call.context.all(Body))
    return Growth(place, call, loop, run, whole, rounds_of(loops_around(call.context)) if called else None)


def _without_inner(found: list[Growth]) -> Iterator[Growth]:
    """One for each statement: the outermost expression; and one for a graph that is built as a whole."""
    whole: set[int] = set()
    by_statement: dict[int, Growth] = {}
    for one in found:
        if one.whole and one.loop is not None:
            if id(one.loop) not in whole:
                whole.add(id(one.loop))
                by_statement[id(one.loop)] = one
            continue
        statement = one.op.statement
        here = one.place is one.op.place and statement is not None
        by_statement[id(statement.node) if here and statement is not None else id(one.place.node)] = one
    yield from sorted(by_statement.values(), key=lambda one: one.op.index)


def _per_call(call: Call, runs: list[Call]) -> Call | None:
    """The run of a session made elsewhere that an operation is written into, in a method that is there to be called.

    `def predict(self, x): return self.session.run(tf.nn.softmax(self.logits), ...)`.
    """
    body = call.context.innermost(Body)
    if body is None or body.called or call.context.loops():
        return None
    function = body.function
    if function.owner is None or function.name.startswith(("__", "test")) or "initialize" in call.name:
        return None
    if function.owner.name.endswith("Test") or any(
        base.endswith("TestCase") for base in function.owner.library_bases()
    ):
        return None
    for run in runs:
        if run.context.innermost(Body) is body and _contains(run.node, call.node):
            session = deref(run.receiver) if run.receiver is not None else None
            made = session.made_by if isinstance(session, Opaque) else None
            if made is None or made.context.innermost(Body) is not body:
                return run
    return None


def _builds_more(trace: Trace, run: Call) -> bool:
    """Whether the method makes other operations than what it runs: it builds a graph, perhaps once."""
    body = run.context.innermost(Body)
    return any(
        call.context.innermost(Body) is body and is_op(call) and not _contains(run.node, call.node)
        for call in trace.all_calls()
    )


def _contains(container: cst.CSTNode, node: cst.CSTNode) -> bool:
    stack = [container]
    while stack:
        current = stack.pop()
        if current is node:
            return True
        stack.extend(code_children(current))
    return False
