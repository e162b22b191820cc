"""A module of the project that Python cannot read is what a refusal names, with its row."""

from __future__ import annotations

import pytest
from estimate.scripts import answered

from oomlint.estimate.errors import EstimateError

pytest.importorskip("keras")


def test_its_file_and_row_are_named_and_nothing_is_proposed_in_its_place(tmp_path, monkeypatch):
    text = """
        import tensorflow as tf
        from nets_unread import Gan, discriminator
        net = Gan(discriminator)
        net.compile(optimizer=tf.keras.optimizers.Adam())
        net.fit(tf.zeros((64, 28, 28, 1)), epochs=1)
        """
    module = tmp_path / "nets_unread.py"
    module.write_text("import tensorflow as tf\n\n<<<<<<< HEAD\ndiscriminator = 1\n=======\n>>>>>>> main\n")
    with pytest.raises(EstimateError) as caught:
        answered(tmp_path, text, monkeypatch)
    assert caught.value.message.startswith("SyntaxError: invalid syntax")
    assert (caught.value.file, caught.value.line) == (str(module), 3)
    assert not caught.value.needs
    assert "=10" not in caught.value.hint
