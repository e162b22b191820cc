"""Stand-ins for tf.distribute's strategies: the model is made as it is on one of the replicas, without devices."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

from oomlint.estimate.request import Request

_NAMES = (
    "MirroredStrategy", "MultiWorkerMirroredStrategy", "TPUStrategy", "CentralStorageStrategy",
    "ParameterServerStrategy", "OneDeviceStrategy",
)  # fmt: skip


class _OneOfThem:
    """What scripts ask of a strategy, answered as by one replica of `count`; the rest as without a strategy."""

    count = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.extended = self

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas were asked about."""
        return 1 if type(self).__name__ == "OneDeviceStrategy" else self.count

    def scope(self) -> AbstractContextManager[Any]:
        """Nothing is placed."""
        return nullcontext(self)

    def run(self, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """The one replica's run."""
        return fn(*args, **(kwargs or {}))

    experimental_run_v2 = run

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """The data set itself."""
        return dataset

    def __getattr__(self, name: str) -> Any:
        import tensorflow as tf

        return getattr(tf.distribute.get_strategy(), name)


@contextmanager
def standing_in(request: Request) -> Iterator[None]:
    """Inside, `tf.distribute.MirroredStrategy(...)` and its like are stand-ins."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:  # Keras on JAX or PyTorch alone
        yield
        return
    distribute = tensorflow.distribute
    with ExitStack() as stack:
        for module in (distribute, distribute.experimental):
            for name in _NAMES:
                if hasattr(module, name):
                    stand_in = type(name, (_OneOfThem,), {"count": max(1, request.replicas)})
                    stack.enter_context(patch.object(module, name, stand_in))
        resolvers = distribute.cluster_resolver
        stack.enter_context(patch.object(resolvers, "TPUClusterResolver", _no_tpu))
        yield


def _no_tpu(*args: Any, **kwargs: Any) -> Any:
    """What asks for a TPU, by a name in the network perhaps, gets the answer of a machine that has none."""
    raise ValueError("Please provide a TPU Name to connect to.")


def distributed(request: Request) -> str:
    """The strategy whose scope the step is compiled in, or nothing."""
    name = request.names.get("strategy", "")
    return "" if request.names.get("strategy:if-several") and request.replicas < 2 else name


def share(batch: int, request: Request) -> int:
    """One replica's part of a batch that the script names."""
    return -(-batch // max(1, request.replicas)) if request.names.get("strategy:whole") else batch


def words(request: Request, batch: int) -> Iterator[str]:
    """What the answer assumes about replicas."""
    name = request.names.get("strategy")
    if not name:
        return
    if name == "TPUStrategy":
        yield f"the script trains on a TPU, whose cores share the batch: estimated is one GPU with all {batch} samples"
        return
    count = request.names.get("strategy:count")
    whole = request.names.get("strategy:whole") and request.batch_size is None
    if request.replicas > 1:
        said = "" if count == str(request.replicas) else " (--replicas)"
        yield f"{name} with {request.replicas} replicas{said}: each holds the whole model and gets {batch} samples"
        yield "the buffers through which replicas add up their gradients are not included"
    elif request.names.get("strategy:if-several"):
        yield f"the script takes {name} where there are several GPUs: estimated for one, give another with --replicas"
    elif not count:
        of_all = f", which gets the whole batch of {batch}" if whole else ""
        yield f"{name} takes every GPU that it finds: estimated for one{of_all}; give their number with --replicas"
