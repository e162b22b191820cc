"""The dry run: an abstract interpreter over the LibCST tree.

It takes the script's statements once, in the order in which they would run, on abstract values, and leaves a
:class:`~oomlint.dryrun.trace.Trace`. It imports and executes nothing. How far it goes is bounded by
`FUEL`: the work is linear in the size of the script, whatever its shape.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun import calls, classes, definitions, expressions, loops, objects, statements
from oomlint.dryrun.calls import Activation
from oomlint.dryrun.catalog.registry import Catalog, Iteration, load
from oomlint.dryrun.flow import Flow, count
from oomlint.dryrun.modules import ModuleResolver, module_name
from oomlint.dryrun.state import Scope, State
from oomlint.dryrun.trace import Argument, Body, Call, Context, Role, Trace
from oomlint.dryrun.values.base import NONE, Const, Pending, Unknown, Value, deref, parts_of
from oomlint.dryrun.values.program import Class, Function, Instance, Method, ProjectModule
from oomlint.syntax.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from oomlint.syntax.source import Source

# Statements and calls that may be taken, per statement of the text, plus a floor for short scripts that call
# their helpers often (a 50-layer network built by two small functions needs about 3,000).
FUEL_PER_STATEMENT = 20
FUEL_FLOOR = 20_000
# Instead of the floor, for each function that nobody calls: one that explodes costs itself only.
FUEL_OF_UNCALLED = 2_000
# Steps in other modules, from functions that nobody calls: what they call there gets arguments of which little is
# known, and is looked at when its own module is checked. A library's modules reach into a hundred others that way.
# Twice as many are a seventh of all steps over keras-hub and tf-models, and found one thing more in the two; among
# 1,620 findings in public repositories, none. With half as many four of these are lost.
ABROAD_PER_STATEMENT = 1
ABROAD_FLOOR = 400
MAX_DEPTH = 24  # calls of the program's functions inside one another
MAX_RECURSION = 2  # entries of one function while it is running
MAX_COUNTED = 8  # and of one that is given a number each time: a U-Net that builds itself is five levels deep
MAX_COUNTED_IN_ALL = 32  # then, within one call: a search that halves its range would be entered 2**8 times


class Run:
    """The interpreter's state, and the services that the catalog uses."""

    def __init__(self, source: Source, resolver: ModuleResolver | None) -> None:
        self.catalog: Catalog = load()
        self.source = source
        self.resolver = resolver
        self.trace = Trace(source)
        # The abstract value of an expression. A third of all calls are this one, and `partial` adds none to them.
        self.evaluate: Callable[[cst.CSTNode], Value] = partial(expressions.evaluate, self)
        self.state = State()
        self.scope = Scope("module")
        self.context = Context()
        self.statement: Place | None = None
        self.targets: tuple[cst.CSTNode | None, tuple[str, ...]] = (None, ())
        self.called: cst.CSTNode | None = None  # the `f` of the `f(...)` being evaluated
        self.activations: list[Activation] = [Activation(None)]
        self.functions: list[Function] = []  # in order of definition, entered or not
        self.classes: list[Class] = []
        self.modules: dict[int, ProjectModule] = {}
        self.imported: list[range] = []  # numbers of the events of modules' top levels
        self.rounds = 1  # of unrolled loops around what is being run
        self.fuel = FUEL_FLOOR
        # Steps left in other modules, while functions are entered that nobody calls; and, while in another module, the
        # number of steps at which they are spent.
        self.abroad: int | None = None
        self.turn_back: int | None = None

    # --- services for the catalog -------------------------------------------------------------

    def place(self, node: cst.CSTNode) -> Place:
        """The place of a node of the document that is being run."""
        return Place(self.source, node)

    def place_in(self, function: Function, node: cst.CSTNode) -> Place:
        """The place of a node of the document that defines a function."""
        return Place(function.source, node)

    def call(self, function: Value, values: list[Value], site: Call, role: str | None = None) -> Value:
        """Call a function of the program (or of a library) with these values, as a library does with a callback.

        `role` names what runs it (`tf.data.map`, `tf.function`, `callback`) for rules that ask the context.
        """
        arguments = tuple(Argument(value, site.place) for value in values)
        before = self.context
        if role is not None:
            self.context = before.inside(Role(site.place, role))
        try:
            return calls.apply(self, function, arguments, site.place)
        finally:
            self.context = before

    def iterate(self, value: Value) -> Iteration:
        """The items of a value, or one that stands for all of them, and how many there are."""
        return loops.iterate(self, value)

    def attribute(self, value: Value, name: str, place: Place) -> Value:
        """`value.name`."""
        return objects.get_attribute(self, value, name, place.node)

    def set_attribute(self, value: Value, name: str, new: Value) -> None:
        """`value.name = new`."""
        objects.set_attribute(self, value, name, new)

    def infer(self, value: Value, role: Value) -> Value:
        """An unknown turns out to be `role`: the calls made on it are replayed as calls of that type."""
        value = deref(value)
        if not isinstance(value, Unknown) or value is role:
            return value
        value.role = role
        pending, value.pending = value.pending, []
        for item in pending:
            calls.replay(self, item, role)
        return role

    def infer_receiver(self, value: Value, role: Value) -> Value:
        """An unknown result of method calls turns out to be of `role`'s kind because the first receiver is.

        For `fit(train.batch(32))`: `train` is taken to be a Dataset, and `batch` is replayed on it.
        """
        value = deref(value)
        if isinstance(value, Unknown):
            root, seen = value, 0
            while root.made_by is not None and root.role is None and seen < 64:
                root, seen = root.made_by.receiver, seen + 1
            self.infer(root, role)
        return deref(value)

    def record(self, call: Call) -> Call:
        """Put a call into the trace."""
        self.trace.add(call)
        return call

    # --- running -------------------------------------------------------------------------------

    def burn(self) -> None:
        """Count one statement, round or call."""
        self.fuel -= 1
        self.trace.steps += 1

    def spend(self) -> bool:
        """Use one unit of fuel; false when there is none left."""
        self.fuel -= 1
        self.trace.steps += 1
        if self.fuel <= 0 or (self.turn_back is not None and self.trace.steps > self.turn_back):
            self.trace.exhausted = True
            return False
        return True

    @contextmanager
    def inside(self, context: Context) -> Iterator[None]:
        """Run with another context."""
        before, self.context = self.context, context
        try:
            yield
        finally:
            self.context = before

    def run_module(self, source: Source, scope: Scope, name: str) -> None:
        """Take the statements of a module."""
        if source.statements is None:
            source.statements = count(source.module)
        self.fuel += FUEL_PER_STATEMENT * source.statements
        before = (self.source, self.scope, self.statement)
        self.source, self.scope = source, scope
        self.state.bind(scope, "__name__", Const(name))
        self.state.bind(scope, "__file__", Unknown(type="str"))
        try:
            if source is self.trace.source:
                statements.execute_block(self, source.module.body)
            else:
                definitions.execute_module(self, source)
        finally:
            self.source, self.scope, self.statement = before

    def enter_uncalled(self) -> None:
        """Enter what nobody called, with unknown arguments.

        Every function and method of the checked document, and of its project's modules what a library was given to
        call: a loss function, the methods of a Sequence that was made. What a module gives away while it is imported,
        to a decorator or a register, is the module's own affair: it is entered where the module is checked.
        """
        self.abroad = max(ABROAD_FLOOR, ABROAD_PER_STATEMENT * (self.source.statements or 0))
        others = any(function.source is not self.source for function in self.functions)
        given = (
            {id(function) for function in _functions_given(self.trace, self.imported)} if others else set()
        )
        position, defined = 0, len(self.functions)
        done: set[int] = set()
        while position < len(self.functions):
            first = self.functions[position]
            function = first.wrapper or first
            position += 1
            if not isinstance(function.node, cst.FunctionDef):
                continue
            if function.source is not self.source:
                if function.entered or not (given & {id(first), id(function)} or _of_a_library(function)):
                    continue
            if function.entered:
                done.add(id(function.node))
            elif position > defined and id(function.node) in done:
                # One that runs its outer function would be made anew for each of those that it enters, without end.
                continue
            self.fuel = FUEL_OF_UNCALLED + FUEL_PER_STATEMENT * count(function.node)
            arguments = () if function.entered else self.receiver_of(function)
            if function.entered:  # making the object that it is a method of may have entered it
                continue
            done.add(id(function.node))
            calls.enter(self, function, arguments, self.place(function.node), called=False)

    def receiver_of(self, function: Function) -> tuple[Argument, ...]:
        """The first argument of a method that nobody calls: an object of its class, or the class."""
        if function.owner is None or "staticmethod" in function.flags:
            return ()
        receiver = function.owner if "classmethod" in function.flags else self.instance_of(function.owner)
        return (Argument(receiver, self.place(function.node)),)

    def instance_of(self, cls: Class) -> Instance:
        """The last object the program made of a class, or one made with unknown arguments."""
        if cls.instance is None:
            classes.instantiate(self, cls, (), self.place(cls.node), known=False)
        assert cls.instance is not None
        return cls.instance

    def depth_allows(self, function: Function, arguments: tuple[Argument, ...] = ()) -> bool:
        """Whether a function may be entered once more here."""
        if len(self.activations) > MAX_DEPTH:
            return False
        running = sum(activation.function is function for activation in self.activations)
        if running < MAX_RECURSION or running >= MAX_COUNTED:
            return running < MAX_RECURSION
        values = [deref(argument.value) for argument in arguments]
        if not any(
            isinstance(value, Const) and type(value.value) is int and not value.soft for value in values
        ):
            return False
        outermost = next(activation for activation in self.activations if activation.function is function)
        outermost.counted += 1
        return outermost.counted <= MAX_COUNTED_IN_ALL

    def body_context(self, function: Function, called: bool, site: Place | None = None) -> Context:
        """The context inside a function's body, with the roles its decorators give it."""
        body = Body(Place(function.source, function.node), function, called, site, self.statement)
        context = self.context.inside(body)
        if "tf.function" in function.flags:
            context = context.inside(Role(Place(function.source, function.node), "tf.function", function))
        return context

    # --- what the parts of the interpreter call each other through --------------------------------

    def evaluate_index(self, node: cst.BaseSlice) -> Value:
        """The abstract value of what stands in a subscript."""
        return expressions.evaluate_index(self, node)

    def assign(self, target: cst.CSTNode, value: Value, origin: cst.CSTNode) -> None:
        """Bind a value to a target."""
        statements.assign(self, target, value, origin)

    def execute_suite(self, suite: cst.BaseSuite) -> Flow:
        """Run a block."""
        return statements.execute_suite(self, suite)

    def apply(self, function: Value, arguments: tuple[Argument, ...], place: Place) -> Value:
        """Call a value."""
        return calls.apply(self, function, arguments, place)

    def enter(
        self, function: Function, arguments: tuple[Argument, ...], place: Place, called: bool = True
    ) -> Value:
        """Run the body of a function of the program."""
        return calls.enter(self, function, arguments, place, called)

    def call_method(self, method: Method, arguments: tuple[Argument, ...], place: Place) -> Value:
        """Call a method of a typed value."""
        return calls.method_call(self, method, arguments, place)


