"""A replay memory grows past the host's memory before it is full.

## What it does

Reports memories of transitions

- that have a bound, `deque(maxlen=n)` or arrays with a row per transition, where the bound times the bytes of a
  transition is more than a quarter of the host's memory;
- that have none: a list or `deque()` of transitions that is sampled from and never shortened.

Silent where the size of a state is not known, for small states, and for lists that are emptied each episode.

## Why is this bad?

The run dies after days, when the memory is nearly full. A picture of 84 by 84 is 7 KB as bytes and 56 KB in float64,
as dividing by 255 makes it; a million of those with the state after each are 112 GB.

A state and the one after it share their memory only where the same array is kept as both (`state = next_state`).

## Example

```python
import random
from collections import deque

import numpy as np
from tensorflow import keras

memory = deque(maxlen=1_000_000)


def remember(frame, action, reward, next_frame, done):
    state = np.zeros((84, 84, 4))
    state[:] = frame
    next_state = np.zeros((84, 84, 4))
    next_state[:] = next_frame
    memory.append((state, action, reward, next_state, done))
```

## Use instead

```python
import random
from collections import deque

import numpy as np
from tensorflow import keras

memory = deque(maxlen=50_000)


def remember(frame, action, reward, next_frame, done):
    state = np.zeros((84, 84, 4), "uint8")
    state[:] = frame
    next_state = np.zeros((84, 84, 4), "uint8")
    next_state[:] = next_frame
    memory.append((state, action, reward, next_state, done))
```

## Fix safety

Shown only: how much an agent has to remember is part of the experiment.

## References

- <https://docs.python.org/3/library/collections.html#collections.deque>
- <https://github.com/ageron/handson-ml/issues/119>
- <https://github.com/tambetm/simple_dqn/issues/14>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst
from oomlint.rules.host_data.amounts import MAX_LINES, against, dimensions, form
from oomlint.rules.host_data.replay_rows import arrays_of, row_memories

from oomlint.dryrun.catalog.python.records import Record
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.sizes import Factor, Size, human
from oomlint.dryrun.trace import Assign, Call, Context, Trace
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.shapes import number
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.uses import Use, uses

RULE = Rule(
    code="OOM207",
    name="replay-buffer-large",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=("deque", "append", "zeros", "ones", "empty", "OutOfGraphReplayBuffer", "WrappedReplayBuffer"),
)

TRANSITION = 4  # state, action, reward and the state after; often whether it ended, too
MANY = 10_000  # steps
SMALL = 1024  # bytes of a transition: a pole on a cart
_SHORTENING = frozenset({"pop", "popleft", "clear", "remove", "popitem"})
_SAMPLING = frozenset({"sample", "choice", "choices", "randint", "randrange", "permutation", "integers"})
_DOPAMINE = tuple(
    f"dopamine.replay_memory.{module}.{kind}"
    for module in ("circular_replay_buffer", "prioritized_replay_buffer")
    for kind in ("OutOfGraphReplayBuffer", "WrappedReplayBuffer", "OutOfGraphPrioritizedReplayBuffer",
                 "WrappedPrioritizedReplayBuffer")
)  # fmt: skip
_HELP = (
    "keep states as uint8 and scale them in the model, keep each frame once, or remember fewer transitions"
)


@dataclass(slots=True)
class Memory:
    """A container of transitions and what is put into it."""

    made: Call | Assign
    value: Sequence
    puts: list[Call] = field(default_factory=list)


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """One finding per memory, or per array of one."""
    seen: set[int] = set()
    for memory in _memories(trace):
        found = _bounded(trace, memory, settings) or _unbounded(trace, memory)
        if found is not None and id(found.place.node) not in seen:
            seen.add(id(found.place.node))
            yield found
    for found in [*_rows(trace, settings), *_dopamine(trace, settings)]:
        if id(found.place.node) not in seen:
            seen.add(id(found.place.node))
            yield found


# --- lists and queues ---------------------------------------------------------------------------------


def _memories(trace: Trace) -> Iterator[Memory]:
    """Lists and queues to which tuples (or records) are appended."""
    found: dict[int, Memory] = {}
    appends = trace.calls("builtins.list.append")
    bindings: dict[int, Assign] = {}
    for assign in trace.assigns() if appends else ():
        bindings.setdefault(id(assign.value), assign)
    for call in appends:
        value = deref(call.receiver) if call.receiver is not None else None
        if isinstance(value, Sequence) and call.arguments and not in_test(call):
            if id(value) not in found:
                made = trace.maker(value)
                bound = bindings.get(id(value))
                if made is None and bound is None:
                    continue
                found[id(value)] = Memory(made or bound, value)  # type: ignore[arg-type]
            found[id(value)].puts.append(call)
    yield from found.values()


def _capacity(memory: Memory) -> Const | None:
    """The bound of a `deque`."""
    made = memory.made
    if not isinstance(made, Call) or made.name != "collections.deque":
        return None
    given = made.argument("maxlen")
    value = deref(given.value) if given is not None else None
    return value if isinstance(value, Const) and number(value) else None


def _bounded(trace: Trace, memory: Memory, settings: Settings) -> Finding | None:
    capacity = _capacity(memory)
    arrays = _arrays(trace, memory)
    if capacity is None or not arrays:
        return None
    one = sum(array.size.bytes for array in arrays if array.size is not None)
    size = Size(
        one * capacity.value, True, (Factor(one * capacity.value, "the memory", capacity.trail, "B"),)
    )
    severity = over(size, settings.budget.host)
    if severity is None:
        return None
    place = memory.made.place
    return RULE.finding(
        place,
        f"when full, {capacity.value:,} transitions of {human(one)} take {against(size.bytes, settings.budget)}",
        severity=severity,
        evidence=_parts(memory, capacity, arrays),
        help=_HELP,
        fix=Fix(_HELP, Safety.DISPLAY),
    )


def _parts(memory: Memory, capacity: Const, arrays: list[Array]) -> Iterator[Evidence]:
    for step in capacity.trail[:MAX_LINES]:
        yield Evidence(f"{capacity.value:,}: {step.text}", step.place)
    yield Evidence("a transition is put in here", memory.puts[0].place)
    for array in arrays:
        if array.size is not None:
            origin = array.origin.place if array.origin is not None else None
            yield Evidence(f"{form(array)}, {array.size.bytes:,} B", origin)


def _arrays(trace: Trace, memory: Memory) -> list[Array]:
    """The arrays of one transition."""
    put = memory.puts[0]
    return arrays_of(trace, put, put.arguments[-1].value)


def _unbounded(trace: Trace, memory: Memory) -> Finding | None:
    """A list of transitions without a bound, from which samples are drawn."""
    if isinstance(memory.made, Call) and memory.made.name == "collections.deque":
        given = memory.made.argument("maxlen")
        if given is not None and not (isinstance(deref(given.value), Const) and given.const() is None):
            return None
    puts = [call for call in memory.puts if _is_transition(call) and call.path is not None]
    if not puts or memory.value.kind not in ("list", "deque"):
        return None
    put = puts[0]
    path = put.path or ""
    if not _repeated(put, path, memory.made.context) or not _kept(put, path, memory):
        return None
    arrays = _arrays(trace, memory)
    one = sum(array.size.bytes for array in arrays if array.size is not None)
    small = bool(arrays) and one <= SMALL
    each = f", {human(one)} each" if arrays else ""
    help = "give it a bound: collections.deque(maxlen=...)"
    return RULE.finding(
        put.place,
        f"{path} keeps every transition of the whole run{each}: nothing is ever taken out",
        severity=Severity.NOTE if small else Severity.WARNING,
        evidence=[Evidence("made here, without a bound", memory.made.place)],
        help=help,
        fix=Fix(help, Safety.DISPLAY),
    )


def _is_transition(call: Call) -> bool:
    value = deref(call.arguments[-1].value)
    if isinstance(value, Sequence):
        return value.kind in ("tuple", "list") and value.items is not None and len(value.items) >= TRANSITION
    if isinstance(value, Record):
        return len(value.attributes) >= TRANSITION
    return isinstance(value, Instance) and len(value.cls.fields) >= TRANSITION


def _repeated(put: Call, path: str, made: Context | None) -> bool:
    """Whether it goes on for the whole run: in a method of an object, or in a loop over episodes or many steps."""
    before = set(made.loops()) if made is not None else set()
    if before:
        return False  # begun anew in every round
    maker = made.function() if made is not None else None
    if "." in path:  # what another method than the constructor makes, it makes again
        return maker is None or maker.name == "__init__"
    loops = put.context.loops()
    return len(loops) > 1 or any(loop.endless or (number(loop.trip) or 0) >= MANY for loop in loops)


def _kept(put: Call, path: str, memory: Memory) -> bool:
    """Whether the script draws from the memory, and never shortens it, writes over it or begins it anew."""
    found = uses(put.source.module, path)
    bindings = [use for use in found if _is_target(use)]
    return (
        len(bindings) <= 1
        and any(_samples(use) for use in found)
        and not any(_shortens(use) for use in found)
        and memory.value.loop is None
    )


def _is_target(use: Use) -> bool:
    targets = (node for node in use.around if not isinstance(node, cst.Element | cst.Tuple | cst.List))
    return isinstance(next(targets, None), cst.AssignTarget | cst.AnnAssign | cst.AugAssign)


def _shortens(use: Use) -> bool:
    match use.around:
        case [cst.Attribute(attr=cst.Name(value=name)), *_] if name in _SHORTENING:
            return True
        case [cst.Subscript(), cst.Del(), *_] | [cst.Del(), *_]:
            return True
        case [cst.Subscript(), cst.AssignTarget(), *_]:
            return True
    return False


def _samples(use: Use) -> bool:
    for node in use.around[:6]:
        if isinstance(node, cst.Call):
            name = node.func.attr.value if isinstance(node.func, cst.Attribute) else None
            name = node.func.value if isinstance(node.func, cst.Name) else name
            if name in _SAMPLING:
                return True
    return False


# --- arrays with a row per transition -----------------------------------------------------------------


def _rows(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Each array that is too large by itself, else the largest of a memory that is too large together."""
    for parts in row_memories(trace):
        single = [part for part in parts if over(part.size, settings.budget.host) is not None]
        for part in single:
            yield _of_rows(part.array, part.size, 1, settings)
        whole = Size(sum(part.size.bytes for part in parts), True, ())
        if not single and over(whole, settings.budget.host) is not None:
            largest = max(parts, key=lambda part: part.size.bytes)
            yield _of_rows(largest.array, whole, len(parts), settings)


