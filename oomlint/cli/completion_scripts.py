"""The completion scripts themselves.

They are written from the parser, so that they cannot lag behind it. A library for it would be one more thing to install
beside a linter, and would not know rules' codes; asking oomlint at every Tab would cost its start each time.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass

from oomlint.cli.parsing import Parser

_CODES = {"select", "ignore", "extend_select"}


def script(shell: str, parser: Parser) -> str:
    """The script for one of the shells."""
    commands = list(_commands(parser))
    return "\n".join({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands))


@dataclass(frozen=True, slots=True)
class _Flag:
    """`values`: what to offer for its value; empty: whatever files there are, None: it takes no value."""

    names: tuple[str, ...]
    about: str
    values: tuple[str, ...] | None = None
    many: bool = False


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    about: str
    flags: tuple[_Flag, ...]
    words: tuple[str, ...]  # what its first argument may be; empty: files


def _commands(parser: Parser) -> Iterator[_Command]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                actions = [one for one in command._actions if one.help is not argparse.SUPPRESS]
                flags = tuple(_flag(one) for one in actions if one.option_strings)
                yield _Command(name, about.get(name, ""), flags, _words(name, actions))


def _words(command: str, actions: list[argparse.Action]) -> tuple[str, ...]:
    if command == "rule":
        return _codes()
    choices = (one.choices for one in actions if not one.option_strings and one.choices)
    return tuple(next(choices, ()))


def _flag(action: argparse.Action) -> _Flag:
    names = tuple(action.option_strings)
    about = re.sub(r"\s+", " ", (action.help or "").replace("%%", "%"))
    if action.nargs == 0:
        return _Flag(names, about)
    if action.choices:
        values = tuple(map(str, action.choices))
    elif action.dest in _CODES:
        values = ("ALL", *_codes())
    elif action.dest == "gpu":
        from oomlint.project.gpus import GPUS

        values = tuple(GPUS)
    elif action.dest == "fail_on":
        values = ("note", "warning", "error", "never")
    else:
        values = ()
    return _Flag(names, about, values, action.dest in _CODES)


def _codes() -> tuple[str, ...]:
    from oomlint.findings.pages import pages

    return tuple(pages())


def _bash(commands: list[_Command]) -> Iterator[str]:
    yield "# bash completion of oomlint, written by `oomlint completion bash`"
    yield "_oomlint() {"
    yield '    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"'
    yield "    local command= words= many= index"
    yield '    # "=" is a word of its own here: --color=al is three.'
    yield '    if [[ $current == "=" ]]; then current='
    yield '    elif [[ $before == "=" ]]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi'
    yield "    for ((index = 1; index < COMP_CWORD; index++)); do"
    yield '        if [[ ${COMP_WORDS[index]} != -* ]]; then command="${COMP_WORDS[index]}"; break; fi'
    yield "    done"
    yield "    COMPREPLY=()"
    yield '    case "$command" in'
    for command in commands:
        yield f"    {command.name})"
        yield '        case "$before" in'
        for flag in command.flags:
            if flag.values is not None:
                many = " many=1" if flag.many else ""
                yield f"        {'|'.join(flag.names)}) words={_quoted(' '.join(flag.values) or ' ')}{many} ;;"
        yield "        esac"
        names = " ".join(name for flag in command.flags for name in flag.names if len(name) > 2)
        yield f'        if [[ -z $words && $current == -* ]]; then words="{names}"; fi'
        if command.words:
            yield f"        if [[ -z $words ]]; then words={_quoted(' '.join(command.words))}; fi"
        yield "        ;;"
    names = " ".join(command.name for command in commands)
    yield f'    "") words="{names} --version --help" ;;'
    yield "    esac"
    yield "    local head="
    yield '    if [[ -n $many && $current == *,* ]]; then head="${current%,*},"; current="${current##*,}"; fi'
    yield "    # shellcheck disable=SC2207 - no word has a blank"
    yield '    COMPREPLY=($(compgen -P "$head" -W "$words" -- "$current"))'
    yield "}"
    yield "# Where nothing fits, files do."
    yield "complete -o default -F _oomlint oomlint"


def _zsh(commands: list[_Command]) -> Iterator[str]:
    yield "#compdef oomlint"
    yield "# zsh completion of oomlint, written by `oomlint completion zsh`"
    yield "_oomlint() {"
    yield "    local state line"
    yield "    _arguments -C '--version[print the version]' '--help[show help]' '1: :->command' '*:: :->rest'"
    yield "    case $state in"
    yield "    command)"
    yield "        local -a commands=("
    for command in commands:
        yield f"            {_quoted(f'{command.name}:{command.about}')}"
    yield "        )"
    yield "        _describe command commands ;;"
    yield "    rest)"
    yield "        case $line[1] in"
    for command in commands:
        yield f"        {command.name})"
        yield "            _arguments -s \\"
        for flag in command.flags:
            for name in flag.names:
                yield f"                {_quoted(_zsh_flag(flag, name))} \\"
        target = f"({' '.join(command.words)})" if command.words else "_files"
        yield f"                {_quoted(f'*:what:{target}')} ;;"
    yield "        esac ;;"
    yield "    esac"
    yield "}"
    yield '_oomlint "$@"'


def _zsh_flag(flag: _Flag, name: str) -> str:
    others = " ".join(other for other in flag.names if other != name)
    alone = f"({others})" if others else ""
    about = re.sub(r"([\[\]:\\])", r"\\\1", flag.about)
    if flag.values is None:
        return f"{alone}{name}[{about}]"
    join = "=" if name.startswith("--") else "+"
    if flag.many:
        return f"*{name}{join}[{about}]:codes:_sequence compadd - {' '.join(flag.values)}"
    target = f"({' '.join(flag.values)})" if flag.values else "_files"
    return f"{alone}{name}{join}[{about}]:value:{target}"


def _fish(commands: list[_Command]) -> Iterator[str]:
    yield "# fish completion of oomlint, written by `oomlint completion fish`"
    first = "__fish_use_subcommand"
    yield f"complete -c oomlint -n {first} -l version -d 'print the version'"
    for command in commands:
        yield f"complete -c oomlint -f -n {first} -a {command.name} -d {_fish_quoted(command.about)}"
        inside = f"'__fish_seen_subcommand_from {command.name}'"
        if command.words:
            yield f"complete -c oomlint -f -n {inside} -a {_fish_quoted(' '.join(command.words))}"
        for flag in command.flags:
            parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names]
            if flag.values:
                # A list: what stands before the last comma stays.
                values = " ".join(flag.values)
                offered = f"(__fish_append , {values})" if flag.many else values
                parts.append(f"-x -a {_fish_quoted(offered)}")
            elif flag.values is not None:
                parts.append("-r")
            yield f"complete -c oomlint -n {inside} {' '.join(parts)} -d {_fish_quoted(flag.about)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
