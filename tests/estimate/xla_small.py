"""Run by `test_xla_engine.py` in a process of its own, as a Keras backend is chosen once: prints figures as JSON.

xla_small.py footprint|enlarged|modules|reference
"""

from __future__ import annotations

import json
import sys
from typing import Any

BATCH = 32


def network(keras: Any) -> Any:
    """A small network with an optimizer that keeps two slots."""
    inputs = keras.Input((64,))
    x = keras.layers.Dense(128, activation="gelu", name="wide")(inputs)
    x = keras.layers.Dropout(0.5)(x)
    x = keras.layers.LayerNormalization(name="norm")(x)
    return keras.Model(inputs, keras.layers.Dense(10, activation="softmax", name="last")(x))


def footprint() -> dict[str, Any]:
    """What the engine says, of variables without memory."""
    import keras

    from oomlint.estimate.worker.keras.weightless import without_memory
    from oomlint.estimate.worker.subject import Spec, Subject
    from oomlint.estimate.worker.xla import engine

    with without_memory():
        model = network(keras)
        model.compile("adam", "sparse_categorical_crossentropy", jit_compile=True)
        model.optimizer.build(model.trainable_variables)
    found = engine.footprint(
        Subject(model, (Spec((BATCH, 64), "float32"), Spec((BATCH,), "int32"))), "H100-80GB", 0
    )
    return {
        "peak": found.peak,
        "parts": found.parts,
        "timeline": max(size for _, size in found.timeline),
        "saved": {layer.name: layer.saved_bytes for layer in found.layers},
        "parameters": {layer.name: layer.parameters for layer in found.layers},
    }


def enlarged() -> dict[str, Any]:
    """A picture network in half precision that makes its features larger, straight lines between them."""
    import keras

    from oomlint.estimate.worker.keras.weightless import without_memory
    from oomlint.estimate.worker.subject import Spec, Subject
    from oomlint.estimate.worker.xla import engine

    keras.config.set_dtype_policy("mixed_float16")
    with without_memory():
        inputs = keras.Input((32, 32, 3))
        x = keras.layers.Activation("relu")(keras.layers.Conv2D(16, 3, 2, padding="same")(inputs))
        x = keras.layers.UpSampling2D(interpolation="bilinear")(x)
        model = keras.Model(inputs, keras.layers.Conv2D(1, 1, dtype="float32")(x))
        model.compile("sgd", "mse", jit_compile=True)
        model.optimizer.build(model.trainable_variables)
    data = (Spec((BATCH, 32, 32, 3), "float32"), Spec((BATCH, 32, 32, 1), "float32"))
    found = engine.footprint(Subject(model, data), "H100-80GB", 0)
    return {"peak": found.peak, "parts": found.parts}


def held() -> dict[str, Any]:
    """A model that holds a table of 20,000 x 64 numbers which nobody trains, and looks rows of it up."""
    import keras
    import tensorflow as tf

    from oomlint.estimate.worker.keras.weightless import without_memory
    from oomlint.estimate.worker.subject import Spec, Subject
    from oomlint.estimate.worker.xla import engine

    class Looking(keras.Model):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = tf.zeros((20_000, 64))
            self.last = keras.layers.Dense(10)

        def call(self, numbers: Any) -> Any:
            return self.last(tf.gather(self.table, numbers))

    with without_memory():
        model = Looking()
        model(keras.KerasTensor((BATCH,), "int32"))
        model.compile("sgd", "mse", jit_compile=True)
        model.optimizer.build(model.trainable_variables)
    data = (Spec((BATCH,), "int32"), Spec((BATCH, 10), "float32"))
    return {"parts": engine.footprint(Subject(model, data), "H100-80GB", 0).parts}


def modules() -> dict[str, Any]:
    """The step for the compiler, with the outputs traced once more and with the ones that are known."""
    import keras

    from oomlint.estimate.worker.keras.weightless import without_memory
    from oomlint.estimate.worker.step.compiling import built_outputs
    from oomlint.estimate.worker.subject import Spec, Subject
    from oomlint.estimate.worker.xla import jax_step

    x, y = Spec((BATCH, 64), "float32"), Spec((BATCH,), "int32")
    found = []
    for known in (False, True):
        keras.utils.clear_session()
        with without_memory():
            model = network(keras)
            model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
            model.optimizer.build(model.trainable_variables)
            outputs = built_outputs(model, x) if known else None
        found.append(jax_step.exported(Subject(model, (x, y), outputs=outputs)).module.hex())
    return {"traced": found[0], "known": found[1]}


def reference() -> dict[str, Any]:
    """XLA's totals for the same step written out for JAX, compiled to the end."""
    import jax
    import keras
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    from oomlint.estimate.worker.xla.target_config import target_for

    model = network(keras)
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    loss = keras.losses.SparseCategoricalCrossentropy()

    def step(weights: Any, others: Any, slots: Any, x: Any, y: Any) -> Any:
        def forward(weights: Any) -> Any:
            out, new = model.stateless_call(weights, others, x, training=True)
            return loss(y, out), new

        (value, new), gradients = jax.value_and_grad(forward, has_aux=True)(weights)
        weights, slots = optimizer.stateless_apply(slots, gradients, weights)
        return value, weights, new, slots

    proto = target_for("H100-80GB", 0).proto
    card = topologies.get_topology_desc(
        platform="cuda", topology_name="gpu", target_config=proto, topology="1x1x1"
    )
    place = SingleDeviceSharding(card.devices[0])
    given = [
        [variable.value for variable in group]
        for group in (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
    ]
    jitted = jax.jit(step, donate_argnums=(0, 1, 2), in_shardings=place, out_shardings=place)
    shapes = jax.tree_util.tree_map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), given)
    x, y = jax.ShapeDtypeStruct((BATCH, 64), "float32"), jax.ShapeDtypeStruct((BATCH,), "int32")
    found = jitted.lower(*shapes, x, y).compile().memory_analysis()
    sizes = (found.argument_size_in_bytes, found.temp_size_in_bytes, found.output_size_in_bytes)
    return {"total": sum(sizes) - found.alias_size_in_bytes, "temporaries": found.temp_size_in_bytes}


if __name__ == "__main__":
    made = {one.__name__: one for one in (footprint, enlarged, held, modules, reference)}
    print(json.dumps(made[sys.argv[1]]()))
