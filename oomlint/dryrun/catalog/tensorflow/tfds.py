"""TensorFlow Datasets: what the catalogued sets hold, where their elements have one size.

From the sets' own pages: shape and dtype of the picture, and the number of examples per split. A set that is
not here has elements of unknown size.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.registry import function
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import NONE, Const, Mapping, Opaque, Sequence, Step, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.shapes import dim_of

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

# Picture (None: sizes differ), splits, how many values the label has.
_SETS: dict[str, tuple[tuple[int | None, ...], dict[str, int], int]] = {
    "mnist": ((28, 28, 1), {"train": 60_000, "test": 10_000}, 10),
    "fashion_mnist": ((28, 28, 1), {"train": 60_000, "test": 10_000}, 10),
    "kmnist": ((28, 28, 1), {"train": 60_000, "test": 10_000}, 10),
    "cifar10": ((32, 32, 3), {"train": 50_000, "test": 10_000}, 10),
    "cifar100": ((32, 32, 3), {"train": 50_000, "test": 10_000}, 100),
    "svhn_cropped": ((32, 32, 3), {"train": 73_257, "test": 26_032, "extra": 531_131}, 10),
    "stl10": ((96, 96, 3), {"train": 5_000, "test": 8_000, "unlabelled": 100_000}, 10),
    "horses_or_humans": ((300, 300, 3), {"train": 1_027, "test": 256}, 2),
    "rock_paper_scissors": ((300, 300, 3), {"train": 2_520, "test": 372}, 3),
    "beans": ((500, 500, 3), {"train": 1_034, "validation": 133, "test": 128}, 3),
    "tf_flowers": ((None, None, 3), {"train": 3_670}, 5),
    "cats_vs_dogs": ((None, None, 3), {"train": 23_262}, 2),
    "oxford_flowers102": ((None, None, 3), {"train": 1_020, "validation": 1_020, "test": 6_149}, 102),
    "food101": ((None, None, 3), {"train": 75_750, "validation": 25_250}, 101),
    "imagenet2012": ((None, None, 3), {"train": 1_281_167, "validation": 50_000}, 1_000),
    "imagenette": ((None, None, 3), {"train": 9_469, "validation": 3_925}, 10),
    "oxford_iiit_pet": ((None, None, 3), {"train": 3_680, "test": 3_669}, 37),
    "stanford_dogs": ((None, None, 3), {"train": 12_000, "test": 8_580}, 120),
    "cars196": ((None, None, 3), {"train": 8_144, "test": 8_041}, 196),
    "eurosat": ((64, 64, 3), {"train": 27_000}, 10),
    "resisc45": ((256, 256, 3), {"train": 31_500}, 45),
    "uc_merced": ((None, None, 3), {"train": 2_100}, 21),
    "patch_camelyon": ((96, 96, 3), {"train": 262_144, "test": 32_768, "validation": 32_768}, 2),
    "colorectal_histology": ((150, 150, 3), {"train": 5_000}, 8),
    "malaria": ((None, None, 3), {"train": 27_558}, 2),
    "cassava": ((None, None, 3), {"train": 5_656, "test": 1_885, "validation": 1_889}, 5),
    "deep_weeds": ((256, 256, 3), {"train": 17_509}, 9),
    "plant_village": ((None, None, 3), {"train": 54_303}, 38),
    "binary_alpha_digits": ((20, 16, 1), {"train": 1_404}, 36),
}
# Of these another configuration holds other pictures: the one that is meant here, and is taken by default.
_CONFIGURED = {"eurosat": "rgb"}
# Tables and texts of a few hundred megabytes at most, whatever is made of a row.
_SMALL = tuple(
    """movielens/100k movielens/1m imdb_reviews ag_news iris titanic wine_quality penguins german_credit
    yelp_polarity glue/ diamonds tiny_shakespeare""".split()
)
_SLICE = re.compile(r"(\w+)\[(\d*)(%?):(\d*)(%?)\]")


@function(
    "tensorflow_datasets.load",
    parameters="name split data_dir batch_size shuffle_files download as_supervised decoders read_config with_info",
)
def load(call: Call, run: Run) -> Value:
    """One dataset per split that is asked for; a dictionary of all of them if none is."""
    name = call.const("name")
    known = _known(name) if isinstance(name, str) else None
    split = call.value("split")
    if split is None or (isinstance(split, Const) and split.value is None):
        names = list(known[1]) if known is not None else ["train", "test", "validation"]
        entries: dict[object, Value] = {part: _split(call, known, Const(part)) for part in names}
        result: Value = Mapping(entries, known is not None)
    else:
        result = _nested(call, known, split)
    if call.argument("with_info") is not None and call.const("with_info") is not False:
        return Sequence("tuple", items=[result, _info(call, known)])
    return result


def _known(name: str) -> Known | None:
    """What is known of a set by its name, `eurosat/rgb:2.0.0`."""
    whole, _, _ = name.partition(":")
    plain, _, configuration = whole.partition("/")
    if configuration and _CONFIGURED.get(plain, configuration) != configuration:
        return None
    return _SETS.get(plain)


def _info(call: Call, known: Known | None) -> Opaque:
    """What `info.splits["train"].num_examples` asks; parts such as `train[:80%]` may be asked for as well.

    And what `info.features["image"].shape` and `info.features["label"].num_classes` do.
    """
    info = Opaque("tensorflow_datasets.core.DatasetInfo", call)
    if known is not None:
        step = Step(f"tfds.load({call.const('name')!r})", call.place)
        splits: dict[object, Value] = {
            name: Opaque("tensorflow_datasets.core.SplitInfo", call, {"num_examples": Const(count, (step,))})
            for name, count in known[1].items()
        }
        info.attributes["splits"] = Mapping(splits, complete=False)
        sizes: list[Value] = [NONE if size is None else Const(size, (step,)) for size in known[0]]
        classes = Const(known[2], (step,))
        image: dict[str, Value] = {"shape": Sequence("tuple", items=sizes)}
        features: dict[object, Value] = {
            "image": Opaque("tensorflow_datasets.core.features.Image", call, image),
            "label": Opaque("tensorflow_datasets.core.features.ClassLabel", call, {"num_classes": classes}),
        }
        info.attributes["features"] = Mapping(features, complete=False)
    return info


Known = tuple[tuple["int | None", ...], dict[str, int], int]


def _nested(call: Call, known: Known | None, split: Value) -> Value:
    split = deref(split)
    if isinstance(split, Sequence) and split.items is not None:
        return Sequence(split.kind, items=[_nested(call, known, item) for item in split.items])
    return _split(call, known, split)


def _split(call: Call, known: Known | None, split: Value) -> Value:
    supervised = call.const("as_supervised", False)
    element: Value | None = None
    count: Const | None = None
    if known is not None:
        shape, splits, _ = known
        step = Step(f"tfds.load({call.const('name')!r})", call.place)
        dims = tuple(None if size is None else Const(size) for size in shape)
        image = Array("tensor", dims, "uint8", step, frozenset({"image"}))
        label = Array("tensor", (), "int64", tags=frozenset({"label"}))
        count = _count(splits, split.value if isinstance(split, Const) else None, step)
        if supervised is True:
            element = Sequence("tuple", items=[image, label])
        elif supervised is False:
            element = Mapping({"image": image, "label": label}, complete=False)
    elif supervised is True:
        element = Sequence("tuple", items=[Unknown(tags=frozenset({"tfds"})), Unknown()])
    size = dim_of(call.value("batch_size"))
    batched = size is not None and size.value > 0  # -1: the whole set as one tensor
    if call.argument("batch_size") is not None:
        element, whole, count = _batched(element, size), count, None
        if whole is not None and size is not None and batched:
            count = Const(-(-whole.value // size.value), whole.trail)
    name = call.const("name")
    small = isinstance(name, str) and name.startswith(_SMALL)
    tags = [tag for tag, holds in (("small", small), ("batched", batched)) if holds]
    return Dataset(element=element, count=count, stages=(call,), tags=frozenset(tags))


def _batched(element: Value | None, size: Dim) -> Value | None:
    """Each part with the batch as its first dimension; the whole set for -1, of which nothing is said."""
    if size is None or size.value <= 0:
        return None
    match element:
        case Array(shape=tuple(shape)):
            return replace(element, shape=(size, *shape))
        case Sequence(items=list(items)):
            parts = [_batched(item, size) or Unknown() for item in items]
            return Sequence(element.kind, items=parts)
        case Mapping(entries=entries):
            inner = {key: _batched(item, size) or Unknown() for key, item in entries.items()}
            return Mapping(inner, element.complete)
    return None


def _count(splits: dict[str, int], text: object, step: Step) -> Const | None:
    """Examples of `train`, `train[:80%]`, `train[1000:]`."""
    if not isinstance(text, str):
        return None
    if text in splits:
        return Const(splits[text], (step,))
    found = _SLICE.fullmatch(text)
    if found is None or found[1] not in splits:
        return None
    whole = splits[found[1]]
    ends = []
    for digits, percent, default in ((found[2], found[3], 0), (found[4], found[5], whole)):
        ends.append(default if not digits else round(whole * int(digits) / 100) if percent else int(digits))
    return Const(max(0, min(ends[1], whole) - ends[0]), (step,))


@function("tensorflow_datasets.as_numpy", parameters="dataset")
def as_numpy(call: Call, run: Run) -> Value:
    """The same, to iterate over."""
    value = call.value("dataset")
    return value if value is not None else Unknown()
