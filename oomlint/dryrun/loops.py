"""Loops and comprehensions.

A loop that builds (layers in `for filters in (64, 128)`) is unrolled when its items are known; a loop that
trains is taken once, in a loop context with its trip count. Its first round is what really runs first, so
what it claims holds; values that a later round replaces are softened, so that they decide no branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import libcst as cst

from oomlint.dryrun import counters, imports, subscripts
from oomlint.dryrun.catalog.registry import Iteration
from oomlint.dryrun.flow import Flow, Ways
from oomlint.dryrun.state import Key, Scope
from oomlint.dryrun.trace import Argument, Branch, Call, Iterate, Loop
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref, join_all, tags_of
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.indexing import few_tags_of
from oomlint.syntax.blocks import last_statement
from oomlint.syntax.children import code_children

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run

MAX_UNROLL = 64  # rounds of one loop; DenseNet's longest block has 48 layers
MAX_ROUNDS = (
    256  # rounds of loops in one another: DenseNet's four blocks make 192, a sweep over pixels is no network
)
# Methods whose call in a loop's body says that the loop trains or measures and does not build.
TRAINING = frozenset(
    [
        "fit",
        "fit_generator",
        "train_on_batch",
        "test_on_batch",
        "predict",
        "predict_on_batch",
        "evaluate",
        "apply_gradients",
        "minimize",
        "gradient",
        "run",
        "reset_states",
        "reset_state",
        "step",
        "search",
    ]
)


def iterate(run: Run, value: Value) -> Iteration:
    """The items of a value, or one that stands for all, and how many."""
    value = deref(value)
    handler = run.catalog.iterations.get(type(value))
    if handler is not None:
        return handler(value, run)
    if isinstance(value, Sequence):
        if value.items is not None:
            return Iteration(items=list(value.items), count=value.length)
        return Iteration(element=value.any, count=value.count)
    if isinstance(value, Mapping):
        if value.complete:
            return Iteration(items=[Const(key) for key in value.entries], count=Const(len(value.entries)))
        return Iteration(element=Unknown())
    if isinstance(value, Const) and isinstance(value.value, str) and len(value.value) <= MAX_UNROLL:
        return Iteration(items=[Const(character) for character in value.value])
    return Iteration(element=None)


def execute_for(run: Run, node: cst.For) -> Flow:
    """A for loop."""
    value = run.evaluate(node.iter)
    value = infer_iterated(run, value)
    inner = iterate(run, value)
    count = count_of(inner)
    facts = body_facts(run, node)
    unroll = unrollable(run, inner) and not facts.trains
    targets = tuple(name for name in target_names(node.target))
    if not unroll and ends_in_its_first_round(node, facts):
        count = Const(1)
    loop = Loop(run.place(node), "for", value, count, unroll, targets=targets)
    run.trace.add(Iterate(value, loop, run.context))
    if unroll and inner.items is not None:
        with run.inside(run.context.inside(loop)), rounds(run, len(inner.items)):
            for item in inner.items:
                run.burn()
                run.assign(node.target, item, node.iter)
                flow = run.execute_suite(node.body)
                if flow is Flow.LEAVE or flow is Flow.RAISE:
                    return flow
                if flow is Flow.BREAK and any(isinstance(part, cst.Break) for part in facts.jumps):
                    break
        return orelse(run, node)

    def round_(run: Run = run) -> Flow:
        element = inner.element
        if inner.items is not None:
            element = soften(inner.items[0]) if inner.items else Unknown()
            if len(inner.items) > 1 and not isinstance(element, Const):
                element = join_all(inner.items)
        if element is None:
            element = Unknown(tags=tags_of(value))
            if isinstance(node.target, cst.Tuple):
                element = subscripts.unknown_item(value)
        run.assign(node.target, element, node.iter)
        return run.execute_suite(node.body)

    once(run, node, loop, facts, round_)
    return orelse(run, node)


def count_of(inner: Iteration) -> Const | None:
    """How many rounds a loop over these items has, if known."""
    if inner.count is not None or inner.items is None:
        return inner.count
    return Const(len(inner.items))


def unrollable(run: Run, inner: Iteration) -> bool:
    """Whether every round may be taken one by one."""
    if inner.items is None or run.fuel < 1000:
        return False
    return len(inner.items) <= MAX_UNROLL and run.rounds * len(inner.items) <= MAX_ROUNDS


@contextmanager
def rounds(run: Run, count: int) -> Iterator[None]:
    """Inside the rounds of an unrolled loop."""
    before, run.rounds = run.rounds, run.rounds * max(1, count)
    try:
        yield
    finally:
        run.rounds = before


def ends_in_its_first_round(node: cst.For | cst.While, facts: BodyFacts) -> bool:
    """Whether the body's last statement leaves the loop and nothing before it starts another round.

    `while True: ...; break` stands for a block in scripts that had a loop there once, and a `for` that breaks looks at
    the first item.
    """
    last = last_statement(node.body)
    return isinstance(last, cst.Break | cst.Return | cst.Raise) and not any(
        isinstance(jump, cst.Continue) for jump in facts.jumps
    )


def orelse(run: Run, node: Any) -> Flow:
    """What follows a loop that was not broken off."""
    return run.execute_suite(node.orelse.body) if node.orelse is not None else Flow.ON


def once(run: Run, node: cst.CSTNode, loop: Loop, facts: BodyFacts, round_: Callable[[], Flow]) -> Flow:
    """Take a loop's body once; afterwards none or many rounds may have run."""
    soften_assigned(run, facts)
    ways = Ways(run)
    with run.inside(run.context.inside(loop)):
        flow = ways.take(round_)
    ways.skip()
    ways.meet()
    for name in facts.grown:
        held = deref(run.state.get((run.state.binder(run.scope, name), name)) or Unknown())
        if isinstance(held, Mapping) and isinstance(held.other, Sequence) and held.other.items is not None:
            held.other.summarise(None)
    return flow


