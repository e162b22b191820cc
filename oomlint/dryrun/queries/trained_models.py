"""The models that a script trains: with what optimizer, which loss, and in batches of how many samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.batch_sources import BatchSource
from oomlint.dryrun.catalog.keras.dims import known
from oomlint.dryrun.catalog.keras.graph import tensors
from oomlint.dryrun.catalog.keras.training import frozen_layers, inputs_in, slots_of
from oomlint.dryrun.catalog.tensorflow.distribution import PER_REPLICA
from oomlint.dryrun.queries import replicas
from oomlint.dryrun.queries.gpu_setup import on_a_tpu
from oomlint.dryrun.queries.model_inputs import declared_input
from oomlint.dryrun.queries.once import once_per_trace
from oomlint.dryrun.queries.pipelines import BATCHING, SPLITTING, stage_name
from oomlint.dryrun.queries.tape_training import model_of, tape_trainings
from oomlint.dryrun.trace import Branch, Try, Within
from oomlint.dryrun.values.arrays import Array, Dim
from oomlint.dryrun.values.base import Const, Sequence, Step, Unknown, deref, extend, tags_of
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.program import Instance, Library
from oomlint.dryrun.values.training import Layer, Model, Optimizer, Tape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Assign, Call, Context, Trace
    from oomlint.dryrun.values.base import Value
    from oomlint.syntax.place import Place

FIT = ("keras.Model.fit", "keras.Model.fit_generator", "keras.Model.train_on_batch")
USE = ("keras.Model.predict", "keras.Model.evaluate", "keras.Model.predict_on_batch", "keras.Model.__call__")
WINDOWS = "timeseries_dataset_from_array"  # batches whatever the array is that it is given
DEFAULT_BATCH = 32  # keras/src/trainers/data_adapters/array_data_adapter.py


@dataclass(frozen=True, slots=True)
class Trained:
    """A model with what trains it. `slots` None: the optimizer is not known. `batch` is one replica's."""

    model: Model
    optimizer: Value | None
    slots: int | None
    place: Place | None
    frozen: frozenset[int]
    loss: Value | None = None
    batch: Const | None = None
    compiled: Call | None = None  # None: trained by a tape
    step: Place | None = None  # the call that goes through its batches, or takes the gradient
    passes: Const | None = None  # how often a step runs the model under its tape, where it is more than once


@once_per_trace
def trained_models(trace: Trace) -> list[Trained]:
    """Every model that is compiled for training, or whose gradients are taken, once for each way it is trained."""
    if on_a_tpu(trace):
        return []  # what fits there is another matter than what fits on a GPU
    compiled = list(_compiled(trace))
    # A `train_step` of the model's own is no second training.
    own = {id(trained.model) for trained in compiled if trained.batch is not None}
    found = [*compiled, *(trained for trained in _taped(trace) if id(trained.model) not in own)]
    return [trained for trained in found if not _elsewhere(trained)]


def _elsewhere(trained: Trained) -> bool:
    """Whether a model is on TPUs, or its variables are spread over parameter servers."""
    calls = () if trained.compiled is None else (trained.compiled,)
    strategy = replicas.of_model(trained.model, *calls)
    return strategy is not None and ("TPU" in strategy.type or "ParameterServer" in strategy.type)


@once_per_trace
def clearly_trained(trace: Trace) -> list[Trained]:
    """The same, where it is certain which of their layers are frozen: none if `trainable` was set on unknown ones."""
    return [] if any(map(_freezes_unknown, trace.assigns())) else trained_models(trace)


def _freezes_unknown(assign: Assign) -> bool:
    """`for layer in base.layers: layer.trainable = False` where those layers are not known one by one."""
    if not assign.path.endswith(".trainable") or assign.target is None:
        return False
    if isinstance(assign.value, Const) and assign.value.value is True:
        return False
    target = deref(assign.target)
    return isinstance(target, Unknown) or (isinstance(target, Layer) and target.made_by is None)


