"""Ways in which scripts of many repositories are written, each as a small one of its own words."""

from __future__ import annotations

import dataclasses
import textwrap
from pathlib import Path
from typing import Any

import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.slicing.script import slice_script
from oomlint.estimate.worker.main import followed
from oomlint.estimate.worker.step.building import build as build_request
from oomlint.estimate.worker.tries.needed import all_of


def refused(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[EstimateError, Request]:
    with pytest.raises(EstimateError) as caught:
        build(path, text, monkeypatch)
    found = slice_script(path / "train.py")
    return caught.value, Request(str(path / "train.py"), source=found.text, names=found.names)


def proposed(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> EstimateError:
    """What the message says after examples were tried."""
    error, request = refused(path, text, monkeypatch)
    return all_of(error, request, build_request, followed)


# --- names that only a run tells ---------------------------------------------------------------------

_FACTORY = """
import {imports}
from tensorflow import keras

def narrow(features):
    return keras.Sequential([keras.Input((features,)), keras.layers.Dense(2)])

def wide(features):
    return keras.Sequential([keras.Input((features,)), keras.layers.Dense(20)])

def made(name):
    {first}
    return {looked_up}(6)

model = made("wi" + "de")
model.compile("sgd", "mse")
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("imports", "first", "looked_up"),
    [
        ("sys", "pass", "getattr(sys.modules[__name__], name)"),
        ("sys", "here = sys.modules[__name__]", "getattr(here, name)"),
        ("importlib", "here = importlib.import_module(__name__)", "getattr(here, name)"),
        ("os", "pass", "globals()[name]"),
    ],
)
def test_a_function_that_the_module_looks_up_in_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imports: str, first: str, looked_up: str
):
    text = _FACTORY.format(imports=imports, first=first, looked_up=looked_up)
    assert build(tmp_path, text, monkeypatch).model.count_params() == 6 * 20 + 20


def test_a_class_that_a_package_looks_up_among_what_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text(
        "import importlib\n"
        "from nets.heads import Small, Large\n\n"
        "def assemble(settings):\n"
        "    here = importlib.import_module(__name__)\n"
        "    return getattr(here, settings.pop('name'))(**settings)\n"
    )
    (tmp_path / "nets" / "heads.py").write_text(
        "from tensorflow import keras\n\n"
        "def Small(width):\n"
        "    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(width)])\n\n"
        "def Large(width):\n"
        "    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(10 * width)])\n"
    )
    text = """
        import json
        from nets import assemble

        with open("settings.json") as file:
            settings = json.load(file)
        model = assemble(settings["model"])
        model.compile("sgd", "mse")
        model.fit(x, y)
    """
    (tmp_path / "settings.json").write_text('{"model": {"name": "Large", "width": 4}}')
    assert build(tmp_path, text, monkeypatch).model.count_params() == 3 * 40 + 40


# --- settings ----------------------------------------------------------------------------------------


def test_settings_that_are_a_class_within_the_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import dataclasses
        from tensorflow import keras

        class Forecast:
            @dataclasses.dataclass
            class Settings:
                units: int = 7
                inputs: int = 5

                def doubled(self):
                    return 2 * self.units

            def __init__(self, settings):
                self.net = keras.Sequential([keras.Input((settings.inputs,)), keras.layers.Dense(settings.doubled())])
                self.net.compile("adam", "mse")

            def fit(self, data):
                self.net.fit(data, data, batch_size=3)

        Forecast(Forecast.Settings()).fit(load())
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 5 * 14 + 14


def test_a_parser_that_another_module_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "options.py").write_text(
        "import argparse\n\n"
        "PARSER = argparse.ArgumentParser()\n\n"
        "def option(*names, **how):\n"
        "    return PARSER.add_argument(*names, **how)\n\n"
        "opt = option\n\n"
        "def chosen():\n"
        "    return PARSER.parse_args()\n"
    )
    text = """
        import options as o
        from tensorflow import keras

        o.opt("--width", type=int, default=9)
        o.option("--features", type=int, default=4)
        args = o.chosen()
        model = keras.Sequential([keras.Input((args.features,)), keras.layers.Dense(args.width)])
        model.compile("sgd", "mse")
        model.fit(x, y)
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 4 * 9 + 9


def test_choices_that_are_the_files_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import argparse
        from glob import glob
        from tensorflow import keras

        parser = argparse.ArgumentParser()
        known = [one[:-3] for one in glob("nets/*.py")]
        parser.add_argument("net", choices=known)
        args = parser.parse_args()
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(int(args.net[3:]))])
        model.compile("sgd", "mse")
        model.fit(x, y)
    """
    error, _ = refused(tmp_path, text, monkeypatch)
    assert "--arg net=" in error.hint


def test_steps_that_a_schedule_counts_in_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import tensorflow as tf
        from tensorflow import keras

        class Falling(keras.optimizers.schedules.LearningRateSchedule):
            def __init__(self, start, steps):
                super().__init__()
                self.start = start
                self.steps = steps

            def __call__(self, step):
                return tf.cond(step >= self.steps, lambda: self.start / 10, lambda: self.start)

        steps = len(load_data()) // 8
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        model.compile(keras.optimizers.Adam(Falling(0.1, 5 * steps)), "mse")
        model.fit(x, y, batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert float(subject.model.optimizer.learning_rate) == pytest.approx(0.001)


# --- models that are read or made --------------------------------------------------------------------


@pytest.mark.parametrize("handled", ["except:", "except OSError:", "except (OSError, ValueError) as fault:"])
def test_a_model_that_is_made_where_none_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, handled: str
):
    text = f"""
        from tensorflow import keras

        try:
            before = keras.models.load_model("latest.h5")
            model = keras.Model(before.inputs, before.get_layer("body").output)
        {handled}
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=8)
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 4 * 3 + 3


