"""What is said of modules that cannot be imported, and of what Keras 3 does not take any more."""

from __future__ import annotations

from pathlib import Path

import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError


def refused(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> EstimateError:
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch)
    return caught.value


def test_a_module_of_the_projects_own_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "networks").mkdir()
    (tmp_path / "networks" / "wide.py").write_text("def wide():\n    return None\n")
    text = """
        import keras
        from networks.deep import deep

        model = deep(5)
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    error = refused(tmp_path, text, monkeypatch)
    assert error.message.startswith("networks/deep.py is not there, a module of the project's own")
    assert error.line == 3
    assert "Install" not in error.hint


def test_a_library_that_is_there_and_cannot_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its name is in no exception: `ImportError: libGL.so.1: cannot open shared object file`."""
    libraries = tmp_path / "installed" / "site-packages"
    (libraries / "lens").mkdir(parents=True)
    (libraries / "lens" / "__init__.py").write_text(
        "raise ImportError('libglass.so.1: cannot open shared object file')\n"
    )
    monkeypatch.syspath_prepend(str(libraries))
    text = """
        import keras
        import lens

        model = keras.Sequential([keras.Input((lens.SIZE,)), lens.Focus(4)])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    error = refused(tmp_path, text, monkeypatch)
    assert error.message == (
        "lens is installed and cannot be imported: ImportError: libglass.so.1: cannot open shared object file"
    )
    assert "import lens" in error.hint


def test_a_library_that_a_layer_wants_as_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Keras makes the exception anew, with all that the layer was given."""
    text = """
        import keras

        class Bent(keras.layers.Layer):
            def call(self, inputs):
                import glassware
                return glassware.bend(inputs)

        model = keras.Sequential([Bent(), keras.layers.Dense(4)])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    with pytest.raises(EstimateError) as caught:
        build(tmp_path, text, monkeypatch, input_shape=(8, 8, 3))
    assert caught.value.message == "ModuleNotFoundError: No module named 'glassware'"
    assert caught.value.hint.startswith("Install glassware")


def test_an_argument_that_layers_of_keras_2_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
        import keras

        class Doubled(keras.layers.Layer):
            def __init__(self, units):
                super().__init__(units)

        model = keras.Sequential([keras.Input((4,)), Doubled(3), keras.layers.Dense(4)])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8)
    """
    error = refused(tmp_path, text, monkeypatch)
    assert "Layer.__init__() takes 1 positional argument" in error.message
    assert error.hint.startswith("Keras 3 refuses that as well")
