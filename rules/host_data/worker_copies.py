"""Batches wait in a long queue, or every worker process holds a copy of the data.

## What it does

Reports `workers`, `use_multiprocessing` and `max_queue_size`, given to `fit` in Keras 2 and to a `PyDataset`'s
constructor in Keras 3, where

- the batches that wait take more than a quarter of the host's memory: `max_queue_size + 3` of them for each
  `PyDataset`, `Sequence` or generator that training reads from;
- `max_queue_size=0` lets the queue grow without bound;
- worker processes copy lists of lists, arrays or dictionaries that the `Sequence` holds (a note: how large they are
  does not show), and arrays too where processes are spawned.

Also, as an error, any of the three given to `fit`, `evaluate` or `predict` of Keras 3: they raise a `TypeError`. Where
nothing says that it is Keras 3, the calls themselves speak for Keras 2: then it is one note per file.

Silent where the size of a batch is not known, and without a second worker or process, when there is no queue
(Keras before 2.4, unlike tf.keras, had one then too).

## Why is this bad?

Workers are not free, but neither do they multiply the queue: with 4 and with 8 workers the same `max_queue_size + 3`
batches are ahead of the training step. What they do multiply, as processes, are Python objects: counting references
writes to the pages that a forked process shares with its parent. The buffers of NumPy arrays stay shared.

## Example

```python
import numpy as np
from tensorflow import keras


class Clips(keras.utils.PyDataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        return np.zeros((16, 32, 224, 224, 3), "float32"), np.zeros((16,), "float32")


clips = Clips(workers=4, max_queue_size=50)
model = keras.Sequential([keras.layers.GlobalAveragePooling3D(), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(clips)
```

## Use instead

```python
import numpy as np
from tensorflow import keras


class Clips(keras.utils.PyDataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        return np.zeros((16, 32, 224, 224, 3), "float32"), np.zeros((16,), "float32")


clips = Clips(workers=4, max_queue_size=4)
model = keras.Sequential([keras.layers.GlobalAveragePooling3D(), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(clips)
```

## Fix safety

Shown only: how many batches have to wait depends on how unevenly they are made.

## References

- <https://keras.io/api/utils/python_utils/#pydataset-class>
- <https://github.com/keras-team/keras/issues/11671>
- <https://github.com/keras-team/keras/issues/2287>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import libcst as cst
from oomlint.rules.host_data.amounts import against, form
from oomlint.rules.host_data.process_copies import copied

from oomlint.dryrun.catalog.keras.batch_sources import BatchSource
from oomlint.dryrun.queries.keras_version import keras_at_least, keras_is_known
from oomlint.dryrun.queries.unit_tests import in_test
from oomlint.dryrun.sizes import Size
from oomlint.dryrun.trace import Argument, Branch, Call, Trace, Try
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Sequence, Value, deref
from oomlint.dryrun.values.data import leaves, structure_size
from oomlint.dryrun.values.program import Instance, Library
from oomlint.findings.evidence import over
from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.project.settings import Settings
from oomlint.syntax.place import Place

RULE = Rule(
    code="OOM209",
    name="worker-copies",
    severity=Severity.WARNING,
    fix=Safety.DISPLAY,
    literals=("fit", "fit_generator", "evaluate", "evaluate_generator", "predict", "predict_generator"),
)

_ARGUMENTS = ("workers", "use_multiprocessing", "max_queue_size")
_OLD = {"workers": ("workers", "nb_worker"), "use_multiprocessing": ("use_multiprocessing", "pickle_safe"),
        "max_queue_size": ("max_queue_size", "max_q_size")}  # fmt: skip
_CALLS = tuple(
    f"keras.Model.{name}{kind}" for name in ("fit", "evaluate", "predict") for kind in ("", "_generator")
)
_CAUGHT = frozenset({"builtins.TypeError", "builtins.Exception", "builtins.BaseException"})
_QUEUE = 10  # batches, unless the call says otherwise
_AHEAD = 3  # more than the queue: being made, being handed over, and in use
_ADVICE = "max_queue_size=3 keeps a GPU fed unless batches take very unevenly long"


@dataclass(frozen=True, slots=True)
class Feeding:
    """How one source of batches is read: by whom, and how many may wait."""

    value: Value
    workers: Value | None
    processes: Value | None
    queue: Argument | None
    place: Place
    always: bool = False

    @property
    def queued(self) -> bool:
        """Whether there is a queue at all: with one thread Keras makes each batch when it is asked for.

        `always`: that one thread fills a queue too, as in Keras of its own before 2.4 (fit_generator in
        keras/engine/training.py of 2.0 makes an enqueuer for any number of workers); tf.keras does not.
        """
        count = _number(self.workers, 1)
        return count is not None and (count > 1 or (count > 0 and (self.forked or self.always)))

    @property
    def forked(self) -> bool:
        """Whether workers are processes."""
        return isinstance(self.processes, Const) and self.processes.value is True

    @property
    def waiting(self) -> Const | None:
        """How many batches may wait; zero is no bound."""
        if self.queue is None:
            return Const(_QUEUE)
        value = deref(self.queue.value)
        return value if isinstance(value, Const) and isinstance(value.value, int) else None


def check(trace: Trace, settings: Settings) -> Iterator[Finding]:
    """One finding per call that feeds a model, or per source of batches."""
    keras3 = keras_at_least(trace, settings, 3)
    calls = [call for call in trace.calls(*_CALLS) if not in_test(call)]
    moved = {id(call): call for call in calls if keras3 and _given_to(call)}
    gone = {id(call.node): call for call in moved.values() if not _guarded(call)}
    if keras_is_known(trace, settings):
        yield from (_gone(call, Severity.ERROR) for call in gone.values())
    elif gone:
        yield _gone(next(iter(gone.values())), Severity.NOTE, len(gone) - 1)
    worst: dict[int, Finding] = {}
    for call in calls:
        if id(call) in moved:
            continue
        found = _finding(trace, call, keras3, settings)
        if found is not None and found.severity > getattr(worst.get(id(found.place.node)), "severity", 0):
            worst[id(found.place.node)] = found
    yield from worst.values()


def _finding(trace: Trace, call: Call, keras3: bool, settings: Settings) -> Finding | None:
    feedings = [_feeding(trace, call, value, keras3) for value in _sources(call)]
    if trace.libraries.get("keras", "").startswith("keras") and not keras_at_least(trace, settings, 2, 4):
        feedings = [replace(feeding, always=True) for feeding in feedings]
    return _waiting(trace, call, feedings, settings)


def _guarded(call: Call) -> bool:
    """Whether the script knows: it asks for Keras' version, or catches the error."""
    for frame in call.context.frames():
        if isinstance(frame, Try):
            kinds = [deref(kind) for handler in frame.handlers for kind in handler.types]
            names = {kind.name for kind in kinds if isinstance(kind, Library)}
            if names & _CAUGHT or any(handler.bare for handler in frame.handlers):
                return True
        elif isinstance(frame, Branch) and frame.test_node is not None:
            if "version" in call.source.words(frame.test_node).lower():
                return True
    return False


