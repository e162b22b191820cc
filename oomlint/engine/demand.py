"""What of a document has to be run at all: the parts that lead to all that some rule needs for a finding.

A rule's record says by which names it shows that there may be work (`literals`), and what must stand there besides
(`needs`). What a part of the module uses, and what it leads to by name, in the module and in others of the project, has
to meet every one of these. The dry run enters what is called in any case; this is about what it begins with: the
module's body, and the functions that nobody calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oomlint.engine.candidates import Neighbours
from oomlint.engine.module_parts import Import, Part, Uses
from oomlint.engine.uses import uses_of
from oomlint.findings.needs import Needs
from oomlint.project.modules import LIBRARIES
from oomlint.syntax.gates import SyntaxFault, check_syntax

if TYPE_CHECKING:
    from oomlint.documents.python_file import Document
    from oomlint.findings.registry import RegisteredRule

    Parts = dict[str, tuple[Document, Uses]]

# Names of functions: the innermost class around each, if it is in one, and its own.
Functions = frozenset[tuple[str | None, str]]

# How many modules away a function that nobody calls is followed: little is known of what it passes on there, and the
# dry run goes a few hundred steps. What a script itself calls is followed on; deeper than this few find anything that
# nothing nearer shows, and a script is run in any case.
DEPTH_OF_UNCALLED = 1
MAX_DEPTH = 3

_SOME_TEST = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test\.py|conftest\.py|tests?\.py)$")


@dataclass(frozen=True, slots=True)
class Demand:
    """What of a document is to be run besides its body: all functions (None), or these."""

    functions: Functions | None = None


@dataclass(frozen=True, slots=True)
class _Asking:
    """What one rule needs, in bits; `beside` None: with one part of a document all of it."""

    bits: int
    in_scripts: bool
    in_tests: bool
    in_layers: bool
    beside: int | None


class Asked:
    """What some rules ask for, one bit for each group of names of which one has to be there."""

    def __init__(self, rules: Iterable[RegisteredRule], estimating: bool = False) -> None:
        self.groups: dict[str, int] = {}
        self.rules: list[_Asking] = []
        self.not_in_tests = 0
        self.here = 0
        self._numbers: dict[tuple[object, ...], int] = {}
        for entry in rules:
            rule = entry.rule
            # With estimates such rules have more to say, and the script is sliced out of all that it does.
            needs = Needs() if estimating and rule.estimated else rule.needs
            # The literals of rules that say nothing of tests are bits of their own: test modules have none.
            bits = self._bit(rule.literals, needs.in_tests)
            if not needs.in_tests:
                self.not_in_tests |= bits
            for names in needs.also:
                bits |= self._bit(names)
            for names in needs.here:
                bit = self._bit(names, True, True)
                self.here |= bit
                bits |= bit
            beside = None if needs.beside is None else self._bit(needs.beside)
            self.rules.append(_Asking(bits, needs.in_scripts, needs.in_tests, needs.in_layers, beside))

    def _bit(self, names: tuple[str, ...], *kind: bool) -> int:
        key = (names, *kind)
        if key not in self._numbers:
            bit = self._numbers[key] = 1 << len(self._numbers)
            for name in names:
                self.groups[name] = self.groups.get(name, 0) | bit
        return self._numbers[key]

    def uses(self, document: Document, kept: Parts) -> Uses | None:
        """The parts of a document; None where its syntax may be newer than this Python. Raises SyntaxFault."""
        held = kept.get(document.filename)
        if held is not None and held[0] is document:
            return held[1]
        tree = check_syntax(document)
        if tree is None:
            return None
        name = str(document.filename).replace("\\", "/")
        outside = self.not_in_tests if _SOME_TEST.search(name) else 0
        found = uses_of(tree, self.groups, outside)
        kept[document.filename] = (document, found)
        return found


def demanded(
    document: Document, rules: Sequence[RegisteredRule], resolver: object, estimating: bool = False
) -> Demand | None:
    """What of a document is to be run, or None if no rule can have work there. Raises SyntaxFault."""
    asked, kept = _known(rules, resolver, estimating)
    uses = asked.uses(document, kept)
    if uses is None:
        words = re.findall(r"\w+", document.text)
        there = any(word in asked.groups or f".{word}" in asked.groups for word in words)
        return Demand() if there else None
    reach = _Reach(document, uses, asked, resolver, kept)
    functions = [at for at, part in enumerate(uses.parts) if part.name is not None]
    plain = [at for at in range(len(uses.parts)) if not _is_test(uses.parts[at])]
    outside = reach.bits(plain)
    everywhere = outside if len(plain) == len(uses.parts) else outside | reach.bits(range(len(uses.parts)))
    script = reach.bits(uses.at_once, MAX_DEPTH)
    outside |= script
    left = [rule for rule in asked.rules if _meets(outside | everywhere if rule.in_tests else outside, rule)]
    if not left:
        return None
    left = [rule for rule in left if not rule.in_scripts or _meets(script, rule)]
    if any(rule.beside is None for rule in left):
        return Demand()
    wanted: set[int] = set()
    for at in functions:
        if at not in wanted:
            part = uses.parts[at]
            together = [at, *part.beside]
            bits = reach.bits(together)
            if part.makers:
                bits |= reach.bits(part.makers) & ~asked.here
            if any(_meets(bits, rule) and _may_stand(rule, part) for rule in left):
                wanted.update((*together, *part.makers))
    if not wanted and not any(_meets(script, rule) for rule in left):
        return None
    beside = 0
    for rule in left:
        beside |= rule.beside or 0
    wanted.update(at for at in functions if uses.parts[at].bits & beside)
    return Demand(frozenset((uses.parts[at].owner, uses.parts[at].name or "") for at in wanted))


def _meets(bits: int, rule: _Asking) -> bool:
    return bits & rule.bits == rule.bits


def _may_stand(rule: _Asking, part: Part) -> bool:
    """Whether a rule finds anything in such a function that nobody calls."""
    return (
        not rule.in_scripts
        and (rule.in_tests or not _is_test(part))
        and (rule.in_layers or not part.of_a_layer)
    )


def _is_test(part: Part) -> bool:
    """Whether it is a test by its name: what it calls belongs to the test."""
    return part.name is not None and part.name.startswith("test_")


def _known(rules: Sequence[RegisteredRule], resolver: object, estimating: bool) -> tuple[Asked, Parts]:
    """What some rules ask for, and the parts of modules that are known already; both last as long as the run."""
    kept = getattr(resolver, "kept", None)
    if kept is None:
        return Asked(rules, estimating), {}
    key = (*map(id, rules), estimating)
    held = kept.get(key)
    if held is None:
        held = kept[key] = (tuple(rules), Asked(rules, estimating), {})
    return held[1], held[2]


class _Reach:
    """What parts of one document lead to."""

    def __init__(self, document: Document, uses: Uses, asked: Asked, resolver: object, kept: Parts) -> None:
        self.document = document
        self.uses = uses
        self.asked = asked
        self.resolver = resolver if isinstance(resolver, Neighbours) else None
        self.kept = kept
        self.abroad: dict[tuple[str, int], int] = {}

    def bits(self, start: Iterable[int], depth: int = DEPTH_OF_UNCALLED) -> int:
        """What some parts of the document use, here and in other modules."""
        bits, seen, waiting = 0, set(start), []
        waiting = list(seen)
        names: set[str] = {"*"} if self.uses.stars else set()
        while waiting:
            part = self.uses.parts[waiting.pop()]
            bits |= part.bits
            names.update(part.imports)
            for at in part.leads:
                if at not in seen:
                    seen.add(at)
                    waiting.append(at)
        for name in names:
            key = (name, depth)
            if key not in self.abroad:
                found = self.elsewhere(name, depth)
                own = self.uses.stars if name == "*" else self.uses.imports[name]
                if depth < MAX_DEPTH:
                    found &= ~self.asked.here
                for one in own:
                    found |= one.bits
                self.abroad[key] = found
            bits |= self.abroad[key]
        return bits

    def elsewhere(self, name: str, depth: int) -> int:
        """What an imported name leads to, up to so many modules away."""
        bits = 0
        level: list[tuple[Document, Uses, str]] = [(self.document, self.uses, name)]
        followed: set[tuple[int, str]] = set()
        seen: set[tuple[int, int]] = set()
        while level and depth:
            depth -= 1
            below: list[tuple[Document, Uses, str]] = []
            for document, uses, imported in level:
                key = (id(uses), imported)
                if key in followed:
                    continue
                followed.add(key)
                crossing = self.crossing(document, uses, imported)
                bits |= crossing.bits
                for found, parts, start in crossing.targets:
                    waiting = list(start)
                    while waiting:
                        at = waiting.pop()
                        if (id(parts), at) in seen:
                            continue
                        seen.add((id(parts), at))
                        part = parts.parts[at]
                        bits |= part.bits
                        waiting += part.leads
                        below += [(found, parts, again) for again in part.imports]
                    if parts.stars:
                        below.append((found, parts, "*"))
            level = below
        return bits

    def crossing(self, document: Document, uses: Uses, name: str) -> _Crossing:
        """Where an imported name of a module leads to, through modules that only hand it on."""
        known: _Crossing | None = uses.crossings.get(name)
        if known is not None:
            if self.resolver is not None:
                for (
                    importer,
                    module,
                    level,
                ) in known.asked:  # the report rests on what is found there, as on its own
                    self.resolver.peek(importer, module, level)
            return known
        made = _Crossing()
        imports = uses.stars if name == "*" else uses.imports[name]
        waiting = [(document, uses, one, _named(one, uses.words)) for one in imports]
        followed: set[tuple[str, Import, frozenset[str]]] = set()
        while waiting:
            importer, own, one, names = waiting.pop()
            made.bits |= one.bits
            if (importer.filename, one, names) in followed:
                continue
            followed.add((importer.filename, one, names))
            for found, parts, inside in self.modules(importer, own, one, names, made):
                start = {0, *(at for word in inside & parts.top.keys() for at in parts.top[word])}
                for word in own.words & parts.members.keys():
                    start.update(at for at in parts.members[word] if parts.parts[at].name == word)
                made.targets.append((found, parts, tuple(start)))
                for word in inside & parts.imports.keys():
                    waiting += [(found, parts, each, _named(each, own.words)) for each in parts.imports[word]]
                waiting += [(found, parts, star, inside) for star in parts.stars]
        uses.crossings[name] = made
        return made

    def modules(
        self, importer: Document, own: Uses, one: Import, names: frozenset[str], made: _Crossing
    ) -> Iterator[tuple[Document, Uses, frozenset[str]]]:
        """The modules of the project that an import may mean, and the names that are looked up in each."""
        if self.resolver is None or (not one.level and one.package.partition(".")[0] in LIBRARIES):
            return
        places = [(one.package, names)]
        if one.name is not None:
            places.append((f"{one.package}.{one.name}" if one.package else one.name, own.words))
        for module, inside in places:
            if not module and not one.level:
                continue
            made.asked.append((importer, module, one.level))
            found = self.resolver.peek(importer, module, one.level)
            with suppress(SyntaxFault):
                parts = None if found is None else self.asked.uses(found, self.kept)
                if found is not None and parts is not None:
                    yield found, parts, inside


@dataclass(slots=True)
class _Crossing:
    """Parts of other modules that an imported name means, what its import uses, and where that was asked."""

    bits: int = 0
    targets: list[tuple[Document, Uses, tuple[int, ...]]] = field(default_factory=list)
    asked: list[tuple[Document, str, int]] = field(default_factory=list)


def _named(one: Import, words: frozenset[str]) -> frozenset[str]:
    return words if one.name is None else frozenset([one.name])
