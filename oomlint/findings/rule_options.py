"""What a project can set for a rule, in `[tool.oomlint.rules.CODE]`: declared in the rule's record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from oomlint.project.options import OptionError, kind, nearest

if TYPE_CHECKING:
    from oomlint.findings.model import Rule
    from oomlint.project.settings import Settings

T = TypeVar("T")  # bool, int, float, str or tuple[str, ...]

_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    tuple: "a list of strings",
}


@dataclass(frozen=True)  # with slots `RuleOption[int](...)` fails before Python 3.13
class RuleOption(Generic[T]):
    """One option. The type of its default is its type; `choices` are all that a string can be."""

    name: str
    default: T
    about: str
    minimum: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def takes(self) -> str:
        """What it takes, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        least = "" if self.minimum is None else f", {self.minimum:g} or more"
        return _WORDS[type(self.default)] + least

    def parse(self, raw: object) -> T:
        """The value for what stands in a configuration. Raises OptionError."""
        wanted: type = type(self.default)
        value: Any = tuple(raw) if wanted is tuple and isinstance(raw, list) else raw
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted or not _strings(value):
            raise OptionError(f"expected {self.takes}; got {kind(raw)}")
        if self.choices and value not in self.choices:
            raise OptionError(
                f"expected {self.takes}; got {value!r}: did you mean {nearest(str(value), self.choices)!r}?"
            )
        if self.minimum is not None and isinstance(value, (int, float)) and value < self.minimum:
            raise OptionError(f"expected {self.takes}; got {value}")
        return cast(T, value)


def _strings(value: object) -> bool:
    return not isinstance(value, tuple) or all(isinstance(item, str) for item in value)


def option_key(code: str, name: str) -> str:
    """How an option is called in :attr:`oomlint.project.settings.Settings.rules`."""
    return f"{code}.{name}"


def check_options(given: dict[str, object], rules: dict[str, Rule], names: dict[str, str]) -> None:
    """Refuse options that no rule has, and values that they do not take. Raises OptionError.

    `names` are the codes by the rules' names, for those who wrote a name.
    """
    for key, raw in given.items():
        code, _, name = key.partition(".")
        if code not in rules:
            hint = names.get(code) or nearest(code, rules)
            raise OptionError(f"{code}: no rule has that code: did you mean {hint!r}?")
        options = {option.name: option for option in rules[code].options}
        if not options:
            raise OptionError(f"{code}: {rules[code].name} takes no options")
        if name not in options:
            raise OptionError(f"{code}: unknown option {name!r}: did you mean {nearest(name, options)!r}?")
        try:
            options[name].parse(raw)
        except OptionError as error:
            raise OptionError(f"{code}.{name}: {error}") from None


def value_of(rule: Rule, option: RuleOption[T], settings: Settings) -> T:
    """What is in force."""
    key = option_key(rule.code, option.name)
    return option.parse(settings.rules[key]) if key in settings.rules else option.default


def shown(value: Any) -> str:
    """A default as it would stand in a configuration file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(map(shown, value))}]" if isinstance(value, Sequence) else str(value)


def described(rule: Rule) -> str:
    """The section about its options that follows the page of a rule; empty where it has none."""
    if not rule.options:
        return ""
    lines = [
        f"- `{option.name}` ({option.takes}; default: {shown(option.default)}): {option.about}"
        for option in rule.options
    ]
    return "\n".join(["## Options", "", f"In `[tool.oomlint.rules.{rule.code}]`:", "", *lines]) + "\n"
