"""Kinds of scripts that were asked for more than they needed to be: each is answered, with what is assumed said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from estimate.scripts import answered, put

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker.main import answer

LOOKED_UP = """
    import tensorflow as tf
    class Net(tf.keras.Model):
        def __init__(self, columns, size):
            super().__init__()
            self.columns = columns
            self.tables = dict((name, tf.keras.layers.Embedding(size, 8)) for name in columns)
            self.out = tf.keras.layers.Dense(1)
        def call(self, inputs):
            return self.out(tf.concat([self.tables[name](inputs[name]) for name in self.columns], -1))
    net = Net(["user", "item", "place"], 500)
    optimizer = tf.keras.optimizers.Adam()
    data = tf.data.Dataset.load("rows"){batch}
    for x, y in {through}:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""


@pytest.mark.parametrize("through", ["data", "enumerate(data.take(5))"])
def test_columns_that_a_model_looks_up_are_its_inputs_and_the_batch_is_that_of_the_data(
    through: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = LOOKED_UP.replace("x, y in", "i, (x, y) in" if "enumerate" in through else "x, y in")
    found = answered(tmp_path, text.format(batch=".batch(256)", through=through), monkeypatch)
    assert found.batch_size == 256
    assert "not known: user, item, place" in found.instead[0]
    # Three tables of 500 vectors of eight; 24 numbers go into the output, which has a bias.
    assert found.parts["weights"] == pytest.approx(4 * (3 * 500 * 8 + 25), abs=16)


def test_a_batch_that_is_only_of_tests_is_not_the_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = LOOKED_UP + '    test = tf.data.Dataset.load("others").batch(7)\n'
    found = answered(tmp_path, text.format(batch="", through="data"), monkeypatch)
    assert found.batch_size == 32
    assert any("the loop's batch is not known" in one for one in found.instead)


def test_sizes_by_a_division_are_whole_as_keras_2_took_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from keras import Input, Model
        from keras.layers import Dense, Flatten
        WINDOW = 128
        def net(inputs=Input((WINDOW / 2, 4))):
            return Model(inputs, Dense(3)(Flatten()(inputs)))
        model = net()
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert found.instead == ()
    assert found.parts["weights"] == pytest.approx(4 * (64 * 4 * 3 + 3), abs=16)


def test_code_of_keras_1_in_a_module_is_known_by_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras
        from nets_of_keras_1_17 import net
        model = net()
        model.fit(x, y, batch_size=16)
    """
    path = put(tmp_path, text, monkeypatch)
    (tmp_path / "nets_of_keras_1_17.py").write_text(
        "from keras.models import Sequential\nfrom keras.layers import Convolution2D, Dense, Flatten\n"
        "def net():\n    model = Sequential()\n"
        "    model.add(Convolution2D(8, 5, 3, input_shape=(20, 20, 1)))\n"
        "    model.add(Flatten())\n    model.add(Dense(2))\n    model.compile('sgd', 'mse')\n    return model\n"
    )
    found = answered(tmp_path, path.read_text(), monkeypatch)
    assert found.instead == ()
    # A kernel of 5 x 3, so that 16 x 18 places are left of 20 x 20.
    assert found.parts["weights"] == pytest.approx(4 * (5 * 3 * 8 + 8 + 16 * 18 * 8 * 2 + 2), abs=16)


def test_a_number_of_the_data_in_a_lambda_is_asked_for_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras
        from ratings_of_nobody import load
        x, y = load()
        average = y.mean()
        inputs = keras.Input((6,))
        outputs = keras.layers.Lambda(lambda one: one * 2.0 + average)(keras.layers.Dense(1)(inputs))
        model = keras.Model(inputs, outputs)
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert "average (line 3)" in found.instead[0]
    assert found.parts["weights"] == pytest.approx(4 * 7, abs=16)


def test_a_folder_that_must_be_named_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import argparse, os, keras
        parser = argparse.ArgumentParser()
        parser.add_argument("--output_dir", required=True)
        args = parser.parse_args()
        def main(args):
            name = os.path.basename(args.output_dir)
            model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3)], name=name)
            model.compile("sgd", "mse")
            model.fit(x, y, batch_size=8)
        main(args)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert found.instead == ()
    assert found.parts["weights"] == pytest.approx(4 * 21, abs=16)


def test_a_number_that_is_needed_when_the_model_is_called_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras
        from domains_of_nobody import n_domains
        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.out = keras.layers.Dense(3)
            def call(self, x):
                for one in range(n_domains):
                    x = x + one
                return self.out(x)
        model = Net()
        model.compile("sgd", "mse")
        model.fit(keras.ops.zeros((100, 6)), keras.ops.zeros((100, 3)), batch_size=8)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert "n_domains" in found.instead[0]
    assert found.parts["weights"] == pytest.approx(4 * 21, abs=16)


def test_what_keras_1_and_2_called_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from keras.layers import Deconv2D, Dense, Flatten, Input, merge
        from keras.models import Model
        from tensorflow_addons.layers import GELU
        one, two = Input((4, 4, 3)), Input((4, 4, 3))
        both = merge([one, two], mode=lambda pair: pair[0] - pair[1])
        x = GELU()(Deconv2D(5, 2, strides=2)(both))
        model = Model([one, two], Dense(1)(Flatten()(x)))
        model.compile("sgd", "mse")
        model.fit([a, b], y, batch_size=8)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert found.instead == ()
    # A kernel of 2 x 2 x 3 x 5 with its bias; what comes out is 8 x 8 x 5.
    assert found.parts["weights"] == pytest.approx(4 * (2 * 2 * 3 * 5 + 5 + 8 * 8 * 5 + 1), abs=16)


def test_a_list_of_what_is_tried_is_no_argument_of_what_takes_one_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import json, keras, os
        def net(classes, rate=0.5, widths=[64]):
            model = keras.Sequential([keras.Input((20,))])
            for width in widths:
                model.add(keras.layers.Dense(width))
                model.add(keras.layers.Dropout(rate))
            model.add(keras.layers.Dense(classes))
            return model
        grid = {"rate": [0.1, 0.2, 0.3], "widths": [128, 32]}
        def run(path):
            settings = json.load(open(path))
            classes = settings["data"]["classes"]
            model = net(classes, settings["net"]["rate"], settings["net"]["widths"])
            model.compile("sgd", "mse")
            model.fit(load(settings["data"]["from"]), epochs=settings["epochs"])
        for path in os.listdir("settings"):
            run(os.path.join("settings", path))
    """
    found = answered(tmp_path, text, monkeypatch)
    assert found.instead[0].startswith("the script's own training is not followed: ")
    # 20 -> 128 -> 32 -> 10 classes, which are assumed, each with a bias.
    assert found.parts["weights"] == pytest.approx(4 * (21 * 128 + 129 * 32 + 33 * 10), abs=64)


def test_classes_chosen_by_name_are_made_with_what_the_projects_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "networks_2611.py").write_text(
        "import keras\n"
        "class Base:\n"
        "    def __init__(self, config):\n"
        "        self.config = config\n"
        "        self.model = None\n"
        "class Tones(Base):\n"
        "    def __init__(self, config):\n"
        "        super(Tones, self).__init__(config)\n"
        "        self.build_model()\n"
        "    def build_model(self):\n"
        "        self.model = keras.Sequential()\n"
        "        self.model.add(keras.layers.Dense(300, input_shape=self.config.model.input_shape))\n"
        "        self.model.add(keras.layers.Dense(self.config.model.num_classes))\n"
        "        self.model.compile(self.config.model.optimizer, self.config.model.loss)\n",
        encoding="utf-8",
    )
    (tmp_path / "config.json").write_text(
        '{"model": {"name": "networks_2611.Tones", "input_shape": [13], "num_classes": 7}}', encoding="utf-8"
    )
    text = """
        import argparse, importlib, json
        parser = argparse.ArgumentParser()
        parser.add_argument("--config", default="None")
        config = read(json.load(open(parser.parse_args().config)))
        def create(name):
            module, name = name.rsplit(".", 1)
            return getattr(importlib.import_module(module), name)
        one = create(config.model.name)(config)
        create(config.trainer.name)(one.model, config).train()
    """
    path = put(tmp_path, text, monkeypatch)
    error = EstimateError("no training call was found: nothing is fitted", "slice", str(path))
    names = {"path": str(path), "unsliced": json.dumps(error.to_dict())}
    found = answer(Request(str(path), names=names, usable_bytes=1 << 30, engine="graph", fallback=True))
    assert "what Tones" in found.instead[1]
    assert any("input_shape=[13]" in one and "model=" not in one for one in found.instead)
    assert found.parts["weights"] == pytest.approx(4 * (14 * 300 + 301 * 7), abs=64)


