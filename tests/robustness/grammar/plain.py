"""Plain Python that ends soon and prints nothing: constants, containers, loops, functions and classes of them."""

from __future__ import annotations

import random

from robustness.grammar.engine import Grammar

NAMES = "abcdef"

PLAIN: dict[str, tuple[str, ...]] = {
    "name": tuple(NAMES),
    "int": ("3", "0", "1", "-2", "7", "224", "1_000", "0x1f", "512", "True"),
    "float": ("0.5", "2.0", "1e3", "-.25"),
    "text": ("'ab'", "''", '"x y"', "'Ab-1'", "f'{{name}}'", "'%d' % {int}"),
    "number": ("{int}", "{float}", "{int}", "({number} {arithmetic} {number})", "-{number}", "abs({number})", "{name}",
        "len({list})", "sum({numbers})", "max({int}, {int}, {int})", "min({numbers})", "round({float})", "int({float})",
        "{int} // ({int} or 1)", "divmod({int}, 4)[1]", "({number} if {test} else {number})", "{list}[{index}]",
        "{numbers}[{index}]", "{tuple}[0]", "math.ceil({float})", "math.prod({numbers})", "int('{index}')", "bool({value})",
        "{text}.count('a')", "(g := {number})", "twice({number})", "next(iter({numbers}))", "{int} ** 2", "{int} * {int}", "{int} << 2",
        "~{int}", "{int} ^ {int}", "{int} | 8", "float({int})", "sorted({numbers})[-1]", "{dict}.get('k', {int})",
        "{dict}['k']", "(lambda n, m=2: n * m)({int})", "functools.reduce(lambda n, m: n + m, {numbers})"),
    "arithmetic": ("+", "-", "+", "-", "/", "//", "%"),
    "index": ("0", "-1", "1", "2"),
    "numbers": ("[1, 2, 3]", "({int}, {int}, {int})", "[{number}, {number}, {number}]", "list(range(4))", "range(1, 9, 3)",
        "[n * 2 for n in {numbers}]", "[n for n in {numbers} if n > 1] or [1, 2, 3]", "sorted({numbers})",
        "{numbers}[::-1]", "list({numbers}) + [1, 2, 3]", "tuple({numbers})", "[*{numbers}, {int}]", "list(map(twice, {numbers}))",
        "[i + n for i, n in enumerate({numbers})]", "[n + m for n, m in zip({numbers}, (1, 2, 3))]", "{1, 2, 3}",
        "list(reversed([1, 2, {int}]))", "list(itertools.accumulate({numbers}))", "list({dict}.values())", "[{int}] * 3"),
    "list": ("[1, 'b', 3]", "[{value}, {value}, {value}]", "list({text}) + [1, 2, 3]", "{list} + {list}", "[{value} for _ in range(3)]"),
    "tuple": ("(1, 2)", "({number}, {value})", "({int}, *{numbers})", "divmod({int}, 3)"),
    "dict": ("{'k': {int}}", "dict(k={int}, l={value})", "{**{dict}, 'm': {value}}", "{k: {int} for k in 'kl'}",
        "dict(zip(('k', 'l'), {numbers}))", "dict([('k', {int})])"),
    "string": ("{text}", "{string} + {text}", "{text} * 2", "{text}.upper()", "{text}.strip()", "str({number})", "{text}[::-1]",
        "'-'.join([{text}, {text}])", "'{}:{:>4}'.format({int}, {text})", "f'{{int}:04d}{{name}!r}'", "{text}.replace('a', 'b')",
        "({string} or 'z')", "chr(97 + {index} % 3)", "repr({value})", "'%s/%s' % ({text}, {int})", "{text}[:{index}]",
        "os.path.join('d', {text})", "{string}.split()[0] if {string}.split() else ''", "{text}.partition('b')[0]"),
    "test": ("{int} > 2", "{value} == {value}", "{int} in {numbers}", "not {value}", "{test} and {test}", "{test} or {test}",
        "1 < {int} <= 9", "{name} is None", "isinstance({value}, int)", "any({numbers})", "all({numbers})", "{text} in 'xab'",
        "'k' in {dict}", "len({list}) >= 3", "{text}.startswith('a')"),
    "value": ("{number}", "{string}", "{number}", "{numbers}", "{tuple}", "{test}", "None", "{dict}", "{list}", "{name}"),
    "line": ("{name} = {value}", "{name} = {number}", "{name} = {name} = {number}", "{name}, {name} = {number}, {string}",
        "{name}, *{name} = {numbers}", "({name}, {name}), {name} = {tuple}[:2], {int}", "{name} += 1", "{name} = {int} * 2",
        "{name}: int = {number}", "{name} = [{value}]; {name}.append({value})", "del {name}; {name} = {int}",
        "for {name} in {numbers}:\n    {line}", "for {name}, {name} in zip({numbers}, {list}):\n    {line}\nelse:\n    {line}",
        "if {test}:\n    {line}\nelse:\n    {line}", "if {test}:\n    {line}\nelif {test}:\n    {line}",
        "while {name} is None:\n    {name} = {int}\n    break", "try:\n    {line}\nexcept Exception:\n    raise\nfinally:\n    {line}",
        "def twice(n, *rest, k={int}):\n    {name} = n\n    {line}\n    return n * 2", "def twice(n):\n    if n > {int}:\n        return n\n    return twice(n + 300) + {int}",
        "class C:\n    k = {number}\n\n    def m(self, n={int}):\n        self.k += n\n        return self.k\n\n\n{name} = C().m()",
        "{name} = {dict}\n{name}['k'] = {value}\n{name}.update(z={int})", "match {value}:\n    case 1 | 2:\n        {line}\n    case [n, *_] if n:\n        {line}\n    case _:\n        {line}",
        "with contextlib.suppress(ValueError):\n    {line}", "def made():\n    yield {value}\n    yield from {numbers}\n\n\n{name} = list(made())",
        "global {name}\n{name} = {number}", "assert True, {string}", "{name} = {numbers}\n{name} = {name}[1:]", "pass"),
}  # fmt: skip

HEADER = "import contextlib, functools, itertools, math, os\n\n\ndef twice(n):\n    return n * 2\n\n\n"


def plain_program(chance: random.Random) -> str:
    """Assignments and what is round them, as far as they end without an error; at the end each name is probed."""
    grammar = Grammar(PLAIN, chance)
    text = HEADER + "".join(f"{name} = {grammar.text('{int}')}\n" for name in NAMES)
    probes = "".join(f"probe({name})\n" for name in NAMES)
    for _ in range(chance.randint(2, 8)):
        longer = f"{text}{grammar.text('{line}')}\n"
        if ends(longer + probes.replace("probe", "bool")):
            text = longer
    return text + probes


def ends(text: str) -> bool:
    """Whether a program ends without an error."""
    try:
        exec(compile(text, "plain.py", "exec"), {"__name__": "__main__"})
    except Exception:
        return False
    return True
