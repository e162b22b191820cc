"""Where a script's own step cannot be followed: what is estimated in its place, what is said, and what is still refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.estimates import estimate as made_by_hand
from estimate.scripts import answered

from oomlint.estimate.assumed import GRADIENTS, SIZES, STEP
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.verdicts import advice, headline
from oomlint.report import estimate_html, estimate_json, estimate_text

GIB = 1 << 30


# --- sizes that only the data tells ------------------------------------------------------------------

WORDS = """
    import keras, pickle
    {given}
    model = keras.Sequential([
        keras.Input((100,)), keras.layers.Embedding(vocab_size, 64), keras.layers.Flatten(), keras.layers.Dense(1),
    ])
    model.compile("adam", "mse")
    model.fit(x, y, batch_size=16)
"""
FROM_DATA = "vocab_size = len(pickle.load(open('words.pkl', 'rb'))) + 1"


def test_a_size_that_only_the_data_tells_is_a_usual_one_and_the_first_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, WORDS.format(given=FROM_DATA), monkeypatch)
    plain = answered(tmp_path, WORDS.format(given="vocab_size = 10000"), monkeypatch)
    assert (found.peak_bytes, found.batch_size, found.optimizer) == (plain.peak_bytes, 16, "Adam")
    assert plain.instead == ()
    assert found.instead[0] == "what only the data tells is not known: vocab_size (line 3)"
    assert "vocab_size=10000. Give your own: --data 'vocab_size=10000'" in found.instead[1]
    assert found.assumptions[: len(found.instead)] == found.instead
    kept = found.parts["weights"] + found.parts["optimizer_state"]
    assert found.range_bytes == (round(kept * SIZES[0]), round(plain.range_bytes[1] * SIZES[1]))


def test_near_the_edge_such_an_estimate_says_nothing_for_sure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = WORDS.format(given=FROM_DATA)
    peak = answered(tmp_path, text, monkeypatch).peak_bytes
    assert answered(tmp_path, text, monkeypatch, usable=2 * peak).verdict == "tight"
    assert (
        answered(tmp_path, text, monkeypatch, usable=peak // 2).verdict == "tight"
    )  # it may be a smaller one
    assert answered(tmp_path, text, monkeypatch, usable=8 * peak).verdict == "fits"


def test_who_did_not_ask_for_that_is_asked_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(EstimateError) as caught:
        answered(tmp_path, WORDS.format(given=FROM_DATA), monkeypatch, fallback=False)
    assert caught.value.needs == ("vocab_size=10000",)


def test_of_a_choice_between_networks_nobody_can_say_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import argparse, keras
        parser = argparse.ArgumentParser()
        parser.add_argument("--net", required=True, choices=["small", "large"])
        args = parser.parse_args()
        if args.net == "small":
            model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
        elif args.net == "large":
            model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(9000), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(x, y)
    """
    with pytest.raises(EstimateError) as caught:
        answered(tmp_path, text, monkeypatch)
    assert caught.value.needs == ("net=small",)


# --- steps that cannot be followed -------------------------------------------------------------------

OWN_STEP = """
    import keras, tensorflow as tf
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = keras.layers.Dense(300)
            self.outer = keras.layers.Dense(20)
        def call(self, x):
            return self.outer(self.inner(x))
        {step}
    net = Net()
    net.compile(optimizer=keras.optimizers.RMSprop(), loss="mse")
    net.fit(tf.zeros((640, 50)), tf.zeros((640, 20)), batch_size=64)
"""
BY_NUMBERS = """def train_step(self, data):
            x, y = data
            rows = x.numpy().tolist()
            return {"loss": sum(map(len, rows))}
"""


def test_a_model_whose_own_step_cannot_be_traced_has_a_plain_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, OWN_STEP.format(step=BY_NUMBERS), monkeypatch)
    plain = answered(tmp_path, OWN_STEP.format(step=""), monkeypatch)
    assert (found.optimizer, found.batch_size) == (plain.optimizer, plain.batch_size) == ("RMSprop", 64)
    assert found.parts["weights"] + found.parts["optimizer_state"] == pytest.approx(
        plain.parts["weights"] + plain.parts["optimizer_state"], abs=64
    )
    assert found.peak_bytes == pytest.approx(plain.peak_bytes, rel=0.02)
    assert plain.instead == ()
    assert found.instead[0].startswith(f"the script's own step is not followed: {tmp_path}/train.py:12: ")
    assert found.range_bytes[1] == pytest.approx(plain.range_bytes[1] * STEP[1], rel=0.02)


SLOPE = """
    import keras, tensorflow as tf
    net = keras.Sequential([keras.Input((2,)), keras.layers.Dense(64, "tanh"), keras.layers.Dense(1)])
    optimizer = keras.optimizers.Adam()
    points = tf.random.uniform((500, 2))
    for epoch in range(100):
        with tf.GradientTape() as outer:
            {inner}
        optimizer.apply_gradients(zip(outer.gradient(loss, net.trainable_variables), net.trainable_variables))
"""
OF_INPUTS = """with tf.GradientTape() as tape:
                tape.watch(points)
                value = net(points)
            loss = tf.reduce_mean(tape.gradient(value, points) ** 2)"""
