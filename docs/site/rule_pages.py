"""The pages of the rules, from the rules: their records, their docstrings, their fixtures."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from oomlint.findings.model import Rule, Safety
from oomlint.findings.pages import Page
from oomlint.findings.pages import pages as all_pages
from oomlint.findings.rule_options import described
from oomlint.project.settings import DEFAULT_SELECT

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = {
    "0": "oomlint itself",
    "1": "Setting up the GPU",
    "2": "Data in the host's memory",
    "3": "Feeding the model",
    "4": "The training loop",
    "5": "Several GPUs",
    "6": "The size of the model",
    "9": "Advice, when asked for",
}
ABOUT = {
    "0": "What is wrong with a file, rather than with its training.",
    "1": "Who gets the GPU's memory, and whether the settings reach it.",
    "2": "Arrays, lists and tables that are made before training starts: the kernel kills the process.",
    "3": "`tf.data`, `fit` and `predict`: what waits in buffers, and what goes to the GPU whole.",
    "4": "What stays behind after each step, epoch, fold or trial; gradients that are not what they seem.",
    "5": "`tf.distribute`: what a strategy splits, and what it copies.",
    "6": "Layers and steps that do not fit, however the data comes.",
    "9": "No mistakes: ways to need less. They run with `--extend-select OOM9`.",
}
_CODE = re.compile(r"OOM\d{3}")
_FENCE = re.compile(r"^([ \t]*)(```+)[^\n]*\n.*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
# What a code is left alone in: a link, an anchor, a comment, inline code with more in it than the code.
_APART = re.compile(r"\[[^\]\n]*\]\([^)\n]*\)|`[^`\n]+`|<[^>\n]+>|^#+ .*$|^    .*$", re.MULTILINE)


@functools.cache
def rules() -> dict[str, Page]:
    """The pages by code. Rules that happen to be installed beside the built-in ones have none here."""
    return {code: page for code, page in all_pages().items() if page.module.partition(".")[0] == "oomlint"}


def family(code: str) -> str:
    """The digit that names it."""
    return code[3]


def name_of_page(code: str) -> str:
    """Where its page is, in the site's sources: the reports link to `rules/CODE/`."""
    return f"rules/{code}/index.md"


def navigation() -> list[dict[str, list[str]]]:
    """The rules by family."""
    return [
        {title: [name_of_page(code) for code in rules() if family(code) == digit]}
        for digit, title in FAMILIES.items()
    ]


def pages() -> dict[str, str]:
    """All pages with their names."""
    made = {name_of_page(code): page(code) for code in rules()}
    return made | {"rules/index.md": overview()}


def linked(text: str, source: str) -> str:
    """Each code in prose becomes a link to its page, for a page whose source has this name."""
    up = "../" * source.count("/")
    own = Path(source).parent.name
    kept: list[str] = []

    def keep(part: re.Match[str]) -> str:
        inner = part[0].strip("`")
        if part[0].startswith("`") and inner != own and inner in rules():
            return f"[`{inner}`]({up}{_titled(inner)})"
        kept.append(part[0])
        return f"\0{len(kept) - 1}\0"

    def link(part: re.Match[str]) -> str:
        code = part[0]
        return f"[{code}]({up}{_titled(code)})" if code in rules() and code != own else code

    text = _FENCE.sub(keep, text)
    # A link that was just made must not be looked at again.
    text = re.sub(_APART.pattern, keep, text, flags=_APART.flags)
    parts = re.split(r"(\[`OOM\d{3}`\]\([^)]*\))", text)
    text = "".join(part if number % 2 else _CODE.sub(link, part) for number, part in enumerate(parts))
    while "\0" in text:
        text = re.sub(r"\0(\d+)\0", lambda part: kept[int(part[1])], text)
    return text


def _titled(code: str) -> str:
    """The target of a link, with the rule's name for who points at it."""
    return f'{name_of_page(code)} "{rules()[code].rule.name}"'


def page(code: str) -> str:
    """One rule's page."""
    rule, text, _ = rules()[code]
    summary, _, body = text.strip().partition("\n")
    # A heading is followed by its text, also where the docstring leaves no line between.
    body = re.sub(r"^(## .*)\n(?!\n)", r"\1\n\n", body.strip(), flags=re.MULTILINE)
    return "\n\n".join(
        part
        for part in (
            f"# {code} {rule.name}",
            summary,
            facts(rule),
            body,
            described(rule),
            _after(rule),
        )
        if part
    )


def facts(rule: Rule) -> str:
    """What its record says, as a table."""
    rows = [
        ("Severity", f"usually **{rule.severity}**"),
        ("Fix", fix(rule)),
        ("Runs", runs(rule)),
    ]
    if family(rule.code) != "0":
        rows += [("Keras", generations(rule.code)), ("Backend", backends(rule))]
    lines = [f"| {name} | {value} |" for name, value in rows]
    return wrapped("facts", ["| | |", "|---|---|", *lines])


