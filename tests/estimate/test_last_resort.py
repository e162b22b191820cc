"""Where a script's own training cannot be followed: what its project makes models with, and steps that learn nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from estimate.scripts import answered, put

from oomlint.estimate.assumed import BATCH, SIZES, STEP
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.slicing.program import Program
from oomlint.estimate.worker.graph.of_data import learns_of_data
from oomlint.estimate.worker.graph.operations import Operation
from oomlint.estimate.worker.graph.operations import Program as Step
from oomlint.estimate.worker.tries.makers import makers
from oomlint.estimate.worker.values.named_values import named_values

# --- a step that learns nothing of its data -----------------------------------------------------------

LOOP = """
    import tensorflow as tf
    from tensorflow import keras
    model = keras.Sequential([
        keras.Input((64,)), keras.layers.Dense(512, "relu"{kept}), keras.layers.Dense(512, "relu"), keras.layers.Dense(1),
    ])
    optimizer = keras.optimizers.Adam()
    BATCH_SIZE = 128
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    for x, y in tf.data.experimental.load("samples"):
        step(x, y)
"""


def test_a_loop_by_hand_of_a_model_with_penalties_on_weights_has_a_loss_of_its_outputs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What a pass keeps is the same: two layers of 128 x 512 floats, and the gradients of 297,473 weights."""
    plain = answered(tmp_path, LOOP.format(kept=""), monkeypatch)
    found = answered(tmp_path, LOOP.format(kept=", kernel_regularizer='l2'"), monkeypatch)
    assert found.parts["gradients"] + found.parts["activations"] > 4 * 297_473
    assert found.peak_bytes == pytest.approx(plain.peak_bytes, rel=0.1)
    assert any("loss mean_squared_error" in one for one in found.assumptions)
    assert found.program == "eager"
    assert "by hand" in found.reason


def test_penalties_alone_are_a_step_that_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras, tensorflow as tf
        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.one = keras.layers.Dense(256, "relu")
                self.two = keras.layers.Dense(10)
            def call(self, x):
                return self.two(self.one(x))
            def train_step(self, data):
                x, y = data
                with tf.GradientTape() as tape:
                    {loss}
                self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
                return {{"loss": loss}}
        model = Net()
        model.build((None, 32))
        model.compile("adam")
        model.fit(tf.zeros((1000, 32)), tf.zeros((1000, 10)), batch_size=50)
    """
    of_weights = "self(x); loss = tf.add_n([tf.reduce_sum(one ** 2) for one in self.trainable_variables])"
    found = answered(tmp_path, text.format(loss=of_weights), monkeypatch)
    own = answered(tmp_path, text.format(loss="loss = tf.reduce_mean((self(x) - y) ** 2)"), monkeypatch)
    assert own.instead == ()
    assert "takes no gradient of anything that depends on its data" in found.instead[0]
    assert found.parts["activations"] + found.parts["gradients"] > 0
    assert found.range_bytes[1] > 4 * own.peak_bytes


def test_what_a_backward_pass_reads_decides_that():
    data, weights = Operation("x", "Argument"), Operation("read", "ReadVariableOp")
    forward = Operation("model/MatMul", "MatMul", ((0, 0), (1, 0)))
    shape = Operation("model/Shape", "Shape", ((2, 0),))
    of_product = Operation("gradient_tape/MatMul", "MatMul", ((2, 0),))
    of_weights = Operation("gradient_tape/Mul", "Mul", ((1, 0), (3, 0)))
    assert learns_of_data(Step([data, weights, forward, shape, of_product], arguments=(0,)))
    assert not learns_of_data(Step([data, weights, forward, shape, of_weights], arguments=(0,)))
    noise = Operation("noise", "RandomStandardNormal")
    assert learns_of_data(Step([noise, weights, forward, shape, of_product]))  # a generator is given nothing
    loop = Operation("while", "While", ((0, 0),))
    assert learns_of_data(Step([data, loop], arguments=(0,)))  # its pass may be inside


# --- a batch that nothing says -----------------------------------------------------------------------


def test_a_batch_that_nothing_says_of_a_loop_makes_the_range_wider_and_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, LOOP.format(kept="").replace("BATCH_SIZE", "LIMIT"), monkeypatch)
    assert found.batch_size == 32
    assert "the loop's batch is not known: 32 is assumed, and the range is for 8 to 128" in found.instead[0]
    assert found.range_bytes[1] > BATCH[1] * found.peak_bytes
    said = answered(tmp_path, LOOP.format(kept="").replace("BATCH_SIZE", "LIMIT"), monkeypatch, batch_size=32)
    assert said.instead == ()
    assert said.peak_bytes == found.peak_bytes


def test_the_batch_of_a_test_is_no_second_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = LOOP.format(kept="").replace("BATCH_SIZE = 128", "TRAIN_BATCH_SIZE = 24; TEST_BATCH_SIZE = 2")
    found = answered(tmp_path, text, monkeypatch)
    assert (found.batch_size, found.instead) == (24, ())


# --- what a project makes models with -----------------------------------------------------------------

UNKNOWN = """
    import keras, sys
    from settings_of_nobody import load
    def small_net(width, depth=2, classes=3):
        model = keras.Sequential([keras.Input((20,))])
        for _ in range(depth):
            model.add(keras.layers.Dense(width, "relu"))
        model.add(keras.layers.Dense(classes))
        return model
    WIDTH = 300
    BATCH_SIZE = 64
    class Run:
        def __init__(self, what):
            self.table = load(what)
        def go(self):
            for key in self.table.keys():
                if self.table[key].kind == "own":
                    self.net = self.table[key].maker[0](WIDTH, depth=4)
            self.net.compile(keras.optimizers.SGD(), "mse")
            self.net.fit(self.table["x"], self.table["y"])
    {more}
    Run(sys.argv).go()
