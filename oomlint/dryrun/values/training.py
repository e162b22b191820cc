"""What trains: layers, models, optimizers, strategies, tapes and gradients."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.values.arrays import Shape
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.program import Function, Instance
from oomlint.syntax.records import plain_record, record

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Call, Context

WAYS = 16  # of one variable that a layer may come on


@dataclass(slots=True, eq=False)
class Layer(Value):
    """A Keras layer. `type` is its canonical class (`keras.layers.Dense`); `config` the constructor's arguments.

    `inputs`/`output` are the shapes of its last call, batch first. `weights` maps a weight's name to its shape.
    """

    api: ClassVar[str] = "keras.Layer"
    type: str = "keras.Layer"
    made_by: Call | None = None
    config: dict[str, Value] = field(default_factory=dict)
    inputs: tuple[Shape | None, ...] = ()
    output: Shape | None = None
    weights: dict[str, Shape] | None = None
    attributes: dict[str, Value] = field(default_factory=dict)
    inner: Value | None = None  # the layer or model that a wrapper wraps, or the program's own instance

    def joined(self, other: Layer) -> Layer:
        """Either of two layers: `_either` holds them, and calling it calls both."""
        if self.made_by is other.made_by and self.made_by is not None:
            return self
        either = _each_once([*self.ways(), *other.ways()])
        return Layer(
            self.type if self.type == other.type else "keras.Layer",
            attributes={"_either": Sequence("list", items=either)},
        )

    def ways(self) -> list[Value]:
        """The layers that this one may be."""
        either = self.attributes.get("_either")
        return list(either.items or ()) if isinstance(either, Sequence) else [self]

    def prevail(self, other: Value) -> Value:
        """Either a layer or something else that is called, such as a function that gives back its argument."""
        if isinstance(other, Const):
            return self
        if not isinstance(other, Function | Instance):
            return Unknown(tags=tags_of(other))
        return Layer(attributes={"_either": Sequence("list", items=_each_once([*self.ways(), other]))})


def _each_once(ways: list[Value]) -> list[Value]:
    """Every way once, and not more than can be told apart: ways that meet in each round of a loop would double."""
    return list({id(way): way for way in ways}.values())[:WAYS]


@dataclass(slots=True, eq=False)
class Model(Value):
    """A Keras model: Sequential, functional, subclassed, from keras.applications or loaded.

    Changed in place, as Keras does (`add`, `compile`). `kind` says which; `layers` in order of making, None
    where they are not known; shapes are batch first.
    """

    api: ClassVar[str] = "keras.Model"
    kind: str = "unknown"
    made_by: Call | None = None
    layers: list[Value] | None = None
    input_shape: Shape | None = None
    output_shape: Shape | None = None
    inputs: Value | None = None
    outputs: Value | None = None
    parameters: Const | None = None
    compiled: Call | None = None
    compiles: list[Call] = field(default_factory=list)
    instance: Value | None = None  # the object of the program's own subclass
    attributes: dict[str, Value] = field(default_factory=dict)
    context: Context | None = None  # where it was made

    def joined(self, other: Model) -> Model:
        """Either of two models: only what they agree on."""
        if self.made_by is other.made_by:
            return self
        return Model(
            kind=self.kind if self.kind == other.kind else "unknown",
            made_by=self.made_by or other.made_by,
            input_shape=self.input_shape if self.input_shape == other.input_shape else None,
            output_shape=self.output_shape if self.output_shape == other.output_shape else None,
            compiled=self.compiled or other.compiled,
            compiles=self.compiles or other.compiles,
            attributes={"_either": Sequence("list", items=[self, other])},
            context=self.context or other.context,
        )


@record
class Optimizer(Value):
    """A Keras or TF1 optimizer; `type` is its canonical class name (`keras.optimizers.Adam`)."""

    api: ClassVar[str] = "keras.Optimizer"
    type: str = "keras.Optimizer"
    made_by: Call | None = None
    config: dict[str, Value] = field(default_factory=dict)
    inner: Value | None = None  # of a LossScaleOptimizer


@record
class Strategy(Value):
    """A tf.distribute strategy (`tf.distribute.MirroredStrategy`); `replicas` where it is known.

    `alternative`: the script takes it on some of its ways only, and on the others one without replicas.
    """

    api: ClassVar[str] = "tf.distribute.Strategy"
    type: str = "tf.distribute.Strategy"
    made_by: Call | None = None
    replicas: Const | None = None
    alternative: bool = False

    @property
    def single(self) -> bool:
        """Whether it is known to have one replica."""
        return self.replicas is not None and self.replicas.value == 1

    def joined(self, other: Strategy) -> Strategy:
        """Either of two: the one with replicas, which has what goes wrong; not a TPU's, if there is another."""
        if self.single and other.single:
            return self
        unknown = "tf.distribute.Strategy"
        if self.single or other.single or unknown in (self.type, other.type):
            kept = other if self.single or (self.type == unknown and not other.single) else self
            return replace(kept, alternative=True)
        first, second = (other, self) if "TPU" in self.type else (self, other)
        known = first.replicas if first.replicas == second.replicas else None
        return replace(first, replicas=known, alternative=self.alternative or other.alternative)


