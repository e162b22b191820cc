"""What a script does to a model that stands in another module, and modules that are read in part."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build

NET = """
from tensorflow import keras

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
"""


@pytest.mark.parametrize(
    ("module", "taken", "name"),
    [
        ("net_of_one", "import net_of_one", "net_of_one.model"),
        ("net_of_two", "from net_of_two import model", "model"),
    ],
)
def test_the_compile_of_a_model_in_another_module(
    module: str, taken: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A script was said to train with Adam, "as nothing compiles the model"."""
    (tmp_path / f"{module}.py").write_text(NET)
    text = f"""
        {taken}
        from tensorflow import keras

        if __name__ == "__main__":
            {name}.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
            {name}.fit(read(), batch_size=4)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert type(subject.model.optimizer).__name__ == "SGD"
    assert not any("nothing compiles" in one for one in subject.assumptions)


def test_a_module_whose_indentation_only_python_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A tab and four spaces are deeper than four spaces for Python, and no block of anything for LibCST."""
    (tmp_path / "tables_of_one.py").write_text(
        "def rows(count):\n    try:\n\t    first = count\n    except ValueError:\n\t    first = 0\n    yield first\n"
    )
    text = """
        from tables_of_one import rows
        from tensorflow import keras

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        model.compile("sgd", "mse")
        for epoch in range(3):
            model.fit(rows(10), batch_size=4)
    """
    assert build(tmp_path, text, monkeypatch).model.count_params() == 15