"""
PLAIN = """
    import keras
    model = keras.Sequential([keras.Input((20,))])
    for _ in range({depth}):
        model.add(keras.layers.Dense(300, "relu"))
    model.add(keras.layers.Dense({classes}))
    model.compile("sgd", "mse")
    model.fit(x, y, batch_size=64)
"""


def test_what_the_script_makes_models_with_is_called_as_the_script_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(
        tmp_path, UNKNOWN.format(more="def other(): return small_net(WIDTH, depth=4)"), monkeypatch
    )
    plain = answered(tmp_path, PLAIN.format(depth=4, classes=3), monkeypatch)
    assert (found.optimizer, found.batch_size) == ("SGD", 64)
    assert found.peak_bytes == plain.peak_bytes
    assert found.instead[0].startswith("the script's own training is not followed: ")
    assert "small_net" in found.instead[1] or "other" in found.instead[1]
    assert found.range_bytes[1] == pytest.approx(plain.range_bytes[1] * STEP[1], rel=0.01)
    assert found.verdict == "fits"
    with pytest.raises(EstimateError):
        answered(
            tmp_path, UNKNOWN.format(more="def other(): return small_net(WIDTH)"), monkeypatch, fallback=False
        )


def test_sizes_that_nothing_tells_are_said_and_widen_nothing_less_than_the_sizes_of_data_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = UNKNOWN.format(more="small_net.__doc__").replace("WIDTH = 300", "WIDTH = load('width')")
    found = answered(tmp_path, text, monkeypatch)
    assert any("called with usual sizes, where nothing tells its own: width=" in one for one in found.instead)
    assert found.range_bytes[1] >= STEP[1] * found.peak_bytes
    assert found.range_bytes[0] <= STEP[0] * SIZES[0] * found.peak_bytes


def test_it_never_fits_for_sure_where_something_beside_it_could_not_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    more = """
    def large_net(table):
        model = keras.Sequential([keras.Input((20,)), table["layers"][0](3)])
        return model
    both = [small_net, large_net]
    """
    found = answered(tmp_path, UNKNOWN.format(more=more), monkeypatch)
    assert found.verdict == "tight"
    assert any(one.startswith("not in the figure") and "large_net" in one for one in found.instead)


def test_a_script_in_which_no_training_is_seen_has_that_of_what_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import json

    from oomlint.estimate.worker.main import answer

    pytest.importorskip("tensorflow")
    text = """
        from nets_by_name_of_17 import tiny_net
        import importlib, sys
        importlib.import_module("loops." + sys.argv[1]).run(tiny_net)
    """
    path = put(tmp_path, text, monkeypatch)
    (tmp_path / "nets_by_name_of_17.py").write_text(
        "import keras\ndef tiny_net(units=300):\n"
        "    return keras.Sequential([keras.Input((20,)), keras.layers.Dense(units), keras.layers.Dense(3)])\n"
    )
    error = EstimateError("no training call was found: nothing is fitted", "slice", str(path))
    names = {"path": str(path), "unsliced": json.dumps(error.to_dict())}
    found = answer(Request(str(path), names=names, usable_bytes=1 << 30, engine="graph", fallback=True))
    assert found.instead[0].endswith("no training call was found: nothing is fitted")
    # 20 x 300 + 300 and 300 x 3 + 3 weights, and the state of Adam (twice that, and a count and a rate).
    assert found.parts["weights"] == pytest.approx(4 * 7_203, abs=16)  # and what counts the loss
    with pytest.raises(EstimateError, match="no training call"):
        answer(Request(str(path), names=names, usable_bytes=1 << 30, engine="graph"))


def test_a_module_that_an_option_names_is_looked_for_beside_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import argparse, importlib
        parser = argparse.ArgumentParser()
        parser.add_argument("--model", required=True)
        parser.add_argument("--units", type=int, default=70)
        args = parser.parse_args()
        net = importlib.import_module("nets_of_an_option_17." + args.model).build(args)
        net.compile("sgd", "mse")
        net.fit(data(), batch_size=12)
    """
    path = put(tmp_path, text, monkeypatch)
    (tmp_path / "nets_of_an_option_17").mkdir()
    (tmp_path / "nets_of_an_option_17" / "plain.py").write_text(
        "import keras\ndef build(options):\n"
        "    return keras.Sequential([keras.Input((20,)), keras.layers.Dense(options.units)])\n"
    )
    found = answered(tmp_path, path.read_text(), monkeypatch)
    assert found.batch_size == 12
    assert found.parts["weights"] == pytest.approx(4 * 21 * 70, abs=16)
    assert any("units=70" in one for one in found.instead)


