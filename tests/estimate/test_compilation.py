"""Which program trains on a GPU, told from the model as Keras tells it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker.keras import compilation as deciding
from oomlint.estimate.worker.keras.compilation import program_of
from oomlint.estimate.worker.main import measured
from oomlint.estimate.worker.subject import Spec, Subject


class Model:
    """A model of Keras 3, as far as it is asked."""

    run_eagerly = False

    def __init__(self, jit="auto", layers=(), **more):
        self._compile_config = SimpleNamespace(config={"jit_compile": jit})
        self._layers = layers
        self.__dict__.update(more)

    def _flatten_layers(self):
        return self._layers


class LSTM(SimpleNamespace):
    pass


@pytest.fixture(autouse=True)
def on_tensorflow(monkeypatch):
    monkeypatch.setattr(deciding, "backend_name", lambda: "tensorflow")
    monkeypatch.setattr(deciding, "_is_deterministic", lambda: False)


def decided(model, **asked):
    return program_of(Subject(model, ()), Request(target="keras:ResNet50", **asked))


CUDNN = LSTM(name="lstm", supports_jit=False)
DENSE = SimpleNamespace(name="dense", supports_jit=True)


@pytest.mark.parametrize(
    ("model", "asked", "program"),
    [
        (Model(), {}, "xla"),
        (Model(layers=[DENSE]), {}, "xla"),
        (Model(layers=[DENSE, CUDNN]), {}, "graph"),
        (Model(jit=True, layers=[CUDNN]), {}, "graph"),
        (Model(jit=True), {"replicas": 2}, "xla"),
        (Model(), {"replicas": 2}, "graph"),
        (Model(), {"names": {"backend": "torch"}}, "graph"),
        (Model(jit=True), {"names": {"backend": "torch"}}, "graph"),
        (Model(), {"names": {"backend": "torch"}, "backend": "tensorflow"}, "xla"),
        (Model(), {"names": {"backend": "torch"}, "jit": "on"}, "xla"),
        (Model(_distribute_strategy=object()), {}, "graph"),
        (Model(jit=False), {}, "graph"),
        (Model(jit=False), {"jit": "on"}, "xla"),
        (Model(), {"jit": "off"}, "graph"),
        (Model(run_eagerly=True), {}, "eager"),
        (Model(jit=True, run_eagerly=True), {"jit": "on"}, "eager"),
    ],
)
def test_the_program(model, asked, program):
    assert decided(model, **asked)[0] == program


def test_the_layer_that_refuses_is_named():
    assert "LSTM 'lstm'" in decided(Model(layers=[DENSE, CUDNN]))[1]


def test_determinism_turns_xla_off(monkeypatch):
    monkeypatch.setattr(deciding, "_is_deterministic", lambda: True)
    assert decided(Model())[0] == "graph"


def test_jax_without_its_compiler_runs_operation_by_operation(monkeypatch):
    monkeypatch.setattr(deciding, "backend_name", lambda: "jax")
    assert decided(Model(jit=False))[0] == "eager"


def test_keras_2_compiles_only_when_told():
    old = type("Model", (), {"__module__": "tf_keras.src.engine.training", "_jit_compile": None})()
    assert decided(old)[0] == "graph"
    old._jit_compile = True
    assert decided(old)[0] == "xla"


@pytest.mark.parametrize(
    ("name", "options", "program"),
    [
        ("LSTM", {}, "graph"),  # on a GPU it asks for cuDNN when it is made, and says that it supports no XLA
        ("GRU", {}, "graph"),
        ("LSTM", {"use_cudnn": False}, "xla"),
        ("LSTM", {"activation": "relu"}, "xla"),  # cuDNN has no such cell
        ("GRU", {"reset_after": False}, "xla"),
        ("SimpleRNN", {}, "xla"),
    ],
)
def test_recurrent_layers_as_on_a_gpu(name, options, program):
    keras = pytest.importorskip("keras")
    layer = getattr(keras.layers, name)(3, **options)
    model = keras.Sequential([keras.Input((4, 2)), keras.layers.Bidirectional(layer)])
    model.compile("sgd", "mse")
    model._compile_config.config["jit_compile"] = "auto"
    assert decided(model)[0] == program


def test_recurrent_layers_on_jax(monkeypatch):
    keras = pytest.importorskip("keras")
    monkeypatch.setattr(deciding, "backend_name", lambda: "jax")
    assert deciding._refusing(Model(layers=[keras.layers.LSTM(3)])) == ""


def test_a_step_that_jax_runs_one_by_one_has_no_engine(monkeypatch):
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("sgd", "mse", run_eagerly=True)
    monkeypatch.setattr("oomlint.estimate.worker.keras.weightless.backend_name", lambda: "jax")
    monkeypatch.setattr(deciding, "backend_name", lambda: "jax")
    data = (Spec((2, 4), "float32"), Spec((2, 3), "float32"))
    with pytest.raises(EstimateError, match="run_eagerly=True") as caught:
        measured(Subject(model, data), Request("keras:X"), 0.0)
    assert "--backend tensorflow" in caught.value.hint