def _given_to(call: Call) -> list[Argument]:
    """The arguments that Keras 3 has moved."""
    return [argument for argument in call.arguments if argument.name in _ARGUMENTS]


def _gone(call: Call, severity: Severity, others: int = 0) -> Finding:
    """Keras 3 has them elsewhere; `others` calls do the same."""
    given = _given_to(call)
    names = ", ".join(f"{argument.name}=" for argument in given)
    method = call.name.rpartition(".")[2]
    more = "so does another call" if others == 1 else f"so do {others:,} other calls"
    as_well = f", and {more} in this file" if others else ""
    help = "give them to the PyDataset: super().__init__(workers=..., use_multiprocessing=..., max_queue_size=...)"
    return RULE.finding(
        call.place,
        f"{method} of Keras 3 takes no {names}: it raises a TypeError{as_well}",
        severity=severity,
        evidence=[Evidence(f"{argument.name} is given here", argument.place) for argument in given],
        help=help,
        fix=Fix(help, Safety.DISPLAY),
    )


def _sources(call: Call) -> Iterator[Value]:
    """What training reads batches from: objects with `__getitem__`, and generators."""
    for name in ("x", "generator", "validation_data"):
        value = call.value(name)
        if (isinstance(value, Instance) and isinstance(value.facet, BatchSource)) or (
            isinstance(value, Sequence) and value.kind == "generator"
        ):
            yield value


def _feeding(trace: Trace, call: Call, value: Value, keras3: bool) -> Feeding:
    """Where the numbers stand: in the object of Keras 3, in the call of Keras 2."""
    if not keras3:
        return _read(value, {name: _given(call, names) for name, names in _OLD.items()}, call.place)
    made = (
        value.facet.made_by if isinstance(value, Instance) and isinstance(value.facet, BatchSource) else None
    )
    given: dict[str, Argument | None] = {name: made.argument(name) if made else None for name in _OLD}
    place = call.place
    if made is not None and isinstance(value, Instance):
        written = [argument.arg for argument in made.arguments if argument.arg is not None]
        here = any(not arg.star or isinstance(arg.value, cst.Dict) for arg in written)  # not `**kwargs`
        place = made.place if here else value.place or made.place
    for assign in trace.assigns():  # `self.workers = 4`, also from outside
        name = assign.path.rpartition(".")[2]
        if assign.target is value and name in given:
            given[name], place = Argument(assign.value, assign.place), assign.place
    return _read(value, given, place)


def _given(call: Call, names: tuple[str, ...]) -> Argument | None:
    return next((found for name in names if (found := call.argument(name)) is not None), None)


