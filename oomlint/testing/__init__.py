"""The public harness for authors of rules."""

from oomlint.testing.harness import MemoryModules, fix_text, rules_named, run_rule, run_rules
from oomlint.testing.markers import Expectation, expectations, mismatches
from oomlint.testing.spellings import SPELLINGS, generation, spelled

__all__ = [
    "SPELLINGS",
    "Expectation",
    "MemoryModules",
    "expectations",
    "fix_text",
    "generation",
    "mismatches",
    "rules_named",
    "run_rule",
    "run_rules",
    "spelled",
]
