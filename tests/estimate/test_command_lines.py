"""Scripts whose numbers are options of Click's or Typer's: the defaults hold, and what has none is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError

MODEL = """
    model = keras.Sequential([keras.Input((size,)), keras.layers.Dense(units), keras.layers.Dense(1, use_bias=bias)])
    model.compile("adam", "mse")
    model.fit(load(), load(), batch_size=batch_size)
"""

CLICK = f"""
import click, keras
SMALL = 7
@click.command()
@click.argument("folder")
@click.option("--units", "-u", type=int, default=5, show_default=True)
@click.option("--batch-size", default=SMALL)
@click.option("--in", "size", default=11)
@click.option("--no-bias/--bias", "bias", is_flag=True)
def train(size, units, folder, batch_size, bias):
{MODEL}
if __name__ == "__main__":
    train()
"""

TYPER = f"""
import keras, typer
app = typer.Typer()
@app.command()
def train(size: int = typer.Argument(11), units: int = typer.Option(5, "--units"), batch_size: int = 7, bias: bool = False):
{MODEL}
if __name__ == "__main__":
    app()
"""


@pytest.mark.parametrize("text", [CLICK, TYPER])
def test_an_option_has_its_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str):
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == (11 * 5 + 5) + 5
    assert tuple(subject.data[0].shape) == (7, 11)
    subject = build(tmp_path, text, monkeypatch, arguments={"units": 4})
    assert subject.model.count_params() == (11 * 4 + 4) + 4


@pytest.mark.parametrize(
    "text",
    [
        CLICK.replace("type=int, default=5, show_default=True", "type=int, required=True"),
        TYPER.replace("typer.Option(5,", "typer.Option(...,"),
    ],
)
def test_one_that_must_be_given_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str):
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    assert caught.value.asked == "units"
    subject = build(tmp_path, text, monkeypatch, arguments={"units": 3})
    assert subject.model.count_params() == (11 * 3 + 3) + 3


def test_settings_that_nobody_knows_can_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import copy, keras
        settings = copy.deepcopy(load())
        model = keras.Sequential([keras.Input((11,)), keras.layers.Dense(settings.units)])
        model.compile("adam", "mse")
        model.fit(x, y)
    """
    assert build(tmp_path, text, monkeypatch, arguments={"units": 3}).model.count_params() == 11 * 3 + 3


GROUPS = """
    import argparse
    from tensorflow import keras

    def options():
        parser = argparse.ArgumentParser()
        group = parser.add_argument_group("network")
        group.add_argument("--units", type=int, default=7)
        group = parser.add_argument_group(title="training")
        either = group.add_mutually_exclusive_group()
        either.add_argument("--rate", type=float, default=0.25)
        return parser.parse_args()

    class Settings:
        def __init__(self, given):
            self.units, self.rate = given.units, given.rate

    def main(settings):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(settings.units)])
        model.compile(keras.optimizers.SGD(settings.rate), "mse")
        model.fit(read(), batch_size=4)

    main(Settings(options()))
"""


def test_options_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What is added to a group is the parser's: the options were left out, and `Namespace` had no such attribute."""
    model = build(tmp_path, GROUPS, monkeypatch).model
    assert model.count_params() == 4 * 7 + 7
    assert float(model.optimizer.learning_rate.numpy()) == 0.25


def test_settings_that_tensorflow_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`tf.io.gfile.GFile` opens tables of data and files of settings; with nothing read, the network was asked for."""
    (tmp_path / "network.json").write_text('{"units": 11}')
    text = """
        import json
        import tensorflow as tf

        with tf.io.gfile.GFile("network.json") as file:
            settings = json.load(file)
        model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(settings["units"])])
        model.compile("sgd", "mse")
        model.fit(read(), batch_size=4)
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 55
