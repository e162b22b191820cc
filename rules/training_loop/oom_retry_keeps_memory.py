"""Training is tried again after running out of memory while the failed attempt still holds its memory.

## What it does

Reports a training call whose out-of-memory error (or any error) is caught so that the next attempt is made or
prepared inside the `except` block, or made with a newly built model; as an error where it can never end.

## Why is this bad?

Inside the handler the exception's traceback keeps the frames of the failed attempt alive, with all that they
hold: an attempt started there runs beside the failed one, and neither `gc.collect()` nor `clear_session()` helps
before the block is left. A model that is built and compiled per attempt leaves its weights, optimizer
state and graph behind even then. And what a failed attempt had already trained stays in the weights: the
attempt that succeeds does not start where it says.

## Example

```python
import tensorflow as tf
from tensorflow import keras

model = keras.applications.ResNet50(weights=None, classes=10)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
data = keras.utils.image_dataset_from_directory("food", image_size=(224, 224), batch_size=None)

batch_size = 256
while True:
    try:
        model.fit(data.batch(batch_size), epochs=10)
        break
    except tf.errors.ResourceExhaustedError:
        batch_size //= 2
        if batch_size < 1:
            raise
```

## Use instead

```python
import tensorflow as tf
from tensorflow import keras

model = keras.applications.ResNet50(weights=None, classes=10)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
data = keras.utils.image_dataset_from_directory("food", image_size=(224, 224), batch_size=None)
start = model.get_weights()

batch_size = 256
while batch_size >= 1:
    out_of_memory = False
    try:
        model.fit(data.batch(batch_size), epochs=10)
    except tf.errors.ResourceExhaustedError:
        out_of_memory = True
    if not out_of_memory:
        break
    batch_size //= 2
    model.set_weights(start)
```

A process of its own per attempt gives everything back, whatever the attempt did.

## Fix safety

Unsafe: the fix moves the handler's statements behind the `try` statement, where the traceback is gone. It is
offered where the attempt leaves the loop when it succeeds and the handler uses neither the exception nor a bare
`raise`. Resetting the weights between attempts, and building the model once, are for you to add.

## References

- <https://docs.python.org/3/reference/compound_stmts.html#except-clause>
- <https://www.tensorflow.org/api_docs/python/tf/errors/ResourceExhaustedError>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.loops import target_names
from oomlint.dryrun.trace import Body, Call, Handler, HandlerFacts, Loop, Try
from oomlint.dryrun.values.base import deref
from oomlint.dryrun.values.program import Library
from oomlint.dryrun.values.training import Model
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.syntax.edits import Edit, InsertAfter, RemoveStatement
from oomlint.syntax.uses import uses

if TYPE_CHECKING:
    from oomlint.dryrun import Trace
    from oomlint.project.settings import Settings

RULE = Rule(
    code="OOM412",
    name="oom-retry-keeps-memory",
    severity=Severity.WARNING,
    fix=Safety.UNSAFE,
    literals=("fit", "fit_generator", "train_on_batch", "apply_gradients"),
)

TRAINS = (
    "keras.Model.fit",
    "keras.Model.fit_generator",
    "keras.Model.train_on_batch",
    "keras.Optimizer.apply_gradients",
    "keras.Optimizer.apply",
)
OUT_OF_MEMORY = frozenset({"tf.errors.ResourceExhaustedError", "builtins.MemoryError"})
BROAD = frozenset(
    {
        "tf.errors.OpError",
        "tf.errors.InternalError",
        "builtins.Exception",
        "builtins.BaseException",
        "builtins.RuntimeError",
    }
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A training call in a `try`, and the handler that catches its running out of memory."""

    call: Call
    attempt: Try
    facts: HandlerFacts

    @property
    def handler(self) -> cst.ExceptHandler:
        """The `except` clause."""
        node = self.facts.place.node
        assert isinstance(node, cst.ExceptHandler)
        return node

    @property
    def broad(self) -> bool:
        """Whether the handler catches more than running out of memory."""
        return self.facts.bare or any(_name(kind) not in OUT_OF_MEMORY for kind in self.facts.types)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Each handler once, by the gravest of what it does."""
    attempts = list(_attempts(trace))
    tried = {id(item.facts.place.node): item for item in attempts}
    again: dict[int, Call] = {}
    for call in trace.calls(*TRAINS):
        for frame in call.context.all(Handler):
            again.setdefault(id(frame.facts.place.node), call)
    for key, item in tried.items():
        finding = _in_handler(item, again[key]) if key in again else _in_loop(item)
        if finding is not None:
            yield finding


def _name(kind: object) -> str:
    return kind.name if isinstance(kind, Library) else ""


def _attempts(trace: Trace) -> Iterator[Attempt]:
    for call in trace.calls(*TRAINS):
        for frame in call.context.all(Try):
            for facts in frame.handlers:
                caught = {_name(deref(kind)) for kind in facts.types}
                if isinstance(facts.place.node, cst.ExceptHandler) and (
                    facts.bare or caught & (OUT_OF_MEMORY | BROAD)
                ):
                    yield Attempt(call, frame, facts)
                    break


# --- trained again in the handler ----------------------------------------------------------------------


def _in_handler(item: Attempt, call: Call) -> Finding:
    return RULE.finding(
        item.facts.place,
        "training is tried again inside the handler, while the failed attempt still holds its memory",
        evidence=[
            Evidence("the attempt that may fail", item.call.place),
            Evidence("tried again here, with the failed attempt's frames still alive", call.place),
        ],
        help="only note the failure in the handler, leave it, and train again after the `try` statement",
    )


# --- a loop of attempts ---------------------------------------------------------------------------------


def _in_loop(item: Attempt) -> Finding | None:
    loop = _loop(item)
    attempt = item.attempt.place.node
    if loop is None or not isinstance(attempt, cst.Try) or _leaves(item.handler.body):
        return None
    if not _ends_on_success(attempt, loop.place.node):
        return None
    prepared = _assigned(item.handler.body)
    reads = [name for name in prepared if _read_by_attempt(loop.place.node, attempt, name)]
    rebuilt = _rebuilt(item.call, loop)
    if _endless(item, loop, reads):
        return RULE.finding(
            item.facts.place,
            "this loop cannot end: an attempt that does not fit is made again for ever",
            evidence=[Evidence("the attempt", item.call.place)],
            help="raise when the smallest batch does not fit, and change something between the attempts",
            severity=Severity.ERROR,
        )
    if rebuilt is not None:
        return RULE.finding(
            item.facts.place,
            "every attempt builds its model anew, and what the failed ones built is not given back",
            evidence=[
                Evidence("built here, once per attempt", rebuilt.place),
                Evidence("`clear_session()`, `del` and `gc.collect()` do not free a model that was trained"),
            ],
            help="build and compile one model before the loop and reset its weights, or make each attempt a process",
        )
    if not reads:
        return None
    return RULE.finding(
        item.facts.place,
        f"the next attempt is prepared inside the handler (`{reads[0]}`), which holds the failed one's memory, "
        "and it goes on from the weights that the failed one left",
        evidence=[Evidence("the attempt that may fail", item.call.place)],
        help="only note the failure in the handler; after the `try`, make the batch smaller and reset the weights "
        "(`set_weights`), or make each attempt a process of its own",
        fix=_fix(item, attempt),
    )


def _loop(item: Attempt) -> Loop | None:
    """The loop around a `try`, in the same function."""
    frames = list(item.call.context.frames())
    position = next(index for index, frame in enumerate(frames) if frame is item.attempt)
    for frame in frames[position + 1 :]:
        if isinstance(frame, Body):
            return None
        if isinstance(frame, Loop):
            return frame if isinstance(frame.place.node, cst.For | cst.While) else None
    return None


def _statements(block: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements of a block and of the branches in it, not of loops and functions in it."""
    stack: list[cst.CSTNode] = [block]
    while stack:
        node = stack.pop()
        match node:
            case cst.IndentedBlock() | cst.SimpleStatementSuite() | cst.SimpleStatementLine():
                stack.extend(reversed(node.body))
            case cst.If():
                stack.extend(part for part in (node.orelse, node.body) if part is not None)
            case cst.Else() | cst.Finally() | cst.With() | cst.ExceptHandler():
                stack.append(node.body)
            case cst.Try():
                stack.extend(
                    part for part in (node.finalbody, node.orelse, *node.handlers, node.body) if part
                )
            case cst.BaseSmallStatement():
                yield node


