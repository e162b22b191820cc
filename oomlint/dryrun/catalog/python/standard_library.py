"""The standard library's small helpers: math, itertools, functools, collections, random, copy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.arrays.making import tags_of_all
from oomlint.dryrun.catalog.python.builtin_functions import (
    MAX_EXACT,
    collected,
    computed,
    items_of,
    one_of,
    positional,
)
from oomlint.dryrun.catalog.python.records import Record
from oomlint.dryrun.catalog.registry import Iteration, constant, function, method
from oomlint.dryrun.trace import Within
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import (
    NONE,
    Const,
    Mapping,
    Namespace,
    Opaque,
    Sequence,
    Unknown,
    Value,
    deref,
    join,
    tags_of,
)
from oomlint.dryrun.values.program import ExitStack, Function, Partial
from oomlint.dryrun.values.shapes import dim_of, number

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call

MAX_PRODUCT = 256

# --- math ---------------------------------------------------------------------------------------------

for _name in ("pi", "e", "tau", "inf", "nan"):
    constant(f"math.{_name}", Const(getattr(math, _name)))

_WHOLE = ("ceil", "floor", "trunc", "gcd", "isqrt", "comb", "factorial", "lcm")
_REAL = (
    "sqrt", "log", "log2", "log10", "log1p", "exp", "expm1", "pow", "sin", "cos", "tan", "atan", "atan2", "tanh",
    "fabs", "fmod", "hypot", "radians", "degrees", "copysign", "dist",
)  # fmt: skip


@function(*(f"math.{name}" for name in (*_WHOLE, *_REAL)))
def mathematics(call: Call, run: Run) -> Value:
    """A function of known numbers."""
    name = call.name.rpartition(".")[2]
    values = positional(call)
    numbers = [value.value for value in values if isinstance(value, Const)]
    small = all(isinstance(value, int | float) and abs(value) < 1e15 for value in numbers)
    if (
        len(numbers) == len(values)
        and small
        and not (name in ("factorial", "comb") and max(numbers, default=0) > 64)
    ):
        try:
            return computed(getattr(math, name)(*numbers), *values)
        except (TypeError, ValueError, OverflowError, ZeroDivisionError):
            return Unknown()
    return Unknown(type="int" if name in _WHOLE else "float", tags=tags_of_all(*values))


@function("math.prod", parameters="iterable start")
def product(call: Call, run: Run) -> Value:
    """The product of known numbers."""
    items = items_of(run, call.value("iterable")).items
    constants = [value for value in map(deref, items or []) if isinstance(value, Const)]
    if items is None or len(constants) != len(items) or call.argument("start") is not None:
        return Unknown(type="int")
    try:
        return computed(math.prod(value.value for value in constants), *constants)
    except TypeError:
        return Unknown()


# --- itertools ----------------------------------------------------------------------------------------


@function("itertools.product")
def cartesian(call: Call, run: Run) -> Value:
    """Every combination: one by one where there are few."""
    columns = [items_of(run, value) for value in positional(call)]
    repeat = number(call.value("repeat")) if call.argument("repeat") is not None else 1
    if repeat is None or any(argument.star for argument in call.arguments):
        return Sequence("generator")
    columns = columns * max(0, min(repeat, 8))
    counts = [number(column.count) for column in columns]
    total = None if None in counts else math.prod(count for count in counts if count is not None)
    if total is not None and total <= MAX_PRODUCT and all(column.items is not None for column in columns):
        rows: list[list[Value]] = [[]]
        for column in columns:
            rows = [[*row, value] for row in rows for value in column.items or ()]
        return Sequence("generator", items=[Sequence("tuple", items=list(row)) for row in rows])
    element = Sequence("tuple", items=[one_of(column) for column in columns])
    return Sequence("generator", element=element, count=None if total is None else Const(total))


@function("itertools.repeat", parameters="object times")
def repeated(call: Call, run: Run) -> Value:
    """One value again and again."""
    value = call.value("object") or Unknown()
    times = dim_of(call.value("times"))
    if times is not None and 0 <= times.value <= MAX_PRODUCT:
        return Sequence("generator", items=[value] * times.value)
    return Sequence("generator", element=value, count=times)


@function("itertools.count")
def counting(call: Call, run: Run) -> Value:
    """Numbers without end."""
    return Sequence("generator", element=Unknown(type="int"), tags=frozenset({"endless"}))


@function("itertools.chain")
def chained(call: Call, run: Run) -> Value:
    """The items of several iterables after one another."""
    result = Sequence("generator", items=[])
    for value in positional(call):
        result = _joined(result, items_of(run, value), value)
    return result


@function("itertools.chain.from_iterable", parameters="iterable")
def flattened(call: Call, run: Run) -> Value:
    """The items of the items."""
    outer = items_of(run, call.value("iterable"))
    if outer.items is None:
        inner = items_of(run, one_of(outer))
        return Sequence("generator", element=one_of(inner), tags=tags_of_all(call.value("iterable")))
    result = Sequence("generator", items=[])
    for value in outer.items:
        result = _joined(result, items_of(run, value), value)
    return result


def _joined(result: Sequence, inner: Iteration, value: Value) -> Sequence:
    tags = result.tags | tags_of(value)
    if result.items is not None and inner.items is not None:
        return Sequence("generator", items=[*result.items, *inner.items], tags=tags)
    one, two = number(result.length), number(inner.count)
    count = computed(one + two, result.length, inner.count) if one is not None and two is not None else None
    element = one_of(inner, value) if result.items == [] else join(result.any, one_of(inner, value))
    return Sequence("generator", element=element, count=count, tags=tags)


@function("itertools.islice")
def sliced(call: Call, run: Run) -> Value:
    """The first items."""
    values = positional(call)
    if len(values) < 2:
        return Sequence("generator")
    inner = items_of(run, values[0])
    bounds = [value.value if isinstance(value, Const) else ... for value in values[1:]]
    if inner.items is not None and ... not in bounds:
        try:
            return Sequence("generator", items=inner.items[slice(*bounds)])  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return Sequence("generator")
    count = dim_of(values[1]) if len(values) == 2 else None
    if count is not None and inner.count is not None and inner.count.value < count.value:
        count = inner.count
    return Sequence("generator", element=one_of(inner, values[0]), count=count, tags=tags_of(values[0]))


@function("itertools.cycle", parameters="iterable")
def cycled(call: Call, run: Run) -> Value:
    """The items over and over."""
    value = call.value("iterable")
    tags = tags_of_all(value) | {"endless"}
    return Sequence("generator", element=one_of(items_of(run, value), value), tags=tags)


@function("itertools.combinations", "itertools.permutations", parameters="iterable r")
def chosen(call: Call, run: Run) -> Value:
    """Selections of r items."""
    inner = items_of(run, call.value("iterable"))
    r, total = number(call.value("r")), number(inner.count)
    if r is None or r > 16:
        return Sequence("generator")
    choose = math.comb if "combinations" in call.name else math.perm
    count = None if total is None or total > 1_000_000 else Const(choose(total, r))
    return Sequence("generator", element=Sequence("tuple", items=[one_of(inner)] * r), count=count)


# --- functools, contextlib ----------------------------------------------------------------------------


@function("functools.partial")
def partial(call: Call, run: Run) -> Value:
    """A function with some of its arguments given."""
    if not call.arguments or call.arguments[0].name is not None:
        return Unknown()
    return Partial(deref(call.arguments[0].value), tuple(call.arguments[1:]))


@function("functools.reduce", parameters="function sequence initial")
def reduced(call: Call, run: Run) -> Value:
    """A function of two over known items, one after another (how networks compose their layers)."""
    step, inner = call.value("function"), items_of(run, call.value("sequence"))
    if step is None or not inner.items or len(inner.items) > MAX_EXACT:
        return Unknown(tags=tags_of_all(call.value("sequence"), call.value("initial")))
    start = call.value("initial")
    items = list(inner.items) if start is not None else inner.items[1:]
    result = start if start is not None else deref(inner.items[0])
    for item in items:
        result = run.call(step, [result, item], call)
    return result


@function("functools.lru_cache")
def lru_cache(call: Call, run: Run) -> Value:
    """The decorator keeps what the function does; `lru_cache(maxsize=None)` is a decorator still to be applied."""
    first = deref(call.arguments[0].value) if call.arguments else None
    return first if isinstance(first, Function) else Opaque("functools.lru_cache", call)


@function("contextlib.ExitStack")
def exit_stack(call: Call, run: Run) -> Value:
    """A context manager that enters others as it goes."""
    return ExitStack()


@method(ExitStack, "enter_context", parameters="cm")
def enter_context(call: Call, run: Run) -> Value:
    """From here to the end of the stack's `with` it is as if this one had a `with` of its own."""
    stack, manager = call.receiver, call.value("cm")
    if manager is None or not isinstance(stack, ExitStack):
        return Unknown()
    around = list(run.context.frames())
    at = next(
        (n for n, one in enumerate(around) if isinstance(one, Within) and deref(one.manager) is stack), None
    )
    if at is not None and all(isinstance(frame, Within) for frame in around[:at]):
        run.context = run.context.inside(Within(call.place, manager))
    else:
        stack.perhaps.append(manager)
    entry = run.catalog.entries.get(type(manager))
    return entry(manager, run) if entry is not None else manager


