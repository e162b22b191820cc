"""Compiling and training: optimizers with their slots, losses, metrics, callbacks, policies, fit and its kin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.ducks import as_dataset
from oomlint.dryrun.catalog.keras import losses
from oomlint.dryrun.catalog.keras.apply import POLICY
from oomlint.dryrun.catalog.keras.batch_sources import as_batches
from oomlint.dryrun.catalog.keras.callbacks import run_callback
from oomlint.dryrun.catalog.keras.forward import build_on, outputs_on
from oomlint.dryrun.catalog.keras.graph import as_symbolic, inner_layers, owned, tensors
from oomlint.dryrun.catalog.keras.settling import settle
from oomlint.dryrun.catalog.registry import attribute, facet, function, method, prefix, signature
from oomlint.dryrun.catalog.tensorflow.data_stages import bound, reckon
from oomlint.dryrun.catalog.tensorflow.function import traced
from oomlint.dryrun.trace import Role
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import NONE, Const, Mapping, Opaque, Sequence, Step, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.program import Instance, Library, Method
from oomlint.dryrun.values.training import Layer, Model, Optimizer

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

# --- optimizers ---------------------------------------------------------------------------------------

# Copies of each trained weight that an optimizer keeps beside it (measured on Keras 3.15: every one was built).
SLOTS = {
    "SGD": 0, "Adam": 2, "AdamW": 2, "Nadam": 2, "Adamax": 2, "Adadelta": 2, "Ftrl": 2, "Lamb": 2, "LAMB": 2,
    "ScheduleFreeAdamW": 2, "RMSprop": 1, "RMSProp": 1, "Adagrad": 1, "Lion": 1, "Muon": 1, "Adafactor": 1,
}  # fmt: skip

NAMES = {name.lower(): name for name in SLOTS}


@facet("keras.optimizers.Optimizer", *(f"keras.optimizers.{name}" for name in SLOTS))
def optimizer_facet(instance: Instance, base: str, run: Run) -> Value:
    """An object of the program's own optimizer class."""
    return Optimizer(base)


@attribute(Optimizer, "learning_rate", "lr", "iterations")
def optimizer_scalars(value: Value, run: Run) -> Value:
    """Scalar variables."""
    return Array("variable", (), "float32")


@attribute(Optimizer, "inner_optimizer")
def inner_optimizer(value: Value, run: Run) -> Value:
    """The optimizer inside a LossScaleOptimizer."""
    assert isinstance(value, Optimizer)
    return value.inner or Optimizer()


def slots_of(optimizer: Value | None) -> int | None:
    """How many further copies of each trained weight an optimizer keeps; None where it is not known."""
    optimizer = None if optimizer is None else deref(optimizer)
    if isinstance(optimizer, Instance):
        optimizer = optimizer.facet
    if optimizer is None:
        return 1  # compile() without an optimizer takes RMSprop
    if isinstance(optimizer, Library):
        optimizer = Optimizer(optimizer.name)
    if isinstance(optimizer, Const):
        if not isinstance(optimizer.value, str):
            return 1 if optimizer.value is None else None
        return SLOTS.get(NAMES.get(optimizer.value.lower(), ""))
    if not isinstance(optimizer, Optimizer):
        return None
    if optimizer.inner is not None:
        return slots_of(optimizer.inner)
    count = SLOTS.get(optimizer.type.rpartition(".")[2])
    if count is None or "**" in optimizer.config:
        return count
    for option in ("amsgrad", "momentum", "centered", "use_ema", "gradient_accumulation_steps"):
        given = optimizer.config.get(option)
        if given is not None and not (isinstance(given, Const) and not given.value):
            count += isinstance(given, Const)
    return count


# --- losses, metrics, callbacks -----------------------------------------------------------------------

FAMILIES = ("losses", "metrics", "callbacks", "regularizers", "initializers", "constraints")