# What a body's facts are read off, and what is not gone into. A type is looked up in one step: LibCST's nodes are
# abstract base classes, of which a `match` asks in a way that takes ten times as long.
_TELLING = frozenset(
    (cst.For, cst.While, cst.Assign, cst.AugAssign, cst.AnnAssign, cst.Call, cst.Break, cst.Continue)
)


class BodyFacts:
    """What a look over a loop's body tells before it is taken."""

    __slots__ = ("assigned", "called", "grown", "jumps", "trains")

    def __init__(self) -> None:
        self.assigned: set[str] = set()
        self.called: set[str] = set()
        self.grown: set[str] = set()  # what holds lists by key that later rounds append to
        self.trains = False
        self.jumps: list[cst.CSTNode] = []


def body_facts(run: Run, node: Any) -> BodyFacts:
    """Names bound in a loop's body, and whether it trains (kept as long as the tree)."""
    known: BodyFacts | None = run.source.facts.get(id(node))
    if known is not None:
        return known
    facts = run.source.facts[id(node)] = BodyFacts()
    stack: list[Any] = [node.body]
    while stack:
        current = stack.pop()
        if type(current) not in _TELLING:
            if type(current) not in counters.RUN_LATER:
                stack.extend(code_children(current))
            continue
        match current:
            case cst.For() | cst.While():
                inner = body_facts(run, current)
                facts.assigned |= inner.assigned
                facts.called |= inner.called
                facts.grown |= inner.grown
                facts.trains = facts.trains or inner.trains
                if isinstance(current, cst.For):
                    facts.assigned.update(target_names(current.target))
                continue
            case cst.Assign():
                for target in current.targets:
                    facts.assigned.update(target_names(target.target))
            case cst.AugAssign() | cst.AnnAssign():
                facts.assigned.update(target_names(current.target))
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=name))) if name in TRAINING:
                facts.trains = True
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="GradientTape"))):
                facts.trains = True
            case cst.Call(
                func=cst.Attribute(
                    value=cst.Subscript(value=cst.Name(value=held)), attr=cst.Name(value="append" | "extend")
                )
            ):
                facts.grown.add(held)
            case cst.Break() | cst.Continue():
                facts.jumps.append(current)
        if isinstance(current, cst.Call) and (path := imports.dotted(current.func)):
            facts.called.add(path)
        stack.extend(code_children(current))
    return facts


def soften_assigned(run: Run, facts: BodyFacts) -> None:
    """Constants that the body replaces decide no branch in it (`first = True` before the loop)."""
    for name in facts.assigned:
        base, _, attribute = name.partition(".")
        key: Key = (run.state.binder(run.scope, base), base)
        value = run.state.get(key)
        if value is not None and attribute and "." not in attribute:
            key = (deref(value), attribute)
            value = run.state.get(key)
        if isinstance(value, Const) and not value.soft:
            run.state.set(key, value.softened())
    counters.soften_counted(run, facts.called)