def _compiled(trace: Trace) -> Iterator[Trained]:
    fits: dict[int, list[Call]] = {}
    for call in trace.calls(*FIT):
        fits.setdefault(id(model_of(call.receiver)), []).append(call)
    used = {id(model_of(call.receiver)) for call in trace.calls(*USE)}
    for call in trace.calls("keras.Model.compile"):
        model = model_of(call.receiver)
        if model is None or (id(model) in used and id(model) not in fits):
            continue  # compiled for the sake of predict or evaluate
        argument = call.argument("optimizer")
        frozen = model.attributes.get("_frozen") or Sequence(items=frozen_layers(model))
        optimizer = None if argument is None else deref(argument.value)
        batches = [(_fitted(model, fit, call), fit.place) for fit in fits.get(id(model), ())]
        batch, step = _largest(batches)
        yield Trained(
            model,
            optimizer,
            slots_of(optimizer),
            call.place if argument is None else argument.place,
            frozenset(id(layer) for layer in tensors(frozen)),
            call.value("loss"),
            batch,
            call,
            step,
        )


def _taped(trace: Trace) -> Iterator[Trained]:
    for training in tape_trainings(trace):
        optimizer = training.applied.receiver if training.applied is not None else None
        slots = slots_of(optimizer) if isinstance(optimizer, Optimizer) else None
        made = optimizer.made_by if isinstance(optimizer, Optimizer) else None
        place = made.place if made is not None else training.gradient.place
        frozen = frozenset(id(layer) for layer in frozen_layers(training.model))
        gradient = training.gradient
        calls = list(_forward(trace, training.model, gradient))
        batch, step = _largest([(one, gradient.place) for _, one in calls])
        yield Trained(
            training.model,
            optimizer,
            slots,
            place,
            frozen,
            None,
            batch,
            None,
            step or gradient.place,
            _passes([call for call, one in calls if one == batch], gradient),
        )


def _passes(calls: list[Call], gradient: Call) -> Const | None:
    """How often the tape of a gradient has seen the model: a critic on what is real and on what is not, say."""
    tape = deref(gradient.receiver) if gradient.receiver is not None else None
    branches = set(gradient.context.all(Branch))
    seen = [
        call
        for call in calls
        if any(deref(frame.manager) is tape for frame in call.context.all(Within))
        and set(call.context.all(Branch)) <= branches
        and call.const("training") is not False
    ]
    return Const(len(seen), (Step("the tape sees the model", seen[-1].place),)) if len(seen) > 1 else None


def _largest(batches: list[tuple[Const | None, Place]]) -> tuple[Const | None, Place | None]:
    """The largest batch that is known, and the call that trains on it."""
    counted = [(batch, place) for batch, place in batches if batch is not None]
    if counted:
        return max(counted, key=lambda pair: pair[0].value)
    return None, batches[0][1] if batches else None


# --- batches ------------------------------------------------------------------------------------------


