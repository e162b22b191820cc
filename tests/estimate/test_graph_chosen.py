"""Tensors whose size the data's values choose, and shapes inside of branches."""

from __future__ import annotations

from typing import Any

import pytest

from oomlint.estimate.worker.subject import Spec, Subject

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")


def subject_of(loss: Any, labels: Spec, optimizer: Any = "sgd") -> Subject:
    model = keras.Sequential([keras.Input((6, 6, 2)), keras.layers.Conv2D(5, 3, padding="same")])
    model.compile(optimizer, loss, jit_compile=False)
    return Subject(model, (Spec((4, 6, 6, 2), "float32"), labels))


def only_what_is_labelled(y: Any, p: Any) -> Any:
    y, p = tf.reshape(y, [-1]), tf.reshape(p, [-1, 5])
    kept = tf.squeeze(tf.where(y < 5), 1)
    return tf.reduce_mean(
        keras.losses.sparse_categorical_crossentropy(tf.gather(y, kept), tf.gather(p, kept), from_logits=True)
    )


def with_a_mask(y: Any, p: Any) -> Any:
    kept = tf.boolean_mask(p, y < 5)
    return tf.reduce_mean(kept**2)


@pytest.mark.parametrize("loss", [only_what_is_labelled, with_a_mask])
def test_as_many_as_there_are(loss: Any):
    """4 pictures of 36 dots: 144 rows at most, in the step itself and in its gradient."""
    from oomlint.estimate.worker.graph.tracing import traced

    program = traced(subject_of(loss, Spec((4, 6, 6), "int32")), optimized=False)
    gathered = [one.shapes[0] for one in program.operations if one.type == "GatherV2"]
    assert (144, 5) in gathered
    assert program.bounded == 1
    assert program.unknown == 0


def test_the_estimate_says_so():
    from oomlint.estimate.worker.graph.engine import footprint

    said = footprint(subject_of(with_a_mask, Spec((4, 6, 6), "int32")), "graph").assumptions
    assert any("as large as if all were chosen" in one for one in said)


def test_a_bound_that_contradicts_the_code_is_left_out():
    """Half of the dots are labelled, the code says: 72 rows, which no 144 can be."""
    from oomlint.estimate.worker.graph.tracing import traced

    def half(y: Any, p: Any) -> Any:
        kept = tf.boolean_mask(p, y < 5)
        return tf.reduce_mean(tf.ensure_shape(kept, (72, 5)) ** 2)

    program = traced(subject_of(half, Spec((4, 6, 6), "int32")), optimized=False)
    assert program.bounded == 0
    assert program.unknown > 0


def test_shapes_inside_of_a_branch():
    """What a branch is given has the shape of what is given: 90 weights and 5 biases of the update."""
    from oomlint.estimate.worker.graph.tracing import traced

    class Sometimes(keras.optimizers.SGD):
        def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
            total = tf.add_n([tf.reduce_sum(one) for one in grads])
            return tf.cond(
                tf.math.is_finite(total),
                lambda: super(Sometimes, self).apply(grads, trainable_variables),
                lambda: None,
            )

    program = traced(subject_of("mse", Spec((4, 6, 6, 5), "float32"), Sometimes(0.1)), as_run=True)
    assert program.unknown == 0