def test_an_object_that_hands_itself_to_its_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        class Net(keras.Model):
            def __init__(self):
                super(Net, self).__init__(self)
                self.head = keras.layers.Dense(3)

            def call(self, x):
                return self.head(x)

        model = Net()
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch, input_shape=(5,))
    assert subject.model.count_params() == 5 * 3 + 3


# --- what is said where a sample's shape is missing ---------------------------------------------------

_OWN = """
from tensorflow import keras

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = keras.layers.Conv2D(2, 3, padding="same")

    def call(self, x):
        {body}

model = Net()
model.compile("sgd", "mse")
model.fit(load(), load())
"""


def test_what_fails_with_every_sample_is_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = _OWN.format(body="return self.decoder(x)")
    error = proposed(tmp_path, text, monkeypatch)
    assert "no attribute 'decoder'" in error.message
    assert error.hint.startswith("So it is with each of the usual shapes")


def test_why_the_first_sample_does_not_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    body = "return keras.ops.reshape(self.first(x), (-1, 17))[:, : 17 if x.shape[1] == 17 else -1] + keras.ops.ones((3,))"
    error = proposed(tmp_path, _OWN.format(body=body), monkeypatch)
    assert "None of the usual shapes" in error.hint
    assert "With the first of them:" in error.hint
    assert "224" in error.hint.partition("With the first of them:")[2]


def test_a_side_that_can_be_halved_eight_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    body = """y = self.first(x)
        down = y
        for _ in range(8):
            down = keras.ops.max(keras.ops.reshape(down, (-1, down.shape[1] // 2, 2, down.shape[2] // 2, 2, 2)), axis=(2, 4))
        return y + keras.ops.repeat(keras.ops.repeat(down, 256, axis=1), 256, axis=2)"""
    error = proposed(tmp_path, _OWN.format(body=body), monkeypatch)
    assert error.needs == ("x=32x256x256x3",)


# --- flags, environments, older Keras ------------------------------------------------------------------

_FLAGS = """
import json
from absl import app, flags
from tensorflow import keras

flags.DEFINE_string("config_path", None, "where the settings lie")
flags.DEFINE_integer("width", 4, "units")
flags.DEFINE_integer("depth", None, "layers")
FLAGS = flags.FLAGS

def main(_):
    with open(FLAGS.config_path) as file:
        settings = json.load(file)
    model = keras.Sequential([keras.Input((settings["features"],))])
    for _ in range(FLAGS.depth):
        model.add(keras.layers.Dense(FLAGS.width))
    model.compile("sgd", "mse")
    model.fit(load(), load())

app.run(main)
"""


def test_flags_of_absl_that_have_no_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "small.json").write_text('{"features": 3}')
    error, _ = refused(tmp_path, _FLAGS, monkeypatch)
    assert error.asked == "depth"
    subject = build(tmp_path, _FLAGS, monkeypatch, arguments={"depth": 2, "width": 5})
    assert subject.model.count_params() == (3 * 5 + 5) + (5 * 5 + 5)
    assert any("small.json" in one for one in subject.assumptions)
    (tmp_path / "configs" / "large.json").write_text('{"features": 7}')
    subject = build(
        tmp_path, _FLAGS, monkeypatch, arguments={"depth": 1, "config_path": "configs/large.json"}
    )
    assert subject.model.count_params() == 7 * 4 + 4


