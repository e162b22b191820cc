"""A pytest session that is collected once and forks for each mutant.

Every mutant runs in a child of a warm process, against the tests that run its rows, quickest first, until one fails.
"""

from __future__ import annotations

import gc
import os
import pickle
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from kept import Kept
from operators import Mutant
from patching import Loaded, living_functions

# Fixtures that come to every test and set nothing up for one.
AUTOMATIC = ("request", "event_loop_policy", "models_are_let_go")
KILLED, SURVIVED, TIMEOUT, UNCOVERED = "killed", "survived", "timeout", "uncovered"


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant."""

    mutant: Mutant
    status: str
    by: str = ""
    tests: int = 0
    seconds: float = 0.0
    seen_in: str = ""  # for one that survived: a fixture for which it says something else, and what


class Session:
    """The plugin. `wanted` says which collected items can kill; `report` is told each outcome."""

    def __init__(
        self,
        modules: Sequence[str],
        mutants: Sequence[Mutant],
        wanted: Callable[[pytest.Item], bool],
        report: Callable[[Outcome], None],
        *,
        keep_traces: bool,
        most_tests: int,
        last: Iterable[str] = (),
    ) -> None:
        self.modules = modules
        self.mutants = mutants
        self.wanted = wanted
        self.report = report
        self.keep_traces = keep_traces
        self.most_tests = most_tests
        self.last = tuple(last)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Only those that can kill."""
        items[:] = [item for item in items if self.wanted(item)]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """The mutants in place of the tests."""
        items = session.items
        for name in self.modules:
            __import__(name)
        loaded = {name: Loaded(name) for name in self.modules}
        if self.keep_traces:
            kept = Kept()
            kept.switch_on()
            for item in items:
                _run([item])
            kept.forget()
        covered, seconds, broken, self.told = _in_child(lambda: _coverage(items, loaded))
        for name in broken:
            print(f"fails without a mutant, left out: {name}", flush=True)
        items = [item for item in items if item.nodeid not in broken]
        alive = living_functions()
        for one in loaded.values():
            one.look(alive)
        del alive
        gc.collect()
        gc.freeze()
        print(
            f"{len(items)} tests, {sum(seconds.values()):.1f} s, for {len(self.mutants)} mutants", flush=True
        )
        for mutant in self.mutants:
            self.report(self._judge(mutant, items, loaded, covered, seconds))
        return True

    def _judge(
        self,
        mutant: Mutant,
        items: list[pytest.Item],
        loaded: dict[str, Loaded],
        covered: dict[str, set[tuple[str, int]]],
        seconds: dict[str, float],
    ) -> Outcome:
        path = str(loaded[mutant.module].path)
        rows = {(path, row) for row in range(mutant.rows[0], mutant.rows[1] + 1)}
        able = [item for item in items if covered[item.nodeid] & rows]
        everywhere = not mutant.scope
        if everywhere or mutant.scope.endswith("()"):  # a constant, a record or a default value
            able = [item for item in items if any(file == path for file, _ in covered[item.nodeid])]
        if not able and not everywhere:
            return Outcome(mutant, UNCOVERED)
        able = _chosen(able, seconds, self.most_tests, mutant.key, self.last)
        if everywhere:  # it may be imported elsewhere
            others = [item for item in items if item not in able]
            able += _chosen(others, seconds, max(0, self.most_tests - len(able)), mutant.key, self.last)
        allowed = 2 + 5 * sum(seconds[item.nodeid] for item in able)
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        status, by = _trial(loaded[mutant.module], mutant, able, allowed, self.told)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
        seen_in, by = (by, "") if status == SURVIVED else ("", by)
        return Outcome(mutant, status, by, len(able), round(spent, 3), seen_in)


def _chosen(
    able: list[pytest.Item], seconds: dict[str, float], most: int, seed: str, last: tuple[str, ...]
) -> list[pytest.Item]:
    """The quickest first; where there are too many, the quicker half of what is left and a sample of the rest."""
    able = sorted(
        able, key=lambda item: (item.nodeid.startswith(last) if last else False, seconds[item.nodeid])
    )
    if len(able) <= most:
        return able
    half = most // 2
    rest = random.Random(seed).sample(range(half, len(able)), most - half)
    return able[:half] + [able[index] for index in sorted(rest)]