# --- collections, types -------------------------------------------------------------------------------


@function("collections.deque", parameters="iterable maxlen")
def deque(call: Call, run: Run) -> Value:
    """A queue; `maxlen` is kept with it."""
    return collected("deque", run, call, call.value("iterable"))


@function("collections.defaultdict")
def defaultdict(call: Call, run: Run) -> Value:
    """A dictionary whose missing entries are made: one list stands for all of them."""
    factory = positional(call)
    made = run.call(factory[0], [], call) if factory else Unknown()
    if isinstance(made, Sequence):
        made = Sequence(made.kind, context=run.context)
    return Mapping(complete=False, other=made, context=run.context)


@function("collections.OrderedDict")
def ordered(call: Call, run: Run) -> Value:
    """A dictionary."""
    handler = run.catalog.function("builtins.dict")
    return handler(call, run) if handler is not None else Mapping(complete=False)


@function("collections.Counter")
def counter(call: Call, run: Run) -> Value:
    """A dictionary of counts."""
    return Mapping(complete=False, other=Unknown(type="int"))


# --- random, copy -------------------------------------------------------------------------------------


@function("random.sample", "random.choices", parameters="population k")
def sample(call: Call, run: Run) -> Value:
    """Some of the elements."""
    value = call.value("population")
    k = call.value("k")
    count = dim_of(k) if k is not None else Const(1)
    return Sequence("list", element=one_of(items_of(run, value), value), count=count, tags=tags_of_all(value))


