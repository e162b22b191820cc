"""The parser of the command line: says which flag was meant, and takes none by its first letters.

A flag that is taken by its first letters (argparse's habit) breaks scripts as soon as a second one starts so.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """A parser of this program or of one of its commands.

    `optional_values`: flags that take a value after `=` only, because a path may follow them; each with the ending
    that tells that what follows is its value all the same.
    """

    def __init__(self, **keywords: Any) -> None:
        super().__init__(allow_abbrev=False, **keywords)
        self.optional_values: dict[str, str | None] = {}

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; a flag that this command does not have is an error of this command, which knows its own."""
        given = list(sys.argv[1:] if args is None else args)
        parsed, unknown = super().parse_known_args(self._bound(given), namespace)
        if unknown:
            self.error(self._about(unknown))
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, without the whole usage; who gave nothing gets all of the help."""
        if message.endswith("required: COMMAND"):
            self.print_help(sys.stderr)
            raise SystemExit(2)
        choice = re.match(r"argument (\S+): invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice is not None:
            from oomlint.project.options import nearest

            choices = [word.strip().strip("'") for word in choice[3].split(",")]
            where = "" if choice[1] == "COMMAND" else f"{choice[1]}: "
            near = nearest(choice[2], choices)
            if not where and os.path.exists(choice[2]):  # noqa: PTH110 - pathlib is not needed otherwise
                near = f"oomlint check {choice[2]}"
            message = f"{where}invalid choice {choice[2]!r}: did you mean {near!r}? (of {', '.join(choices)})"
        print(f"oomlint: {message}", file=sys.stderr)
        print(f"usage: {self.usage or self.prog + ' [OPTIONS]'}; --help tells all", file=sys.stderr)
        raise SystemExit(2)

    def _bound(self, given: list[str]) -> list[str]:
        """The arguments with each optional value joined to its flag."""
        bound: list[str] = []
        words = iter(range(len(given)))
        for index in words:
            word = given[index]
            if word == "--":
                return bound + given[index:]
            if word not in self.optional_values:
                bound.append(word)
                continue
            ending = self.optional_values[word]
            after = given[index + 1] if index + 1 < len(given) else ""
            if ending is not None and after.endswith(ending) and not after.startswith("-"):
                bound.append(f"{word}={after}")
                next(words, None)
            else:
                bound.append(f"{word}=")
        return bound

    def _about(self, unknown: Sequence[str]) -> str:
        flag = next((word for word in unknown if word.startswith("-")), None)
        if flag is None:
            return f"unrecognized arguments: {' '.join(unknown)}"
        from oomlint.project.options import nearest

        name = flag.partition("=")[0]
        own = [word for action in self._actions for word in action.option_strings if word.startswith("--")]
        return f"unrecognized arguments: {name}: did you mean {nearest(name, own)!r}?"
