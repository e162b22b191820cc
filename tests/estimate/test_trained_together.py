"""Steps by hand that train several models: followed whole where they can be, and nothing that is left out is silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import answered

from oomlint.estimate.assumed import STEP
from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.result import Estimate

PAIR = """
    import tensorflow as tf
    from keras import Sequential, Model, layers, optimizers
    {models}
    makers, judges = optimizers.Adam(), optimizers.SGD()
    entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    @tf.function
    def step({given}):
        with tf.GradientTape() as one, tf.GradientTape() as two:
            made = maker(tf.random.normal((16, 20)), training=True)
            real, false = judge(pictures, training=True), judge(made, training=True)
            gain = entropy(tf.ones_like(false), false)
            loss = entropy(tf.ones_like(real), real) + entropy(tf.zeros_like(false), false)
        makers.apply_gradients(zip(one.gradient(gain, maker.trainable_variables), maker.trainable_variables))
        judges.apply_gradients(zip(two.gradient(loss, judge.trainable_variables), judge.trainable_variables))
    for {given} in outside().batch(16):
        step({given})
"""
PLAIN = """
    maker = Sequential([layers.Input((20,)), layers.Dense(16 * 16 * 3), layers.Reshape((16, 16, 3))])
    judge = Sequential([
        layers.Input((16, 16, 3)), layers.Conv2D(64, 3, padding="same"), layers.LeakyReLU(), layers.Flatten(), layers.Dense(1),
    ])
"""
KEPT = 16 * 16 * 16 * 64 * 4  # a batch of what the convolution gives, in bytes


def test_a_step_of_two_models_is_followed_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = answered(tmp_path, PAIR.format(models=PLAIN, given="pictures"), monkeypatch)
    assert found.instead == ()
    assert found.optimizer == "Adam + SGD"
    assert any("followed whole, with pictures float32[16, 16, 16, 3]" in one for one in found.assumptions)
    # The judge sees real pictures and made ones: what it keeps of both is there when the tapes end.
    assert found.peak_bytes > 2 * KEPT
    weights = (20 * 768 + 768) + (3 * 9 * 64 + 64) + (16 * 16 * 64 + 1)
    assert 4 * weights <= found.parts["weights"] < 4 * weights + 512


def test_what_is_not_known_of_its_data_leaves_the_sum_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = PAIR.format(models=PLAIN, given="pictures, labels")
    found = answered(tmp_path, text, monkeypatch)
    silent = answered(tmp_path, text, monkeypatch, fallback=False)
    assert "the sum of what each takes by itself" in found.instead[0]
    assert (silent.instead, silent.peak_bytes) == ((), found.peak_bytes)
    assert found.range_bytes[1] == pytest.approx(silent.range_bytes[1] * STEP[1], abs=2)


def test_a_value_that_no_way_can_do_without_is_asked_for_at_once():
    """A second try may fail otherwise: a library that is half imported registers its types again."""
    from oomlint.estimate.worker.tries.fallback import together_or_apart

    tried: list[str] = []

    def estimated(request: Request) -> Estimate:
        tried.append("whole" if "whole" in request.names else "apart")
        raise EstimateError("width is not known", asked="width" if len(tried) == 1 else "")

    with pytest.raises(EstimateError) as caught:
        together_or_apart(Request("train.py", names={"together": "1"}), estimated)
    assert (caught.value.asked, tried) == ("width", ["whole"])


def test_what_would_save_memory_is_asked_of_each_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = answered(tmp_path, PAIR.format(models=PLAIN, given="pictures"), monkeypatch, what_if=True)
    assert "is not followed whole" in found.instead[0]
    assert any("mixed precision" in one.change for one in found.what_if)


OF_CLASSES = """
    class Maker(Model):
        def __init__(self):
            super().__init__()
            self.wide, self.shaped = layers.Dense(16 * 16 * 3), layers.Reshape((16, 16, 3))
        def call(self, x, training=False):
            return self.shaped(self.wide(x))
    class Judge(Model):
        def __init__(self):
            super().__init__()
            self.inner, self.flat, self.outer = layers.Conv2D(64, 3, padding="same"), layers.Flatten(), layers.Dense(1)
        def call(self, x, training=False):
            return self.outer(self.flat(self.inner(x)))
    maker = Sequential([layers.Input((20,)), Maker()])
    judge = Judge()