def _run(items: Sequence[pytest.Item]) -> str | None:
    """The first item that fails, if one does."""
    for index, item in enumerate(items):
        if isinstance(item, pytest.Function) and _needs_nothing(item):
            try:
                item.obj(**(item.callspec.params if hasattr(item, "callspec") else {}))
            except Exception:
                return item.nodeid
            continue
        following = items[index + 1] if index + 1 < len(items) else None
        for report in runtestprotocol(item, log=False, nextitem=following):
            if report.failed:
                return item.nodeid
    return None


def _needs_nothing(item: pytest.Function) -> bool:
    """Whether a test is its function and parameters: pytest's protocol would take longer than it."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return set(item.fixturenames) <= {*given, *AUTOMATIC} and not hasattr(item.obj, "hypothesis")


def _told(item: pytest.Item) -> list[str]:
    """All that the rule says of a bad fixture."""
    if getattr(item, "originalname", "") != "test_bad_is_found_as_marked":
        return []
    lines = []
    for one in item.callspec.params["fixture"].check():  # type: ignore[attr-defined]
        lines.append(f"{one.location.row}:{one.location.column} {one.severity} {one.message}")
        for note in one.evidence:
            lines.append(f"  {note.location.row if note.location else '-'}: {note.text}")
        lines.append(f"  help: {one.help}")
        if one.fix is not None:
            lines.append(f"  fix ({one.fix.safety.value}): {one.fix.message}")
    return lines


def _other_words(items: list[pytest.Item], told: dict[str, list[str]]) -> str:
    for item in items:
        before, after = told.get(item.nodeid, []), _told(item)
        if before != after:
            changed = [f"-{line}" for line in before if line not in after]
            changed += [f"+{line}" for line in after if line not in before]
            return "\n".join([item.nodeid.rpartition("[")[2][:-1], *changed])
    return ""


def _trial(
    loaded: Loaded, mutant: Mutant, items: list[pytest.Item], allowed: float, told: dict[str, list[str]]
) -> tuple[str, str]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _silent()
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, allowed)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(allowed * 20) + 30)  # one that waits and takes no time
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        try:
            loaded.install(mutant)
            failed = _run(items)
        except BaseException as error:
            failed = f"{type(error).__name__}: {error}"
        try:
            said = failed or _other_words(items, told)
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode()[:4000])
        os._exit(1 if failed else 0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM)
        return (TIMEOUT, "") if late else (KILLED, f"signal {os.WTERMSIG(status)}")
    return (KILLED if os.WEXITSTATUS(status) else SURVIVED), said


def _silent() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)


def _coverage(
    items: list[pytest.Item], loaded: dict[str, Loaded]
) -> tuple[dict[str, set[tuple[str, int]]], dict[str, float], list[str], dict[str, list[str]]]:
    """For each item the rows of the modules that it runs, and its time; and those that fail."""
    _silent()
    files = {str(one.path) for one in loaded.values()}
    seen: set[tuple[str, int]] = set()

    def rows(frame: Any, event: str, _: Any) -> Any:
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        return rows

    def calls(frame: Any, event: str, _: Any) -> Any:
        return rows(frame, event, None) if frame.f_code.co_filename in files else None

    covered, seconds, broken, told = {}, {}, [], {}
    for item in items:
        seen.clear()
        start = time.process_time()
        sys.settrace(calls)
        try:
            failed = _run([item])
        finally:
            sys.settrace(None)
        seconds[item.nodeid] = time.process_time() - start
        covered[item.nodeid] = set(seen)
        if failed:
            broken.append(item.nodeid)
        else:
            told[item.nodeid] = _told(item)
    return covered, seconds, broken, told


def _in_child(work: Callable[[], Any]) -> Any:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            try:
                pickle.dump(work(), pipe)
            except BaseException as error:
                pickle.dump(RuntimeError(f"{type(error).__name__}: {error}"), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        result = pickle.load(pipe)
    os.waitpid(child, 0)
    if isinstance(result, Exception):
        raise result
    return result
