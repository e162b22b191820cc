"""The estimate for a terminal: the answer first, then where the bytes go, then what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from oomlint.estimate.result import PARTS, Estimate
from oomlint.estimate.verdicts import advice, amount, headline
from oomlint.findings.model import Severity
from oomlint.report import estimate_words as words
from oomlint.report.style import Style

FEW_LAYERS = 8
_WIDEST, _NARROWEST = 110, 40


class _Page:
    """The width, the colours and the characters that the terminal has."""

    def __init__(self, style: Style, width: int, ascii_only: bool) -> None:
        self.style = style
        self.width = max(_NARROWEST, min(width, _WIDEST))
        self.full, self.rest, self.mark = ("#", ".", "|") if ascii_only else ("\u2588", "\u2591", "\u2502")
        self.eighths = "" if ascii_only else " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"

    def bar(self, share: float, cells: int) -> str:
        """`share` of `cells` filled; something for what is more than nothing."""
        eighths = min(cells * 8, max(1 if share > 0 else 0, round(share * cells * 8)))
        if not self.eighths:
            return self.full * max(1 if share > 0 else 0, eighths // 8)
        last = self.eighths[eighths % 8]
        return self.full * (eighths // 8) + last.strip()

    def wrapped(self, text: str, first: str = "  ", then: str | None = None) -> list[str]:
        """The text within the width."""
        rest = " " * len(first) if then is None else then
        return textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=rest, break_long_words=False
        )


def render(
    estimate: Estimate,
    style: Style | None = None,
    width: int = 80,
    ascii_only: bool = False,
    all_layers: bool = False,
    options: tuple[str, str] = ("--max-batch", "--what-if"),
) -> str:
    """The report. `width` is the terminal's; `ascii_only` where it cannot show block characters.

    `options` are how the reader asks for the largest batch and for remedies.
    """
    page = _Page(style or Style(), width, ascii_only)
    blocks = (
        _answer(estimate, page),
        _parts(estimate, page),
        _layers(estimate, page, all_layers),
        _remedies(estimate, page, options),
        _trust(estimate, page),
    )
    texts = ("\n".join(line.rstrip() for line in block) for block in blocks)
    return "\n\n".join(text for text in texts if text) + "\n"


def _answer(estimate: Estimate, page: _Page) -> Iterator[str]:
    paint = page.style.good
    if estimate.verdict != "fits":
        severity = Severity.ERROR if estimate.verdict == "does-not-fit" else Severity.WARNING

        def paint(text: str) -> str:
            return page.style.severity(text, severity)

    for line in page.wrapped(headline(estimate), first=""):
        yield paint(line)
    yield from page.wrapped(f"{estimate.target}: {words.subject(estimate)}", first="")
    if estimate.instead:
        yield ""
        yield from page.wrapped("Not the script's own step as it stands:", first="")
        for text in estimate.instead:
            yield from page.wrapped(text, "  - ")
    yield ""
    low, high = estimate.range_bytes
    usable = int(estimate.gpu["usable_bytes"])
    needs = f"  needs          {amount(estimate.peak_bytes):>9}"
    if low < estimate.peak_bytes or high > estimate.peak_bytes:
        needs += f"  ({amount(low)} to {amount(high)})"
    yield needs
    yield f"  can be used    {amount(usable):>9}{words.of_the_card(estimate)}"
    yield f"  {_against(estimate, page)}"
    if text := words.largest(estimate):
        yield from page.wrapped(text, "  largest batch  ")
    if text := advice(estimate):
        yield from page.wrapped(text)
    if estimate.replicas > 1:
        text = f"Each of the {estimate.replicas} GPUs needs this: replicas share the batch, not the model."
        yield from page.wrapped(text)


def _against(estimate: Estimate, page: _Page) -> str:
    """The need on a scale on which the usable memory is marked."""
    usable = int(estimate.gpu["usable_bytes"])
    cells = page.width - 10
    scale = max(usable, estimate.peak_bytes)
    filled = min(cells, round(words.share(estimate.peak_bytes, scale) * cells)) or 1
    limit = min(cells, round(words.share(usable, scale) * cells))
    picture = page.full * filled + page.rest * (cells - filled)
    if limit < cells:
        picture = picture[:limit] + page.mark + picture[limit + 1 :]
    return f"{picture} {words.share(estimate.peak_bytes, usable):.0%}"


def _parts(estimate: Estimate, page: _Page) -> Iterator[str]:
    at = f", at {estimate.peak_at}" if estimate.peak_at else ""
    yield from _heading(f"Where it goes at the peak{at}", page)
    cells = max(8, page.width - 46)
    for name in PARTS:
        size = estimate.parts.get(name, 0)
        share = words.share(size, estimate.peak_bytes)
        sure = estimate.certainty.get(name, "estimated")
        bar = page.bar(share, cells)
        yield f"  {words.PART_WORDS[name]:15} {amount(size):>9} {share:4.0%}  {sure:9}  {bar}"
    for name, size in estimate.outside_pool.items():
        yield from page.wrapped(f"besides, outside TensorFlow's pool: {name}, {amount(size)}")


def _heading(text: str, page: _Page) -> Iterator[str]:
    for line in page.wrapped(text, first=""):
        yield page.style.bold(line)


def _layers(estimate: Estimate, page: _Page, all_layers: bool) -> Iterator[str]:
    rows = sorted(estimate.layers, key=lambda layer: -layer.saved_bytes)
    if not all_layers:
        rows = [layer for layer in rows if layer.saved_bytes][:FEW_LAYERS]
    if not rows:
        return
    keeps = "hold" if estimate.mode == "predict" else "keep for the backward pass"
    yield from _heading(f"Layers, by what they {keeps}", page)
    most = max(1, rows[0].saved_bytes)
    name_width = min(max(len(layer.name) for layer in rows), max(12, page.width - 58))
    class_width = min(max(len(layer.class_name) for layer in rows), 20)
    shape_width = max(len(words.shape_words(layer.output_shape, estimate.batch_size)) for layer in rows)
    for layer in rows:
        name = _short(layer.name, name_width)
        line = (
            f"  {name:{name_width}} {amount(layer.saved_bytes):>9} {page.bar(layer.saved_bytes / most, 8):8}"
        )
        line += f" {_short(layer.class_name, class_width):{class_width}}"
        shape = words.shape_words(layer.output_shape, estimate.batch_size)
        detail = f" {shape:{shape_width}} {layer.parameters:>13,} parameters"
        yield line + detail if len(line) + len(detail) <= page.width else line
    left = len(estimate.layers) - len(rows)
    rest = sum(layer.saved_bytes for layer in estimate.layers) - sum(layer.saved_bytes for layer in rows)
    if left > 0 and rest > 0:
        yield page.style.faint(f"  and {left} more with {amount(rest)} (--layers shows all)")


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 2] + ".."


def _remedies(estimate: Estimate, page: _Page, options: tuple[str, str]) -> Iterator[str]:
    if not estimate.what_if:
        if estimate.verdict != "fits" and estimate.max_batch is None:
            yield from page.wrapped(
                f"{options[0]} finds the largest batch that fits, {options[1]} estimates what would make this one fit.",
                first="",
            )
        return
    usable = int(estimate.gpu["usable_bytes"])
    title = "What would make it fit" if estimate.verdict != "fits" else "What would save memory"
    yield from _heading(f"{title} (each estimated, not guessed)", page)
    for remedy in estimate.what_if:
        fits = "fits" if remedy.peak_bytes <= usable else "too much"
        mark = page.style.good(f"{fits:8}") if fits == "fits" else f"{fits:8}"
        size = f"{amount(remedy.peak_bytes):>9}"
        lead = f"  {size}  {fits:8}  "
        lines = page.wrapped(f"{remedy.change}: saves {amount(remedy.saved_bytes)}", lead)
        yield lines[0].replace(f"{fits:8}", mark, 1)
        yield from lines[1:]
        cost = f"cost: {remedy.cost}"
        if remedy.max_batch:
            cost += f". Largest batch then {remedy.max_batch:,}"
        for line in page.wrapped(cost, " " * len(lead)):
            yield page.style.faint(line)


def _trust(estimate: Estimate, page: _Page) -> Iterator[str]:
    yield from _heading("How far to trust it", page)
    yield from page.wrapped(words.program(estimate), "  - ")
    yield from page.wrapped(words.engine(estimate), "  - ")
    for text in words.assumed_besides(estimate):
        yield from page.wrapped(text, "  - ")
    if estimate.seconds:
        cost = f"found in {estimate.seconds:.1f} s"
        if estimate.resident_bytes:
            cost += f" with {amount(estimate.resident_bytes)} of memory"
        yield page.style.faint(f"  - {cost}, no GPU")
