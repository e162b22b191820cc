"""OOM205's fix: labels stay integers where all that sees them can take integers, and nothing is changed elsewhere."""

from __future__ import annotations

import pytest

from oomlint.project.settings import Settings
from oomlint.testing import fix_text, rules_named, run_rule

SCRIPT = """\
import numpy as np
import tensorflow as tf
from sklearn.model_selection import train_test_split
from tensorflow import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5000, activation="softmax")])
model.compile("sgd", {loss}{metrics})
{before}{name} = {labels}
{more}model.fit(np.load("x.npy"), {name}{beside})
"""
PLAIN = {
    "loss": '"categorical_crossentropy"',
    "metrics": "",
    "before": "",
    "name": "y",
    "labels": 'keras.utils.to_categorical(np.load("y.npy"), 5000)',
    "more": "",
    "beside": "",
}


def script(**parts: str) -> str:
    # A name that would be set to itself is not: its statement goes.
    return SCRIPT.format(**{**PLAIN, **parts}).replace("\ny = y\n", "\n")


SPARSE = '"sparse_categorical_crossentropy"'
NAMED = 'y = np.load("y.npy")\nheld = np.load("held.npy")\n'

MENDED = {
    "as it is": ({}, {"loss": SPARSE, "labels": 'np.load("y.npy")'}),
    "other quotes": (
        {"loss": "'categorical_crossentropy'"},
        {"loss": "'sparse_categorical_crossentropy'", "labels": 'np.load("y.npy")'},
    ),
    "a loss object": (
        {"loss": "keras.losses.CategoricalCrossentropy()"},
        {"loss": "keras.losses.SparseCategoricalCrossentropy()", "labels": 'np.load("y.npy")'},
    ),
    "plain metrics": (
        {"metrics": ', metrics=["accuracy", "acc"]'},
        {"metrics": ', metrics=["accuracy", "acc"]', "loss": SPARSE, "labels": 'np.load("y.npy")'},
    ),
    "rows of an identity": (
        {"labels": 'np.eye(5000)[np.load("y.npy")]'},
        {"loss": SPARSE, "labels": 'np.load("y.npy")'},
    ),
    "TensorFlow's": (
        {"labels": 'tf.one_hot(np.load("y.npy"), 5000)'},
        {"loss": SPARSE, "labels": 'np.load("y.npy")'},
    ),
    "rows of an identity, under their own name": (
        {"before": 'y = np.load("y.npy")\n', "labels": "np.eye(5000)[y]"},
        {"before": 'y = np.load("y.npy")\n', "labels": "y", "loss": SPARSE},
    ),
    "under their own names": (
        {
            "before": f"{NAMED}held = keras.utils.to_categorical(held, 5000)\n",
            "labels": "keras.utils.to_categorical(y, 5000)",
            "beside": ', validation_data=(np.load("v.npy"), held)',
        },
        {
            "before": NAMED,
            "labels": "y",
            "beside": ', validation_data=(np.load("v.npy"), held)',
            "loss": SPARSE,
        },
    ),
    "counted": (
        {"more": "print(len(y), y)\n"},
        {"more": "print(len(y), y)\n", "loss": SPARSE, "labels": 'np.load("y.npy")'},
    ),
}


@pytest.mark.parametrize("case", MENDED)
def test_the_labels_stay_integers(case: str) -> None:
    before, after = MENDED[case]
    assert fix_text(rules_named(["OOM205"]), script(**before), settings=Settings()) == script(**after)


def test_the_labels_of_a_split() -> None:
    text = script(more='a, b, y_a, y_b = train_test_split(np.load("x.npy"), y)\n').replace(
        'model.fit(np.load("x.npy"), y)',
        "model.fit(a, y_a, validation_data=(b, y_b))\nmodel.evaluate(b, y_b)",
    )
    mended = fix_text(rules_named(["OOM205"]), text, settings=Settings())
    assert '\ny = np.load("y.npy")\n' in mended and SPARSE in mended
    looked_at = text + 'np.save("held.npy", y_b)\n'
    assert fix_text(rules_named(["OOM205"]), looked_at, settings=Settings()) == looked_at


@pytest.mark.parametrize(
    "parts",
    [
        {"before": 'model.compile("adam", "categorical_crossentropy")\n'},
        {"before": 'model.compile("adam", "mse")\n'},
        {"metrics": ', metrics=["accuracy", "categorical_accuracy"]'},
        {"metrics": ', metrics=["accuracy", keras.metrics.Precision()]'},
        {"metrics": ", metrics=wanted"},
        {"loss": '"kullback_leibler_divergence"'},
        {"loss": '"categorical_focal_crossentropy"'},
        {"more": 'other = keras.models.load_model("o.keras")\nother.fit(np.load("x.npy"), y)\n'},
        {"name": "y", "beside": "[:1000]", "more": "rest = y[1000:]\n"},
        {"loss": "keras.losses.KLDivergence()"},
        {"more": 'np.save("y_again.npy", y)\n'},
        {"more": "show(y)\n"},
        {"more": "report.show((1, y))\n"},
        {"more": "classes = y.argmax(axis=1)\n"},
        {"beside": ', validation_data=(np.load("v.npy"), np.load("w.npy"))'},
        {"name": "data.y", "before": "data = read()\n"},
    ],
    ids=lambda parts: next(iter(parts.values())).strip(", \n"),
)
def test_nothing_is_changed_where_something_wants_them_written_out(parts: dict[str, str]) -> None:
    text = script(**parts)
    said = run_rule("OOM205", text, settings=Settings())
    assert not any(one.fix is not None and one.fix.safety.value == "unsafe" for one in said)
    assert fix_text(rules_named(["OOM205"]), text, settings=Settings()) == text