def _read(value: Value, given: dict[str, Argument | None], place: Place) -> Feeding:
    workers, processes = (
        None if (argument := given[name]) is None else deref(argument.value)
        for name in ("workers", "use_multiprocessing")
    )
    return Feeding(value, workers, processes, given["max_queue_size"], place)


def _number(value: Value | None, default: int) -> int | None:
    if value is None:
        return default
    return value.value if isinstance(value, Const) and isinstance(value.value, int) else None


def _waiting(trace: Trace, call: Call, feedings: list[Feeding], settings: Settings) -> Finding | None:
    queued = [feeding for feeding in feedings if feeding.queued]
    for feeding in queued:
        if feeding.waiting is not None and feeding.waiting.value == 0:
            return _unbounded(feeding)
    parts = [(feeding, size) for feeding in queued if (size := _batches(feeding)) is not None]
    if parts:
        total = parts[0][1]
        for _, size in parts[1:]:
            total = total.plus(size)
        severity = over(total, settings.budget.host)
        if severity is not None:
            first = max(parts, key=lambda part: part[1].bytes)[0]
            return _long(first, total, len(parts), severity, settings)
    return next(
        (found for feeding in queued if (found := _copied(trace, feeding, settings)) is not None), None
    )


def _batches(feeding: Feeding) -> Size | None:
    """The bytes of all batches that may wait."""
    batch = _batch(feeding.value)
    # Targets that are the inputs themselves (`yield x, x`) are held once.
    parts = {id(leaf): leaf for leaf in leaves(batch)} if batch is not None else {}
    size = structure_size(Sequence("tuple", items=list(parts.values())))
    queue = feeding.waiting
    if size is None or queue is None:
        return None
    return size.times(
        Const(int(queue.value) + _AHEAD, queue.trail), f"max_queue_size + {_AHEAD}: batches ahead are"
    )


def _batch(value: Value) -> Value | None:
    """One batch: what `__getitem__` returned, or a generator yields."""
    if isinstance(value, Instance) and isinstance(value.facet, BatchSource):
        return value.facet.item.result if value.facet.item is not None else None
    return value.element if isinstance(value, Sequence) else None


def _unbounded(feeding: Feeding) -> Finding:
    endless = isinstance(feeding.value, Sequence)
    what = (
        "batches pile up for as long as training runs"
        if endless
        else "a whole epoch of batches is loaded ahead"
    )
    help = f"give the queue a bound: {_ADVICE}"
    queue = feeding.queue
    return RULE.finding(
        feeding.place,
        f"max_queue_size=0 is a queue without bound: {what}",
        evidence=[Evidence("max_queue_size", queue.place)] if queue is not None else [],
        help=help,
        fix=Fix(help, Safety.DISPLAY),
    )


def _long(feeding: Feeding, total: Size, count: int, severity: Severity, settings: Settings) -> Finding:
    queue = feeding.waiting
    ahead = int(queue.value) + _AHEAD if queue is not None else 0
    each = (
        f"{ahead:,} batches" if count == 1 else f"{ahead:,} batches for training and as many for validation"
    )
    batch = _batch(feeding.value)
    double = any(
        isinstance(leaf, Array) and leaf.dtype == "float64" for leaf in leaves(batch) if batch is not None
    )
    smaller = (
        'make batches float32 (dtype="float32": float64 takes twice the bytes)'
        if double
        else "make batches smaller"
    )
    help = f"shorten the queue, or {smaller}: {_ADVICE}"
    return RULE.finding(
        feeding.place,
        f"up to {each} wait for the GPU, however many workers there are: "
        f"{against(total.bytes, settings.budget)}",
        severity=severity,
        evidence=_parts(feeding),
        help=help,
        fix=Fix(help, Safety.DISPLAY),
    )


def _parts(feeding: Feeding) -> Iterator[Evidence]:
    """What the size is made of: the length of the queue, and the arrays of a batch."""
    place = feeding.queue.place if feeding.queue is not None else feeding.place
    yield Evidence(f"max_queue_size and {_AHEAD} more: made, handed over and in use", place)
    batch = _batch(feeding.value)
    for leaf in leaves(batch) if batch is not None else ():
        if isinstance(leaf, Array) and leaf.size is not None and leaf.origin is not None:
            yield Evidence(f"in a batch: {form(leaf)}, {leaf.size.bytes:,} B", leaf.origin.place)


def _copied(trace: Trace, feeding: Feeding, settings: Settings) -> Finding | None:
    """What the worker processes copy of what the object holds."""
    workers = _number(feeding.workers, 1)
    copies = copied(trace, feeding.value, workers, settings) if feeding.forked and workers else None
    if copies is None:
        return None
    return RULE.finding(
        feeding.place,
        copies.message,
        severity=copies.severity,
        evidence=copies.evidence,
        help=copies.help,
        fix=Fix(copies.help, Safety.DISPLAY),
    )
