"""The estimate as one HTML file, or as a piece of one for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from oomlint.estimate.result import PARTS, Estimate
from oomlint.estimate.verdicts import MOST_BATCH, advice, amount, headline
from oomlint.report import estimate_words as words
from oomlint.report.estimate_html_assets import SCRIPT, STYLE
from oomlint.report.estimate_timeline import figure

_MOST_LAYERS = 2_000


def render(estimate: Estimate) -> str:
    """A whole page. Nothing is loaded from anywhere, which its content security policy holds it to."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(headline(estimate))}: {escape(estimate.target)}</title>
<style>body{{margin:0;background:#fff}}@media (prefers-color-scheme:dark){{body{{background:#14171c}}}}</style>
</head>
<body>
{fragment(estimate)}
</body>
</html>
"""


def fragment(estimate: Estimate) -> str:
    """The report within its own element, with its style and behaviour: what a notebook shows."""
    blocks = (
        _answer(estimate),
        _section("The step, from its first operation to its last", figure(estimate)),
        _section("Where it goes at the peak", _parts(estimate)),
        _section(_remedies_title(estimate), _remedies(estimate)),
        _section("Layers", _layers(estimate)),
        _section("How far to trust it", _trust(estimate)),
    )
    body = "\n".join(block for block in blocks if block)
    return f'<div class="oomlint"><style>{STYLE}</style>\n{body}\n<script>{SCRIPT}</script></div>'


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>" if content else ""


def _answer(estimate: Estimate) -> str:
    usable, peak = int(estimate.gpu["usable_bytes"]), estimate.peak_bytes
    scale = max(usable, peak, 1)
    low, high = estimate.range_bytes
    numbers = [
        ("Needs at its peak", amount(peak), f"{amount(low)} to {amount(high)}"),
        ("TensorFlow can use", amount(usable), words.of_the_card(estimate).strip()),
    ]
    if row := estimate.max_batch:
        sure = row.get("sure_batch_size", 0)
        more = " and more" if row["batch_size"] >= MOST_BATCH else ""
        note = f"for sure {sure:,}" if sure else words.largest(estimate)
        numbers.append(("Largest batch", f"{row['batch_size']:,}{more}", note))
        if not more and (friendly := row.get("friendly_batch_size")):
            numbers.append(("Fast and safe", f"{friendly:,}", amount(row["friendly_peak_bytes"])))
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(note)}</small></dd></div>"
        for name, value, note in numbers
    )
    notes = [advice(estimate)]
    if estimate.replicas > 1:
        notes.append(
            f"Each of the {estimate.replicas} GPUs needs this: replicas share the batch, not the model."
        )
    said = "".join(f"<p>{escape(note)}</p>" for note in notes if note)
    if estimate.instead:
        rows = "".join(f"<li>{escape(text)}</li>" for text in estimate.instead)
        said = f"<p>Not the script's own step as it stands:</p><ul>{rows}</ul>{said}"
    return f"""<header class="{estimate.verdict}">
<h1>{escape(headline(estimate))}</h1>
<p class="about">{escape(estimate.target)}: {escape(words.subject(estimate))}</p>
<div class="need" role="img" aria-label="{words.share(peak, usable):.0%} of the usable memory">\
<i style="width:{100 * peak / scale:.1f}%"></i><b style="left:{100 * usable / scale:.1f}%"></b></div>
<p class="faint">{words.share(peak, usable):.0%} of what TensorFlow can use</p>
<dl class="numbers">{cells}</dl>{said}
</header>"""


def _table(heads: Iterable[tuple[str, str]], rows: Iterable[Iterable[str]], sorted_by: str = "") -> str:
    """`heads` are words and classes; `rows` are of whole cells. Sortable where it says what it is sorted by."""
    head = ""
    for text, classes in heads:
        inner = f'<button type="button">{escape(text)}</button>' if sorted_by and text else escape(text)
        order = ' aria-sort="descending"' if text and text == sorted_by else ""
        head += f'<th scope="col" class="{classes}"{order}>{inner}</th>'
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _number(value: int, text: str, classes: str = "n") -> str:
    return f'<td class="{classes}" data-v="{value}">{escape(text)}</td>'


def _meter(share: float) -> str:
    return f'<td class="meter"><i style="width:{100 * min(1.0, share):.1f}%"></i></td>'


def _parts(estimate: Estimate) -> str:
    def rows() -> Iterator[list[str]]:
        for name in PARTS:
            size = estimate.parts.get(name, 0)
            share = words.share(size, estimate.peak_bytes)
            sure = estimate.certainty.get(name, "estimated")
            yield [
                f"<td>{words.PART_WORDS[name]}</td>",
                _number(size, amount(size)),
                _number(size, f"{share:.0%}"),
                _meter(share),
                f'<td class="wide" title="{words.CERTAINTY_WORDS[sure]}">{sure}</td>',
            ]

    heads = [("part", ""), ("bytes", "n"), ("share", "n"), ("", ""), ("known", "wide")]
    outside = "".join(
        f'<p class="faint">Besides, outside TensorFlow\'s pool: {escape(name)}, {amount(size)}.</p>'
        for name, size in estimate.outside_pool.items()
    )
    peak = f"<p>The peak is at <code>{escape(estimate.peak_at)}</code>.</p>" if estimate.peak_at else ""
    return peak + _table(heads, rows()) + outside


def _layers(estimate: Estimate) -> str:
    layers = sorted(estimate.layers, key=lambda layer: -layer.saved_bytes)[:_MOST_LAYERS]
    if not layers:
        return ""
    most = max(1, layers[0].saved_bytes)

    def rows() -> Iterator[list[str]]:
        for layer in layers:
            yield [
                f"<td>{escape(layer.name)}</td>",
                f'<td class="wide">{escape(layer.class_name)}</td>',
                f'<td class="wide shape">{escape(words.shape_words(layer.output_shape, estimate.batch_size))}</td>',
                _number(layer.parameters, f"{layer.parameters:,}", "n wide"),
                _number(layer.saved_bytes, amount(layer.saved_bytes)),
                _meter(layer.saved_bytes / most),
            ]

    keeps = "holds" if estimate.mode == "predict" else "kept for backward"
    heads = [
        ("layer", ""),
        ("class", "wide"),
        ("output", "wide"),
        ("parameters", "n wide"),
        (keeps, "n"),
        ("", ""),
    ]
    return _table(heads, rows(), keeps)


def _remedies_title(estimate: Estimate) -> str:
    return "What would make it fit" if estimate.verdict != "fits" else "What would save memory"


def _remedies(estimate: Estimate) -> str:
    if not estimate.what_if:
        return ""
    usable = int(estimate.gpu["usable_bytes"])
    with_batch = any(remedy.max_batch for remedy in estimate.what_if)

    def rows() -> Iterator[list[str]]:
        for remedy in estimate.what_if:
            fits = remedy.peak_bytes <= usable
            row = [
                f'<td>{escape(remedy.change)}<br><span class="faint">{escape(remedy.cost)}</span></td>',
                _number(remedy.peak_bytes, amount(remedy.peak_bytes)),
                _number(remedy.saved_bytes, amount(remedy.saved_bytes)),
                f'<td class="{"yes" if fits else "no"}">{"fits" if fits else "too much"}</td>',
            ]
            if with_batch:
                row.append(
                    _number(remedy.max_batch or 0, f"{remedy.max_batch:,}" if remedy.max_batch else "")
                )
            yield row

    heads = [("change", ""), ("needs then", "n"), ("saves", "n"), ("", "")]
    if with_batch:
        heads.append(("largest batch", "n"))
    return '<p class="faint">Each was estimated anew.</p>' + _table(heads, rows(), "saves")


def _trust(estimate: Estimate) -> str:
    said = [words.program(estimate), words.engine(estimate), *words.assumed_besides(estimate)]
    if estimate.seconds:
        cost = f"found in {estimate.seconds:.1f} s"
        if estimate.resident_bytes:
            cost += f" with {amount(estimate.resident_bytes)} of memory"
        said.append(f"{cost}, no GPU")
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in said) + "</ul>"
