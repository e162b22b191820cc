"""Sets of TensorFlow Datasets: what `tfds.builder(name).info.features` says of them (tfds 4.9.10), and no more."""

from __future__ import annotations

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.values.arrays import Array, shape_text
from oomlint.dryrun.values.base import Const, Sequence, Value
from oomlint.dryrun.values.data import Dataset
from oomlint.syntax.parse import parse


def values(name: str) -> dict[str, Value]:
    text = (
        "import tensorflow_datasets as tfds\n"
        f"data, info = tfds.load({name!r}, split='train', as_supervised=True, with_info=True)\n"
        "classes = info.features['label'].num_classes\n"
        "shape = info.features['image'].shape\n"
    )
    return {one.path: one.value for one in dry_run(parse(document_from_text(text, "s.py"))).assigns()}


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("mnist", "(28, 28, 1)", 10),
        ("eurosat", "(64, 64, 3)", 10),
        ("eurosat/rgb:2.0.0", "(64, 64, 3)", 10),
        ("oxford_iiit_pet:3.*.*", "(None, None, 3)", 37),
        ("stanford_dogs", "(None, None, 3)", 120),
        ("patch_camelyon", "(96, 96, 3)", 2),
        ("colorectal_histology", "(150, 150, 3)", 8),
        ("deep_weeds", "(256, 256, 3)", 9),
        ("resisc45", "(256, 256, 3)", 45),
        ("imagenette/160px-v2", "(None, None, 3)", 10),
        ("cars196", "(None, None, 3)", 196),
        ("binary_alpha_digits", "(20, 16, 1)", 36),
    ],
)
def test_pictures_and_classes(name, shape, classes):
    found = values(name)
    data = found["data"]
    assert isinstance(data, Dataset)
    assert isinstance(data.element, Sequence)
    assert data.element.items is not None
    picture = data.element.items[0]
    assert isinstance(picture, Array)
    assert shape_text(picture.shape) == shape
    assert isinstance(found["classes"], Const)
    assert found["classes"].value == classes


@pytest.mark.parametrize("name", ["eurosat/all", "emnist/letters", "my_own_set"])
def test_of_others_nothing_is_said(name):
    assert not isinstance(values(name)["classes"], Const)
