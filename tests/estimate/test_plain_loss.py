"""A loss or a metric that cannot be traced is left out or replaced, and that is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from estimate.scripts import build

from oomlint.estimate.worker.subject import Spec, Subject

keras = pytest.importorskip("keras")


def subject_of(loss: Any, metrics: Any, labels: tuple[int, ...]) -> Subject:
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, activation="softmax")])
    model.compile(keras.optimizers.SGD(momentum=0.9), loss, metrics=metrics)
    return Subject(model, (Spec((4, 6), "float32"), Spec(labels, "float32")))


def step_of(subject: Subject) -> list[str]:
    """Traces the step; gives the kinds of its operations."""
    from oomlint.estimate.worker.graph.tracing import traced

    return [one.type for one in traced(subject, optimized=False).operations]


def with_numpy(y: Any, p: Any) -> Any:
    return float(p[0][0]) * y


def with_one_label_more(y: Any, p: Any) -> Any:
    return keras.ops.sum(y[..., :-1] * p, axis=-1)


def test_what_can_be_traced_stays():
    from oomlint.estimate.worker.step.plain_loss import or_plainly

    subject = subject_of("mse", ["mae"], (4, 3))
    assert "MatMul" in or_plainly(subject, lambda: step_of(subject))
    assert subject.assumptions == []


def test_a_metric_that_calculates_with_numpy_is_left_out():
    from oomlint.estimate.worker.step.plain_loss import or_plainly

    subject = subject_of(with_one_label_more, [with_numpy], (4, 4))
    assert "MatMul" in or_plainly(subject, lambda: step_of(subject))
    (said,) = subject.assumptions
    assert said.startswith("the script's metrics are left out: ")
    assert subject.model.loss is with_one_label_more
    assert subject.data[1] == Spec((4, 4), "float32")


def test_a_loss_for_labels_of_another_shape_is_replaced():
    from oomlint.estimate.worker.step.plain_loss import or_plainly

    subject = subject_of(with_one_label_more, None, (4, 3))
    assert "MatMul" in or_plainly(subject, lambda: step_of(subject))
    (said,) = subject.assumptions
    assert said.startswith("sparse_categorical_crossentropy in place of the script's own loss")
    assert subject.data[1] == Spec((4,), "int32")


def test_a_model_that_cannot_be_traced_keeps_its_error():
    from oomlint.estimate.worker.step.plain_loss import or_plainly

    def never() -> Any:
        raise ValueError("the model itself")

    subject = subject_of("mse", None, (4, 3))
    with pytest.raises(ValueError, match="the model itself"):
        or_plainly(subject, never)


def with_a_model(y: Any, p: Any) -> Any:
    features = keras.Sequential([keras.Input((3,)), keras.layers.Dense(50)])
    return keras.ops.mean((features(y) - features(p)) ** 2, axis=-1)


def test_a_loss_that_makes_a_model_is_not_replaced():
    """What is computed with that model may take more than all else: a perceptual loss."""
    from oomlint.estimate.errors import EstimateError
    from oomlint.estimate.worker.step.plain_loss import or_plainly

    subject = subject_of(with_a_model, None, (4, 3))
    with pytest.raises(EstimateError, match="loss makes variables"):
        or_plainly(subject, lambda: step_of(subject))


def of_numbered_labels(y: Any, p: Any) -> Any:
    chosen = keras.ops.one_hot(keras.ops.cast(y, "int32"), 3)
    return -keras.ops.sum(chosen * keras.ops.log(p), axis=-1)


def masked_by_an_object(y: Any, p: Any) -> Any:
    each = keras.losses.SparseCategoricalCrossentropy(reduction="none")(y, p)
    known = keras.ops.cast(y != 0, each.dtype)
    return keras.ops.sum(each * known) / keras.ops.sum(known)


@pytest.mark.parametrize(
    ("loss", "operation"),
    [(of_numbered_labels, "OneHot"), (masked_by_an_object, "SparseSoftmaxCrossEntropyWithLogits")],
)
def test_a_loss_of_the_scripts_own_that_takes_the_numbers_of_classes_stays(loss: Any, operation: str):
    from oomlint.estimate.worker.step.plain_loss import or_plainly

    subject = subject_of(loss, None, (4, 3))
    assert operation in or_plainly(subject, lambda: step_of(subject))
    (said,) = subject.assumptions
    assert said.startswith("labels are the numbers of classes")
    assert subject.model.loss is loss
    assert subject.data[1] == Spec((4,), "int32")


def test_labels_of_which_the_shape_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """For a loss of the script's own they are as its data has them, not like the output."""
    text = """
        import numpy as np
        import keras

        def own(y, p):
            return keras.ops.mean(p) + keras.ops.mean(y)

        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, activation="softmax")])
        model.compile("sgd", {})
        model.fit(np.zeros((50, 6)), np.zeros((50, 2), "int32"), batch_size=10)
    """
    subject = build(tmp_path, text.replace("{}", "own"), monkeypatch)
    assert subject.data[1] == Spec((10, 2), "int32")
    subject = build(tmp_path, text.replace("{}", "'mse'"), monkeypatch)
    assert subject.data[1] == Spec((10, 3), "float32")
