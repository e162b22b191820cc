"""Rules made for the tests of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from oomlint.findings.model import Evidence, Finding, Fix, Rule, Safety, Severity
from oomlint.findings.registry import RegisteredRule
from oomlint.syntax.edits import Replace

SHUFFLE = Rule("OOM391", "test-shuffle", Severity.WARNING, Safety.UNSAFE, literals=("shuffle",))
BATCH = Rule("OOM392", "test-batch", Severity.NOTE, None, literals=("batch",))


def registered(rule: Rule, check: Callable[..., Iterator[Finding]]) -> RegisteredRule:
    return RegisteredRule(rule, check, "A rule of the tests.\n", "tests")


def _shuffles(trace, settings):
    for call in trace.calls("tf.data.Dataset.shuffle"):
        argument = call.argument("buffer_size")
        if argument.const() in (None, 7):  # not known, or mended
            continue
        fix = Fix("use seven", Safety.UNSAFE, (Replace(argument.place, "7"),))
        yield SHUFFLE.finding(
            argument.place,
            f"shuffles {argument.const()}",
            evidence=[Evidence("the call", call.place), Evidence("nowhere")],
            fix=fix,
        )


def _batches(trace, settings):
    for call in trace.calls("tf.data.Dataset.batch"):
        yield BATCH.finding(call.argument("batch_size").place, "batches")


def _fails(trace, settings):
    yield BATCH.finding(next(iter(trace.all_calls())).place, "a finding before the failure")
    raise KeyError("shape")


def _twice(trace, settings):
    for call in trace.calls("tf.data.Dataset.batch"):
        place = call.argument("batch_size").place
        yield BATCH.finding(place, "first note")
        yield BATCH.finding(place, "first error", severity=Severity.ERROR)
        yield BATCH.finding(place, "second error", severity=Severity.ERROR)


def _strange(trace, settings):
    for call in trace.calls("tf.data.Dataset.batch"):
        yield BATCH.finding(call.place.source.place(cst.Name("elsewhere")), "no such node")


shuffles = registered(SHUFFLE, _shuffles)
batches = registered(BATCH, _batches)
fails = registered(BATCH, _fails)
twice = registered(BATCH, _twice)
strange = registered(BATCH, _strange)