@prefix(*(f"keras.{family}." for family in FAMILIES))
def make_object(call: Call, run: Run) -> Value:
    """A loss, metric, callback and the like; the lower-case functions compute a tensor at once."""
    name = call.name.rpartition(".")[2]
    if name[:1].isupper():
        return Opaque(call.name, call)
    if call.name.startswith("keras.losses."):
        return Array("tensor", None, "float32")
    return Unknown()


@method(Opaque, "__call__")
def call_object(call: Call, run: Run) -> Value:
    """`loss(y_true, y_pred)` and `metric(y_true, y_pred)` are scalars, unless the loss is not reduced."""
    made = call.receiver
    if isinstance(made, Opaque) and made.type == "tf.function" and made.made_by is not None:
        return traced(deref(call.arguments[0].value), made.made_by) if call.arguments else Unknown()
    if isinstance(made, Opaque) and made.type.startswith(("keras.losses.", "keras.metrics.")):
        reduction = None if made.made_by is None else made.made_by.argument("reduction")
        return Array("tensor", () if reduction is None or losses.reduces(reduction) else None, "float32")
    return Unknown()


@method(Opaque, "result")
def metric_result(call: Call, run: Run) -> Value:
    """`metric.result()` is a tensor."""
    made = call.receiver
    is_metric = isinstance(made, Opaque) and made.type.startswith("keras.metrics.")
    return Array("tensor", (), "float32") if is_metric else Unknown()


# --- policies and the session --------------------------------------------------------------------------


@function(
    "keras.mixed_precision.set_global_policy",
    "keras.mixed_precision.set_policy",
    "keras.mixed_precision.set_dtype_policy",
    "keras.config.set_dtype_policy",
    parameters="policy",
)
def set_policy(call: Call, run: Run) -> Value:
    """The dtype policy of all layers made from here on."""
    value = call.value("policy")
    if isinstance(value, Opaque) and value.made_by is not None and value.made_by.arguments:
        value = deref(value.made_by.arguments[0].value)
    run.state.set((POLICY, "policy"), value if isinstance(value, Const) else Unknown())
    return NONE


@function(
    "keras.mixed_precision.Policy",
    "keras.DTypePolicy",
    "keras.mixed_precision.DTypePolicy",
    parameters="name",
)
def make_policy(call: Call, run: Run) -> Value:
    """A policy object: its name is what counts."""
    return call.value("name") or Unknown()


signature("keras.backend.clear_session keras.utils.clear_session", "free_memory")
signature("keras.utils.set_random_seed", "seed")

# --- compile and fit ----------------------------------------------------------------------------------


@method(
    Model,
    "compile",
    parameters="optimizer loss loss_weights metrics weighted_metrics run_eagerly steps_per_execution jit_compile",
)
def compile_model(call: Call, run: Run) -> Value:
    """`model.compile(...)`: remembers what is trained, for `trainable` may change before the next compile."""
    model = call.receiver
    assert isinstance(model, Model)
    model.compiled = call
    model.compiles.append(call)
    model.attributes["optimizer"] = call.value("optimizer") or Optimizer("keras.optimizers.RMSprop")
    if isinstance(model.attributes["optimizer"], Const):
        name = NAMES.get(str(model.attributes["optimizer"].value).lower(), "")
        model.attributes["optimizer"] = Optimizer(
            f"keras.optimizers.{name}" if name else "keras.Optimizer", call
        )
    if model.layers is None and isinstance(model.instance, Instance):
        model.layers = owned(run, model.instance) or None  # a `train_step` of its own may never run `call`
    if model.layers:
        model.attributes["_frozen"] = Sequence("list", items=frozen_layers(model))
    losses.run_lambdas(call, run, Array("tensor", model.output_shape, "float32"))
    return NONE