"""


def test_one_that_says_nothing_of_its_input_takes_what_the_other_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = answered(tmp_path, PAIR.format(models=OF_CLASSES, given="pictures, labels"), monkeypatch)
    weights = (20 * 768 + 768) + (3 * 9 * 64 + 64) + (16 * 16 * 64 + 1)
    assert 4 * weights <= found.parts["weights"] < 4 * weights + 512
    assert not any("not included" in one for one in found.assumptions)
    assert not any(
        "is not known" in one for one in found.instead
    )  # the judge's kernels hang on the channels alone


REGIONS = """
    import tensorflow as tf
    from keras import Sequential, Model, layers, optimizers
    class Head(Model):
        def __init__(self):
            super().__init__()
            self.flat, self.wide, self.outer = layers.Flatten(), layers.Dense(4096), layers.Dense(1)
        def call(self, x):
            return self.outer(self.wide(self.flat(x)))
    finder = Sequential([layers.Input((64, 64, 3)), layers.Conv2D(8, 3), layers.GlobalAveragePooling2D(), layers.Dense(4)])
    head = Head()
    finders, heads = optimizers.SGD(), optimizers.SGD()
    @tf.function
    def find(pictures):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(finder(pictures))
        finders.apply_gradients(zip(tape.gradient(loss, finder.trainable_variables), finder.trainable_variables))
    @tf.function
    def tell(regions):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(head(regions))
        heads.apply_gradients(zip(tape.gradient(loss, head.trainable_variables), head.trainable_variables))
    for pictures in outside().batch(16):
        find(pictures)
        tell(cut(pictures))
"""


def test_weights_for_each_number_of_a_picture_that_is_only_likely_decide_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A head for regions of pictures, beside what proposes these, had been given whole pictures: 27 GiB too much."""
    found = answered(tmp_path, REGIONS, monkeypatch, usable=250 * 2**20)
    weights = (27 * 8 + 8) + (8 * 4 + 4) + (64 * 64 * 3 * 4096 + 4096) + (4096 + 1)
    assert 4 * weights <= found.parts["weights"] < 4 * weights + 512
    assert found.parts["weights"] < 250 * 2**20 < found.range_bytes[1]
    assert found.range_bytes[0] <= weights  # a quarter of their bytes, and less for what else is assumed
    assert found.verdict == "tight"  # and not that it does not fit
    assert any("it has 12,288 x 4,096 weights if it is 64x64x3" in one for one in found.instead)


def test_of_a_model_that_is_left_out_nothing_is_said_to_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from oomlint.estimate.verdicts import headline

    models = PLAIN.replace("layers.Reshape", "nowhere.Reshape")
    found = answered(tmp_path, PAIR.format(models=models, given="pictures, labels"), monkeypatch)
    assert found.verdict == "tight"
    assert "is trained too, and not included" in found.instead[0]
    assert "needs at least" in headline(found)


ROUNDS = """
    import tensorflow as tf
    from keras import Sequential, layers, optimizers
    maker = Sequential([layers.Input((20,)), layers.Dense(16 * 16 * 3), layers.Reshape((16, 16, 3))])
    judge = Sequential([layers.Input((16, 16, 3)), layers.Flatten(), layers.Dense(1)])
    idle = Sequential([layers.Input((16, 16, 3)), layers.Flatten(), layers.Dense(1)])
    makers, judges = optimizers.Adam(), optimizers.SGD()
    @tf.function
    def make():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(judge(maker(tf.random.normal((16, 20)))))
        makers.apply_gradients(zip(tape.gradient(loss, maker.trainable_variables), maker.trainable_variables))
    @tf.function
    def tell(pictures):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(judge(pictures))
        judges.apply_gradients(zip(tape.gradient(loss, judge.trainable_variables), judge.trainable_variables))
    def again(pictures):
        make()
        tell(pictures)
    for pictures in outside().batch(16):
        {called}
"""


