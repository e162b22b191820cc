"""The order in which a step's operations really ran on a CPU, told by the profiler, for a simulation in that order.

What is ready at the same time runs in an order that differs from one traced function to the next, and by tens of
percent with it the peak; a traced function keeps its order. So a measured step is compared with the simulation in the
order that it took: what is compared then is which buffers are there, and not a drawn order.

Loops are in it round by round: Grappler puts their bodies into the graph under longer names, whose ends are those that
the program has, and the rounds of one operation begin one after the other.
"""

from __future__ import annotations

import base64
import json
import re
import tempfile
import zlib
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oomlint.estimate.worker.graph.operations import Program

INLINED = re.compile(r"/(?:body|cond)/_\d+/")  # what Grappler puts before the names of a loop's operations


def profiled(run: Callable[[], Any]) -> Any:
    """What the profiler writes down during a call."""
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    with tempfile.TemporaryDirectory() as folder:
        options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3, python_tracer_level=0)
        tf.profiler.experimental.start(folder, options=options)
        run()
        tf.profiler.experimental.stop()
        space = xplane_pb2.XSpace()
        space.ParseFromString(next(Path(folder).rglob("*.xplane.pb")).read_bytes())
    return space


def ran(space: Any) -> list[str]:
    """The names of the operations of a profiled step, as they began."""
    found = []
    for plane in space.planes:
        names = {number: data.name for number, data in plane.event_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                name, _, kind = names[event.metadata_id].rpartition(":")  # "name:Type"
                if name and kind and "::" not in names[event.metadata_id]:
                    found.append((line.timestamp_ns * 1000 + event.offset_ps, name))
    return [name for _, name in sorted(found)]


def packed(orders: list[list[str]]) -> str:
    """As one field of a line."""
    return base64.b85encode(zlib.compress(json.dumps(orders).encode(), 9)).decode()


def unpacked(text: str) -> list[list[str]]:
    """The other way round."""
    orders: list[list[str]] = json.loads(zlib.decompress(base64.b85decode(text)))
    return orders


def as_ran(program: Program, names: list[str]) -> list[int]:
    """The program's operations in that order; a loop's have the same name in each round.

    The profiler shows what the executor takes for costly. What it does not show, and a loop's operations no longer
    after they ran some ninety times, is cheap: it runs at once when it is ready (`ScheduleReady` in
    tensorflow/core/common_runtime/executor.cc).
    """
    shown = Counter(INLINED.split(name)[-1] for name in names)
    places: dict[str, deque[int]] = {}
    for number, operation in enumerate(program.operations):
        places.setdefault(operation.name, deque()).append(number)
    told = {number for name, count in shown.items() for number in list(places.get(name, ()))[:count]}
    waiting = [len(operation.inputs) + len(operation.controls) for operation in program.operations]
    after = program.consumers()
    done: list[int] = []
    seen: set[int] = set()
    ready: deque[int] = deque()

    def finish(number: int) -> None:
        seen.add(number)
        done.append(number)
        for following in after[number]:
            waiting[following] -= 1
            if waiting[following] == 0 and following not in told:
                ready.append(following)

    def cheap() -> None:
        while ready:
            number = ready.popleft()
            if number not in seen:
                finish(number)

    def run(last: int) -> None:
        stack = [last]
        while stack:
            operation = program.operations[stack[-1]]
            waits = [one for one, _ in operation.inputs if one not in seen]
            waits += [one for one in operation.controls if one not in seen]
            if waits and stack[-1] not in seen:
                stack += waits
            elif (number := stack.pop()) not in seen:
                finish(number)
        cheap()

    for number, operation in enumerate(program.operations):
        if operation.type == "Argument":
            run(number)
    ready += [
        number
        for number, count in enumerate(waiting)
        if not count and number not in told and number not in seen
    ]
    cheap()
    for name in names:
        rounds = places.get(INLINED.split(name)[-1])
        if rounds:
            run(rounds.popleft())
    for number in range(len(program.operations)):
        run(number)
    return done
