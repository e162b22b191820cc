"""What the dry run says of a pipeline's elements is what TensorFlow says of them.

Every snippet is run twice: by TensorFlow, on tiny files made here, and by the dry run, which sees only the text.
Shapes, data types, structure and cardinality must agree exactly. Where the number of elements is a
matter of what lies on the disk, the dry run must say that it does not know (`disk`). What TensorFlow leaves
open because a last batch may be smaller, the dry run keeps as a soft constant: an upper bound, open too.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.syntax.parse import parse

PRELUDE = """
import glob
import os
import numpy as np
import tensorflow as tf
from tensorflow import keras
"""

INFINITE, UNKNOWN = -1, -2


class Case(NamedTuple):
    """A snippet that leaves its pipeline in `ds`."""

    name: str
    code: str
    disk: bool = False


def cases() -> list[Case]:
    """The snippets of `pipelines.txt`, each under a line `### name`."""
    found = []
    for part in (Path(__file__).parent / "pipelines.txt").read_text().split("### ")[1:]:
        title, _, code = part.partition("\n")
        name = title.removesuffix(" (disk)")
        found.append(Case(name, code, disk=name != title))
    return found


CASES = cases()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few files of each kind."""
    import tensorflow as tf

    root = tmp_path_factory.mktemp("files")
    picture = tf.io.encode_png(tf.zeros((5, 6, 3), tf.uint8)).numpy()
    sound = tf.audio.encode_wav(tf.zeros((900, 1)), 16000).numpy()
    for label in ("a", "b"):
        for name, kind, content in (
            ("images", "png", picture),
            ("texts", "txt", b"words"),
            ("sounds", "wav", sound),
        ):
            (root / name / label).mkdir(parents=True)
            for number in range(2):
                (root / name / label / f"{number}.{kind}").write_bytes(content)
    (root / "lines.txt").write_text("one\ntwo\n")
    tf.io.TFRecordWriter(str(root / "one.tfrecord")).close()
    return root


def told(spec: Any) -> Any:
    """TensorFlow's element spec as plain data."""
    import tensorflow as tf

    if isinstance(spec, dict):
        return {key: told(part) for key, part in spec.items()}
    if isinstance(spec, tuple):
        return tuple(told(part) for part in spec)
    if isinstance(spec, tf.data.DatasetSpec):
        return ["dataset", told(spec.element_spec)]
    if isinstance(spec, tf.RaggedTensorSpec):
        return ("ragged",)
    shape = None if spec.shape.rank is None else tuple(spec.shape.as_list())
    return [shape, spec.dtype.name]


def said(value: Value | None) -> Any:
    """The dry run's element as plain data."""
    value = deref(value) if value is not None else Unknown()
    match value:
        case Sequence(kind="tuple", items=list(items)):
            return tuple(said(item) for item in items)
        case Mapping(entries=entries, complete=True):
            return {key: said(item) for key, item in entries.items()}
        case Dataset(element=element):
            return ["dataset", said(element)]
        case Array(shape=shape, dtype=dtype):
            return [None if shape is None else tuple(closed(dim) for dim in shape), dtype]
        case Unknown():
            return ("ragged",)
    raise AssertionError(f"an element holds {value}")


def closed(number: Const | None) -> int | None:
    """A number that is certain; None for one that is open."""
    return None if number is None or number.soft else number.value


def by_tensorflow(code: str) -> Any:
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(PRELUDE + code, names)
    return names["ds"]


def by_dry_run(code: str) -> Dataset:
    trace = dry_run(parse(document_from_text(PRELUDE + code, "script.py")))
    values = [deref(assign.value) for assign in trace.assigns() if assign.path == "ds"]
    assert isinstance(values[-1], Dataset), values[-1]
    return values[-1]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_elements_are_what_tensorflow_says(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    truth = by_tensorflow(case.code)
    found = by_dry_run(case.code)
    assert said(found.element) == told(truth.element_spec)

    cardinality = int(truth.cardinality())
    certain = closed(found.count)
    count = INFINITE if found.infinite else UNKNOWN if certain is None else certain
    assert count == (UNKNOWN if case.disk else cardinality)


def test_there_are_enough_cases() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60