def test_what_an_arm_with_a_goal_observes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import gym
        import tensorflow as tf
        from tensorflow import keras

        class Patient(gym.Wrapper):
            def step(self, action):
                return self.env.step(action)

        class Agent:
            def __init__(self, env):
                seen = env.observation_space["observation"].shape[0]
                goal = env.observation_space.spaces["desired_goal"].shape[0]
                self.net = keras.Sequential(
                    [keras.Input((seen + goal,)), keras.layers.Dense(env.action_space.shape[0])]
                )
                self.net.compile("adam", "mse")

            def learn(self, seen, wanted):
                self.net.train_on_batch(seen, wanted)

        env = Patient(gym.make("FetchPush-v1"))
        agent = Agent(env)
        agent.learn(*play(env))
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 28 * 4 + 4


def test_a_model_of_keras_2_that_says_itself_what_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        class Net(keras.Model):
            def __init__(self, units=3, dynamic=False, **how):
                super().__init__(dynamic=dynamic, **how)
                self.head = keras.layers.Dense(units)
                self._set_inputs(keras.Input((6,)))

            def call(self, x):
                return self.head(x)

        model = Net()
        model.compile("adam", "mse")
        model.fit(load(), load(), batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 6 * 3 + 3
    assert tuple(subject.data[0].shape) == (8, 6)


def test_a_model_that_builds_itself_where_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from tensorflow import keras

        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.head = keras.layers.Dense(3)
                self.build((None, 6))

            def call(self, x):
                return self.head(x)

        model = Net()
        model.compile("adam", "mse")
        model.fit(load(), load(), batch_size=8)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 6 * 3 + 3
    assert tuple(subject.data[0].shape) == (8, 6)


def test_a_product_with_a_number_that_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        from keras import backend as K
        from keras.layers import Dense, Input
        from keras.models import Model

        x = Input((6,))
        mean, spread = Dense(2)(x), Dense(2)(x)
        penalty = K.sum(1 + spread - K.square(mean) - K.exp(spread), axis=-1)
        penalty *= -0.5
        model = Model(x, Dense(6)(mean))
        model.add_loss(K.mean(penalty))
        model.compile("adam", "mse")
        model.fit(x_train, x_train, nb_epoch=2, batch_size=8)
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == (6 * 2 + 2) + (2 * 6 + 6)


def test_variables_that_a_list_is_filled_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import tensorflow as tf
        from tensorflow import keras

        body = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5)])
        head = keras.Sequential([keras.Input((5,)), keras.layers.Dense(2)])
        optimizer = keras.optimizers.Adam()

        def step(x, y):
            own = []
            own.extend(body.trainable_variables)
            own.extend(head.trainable_variables)
            with unknown_tape() as tape:
                loss = tf.reduce_mean((head(body(x)) - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, own), own))

        for x, y in batches():
            step(x, y)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert sorted(one.model.count_params() for one in [subject, *subject.others]) == [12, 35]


# --- the shape of a picture, as names say it ------------------------------------------------------------

_PICTURES = """
import tensorflow as tf
from tensorflow import keras
{settings}

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = keras.Sequential([keras.layers.Conv2D(4, 3), keras.layers.Flatten(), keras.layers.Dense(2)])

    def call(self, x):
        return self.body(x)

net = Net()
optimizer = keras.optimizers.Adam()

def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))

for x, y in own_batches():
    step(x, y)
"""


def answered(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    from oomlint.estimate.worker.main import answer

    _, request = refused(path, text, monkeypatch)
    return answer(dataclasses.replace(request, usable_bytes=1 << 34, engine="graph"))


def dense_weights(height: int, width: int, channels: int) -> int:
    """Of the network above: a convolution of 3 x 3 without padding, and a dense layer on all of it."""
    return (9 * channels * 4 + 4) + ((height - 2) * (width - 2) * 4 * 2 + 2)


@pytest.mark.parametrize(
    ("settings", "shape", "named"),
    [
        ("IMG_SHAPE = (20, 24, 3)", (20, 24, 3), "IMG_SHAPE"),
        ("image_size = 16\nCHANNELS = 1", (16, 16, 1), "image_size"),
        (
            "class Config:\n    IMAGE_HEIGHT = 12\n    IMAGE_WIDTH = 30\nsizes = Config.IMAGE_HEIGHT, Config.IMAGE_WIDTH",
            (12, 30, 3),
            "IMAGE_HEIGHT and IMAGE_WIDTH",
        ),
    ],
)
def test_names_that_agree_on_the_shape_of_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, shape: tuple[int, ...], named: str
):
    found = answered(tmp_path, _PICTURES.format(settings=settings), monkeypatch)
    assert sum(layer.parameters for layer in found.layers) == dense_weights(*shape)
    (said,) = (one for one in found.assumptions if "--input-shape" in one)
    assert said.startswith(f"a sample is {'x'.join(map(str, shape))}, as {named} says")


