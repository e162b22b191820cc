"""Turns of model code whose outcome no run of Keras on the same text can show: arguments that are not known, two ways."""

from __future__ import annotations

import pytest

from .test_keras_shapes import dry, plain

# What only the command line knows.
UNKNOWN = "import sys\nrate = float(sys.argv[1])\nkind = sys.argv[2]\n"


def parameters(text: str) -> int | None:
    found = dry(UNKNOWN + text).parameters
    return None if found is None else found.value


def test_a_dropout_that_may_be_missing_changes_no_count() -> None:
    text = """
x = inputs = keras.Input((8, 8, 3))
for filters in (4, 5):
    x = keras.layers.Conv2D(filters, 3, padding="same")(x)
    if rate > 0:
        x = keras.layers.Dropout(rate)(x)
    x = keras.layers.Activation("relu")(x) if kind == "relu" else keras.layers.LeakyReLU()(x)
model = keras.Model(inputs, keras.layers.Dense(2)(x))
"""
    assert parameters(text) == (9 * 3 * 4 + 4) + (9 * 4 * 5 + 5) + (5 * 2 + 2)


def test_ways_with_different_parameters_leave_the_count_open() -> None:
    text = """
x = inputs = keras.Input((8, 8, 3))
if kind == "batch":
    x = keras.layers.BatchNormalization()(x)
else:
    x = keras.layers.GroupNormalization(1)(x)
model = keras.Model(inputs, keras.layers.Dense(2)(x))
"""
    assert parameters(text) is None
    assert plain(dry(UNKNOWN + text).output_shape) == (None, 8, 8, 2)


def test_a_layer_that_is_one_of_two() -> None:
    text = """
class Drop(keras.layers.Layer):
    def call(self, x):
        return x

drop = Drop() if rate > 0 else keras.layers.Activation("linear")
inputs = keras.Input((6,))
x = keras.layers.Dense(5)(inputs)
model = keras.Model(inputs, x + drop(keras.layers.Dense(5)(x)))
"""
    assert parameters(text) == 6 * 5 + 5 + 5 * 5 + 5


@pytest.mark.parametrize("part", ["other(x)", "head([x, x])", "x + other(x)", "tf.unheard_of(x)"])
def test_what_nobody_knows_is_not_counted_as_nothing(part: str) -> None:
    text = f"""
from somewhere import other, head
inputs = keras.Input((6,))
x = keras.layers.Dense(5)(inputs)
model = keras.Model(inputs, x * {part})
"""
    assert parameters(text) is None


def test_an_unknown_number_is_no_layer() -> None:
    text = """
inputs = keras.Input((6,))
x = keras.layers.Dense(5)(inputs)
model = keras.Model(inputs, x * rate)
"""
    assert parameters(text) == 35


def test_outputs_whose_names_are_not_known() -> None:
    text = """
base = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5)])
model = keras.Model(base.inputs, {kind: base.output})
"""
    assert parameters(text) is None


def test_a_short_cut_that_is_given_or_not() -> None:
    text = """
class Block(keras.layers.Layer):
    def __init__(self, width, project=False):
        super().__init__()
        self.dense = keras.layers.Dense(width)
        self.project = keras.layers.Dense(width) if project else None

    def call(self, x):
        shortcut = x
        if self.project is not None:
            shortcut = self.project(x)
        return self.dense(x) + shortcut

inputs = keras.Input((6,))
model = keras.Model(inputs, Block(5)(Block(5, project=True)(inputs)))
"""
    assert parameters(text) == 2 * (6 * 5 + 5) + (5 * 5 + 5)


@pytest.mark.parametrize(("name", "classes"), [("mnist", 10), ("cifar10", 10), ("reuters", 46)])
def test_the_labels_of_a_known_data_set_are_counted(name: str, classes: int) -> None:
    text = f"""
(x_train, y_train), (x_test, y_test) = keras.datasets.{name}.load_data()
num_labels = len(np.unique(y_train))
model = keras.Sequential([keras.Input((9,)), keras.layers.Dense(num_labels)])
"""
    assert parameters(text) == 10 * classes


@pytest.mark.parametrize(
    ("load", "features"),
    [
        ("fetch_california_housing()", 8),
        ("load_iris()", 4),
        ("load_digits()", 64),
        ("load_breast_cancer()", 30),
    ],
)
def test_tables_of_scikit_learn(load: str, features: int) -> None:
    text = f"""
from sklearn import datasets
from sklearn.model_selection import train_test_split
table = datasets.{load}
x_train, x_test, y_train, y_test = train_test_split(table.data, table.target)
model = keras.Sequential([keras.Input(x_train.shape[1:]), keras.layers.Dense(3)])
"""
    assert parameters(text) == 3 * features + 3


@pytest.mark.parametrize(
    ("made", "features"),
    [
        ("make_moons(500, noise=0.1)", 2),
        ("make_classification(n_samples=500, n_features=12)", 12),
        ("make_blobs()", 2),
    ],
)
def test_made_up_data_of_scikit_learn(made: str, features: int) -> None:
    text = f"""
from sklearn.datasets import *
x, y = {made}
model = keras.Sequential([keras.Input((x.shape[1],)), keras.layers.Dense(1)])
"""
    assert parameters(text) == features + 1


def test_pixels_are_no_labels() -> None:
    text = """
(x_train, y_train), _ = keras.datasets.mnist.load_data()
levels = len(np.unique(x_train))
model = keras.Sequential([keras.Input((9,)), keras.layers.Dense(levels)])
"""
    assert parameters(text) is None


def test_none_that_may_have_been_replaced_decides_nothing() -> None:
    text = """
project = None
if rate > 0:
    project = keras.layers.Dense(5)
x = inputs = keras.Input((6,))
if project is not None:
    x = project(x)
model = keras.Model(inputs, keras.layers.Dense(3)(x))
"""
    assert parameters(text) is None
