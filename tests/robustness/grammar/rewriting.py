"""Other ways of writing what a program says: its constants, calls and statements, one random place at a time."""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Iterator

from mutations import Spans

# What an integer or a text can be written as, and mean the same.
CONSTANTS = (
    "(v0 := {})",
    "(lambda: {})()",
    "[{}][0]",
    "{{'k': {}}}['k']",
    "({} if True else 6)",
    "next(iter([{}]))",
    "(None or {})",
    "dict(k={}).get('k', 5)",
    "max({0}, {0})",
    "[v for v in [{}]][-1]",
    "functools.reduce(lambda a, b: b, [None, {}])",
    "({},)[-1]",
    "type('C', (), {{'k': {}}}).k",
    "os.environ.get('K', {})",
    "globals().get('K') or {}",
)
INTEGERS = (
    "int('{}')",
    "({} + 1 - 1)",
    "-(-{})",
    "{} * 2 // 2",
    "sum([{}])",
    "{}|0",
    "divmod({}, 10**12)[1]",
    "int({}.0)",
)
TEXTS = ("str({})", "({} + '')", "{}.strip()", "'%s' % ({})", "''.join({})")
# What a call can be written as.
CALLS = (
    "({})",
    "(v1 := {})",
    "(lambda: {})()",
    "({} if flag else None)",
    "[{}][0]",
    "(flag and {})",
    "({0} if flag else {0})",
    "functools.partial(lambda v: v, {})()",
    "[{} for _ in 'ab'][0]",
    "(await_ := {})",
)
# What a function can be written as where it is called.
FUNCTIONS = (
    "({})",
    "(lambda *a, **k: {}(*a, **k))",
    "functools.partial({})",
    "[{}][0]",
    "({} if True else print)",
    "{}.__call__",
)
STATEMENTS = (
    "if flag:\n{}",
    "if True:\n{}\nelse:\n    raise ValueError('never')",
    "for _ in [0]:\n{}",
    "while flag:\n{}\n    break",
    "try:\n{}\nexcept Exception as error:\n    raise RuntimeError('no') from error",
    "with tf.name_scope('a') as scope, open(os.devnull):\n{}",
    "match 1:\n    case 1:\n    {}",
)


def rewritten(text: str, chance: random.Random) -> str:
    """The program with up to eight of its places written otherwise."""
    for _ in range(chance.choice((0, 1, 2, 3, 5, 8))):
        change = chance.choice((_constant, _constant, _call, _function, _statement, _stars, _hoist))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                changed = change(Spans(text), chance)
                compile(changed, "program.py", "exec", ast.PyCF_ONLY_AST)
            except (SyntaxError, IndexError):  # no such place, or one where it cannot be said so (a pattern)
                continue
        text = changed
    return text


def _constant(spans: Spans, chance: random.Random) -> str:
    node = chance.choice(list(_constants(spans)))
    ways = CONSTANTS + (INTEGERS if isinstance(node.value, int) else TEXTS)
    return spans.put((node, chance.choice(ways).format(spans.at(node))))


def _hoist(spans: Spans, chance: random.Random) -> str:
    node = chance.choice(list(_constants(spans)))
    around = [one for one in spans.of(ast.stmt) if one.lineno <= node.lineno <= (one.end_lineno or 0)]
    if not around:  # what stands behind a form feed is not where Python says
        return spans.raw.decode()
    before = max(around, key=lambda one: one.lineno)
    put = spans.put((node, "SIZE"))
    rows = put.split("\n")
    rows.insert(before.lineno - 1, f"{' ' * before.col_offset}SIZE = {spans.at(node)}")
    return "\n".join(rows)


def _constants(spans: Spans) -> Iterator[ast.Constant]:
    inside = {id(part) for node in spans.nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in spans.of(ast.Constant):
        assert isinstance(node, ast.Constant)
        if isinstance(node.value, int | str) and not isinstance(node.value, bool) and id(node) not in inside:
            yield node


def _call(spans: Spans, chance: random.Random) -> str:
    node = chance.choice(spans.of(ast.Call))
    return spans.put((node, chance.choice(CALLS).format(spans.at(node))))


def _function(spans: Spans, chance: random.Random) -> str:
    node = chance.choice([call.func for call in spans.of(ast.Call) if isinstance(call, ast.Call)])
    return spans.put((node, chance.choice(FUNCTIONS).format(spans.at(node))))


def _stars(spans: Spans, chance: random.Random) -> str:
    calls = [
        node for node in spans.of(ast.Call) if isinstance(node, ast.Call) and (node.args or node.keywords)
    ]
    call = chance.choice(calls)
    plain = ", ".join(spans.at(one) for one in call.args)
    named = ", ".join(f"{word.arg!r}: {spans.at(word.value)}" for word in call.keywords if word.arg)
    more = "".join(f", **{spans.at(word.value)}" for word in call.keywords if word.arg is None)
    return spans.put((call, f"{spans.at(call.func)}(*[{plain}], **{{{named}}}{more})"))


def _statement(spans: Spans, chance: random.Random) -> str:
    node = chance.choice(spans.of(ast.stmt))
    blank = " " * node.col_offset
    first = spans.starts[node.lineno - 1]
    if spans.raw[first : first + node.col_offset].strip():
        raise IndexError("behind a semicolon or a colon")
    inner = (blank + spans.at(node)).replace("\n", "\n    ")
    wrapper = chance.choice(STATEMENTS).replace("\n", f"\n{blank}")
    wrapped = wrapper.replace(f"{blank}{{}}", "    " + inner).replace(f"{blank}    {{}}", "        " + inner)
    return spans.put((node, wrapped))