def _leaves(block: cst.BaseSuite) -> bool:
    """Whether a handler always ends the loop: its last statement raises, returns or breaks."""
    body = block.body
    last = body[-1] if body else None
    if isinstance(last, cst.SimpleStatementLine) and last.body:
        last = last.body[-1]
    return isinstance(last, cst.Raise | cst.Return | cst.Break)


def _ends_on_success(attempt: cst.Try, loop: cst.CSTNode) -> bool:
    """Whether an attempt that succeeds ends the loop: by leaving, or by what the loop's test reads."""
    good = [*_statements(attempt.body), *(_statements(attempt.orelse) if attempt.orelse is not None else ())]
    if any(isinstance(node, cst.Break | cst.Return) for node in good):
        return True
    if isinstance(loop, cst.While) and any(uses(cst.Arg(loop.test), name) for name in _written(good)):
        return True
    assert isinstance(loop, cst.For | cst.While)
    seen = False
    for statement in loop.body.body:
        if seen and any(isinstance(node, cst.Break | cst.Return) for node in _statements(statement)):
            return True
        seen = seen or statement is attempt
    return False


def _written(statements: list[cst.CSTNode]) -> list[str]:
    names: list[str] = []
    for node in statements:
        if isinstance(node, cst.Assign):
            names.extend(name for target in node.targets for name in target_names(target.target))
        elif isinstance(node, cst.AugAssign | cst.AnnAssign):
            names.extend(target_names(node.target))
    return names


