"""An encoder and a decoder whose vocabularies only the data tells: one step, followed with usual ones."""

from __future__ import annotations

import pytest
from estimate.scripts import answered

TRANSLATOR = """
    import tensorflow as tf
    BATCH = 6
    words = tf.keras.preprocessing.text.Tokenizer()
    words.fit_on_texts(open("pairs.txt").read().split())
    others = tf.keras.preprocessing.text.Tokenizer()
    others.fit_on_texts(open("pairs.txt").read().split())
    x = tf.keras.preprocessing.sequence.pad_sequences(words.texts_to_sequences([]), maxlen=5)
    y = tf.keras.preprocessing.sequence.pad_sequences(others.texts_to_sequences([]), maxlen=4)
    {sizes}
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True)

    class Encoder(tf.keras.Model):
        def __init__(self, vocab):
            super().__init__()
            self.table = tf.keras.layers.Embedding(vocab, 3)
            self.unit = tf.keras.layers.GRU(7, return_sequences=True, return_state=True)

        def call(self, x, state):
            return self.unit(self.table(x), initial_state=state)

    class Decoder(tf.keras.Model):
        def __init__(self, vocab):
            super().__init__()
            self.table = tf.keras.layers.Embedding(vocab, 3)
            self.unit = tf.keras.layers.GRU(7, return_state=True)
            self.words = tf.keras.layers.Dense(vocab)

        def call(self, x, state, seen):
            x = tf.concat([self.table(x), tf.reduce_mean(seen, 1, keepdims=True)], -1)
            given, state = self.unit(x, initial_state=state)
            return self.words(given), state

    encoder, decoder = Encoder(vocab_in), Decoder(vocab_out)
    optimizer = tf.keras.optimizers.Adam()
    compare = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(x, y, state):
        loss = 0.0
        with tf.GradientTape() as tape:
            seen, state = encoder(x, state)
            word = tf.expand_dims([others.word_index["<start>"]] * BATCH, 1)
            for place in range(1, y.shape[1]):
                given, state = decoder(word, state, seen)
                loss += compare(y[:, place], given)
                word = tf.expand_dims(y[:, place], 1)
        variables = encoder.trainable_variables + decoder.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

    state = tf.zeros((BATCH, 7))
    for x, y in data:
        step(x, y, state)
"""
UNKNOWN = "vocab_in, vocab_out = len(words.word_index) + 1, len(others.word_index) + 1"


@pytest.mark.parametrize("names", [("vocab_in", "vocab_out"), ("vocab_size_src", "vocab_size_tgt")])
def test_a_step_of_two_networks_is_followed_with_usual_vocabularies(tmp_path, monkeypatch, names):
    def renamed(text: str) -> str:
        for old, new in zip(("vocab_in", "vocab_out"), names, strict=True):
            text = text.replace(old, new)
        return text

    known = TRANSLATOR.format(sizes="vocab_in, vocab_out = 10000, 10000")
    given = answered(tmp_path, renamed(known), monkeypatch)
    found = answered(tmp_path, renamed(TRANSLATOR.format(sizes=UNKNOWN)), monkeypatch)
    assert not given.instead
    assert found.instead[0].startswith("what only the data tells is not known: ")
    assert all(f"{name}=10000" in found.instead[1] for name in names)
    assert "not followed" not in " ".join(found.instead)
    # Two tables of 10,000 x 3, a dense layer of 7 x 10,000 + 10,000, and two GRUs of 3 x 7 x (inputs + 7 + 2): by hand.
    weights = 2 * 10000 * 3 + 8 * 10000 + 21 * (3 + 7 + 2) + 21 * (10 + 7 + 2)
    for one in (given, found):
        assert one.parts["weights"] == pytest.approx(4 * weights, abs=600)
    assert found.peak_bytes == given.peak_bytes