@pytest.mark.parametrize("called", ["again(pictures)", "make(), tell(pictures)"])
def test_two_steps_that_a_round_takes_are_of_both_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str
):
    found = answered(tmp_path, ROUNDS.format(called=called), monkeypatch)
    assert "the sum of what each takes by itself" in found.instead[0]
    weights = (20 * 768 + 768) + 769
    assert 4 * weights <= found.parts["weights"] < 4 * weights + 512


OWN_OPTIMIZER = """
    import keras, tensorflow as tf
    from tensorflow.python.keras.optimizer_v2.optimizer_v2 import OptimizerV2
    class Own(OptimizerV2):
        def __init__(self, name="own", **more):
            super().__init__(name, **more)
        def _create_slots(self, variables):
            for one in variables:
                {slots}
    model = keras.Sequential([keras.Input((500,)), keras.layers.Dense(300), keras.layers.Dense(1)])
    optimizer = Own()
    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    for x, y in outside().batch(16):
        step(x, y)
"""
PARAMETERS = 500 * 300 + 300 + 301


@pytest.mark.parametrize(
    ("slots", "name", "kept"),
    [
        ("pass", "SGD", 0),
        ('self.add_slot(one, "v")', "SGD", 1),
        ('self.add_slot(one, "m"), self.add_slot(one, "v")', "Adam", 2),
    ],
)
def test_an_optimizer_that_cannot_be_made_keeps_as_much_as_its_code_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slots: str, name: str, kept: int
):
    found = answered(tmp_path, OWN_OPTIMIZER.format(slots=slots), monkeypatch)
    assert found.optimizer == name
    assert 0 <= found.parts["optimizer_state"] - 4 * kept * PARAMETERS < 512
    assert any("cannot be made" in one for one in found.assumptions)


def test_a_judge_that_is_frozen_by_its_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`frozen` has the layers of the judge in `judged`, whose own flag stays: 3 x 3 x 3 x 8 + 8 and 3 x 3 x 8 + 1 are trained."""
    text = """
        import keras
        from keras import layers

        def judge(shape):
            seen = layers.Input(shape)
            return keras.Model(seen, layers.Conv2D(1, 3, padding="same")(layers.Conv2D(8, 3, padding="same")(seen)))

        inner = judge((16, 16, 3))
        real, drawn = layers.Input((16, 16, 3)), layers.Input((16, 16, 3))
        judged = keras.Model([real, drawn], [inner(real), inner(drawn)])
        judged.compile(keras.optimizers.Adam(), loss=["mse", "mse"])
        frozen = keras.Model(inner.input, inner.output)
        start = layers.Input((16, 16, 3))
        made = layers.Conv2D(3, 3, padding="same")(start)
        maker = keras.Model(start, [frozen(made), made])
        maker.compile(keras.optimizers.Adam(), loss=["mse", "mse"])
        for step in range(100):
            frozen.trainable = True
            judged.train_on_batch(pairs(step), [ones, ones], batch_size=4)
            frozen.trainable = False
            maker.train_on_batch(pictures(step), [ones, pictures(step)])
    """
    found = answered(tmp_path, text, monkeypatch, batch_size=4)
    judge, maker = 3 * 3 * 3 * 8 + 8 + 3 * 3 * 8 + 1, 3 * 3 * 3 * 3 + 3
    assert found.parts["optimizer_state"] // 8 in range(judge + maker, judge + maker + 8)
    assert not found.instead