def frozen_layers(model: Value) -> list[Value]:
    """The layers that are not trained as things stand: by their own `trainable`, else by what they are part of."""
    if is_frozen(model):
        return [layer for layer in inner_layers(model) if not is_thawed(layer)]
    parts: list[Value] = []
    if isinstance(model, Model):
        parts = model.layers or []
    elif isinstance(model, Layer):  # of a wrapper, or of the program's own layer
        parts = [] if model.inner is None else [deref(model.inner)]
        parts = [*parts, *tensors(model.attributes.get("_parts"))]
    return [layer for part in parts for layer in frozen_layers(part)]


def is_thawed(layer: Value) -> bool:
    """Whether `trainable = True` was set on the layer itself."""
    value = getattr(layer, "attributes", {}).get("trainable")
    return isinstance(value, Const) and value.value is True


def is_frozen(layer: Value) -> bool:
    """Whether `trainable = False` was set on a layer or model, or given to its constructor."""
    attributes = getattr(layer, "attributes", {})
    value = attributes.get("trainable", getattr(layer, "config", {}).get("trainable"))
    return isinstance(value, Const) and value.value is False


_FIT = "x y batch_size epochs verbose callbacks validation_split validation_data shuffle class_weight"


@method(Model, "fit", parameters=f"{_FIT} sample_weight initial_epoch steps_per_epoch validation_steps")
@method(
    Model, "fit_generator", parameters="generator steps_per_epoch epochs verbose callbacks validation_data"
)
def fit(call: Call, run: Run) -> Value:
    """`model.fit(...)`: an unbuilt model is built on the data, own steps and callbacks are run."""
    model = call.receiver
    assert isinstance(model, Model)
    data = data_of(call, run)
    batch = batch_of(call, data)
    if data is not None:
        prepare(run, model, data, call)
    if isinstance(model.instance, Instance):
        step(run, model.instance, "train_step", batch, call)
    for item in tensors(call.value("callbacks")):
        run_callback(run, item, model, call)
    history = Mapping(complete=False, other=Sequence("list", element=Unknown(type="float")))
    return Opaque("keras.callbacks.History", call, {"history": history, "model": model})


def data_of(call: Call, run: Run) -> Value | None:
    """The input of a training or prediction call."""
    for name in ("x", "generator", "data"):
        value = call.value(name)
        if value is not None:
            return as_dataset(value, run)
    return None


def inputs_in(data: Value) -> Value | None:
    """The model's input in what a fit is fed: an array, or the first part of a data set's element."""
    data = deref(data)
    if isinstance(data, Dataset):
        element = None if data.element is None else deref(data.element)
        if isinstance(element, Sequence) and element.items and element.kind == "tuple":
            return deref(element.items[0])
        return element
    return data


def batch_of(call: Call, data: Value | None) -> Value:
    """What `train_step` gets: a pair of batches."""
    if isinstance(data, Dataset):
        return data.element if data.element is not None else Unknown()
    y = call.value("y")
    if data is None or y is None:
        return Unknown()
    parts = [as_symbolic(data), as_symbolic(y)]
    tensors_ = [
        Array("tensor", part.shape, part.dtype, part.origin) if isinstance(part, Array) else part
        for part in parts
    ]
    return Sequence("tuple", items=tensors_)


def prepare(run: Run, model: Model, data: Value, call: Call) -> None:
    """Build a model that is not built on the shapes of the data."""
    given = inputs_in(data)
    if given is None:
        return
    inputs = [as_symbolic(item) for item in tensors(given)]
    if model.outputs is not None:
        settle(run, model, inputs, call)
        return
    build_on(run, model, inputs, call)


def step(run: Run, instance: Instance, name: str, batch: Value, call: Call) -> None:
    """Run the program's own `train_step` once, as `fit` does inside a tf.function."""
    own = run.attribute(instance, name, call.place)
    if isinstance(own, Method) and own.function is not None and not own.function.entered:
        before = run.context
        run.context = before.inside(Role(call.place, "tf.function", own.function))
        try:
            run.call(own, [batch], call, "keras.train_step")
        finally:
            run.context = before