def test_the_shape_of_data_that_a_function_is_handed_is_no_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras
        def build(data):
            model = keras.Sequential([keras.Input((data.shape[1], 1)), keras.layers.LSTM(50), keras.layers.Dense(1)])
            model.compile(optimizer="rmsprop", loss="mse")
            return model
        def train(data, target, model, batch_size=50, epochs=30):
            model.fit(data, target, batch_size, epochs)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert (found.batch_size, found.optimizer) == (50, "RMSprop")
    assert not any("(224, 224, 3)" in one for one in found.instead)


@pytest.mark.parametrize("called", ["REGISTERED.get(settings['net'])(settings)", "print(settings['net'])"])
def test_what_a_registry_has_may_be_what_the_script_trains(
    called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = f"""
        import json, sys
        from registered_2611 import REGISTERED
        settings = json.load(open(sys.argv[1]))
        {called}
    """
    path = put(tmp_path, text, monkeypatch)
    (tmp_path / "registered_2611.py").write_text(
        "import keras\n"
        "REGISTERED = dict()\n"
        "def small_net():\n"
        "    return keras.Sequential([keras.Input((20,)), keras.layers.Dense(3)])\n"
        "def wide_net():\n"
        "    return keras.Sequential([keras.Input((20,)), keras.layers.Dense(900), keras.layers.Dense(3)])\n",
        encoding="utf-8",
    )
    error = EstimateError("no training call was found: nothing is fitted", "slice", str(path))
    names = {"path": str(path), "unsliced": json.dumps(error.to_dict())}
    request = Request(str(path), names=names, usable_bytes=1 << 30, engine="graph", fallback=True)
    if "get" not in called:
        with pytest.raises(EstimateError, match="no training call"):
            answer(request)
        return
    found = answer(request)
    assert "wide_net is the largest; beside it the script has small_net" in found.instead
    assert found.parts["weights"] == pytest.approx(4 * (21 * 900 + 901 * 3), abs=64)
    assert found.range_bytes[0] < 4 * 63 * 4  # the small one has 63 weights
