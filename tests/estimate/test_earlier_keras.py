"""What earlier releases of Keras 3 did otherwise, shown with whichever is installed."""

from __future__ import annotations

from typing import Any

import pytest

from oomlint.estimate.worker.absent.stand_ins import Missing, Size
from oomlint.estimate.worker.keras.generation import inputs_of
from oomlint.estimate.worker.keras.weightless import initializers_replaced
from oomlint.estimate.worker.values.classes import Classes


def test_a_number_of_classes_is_of_a_class_that_sizes_may_have():
    backend = pytest.importorskip("keras").backend
    assert backend.is_int_dtype(type(Classes(3)))  # how Keras before 3.13 tells what a size may be
    assert not backend.is_int_dtype("float32")


def test_the_class_of_a_value_that_is_not_known_has_its_name():
    for kind in (Missing, Size):
        width = kind("width")
        assert isinstance(width, kind)
        assert type(width).__name__ == "<not known: width>"
        assert type(width.next).__name__ == "<not known: width.next>"
        with pytest.raises(TypeError, match="<not known: width>"):
            "".join([width])  # type: ignore[list-item]


def test_initializers_are_not_called_where_a_variable_is_made():
    class Variable:
        def __init__(self, initializer: Any, shape: Any = None) -> None:
            self.value = initializer(shape, dtype="int8") if callable(initializer) else initializer

    def ones(shape: Any, dtype: Any = None) -> Any:
        return "ones", shape, dtype

    def none(initializer: Any, shape: Any, dtype: Any = None) -> Any:
        return initializer.__name__, "none", shape, dtype

    with initializers_replaced(Variable, none):
        assert Variable(ones, (3,)).value == ("ones", "none", (3,), "int8")
        assert Variable(initializer=ones, shape=(4,)).value == ("ones", "none", (4,), "int8")
        assert Variable("given").value == "given"
    assert Variable(ones, (3,)).value == ("ones", (3,), "int8")


def test_a_model_that_does_not_know_its_inputs_yet():
    class Sequential:
        @property
        def inputs(self) -> Any:
            raise ValueError("has no defined inputs yet")

    class Functional:
        inputs = ("x",)

    assert inputs_of(Sequential()) is None
    assert inputs_of(Functional()) == ("x",)
    assert inputs_of(object()) is None