@method(Model, "predict", parameters="x batch_size verbose steps callbacks")
@method(Model, "predict_generator", parameters="generator steps")
def predict(call: Call, run: Run) -> Value:
    """`model.predict(x)`: NumPy arrays, one row per sample."""
    model = call.receiver
    assert isinstance(model, Model)
    data = as_batches(data_of(call, run), call, run)
    if data is not None:
        prepare(run, model, data, call)
    rows = None if data is None else samples_of(call, data)
    if isinstance(model.instance, Instance):
        own = run.attribute(model.instance, "predict_step", call.place)
        if isinstance(own, Method) and own.function is not None:
            return Array("numpy", origin=Step(call.name, call.place))  # it may give anything
    given = None if data is None else inputs_in(data)
    inputs = [as_symbolic(item) for item in tensors(given)]
    return outputs_as_arrays(outputs_on(run, model, inputs, call), model, rows, call)


def samples_of(call: Call, data: Value) -> Const | None:
    """How many rows a prediction has: the array's, or batches times the rows of one."""
    if isinstance(data, Dataset) or (isinstance(data, Sequence) and data.kind == "generator"):
        element = data.element if data.element is not None else Unknown()
        batch = next(iter(tensors(inputs_in(Dataset(element)))), None)
        size = batch.shape[0] if isinstance(batch, Array) and batch.shape else None
        steps = bound(call.value("steps"))
        counts = [count for count in (data.count, steps) if count is not None]
        fewest = min(counts, key=lambda count: int(count.value)) if counts else None
        return reckon(lambda batches, rows: batches * rows, fewest, size)
    first = next(iter(tensors(data)), None) if isinstance(data, Array | Sequence) else None
    return first.shape[0] if isinstance(first, Array) and first.shape else None


def outputs_as_arrays(outputs: Value | None, model: Model, rows: Const | None, call: Call) -> Value:
    """A model's outputs as NumPy arrays."""
    origin = Step(call.name, call.place)
    if isinstance(outputs, Sequence) and outputs.items is not None:
        return Sequence("list", items=[outputs_as_arrays(item, model, rows, call) for item in outputs.items])
    shape = outputs.shape if isinstance(outputs, Array) else model.output_shape
    return Array("numpy", None if shape is None else (rows, *shape[1:]), "float32", origin)


@method(Model, "predict_on_batch", parameters="x")
def predict_on_batch(call: Call, run: Run) -> Value:
    """One batch, as NumPy arrays."""
    return predict(call, run)


@method(Model, "evaluate", parameters="x y batch_size verbose sample_weight steps callbacks")
@method(Model, "evaluate_generator", parameters="generator steps")
def evaluate(call: Call, run: Run) -> Value:
    """Plain numbers."""
    model = call.receiver
    data = data_of(call, run)
    if isinstance(model, Model) and data is not None:
        prepare(run, model, data, call)
    return Unknown(type="float")


@method(Model, "train_on_batch", "test_on_batch", parameters="x y sample_weight class_weight")
def train_on_batch(call: Call, run: Run) -> Value:
    """Plain numbers."""
    return evaluate(call, run)


@method(Model, "get_weights")
def get_weights(call: Call, run: Run) -> Value:
    """NumPy copies of the weights."""
    return Sequence("list", element=Array("numpy", None, "float32"))


@method(Model, "set_weights", "load_weights", "save", "save_weights", "summary", "export")
@method(Model, "reset_states", "reset_state", "reset_metrics")
def nothing(call: Call, run: Run) -> Value:
    """Calls whose result nobody uses."""
    return NONE


@method(Model, "count_params")
def count_params(call: Call, run: Run) -> Value:
    """The number of parameters, where it is known."""
    model = call.receiver
    known = model.parameters if isinstance(model, Model) else None
    return known if known is not None else Unknown(type="int")


signature("keras.Model.set_weights", "weights")
