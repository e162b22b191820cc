"""Programs of our own grammar of training code: checked and mended without harm, and silenced one by one."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from robustness.grammar.engine import Grammar
from robustness.grammar.program import PRODUCTIONS, parses, programs, seeded
from robustness.grammar.scenes import SCENES
from robustness.properties import ALL, Checks

from oomlint.documents.python_file import document_from_text
from oomlint.findings.applying import fix_document
from oomlint.findings.registry import load_rules

RULES = tuple(load_rules())
CHECKS = Checks(RULES)
# These speak only with an estimate, which scenes have none of.
WITH_ESTIMATE = {"OOM601"}
HEADER = "import collections, functools, glob, os, sys\nimport cv2\nimport numpy as np\nimport pandas as pd\nimport tensorflow as tf\nfrom tensorflow import keras\nfrom sklearn.feature_extraction.text import TfidfVectorizer\nfrom sklearn.model_selection import GridSearchCV\nfrom scikeras.wrappers import KerasClassifier\n"


def test_the_grammar_gives_python():
    texts = [seeded(seed) for seed in range(60)]
    assert all(parses(text.removeprefix("\ufeff")) for text in texts)
    assert len(set(texts)) == len(texts)
    assert texts[7] == seeded(7)


def test_each_rule_has_a_scene_in_which_it_speaks():
    silent = {}
    for entry in RULES:
        for seed in range(6):
            text = HEADER + Grammar(PRODUCTIONS, random.Random(seed)).text(SCENES[entry.code]) + "\n"
            if any(one.code == entry.code for one in CHECKS.check(document_from_text(text, "scene.py"))):
                break
        else:
            silent[entry.code] = text
    assert silent.keys() == WITH_ESTIMATE, silent


def test_each_fix_mends_a_scene():
    left = set()
    for entry in (entry for entry in RULES if entry.rule.fix in ALL and entry.code not in WITH_ESTIMATE):
        alone = Checks((entry,))
        for seed in range(6):
            text = HEADER + Grammar(PRODUCTIONS, random.Random(seed)).text(SCENES[entry.code]) + "\n"
            if fix_document(document_from_text(text, "scene.py"), alone.check, ALL).applied:
                break
        else:
            left.add(entry.code)
    assert not left


@settings(
    derandomize=True, max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
@given(programs(), st.booleans())
def test_programs(text: str, twice: bool):
    wrong = CHECKS.complaints(text, silence=1, twice=twice)
    assert not wrong, text
