"""The dry run's shapes and parameter counts are those that Keras itself gives, layer by layer.

Every model of `keras_cases` is built by Keras on the CPU; its source text is dry-run; the two must agree exactly.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun.interpreter import dry_run
from oomlint.dryrun.values.base import Value, deref
from oomlint.dryrun.values.program import Instance
from oomlint.dryrun.values.training import Layer, Model
from oomlint.syntax.parse import parse

from . import keras_cases

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

IMPORTS = "import numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\n"
# Keras lists the layers of a base whose tensors go on into a new model; the dry run keeps it as one.
FLATTENED = {keras_cases.BOTH["new head"]}
NEWER = {"GroupQueryAttention": "GroupedQueryAttention"}  # Keras renamed the class and kept the old name
Row = tuple[str, Any, int]


def dry(text: str) -> Model:
    """The model that the dry run finds under the name `model`."""
    trace = dry_run(parse(document_from_text(IMPORTS + text, "case.py")))
    bound = [deref(event.value) for event in trace.assigns() if event.path == "model"]
    value: Value | None = bound[-1]
    if isinstance(value, Instance):
        value = value.facet
    assert isinstance(value, Model)
    return value


def plain(shape: Any) -> Any:
    """A shape of the dry run as Keras writes it."""
    return None if shape is None else tuple(None if dim is None else dim.value for dim in shape)


def count(layer: Value) -> int | None:
    """The parameters that the dry run counts for a layer or nested model."""
    from oomlint.dryrun.catalog.keras.dims import parameters
    from oomlint.dryrun.catalog.keras.graph import weights_of

    return parameters(weights_of(layer))


def dry_rows(model: Model) -> list[Row]:
    rows: list[Any] = []
    for layer in model.layers or []:
        if isinstance(layer, Model):
            rows.append(("Model", plain(layer.output_shape), count(layer)))
        elif isinstance(layer, Layer) and isinstance(layer.inner, Instance):
            rows.append((layer.inner.cls.name, plain(layer.output), count(layer)))
        elif isinstance(layer, Layer) and not layer.type.endswith("InputLayer"):
            name = layer.type.rpartition(".")[2]
            rows.append((NEWER.get(name, name), plain(layer.output), count(layer)))
    return sorted(rows, key=repr)


def keras_rows(keras: Any, model: Any) -> list[Row]:
    rows: list[Any] = []
    for layer in model.layers:
        name = type(layer).__name__
        if name == "InputLayer" or isinstance(layer, operation(keras)):
            continue
        if isinstance(layer, keras.Model):
            name = "Model"
        try:
            output = layer.output
        except (
            AttributeError,
            RuntimeError,
            ValueError,
        ):  # called more than once: checked through the model's output
            rows.append((name, ..., layer.count_params()))
            continue
        first = output[0] if isinstance(output, list | tuple) else output
        rows.append((name, tuple(first.shape), layer.count_params()))
    return sorted(rows, key=repr)


def operation(keras: Any) -> tuple[type, ...]:
    """The layers that Keras 2 makes of an operator."""
    if keras.__name__ != "tf_keras":
        return ()
    from tf_keras.src.layers.core.tf_op_layer import SlicingOpLambda, TFOpLambda

    return (TFOpLambda, SlicingOpLambda)


def check(keras: Any, text: str) -> None:
    import numpy as np
    import tensorflow as tf

    names: dict[str, Any] = {"keras": keras, "np": np, "tf": tf}
    exec(text, names)
    real, found = names["model"], dry(text)
    assert found.parameters is not None
    assert found.parameters.value == real.count_params()
    try:
        outputs = real.outputs
    except AttributeError:
        outputs = None
    if outputs:
        ends = found.outputs
        shapes = [plain(getattr(end, "shape", None)) for end in _flat(ends)]
        # Built on data, Keras keeps that batch; the dry run leaves it open.
        assert len(shapes) == len(outputs)
        for shape, output in zip(shapes, outputs):
            assert shape[1:] == tuple(output.shape)[1:]
            assert shape[0] in (None, output.shape[0])
    if text in FLATTENED:
        return
    wanted = keras_rows(keras, real)
    got = dry_rows(found)
    assert [(name, size) for name, _, size in got] == [(name, size) for name, _, size in wanted]
    if outputs:
        for (name, shape, _), (_, output, _) in zip(got, wanted):
            assert output is ... or (name, shape[1:]) == (name, output[1:])


def _flat(value: Any) -> list[Any]:
    from oomlint.dryrun.catalog.keras.graph import tensors

    return tensors(value)


@pytest.mark.parametrize("name", [*keras_cases.BOTH, *keras_cases.KERAS3])
def test_keras_3(name: str) -> None:
    keras = pytest.importorskip("keras", minversion="3.0")
    check(keras, {**keras_cases.BOTH, **keras_cases.KERAS3}[name])


@pytest.mark.parametrize("name", list(keras_cases.BOTH))
def test_keras_2(name: str) -> None:
    check(pytest.importorskip("tf_keras"), keras_cases.BOTH[name])