def wrapped(kind: str, lines: list[str]) -> str:
    """A table that the style sheet knows by the kind."""
    return "\n".join([f'<div class="{kind}" markdown>', "", *lines, "", "</div>"])


def fix(rule: Rule) -> str:
    """Whether it can be mended, and how."""
    return {
        None: "none",
        Safety.SAFE: "**safe**: `oomlint check --fix`",
        Safety.UNSAFE: "**unsafe**: `oomlint check --fix --unsafe-fixes`",
        Safety.DISPLAY: "advice only",
    }[rule.fix]


def runs(rule: Rule) -> str:
    """When it is looked for."""
    if rule.preview:
        return "with `--preview` only: it is on trial"
    if not rule.code.startswith(DEFAULT_SELECT):
        return f"with `--extend-select {rule.code}` only"
    if rule.estimated and rule.code == "OOM601":
        return "with `--estimate` only"
    return "by default, and sees more with `--estimate`" if rule.estimated else "by default"


def generations(code: str) -> str:
    """The Keras versions it is about, as the first lines of its fixtures have it."""
    bound = [
        match[1] if (match := re.match(r"# keras: (\d)", path.read_text("utf-8"))) else ""
        for path in ROOT.glob(f"fixtures/{code}-*/bad*.py")
    ]
    if set(bound) in ({"2"}, {"3"}):
        return f"{bound[0]} only"
    some = sorted(set(bound) - {""})
    words = {
        0: "",
        1: f"; some of it in Keras {some[0] if some else ''} only",
        2: "; some of it differs between them",
    }
    return f"2 and 3{words[len(some)]}"


def backends(rule: Rule) -> str:
    """The backends on which its cause exists."""
    if rule.backends is None:
        return "any"
    names = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
    return ", ".join(names[name] for name in sorted(rule.backends)) + " only"


@functools.cache
def _together() -> dict[str, set[str]]:
    """Rules that one row of the page of symptoms names together, or of which one's page names the other."""
    found: dict[str, set[str]] = {code: set() for code in rules()}
    symptoms = (ROOT / "docs" / "which-cause.md").read_text("utf-8")
    groups = [set(_CODE.findall(row)) for row in symptoms.splitlines() if row.startswith("|")]
    pages = [(code, found.text) for code, found in rules().items() if family(code) != "0"]
    groups += [{code, other} for code, text in pages for other in _CODE.findall(text)]
    for group in groups:
        for code in group:
            found[code] |= group - {code}
    return found


def related(code: str) -> list[str]:
    """Codes of rules that somebody who reads about this one may mean."""
    return sorted(_together()[code] & set(rules()))


def _after(rule: Rule) -> str:
    from repository import reports_of

    lines = []
    if family(rule.code) != "0":
        comment = f"`# oomlint: ignore[{rule.code}] the reason`"
        lines += ["## Where it is meant", f"At the end of the line, or alone on the line above: {comment}."]
    near = related(rule.code)
    if near:
        items = "\n".join(
            f"- [{code} {rules()[code].rule.name}](../{code}/index.md): {_summary(code)}" for code in near
        )
        lines += ["## Related", items]
    reports = reports_of(rule.code)
    if reports:
        lines += ["## Public reports of it", "Retold as fixtures: " + ", ".join(reports) + "."]
    return "\n\n".join(lines)


def _summary(code: str) -> str:
    return rules()[code].text.strip().partition("\n")[0]


def overview() -> str:
    """All rules, by family."""
    parts = [
        "# All rules",
        f"{len(rules())} rules. `oomlint rule CODE` shows a rule's page in the terminal. **Fix**: safe fixes are "
        "applied by `--fix`, unsafe ones with `--unsafe-fixes`; advice says what to do and changes nothing.",
        "Do you have an error message, and no code? [Which cause do I have?](../which-cause.md)",
    ]
    for digit, title in FAMILIES.items():
        rows = [_row(found.rule) for code, found in rules().items() if family(code) == digit]
        table = ["| rule | what it finds | severity | fix |", "|---|---|---|---|", *rows]
        parts += [f"## {digit}xx {title}", ABOUT[digit], wrapped("rules", table)]
    return "\n\n".join(parts)


def _row(rule: Rule) -> str:
    summary = _summary(rule.code).replace("|", "\\|")
    words = {None: "none", Safety.SAFE: "safe", Safety.UNSAFE: "unsafe", Safety.DISPLAY: "advice"}[rule.fix]
    preview = "; preview" if rule.preview else ""
    return f"| [{rule.code}]({rule.code}/index.md)<br>{rule.name} | {summary} | {rule.severity}{preview} | {words} |"
