"""Models that are made anew for each pass of a loop, or for each request, and never trained there.

Harmless on current versions. Before Keras 2.4 the operations of every model went into one graph that lives as long as
the process: TensorFlow 1's default graph (keras/backend/tensorflow_backend.py of Keras 2.2.4 never makes another),
or the `keras_graph` of TensorFlow 2.0 to 2.3 (`get_graph` in tensorflow/python/keras/backend.py), in which
functional models were laid out until they got symbolic tensors of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oomlint.dryrun.queries.model_rounds import CLEARING, TRAINING, VERBS
from oomlint.dryrun.queries.requests import answering
from oomlint.dryrun.queries.rounds import guarded, loops_around, rounds_of, site_in
from oomlint.dryrun.queries.tape_training import model_of
from oomlint.dryrun.trace import Within
from oomlint.dryrun.values.base import Opaque, deref
from oomlint.dryrun.values.training import Model
from oomlint.syntax.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oomlint.dryrun.trace import Call, Context, Trace

ASKING = (
    "keras.Model.predict", "keras.Model.predict_on_batch", "keras.Model.predict_generator",
    "keras.Model.predict_classes", "keras.Model.predict_proba", "keras.Model.evaluate",
    "keras.Model.evaluate_generator", "keras.Model.test_on_batch",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """A model that is made at `place`; `around` is the loop or the function that answers requests."""

    place: Place
    verb: str
    around: Place
    asked: Place
    passes: int | None
    by_request: bool


def asked_models(trace: Trace) -> Iterator[Asked]:
    """Each place once. Silent where the session is cleared or the graph is another for each pass."""
    trained = {id(model_of(call.receiver)) for call in trace.calls(*TRAINING)}
    seen: set[int] = set()
    for call in trace.calls(*ASKING):
        model = model_of(call.receiver)
        if model is None or model.context is None or id(model) in trained:
            continue
        for found in _of(trace, call, model, model.context):
            if id(found.place.node) not in seen:
                seen.add(id(found.place.node))
                yield found


def _of(trace: Trace, call: Call, model: Model, context: Context) -> Iterator[Asked]:
    made = None if model.made_by is None else model.made_by.place
    if made is None or _own_graph(context):
        return
    verb = VERBS.get(model.kind, "built")
    created = loops_around(context)
    shared = [loop for loop in loops_around(call.context) if loop in created]
    if shared:
        cleared = any(shared[0] in loops_around(one.context) for one in trace.calls(*CLEARING))
        if not cleared and not guarded(context, shared[0], made.node):
            place = site_in(context, shared[0]) or made
            yield Asked(place, verb, shared[0].place, call.place, rounds_of(shared), False)
        return
    function = answering(context)
    if function is None or function is not answering(call.context):
        return
    cleared = any(answering(one.context) is function for one in trace.calls(*CLEARING))
    if not cleared and not guarded(context, None, made.node):
        yield Asked(made, verb, Place(function.source, function.node), call.place, None, True)


def _own_graph(context: Context) -> bool:
    """Whether it is made inside `with tf.Graph().as_default()`: that graph goes when nothing holds it."""
    managers = (deref(frame.manager) for frame in context.all(Within))
    return any(isinstance(manager, Opaque) and "Graph" in manager.type for manager in managers)