def test_a_size_is_first_what_the_project_says_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras
        from settings_of_nobody import load
        settings = load()
        {said}
        model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(settings.hidden_size), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(load("x"), load("y"), batch_size=8)
    """
    usual = answered(tmp_path, text.format(said=""), monkeypatch)
    told = answered(tmp_path, text.format(said="def other(hidden_size=32): pass"), monkeypatch)
    assert usual.parts["weights"] == pytest.approx(4 * (256 * 22 + 1), abs=16)
    assert told.parts["weights"] == pytest.approx(4 * (32 * 22 + 1), abs=16)
    assert "what the project says of these names elsewhere" in told.instead[1]
    assert any("the network's own" in one for one in usual.instead)
    # Twice as wide: of the data four times, and of the network four times.
    assert usual.range_bytes[1] > 15 * usual.peak_bytes


def test_a_second_training_is_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras
        def net(units):
            return keras.Sequential([keras.Input((20,)), keras.layers.Dense(units), keras.layers.Dense(1)])
        def run(units):
            one = net(units)
            one.compile("sgd", "mse")
            one.fit(x, y, batch_size=8)
        {calls}
    """
    one = answered(tmp_path, text.format(calls="run(3)"), monkeypatch)
    two = answered(tmp_path, text.format(calls="run(3)\n        run(5)"), monkeypatch)
    said = "the script comes to this training several times, and one of these is estimated: run(3); run(5)"
    assert said in two.assumptions
    assert not any("several times, and one" in words for words in one.assumptions)


def test_the_parts_of_a_model_that_is_never_called_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras, tensorflow as tf
        class Coder(keras.Model):
            def __init__(self, latent):
                super().__init__()
                self.encoder = keras.Sequential([keras.Input((40,)), keras.layers.Dense(latent)])
                self.decoder = keras.Sequential([keras.Input((latent,)), keras.layers.Dense(40)])
        def train(model, data, optimizer):
            for x in data:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((model.decoder(model.encoder(x)) - x) ** 2)
                optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        train(Coder(8), tf.data.experimental.load("samples").batch(16), keras.optimizers.Adam())
    """
    found = answered(tmp_path, text, monkeypatch)
    assert found.batch_size == 16
    assert found.parts["weights"] == pytest.approx(4 * (40 * 8 + 8 + 8 * 40 + 40), abs=32)


def test_columns_that_only_the_data_names_are_ten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras, tensorflow as tf
        from columns_of_nobody import read
        feature_columns, x, y = read("table.csv")
        class Net(keras.Model):
            def __init__(self, columns):
                super().__init__()
                self.tables = [keras.layers.Embedding(one["vocabulary_size"], 8) for one in columns]
                self.out = keras.layers.Dense(1)
            def call(self, x):
                return self.out(tf.concat([table(x[:, i]) for i, table in enumerate(self.tables)], -1))
        model = Net(feature_columns)
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=256)
    """
    found = answered(tmp_path, text, monkeypatch)
    assert found.batch_size == 256
    assert "feature_columns=10" in " ".join(found.instead)
    # Ten tables of vectors of eight for the usual vocabulary, and 80 weights for the output with its bias.
    assert found.parts["weights"] == pytest.approx(4 * (10 * 10_000 * 8 + 81), abs=16)