def _assigned(block: cst.BaseSuite) -> list[str]:
    """Names that a handler gives new values to; a flag (True, False, None) only notes what happened."""
    kept = []
    for node in _statements(block):
        value = node.value if isinstance(node, cst.Assign | cst.AnnAssign) else None
        if not (isinstance(value, cst.Name) and value.value in ("True", "False", "None")):
            kept.append(node)
    return _written(kept)


def _read_by_attempt(loop: cst.CSTNode, attempt: cst.Try, name: str) -> bool:
    """Whether the attempt, or what the loop does before it, uses a name."""
    assert isinstance(loop, cst.For | cst.While)
    for statement in loop.body.body:
        if statement is attempt:
            break
        if uses(statement, name):
            return True
    return bool(uses(attempt.body, name))


def _rebuilt(call: Call, loop: Loop) -> Call | None:
    """The call that makes the trained model in every round, if one does."""
    model = deref(call.receiver) if call.receiver is not None else None
    if isinstance(model, Model) and model.context is not None and model.made_by is not None:
        if any(frame is loop for frame in model.context.frames()):
            return model.made_by
    return None


def _endless(item: Attempt, loop: Loop, reads: list[str]) -> bool:
    """Whether a loop of failing attempts has no way out."""
    node, attempt = loop.place.node, item.attempt.place.node
    assert isinstance(attempt, cst.Try)
    if not isinstance(node, cst.While):
        return False
    if not loop.endless:
        # `while not done`: the test reads only what a success writes
        tested = {
            name for name in _written(list(_statements(attempt.body))) if uses(cst.Arg(node.test), name)
        }
        others = [name for name in _names(node.test) if name not in tested]
        if not tested or others:
            return False
    outside = [part for part in node.body.body if part is not attempt]
    exits = [*_statements(item.handler.body), *(small for part in outside for small in _statements(part))]
    if any(isinstance(small, cst.Raise | cst.Return | cst.Break) for small in exits):
        return False
    if not reads or item.broad:
        return not any(uses(part, name) for name in reads for part in outside)
    return all(_clamped(item.handler.body, name) for name in reads)


def _names(node: cst.CSTNode) -> list[str]:
    found: list[str] = []
    stack: list[cst.CSTNode] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Name | cst.Attribute):
            found.extend(target_names(current))
        else:
            stack.extend(current.children)
    return found


def _clamped(block: cst.BaseSuite, name: str) -> bool:
    """Whether every value given to a name is at least some number: `max(1, size // 2)`."""
    for node in _statements(block):
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if name in target_names(
                target
            ):
                if not (isinstance(value, cst.Call) and _is_name(value.func, "max")):
                    return False
            case cst.AugAssign(target=target) if name in target_names(target):
                return False
    return True


def _is_name(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _fix(item: Attempt, attempt: cst.Try) -> Fix | None:
    """The handler's statements, moved behind the `try` statement."""
    handler = item.handler
    last = list(_statements(attempt.orelse.body if attempt.orelse is not None else attempt.body))[-1:]
    if not last or not isinstance(last[0], cst.Break | cst.Return):
        return None  # a success would run them too
    if (
        len(attempt.handlers) != 1
        or attempt.finalbody is not None
        or not isinstance(handler.body, cst.IndentedBlock)
    ):
        return None
    if any(isinstance(node, cst.Raise) and node.exc is None for node in _statements(handler.body)):
        return None
    if handler.name is not None and uses(handler.body, _names(handler.name.name)[0]):
        return None
    source = item.facts.place.source
    lines = [text for line in handler.body.body for text in source.code(line).rstrip("\n").split("\n")]
    edits: list[Edit] = [InsertAfter(source.place(attempt), tuple(lines))]
    edits.extend(RemoveStatement(source.place(line)) for line in handler.body.body)
    return Fix("prepare the next attempt after the handler", Safety.UNSAFE, tuple(edits))
