"""XLA's buffer assignment, from the compiler's text dumps: what is allocated, and which value lives where and when.

Formats: `BufferAssignment::ToString` and `HloLiveRange::ToString` in openxla/xla (xla/service/buffer_assignment.cc,
xla/hlo/utils/hlo_live_range.cc). The totals need the first file alone. The ranges have a file of their own in newer
versions; that of jaxlib 0.6 has them at the end of the first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

_ALLOCATION = re.compile(r"allocation (\d+): size (\d+)(.*?):?$")
_VALUE = re.compile(r"\s*value: <\d+ (\S+)(?: \(phi\))? @\d+> \(size=(\d+),offset=(\d+)\): (.*)$")
_PARAMETER = re.compile(r"parameter (\d+)")
_RANGE = re.compile(r"\s+(\S+?)(\{[\d,]*\}):(\d+)-(\d+)$")
_ORDER = re.compile(r"\s+(\d+):(\S+)$")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_INSTRUCTION = re.compile(r"\s*(?:ROOT )?%?([\w.\-]+) = (\([^=]*?\)|\S+) ([\w\-]+)\(")


@dataclass(slots=True)
class Buffer:
    """Bytes at one place of the temporary block, and the values that have it one after another."""

    size: int
    # (from, to, instruction, shape): positions in the schedule, both ends included.
    lives: list[tuple[int, int, str, str]] = field(default_factory=list)

    def at(self, moment: int) -> tuple[int, int, str, str] | None:
        """What is in it at that moment, the latest to come."""
        found = [life for life in self.lives if life[0] <= moment <= life[1]]
        return max(found, default=None)


@dataclass(slots=True)
class Assignment:
    """All that the program occupies while it runs, bytes by kind; and its temporaries one by one."""

    arguments: int = 0
    temporaries: int = 0
    results: int = 0  # those that do not take over an argument's memory
    constants: int = 0
    parameters: dict[int, int] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    op_names: dict[str, str] = field(default_factory=dict)
    opcodes: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Arguments, temporaries, results and constants."""
        return self.arguments + self.temporaries + self.results + self.constants


def read(dump: Path) -> Assignment:
    """The assignment of the module dumped in the folder, which holds one."""
    found = Assignment()
    assignment = _text(dump, "buffer-assignment.txt")
    lives = _text(dump, "live-range.txt") or assignment.partition("\nHloLiveRange")[2]
    ranges, found.order = _live_ranges(lives)
    _allocations(assignment, ranges, found)
    wanted = {life[2] for buffer in found.buffers for life in buffer.lives} | set(found.order)
    _instructions(_text(dump, "after_optimizations.txt"), wanted, found)
    return found


def _text(dump: Path, ending: str) -> str:
    file = max(dump.glob(f"*{ending}"), key=lambda path: path.stat().st_size, default=None)
    return "" if file is None else file.read_text("utf-8", "replace")


def _allocations(text: str, ranges: dict[str, tuple[int, int]], found: Assignment) -> None:
    places: dict[tuple[int, int, int], Buffer] = {}
    number, temporary = -1, False
    for line in text.splitlines():
        if value := _VALUE.match(line):
            if temporary:
                name, size, offset, shape = value.groups()
                buffer = places.setdefault((number, int(offset), int(size)), Buffer(int(size)))
                first, last = ranges.get(_plain(name), (-1, -1))
                if first >= 0:
                    buffer.lives.append((first, last, _plain(name), shape))
        elif allocation := _ALLOCATION.match(line):
            number, size_of_it, words = int(allocation[1]), int(allocation[2]), allocation[3]
            temporary = "preallocated-temp" in words
            if "thread-local" in words:
                continue
            if parameter := _PARAMETER.search(words):
                found.arguments += size_of_it
                found.parameters[int(parameter[1])] = size_of_it
            elif temporary:
                found.temporaries += size_of_it
            elif "maybe-live-out" in words:
                found.results += size_of_it
            elif "constant" in words:
                found.constants += size_of_it
        elif line.startswith("Memory Space"):
            break
    found.buffers = [buffer for buffer in places.values() if buffer.lives]


def _plain(name: str) -> str:
    """A value's name with the index in a tuple, empty indices left out."""
    return name.removesuffix("{}")


def _live_ranges(text: str) -> tuple[dict[str, tuple[int, int]], list[str]]:
    ranges: dict[str, tuple[int, int]] = {}
    order: list[str] = []
    for line in text.splitlines():
        if span := _RANGE.match(line):
            name = _plain(span[1] + span[2])
            ranges[name] = (int(span[3]), int(span[4]))
        elif step := _ORDER.match(line):
            order.append(step[2])
    return ranges, order


def _instructions(text: str, wanted: set[str], found: Assignment) -> None:
    for line in text.splitlines():
        if (instruction := _INSTRUCTION.match(line)) is None:
            continue
        name = instruction[1]
        if name in wanted or name + "{0}" in wanted:
            found.opcodes[name] = instruction[3]
            if named := _OP_NAME.search(line):
                found.op_names[name] = named[1]


def alive(found: Assignment) -> list[int]:
    """Bytes of temporaries in use at each step of the schedule."""
    changes: dict[int, int] = defaultdict(int)
    for buffer in found.buffers:
        for first, last in spans(buffer):
            changes[first] += buffer.size
            changes[last + 1] -= buffer.size
    level, levels = 0, []
    for moment in range(len(found.order)):
        level += changes[moment]
        levels.append(level)
    return levels


def spans(buffer: Buffer) -> list[tuple[int, int]]:
    """When the place is in use, counted once where values share it."""
    found: list[tuple[int, int]] = []
    for first, last, _, _ in sorted(buffer.lives):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found