@pytest.mark.parametrize(
    "settings",
    [
        "IMG_SIZE = 20\nINPUT_SIZE = 24",  # two that do not agree
        "INCEPTION_IMAGE_SIZE = 75",  # another network's
        "TEST_IMAGE_SIZE = 75",
        "image_size = 3",  # too small for one
        "kernel_shape = (20, 24, 3)",
    ],
)
def test_names_that_do_not_say_the_shape_of_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str
):
    with pytest.raises(EstimateError) as caught:
        answered(tmp_path, _PICTURES.format(settings=settings), monkeypatch)
    assert caught.value.needs == ("x=32x224x224x3",)


_CALLED = """
import tensorflow as tf
from tensorflow import keras

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = keras.Sequential([keras.layers.Conv2D(4, 3), keras.layers.Flatten(), keras.layers.Dense(2)])

    def call(self, x):
        return self.body(x)

net = Net()
{first}
net.compile("adam", "mse")
net.fit(own_batches(), epochs=3)
"""


@pytest.mark.parametrize(
    "first", ["_ = net(tf.ones((1, 20, 24, 3)))", "net(tf.zeros([2, 20, 24, 3]), training=False)"]
)
def test_a_model_that_is_called_once_to_be_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str):
    subject = build(tmp_path, _CALLED.format(first=first), monkeypatch)
    assert subject.model.count_params() == dense_weights(20, 24, 3)
    assert tuple(subject.data[0].shape) == (32, 20, 24, 3)
    assert any(one.startswith("a sample is 20x24x3: the model is called on") for one in subject.assumptions)


def test_data_says_more_than_a_call_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = _CALLED.format(first="net(tf.ones((1, 20, 24, 3)))").replace(
        "own_batches()", "tf.data.Dataset.from_tensors((tf.zeros((9, 30, 24, 3)), tf.zeros((9, 2))))"
    )
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == dense_weights(30, 24, 3)


def test_anchors_are_no_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import numpy as np
        from tensorflow import keras

        anchors = np.loadtxt("anchors.txt")
        model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(anchors.shape[0] * 5, 1)])
        model.compile("adam", "mse")
        model.fit(own_batches())
    """
    error = proposed(tmp_path, text, monkeypatch)
    assert error.needs == ("anchors=9x2",)
    array = {"shape": (9, 2), "dtype": "float32", "below": None}
    subject = build(tmp_path, text, monkeypatch, data={"anchors": array})
    assert subject.model.count_params() == 3 * 45 + 45
    assert tuple(subject.data[0].shape) == (32, 8, 8, 3)


def test_a_module_that_no_import_names_and_what_it_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "tools.py").write_text(
        "from tensorflow import keras\n\n"
        "def dense(inputs, units):\n"
        "    return keras.Sequential([keras.Input((inputs,)), keras.layers.Dense(units)])\n\n"
        "def named(text):\n"
        "    return text.strip()\n"
    )
    (tmp_path / "boards").mkdir()
    (tmp_path / "boards" / "__init__.py").write_text("")
    (tmp_path / "boards" / "pole.py").write_text("from tools import dense\n\nnet = dense(4, 3)\n")
    text = """
        import importlib
        from tools import named

        chosen = importlib.import_module("boards." + named(" pole"))
        model = chosen.net
        model.compile("adam", "mse")
        model.fit(x, y)
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 4 * 3 + 3


def test_a_gradient_in_the_loss_without_a_tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import tensorflow as tf
        from tensorflow import keras

        critic = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
        optimizer = keras.optimizers.Adam()

        def penalty(x):
            return tf.reduce_mean(tf.gradients(critic(x), x)[0] ** 2)

        for x in own_batches():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(critic(x)) + penalty(x)
            gradients = tape.gradient(loss, critic.trainable_variables)
            optimizer.apply_gradients(zip(gradients, critic.trainable_variables))
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(text))
    with pytest.raises(EstimateError, match="takes a gradient with regard to its inputs"):
        slice_script(tmp_path / "train.py")


