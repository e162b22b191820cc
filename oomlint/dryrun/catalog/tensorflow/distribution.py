"""tf.distribute: strategies, their scopes, what they run on every replica, and how they share out datasets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oomlint.dryrun import operators
from oomlint.dryrun.catalog.ducks import as_dataset
from oomlint.dryrun.catalog.registry import attribute, duck, function, method, operator
from oomlint.dryrun.trace import Argument, Body, Role
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import (
    Const,
    Mapping,
    Opaque,
    Pending,
    Sequence,
    Step,
    Unknown,
    Value,
    deref,
    extend,
    tags_of,
)
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.devices import ReplicaCount
from oomlint.dryrun.values.training import Model, Strategy, StrategyScope

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

DISTRIBUTED = "distributed"  # tag of what a strategy has shared out between its replicas
PER_REPLICA = "per-replica"  # tag of a batch size, or dataset, of one replica
TIMES_REPLICAS = "times-replicas"  # tag of a number multiplied by the number of replicas
ONE_REPLICA = ("tf.distribute.OneDeviceStrategy", "tf.distribute.get_strategy")


# --- strategies ---------------------------------------------------------------------------------------


@function("tf.distribute.MirroredStrategy", parameters="devices cross_device_ops")
def mirrored(call: Call, run: Run) -> Value:
    """A replica on each of the devices, on every GPU without an argument."""
    devices = call.value("devices")
    count = devices.length if isinstance(devices, Sequence) else None
    return Strategy(call.name, call, count)


@function(
    "tf.distribute.MultiWorkerMirroredStrategy",
    "tf.distribute.TPUStrategy",
    "tf.distribute.CentralStorageStrategy",
    "tf.distribute.ParameterServerStrategy",
)
def several(call: Call, run: Run) -> Value:
    """As many replicas as the cluster has."""
    return Strategy(call.name, call)


@function("keras.utils.multi_gpu_model", parameters="model gpus cpu_merge cpu_relocation")
def in_parallel(call: Call, run: Run) -> Value:
    """A model that splits its batches over the GPUs: what each of them holds is not that of the model given."""
    return Model()


@function("tf.distribute.OneDeviceStrategy", parameters="device")
def one_device(call: Call, run: Run) -> Value:
    """One replica."""
    return Strategy(call.name, call, Const(1))


@function("tf.distribute.get_strategy")
def current_strategy(call: Call, run: Run) -> Value:
    """The strategy around; in a function that may be called from anywhere, one that is not known."""
    scope = run.context.manager(StrategyScope)
    if isinstance(scope, StrategyScope):
        return scope.strategy
    role = run.context.role("strategy.run")
    if role is not None and isinstance(role.value, Strategy):
        return role.value
    if run.context.innermost(Body) is not None:
        return Strategy()
    return Strategy(call.name, call, Const(1))


@function("tf.distribute.get_replica_context")
def replica_context(call: Call, run: Run) -> Value:
    """What a replica knows of the others."""
    return Opaque(call.name, call, {"num_replicas_in_sync": ReplicaCount(place=call.place)})


@method(Strategy, "scope")
def scope(call: Call, run: Run) -> Value:
    """`with strategy.scope():`."""
    assert isinstance(call.receiver, Strategy)
    return StrategyScope(call.receiver)


@duck
def strategy_by_method(pending: Pending, run: Run) -> Value | None:
    """`x.experimental_run_v2(step)`: only strategies ever had such a method."""
    return (
        Strategy() if pending.method in ("experimental_run_v2", "experimental_make_numpy_dataset") else None
    )


@attribute(Strategy, "num_replicas_in_sync")
def replicas(value: Value, run: Run) -> Value:
    """The number of replicas."""
    assert isinstance(value, Strategy)
    if value.type in ONE_REPLICA:
        return Const(1)
    return ReplicaCount(value.replicas, value.made_by.place if value.made_by is not None else None)


@operator(ReplicaCount)
def with_replicas(call: Call, run: Run) -> Value:
    """Arithmetic with the number of replicas: the result says whether it was multiplied or divided by it."""
    name = call.name.removeprefix("operator.")
    left, right = (deref(argument.value) for argument in call.arguments)
    divided = name in ("truediv", "floordiv") and isinstance(right, ReplicaCount)
    done = PER_REPLICA if divided else TIMES_REPLICAS if name == "mul" else ""
    step = Step("divided by num_replicas_in_sync" if divided else "times num_replicas_in_sync", call.place)
    plain = [side.known if isinstance(side, ReplicaCount) else side for side in (left, right)]
    if all(isinstance(side, Const) for side in plain):
        one, two = plain
        folded = operators.binary(run, name, one or Unknown(), two or Unknown(), call.node, (None, None))
        if isinstance(folded, Const):
            return Const(folded.value, extend(folded.trail, step) if done else folded.trail, folded.soft)
    tags = tags_of(left) | tags_of(right) | ({done} if done else frozenset())
    result = Unknown(type="float" if name == "truediv" else "int", tags=tags)
    share = next((side for side in (left, right) if isinstance(side, Const)), None)
    if done == TIMES_REPLICAS and share is not None:
        result.attributes[PER_REPLICA] = share  # what each replica gets is known
    return result


# --- what runs on every replica -----------------------------------------------------------------------


@method(Strategy, "run", "experimental_run_v2", parameters="fn args kwargs options")
def run_on_replicas(call: Call, run: Run) -> Value:
    """`strategy.run(step, args=(x, y))`: the step runs once for every replica, on its share."""
    target, given, named = call.value("fn"), call.value("args"), call.value("kwargs")
    if target is None:
        return Unknown()
    arguments: list[Argument] = []
    if isinstance(given, Sequence) and given.items is not None:
        arguments = [Argument(item, call.place) for item in given.items]
    elif given is not None:
        arguments = [Argument(given, call.place, star="*")]
    if isinstance(named, Mapping):
        arguments += [Argument(item, call.place, str(key)) for key, item in named.entries.items()]
    before = run.context
    run.context = before.inside(Role(call.place, "strategy.run", call.receiver))
    try:
        return run.apply(target, tuple(arguments), call.place)
    finally:
        run.context = before


@method(Strategy, "reduce", parameters="reduce_op value axis")
def reduce(call: Call, run: Run) -> Value:
    """One tensor of the replicas' values."""
    return Array("tensor", (), "float32", Step(call.name, call.place))