OF_WEIGHTS = """with tf.GradientTape() as tape:
                value = tf.reduce_mean(net(points) ** 2)
            steps = tape.gradient(value, net.trainable_variables)
            loss = tf.add_n([tf.reduce_sum(one ** 2) for one in steps])"""


def test_a_slope_in_a_loop_of_no_function_is_left_out_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, SLOPE.format(inner=OF_INPUTS), monkeypatch)
    plain = answered(tmp_path, SLOPE.format(inner="loss = tf.reduce_mean(net(points) ** 2)"), monkeypatch)
    assert "takes a gradient with regard to its inputs" in found.instead[0]
    assert "gradients of gradients" in found.instead[2]
    assert found.optimizer == "Adam"
    assert found.peak_bytes == plain.peak_bytes
    assert found.range_bytes[1] == round(plain.range_bytes[1] * GRADIENTS[1])
    with pytest.raises(EstimateError, match="gradient with regard to its inputs"):
        answered(tmp_path, SLOPE.format(inner=OF_INPUTS), monkeypatch, fallback=False)


def test_learning_within_a_step_is_refused_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(EstimateError, match="not followed"):
        answered(tmp_path, SLOPE.format(inner=OF_WEIGHTS), monkeypatch)


def test_nothing_is_estimated_in_place_of_a_script_that_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = """
        import keras
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dence(1)])
        model.compile("adam", "mse")
        model.fit(x, y)
    """
    with pytest.raises(EstimateError, match="Dence"):
        answered(tmp_path, text, monkeypatch)


# --- pictures that are brought to one size -----------------------------------------------------------

UNSIZED = """
    import keras, tensorflow as tf, glob
    def load(path):
        picture = tf.io.decode_jpeg(tf.io.read_file(path))
        return {resized}, 0
    data = outside(glob.glob("*.jpg"), load).batch(8)
    model = keras.Sequential([
        keras.Input((None, None, 3)), keras.layers.Conv2D(4, 3), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1),
    ])
    model.compile("adam", "mse")
    model.fit(data)
"""


def test_a_sample_is_as_large_as_pictures_are_resized_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = UNSIZED.format(resized="tf.image.resize(picture, (96, 64))")
    found = answered(tmp_path, text, monkeypatch)
    assert found.instead == ()
    assert "a sample is 96x64x3, as the size given to tf.image.resize says (another: --input-shape)" in (
        found.assumptions
    )
    assert found.parts["input"] == 8 * 96 * 64 * 3 * 4 + found.parts["input"] % 4096


def test_of_two_sizes_neither_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = UNSIZED.format(resized="tf.image.resize(tf.image.resize(picture, (96, 64)), (32, 32))")
    assert answered(tmp_path, text, monkeypatch).instead[0].startswith("what only the data tells")


# --- reports -----------------------------------------------------------------------------------------


def test_reports_say_first_what_was_not_followed():
    said = ("what only the data tells is not known: x", "assumed in its place: x=32x128")
    found = made_by_hand(instead=said, assumptions=(*said, "batch size 32"))
    assert headline(found).startswith("Fits on T4, with what is assumed below: ")
    text = estimate_text.render(found)
    assert text.count(said[0]) == 1
    assert text.index(said[0]) < text.index("needs") < text.index("batch size 32")
    page = estimate_html.fragment(found)
    assert page.count(said[0]) == 1
    assert page.index(said[0]) < page.index("</header>")
    assert estimate_json.record(found)["assumptions"][:2] == said


def test_a_verdict_that_hangs_on_what_is_assumed_says_so():
    found = made_by_hand(instead=("x",), usable=5_100 << 20)  # of 5,079 MiB, 2% less to 3% more
    assert headline(found).startswith("Cannot be told on T4, with what is assumed below: needs between ")
    assert advice(found) == "Give what is assumed, and it can be told."


# --- settings that are not there ---------------------------------------------------------------------

SETTINGS = """
    import keras
    from {module} import settings
    size = settings.get("batch_size", 48)
    model = keras.Sequential([keras.Input((7,)), keras.layers.Dense(settings.get("width", 12))])
    model.compile("adam", "mse")
    model.fit(x, y, batch_size=size, epochs=settings.get("epochs", 3))
"""


def test_settings_that_are_not_there_have_the_default_that_they_are_asked_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, SETTINGS.format(module="library_of_settings"), monkeypatch)
    assert (found.batch_size, found.instead) == (48, ())
    assert found.parts["weights"] // 4 >= 7 * 12 + 12
    words = "width is 12, the script's default for settings that are not known (another: --arg width=VALUE)"
    assert words in found.assumptions
    text = SETTINGS.format(module="library_of_settings")
    other = answered(tmp_path, text, monkeypatch, arguments={"width": 24})
    assert other.layers[0].parameters == 2 * found.layers[0].parameters
    assert not any("width is" in one for one in other.assumptions)


LOOP = """
    import tensorflow as tf
    from keras import Sequential, layers, optimizers
    model, optimizer = Sequential([layers.Input((20,)), layers.Dense(1)]), optimizers.SGD()
    for x, y in outside():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def test_the_batch_of_a_loop_that_says_none_is_no_default_of_keras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, LOOP, monkeypatch)
    assert [one for one in found.assumptions if one.startswith("batch size ")] == [
        "batch size 32, a usual one, as nothing says the loop's own: give another with --batch-size"
    ]
