"""What is mutated, and which tests can kill it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from operators import Mutant

ROOT = Path(__file__).parent.parent.parent
_CODE = re.compile(r"\bOOM\d{3}\b")


def path_of(module: str) -> Path:
    """A module's file: `rules/` installs as `oomlint.rules`."""
    parts = module.split(".")
    folder = ROOT.joinpath(*(parts[1:] if parts[1] == "rules" else parts))
    return folder.with_suffix(".py")


def _modules(folder: str, *names: str) -> tuple[str, ...]:
    package = folder.replace("/", ".")
    package = f"oomlint.{package}" if package.startswith("rules") else package
    there = sorted(path.stem for path in (ROOT / folder).glob("*.py") if path.stem != "__init__")
    return tuple(f"{package}.{name}" for name in names or there)


@dataclass(frozen=True)
class Subject:
    """Modules that are mutated in one process, and the test files that it collects."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    keep_traces: bool = True
    most_tests: int = 400
    last: tuple[str, ...] = ()

    def wanted(self, mutants: Sequence[Mutant]) -> Callable[[Any], bool]:
        """Which of the collected tests can kill some of these mutants."""
        if not self.keep_traces:
            return lambda item: True
        codes = set[str]()
        for module in {mutant.module for mutant in mutants}:
            codes |= codes_of(module)
        return lambda item: (
            item.originalname not in ABOUT_FILES
            and (not (about := _codes_about(item)) or bool(about & codes))
        )


def codes_of(module: str) -> set[str]:
    """The rules that a module is part of: its own code, or those of the rules that import it, however far up."""
    users, found = {module}, set[str]()
    texts = {one: path_of(one).read_text("utf-8") for folder in RULES for one in _modules(folder)}
    texts |= {one: path_of(one).read_text("utf-8") for one in _modules("oomlint/dryrun/queries")}
    while users:
        one = users.pop()
        text = texts.pop(one, "")
        if own := re.search(r'^\s+code="(OOM\d{3})"', text, re.MULTILINE):
            found.add(own[1])
        users |= {other for other, content in texts.items() if _imports(content, one)}
    return found


def _imports(text: str, module: str) -> bool:
    """Whether a text imports a module or something of it."""
    package, _, name = module.rpartition(".")
    listed = re.findall(rf"^from {re.escape(package)} import (\([^)]*\)|.*)$", text, re.MULTILINE)
    return f"from {module} import" in text or any(re.search(rf"\b{name}\b", names) for names in listed)


def _codes_about(item: Any) -> set[str]:
    """The rules that a test is about, where its parameters say so."""
    said = set[str]()
    for value in getattr(item, "callspec", None).params.values() if hasattr(item, "callspec") else ():
        if hasattr(value, "code"):
            said.add(value.code)
        elif isinstance(value, Path):
            bad = value.with_name("bad.py")
            said |= set(_CODE.findall(bad.read_text("utf-8"))) if bad.exists() else set()
    return said


RULES = tuple(
    f"rules/{path.name}" for path in sorted((ROOT / "rules").iterdir()) if (path / "__init__.py").exists()
)

# Tests of the fixtures and the rules' texts themselves: no mutant in memory can fail them.
ABOUT_FILES = (
    "test_bad_has_markers_for_its_rule_only",
    "test_no_rule_tells_the_myth",
    "test_every_myth_has_its_place",
)

OF_RULES = (
    "tests/test_fixtures.py",
    "tests/test_meta.py::test_each_rule_has_its_fixtures",
    "tests/test_meta.py::test_the_severity_of_the_record_is_one_that_the_fixtures_show",
    "tests/test_readme.py::test_each_rule_is_as_grave_and_as_mendable_as_the_table_says",
    "tests/test_meta.py::test_examples_of_tensorflow_are_silent_where_keras_runs_on_jax",
    "tests/test_meta.py::test_rules_that_say_more_with_an_estimate_and_those_still_in_preview",
    "tests/test_meta.py::test_examples_trigger_and_what_to_use_instead_does_not",
    "tests/test_cases.py::test_mistake_is_found_at_its_line",
    "tests/test_cases.py::test_repaired_twin_is_clean",
    "tests/test_cases.py::test_false_alarm_is_not_raised",
    "tests/test_seeds.py",
    "tests/test_myths.py",
    "tests/rules",
)
QUERIES_OF_SIZES = (
    "attention_scores",
    "dense_kernels",
    "embedding_tables",
    "recurrent_states",
    "saved_activations",
    "tensor_sizes",
    "vocabulary_outputs",
)

SUBJECTS = (
    *(Subject(folder.replace("/", "."), _modules(folder), OF_RULES) for folder in RULES),
    Subject("sizes of models", _modules("oomlint/dryrun/queries", *QUERIES_OF_SIZES), OF_RULES),
    Subject(
        "shapes, types and bytes",
        (
            "oomlint.dryrun.sizes",
            *_modules("oomlint/dryrun/values", "arrays", "data", "dtypes", "indexing", "shapes"),
            "oomlint.dryrun.catalog.keras.dims",
            "oomlint.findings.evidence",
        ),
        (
            "tests/dryrun/test_size_arithmetic.py",
            "tests/dryrun/test_numpy_shapes.py",
            "tests/dryrun/test_provenance.py",
        ),
        keep_traces=False,
        most_tests=1000,
    ),
    Subject(
        "what fits",
        # project/gpus.py works out its table when it is imported: no mutant in memory comes in time for that.
        ("oomlint.estimate.verdicts", "oomlint.estimate.worker.what_if.solve"),
        (
            "tests/estimate/test_verdicts.py",
            "tests/estimate/test_solve.py",
            "tests/estimate/test_largest_batch.py",
        ),
        keep_traces=False,
        most_tests=60,
    ),
)