def soften(value: Value) -> Value:
    """A value that stands for the first of many rounds."""
    return value.softened() if isinstance(value, Const) else value


def target_names(target: cst.CSTNode) -> list[str]:
    """Dotted names that a target binds."""
    if type(target) is cst.Tuple or type(target) is cst.List:
        return [name for element in target.elements for name in target_names(element.value)]
    name = imports.dotted(target)
    return [name] if name else []


def infer_iterated(run: Run, value: Value) -> Value:
    """Let the catalog say what an unknown is that a loop goes over (`for x, y in train.batch(32)`)."""
    if isinstance(value, Unknown) and value.made_by is not None:
        look = run.catalog.iterated
        role = look(value.made_by, run) if look is not None else None
        if role is not None:
            return run.infer_receiver(value, role)
    return value


# --- comprehensions -----------------------------------------------------------------------------------


def comprehension(run: Run, node: Any) -> Value:
    """A list or set comprehension or generator expression."""
    kind = (
        "list" if isinstance(node, cst.ListComp) else "set" if isinstance(node, cst.SetComp) else "generator"
    )
    results: list[Value] = []
    exact, count, loop = _comp_for(run, node.for_in, lambda: results.append(run.evaluate(node.elt)), node)
    if exact:
        return Sequence(kind, items=results, context=run.context, loop=loop)
    element = results[0] if len(results) == 1 else join_all(results)
    few = few_tags_of(loop.iterable) if node.for_in.inner_for_in is None else frozenset()
    made = Sequence(kind, element=soften(element), count=count, tags=few, context=run.context, loop=loop)
    source = deref(loop.iterable) if loop.iterable is not None else None
    if (
        kind == "list"
        and source is not None
        and (isinstance(source, Dataset) or "tf.data" in tags_of(source))
    ):
        call = Call(
            "builtins.list", loop.place, run.context, None, (Argument(source, loop.place),), result=made
        )
        run.record(call)  # as `list(dataset)` is: every element in memory at once
    return made


def dict_comprehension(run: Run, node: cst.DictComp) -> Value:
    """A dict comprehension."""
    mapping = Mapping(context=run.context)

    def entry() -> None:
        key, value = run.evaluate(node.key), run.evaluate(node.value)
        if isinstance(key, Const) and not key.soft:
            mapping.entries[key.value] = value
        else:
            mapping.complete, mapping.other = False, value

    _comp_for(run, node.for_in, entry, node)
    return mapping


def _comp_for(
    run: Run, clause: cst.CompFor, leaf: Callable[[], object], node: cst.CSTNode
) -> tuple[bool, Const | None, Loop]:
    """Run the clauses of a comprehension: whether every round was taken, else how many there are; the loop."""
    value = run.evaluate(clause.iter)
    inner = iterate(run, infer_iterated(run, value))
    filtered = bool(clause.ifs)
    unroll = unrollable(run, inner) and not filtered
    count = count_of(inner)
    loop = Loop(run.place(node), "comprehension", value, None if filtered else count, unroll)
    before_scope, before_context, before_rounds = run.scope, run.context, run.rounds
    run.scope = Scope("comprehension", before_scope, before_scope.outermost)
    run.context = before_context.inside(loop)
    run.trace.add(Iterate(value, loop, before_context))
    exact, total = unroll, None if filtered else count
    try:
        taken = inner.items if unroll and inner.items is not None else [_representative(inner, value, clause)]
        run.rounds *= max(1, len(taken))
        for item in taken:
            run.burn()
            run.assign(clause.target, item, clause.iter)
            for test in clause.ifs:
                condition = run.evaluate(test.test)
                run.context = run.context.inside(Branch(run.place(test), condition, True, test.test))
            if clause.inner_for_in is not None:
                below, times, _ = _comp_for(run, clause.inner_for_in, leaf, node)
                exact = exact and below
                total = Const(total.value * times.value) if total is not None and times is not None else None
            else:
                leaf()
    finally:
        run.scope, run.context, run.rounds = before_scope, before_context, before_rounds
    return exact, total, loop


def _representative(inner: Iteration, value: Value, clause: cst.CompFor) -> Value:
    """One item that stands for all the rounds."""
    if inner.element is not None:
        return inner.element
    if inner.items:
        return soften(join_all(inner.items))
    return (
        subscripts.unknown_item(value)
        if isinstance(clause.target, cst.Tuple)
        else Unknown(tags=tags_of(value))
    )
