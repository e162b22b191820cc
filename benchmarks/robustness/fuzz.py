"""Coverage-guided fuzzing of documents, comments and configuration, with atheris.

    pip install atheris          # for Pythons that it has a wheel for
    python benchmarks/robustness/fuzz.py documents|configuration CORPUS [libFuzzer's flags, -max_total_time=900]

CORPUS is a folder that keeps what reached new code; an empty one is filled with scripts, notebooks, texts and TOML of
this repository and of the grammar in tests/robustness/grammar. The first byte of an input says what it is taken for:
a script, a notebook or its cells, Markdown or its blocks, reStructuredText; a pyproject.toml or another file.
What must hold is in tests/robustness/inputs.py; an input that breaks it ends the run and lies beside the corpus.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import zlib
from pathlib import Path

import atheris

ROOT = Path(__file__).parent.parent.parent
sys.path[:] = [str(ROOT / "tests"), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT)]

with atheris.instrument_imports(
    include=["oomlint.documents", "oomlint.findings", "oomlint.project", "oomlint.syntax"]
):
    from robustness import inputs

    from oomlint.documents.code_blocks import code_blocks_from_bytes  # noqa: F401
    from oomlint.documents.ipython import cell_of  # noqa: F401  (imported here, so that it is watched)
    from oomlint.documents.notebook import notebook_from_bytes  # noqa: F401
    from oomlint.findings.suppressions import Suppressions  # noqa: F401
    from oomlint.project.toml import parse_toml  # noqa: F401

from robustness.grammar.program import seeded  # noqa: E402

from oomlint.project.configuration import CONFIGURATION_FILES  # noqa: E402
from oomlint.project.options import OPTIONS  # noqa: E402
from oomlint.testing import rules_named  # noqa: E402

WORDS = """\
import tensorflow
# noqa
# noqa: OOM301, E501
# oomlint: ignore[OOM301]
# oomlint: disable[OOM3]
# oomlint: enable
# oomlint: skip-file
```python
```{code-cell}
~~~py
.. code-block:: python
>>> x
... y
%%time
%time x
%env A=b
!pip install keras
x = !ls
x?
"cells": [
"worksheets": [
"cell_type": "code"
"source": "
"source": ["
"metadata": {
"kernelspec": {"language": "python"}
"\\ud83d\\ude00"
\\\\n
[tool.oomlint]
[tool.oomlint.rules.OOM301]
select = ["ALL"]
per-file-ignores
extend = "
""".splitlines()


def _documents(data: bytes) -> None:
    kind, raw = data[:1] or b"\0", data[1:]
    chance = random.Random(zlib.crc32(data))
    name, content = _document(kind[0] % 7, raw)
    wrong = inputs.document_problems(content, name, RULES, chance)
    assert not wrong, f"{name}: {wrong}\n{content!r}"


def _document(kind: int, raw: bytes) -> tuple[str, bytes]:
    if kind == 0:
        return "script.py", raw
    if kind == 1:
        return "notebook.ipynb", raw
    if kind in (2, 3):
        cells = [
            {
                "cell_type": "code",
                "source": text if kind == 2 else text.splitlines(keepends=True),
                "outputs": [],
            }
            for text in raw.decode("utf-8", "replace").split("\0")
        ]
        content = {"cells": cells, "metadata": {}, "nbformat": 4}
        return "notebook.ipynb", json.dumps(
            content, indent=kind % 2 or None, ensure_ascii=len(raw) % 2 == 0
        ).encode()
    if kind == 4:
        return "text.md", raw
    if kind == 5:
        blocks = raw.decode("utf-8", "replace").split("\0")
        return "text.md", "\n".join(f"text\n```python\n{block}\n```" for block in blocks).encode()
    return "text.rst", raw


def _configuration(data: bytes) -> None:
    name = CONFIGURATION_FILES[(data[0] if data else 0) % len(CONFIGURATION_FILES)]
    wrong = inputs.configuration_problems(data[1:], name, FOLDER)
    assert not wrong, f"{name}: {wrong}\n{data[1:]!r}"


def _fill(corpus: Path, target: str) -> None:
    texts: list[tuple[int, bytes]] = []
    if target == "documents":
        texts += [(0, seeded(seed).encode()) for seed in range(40)]
        texts += [
            (number % 7, path.read_bytes()) for number, path in enumerate(sorted(ROOT.glob("docs/*.md"))[:30])
        ]
        texts += [(1, path.read_bytes()[:20_000]) for path in sorted(ROOT.glob("**/*.ipynb"))[:20]]
        texts += [
            (2 + number % 2, "\0".join((word, seeded(number))).encode()) for number, word in enumerate(WORDS)
        ]
        texts += [(5, "\0".join((word, "x = 1  " + word)).encode()) for word in WORDS]
        texts += [(0, f"import keras\nx = 1  {word}\n{word}\n".encode()) for word in WORDS]
    else:
        for number, option in enumerate(OPTIONS):
            for value in (
                "true",
                "[]",
                '["OOM3"]',
                '"8GB"',
                '{ "*" = ["OOM1"] }',
                '"2.16"',
                "{ OOM301 = { a = 1 } }",
            ):
                head = "[tool.oomlint]\n" if number % 3 == 2 else ""
                texts.append((number % 3, f"{head}{option} = {value}\n".encode()))
        texts.append((2, (ROOT / "pyproject.toml").read_bytes()))
    for number, (kind, raw) in enumerate(texts):
        (corpus / f"seed{number}").write_bytes(bytes([kind]) + raw)


def main() -> None:
    """Run libFuzzer."""
    target, corpus = sys.argv[1], Path(sys.argv[2])
    corpus.mkdir(parents=True, exist_ok=True)
    if not any(corpus.iterdir()):
        _fill(corpus, target)
    words = corpus.parent / f"{target}.dict"
    escaped = (word.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"').decode() for word in WORDS)
    words.write_text("".join(f'"{word}"\n' for word in escaped))
    one = _documents if target == "documents" else _configuration
    flags = [f"-dict={words}", f"-artifact_prefix={corpus.parent}/", "-timeout=30", "-rss_limit_mb=3000"]
    atheris.Setup([sys.argv[0], str(corpus), *flags, *sys.argv[3:]], one)
    atheris.Fuzz()


RULES = rules_named(["OOM101", "OOM301"])
FOLDER = Path(tempfile.mkdtemp())
main()
