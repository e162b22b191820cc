"""Scripts that train one of several models, by an option: the one that is trained without options."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build
from estimate.test_scripts_of_others import needs

from oomlint.estimate.errors import EstimateError

SCRIPT = """
import argparse
from tensorflow import keras

KINDS = ["small", "large"]

def small(args):
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(5)])
    model.compile("adam", "mse")
    model.fit(load(args.path), epochs=1)

def large(args):
    model = keras.Sequential([keras.Input((100,)), keras.layers.Dense(500)])
    model.compile("adam", "mse")
    model.fit(load(args.path), epochs=1)

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--path")
    OPTION
    args = parser.parse_args()
    if FIRST:
        small(args)
    elif SECOND:
        large(args)

main()
"""
SMALL, LARGE = 10 * 5 + 5, 100 * 500 + 500
BY_NAME = 'parser.add_argument("-k", "--the-kind", default=KINDS[0])'


def script(option: str, first: str, second: str) -> str:
    return SCRIPT.replace("OPTION", option).replace("FIRST", first).replace("SECOND", second)


@pytest.mark.parametrize(
    ("option", "first", "second", "size"),
    [
        (BY_NAME, 'args.the_kind == "small"', 'args.the_kind == "large"', SMALL),
        (BY_NAME, "args.the_kind == KINDS[0]", "args.the_kind in KINDS[1:]", SMALL),
        (BY_NAME, 'args.the_kind.upper() == "SMALL"', "True", SMALL),
        (BY_NAME, 'args.the_kind != "small"', 'args.the_kind == "small"', LARGE),
        ('parser.add_argument("--big", action="store_true")', "not args.big", "args.big", SMALL),
        ('parser.add_argument("--big", action="store_true")', "args.big and found()", "found()", LARGE),
        # What is not known leaves both, and the larger is estimated.
        (
            'parser.add_argument("--kind", required=True)',
            'args.kind == "small"',
            'args.kind == "large"',
            LARGE,
        ),
        ('parser.add_argument("--kind", default=found())', 'args.kind == "small"', "found()", LARGE),
        (BY_NAME, 'other.kind == "small"', "found()", LARGE),
        # Nothing is trained without an option: each may be meant.
        ('parser.add_argument("--kind", default="")', 'args.kind == "small"', 'args.kind == "large"', LARGE),
    ],
)
def test_the_training_that_the_defaults_lead_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, first: str, second: str, size: int
):
    subject = build(tmp_path, script(option, first, second), monkeypatch)
    assert subject.model.count_params() == size


def test_another_is_chosen_by_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = script(BY_NAME, 'args.the_kind == "small"', 'args.the_kind == "large"')
    said = "of several trainings the one for the_kind=small: give others with --arg NAME=VALUE"
    assert said in build(tmp_path, text, monkeypatch).assumptions
    subject = build(tmp_path, text, monkeypatch, arguments={"the_kind": "large"})
    assert subject.model.count_params() == LARGE


def test_options_of_absl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
from absl import app, flags
from tensorflow import keras
from settings import cfg

FLAGS = flags.FLAGS
flags.DEFINE_integer("epochs", default=cfg.epochs, help="rounds")
flags.DEFINE_string("net", "small", "which")

def trained(width):
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(width)])
    model.compile("adam", "mse")
    model.fit(load(), epochs=1)

def large():
    model = keras.Sequential([keras.Input((100,)), keras.layers.Dense(500)])
    model.compile("adam", "mse")
    model.fit(load(), epochs=1)

def main(argv):
    if FLAGS.net == "large":
        large()
    else:
        trained(5)

app.run(main)
"""
    assert build(tmp_path, text, monkeypatch).model.count_params() == SMALL


def test_an_option_that_chooses_the_model_and_has_no_default_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
import argparse
from tensorflow import keras

parser = argparse.ArgumentParser()
parser.add_argument("-n", "--net", type=str)
parser.add_argument("--width", type=int, default=5)
args = parser.parse_args()
net = args.net
if net == "small":
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(args.width)])
elif net in ("large", "huge"):
    model = keras.Sequential([keras.Input((100,)), keras.layers.Dense(500)])
model.compile("adam", "mse")
model.fit(load(), epochs=1)
"""
    assert needs(tmp_path, text, monkeypatch) == ("net=small",)
    with pytest.raises(EstimateError, match="only where net is one of small, large, huge"):
        build(tmp_path, text, monkeypatch)


def test_a_training_in_another_file_is_said_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "base.py").write_text("\n\ndef loop(model, x):\n    model.fit(x, x, epochs=3)\n")
    text = """
from base import loop

loop(3, load())
"""
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert (Path(caught.value.file or "").name, caught.value.line) == ("base.py", 4)


ROUNDS = """
    import keras

    def fitted(model, epochs):
        model.compile("sgd", "mse", jit_compile=False)
        model.fit(read(), epochs=epochs, batch_size=4)
        RETURNED

    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8), keras.layers.Dense(2)])
    model.layers[0].trainable = False
    FIRST fitted(model, 10)
    model.layers[0].trainable = True
    fitted(model, 50)
"""


@pytest.mark.parametrize(
    ("first", "returned"), [("", "print(epochs)"), ("model =", "return model"), ("told =", "pass")]
)
def test_the_last_of_several_rounds(
    first: str, returned: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What was frozen for the first rounds is trained in the last, and takes more: 6 x 8 + 8 and 8 x 2 + 2 weights."""
    text = (
        ROUNDS.replace("FIRST", first).replace("RETURNED", returned).replace("\n     fitted", "\n    fitted")
    )
    subject = build(tmp_path, text, monkeypatch)
    assert sum(weight.shape.num_elements() for weight in subject.model.trainable_weights) == 56 + 18
    assert any("several times" in one for one in subject.assumptions)