@function("random.choice", parameters="seq")
def choice(call: Call, run: Run) -> Value:
    """One of the elements."""
    value = call.value("seq")
    return one_of(items_of(run, value), value)


@function("random.shuffle", parameters="x")
def shuffle(call: Call, run: Run) -> Value:
    """The same elements in another order."""
    value = call.value("x")
    if isinstance(value, Sequence) and value.items is not None and len(value.items) > 1:
        value.summarise(value.length)
    return NONE


@function("random.random", "random.uniform", "random.gauss", "time.time", "time.perf_counter")
def real(call: Call, run: Run) -> Value:
    """Some real number."""
    return Unknown(type="float")


@function("os.cpu_count", "multiprocessing.cpu_count", "psutil.cpu_count", "joblib.cpu_count")
def processors(call: Call, run: Run) -> Value:
    """How many processors there are: more than one."""
    return Unknown(type="int", tags=frozenset({"processors"}))


@function("random.randint", "random.randrange", "os.getpid")
def whole(call: Call, run: Run) -> Value:
    """Some whole number."""
    return Unknown(type="int")


@function("copy.copy", "copy.deepcopy", parameters="x")
def copied(call: Call, run: Run) -> Value:
    """The same again, for plain data."""
    return _copy(call.value("x"), call.name.endswith("deepcopy"), run)


def _copy(value: Value | None, deep: bool, run: Run) -> Value:
    def inner(item: Value) -> Value:
        item = deref(item)
        return _copy(item, True, run) if deep and isinstance(item, Sequence | Mapping) else item

    match value:
        case Sequence():
            items = None if value.items is None else [inner(item) for item in value.items]
            return Sequence(value.kind, items, value.element, value.count, value.tags, run.context)
        case Mapping():
            entries = {key: inner(item) for key, item in value.entries.items()}
            return Mapping(entries, value.complete, value.other, run.context)
        case Namespace():
            return Namespace(dict(value.attributes))
        case Const() | Array() | Record():
            return value
    return Unknown(tags=tags_of_all(value))
