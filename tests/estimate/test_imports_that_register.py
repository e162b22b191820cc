"""Modules that are imported for what they do: networks in a registry, settings that are a Python file."""

from __future__ import annotations

import pytest
from estimate.scripts import build

pytest.importorskip("keras")

_REGISTRY = """
NETS = {}
def register(name):
    def keep(function):
        NETS[name] = function
        return function
    return keep
def make(name, **options):
    return NETS[name](**options)
"""
_NETWORK = """
import tensorflow as tf
from {package}.registry import register
@register("small")
def small(units):
    return tf.keras.Sequential([tf.keras.Input((16,)), tf.keras.layers.Dense(units)])
"""
_SCRIPT = """
    import numpy as np
    {imports}
    from {package}.registry import make
    model = make("small", units=77)
    model.compile("sgd", "mse")
    x, y = np.load("x.npy"), np.load("y.npy")
    model.fit(x, y, batch_size=24)
    """


@pytest.mark.parametrize(
    ("package", "imports", "begin"),
    [
        ("nets_named", "import nets_named.small", ""),
        ("nets_taken", "from nets_taken import small", ""),
        ("nets_whole", "import nets_whole", "from . import small\n"),
        ("nets_deep", "import nets_deep", "from .small import small as _small\n"),
    ],
)
def test_a_network_is_in_the_registry_though_nobody_uses_its_module(
    tmp_path, monkeypatch, package, imports, begin
):
    folder = tmp_path / package
    folder.mkdir()
    (folder / "__init__.py").write_text(begin)
    (folder / "registry.py").write_text(_REGISTRY)
    (folder / "small.py").write_text(_NETWORK.format(package=package))
    subject = build(tmp_path, _SCRIPT.format(package=package, imports=imports), monkeypatch)
    assert subject.model.count_params() == 16 * 77 + 77


def test_settings_that_are_a_python_file(tmp_path, monkeypatch):
    (tmp_path / "base_settings.py").write_text("units = 300\nsize = 24\n")
    text = """
        import importlib.util
        import numpy as np
        import tensorflow as tf
        def load_config(path):
            spec = importlib.util.spec_from_file_location("settings_read", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
        config = load_config("base_settings.py")
        model = tf.keras.Sequential([tf.keras.Input((16,)), tf.keras.layers.Dense(config.units)])
        model.compile("sgd", "mse")
        x, y = np.load("x.npy"), np.load("y.npy")
        model.fit(x, y, batch_size=config.size)
        """
    monkeypatch.chdir(tmp_path)
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 16 * 300 + 300
    assert subject.data[0].shape == (24, 16)