@method(Strategy, "experimental_local_results", "gather", "experimental_distribute_values_from_function")
def results(call: Call, run: Run) -> Value:
    """Values of replicas."""
    return Unknown(tags=frozenset({DISTRIBUTED}))


@function("tf.nn.compute_average_loss", parameters="per_example_loss sample_weight global_batch_size")
@function("tf.nn.scale_regularization_loss", parameters="regularization_loss")
def scaled_loss(call: Call, run: Run) -> Value:
    """A scalar, divided so that the sum over the replicas is right."""
    return Array("tensor", (), "float32", Step(call.name, call.place))


# --- datasets -----------------------------------------------------------------------------------------


@method(Strategy, "experimental_distribute_dataset", parameters="dataset options")
def distribute_dataset(call: Call, run: Run) -> Value:
    """Each batch of the dataset is shared out between the replicas."""
    dataset = as_dataset(call.value("dataset") or Unknown(), run)
    if isinstance(dataset, Unknown):
        dataset = run.infer(dataset, Dataset())
    return distributed(dataset if isinstance(dataset, Dataset) else Dataset())


@method(
    Strategy,
    "distribute_datasets_from_function",
    "experimental_distribute_datasets_from_function",
    parameters="dataset_fn options",
)
def distribute_from_function(call: Call, run: Run) -> Value:
    """The function makes the dataset whose batches are those of one replica."""
    number = replicas(call.receiver, run) if isinstance(call.receiver, Strategy) else Unknown()
    kept: dict[str, Any] = {
        name: Unknown(type="int") for name in ("num_input_pipelines", "input_pipeline_id")
    }
    context = Opaque("tf.distribute.InputContext", call, {**kept, "num_replicas_in_sync": number})
    target = call.value("dataset_fn")
    made = (
        deref(run.call(target, [context], call, "tf.distribute.dataset_fn"))
        if target is not None
        else Unknown()
    )
    dataset = distributed(made if isinstance(made, Dataset) else Dataset())
    return replace(dataset, tags=dataset.tags | {PER_REPLICA})


@method(Opaque, "get_per_replica_batch_size", parameters="global_batch_size")
def per_replica_batch(call: Call, run: Run) -> Value:
    """`context.get_per_replica_batch_size(global_batch)`."""
    return Unknown(type="int", tags=frozenset({PER_REPLICA}))


def distributed(dataset: Dataset) -> Dataset:
    """The dataset shared out: its elements are the replicas' parts of a batch."""
    element = marked(dataset.element if dataset.element is not None else Unknown())
    return replace(dataset, element=element, distributed=True, tags=dataset.tags | {DISTRIBUTED})


def marked(value: Value) -> Value:
    """A nested element whose parts say that they are shares of a batch."""
    value = deref(value)
    match value:
        case Array():
            return replace(value, tags=value.tags | {DISTRIBUTED})
        case Sequence(items=list(items)):
            return Sequence(value.kind, [marked(item) for item in items], tags=value.tags | {DISTRIBUTED})
        case Mapping():
            entries = {key: marked(item) for key, item in value.entries.items()}
            return Mapping(entries, value.complete, value.other)
    return Unknown(tags=tags_of(value) | {DISTRIBUTED})