def _of_rows(array: Array, size: Size, count: int, settings: Settings) -> Finding:
    assert array.origin is not None
    assert array.origin.place is not None
    severity = over(size, settings.budget.host) or Severity.WARNING
    held = f"{form(array)} takes" if count == 1 else f"its {count} arrays, {form(array)} the largest, take"
    return RULE.finding(
        array.origin.place,
        f"once every row of this replay memory is filled, {held} {against(size.bytes, settings.budget)}",
        severity=severity,
        evidence=dimensions(array),
        help=_HELP,
        fix=Fix(_HELP, Safety.DISPLAY),
    )


def _dopamine(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """Dopamine's memory, which allocates all of its frames at once."""
    for call in trace.calls(*_DOPAMINE):
        capacity = call.value("replay_capacity")
        shape = call.value("observation_shape")
        sides = (
            [number(item) for item in shape.items]
            if isinstance(shape, Sequence) and shape.items
            else [84, 84]
        )
        if not isinstance(capacity, Const) or number(capacity) is None or None in sides:
            continue
        frame = 1
        for side in sides:
            frame *= side or 1
        size = Size(frame * capacity.value, True, ())
        severity = over(size, settings.budget.host)
        if severity is not None:
            yield RULE.finding(
                call.place,
                f"{capacity.value:,} frames of {frame:,} B take {against(size.bytes, settings.budget)}",
                severity=severity,
                evidence=[Evidence(step.text, step.place) for step in capacity.trail],
                help="lower replay_capacity",
                fix=Fix("lower replay_capacity", Safety.DISPLAY),
            )