@record
class StrategyScope(Value):
    """What `strategy.scope()` gives: a context manager."""

    strategy: Strategy = field(default_factory=Strategy)

    def prevail(self, other: Value) -> Value:
        """`strategy.scope() if several else nullcontext()`: the scope, on one of two ways."""
        return StrategyScope(replace(self.strategy, alternative=True))


# The type of `tape.stop_recording()`.
STOPPED = "tf.GradientTape.stop_recording"


@dataclass(slots=True, eq=False)
class Tape(Value):
    """A GradientTape; `gradients` are the calls of `gradient` on it, in order."""

    api: ClassVar[str] = "tf.GradientTape"
    made_by: Call | None = None
    persistent: Value = field(default_factory=lambda: Const(False))
    gradients: list[Call] = field(default_factory=list)
    context: Context | None = None


@plain_record
class Division:
    """A division that gradients, or the loss they come from, went through: by what, and the call or operator."""

    by: Value
    call: Call
    of_loss: bool = False


@record
class Gradients(Value):
    """Gradients, one or a list of them, and what has been done to them since the tape.

    `loss` says how their loss was computed. `summed` once they were added to something kept from an earlier
    step; `mixed` once anything else came in (other gradients, an unknown addend, their own norm).
    """

    api: ClassVar[str] = "gradients"
    tape: Tape | None = None
    made_by: Call | None = None
    loss: Loss | None = None
    divisions: tuple[Division, ...] = ()
    factors: tuple[Value, ...] = ()
    summed: bool = False
    mixed: bool = False
    sums: tuple[str, ...] = ()  # names that hold the running sum
    tags: frozenset[str] = frozenset()

    def prevail(self, other: Value) -> Value:
        """What gradients are after they meet another kind: an accumulator's zeros, or a list of gradients."""
        if isinstance(other, Sequence) and isinstance(element := deref(other.any), Gradients):
            return self.joined(element)
        return self

    def joined(self, other: Gradients) -> Gradients:
        """Either of two: summed if one of them is, divided only where both are."""
        return Gradients(
            tape=self.tape or other.tape,
            made_by=self.made_by or other.made_by,
            loss=self.loss or other.loss,
            divisions=tuple(item for item in self.divisions if item in other.divisions),
            factors=self.factors + other.factors,
            summed=self.summed or other.summed,
            mixed=self.mixed or other.mixed,
            sums=self.sums or other.sums,
            tags=self.tags | other.tags,
        )


@plain_record
class Loss:
    """How the target of a tape's gradient was computed, read backwards from it.

    `reduction` is mean, sum, or empty where it is not known. `terms` counts the losses added up (None: as many
    as a loop had rounds, or unknown). `divisions` and `factors` are in the order met.
    """

    divisions: tuple[Division, ...] = ()
    factors: tuple[Value, ...] = ()
    reduction: str = ""
    terms: int | None = 1
