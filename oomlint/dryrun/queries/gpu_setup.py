"""What a script does to the GPUs before and while it trains: questions that the device rules ask of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.catalog.tensorflow.config import NONE_THERE, SOME
from oomlint.dryrun.queries.environment import environment
from oomlint.dryrun.trace import Body, Branch, Call, Context, HandlerFacts, Try, Within
from oomlint.dryrun.values.base import Const, Opaque, Unknown, deref, tags_of
from oomlint.dryrun.values.devices import DeviceCount, DeviceList
from oomlint.dryrun.values.program import Function, Library, Method

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Trace
    from oomlint.syntax.place import Place
    from oomlint.syntax.source import Source

GROWTH = "tf.config.set_memory_growth"
LIMIT = "tf.config.set_logical_device_configuration"
VISIBLE = "tf.config.set_visible_devices"

RUNTIME_ERRORS = frozenset(["builtins.RuntimeError", "builtins.Exception", "builtins.BaseException"])
VALUE_ERRORS = frozenset(["builtins.ValueError", "builtins.Exception", "builtins.BaseException"])

_VERBS = ("set", "config", "init", "limit", "allow", "select", "hide", "disable", "pick", "assign", "choose",
          "virtual")  # fmt: skip
_PARTS = ("memory", "limit", "growth", "fraction")


def uncalled(context: Context) -> Body | None:
    """The outermost function around an event that nobody calls; None for what runs with the script."""
    found = None
    for body in context.all(Body):
        if not body.called:
            found = body
    return found


def handed_over(trace: Trace) -> set[int]:
    """Functions (by id) that the script hands to somebody who calls them (`app.run(main)`, `Process(target=train)`)."""
    found: set[int] = set()
    for call in trace.all_calls():
        if uncalled(call.context) is None and not isinstance(call.node, cst.Decorator):
            for argument in call.arguments:
                value = deref(argument.value)
                inner = value.function if isinstance(value, Method) else value
                if isinstance(inner, Function):
                    found.add(id(inner))
    return found


def seen_from(source: Source, call: Call) -> Place | None:
    """Where a call happens as seen from a document: the call itself, or what in the document leads to it."""
    if call.source is source:
        return call.place
    sites = (body.site for body in call.context.all(Body))
    return next((site for site in sites if site is not None and site.source is source), None)


def always_before(trace: Trace, earlier: Call, later: Call) -> bool:
    """Whether one call has run whenever the other does: earlier, and under no test that the other is not under.

    That there is a GPU is no condition here: without one there is nothing to set up.
    """
    return _tests_between(trace, earlier, later) == []


def first_before(trace: Trace, candidates: list[Call], later: Call) -> Call | None:
    """The first of these calls if, whichever way the script goes, one of them has run by the later one.

    A strategy for one device on one side of a test and one for several on the other: devices are made either way.
    """
    tests = [(call, _tests_between(trace, call, later)) for call in sorted(candidates, key=trace.position)]
    known = [(call, between) for call, between in tests if between is not None]
    first = next((call for call, between in known if not between), None)
    if first is not None:
        return first
    return known[0][0] if _covered([between for _, between in known]) else None


def _covered(ways: list[list[Branch]]) -> bool:
    """Whether one of these ways, each a list of sides of tests from the outermost on, is always taken."""
    if any(not way for way in ways):
        return True
    for test in {id(way[0].test_node): way[0].test_node for way in ways}.values():
        sides = [
            [way for way in ways if way[0].test_node is test and way[0].taken is side]
            for side in (True, False)
        ]
        if test is not None and all(ones and _covered([way[1:] for way in ones]) for ones in sides):
            return True
    return False


def _tests_between(trace: Trace, earlier: Call, later: Call) -> list[Branch] | None:
    """The sides of tests that the earlier call is on and the later one is not; None if they have no such order."""
    if trace.position(earlier) >= trace.position(later):
        return None
    around = {id(frame) for frame in later.context.frames()}
    child = earlier.context.role("child-process")
    if child is not None and id(child) not in around:
        return None  # what a child process makes is its own
    one, two = uncalled(earlier.context), uncalled(later.context)
    if one is not None and one is not two:
        return None
    between = [
        branch for branch in earlier.context.all(Branch) if id(branch) not in around and not _there(branch)
    ]
    return between[::-1]


def _there(branch: Branch) -> bool:
    """Whether this side of a test is where there is a GPU (`if gpus:`, `if len(gpus) > 0:`)."""
    test = deref(branch.test)
    if branch.taken:
        return isinstance(test, DeviceList | DeviceCount) or SOME in tags_of(test)
    return f"not-{NONE_THERE}" in tags_of(test)


def hidden(trace: Trace) -> bool:
    """Whether the GPU is hidden from TensorFlow, or from the whole script."""
    for _, value in environment(trace, "CUDA_VISIBLE_DEVICES"):
        if isinstance(value, Const) and str(value.value).strip() in ("", "-1", "None"):
            return True
    for hiding in trace.calls(VISIBLE):
        chosen = hiding.value("devices")
        empty = getattr(chosen, "items", None) == [] or (isinstance(chosen, Const) and chosen.value is None)
        if isinstance(chosen, DeviceList) and chosen.kind == "CPU" and hiding.argument("device_type") is None:
            return True
        if empty and hiding.const("device_type", "GPU") in ("GPU", None):
            return True
    return False


def on_the_cpu(trace: Trace, call: Call) -> bool:
    """Whether the GPU is hidden from the script, or the call placed on the CPU."""
    if hidden(trace):
        return True
    for frame in call.context.all(Within):
        manager = deref(frame.manager)
        if isinstance(manager, Opaque) and manager.type == "tf.device" and manager.made_by is not None:
            device = manager.made_by.const("device_name")
            if isinstance(device, str) and "cpu" in device.lower():
                return True
    return False


def sets_up(call: Call) -> bool:
    """A call of something out of sight whose name says that it sets the GPU up (`utils.setup_gpus()`)."""
    if not isinstance(call.result, Unknown) or call.name.startswith(("tf.", "keras.", "torch.", "jax.")):
        return False
    words = ((call.path if call.name == "unresolved" else None) or call.name).rpartition(".")[2].lower()
    if "growth" in words:
        return True
    if "gpu" not in words and "device" not in words:
        return False
    # `VirtualGPU(gpu_memory_limit=512)`: a part of the card, whoever makes it.
    given = " ".join(argument.name or "" for argument in call.arguments)
    return any(verb in words for verb in _VERBS) or any(word in given for word in _PARTS)


def out_of_sight(trace: Trace) -> bool:
    """Whether the script calls something that sets the GPU up by its name, also on what nobody knows."""
    return any(sets_up(call) for call in (*trace.all_calls(), *trace.loose))


def swallowed(call: Call, errors: frozenset[str] = RUNTIME_ERRORS) -> bool:
    """Whether an error that the call raises (a RuntimeError) is caught around it and does not end the run."""
    handlers = [handler for attempt in call.context.all(Try) for handler in attempt.handlers]
    return any(not handler.raises and _catches(handler, errors) for handler in handlers)


def _catches(handler: HandlerFacts, errors: frozenset[str]) -> bool:
    types = [deref(caught) for caught in handler.types]
    names = {caught.name for caught in types if isinstance(caught, Library)}
    known = all(isinstance(caught, Library) for caught in types)
    return handler.bare or not known or bool(names & errors)


def on_a_tpu(trace: Trace) -> bool:
    """Whether the script is for TPUs, by whatever path it calls them (and not for GPUs where there is no TPU)."""
    connects = {"TPUStrategy", "TPUClusterResolver", "initialize_tpu_system", "keras_to_tpu_model"}
    if trace.calls("tf.distribute.MirroredStrategy"):
        return False
    for call in trace.calls("keras.distribution.list_devices"):
        if call.const("device_type") == "tpu":
            return True
    return any(connects & set(call.name.split(".")) for call in trace.calls_under("tf."))