def _of_a_library(function: Function) -> bool:
    """Whether a function is a method that a library calls: its class derives from one of the library's, and is used."""
    owner = function.owner
    if owner is None or owner.instance is None or not owner.instance.constructed:
        return False
    return bool(owner.library_bases())


def _functions_given(trace: Trace, but: Iterable[range]) -> Iterator[Function]:
    """The functions of the program that are arguments of a call, alone or in a list, tuple or dictionary.

    Calls whose numbers are in one of the ranges `but` do not count.
    """
    skipped = {number for numbers in but for number in numbers}
    for call in trace.events:
        if not isinstance(call, Call) or call.index in skipped:
            continue
        for argument in call.arguments:
            for value in parts_of(deref(argument.value)):
                inner = value.function if isinstance(value, Method) else value
                if isinstance(inner, Function):
                    yield inner


def dry_run(source: Source, resolver: ModuleResolver | None = None) -> Trace:
    """Dry-run one parsed document.

    `resolver` finds the project's own modules; without it, names imported from them are unknown.
    """
    run = Run(source, resolver)
    main = "__main__" if module_name(source) != "__init__" else "package"
    run.modules[id(source)] = ProjectModule(run.scope, source.document)
    run.run_module(source, run.scope, main)
    run.enter_uncalled()
    run.trace.seal()
    del run.evaluate  # it holds the run, which is garbage in a circle with it and gone at once without
    return run.trace


def release(trace: Trace) -> None:
    """Nobody asks any more: calls let go of what they got and gave, which knows its call.

    Left to itself that is garbage in circles: over keras-hub the garbage collector took an eighth of a check.
    """
    nowhere = Context()
    for call in (*trace.all_calls(), *trace.loose, *trace.operations):
        if isinstance(call.receiver, Unknown):
            call.receiver.pending.clear()
        call.receiver, call.arguments, call.context, call.result = None, (), nowhere, NONE
    trace.answers.clear()


__all__ = ["Pending", "Run", "dry_run", "release"]
