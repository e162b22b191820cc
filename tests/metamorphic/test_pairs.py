"""A script and its rewriting say the same: programs of our own in every way, and in each way some of the fixtures.

All fixtures in all ways: `python benchmarks/robustness/rewritings.py`.
"""

from __future__ import annotations

from functools import cache
from itertools import islice

import pytest
from fixture_files import Fixture, fixtures
from metamorphic.compare import Subject
from metamorphic.everything import TRANSFORMATIONS
from metamorphic.subjects import EXCEPTIONS, PROGRAMS, exception

from oomlint.testing import mismatches

FIXTURES = fixtures("bad", "like")
OF_EACH = 5  # fixtures for each way


@cache
def _program(name: str) -> Subject:
    return Subject(PROGRAMS / name)


@cache
def _subject(fixture: Fixture) -> Subject:
    return Subject(fixture.path, fixture)


def _names() -> list[str]:
    return sorted(path.name for path in PROGRAMS.glob("*.py"))


@pytest.mark.parametrize("name", _names())
def test_programs_have_what_is_marked(name: str):
    subject = _program(name)
    told = {(said.code, said.severity) for said in subject.found()}
    assert len(told) >= 2
    missing = [one for one in mismatches(subject.text, subject.diagnostics()) if one.startswith("missing")]
    assert not missing


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_the_same_is_found(name: str):
    start = 97 * list(TRANSFORMATIONS).index(name) % len(FIXTURES)
    spread = (FIXTURES[(start + 61 * index) % len(FIXTURES)] for index in range(len(FIXTURES)))
    chosen = [_program(one) for one in _names()]
    applied = [subject for subject in chosen if TRANSFORMATIONS[name](subject.code) is not None]
    applicable = (one for one in map(_subject, spread) if TRANSFORMATIONS[name](one.code) is not None)
    applied += islice(applicable, OF_EACH)
    assert len(applied) >= 3
    wrong = []
    for subject in applied:
        rewriting = TRANSFORMATIONS[name](subject.code)
        assert rewriting is not None
        differ = subject.differences(rewriting)
        if differ and exception(rewriting, name, differ) is None:
            wrong += [subject.name, *differ]
    assert not wrong, "\n    ".join(wrong)


# What once differed: each was a mistake of oomlint.
MENDED = (
    ("OOM104-gpu-config-conflict/bad_set_session.py", "in a try"),
    ("OOM106-gpu-claimed-by-two-frameworks/like_keras_on_jax_tpu.py", "keyword to positional"),
    ("OOM203-array-grown-in-loop/bad_conditional.py", "annotations"),
    ("OOM203-array-grown-in-loop/bad.py", "keywords in a dict"),
    ("OOM204-float64-promotion/like_stacked_as_asked.py", "keywords in a dict"),
    ("OOM204-float64-promotion/like_stacked_as_asked.py", "keyword to positional"),
    ("OOM205-one-hot-large/bad_pixels.py", "positional to keyword"),
    ("OOM209-worker-copies/bad_unbounded.py", "keywords in a dict"),
    ("OOM402-accumulation-unscaled/bad_numpy_sums.py", "constants in a module"),
    ("OOM402-accumulation-unscaled/bad_train_step.py", "arguments named"),
    ("OOM402-accumulation-unscaled/like_mean_over_stack.py", "annotations"),
    ("OOM403-tensors-kept/bad_group_of_a_key.py", "annotations"),
    ("OOM403-tensors-kept/bad_metric.py", "variables on self"),
    ("OOM403-tensors-kept/like_room_for_each_block.py", "arguments named"),
    ("OOM408-function-made-in-loop/bad_backend_function.py", "values from functions"),
    ("OOM409-function-unrolled/bad_pixels.py", "literals in a dict"),
    ("OOM411-predict-in-loop/like_timed_inputs.py", "variables on self"),
    ("OOM412-oom-retry-keeps-memory/bad_other_errors.py", "annotations"),
    ("OOM412-oom-retry-keeps-memory/bad_other_errors.py", "literals in a dict"),
    ("OOM503-built-outside-scope/bad_scope_never_entered.py", "values from functions"),
    ("OOM505-removed-multi-gpu-model/bad.py", "keyword to positional"),
    ("OOM506-replicas-do-not-split-the-model/bad_undefined_builders.py", "values from functions"),
    ("OOM506-replicas-do-not-split-the-model/like_gan.py", "values from functions"),
    ("OOM305-whole-array-to-device/bad_shape_asserted.py", "literals in a dict"),
    ("OOM401-accumulation-never-accumulates/bad_scaled_by_call.py", "literals in a dict"),
    ("OOM406-model-built-in-loop/bad_left_when_it_is_good.py", "in a try"),
    ("OOM406-model-built-in-loop/bad_unfrozen_in_stages.py", "annotations"),
    ("OOM406-model-built-in-loop/like_built_on_the_first_step.py", "literals in a class"),
    ("OOM406-model-built-in-loop/like_loop_left_at_once.py", "pass added"),
    ("OOM407-function-retraced/bad_property.py", "in a with"),
    ("OOM407-function-retraced/like_doubled_grids.py", "literals in a dataclass"),
    ("OOM407-function-retraced/like_set_anew_each_round.py", "literals named"),
    ("OOM407-function-retraced/like_sizes_listed_on_each_way.py", "variables on self"),
    ("OOM602-flatten-dense/bad_doubled_until_large.py", "literals in a dict"),
)


@pytest.mark.parametrize(("path", "name"), MENDED)
def test_what_once_differed(path: str, name: str):
    [fixture] = [one for one in FIXTURES if one.path.match(path)]
    rewriting = TRANSFORMATIONS[name](_subject(fixture).code)
    assert rewriting is not None
    assert not _subject(fixture).differences(rewriting)


def test_exceptions_are_few():
    assert len(EXCEPTIONS) <= 22