def test_what_an_environment_gives_at_first_has_the_shape_of_what_is_observed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import gym, keras, numpy as np
        env = gym.make("CartPole-v1")
        {first}
        model = keras.Sequential([keras.Input((size,)), keras.layers.Dense(24), keras.layers.Dense(env.action_space.n)])
        model.compile("adam", "mse")
        model.fit(np.zeros((100, size)), np.zeros((100, 2)), batch_size=20)
    """
    for first in (
        "size = len(env.reset())",
        "state, info = env.reset(seed=3); size = state.shape[0]",
        "size = env.reset()[0].shape[0]",
        "size = np.array(env.reset()).shape[0]",
    ):
        found = answered(tmp_path, text.format(first=first), monkeypatch)
        assert found.instead == ()
        assert found.parts["weights"] == pytest.approx(4 * (4 * 24 + 24 + 24 * 2 + 2), abs=16)


# --- what the texts say ------------------------------------------------------------------------------


def program(tmp_path: Path, text: str) -> Program:
    import textwrap

    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(text))
    return Program(path, tmp_path)


def test_a_name_has_the_value_of_the_surest_place_if_that_says_one(tmp_path: Path):
    (tmp_path / "config.yaml").write_text("model:\n  hidden: 96\n  depth: 5\nbatch_size: 8\n")
    found = named_values(
        program(
            tmp_path,
            """
            import argparse
            parser = argparse.ArgumentParser()
            parser.add_argument("-b", "--batch-size", type=int, default=48)
            parser.add_argument("--name")
            imageSize, RATE = 2 ** 7, 0.5
            class Config:
                latent_dim = 100
            settings = dict(units=32)
            def net(depth=3, hidden=None): pass
            def other(n): width = 10
            def another(n): width = 20
            """,
        )
    )
    assert found["batch_size"] == 48
    assert (found["image_size"], found["rate"], found["latent_dim"], found["units"]) == (128, 0.5, 100, 32)
    assert (found["hidden"], found["depth"]) == (96, 5)
    assert "width" not in found
    assert "name" not in found


def test_what_makes_models_is_found_in_the_text(tmp_path: Path):
    text = """
        import keras
        class Block(keras.layers.Layer): pass
        class Net(keras.Model):
            def __init__(self, units, name=None): pass
        class Larger(Net): pass
        def backbone(shape):
            x = keras.Input(shape)
            return keras.Model(x, x)
        def whole(shape, classes):
            base = backbone(shape)
            model = keras.Sequential([base, keras.layers.Dense(classes)])
            return model
        def data(): return 3
        class Trainer:
            def __init__(self): self.net = self.build()
            def build(self): return whole((32, 32, 3), 10)
        class Old:
            @staticmethod
            def build(width):
                model = keras.Sequential()
                return model
        UNITS = 64
        run = Trainer()
        net = Larger(UNITS)
    """
    one = program(tmp_path, text)
    found = makers(one, named_values(one))
    assert {maker.name for maker in found} == {
        "Net", "Larger", "backbone", "whole", "Trainer", "Old.build", "run", "net",
    }  # fmt: skip
    by_name = {maker.name: maker for maker in found}
    assert by_name["Larger"].given == {"units": 64}
    assert by_name["whole"].given == {"shape": (32, 32, 3), "classes": 10}
    assert by_name["run"].depth == 0
    assert by_name["backbone"].depth > by_name["whole"].depth > by_name["Trainer"].depth > 0
    assert isinstance(by_name["Old.build"].node, ast.FunctionDef)