def _fitted(model: Model, call: Call, compiled: Call) -> Const | None:
    """How many samples a step of a training call takes, on one replica."""
    if tries_sizes(call.context):
        return None
    strategy = replicas.of_model(model, compiled, call)
    batch = _fed(call)
    if strategy is None or not replicas.replicates(strategy):
        return batch
    if strategy.replicas is None:
        return _share(call)
    if batch is None or not isinstance(strategy.replicas.value, int):
        return None
    return Const(-(-batch.value // max(1, strategy.replicas.value)), batch.trail, True)


def batch_of_replicas(call: Call) -> tuple[Const | None, bool]:
    """How many samples a step of `fit` takes where the number of replicas is not known; whether on all of them."""
    if tries_sizes(call.context):
        return None, False
    share = _share(call)
    return (_fed(call), True) if share is None else (share, False)


def tries_sizes(context: Context) -> bool:
    """Whether the script catches TensorFlow's own errors around a call: a batch that does not fit is foreseen."""
    types = (kind for frame in context.all(Try) for facts in frame.handlers for kind in facts.types)
    return any(
        isinstance(kind := deref(one), Library) and kind.name.startswith("tf.errors.") for one in types
    )


def _share(call: Call) -> Const | None:
    """What each of an unknown number of replicas gets: `64` of a batch of `64 * strategy.num_replicas_in_sync`."""
    data = call.value("x")
    return _share_of(_batched_by(data) if isinstance(data, Dataset) else call.value("batch_size"))


def _batched_by(data: Dataset) -> Value | None:
    made = next((stage for stage in reversed(data.stages) if stage_name(stage) in BATCHING), None)
    return None if made is None else made.value("batch_size")


def _share_of(size: Value | None) -> Const | None:
    share = size.attributes.get(PER_REPLICA) if isinstance(size, Unknown) else None
    return _count(share) if isinstance(share, Const) else None


def batch_by_hand(trace: Trace, model: Model) -> tuple[Const | None, bool]:
    """The same of a loop by hand, from the data that a strategy shares out, and from what the model is called on."""
    shared_out = [call for call in trace.calls_under("tf.distribute.") if isinstance(call.result, Dataset)]
    for call in shared_out:
        data = call.value("dataset")
        share = _share_of(_batched_by(data)) if isinstance(data, Dataset) else None
        if share is not None:
            return share, False
    whole = bool(shared_out) and not any(PER_REPLICA in tags_of(call.result) for call in shared_out)
    rows = [rows for _, rows in _calls(trace, model) if rows is not None]
    return (max(rows, key=lambda one: one.value), whole) if rows else (None, False)


def _fed(call: Call) -> Const | None:
    data = next((call.value(name) for name in ("x", "generator", "data") if call.argument(name)), None)
    yielded = yielded_by(data)
    if yielded is not None:
        data = yielded.items[0] if isinstance(yielded, Sequence) and yielded.items else yielded
    inputs = None if data is None else inputs_in(data)
    first = next((item for item in tensors(inputs) if isinstance(item, Array)), None)
    rows = first.shape[0] if first is not None and first.shape else None
    if (isinstance(data, Dataset) or yielded is not None) and not _batched(first, model_of(call.receiver)):
        return None
    if isinstance(data, Dataset):
        return None if data.distributed else _of_stage(_count(rows), data)
    if yielded is not None or call.name.endswith("train_on_batch"):
        return _count(rows)
    given = call.argument("batch_size")
    arrays = (
        first is not None or call.argument("y") is not None
    )  # neither a data set nor a generator takes a `y`
    if call.opaque_arguments or not (arrays or given is not None):
        return None
    value = Const(None) if given is None else deref(given.value)
    if not isinstance(value, Const):
        return None
    if value.value is None:
        value = Const(DEFAULT_BATCH, (Step(f"the default batch size of fit, {DEFAULT_BATCH}", call.place),))
    elif given is not None and not value.trail:
        value = Const(value.value, (Step("batch_size", given.place),), value.soft)
    size, most = _count(value), known(rows)
    return Const(most, value.trail) if size is not None and most is not None and most < size.value else size


def _batched(first: Array | None, model: Model | None) -> bool:
    """Whether what is fed can be a batch: a single picture's height is no number of samples.

    Keras refuses an input with an axis less than is declared, unless the last one of those is 1
    (keras/src/models/functional.py, `_adjust_input_rank`).
    """
    declared = None if model is None else declared_input(model)
    if first is None or first.shape is None or declared is None:
        return True
    return len(first.shape) >= len(declared) or known(declared[-1]) == 1


def yielded_by(data: Value | None) -> Value | None:
    """The batch that a generator yields, or the program's own `__getitem__` returns."""
    if isinstance(data, Sequence) and data.kind == "generator":
        return deref(data.any)
    if isinstance(data, Instance) and isinstance(data.facet, BatchSource) and data.facet.item is not None:
        return deref(data.facet.item.result) if data.facet.item.result is not None else None
    return None


def _of_stage(batch: Const | None, data: Dataset) -> Const | None:
    """The batch of a data set: from its element, else from the stage that made the batches; it knows that stage."""
    stage = None
    for call in reversed(data.stages):
        if stage_name(call) in SPLITTING or stage_name(call) == "from_generator":
            break
        if stage_name(call) in BATCHING or stage_name(call) in ("rebatch", WINDOWS):
            stage = call
            break
    if batch is None and stage is not None:
        size = stage.value("batch_size")
        if size is None and stage_name(stage) == WINDOWS:
            size = Const(128, (Step(f"the default batch size of {WINDOWS}, 128", stage.place),))
        batch = _count(size) if isinstance(size, Const) else None
    if batch is None or batch.trail:
        return batch
    stage = stage or (data.stages[0] if data.stages else None)
    step = () if stage is None else (Step(stage_name(stage), stage.place),)
    return Const(batch.value, step, batch.soft)


def _count(dim: Dim) -> Const | None:
    return dim if dim is not None and known(dim) is not None and dim.value > 0 else None


def _forward(trace: Trace, model: Model, gradient: Call) -> Iterator[tuple[Call, Const | None]]:
    """The calls of a model under a tape, with their batches."""
    strategy = replicas.of_model(model, gradient)
    if strategy is not None and replicas.replicates(strategy):
        return  # what a distributed data set hands to a replica is not worked out
    yield from _calls(trace, model)


def _calls(trace: Trace, model: Model) -> Iterator[tuple[Call, Const | None]]:
    for call in trace.calls("keras.Model.__call__"):
        if model_of(call.receiver) is model and _under_tape(call) and not tries_sizes(call.context):
            value = call.value("inputs") or (deref(call.arguments[0].value) if call.arguments else None)
            first = next((item for item in tensors(value) if isinstance(item, Array)), None)
            if first is not None and first.shape:
                batch = _count(first.shape[0])
                if batch is not None and not batch.trail and first.origin is not None:
                    batch = Const(batch.value, extend((), first.origin), batch.soft)
                yield call, batch


def _under_tape(call: Call) -> bool:
    return any(isinstance(deref(frame.manager), Tape) for frame in call.context.all(Within))


# --- layers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Use:
    """A layer as a model uses it: the shapes of its call, and how often each step runs it beyond the batch.

    `steps` are the dimensions that a `TimeDistributed` around it makes part of the batch.
    """

    layer: Layer
    place: Place
    steps: tuple[Dim, ...] = ()
    wrapper: Layer | None = None  # the outermost TimeDistributed
    wrapped: Place | None = None


def layers_in_use(model: Model) -> Iterator[Use]:
    """Every single layer of a model once, wrapped, nested and the program's own included."""
    seen: set[int] = set()
    stack: list[tuple[Value, Use | None]] = [(model, None)]
    while stack:
        value, around = stack.pop()
        value = deref(value)
        value = getattr(value, "facet", None) or value
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Model):
            inner = list(value.layers or [])
            for name in ("_head", "_either", "_parts"):
                inner += tensors(value.attributes.get(name))
            stack.extend((item, around) for item in reversed(inner))
        elif isinstance(value, Layer):
            place = value.made_by.place if value.made_by is not None else None
            use = None if place is None else Use(value, place)
            if use is not None and around is not None:
                use = replace(use, steps=around.steps, wrapper=around.wrapper, wrapped=around.wrapped)
            if use is not None:
                yield use
            inside = around
            if use is not None and value.type.endswith(".TimeDistributed"):
                shape = value.inputs[0] if value.inputs else None
                steps = (*use.steps, shape[1] if shape is not None and len(shape) > 1 else None)
                inside = replace(use, steps=steps, wrapper=use.wrapper or value, wrapped=use.wrapped or place)
            stack.extend((item, inside) for item in reversed(tensors(value.attributes.get("_parts"))))
            if value.inner is not None:
                stack.append((value.inner, inside))