@pytest.mark.parametrize("name", ["action_list", "n_gestures", "emotions", "breed_names"])
def test_more_words_for_classes(name: str):
    from oomlint.estimate.worker.values.classes import counts_classes

    assert counts_classes(name)


@pytest.mark.parametrize("name", ["signal", "designs", "emotion_vectors", "action_history"])
def test_words_that_count_no_classes(name: str):
    from oomlint.estimate.worker.values.classes import counts_classes

    assert not counts_classes(name)


# --- two networks, two steps ----------------------------------------------------------------------------

_TURNS = """
import tensorflow as tf
from tensorflow import keras

def made():
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(6)])

def judge():
    return keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])

maker, critic = made(), judge()
maker_optimizer, critic_optimizer = keras.optimizers.Adam(), keras.optimizers.SGD()

@tf.function
def make_step(noise):
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(maker(noise)))
    found = tape.gradient(loss, maker.trainable_variables)
    maker_optimizer.apply_gradients(zip(found, maker.trainable_variables))

@tf.function
def judge_step(real, noise):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(critic(maker(noise))) - tf.reduce_mean(critic(real))
    found = tape.gradient(loss, critic.trainable_variables)
    critic_optimizer.apply_gradients(zip(found, critic.trainable_variables))

{rounds}
"""


def test_two_networks_that_take_steps_in_one_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rounds = """
for real in own_batches():
    for _ in range(5):
        judge_step(real, tf.random.normal((8, 4)))
    make_step(tf.random.normal((8, 4)))
"""
    subject = build(tmp_path, _TURNS.format(rounds=rounds), monkeypatch)
    (other,) = subject.others
    assert {one.model.count_params() for one in (subject, other)} == {4 * 6 + 6, 7}
    kinds = {one.model.count_params(): type(one.model.optimizer).__name__ for one in (subject, other)}
    assert kinds == {30: "Adam", 7: "SGD"}


def test_two_networks_that_are_trained_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rounds = """
for real in own_batches():
    judge_step(real, tf.random.normal((8, 4)))
for _ in range(100):
    make_step(tf.random.normal((8, 4)))
"""
    assert build(tmp_path, _TURNS.format(rounds=rounds), monkeypatch).others == []


def test_an_optimizer_that_only_another_function_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import tensorflow as tf
        from tensorflow import keras

        net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])

        def gradients(net, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(net(x) ** 2)
            return tape.gradient(loss, net.trainable_variables)

        def learn(net, x, opt=keras.optimizers.Adam()):
            opt.apply_gradients(zip(gradients(net, x), net.trainable_variables))

        for _ in range(9):
            learn(net, tf.zeros((8, 4)))
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 15


def test_settings_that_are_called_as_the_option_that_names_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import argparse, json
        from tensorflow import keras

        parser = argparse.ArgumentParser()
        parser.add_argument("config")
        args = parser.parse_args()
        with open(args.config) as file:
            config = json.load(file)
        model = keras.Sequential([keras.Input((config["features"],)), keras.layers.Dense(config["units"])])
        model.compile("sgd", "mse")
        model.fit(x, y)
    """
    for name, units in (("one", 3), ("other", 8)):
        (tmp_path / "config").mkdir(exist_ok=True)
        (tmp_path / "config" / f"{name}.json").write_text(f'{{"features": 4, "units": {units}}}')
    assert proposed(tmp_path, text, monkeypatch).needs == ("config=config/one.json",)
    subject = build(tmp_path, text, monkeypatch, arguments={"config": "config/other.json"})
    assert subject.model.count_params() == 4 * 8 + 8


def test_an_array_that_is_missing_is_asked_for_by_its_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import numpy as np
        from tensorflow import keras

        train_data = np.load("rows.npy")
        model = keras.Sequential([keras.Input((len(train_data[0]),)), keras.layers.Dense(3)])
        model.compile("sgd", "mse")
        model.fit(train_data, train_data)
    """
    error, _ = refused(tmp_path, text, monkeypatch)
    assert "--data train_data=1000x16" in error.hint


def test_of_sizes_with_which_the_step_fails_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
import keras, tensorflow as tf

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.outer = keras.layers.Dense(3)

    def call(self, x):
        return self.outer(x)

    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self(data) - tf.zeros((5, 7, 11)))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}

net = Net()
net.compile("adam")
net.fit(outside())
"""
    error = proposed(tmp_path, text, monkeypatch)
    assert error.needs == ("x=32x128",)
    assert "Give it with --data. With these sizes the model is made, and its step fails: " in error.hint
    assert "Dimensions must be equal" in error.hint
