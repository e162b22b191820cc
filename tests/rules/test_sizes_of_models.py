"""What a training step holds of a model, tensor by tensor: tables of sizes worked out by hand (`sizes_of_models/*.txt`).

A script begins with a row `### QUERY title`; between it and the rows `=> ...`, which say what must be found, stands what makes
`model`. It is compiled with Adam and trained on batches of 16, unless the script says `fit` itself. A batch of 16 in front,
shapes and bytes as Keras' own `output_shape` and dtypes have them; what each kind of layer keeps is documented with the query.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.queries.attention_scores import attention_scores
from oomlint.dryrun.queries.dense_kernels import flattened_kernels
from oomlint.dryrun.queries.embedding_tables import embedding_tables
from oomlint.dryrun.queries.recurrent_states import recurrent_states
from oomlint.dryrun.queries.saved_activations import complete, in_sequences, saved_activations
from oomlint.dryrun.queries.tensor_sizes import formula
from oomlint.dryrun.queries.trained_models import trained_models
from oomlint.dryrun.queries.vocabulary_outputs import vocabulary_outputs
from oomlint.dryrun.trace import Trace
from oomlint.dryrun.values.arrays import Shape
from oomlint.syntax.parse import parse
from oomlint.syntax.place import Place

HEAD = "import keras\nimport numpy as np\nimport tensorflow as tf\nfrom keras import layers\n"
TAIL = "model.compile('adam', 'mse')\nmodel.fit(np.load('x.npy'), np.load('y.npy'), batch_size=16)\n"
_TITLE = re.compile(r"^### (\w+) (.+)\n", re.MULTILINE)


def _saved(trace: Trace) -> list[str]:
    found = []
    for trained in trained_models(trace):
        saved = saved_activations(trained)
        found += ["unknown"] if saved is None else [formula(one.factors, one.itemsize) for one in saved]
        found += [f"in a sequence {formula(one.factors, one.itemsize)}" for one in in_sequences(trained)]
        found += [] if complete(trained) else ["and more"]
    return found


def _scores(trace: Trace) -> list[str]:
    return [
        f"{formula(one.factors, one.itemsize)}, {one.layers} x {one.kept} + {one.working}: {one.bytes:,} B"
        for one in attention_scores(trace)
    ]


def _kernels(trace: Trace) -> list[str]:
    found = []
    for one in flattened_kernels(trace):
        source = "nothing" if one.source is None else _shape(one.source[0])
        found.append(
            f"{_shape(one.flattened)} of {source}, {known(one.inputs)} x {known(one.units)} x {one.itemsize} B x {one.copies}: "
            f"{one.bytes:,} B, {_words(one.flatten)}"
        )
    return found


def _tables(trace: Trace) -> list[str]:
    return [
        f"{one.rows.value} x {one.width.value} x {one.itemsize} B x {one.copies}, {one.tables}: {one.bytes:,} B"
        for tables in embedding_tables(trace)
        for one in tables
    ]


def _states(trace: Trace) -> list[str]:
    return [
        f"{one.units} x {formula(one.factors, one.itemsize)}: {one.why}"
        for trained in trained_models(trace)
        for one in recurrent_states(trained)
    ]


def _outputs(trace: Trace) -> list[str]:
    return [
        f"{formula(one.factors, one.itemsize)}: {', '.join(one.parts)}" for one in vocabulary_outputs(trace)
    ]


def _shape(shape: Shape) -> str:
    return "x".join("?" if known(dim) is None else str(known(dim)) for dim in shape)


def _words(place: Place | None) -> str:
    return "nowhere" if place is None else place.source.words(place.node)[:30]


QUERIES = {
    "saved": _saved, "scores": _scores, "kernels": _kernels, "tables": _tables, "states": _states, "outputs": _outputs,
}  # fmt: skip


def _rows() -> list[tuple[str, str, str, list[str]]]:
    rows = []
    for path in sorted((Path(__file__).parent / "sizes_of_models").glob("*.txt")):
        parts = _TITLE.split(path.read_text("utf-8"))
        for query, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            code, _, said = text.partition("=> ")
            rows.append((query, title, code, [line.strip() for line in said.split("=> ") if line.strip()]))
    return rows


ROWS = _rows()


@pytest.mark.parametrize(
    ("query", "code", "said"),
    [(query, code, said) for query, _, code, said in ROWS],
    ids=[f"{row[0]} {row[1]}" for row in ROWS],
)
def test_size(query: str, code: str, said: list[str]) -> None:
    text = HEAD + code + ("" if "fit" in code else TAIL)
    trace = dry_run(parse(document_from_text(text, "train.py")))
    assert QUERIES[query](trace) == said
